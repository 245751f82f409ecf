"""Orders that settle a step without another attempt: what a person has seen, does without, wants looked for, or gives free."""

from __future__ import annotations

from halfway.domain import doubt, items, waits
from halfway.domain.facts import MarkedSuccess, ProbeAsked, ReleaseAsked, ReleaseHold, SkipAsked
from halfway.domain.joins import WAIVED
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus, Trigger
from halfway.domain.ordering import (
    SETTLE_BY_HAND,
    broken_check,
    fresh,
    in_doubt,
    in_time,
    instead,
    is_undo,
    not_stopping,
    refuse,
    reopen,
    target,
    target_with_spec,
    told,
)
from halfway.domain.run import Happened, Kind, Record
from halfway.domain.spec import Sort
from halfway.domain.turn import Turn


def mark_success(turn: Turn, order: MarkedSuccess) -> None:
    record = target(turn, order.step, "mark-success")
    check = broken_check(turn, record)
    if record.status is RecordStatus.SUCCESS and check is not None:
        _vouch(turn, record, check)
        return
    if items.is_whole(turn, record) and _mark_items(turn, record):
        return
    _only_by_its_people(turn, "mark-success", record)
    if waits.is_gate(record) and not is_undo(record):
        raise refuse(turn, "mark-success", f"{told(record)} waits for {record.asks}.", instead(turn, record))
    if record.status not in (RecordStatus.UNKNOWN, RecordStatus.FAILED, RecordStatus.WAITING):
        raise refuse(
            turn, "mark-success", f"{told(record)} is {record.status}.", "Only a step that failed, waits or is UNKNOWN can be marked."
        )
    if record.status is RecordStatus.WAITING:
        turn.close_wait(record, "PERSON_SAID_YES")
    _may_go_on(turn)
    _settled(turn, record)


def _may_go_on(turn: Turn) -> None:
    if turn.run.status in (RunStatus.EXPIRED, RunStatus.CANCELLED, RunStatus.COMPENSATED):
        raise refuse(turn, "mark-success", f"the run has ended: {turn.run.status}.")
    if turn.run.status in FINAL:
        reopen(turn)


def _vouch(turn: Turn, record: Record, check: Record) -> None:
    """A person has seen that the result holds, whatever the check says."""
    turn.move(fresh(check), Trigger.MARKED_SUCCESS)
    turn.note("step.settled_by_person", record.key, record.attempts, happened=True)


def _mark_items(turn: Turn, record: Record) -> bool:
    """A person has seen that all items in doubt happened, or accepts what became of the items; False: neither is asked."""
    doubtful = in_doubt(turn, record)
    for item in doubtful:
        _settled(turn, item)
    if doubtful:
        items.go_on(turn, record)
    elif items.have_failed(record) and record.status in (RecordStatus.WAITING, RecordStatus.FAILED):
        _may_go_on(turn)
        items.accept(turn, record)
    else:
        if items.are_under_way(record):
            raise refuse(turn, "mark-success", f"the items of {record.key.step} are still on their way.")
        return False
    turn.note("step.settled_by_person", record.key, record.attempts, happened=True, items=len(doubtful))
    return True


def _settled(turn: Turn, record: Record) -> None:
    """It happened, as a person has seen."""
    step = turn.step(record.key)
    record = turn.settle(record, "PERSON_SAID_YES", *record.unsettled)
    effect = Happened.HAPPENED if step.can_be_lost or step.sort is Sort.TRANSACTION else record.effect
    marked = fresh(record)._replace(effect=effect, ended_at=turn.now, ready_at=None)
    turn.move(marked, Trigger.MARKED_SUCCESS, keep=not is_undo(record))
    turn.note("step.settled_by_person", record.key, record.attempts, happened=True)


def _only_by_its_people(turn: Turn, action: str, record: Record) -> None:
    """An approval is given by those who may, and by as many as must; no other order stands for it (R-J5)."""
    step = turn.step(record.key)
    if step.sort is not Sort.APPROVAL:
        return
    remedy = instead(turn, record)
    if record.status is not RecordStatus.WAITING:
        remedy = f"Ask again: halfway retry RUN {step.name} --reason …" if record.status is RecordStatus.FAILED else ""
    raise refuse(turn, action, f"{told(record)} is an approval, and is {record.status}.", remedy)


