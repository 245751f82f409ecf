"""Records that wait: for an event, for the end of another run, for a time, or for a person (R-C1, R-C3, R-C4)."""

from __future__ import annotations

from halfway.domain.doubt import ask_world
from halfway.domain.facts import OpenWait, Told
from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.run import Answer, Attempt, Intent, Kind, Record, Report
from halfway.domain.spec import Sort, StepSpec, Then, WaitSpec
from halfway.domain.turn import GATE, Turn

TIMED_OUT = "TIMED_OUT"


def suspend(turn: Turn, record: Record, attempt: Attempt, report: Report) -> None:
    """Its function has said what it waits for. From now on it occupies no worker."""
    step = turn.step(record.key)
    wait = _wait(step)
    left = turn.end(record, attempt, report, unsettled=False)
    until = report.until if wait.timeout is None else turn.now + wait.timeout
    asks = wait.role if step.sort is Sort.APPROVAL else ""
    record = turn.move(
        record._replace(ready_at=until, asks=asks, approved_by=(), code="", ended_at=None, open=left), Trigger.SUSPENDED, keep=True
    )
    turn.commands.append(OpenWait(record.key, attempt.n, step.sort, wait.name, report.waits or "", turn.now - wait.look_back))
    turn.note("step.waiting", record.key, attempt.n, until=until)
    if asks:
        turn.tell(Told.APPROVAL_ASKED, record)


def arrived(turn: Turn, record: Record, source: str) -> None:
    """What it waits for is here; the payload of the fact is its output."""
    if record.status is RecordStatus.WAITING and turn.step(record.key).sort in (Sort.EVENT, Sort.RUN):
        succeed(turn, record, Trigger.ARRIVED, "ARRIVED", source=source, keep=True)


def succeed(turn: Turn, record: Record, trigger: Trigger, how: str, *, source: str | None = None, keep: bool = False) -> None:
    turn.close_wait(record, how, source)
    turn.move(record._replace(ready_at=None, asks="", code="", ended_at=turn.now), trigger, keep=keep)
    turn.note("step.completed", record.key, record.attempts, settled=how)


def timed_out(turn: Turn, record: Record) -> None:
    """Its time has come: a time that was waited for, or the end of a patience, which has a policy of its own (R-C3)."""
    step = turn.step(record.key)
    wait = _wait(step)
    if step.sort is Sort.TIME:
        succeed(turn, record, Trigger.ARRIVED, "TIME")
        return
    turn.note("step.timed_out", record.key, record.attempts, then=wait.on_timeout.value)
    if wait.on_timeout is Then.PROBE:
        ask_world(turn, turn.move(record._replace(ready_at=None), Trigger.LOOKED))
    elif wait.on_timeout is Then.VALUE:
        succeed(turn, record, Trigger.DEFAULTED, "VALUE", keep=True)
    elif wait.on_timeout is Then.MANUAL and step.sort is not Sort.APPROVAL:
        ask(turn, record)
    elif wait.on_timeout is Then.RETRY and record.failures + 1 < step.retry.attempts:
        turn.close_wait(record, TIMED_OUT)
        turn.move(record._replace(ready_at=turn.now, failures=record.failures + 1), Trigger.REOPENED)
    else:
        end_unmet(turn, record, TIMED_OUT, wait.on_timeout, Trigger.TIMED_OUT)


def ask(turn: Turn, record: Record) -> None:
    """A person decides what a missing answer means; meanwhile the answer may still come."""
    record = turn.move(record._replace(ready_at=None, asks=turn.approver(record.key), code=TIMED_OUT), Trigger.PERSON_NEEDED)
    turn.note("step.person_needed", record.key, record.attempts, role=record.asks, code=record.code)
    turn.tell(Told.PERSON_NEEDED, record)


def end_unmet(turn: Turn, record: Record, code: str, then: Then, trigger: Trigger) -> None:
    """What it waited for does not come any more; what then follows is the wait's own policy."""
    turn.close_wait(record, code)
    record = record._replace(code=code, asks="", ready_at=None, ended_at=turn.now)
    if then is not Then.CANCEL:
        # An approval says itself whether what is done is undone; after another wait the step's own rule for failures does.
        own = then in (Then.MANUAL, Then.COMPENSATE) or turn.step(record.key).sort is Sort.APPROVAL
        turn.fail(record, trigger, then if own else None)
        return
    turn.move(record, Trigger.STOPPED)
    turn.note("step.skipped", record.key, record.attempts, code=code)
    if turn.run.intent is None:
        turn.run = turn.run._replace(intent=Intent.CANCEL)
        turn.note("workflow.cancel_requested", because=code)
        turn.nobody_decides()


def probed(turn: Turn, record: Record, probe: Record, answer: Answer) -> None:
    """The outside world was asked because the answer did not come in time, or because a person wanted to know."""
    stale = probe.looks != record.attempts  # it was asked about an earlier wait, and says nothing about this one
    if stale and record.ready_at is None and not record.asks:
        ask_world(turn, record)
    if stale:
        return
    turn.note("step.probed", record.key, record.attempts, answer=answer.value)
    if answer is Answer.FOUND:
        succeed(turn, record, Trigger.FOUND, "FOUND", keep=True)
    elif record.ready_at is not None:
        return  # its time is not over: it may still come
    elif answer is Answer.ABSENT and not record.asks:
        end_unmet(turn, record, TIMED_OUT, Then.FAIL, Trigger.TIMED_OUT)
    else:
        ask(turn, record)


def gate(turn: Turn, record: Record) -> None:
    """Its next attempt starts only when its approver has said yes; an approval holds for one attempt and its harmless repeats."""
    asks = turn.approver(record.key)
    record = turn.move(record._replace(asks=asks, ready_at=None, code=GATE, approved_until=None, approved_by=()), Trigger.APPROVAL_ASKED)
    turn.note("step.approval_asked", record.key, role=asks)
    turn.tell(Told.APPROVAL_ASKED, record)


def is_gate(record: Record) -> bool:
    """Whether it waits for the approval of its next attempt."""
    return record.status is RecordStatus.WAITING and record.code == GATE


def is_planned(turn: Turn, record: Record) -> bool:
    """Whether its wait belongs to the business, and does not say that something went wrong."""
    if record.key.kind is not Kind.STEP:
        return False
    return not record.asks or is_gate(record) or turn.step(record.key).sort is Sort.APPROVAL


def needs_gate(turn: Turn, record: Record) -> bool:
    """Whether a person must approve before this record's next attempt; the repeat that settles a doubt needs nobody."""
    if not turn.step(record.key).requires_approval or record.unsettled or record.key.kind not in (Kind.STEP, Kind.COMPENSATION):
        return False
    return record.approved_until is None or record.approved_until <= turn.now


def _wait(step: StepSpec) -> WaitSpec:
    assert step.wait is not None
    return step.wait
