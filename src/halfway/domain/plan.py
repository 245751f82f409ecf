"""What an order would do, before it is given: what runs again and what does not, who is asked, what becomes possible.

Pure: the order is tried on `decide`, so a plan and what then happens cannot differ. The hash stands for the run as it was looked at;
confirming an outdated plan is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from halfway.domain import undo
from halfway.domain.decide import decide, evolve
from halfway.domain.facts import Move, Order, ReopenItems
from halfway.domain.items import are_under_way
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.run import ACTING, Counted, Key, Kind, Record, Snapshot, latest, meant
from halfway.domain.spec import Sort, WorkflowSpec
from halfway.domain.turn import Turn
from halfway.domain.waits import needs_gate

NO_COUNTS: Mapping[Key, Counted] = {}


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """What becomes of one effect when the run is undone."""

    step: str
    fate: str  # a member of undo.Fate; DONE or WAIVED, if its compensation has been through or a person has accepted what happened
    risk: str  # empty, if other runs are asked
    approver: str
    children: bool = False  # other runs are asked to undo what they did, each as its own steps say


class Again(NamedTuple):
    """Of a step that is done for many: how many of its items are tried again."""

    step: str
    items: int
    children: bool  # they are runs of their own, which are resumed


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
    items: tuple[Again, ...] = ()  # of the steps in `again` that are done for many, where it is known; the hash leaves it out
    hash: str = ""


def plan(spec: WorkflowSpec, snapshot: Snapshot, order: Order, now: int, counts: Mapping[Key, Counted] = NO_COUNTS) -> Plan:
    """What would follow from this order now. Raises what the order itself would raise. `counts`: of the items of steps as a whole."""
    snapshot = _in_order(spec, _of_order(snapshot, order))
    commands = decide(spec, snapshot, order, now)
    after = evolve(snapshot, commands)
    opened = {command.key for command in commands if isinstance(command, ReopenItems)}
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
        again=_names(record for record in after.records.values() if record.key in opened or _is_again(record, moved)),
        checked=_names(record for record in waiting if record.key.kind is Kind.CHECK),
        probed=_names(record for record in after.records.values() if _is_probed(turn, record)),
        kept=tuple(name for name, record in steps.items() if record is not None and record.status is RecordStatus.SUCCESS),
        ahead=ahead,
        dropped=tuple(name for name, record in steps.items() if stops and (record is None or record.status is RecordStatus.SKIPPED)),
        ready=_names(record for record in waiting if record.ready_at is not None and record.ready_at <= now),
        undone=undone,
        approvals=tuple(dict.fromkeys(_approvals(turn, () if stops else _open(steps), undone))),
    )
    return replace(made, hash=_hash(snapshot, order, made), items=tuple(_items(turn, opened, moved, counts)))


def _of_order(snapshot: Snapshot, order: Order) -> Snapshot:
    """Without the items of other steps: whoever carries out the order does not read them, and the hash must be the same there."""
    step = getattr(order, "step", None)
    record = None if step is None else meant(snapshot.records, step)
    whole = None if record is None or not are_under_way(record) else record.key
    kept = {key: one for key, one in snapshot.records.items() if not key.item or (whole is not None and _belongs(key, whole))}
    return Snapshot(snapshot.run, kept)


def _belongs(key: Key, whole: Key) -> bool:
    return (key.step, key.round) == (whole.step, whole.round)


def _is_again(record: Record, moved: set[Key]) -> bool:
    return record.status is RecordStatus.PENDING and record.key in moved and record.key.kind in ACTING and _was_done(record)


def _items(turn: Turn, opened: set[Key], moved: set[Key], counts: Mapping[Key, Counted]) -> Iterator[Again]:
    """How many items are tried again: those that were opened, or those of which a person has said that they did not happen."""
    settled = Counter(record.key.whole for record in turn.records.values() if record.key.item and _is_again(record, moved))
    numbers = {**settled, **{key: counts[key].again for key in opened if key in counts}}
    for key, number in sorted(numbers.items()):
        yield Again(key.step, number, turn.spec.by_name[key.step].sort is Sort.CHILDREN)


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
        children = spec.sort is Sort.CHILDREN
        yield Undoing(
            step=record.key.step,
            fate=_fate(turn, record, through),
            risk="" if spec.undo is None or children else spec.undo.risk.value,
            approver=turn.approver(undo.undo_key(record.key)),
            children=children,
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