def skip(turn: Turn, order: SkipAsked) -> None:
    record = target(turn, order.step, "skip")
    if record.status is RecordStatus.UNKNOWN or record.unsettled:
        raise refuse(turn, "skip", f"nobody knows whether {told(record)} happened.", SETTLE_BY_HAND.format(step=order.step))
    _only_by_its_people(turn, "skip", record)
    if items.are_under_way(record):
        raise refuse(turn, "skip", f"the items of {record.key.step} are still on their way.", "Use: halfway cancel RUN --reason …")
    if items.have_failed(record) and record.status in (RecordStatus.FAILED, RecordStatus.WAITING):
        # Some of it may be done, and who reads the step would find nothing of that.
        problem = f"its items are through, and whoever reads {record.key.step} needs to know what became of them."
        raise refuse(
            turn, "skip", problem, f"Accept what became of them: halfway mark-success RUN {record.key.step} --evidence … --reason …"
        )
    if record.status not in (RecordStatus.FAILED, RecordStatus.WAITING, RecordStatus.PENDING):
        raise refuse(turn, "skip", f"{told(record)} is {record.status}.", "Only what has failed or waits can be skipped.")
    if not is_undo(record):
        in_time(turn, "skip")
        not_stopping(turn, "skip")
        if turn.run.status in FINAL:
            reopen(turn)
    if record.status is RecordStatus.WAITING:
        turn.close_wait(record, WAIVED)
    skipped = fresh(record)._replace(code=WAIVED, ended_at=turn.now)
    turn.move(skipped, Trigger.WAIVED)
    draft = turn.records.get(record.key._replace(kind=Kind.DRAFT))
    if is_undo(record) and draft is not None and draft.status is RecordStatus.PENDING:  # nobody is shown it any more
        turn.move(draft._replace(ready_at=None, code=WAIVED, ended_at=turn.now), Trigger.STOPPED)
    turn.note("step.waived", record.key, record.attempts or None)


def probe(turn: Turn, order: ProbeAsked) -> None:
    step, record = target_with_spec(turn, order.step, "probe")
    doubtful = in_doubt(turn, record)
    if doubtful and turn.step(doubtful[0].key).probe is not None:
        for item in doubtful:
            doubt.ask_world(turn, turn.move(item._replace(asks="", ready_at=turn.now), Trigger.LOOKED))
        items.go_on(turn, record)
        turn.note("step.probe_ordered", record.key, record.attempts)
        return
    if step.probe is None:
        raise refuse(turn, "probe", f"{told(record)} has no probe.", SETTLE_BY_HAND.format(step=order.step))
    waits_late = record.status is RecordStatus.WAITING and step.waits
    if record.status is not RecordStatus.UNKNOWN and not waits_late:
        raise refuse(turn, "probe", f"{told(record)} is {record.status}.", "Only a step that is UNKNOWN, or waits, can be looked for.")
    probe = turn.records.get(doubt.probe_key(record.key))
    if probe is not None and probe.status is RecordStatus.RUNNING:
        raise refuse(turn, "probe", f"the probe of {order.step} is looking already.")
    if probe is not None and probe.status is RecordStatus.PENDING:
        turn.move(probe._replace(ready_at=turn.now), Trigger.REOPENED)
    elif waits_late:
        doubt.ask_world(turn, record)
    else:
        doubt.ask_world(turn, turn.move(record._replace(asks="", ready_at=turn.now), Trigger.LOOKED))
    turn.note("step.probe_ordered", record.key, record.attempts)


def release(turn: Turn, order: ReleaseAsked) -> None:
    step, record = target_with_spec(turn, order.step, "release")
    if not step.holds or record.status is not RecordStatus.UNKNOWN:
        raise refuse(turn, "release", f"{told(record)} holds no business record.", "Only a CHANGE that is UNKNOWN does.")
    turn.commands.append(ReleaseHold(record.key))
    turn.note("step.hold_released", record.key, record.attempts)
