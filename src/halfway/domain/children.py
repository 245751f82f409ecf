"""Child runs: items of a step each of which is a run of its own (R-E4). A parent hears of the end of every one of them.

What a child has come to is asked of its own run, never counted. A cancel and an undo pass down to the children that the parent has
started, unless they are detached; one that stood already under its key is only waited for.
"""

from __future__ import annotations

from halfway.domain.facts import ChildEnded, PassDown, StopItems
from halfway.domain.items import PARTIAL
from halfway.domain.lifecycle import RecordStatus, RunStatus, Trigger
from halfway.domain.run import Attempt, Happened, Intent, Kind, Record, Report
from halfway.domain.spec import Sort
from halfway.domain.turn import CLOSED_BY, Turn

WELL = (RunStatus.SUCCESS, RunStatus.PARTIAL_SUCCESS)
NOTHING = "NOTHING_TO_UNDO"  # the code of the undo of a child that has left nothing behind


def began(turn: Turn, record: Record, attempt: Attempt, report: Report) -> None:
    """The child run stands, or was told; from now on it is waited for without a worker."""
    left = turn.end(record, attempt, report, unsettled=False)
    record = turn.move(record._replace(ready_at=None, code="", looks=0, ended_at=None, open=left), Trigger.SUSPENDED)
    if report.code == NOTHING:
        turn.move(record._replace(code=NOTHING, ended_at=turn.now), Trigger.ARRIVED)
    elif record.key.kind is Kind.STEP and turn.stopping:  # it was being started when the others were told
        whole = turn.records[record.key.whole]
        turn.commands.append(StopItems(whole.key, CLOSED_BY[turn.run.intent], turn.step(whole.key).detached))
        stop(turn, whole)


def ended(turn: Turn, fact: ChildEnded) -> None:
    record = turn.records.get(fact.key)
    if record is None or record.status is not RecordStatus.WAITING or turn.step(fact.key).sort is not Sort.CHILD:
        return
    record = record._replace(ended_at=turn.now)
    if fact.key.kind is Kind.COMPENSATION:
        well = fact.status is RunStatus.COMPENSATED
        turn.move(record._replace(code="" if well else fact.status.value), Trigger.ARRIVED if well else Trigger.FAILED)
        return
    # Whatever it came to, it may have left something behind: an undo of the parent asks it.
    record = record._replace(effect=Happened.NOT if fact.status is RunStatus.COMPENSATED else Happened.HAPPENED)
    if fact.status in WELL:
        turn.move(record._replace(code="" if fact.status is RunStatus.SUCCESS else PARTIAL), Trigger.ARRIVED)
    elif fact.status is RunStatus.CANCELLED and turn.stopping:
        turn.move(record._replace(code=CLOSED_BY[turn.run.intent]), Trigger.STOPPED)
    else:
        turn.move(record._replace(code=f"CHILD_{fact.status.value}"), Trigger.FAILED)


def parent_stopped(turn: Turn) -> None:
    """As if somebody had asked; a run that stops already, or is being undone, goes its way."""
    if not turn.over and turn.run.intent is None and turn.run.undo is None:
        turn.run = turn.run._replace(intent=Intent.CANCEL)
        turn.note("workflow.cancel_requested", because="PARENT_STOPPED")
        turn.nobody_decides()


def stop(turn: Turn, record: Record) -> None:
    """The parent stops, so its children are asked to."""
    if not turn.step(record.key).detached:
        turn.commands.append(PassDown(record.key))
