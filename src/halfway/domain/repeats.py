"""The order to try a step again: a failed one, one that waits for its next attempt, one in doubt with a person's word that it did
not happen, or with a corrected input.
"""

from __future__ import annotations

from halfway.domain import items, undo, waits
from halfway.domain.facts import EditInput, RetryAsked
from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.ordering import (
    SETTLE_BY_HAND,
    UNDO_BY_HAND,
    awaits_approval,
    broken_check,
    fresh,
    grant,
    in_doubt,
    in_time,
    instead,
    is_needed,
    is_undo,
    may_repeat,
    not_stopping,
    refuse,
    reopen,
    target_with_spec,
    told,
    try_again,
    wait_anew,
)
from halfway.domain.run import Happened, Kind, Record
from halfway.domain.spec import Sort, StepSpec
from halfway.domain.turn import Turn, still


def retry(turn: Turn, order: RetryAsked) -> None:
    step, record = target_with_spec(turn, order.step, "retry")
    _may_take_new_input(turn, order, record)
    waits = record.status is RecordStatus.PENDING and record.attempts > 0 and (record.ready_at or 0) > turn.now
    if waits and not (order.not_happened or order.new_input):
        turn.move(record._replace(ready_at=turn.now), Trigger.REOPENED)  # the cause is gone, so the wait is over
        turn.note("step.retry_ordered", record.key, record.attempts)
        return
    if not (items.is_whole(turn, record) and _retry_items(turn, order, step, record)):
        _retry(turn, order, step, record)


def _retry(turn: Turn, order: RetryAsked, step: StepSpec, record: Record) -> None:
    if record.status is RecordStatus.UNKNOWN:
        _retry_unknown(turn, order, step, record)
        return
    if record.status is RecordStatus.SUCCESS and broken_check(turn, record) is not None:
        _make_again(turn, record)
        return
    if order.not_happened:
        raise refuse(turn, "retry --not-happened", f"{told(record)} is {record.status}, not UNKNOWN.")
    waits_late = record.status is RecordStatus.WAITING and bool(record.asks) and not awaits_approval(turn, record)
    if record.status is not RecordStatus.FAILED and not waits_late:
        raise refuse(turn, "retry", f"{told(record)} is {record.status}.", instead(turn, record))
    if is_undo(record):
        _retry_undo(turn, record)
        return
    in_time(turn, "retry")
    not_stopping(turn, "retry")
    may_repeat(turn, "retry", step, record)
    others = [other.key.step for other in turn.of_kind(Kind.STEP) if other.key != record.key and turn.fails_run(other)]
    if others:
        problem = f"{', '.join(others)} failed too, and the run goes on only with all of them."
        raise refuse(turn, "retry", problem, "Use: halfway resume RUN --reason …")
    if order.new_input:
        _nothing_works_from_it(turn, record)
    reopen(turn)
    if order.new_input:
        _edit_input(turn, record)
    if waits_late:
        wait_anew(turn, record)
    else:
        try_again(turn, record)
    turn.note("step.retry_ordered", record.key, record.attempts)


def _retry_items(turn: Turn, order: RetryAsked, step: StepSpec, record: Record) -> bool:
    """Of a step that is done for many only the items that failed are tried again; False: it is as with any other step."""
    doubtful = in_doubt(turn, record)
    if order.new_input and (doubtful or record.code in (items.PARTIAL, items.TOO_MANY_FAILED)):
        problem = f"{step.name} was listed from the former input, and its items keep theirs."
        raise refuse(turn, "retry --input", problem, "Retry it without --input, or cancel this run and start another.")
    if doubtful and not order.not_happened:
        problem = f"nobody knows whether {len(doubtful)} items of {step.name} happened."
        raise refuse(turn, "retry", problem, SETTLE_BY_HAND.format(step=step.name))
    if doubtful:
        for item in doubtful:
            _retry_unknown(turn, order, turn.step(item.key), item)
        items.go_on(turn, record)
    elif items.are_under_way(record):
        raise refuse(turn, "retry", f"the items of {step.name} are still on their way.", "Wait until they have come to rest.")
    elif record.code in (items.PARTIAL, items.TOO_MANY_FAILED):
        if not is_undo(record):
            in_time(turn, "retry")
            not_stopping(turn, "retry")
            if turn.over:
                reopen(turn)
        grant(turn, record)
        items.open_again(turn, record, by_name=True)
    else:
        return False
    turn.note("step.retry_ordered", record.key, record.attempts)
    return True


def _may_take_new_input(turn: Turn, order: RetryAsked, record: Record) -> None:
    if order.new_input and (is_undo(record) or record.status not in (RecordStatus.FAILED, RecordStatus.WAITING)):
        problem = f"{told(record)} is {record.status}, and goes on from the present input."
        raise refuse(turn, "retry --input", problem, "A corrected input is for a step that has failed.")


