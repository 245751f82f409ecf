"""What an order would do, before it is given: what runs again and what does not, who is asked, what becomes possible.

Pure: the order is tried on `decide`, so a plan and what then happens cannot differ. The hash stands for the run as it was looked at;
confirming an outdated plan is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from halfway.domain import undo
from halfway.domain.decide import decide, evolve
from halfway.domain.facts import Move, Order
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.run import ACTING, Kind, Record, Snapshot, latest
from halfway.domain.spec import Sort, WorkflowSpec
from halfway.domain.turn import Turn
from halfway.domain.waits import needs_gate


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """What becomes of one effect when the run is undone."""

    step: str
    fate: str  # a member of undo.Fate; DONE or WAIVED, if its compensation has been through or a person has accepted what happened
    risk: str
    approver: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one order does to one run, by the names of its steps."""

    before: RunStatus
    after: RunStatus  # at once; more may follow
    again: tuple[str, ...]  # had attempts, and get others
    checked: tuple[str, ...]  # what the run builds on, looked at first
    probed: tuple[str, ...]  # the outside world is asked about them
    kept: tuple[str, ...]  # done, and not run again
    ahead: tuple[str, ...]  # not begun yet, and run if the others succeed
    dropped: tuple[str, ...]  # will not run
    ready: tuple[str, ...]  # what becomes possible at once
    undone: tuple[Undoing, ...]
    approvals: tuple[tuple[str, str], ...]  # (step, role) that must say yes on the way
    hash: str = ""


def plan(spec: WorkflowSpec, snapshot: Snapshot, order: Order, now: int) -> Plan:
    """What would follow from this order now. Raises what the order itself would raise."""
    snapshot = _in_order(spec, snapshot)
    commands = decide(spec, snapshot, order, now)
    after = evolve(snapshot, commands)
    moved = {command.record.key for command in commands if isinstance(command, Move)}
    turn = Turn(spec, after, now)
    stops = turn.stopping or after.run.status in FINAL
    steps = {step.name: latest(after.records, step.name) for step in spec.steps}
    waiting = [record for record in after.records.values() if record.status is RecordStatus.PENDING]
    ahead = tuple(name for name, record in steps.items() if not stops and (record is None or _is_ahead(record)))
    undone = tuple(_undoings(turn)) if after.run.undo is not None else ()
    made = Plan(
        before=snapshot.run.status,
        after=after.run.status,
        again=_names(record for record in waiting if record.key in moved and record.key.kind in ACTING and _was_done(record)),
        checked=_names(record for record in waiting if record.key.kind is Kind.CHECK),
        probed=_names(record for record in after.records.values() if _is_probed(turn, record)),
        kept=tuple(name for name, record in steps.items() if record is not None and record.status is RecordStatus.SUCCESS),
        ahead=ahead,
        dropped=tuple(name for name, record in steps.items() if stops and (record is None or record.status is RecordStatus.SKIPPED)),
        ready=_names(record for record in waiting if record.ready_at is not None and record.ready_at <= now),
        undone=undone,
        approvals=tuple(dict.fromkeys(_approvals(turn, () if stops else _open(steps), undone))),
    )
    return replace(made, hash=_hash(snapshot, order, made))


def _in_order(spec: WorkflowSpec, snapshot: Snapshot) -> Snapshot:
    """The records as the workflow names its steps: two readings of one state must give one plan, and one hash."""
    place = {step.name: n for n, step in enumerate(spec.steps)}
    keys = sorted(snapshot.records, key=lambda key: (place.get(key.step, len(place)), key))
    return Snapshot(snapshot.run, {key: snapshot.records[key] for key in keys})


def _was_done(record: Record) -> bool:
    """Whether it has been tried, in this round or in an earlier one."""
    return bool(record.attempts) or record.key.round > 1


def _is_ahead(record: Record) -> bool:
    return not _was_done(record) and record.status in (RecordStatus.PENDING, RecordStatus.WAITING, RecordStatus.UNKNOWN)


def _open(steps: dict[str, Record | None]) -> tuple[str, ...]:
    """What will begin, or will begin again, if nothing stops it."""
    return tuple(name for name, record in steps.items() if record is None or record.status is RecordStatus.PENDING)


def _names(records: Iterator[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.key.step for record in records))


def _is_probed(turn: Turn, record: Record) -> bool:
    in_doubt = record.status is RecordStatus.UNKNOWN and not record.asks and turn.step(record.key).probe is not None
    return in_doubt or (record.key.kind in (Kind.PROBE, Kind.COMPENSATION_PROBE) and record.status is RecordStatus.PENDING)


def _undoings(turn: Turn) -> Iterator[Undoing]:
    for record in undo.in_reverse(turn):
        through = turn.records.get(undo.undo_key(record.key))
        spec = turn.spec.by_name[record.key.step]
        yield Undoing(
            step=record.key.step,
            fate=_fate(turn, record, through),
            risk="" if spec.undo is None else spec.undo.risk.value,
            approver=turn.approver(undo.undo_key(record.key)),
        )


def _fate(turn: Turn, record: Record, through: Record | None) -> str:
    fate = undo.fate(turn, record)
    if through is None:
        return fate.value
    if through.status in (RecordStatus.SUCCESS, RecordStatus.SKIPPED):
        return through.code or "DONE"
    if through.status is RecordStatus.FAILED and through.code in undo.HANDED_OVER:
        return undo.Fate.NO_UNDO.value  # a person has said no, or no machine can
    if fate is undo.Fate.APPROVAL and through.approved_until is not None:
        return undo.Fate.UNDONE.value
    return fate.value


def _approvals(turn: Turn, begin: tuple[str, ...], undone: tuple[Undoing, ...]) -> Iterator[tuple[str, str]]:
    for record in turn.records.values():
        if record.asks:
            yield record.key.step, record.asks
    for name in begin:
        step, known = turn.spec.by_name[name], turn.latest(name)
        if step.sort is Sort.APPROVAL and step.wait is not None:
            yield name, step.wait.role
        elif step.requires_approval if known is None else needs_gate(turn, known):
            yield name, turn.spec.decides(step)
    for one in undone:
        if one.fate in (undo.Fate.APPROVAL, undo.Fate.NO_UNDO, undo.Fate.OUTPUT_UNKNOWN):
            yield one.step, one.approver


def _hash(snapshot: Snapshot, order: Order, made: Plan) -> str:
    run = snapshot.run
    told = [run.id, run.revision, run.hash, type(order).__name__, list(order), asdict(made)]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
