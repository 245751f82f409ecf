"""What will happen to a run without anybody's help, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from halfway.domain.items import are_under_way
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Intent, Kind, Record
from halfway.domain.sentences import Sentence, moment
from halfway.domain.spec import Sort, Then
from halfway.domain.standing import HELD, undone_later
from halfway.domain.view import View

HELPERS = (Kind.PROBE, Kind.CHECK, Kind.CONDITION, Kind.COMPENSATION_PROBE, Kind.DRAFT)
WORDS = {Kind.COMPENSATION_PROBE: "UNDO_PROBE"}
PROBES = (Kind.PROBE, Kind.COMPENSATION_PROBE)


class Coming(NamedTuple):
    """What will happen, and when (microseconds; None: as soon as it can)."""

    sentence: Sentence
    at: int | None


def coming(view: View) -> Iterator[Coming]:
    run = view.snapshot.run
    if run.blocked:
        yield from (Coming(sentence, None) for sentence in _line(view))
    for record in view.of_kind(Kind.STEP, Kind.COMPENSATION):
        yield from _of_acting(view, record)
    for record in view.of_kind(*HELPERS):
        yield from _of_helper(view, record)
    if run.intent is Intent.CANCEL and run.undo is None and not view.waits_for_person:
        yield Coming(Sentence("STOPS_SOON", {}), None)
    if later := undone_later(view):
        yield Coming(Sentence("UNDO_FOLLOWS", {"steps": ", ".join(later)}), None)
    if run.intent is None and run.undo is None and run.deadline_at is not None:
        yield Coming(Sentence("DEADLINE_AHEAD", {"at": moment(run.deadline_at)}), run.deadline_at)


def _of_acting(view: View, record: Record) -> Iterator[Coming]:
    """A step, or a compensation: the words for it begin with UNDO_."""
    step, running, undo = record.key.step, record.running, "UNDO_" if record.key.kind is Kind.COMPENSATION else ""
    if are_under_way(record) and not record.asks:
        yield from _of_items(view, record)
    elif running is not None:
        yield Coming(Sentence(f"{undo}RUNNING", {"step": step, "n": running.n, "at": moment(running.started_at)}), None)
    elif record.ready_at is None:
        return
    elif record.status is RecordStatus.WAITING:
        yield _end_of_wait(view, record, record.ready_at)
    elif record.asks:
        return
    elif record.status is RecordStatus.UNKNOWN:
        code = f"{undo}PROBE_AT" if view.unit(record).probe is not None else f"{undo}ASKS_AT"
        yield Coming(Sentence(code, {"step": step, "at": moment(max(record.ready_at, view.now))}), record.ready_at)
    elif record.status is RecordStatus.PENDING and record.ready_at > view.now:
        code = "HELD_AT" if record.code == HELD else f"{undo}RETRY_AT" if record.attempts else "STARTS_AT"
        yield Coming(Sentence(code, {"step": step, "at": moment(record.ready_at)}), record.ready_at)
    elif record.status is RecordStatus.PENDING:
        yield _kept_from(view, record) or Coming(Sentence(f"{undo}READY", {"step": step}), None)


def _of_items(view: View, record: Record) -> Iterator[Coming]:
    """Its items are on their way, unless all that still move are runs that wait for a person."""
    stuck, known = view.stuck_runs(record), view.counts.get(record.key)
    if not stuck or known is None or known.moving > len(stuck):
        yield Coming(Sentence("ITEMS_GO_ON", {"step": record.key.step}), None)


def _line(view: View) -> Iterator[Sentence]:
    """For what it stands in line."""
    run = view.snapshot.run
    for key, slots in view.traffic.line:
        what, _, name = key.partition(":")
        told: dict[str, object] = {"type": run.type, "limit": slots, "resource": name, "key": name.partition(":")[2]}
        yield Sentence("RESOURCE_TAKEN" if what == "resource" else "KEY_FULL" if ":" in name else "WORKFLOW_FULL", told)
    if not view.traffic.line:
        yield Sentence("IN_LINE", {})


def _kept_from(view: View, record: Record) -> Coming | None:
    """What keeps a ready record from starting, if it is a limit or a pause."""
    traffic, queue = view.traffic, view.unit(record).queue
    told: dict[str, object] = {"step": record.key.step, "queue": queue, "type": view.snapshot.run.type}
    if record.key.kind is Kind.STEP and traffic.paused_type:
        return Coming(Sentence("WORKFLOW_PAUSED", told), None)
    if record.key.kind is Kind.STEP and queue in traffic.paused_queues:
        return Coming(Sentence("QUEUE_PAUSED", told), None)
    if queue in traffic.more_at:
        return Coming(Sentence("QUEUE_RATE", {**told, "at": moment(traffic.more_at[queue])}), traffic.more_at[queue])
    if queue in traffic.full:
        return Coming(Sentence("QUEUE_FULL", {**told, "limit": traffic.full[queue]}), None)
    return None


def _end_of_wait(view: View, record: Record, until: int) -> Coming:
    step = view.unit(record)
    told: dict[str, object] = {"step": step.name, "at": moment(until), "role": step.approver or view.spec.owner}
    if step.wait is None or step.sort is Sort.TIME:
        return Coming(Sentence("GOES_ON_AT", told), until)
    then = step.wait.on_timeout
    if then is Then.RETRY and record.failures + 1 >= step.retry.attempts:
        then = Then.FAIL
    by_step = then is Then.FAIL and step.sort is not Sort.APPROVAL
    return Coming(Sentence(f"LATE_{(step.on_failure if by_step else then).value}", told), until)


def _of_helper(view: View, record: Record) -> Iterator[Coming]:
    kind, step = WORDS.get(record.key.kind, record.key.kind.value), record.key.step
    if record.running is not None:
        yield Coming(Sentence(f"{kind}_RUNNING", {"step": step}), None)
    elif record.status is RecordStatus.PENDING and record.ready_at is not None:
        if record.ready_at > view.now and record.key.kind in PROBES:
            yield Coming(Sentence(f"{kind}_AT", {"step": step, "at": moment(record.ready_at)}), record.ready_at)
        else:
            yield Coming(Sentence(f"{kind}_READY", {"step": step}), None)
