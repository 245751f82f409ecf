"""Decisions of people about a step: who may say yes, how many must, and what a yes is worth (R-C4, R-J5).

Silence is never a yes. An approval is for one attempt: a lost answer, a corrected input or its use-by takes it away.
"""

from __future__ import annotations

from halfway.domain import items
from halfway.domain.facts import Told
from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.loops import failed, sends_back
from halfway.domain.run import Kind, Record
from halfway.domain.spec import DAY, Sort, Then, WaitSpec
from halfway.domain.turn import Turn
from halfway.domain.waits import end_unmet, is_gate, succeed
from halfway.errors import Conflict

USE_BY = DAY  # an approved attempt starts before, or is asked about again
REJECTED = "REJECTED"
LONE = WaitSpec()  # the approval of an attempt: one person, no policy of its own


def approve(turn: Turn, record: Record, by: str) -> None:
    wait = _asked(turn, record, "approve")
    if by in record.approved_by:
        raise _refuse(turn, "approve", f"{by} has approved {record.key.step} already.", "Another person must decide.")
    if wait.four_eyes:
        _another_pair_of_eyes(turn, record, by)
    record = record._replace(approved_by=(*record.approved_by, by))
    turn.note("step.approved", record.key, record.attempts or None, by=by)
    if is_gate(record):
        turn.close_wait(record, "APPROVED")
        if items.is_whole(turn, record) and record.key.kind is Kind.COMPENSATION:
            items.undo(turn, turn.move(record._replace(asks="", code="", ready_at=None), Trigger.APPROVED))
            return
        # A step becomes ready as any other does: what it stands after may be made again at this moment.
        ready_at = None if record.key.kind is Kind.STEP else turn.now
        turn.move(record._replace(asks="", code="", ready_at=ready_at, approved_until=turn.now + USE_BY), Trigger.APPROVED)
    elif len(record.approved_by) < wait.quorum:
        turn.move(record, Trigger.LOOKED)  # another person must agree
    else:
        succeed(turn, record, Trigger.ARRIVED, "APPROVED", keep=True)


def reject(turn: Turn, record: Record, by: str) -> None:
    wait = _asked(turn, record, "reject")
    if wait.four_eyes:
        _another_pair_of_eyes(turn, record, by)
    turn.note("step.rejected", record.key, record.attempts or None, by=by)
    if record.key.kind is Kind.COMPENSATION:  # what happened is still there, so somebody must say what becomes of it
        turn.close_wait(record, REJECTED)
        asks = turn.approver(record.key)
        record = turn.move(record._replace(code=REJECTED, asks=asks, ended_at=turn.now), Trigger.REJECTED)
        turn.tell(Told.PERSON_NEEDED, record)
    elif is_gate(record):
        end_unmet(turn, record, REJECTED, Then.FAIL, Trigger.REJECTED)
    elif sends_back(turn.step(record.key).rewind, REJECTED):  # a person wants it done differently
        turn.close_wait(record, REJECTED)
        failed(turn, record._replace(code=REJECTED, asks="", ended_at=turn.now), Trigger.REJECTED)
    else:
        end_unmet(turn, record, REJECTED, wait.on_reject, Trigger.REJECTED)


def _asked(turn: Turn, record: Record, action: str) -> WaitSpec:
    """What is asked of a person about this record; refuses what nobody has asked, or what is decided."""
    step = turn.step(record.key)
    if record.status is RecordStatus.WAITING and (is_gate(record) or step.sort is Sort.APPROVAL):
        if record.ready_at is not None and record.ready_at <= turn.now:
            raise _refuse(turn, action, f"the time to decide about {step.name} is over.")
        return step.wait if step.wait is not None and not is_gate(record) else LONE
    if step.sort is Sort.APPROVAL or step.requires_approval:
        decided = f": {record.code}" if record.code else ""
        raise _refuse(turn, action, f"{step.name} is already decided, it is {record.status}{decided}.")
    raise _refuse(turn, action, f"nobody is asked to approve {step.name}; it is {record.status}.")


def _another_pair_of_eyes(turn: Turn, record: Record, by: str) -> None:
    requester = turn.run.actor
    if not requester:
        problem = f"{record.key.step} needs another person than the one who asked for the run, and nobody knows who that was."
        raise _refuse(turn, "approve", problem, "Name it when the run is started: actor=…, or halfway start TYPE --as …")
    if requester == by:
        raise _refuse(turn, "approve", f"{by} has asked for this run, and {record.key.step} needs another person.")


def _refuse(turn: Turn, action: str, problem: str, remedy: str = "") -> Conflict:
    return Conflict("ACTION_REFUSED", action=action, run=turn.run.id, problem=problem, remedy=remedy)
