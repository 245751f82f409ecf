"""What an operator may order, when it applies, and what it changes. A refused order raises, and changes nothing."""

from __future__ import annotations

from typing import assert_never

from halfway.domain import approvals, items, undo, waits
from halfway.domain.contract import Rule, rule_for_absent
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
    Told,
)
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus, Trigger
from halfway.domain.ordering import (
    SETTLE_BY_HAND,
    fresh,
    in_time,
    is_needed,
    may_repeat,
    not_stopping,
    open_again,
    refuse,
    reopen,
    target,
    try_again,
    wait_anew,
)
from halfway.domain.repeats import retry
from halfway.domain.run import ACTING, ALL_BACK, Intent, Kind, Record
from halfway.domain.turn import Turn
from halfway.domain.verdicts import mark_success, probe, release, skip

NOT_REPEATED = ("NOT_HAPPENED", "PERSON_SAID_NOT")  # codes of doubts that were settled while the run stopped: only that ended the step
REOPENABLE = frozenset({RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.MANUAL_REQUIRED, RunStatus.PARTIAL_SUCCESS})


def carry_out(turn: Turn, order: Order) -> None:
    match order:
        case CancelAsked():
            _cancel(turn, order)
        case CompensateAsked():
            _compensate(turn, order)
        case ResumeAsked():
            _resume(turn)
        case RetryAsked():
            retry(turn, order)
        case Approved():
            approvals.approve(turn, target(turn, order.step, "approve"), order.by)
        case Rejected():
            approvals.reject(turn, target(turn, order.step, "reject"), order.by)
        case _:
            _settle(turn, order)


def _settle(turn: Turn, order: MarkedSuccess | ProbeAsked | SkipAsked | ReleaseAsked) -> None:
    match order:
        case MarkedSuccess():
            mark_success(turn, order)
        case ProbeAsked():
            probe(turn, order)
        case SkipAsked():
            skip(turn, order)
        case ReleaseAsked():
            release(turn, order)
        case _:
            assert_never(order)


def _cancel(turn: Turn, order: CancelAsked) -> None:
    if turn.run.status in FINAL:
        remedy = "Use: halfway compensate RUN --reason …" if order.undo else ""
        raise refuse(turn, "cancel", f"it has already ended: {turn.run.status}.", remedy)
    if turn.run.undo is not None:
        raise refuse(turn, "cancel", "it is being undone.", "It ends when that is through.")
    if turn.run.intent is Intent.CANCEL:
        remedy = "It stops at the next safe boundary." if not order.undo else "Use: halfway compensate RUN --reason …"
        raise refuse(turn, "cancel", "it was already asked to stop.", remedy)
    turn.run = turn.run._replace(intent=Intent.CANCEL)
    turn.note("workflow.cancel_requested")
    turn.nobody_decides()
    if order.undo:
        turn.undo(ALL_BACK)


def _compensate(turn: Turn, order: CompensateAsked) -> None:
    run = turn.run
    if run.undo is not None and run.status not in FINAL:
        raise refuse(turn, "compensate", "it is being undone already.")
    if run.status is RunStatus.COMPENSATED:
        raise refuse(turn, "compensate", "it has been undone already.")
    happened = [record.key.step for record in undo.in_reverse(turn)]
    if order.step is not None:
        target(turn, order.step, "compensate")
        if order.step not in happened:
            raise refuse(turn, "compensate", f"step {order.step} has done nothing that could be undone.")
    doubts = any(record.status is RecordStatus.UNKNOWN or record.unsettled for record in turn.of_kind(Kind.STEP))
    if not happened and not doubts:
        remedy = "Use: halfway cancel RUN --reason …" if not turn.over else ""
        raise refuse(turn, "compensate", "nothing has happened that could be undone.", remedy)
    if run.status in FINAL:
        open_again(turn)
    turn.undo(order.step or ALL_BACK)


def _resume(turn: Turn) -> None:
    doubtful = [record.key.step for record in turn.of_kind(*ACTING) if record.status is RecordStatus.UNKNOWN and record.asks]
    doubtful += [record.key.step for record in turn.of_kind(*ACTING) if items.are_under_way(record) and record.asks]
    if doubtful:
        raise refuse(turn, "resume", f"nobody knows yet whether {', '.join(doubtful)} happened.", SETTLE_BY_HAND.format(step=doubtful[0]))
    in_time(turn, "resume")
    not_stopping(turn, "resume")
    stopped = _to_try_again(turn)
    if turn.run.status not in REOPENABLE or (turn.run.status is RunStatus.PARTIAL_SUCCESS and not stopped):
        raise refuse(turn, "resume", f"it is {turn.run.status}.", "Only a run that has stopped can be resumed.")
    late = [record for record in turn.steps() if record.status is RecordStatus.WAITING and not waits.is_planned(turn, record)]
    for record in stopped:
        may_repeat(turn, "resume", turn.step(record.key), record)
    reopen(turn)
    for record in sorted(stopped, key=lambda record: turn.spec.order[record.key.step], reverse=True):
        if turn.superseded(record):  # a later one has sent the run back behind it
            continue
        if _only_by_name(turn, record) and not record.asks:
            asking = turn.move(record, Trigger.PERSON_NEEDED, asks=turn.approver(record.key))
            turn.note("step.person_needed", asking.key, asking.attempts, role=asking.asks, code=asking.code)
            turn.tell(Told.PERSON_NEEDED, asking)
        elif not _only_by_name(turn, record):
            try_again(turn, record)
    for record in late:
        wait_anew(turn, record)
    _check_what_it_builds_on(turn)
    turn.note("workflow.resumed")


def _to_try_again(turn: Turn) -> list[Record]:
    """What has stopped the run; of one that has succeeded in part whatever failed in it."""
    partly = turn.run.status is RunStatus.PARTIAL_SUCCESS
    failed = [record for record in turn.steps() if record.status is RecordStatus.FAILED]
    if partly:
        return failed + [record for record in turn.steps() if record.status is RecordStatus.SUCCESS and record.code == items.PARTIAL]
    return [one for one in failed if one.code in NOT_REPEATED or not turn.step(one.key).optional or is_needed(turn, one)]


def _only_by_name(turn: Turn, record: Record) -> bool:
    """A probe did not find it while the run stopped. For a message that is no proof, so it is sent again only if that step is ordered."""
    step = turn.step(record.key)
    key_counts = not turn.key_forgotten(step, record)
    return record.code == "NOT_HAPPENED" and rule_for_absent(step, key_counts=key_counts) is Rule.ASK_PERSON


def _check_what_it_builds_on(turn: Turn) -> None:
    for record in turn.steps():
        if record.status is RecordStatus.SUCCESS and turn.step(record.key).verifies:
            key = record.key._replace(kind=Kind.CHECK)
            check = turn.records.get(key)
            trigger = Trigger.BECAME_READY if check is None else Trigger.REOPENED
            asked = check or Record(key, RecordStatus.PENDING)
            turn.move(fresh(asked)._replace(ready_at=turn.now), trigger)