def _retry_undo(turn: Turn, record: Record) -> None:
    """One undo alone is tried again; the others go on, or have gone on, without it."""
    if record.code in (undo.Fate.NO_UNDO, undo.Fate.OUTPUT_UNKNOWN):
        raise refuse(turn, "retry", f"no machine can undo {record.key.step}.", UNDO_BY_HAND.format(step=record.key.step))
    may_repeat(turn, "retry", turn.step(record.key), record)
    record = fresh(record)._replace(ready_at=turn.now)
    draft = turn.records.get(record.key._replace(kind=Kind.DRAFT))
    if draft is not None and draft.status is RecordStatus.FAILED:  # what a person is to be shown is still to be made
        turn.move(record._replace(ready_at=None), Trigger.REOPENED)
        turn.move(fresh(draft)._replace(ready_at=turn.now), Trigger.REOPENED)
    elif turn.step(record.key).requires_approval:
        turn.move(record._replace(ready_at=None), Trigger.REOPENED)
        waits.gate(turn, turn.records[record.key])
    else:
        turn.move(record, Trigger.REOPENED)
    turn.note("step.retry_ordered", record.key, record.attempts)


def _nothing_works_from_it(turn: Turn, record: Record) -> None:
    """The input is not taken away from an attempt that works from it, or from one that may be repeated under the same key."""
    for other in turn.of_kind(Kind.STEP):
        if other.key != record.key and (other.status is RecordStatus.RUNNING or other.status is RecordStatus.UNKNOWN or other.unsettled):
            problem = f"{told(other)} has begun with the present input, and is {other.status}."
            raise refuse(turn, "retry --input", problem, "Wait until it has ended, or settle it first.")


def _edit_input(turn: Turn, record: Record) -> None:
    """The run goes on with a corrected input; what was approved, or is waited for, was made from the former one."""
    turn.commands.append(EditInput())
    turn.note("workflow.input_edited")
    for other in turn.of_kind(Kind.STEP):
        if other.key == record.key:
            continue
        if other.status is RecordStatus.WAITING and not waits.is_gate(other):
            wait_anew(turn, other)
        elif other.status is RecordStatus.PENDING and other.approved_until is not None:
            turn.move(other._replace(ready_at=None, approved_until=None, approved_by=()), Trigger.BECAME_READY)
        elif other.status is RecordStatus.SUCCESS and turn.step(other.key).sort is Sort.APPROVAL and is_needed(turn, other):
            turn.move(fresh(other), Trigger.INVALIDATED)
            turn.hold_back(other.key.step)


def _retry_unknown(turn: Turn, order: RetryAsked, step: StepSpec, record: Record) -> None:
    if not order.not_happened:
        raise refuse(turn, "retry", f"nobody knows whether {told(record)} happened.", SETTLE_BY_HAND.format(step=step.name))
    alive = [attempt for attempt in record.unsettled if attempt.gone_at is None or attempt.gone_at > turn.now]
    if alive and not order.gone:
        raise refuse(
            turn,
            "retry --not-happened",
            f"attempt {alive[0].n} of {step.name} may still be running and could still do it.",
            "Wait until it has ended, or make sure that its process is dead and say so with --gone.",
        )
    grant(turn, record)
    record = turn.settle(record, "PERSON_SAID_NOT", *record.unsettled)
    record = fresh(record)._replace(effect=still(record, Happened.NOT))
    if turn.stopping and not is_undo(record):
        turn.move(record._replace(code="PERSON_SAID_NOT"), Trigger.NOT_HAPPENED)
    elif is_undo(record) and record.key.item:
        turn.move(record, Trigger.MARKED_ABSENT)  # its turn comes as that of the other items
    elif is_undo(record):
        turn.move(record, Trigger.MARKED_ABSENT)
        if step.requires_approval:
            waits.gate(turn, turn.records[record.key])
        else:
            turn.move(record._replace(ready_at=turn.now), Trigger.BECAME_READY)
    else:
        turn.move(record, Trigger.MARKED_ABSENT)
    turn.note("step.settled_by_person", record.key, record.attempts, happened=False)


def _make_again(turn: Turn, record: Record) -> None:
    """A person orders that a result that no longer holds is made again."""
    check = broken_check(turn, record)
    assert check is not None
    in_time(turn, "retry")
    not_stopping(turn, "retry")
    turn.move(fresh(check), Trigger.MARKED_SUCCESS)
    turn.move(fresh(record), Trigger.INVALIDATED)
    turn.hold_back(record.key.step)
    turn.note("step.retry_ordered", record.key, record.attempts)
