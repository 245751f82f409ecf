"""What is safe next: commands to type, with the order that each gives and what would follow. What would be refused is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from halfway.domain.decide import AT_REST
from halfway.domain.facts import (
    Approved,
    CancelAsked,
    CompensateAsked,
    MarkedSuccess,
    Order,
    ProbeAsked,
    Rejected,
    ReleaseAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
)
from halfway.domain.items import NOT_NAMED, PARTIAL, are_under_way, have_failed
from halfway.domain.joins import is_passed
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.plan import Plan
from halfway.domain.run import Attempt, Happened, Intent, Kind, Record
from halfway.domain.sentences import Sentence, moment
from halfway.domain.spec import Sort
from halfway.domain.undo import HANDED_OVER
from halfway.domain.view import View
from halfway.domain.waits import is_gate

LOOKS = 5  # so many runs are suggested to be looked at
ANYBODY = ""  # an approval is suggested to whoever may give it


class Suggestion(NamedTuple):
    """What is safe next: the command to type, the order that it gives, and what that order would do now."""

    sentence: Sentence
    command: str = ""
    order: Order | None = None
    plan: Plan | None = None


def suggestions(view: View) -> Iterator[Suggestion]:
    match view.status:
        case RunStatus.SUCCESS:
            yield Suggestion(Sentence("NOTHING_TO_DO", {}))
        case RunStatus.PARTIAL_SUCCESS:
            missing = [one for record in view.steps for one in _about_step(view, record)]
            missing += [
                one for record in view.steps if record.status is RecordStatus.FAILED for one in _retry(view, "RETRY", record.key.step)
            ]
            yield from missing or [Suggestion(Sentence("NOTHING_TO_DO", {}))]
        case RunStatus.COMPENSATED:
            yield Suggestion(Sentence("NOTHING_LEFT", {}))
            yield _start(view, "START_AFTER_ALL")
        case RunStatus.EXPIRED:
            yield _start(view, "START_NEW")
            yield from _give_up(view)
        case status:
            looks = list(_looks(view))
            if not view.over and status not in AT_REST:
                yield from _paused(view)
                yield from () if looks and view.workers != 0 else (_goes_on(view),)
            elif status is RunStatus.WAITING and not looks and not any(record.asks for record in view.records):
                yield Suggestion(Sentence("JUST_WAITS", {}))
            yield from looks
            orders = list(_orders(view))
            yield from orders
            if view.over and not orders:  # it failed after its effect, was stopped, and nothing can be undone
                yield _start(view, "START_AFTER_ALL")


def _paused(view: View) -> Iterator[Suggestion]:
    """What was paused, where that is why it stands."""
    type = view.snapshot.run.type
    if view.traffic.paused_type:
        yield Suggestion(Sentence("RESUME_WORKFLOW", {"type": type}), f"halfway workflow resume {type} --reason '…'")
    ready = [record for record in view.of_kind(Kind.STEP) if record.status is RecordStatus.PENDING and record.ready_at is not None]
    for queue in sorted({view.unit(record).queue for record in ready} & view.traffic.paused_queues):
        yield Suggestion(Sentence("RESUME_QUEUE", {"queue": queue}), f"halfway queue resume {queue} --reason '…'")


def _looks(view: View) -> Iterator[Suggestion]:
    """Runs that it waits for, and that go on only when a person has decided there."""
    for record in view.of_kind(Kind.STEP, Kind.COMPENSATION):
        for run in view.stuck_runs(record)[:LOOKS]:
            yield Suggestion(Sentence("LOOK_AT_RUN", {"run": run, "step": record.key.step}), f"halfway show {run}")


def _goes_on(view: View) -> Suggestion:
    if view.workers == 0:
        return Suggestion(Sentence("START_WORKER", {}), "halfway worker")
    return Suggestion(Sentence("GOES_ON", {}))


def _start(view: View, code: str) -> Suggestion:
    again = " --again '…'" if view.spec.keyed else ""
    return Suggestion(Sentence(code, {}), f"halfway start {view.spec.type} --input '…'{again}")


def _orders(view: View) -> Iterator[Suggestion]:
    for record in view.steps:
        yield from _about_step(view, record)
    for check in view.of_kind(Kind.CHECK):
        if check.status is RecordStatus.FAILED and check.asks:
            yield from _about_check(view, check.key.step)
    for undo in view.of_kind(Kind.COMPENSATION):
        yield from _about_undo(view, undo)
    yield from _go_on(view)
    if view.over or view.status in AT_REST:
        yield from _give_up(view)


# ── one order ──


def _try(view: View, code: str, order: Order, command: str, **told: object) -> Iterator[Suggestion]:
    """This order, unless it would be refused."""
    plan = view.plan(order)
    if plan is not None:
        step = getattr(order, "step", None)
        told = {"step": step, **told} if step is not None else told
        yield Suggestion(Sentence(code, told), command, order, plan)


def _typed(view: View, verb: str, *words: str) -> str:
    return " ".join(("halfway", verb, view.snapshot.run.id, *words, "--reason '…'"))


def _mark_success(view: View, code: str, step: str, *, output: bool = True) -> Iterator[Suggestion]:
    words = ("--output '…'", "--evidence '…'") if output else ("--evidence '…'",)
    yield from _try(view, code, MarkedSuccess(step), _typed(view, "mark-success", step, *words))


def _retry(view: View, code: str, step: str) -> Iterator[Suggestion]:
    yield from _try(view, code, RetryAsked(step), _typed(view, "retry", step))


def _decide(view: View, approve: str, reject: str, record: Record) -> Iterator[Suggestion]:
    step, role = record.key.step, view.role(record)
    yield from _try(view, approve, Approved(step, ANYBODY), _typed(view, "approve", step))
    yield from _try(view, reject, Rejected(step, ANYBODY), _typed(view, "reject", step), role=role)


# ── about one record ──


def _about_step(view: View, record: Record) -> Iterator[Suggestion]:
    match record.status:
        case RecordStatus.UNKNOWN if record.asks:
            yield from _settle(view, record, "SAY_HAPPENED", "PROBE_NOW")
        case RecordStatus.FAILED:
            yield from _after_failure(view, record)
        case RecordStatus.WAITING:
            yield from _while_it_waits(view, record)
        case RecordStatus.SUCCESS if record.code == PARTIAL:
            yield from _about_items(view, record)
        case _:
            return


def _settle(view: View, record: Record, happened: str, probe: str) -> Iterator[Suggestion]:
    """A doubt that no machine may settle: a person says what happened."""
    step, undo = record.key.step, record.key.kind is Kind.COMPENSATION
    yield from _mark_success(view, happened, step, output=not undo)
    order, words = RetryAsked(step, not_happened=True), (step, "--not-happened", "--evidence '…'")
    told = list(_try(view, _not_happened(view, undo), order, _typed(view, "retry", *words)))
    yield from told or _still_alive(view, record, words)
    yield from _try(view, probe, ProbeAsked(step), _typed(view, "probe", step))
    yield from _try(view, "RELEASE", ReleaseAsked(step), _typed(view, "release", step, "--evidence '…'"))


def _not_happened(view: View, undo: bool) -> str:
    if undo:
        return "SAY_NOT_UNDONE"
    return "SAY_NOT_HAPPENED_STOPPING" if view.turn.stopping else "SAY_NOT_HAPPENED"


def _still_alive(view: View, record: Record, words: tuple[str, ...]) -> Iterator[Suggestion]:
    step = record.key.step
    alive = [attempt for attempt in record.unsettled if attempt.gone_at is None or attempt.gone_at > view.now]
    if not alive:
        return
    yield from _wait_gone(step, alive)
    order = RetryAsked(step, not_happened=True, gone=True)
    yield from _try(view, "SAY_GONE", order, _typed(view, "retry", *words, "--gone"), n=alive[0].n)


def _wait_gone(step: str, alive: list[Attempt]) -> Iterator[Suggestion]:
    known = [attempt.gone_at for attempt in alive if attempt.gone_at is not None]
    if known and len(known) == len(alive):
        yield Suggestion(Sentence("WAIT_GONE", {"step": step, "n": alive[0].n, "at": moment(max(known) + 999_999)}))


def _after_failure(view: View, record: Record) -> Iterator[Suggestion]:
    step, spec = record.key.step, view.unit(record)
    if record.effect is Happened.HAPPENED and spec.can_be_lost and not spec.idempotent:
        yield from _mark_success(view, "GIVE_OUTPUT", step)
    elif spec.fan is not None:
        if have_failed(record) and not is_passed(view.turn, record):
            yield from _mark_success(view, "ACCEPT_ITEMS", step, output=False)
    elif record.asks and spec.sort is not Sort.APPROVAL:  # an approval is given by those who are asked, not marked or left out
        yield from _mark_success(view, "SAY_ARRIVED" if spec.waits else "SAY_DONE_BY_HAND", step)


def _skip(view: View, code: str, step: str) -> Iterator[Suggestion]:
    yield from _try(view, code, SkipAsked(step), _typed(view, "skip", step))


def _while_it_waits(view: View, record: Record) -> Iterator[Suggestion]:
    step, spec = record.key.step, view.unit(record)
    if is_gate(record) or spec.sort is Sort.APPROVAL:
        yield from _decide(view, "APPROVE", "REJECT", record)
        return
    if spec.fan is not None:
        yield from _about_items(view, record)
        return
    if spec.sort is Sort.EVENT and spec.wait is not None:
        command = f"halfway event send {spec.wait.name} --key '…' --id '…' --payload '…'"
        yield Suggestion(Sentence("SEND_EVENT", {"name": spec.wait.name}), command)
    yield from _try(view, "PROBE_NOW", ProbeAsked(step), _typed(view, "probe", step))
    if record.asks:
        yield from _mark_success(view, "SAY_ARRIVED", step)
        yield from _retry(view, "WAIT_AGAIN", step)
        yield from _skip(view, "SKIP", step)


def _about_items(view: View, record: Record) -> Iterator[Suggestion]:
    """One decision for all items in doubt, or for all that failed."""
    step = record.key.step
    if are_under_way(record):
        yield from _mark_success(view, "SAY_ITEMS_HAPPENED", step)
        order, words = RetryAsked(step, not_happened=True), (step, "--not-happened", "--evidence '…'")
        told = list(_try(view, "SAY_ITEMS_NOT_HAPPENED", order, _typed(view, "retry", *words)))
        gone = RetryAsked(step, not_happened=True, gone=True)
        yield from told or _try(view, "SAY_ITEMS_GONE", gone, _typed(view, "retry", *words, "--gone"))
        yield from _try(view, "PROBE_NOW", ProbeAsked(step), _typed(view, "probe", step))
    else:
        yield from _retry(view, "RETRY_ITEMS", step)
        yield from _mark_success(view, "ACCEPT_ITEMS", step, output=False) if record.asks else ()


def _about_check(view: View, step: str) -> Iterator[Suggestion]:
    yield from _mark_success(view, "SAY_HOLDS", step)
    yield from _retry(view, "MAKE_AGAIN", step)


def _about_undo(view: View, undo: Record) -> Iterator[Suggestion]:
    step = undo.key.step
    if is_gate(undo):
        yield from _decide(view, "APPROVE_UNDO", "REJECT_UNDO", undo)
    elif undo.status is RecordStatus.UNKNOWN and undo.asks:
        yield from _settle(view, undo, "SAY_UNDONE", "PROBE_UNDO_NOW")
    elif undo.status is RecordStatus.FAILED:
        again = undo.code in HANDED_OVER  # no machine has tried it: its approval would be asked for once more
        yield from () if again else _retry(view, "RETRY_UNDO", step)
        yield from _mark_success(view, "SAY_PUT_RIGHT", step, output=False)
        yield from _skip(view, "ACCEPT", step)
        yield from _retry(view, "ASK_UNDO_AGAIN", step) if again else ()


# ── about the whole run ──


def _go_on(view: View) -> Iterator[Suggestion]:
    run, failed = view.snapshot.run, [record for record in view.steps if record.status is RecordStatus.FAILED]
    unnamed = any(record.code == NOT_NAMED for record in failed)
    code = "RESUME_AFTER_ALL" if run.status is RunStatus.CANCELLED else "RESUME_CORRECTED" if unnamed else "RESUME"
    resume = list(_try(view, code, ResumeAsked(), _typed(view, "resume"))) if not _only_late(view) else []
    yield from resume
    still = view.over or run.status in AT_REST
    for record in failed:
        if not resume and (still or record.asks):
            yield from _retry(view, "RETRY", record.key.step)
    for record in [] if unnamed else failed[:1]:  # the list is made already, and another input does not change it
        if still and record.attempts and not view.unit(record).waits:
            step = record.key.step
            yield from _try(view, "RETRY_INPUT", RetryAsked(step, new_input=True), _typed(view, "retry", step, "--input @input.json"))
    for record in failed:
        if record.asks and record.effect is not Happened.HAPPENED and view.unit(record).sort is not Sort.APPROVAL:
            yield from _skip(view, "SKIP", record.key.step)


def _only_late(view: View) -> bool:
    """Whether all that stops it is a wait whose time is over, so that a resume would say less than the orders about that."""
    late = any(record.status is RecordStatus.WAITING and record.asks for record in view.steps)
    return late and not any(record.status is RecordStatus.FAILED for record in (*view.steps, *view.of_kind(Kind.CHECK)))


def _give_up(view: View) -> Iterator[Suggestion]:
    """Whether it stops there, or what is done is undone too."""
    if not view.over:
        yield from _try(view, "CANCEL", CancelAsked(), _typed(view, "cancel"))
    if not any(_can_be_undone(view, record) for record in view.of_kind(Kind.STEP)):
        return
    if view.over or view.snapshot.run.intent is Intent.CANCEL:
        yield from _try(view, "COMPENSATE", CompensateAsked(), _typed(view, "compensate"))
    else:
        yield from _try(view, "CANCEL_UNDO", CancelAsked(undo=True), _typed(view, "cancel", "--compensate"))


def _can_be_undone(view: View, record: Record) -> bool:
    """Whether something may be undone; of items and runs it is counted, since their step takes it for granted of a run that has ended."""
    effect = view.counts[record.key].effect if record.key in view.counts else record.effect
    return effect in (Happened.HAPPENED, Happened.UNKNOWN) and view.spec.by_name[record.key.step].undo is not None
