"""decide(spec, snapshot, fact, now) -> commands: the only place where the course of a run is decided.

It calls no author function and reads no payload: statuses, codes, counts and recorded answers only. The same facts give the same
commands. `evolve` applies commands to a snapshot, as the store does to the rows.
"""

from __future__ import annotations

from typing import assert_never

from halfway.domain import doubt, orders, outcome
from halfway.domain.facts import (
    CancelAsked,
    Claimed,
    Command,
    Created,
    EndAttempt,
    Fact,
    Finished,
    Gone,
    Late,
    LookAgain,
    MarkedSuccess,
    Move,
    Note,
    ResumeAsked,
    RetryAsked,
    SetRun,
    SettleAttempt,
    StartAttempt,
    Unblocked,
)
from halfway.domain.lifecycle import ENTERED_BY, FINAL, RecordStatus, RunStatus, RunTrigger, Trigger, advance_run
from halfway.domain.run import Attempt, Intent, Kind, Record, Snapshot
from halfway.domain.spec import Then, WorkflowSpec
from halfway.domain.turn import Turn


def decide(spec: WorkflowSpec, snapshot: Snapshot, fact: Fact, now: int) -> tuple[Command, ...]:
    """The commands that follow from one fact about a run at this time (R-B14)."""
    turn = Turn(spec, snapshot, now)
    take(turn, fact)
    close(turn)
    return tuple(turn.commands)


def take(turn: Turn, fact: Fact) -> None:
    """Takes one fact into a decision in the making; several facts of one moment may follow each other."""
    intent = turn.run.intent
    if not turn.over and intent is None:
        _watch_the_time(turn)
    _take_in(turn, fact)
    if (turn.reopened or not turn.over) and not (isinstance(fact, Claimed) and turn.run.intent is intent):
        _go_on(turn)


def _take_in(turn: Turn, fact: Fact) -> None:
    match fact:
        case Finished():
            outcome.finished(turn, fact)
        case Claimed():
            _start(turn, fact)
        case Late():
            outcome.late(turn, fact)
        case Gone():
            outcome.gone(turn, turn.records[fact.key], fact.n, fact.at)
        case Created():
            turn.note("workflow.started")
        case Unblocked():
            turn.run = turn.run._replace(blocked=False)
        case LookAgain():
            pass
        case CancelAsked() | ResumeAsked() | RetryAsked() | MarkedSuccess():
            orders.carry_out(turn, fact)
        case _:
            assert_never(fact)


def _watch_the_time(turn: Turn) -> None:
    run = turn.run
    if run.deadline_at is not None and turn.now >= run.deadline_at:
        turn.run = run._replace(intent=Intent.EXPIRE)
        turn.note("workflow.deadline_passed")
    elif run.timeout_at is not None and turn.now >= run.timeout_at:
        turn.run = run._replace(intent=Intent.TIMEOUT)
        turn.note("workflow.timed_out")


def _start(turn: Turn, fact: Claimed) -> None:
    """An attempt starts only if the record still waits for one, is due, and the run still wants it (R-B2, R-B8)."""
    record = turn.records.get(fact.key)
    if record is None or record.status is not RecordStatus.PENDING or record.ready_at is None or record.ready_at > turn.now:
        return
    if turn.over or (record.key.kind is Kind.STEP and turn.stopping):
        return
    step = turn.step(record.key)
    if record.unsettled and turn.key_forgotten(step, record):  # too late for a repeat to be the probe
        doubt.look(turn, turn.doubt(record))
        return
    takes_mark = step.takes_mark if fact.takes_mark is None else fact.takes_mark
    marked = record.key.kind is Kind.STEP and step.can_be_lost and (step.idempotent or not takes_mark)
    n = record.attempts + 1
    attempt = Attempt(n, fact.epoch, turn.now, marked)
    if turn.run.started_at is None:
        timeout_at = turn.now + turn.spec.timeout if turn.spec.timeout is not None else None
        turn.run = turn.run._replace(started_at=turn.now, timeout_at=timeout_at)
    first_at = record.first_at or turn.now
    turn.move(
        record, Trigger.STARTED, attempts=n, ready_at=None, first_at=first_at, started_at=turn.now, ended_at=None,
        open=(*record.open, attempt),
    )  # fmt: skip
    turn.commands.append(StartAttempt(record.key, n, fact.epoch, marked))
    turn.note("step.started", record.key, n)


def _go_on(turn: Turn) -> None:
    """Whatever the fact was: doubts are looked at, what has become possible becomes ready, what has become pointless is closed."""
    done: set[str] = set()
    doubts: list[Record] = []
    checking = False
    for key, record in turn.records.items():
        status = record.status
        if status is RecordStatus.SUCCESS:
            if key.kind is Kind.STEP:
                done.add(key.step)
        elif status is RecordStatus.UNKNOWN:
            if not record.asks and record.ready_at is not None and record.ready_at <= turn.now:
                doubts.append(record)
        elif key.kind is Kind.CHECK and status is not RecordStatus.SKIPPED:
            checking = True  # a resume still looks at what it builds on, or found it broken
    for record in doubts:
        doubt.look(turn, record)
    if turn.stopping:
        _close_pending(turn)
    elif not turn.run.blocked and not checking:
        _make_ready(turn, done)


def _make_ready(turn: Turn, done: set[str]) -> None:
    """Joins are recomputed from the rows: a step is ready when everything it stands after has succeeded."""
    for step, key in turn.spec.places:
        if step.name in done or not done.issuperset(step.after):
            continue
        record = turn.records.get(key)
        if record is None:
            turn.move(Record(key, RecordStatus.PENDING, ready_at=_place_in_line(turn, step.after)), Trigger.BECAME_READY)
        elif record.status is RecordStatus.PENDING and record.ready_at is None:
            turn.move(record, Trigger.BECAME_READY, ready_at=turn.now)


def _place_in_line(turn: Turn, after: tuple[str, ...]) -> int:
    """A step keeps its run's place: runs that began earlier go on before later ones begin."""
    return turn.run.created_at if after else turn.now


def _close_pending(turn: Turn) -> None:
    for record in turn.of_kind(Kind.STEP, Kind.CHECK):
        if record.status is not RecordStatus.PENDING:
            continue
        if record.unsettled:
            doubt.look(turn, turn.doubt(record))
        else:
            turn.stop(record, absent=False)


# ── the run's own state ──


def run_status(turn: Turn) -> RunStatus:
    """The state of a run, the first that applies; written precedence of R-A3 and R-A4."""
    run = turn.run
    if run.started_at is None and run.intent is None and run.status is RunStatus.PENDING:
        return RunStatus.PENDING
    asks = False
    for record in turn.records.values():
        status = record.status
        if (
            status is RecordStatus.RUNNING
            or (status is RecordStatus.PENDING and record.ready_at is not None)
            or (status is RecordStatus.UNKNOWN and not record.asks)
        ):
            return RunStatus.CANCEL_REQUESTED if run.intent is Intent.CANCEL else RunStatus.RUNNING
        if record.asks:
            asks = True
    return RunStatus.MANUAL_REQUIRED if asks else _quiet_status(turn)


def _quiet_status(turn: Turn) -> RunStatus:
    run, spec = turn.run, turn.spec
    if run.intent is Intent.EXPIRE:
        return RunStatus.EXPIRED if spec.past_deadline is Then.EXPIRE else RunStatus.MANUAL_REQUIRED
    if run.intent is Intent.CANCEL:
        return RunStatus.CANCELLED
    if run.intent is Intent.TIMEOUT:
        return RunStatus.FAILED if spec.on_failure is Then.FAIL else RunStatus.MANUAL_REQUIRED
    if turn.stopping:
        return RunStatus.FAILED
    done = sum(1 for record in turn.of_kind(Kind.STEP) if record.status is RecordStatus.SUCCESS)
    return RunStatus.SUCCESS if done == len(spec.steps) else RunStatus.RUNNING


FINAL_NOTES: dict[RunStatus, str] = {
    RunStatus.SUCCESS: "workflow.completed",
    RunStatus.FAILED: "workflow.failed",
    RunStatus.CANCELLED: "workflow.cancelled",
    RunStatus.EXPIRED: "workflow.expired",
}


def close(turn: Turn) -> None:
    """Ends a decision: the run's own state follows from its records; nothing is added if nothing has changed."""
    before = turn.before
    status = run_status(turn) if turn.reopened or not turn.over else before.status
    if status is not before.status:
        entered = advance_run(before.status, RunTrigger.REOPENED) if before.status in FINAL else before.status
        if status is not entered:
            advance_run(entered, ENTERED_BY[status])
        if status is RunStatus.MANUAL_REQUIRED:
            turn.note("workflow.person_needed")
        elif status in FINAL:
            turn.note(FINAL_NOTES[status])
    ended = status in FINAL and before.status is not status
    if ended:
        _close_rest(turn)
    if not turn.commands and turn.run is before:
        return
    ended_at = (turn.now if ended else before.ended_at) if status in FINAL else None
    timeout_at = turn.run.timeout_at
    if status is RunStatus.MANUAL_REQUIRED:
        timeout_at = None  # the time that a person takes is not the run's
    elif before.status is RunStatus.MANUAL_REQUIRED and status not in FINAL and turn.spec.timeout is not None:
        timeout_at = turn.now + turn.spec.timeout
    turn.run = turn.run._replace(
        status=status, timeout_at=timeout_at, revision=before.revision + 1, seq=before.seq + turn.notes, ended_at=ended_at
    )
    turn.commands.append(SetRun(turn.run, ended))


def _close_rest(turn: Turn) -> None:
    """A final transition first closes every open row."""
    for record in list(turn.records.values()):
        if record.status is RecordStatus.PENDING:
            turn.stop(record, absent=False)


def evolve(snapshot: Snapshot, commands: tuple[Command, ...]) -> Snapshot:
    """The snapshot after these commands."""
    run, records = snapshot.run, dict(snapshot.records)
    for command in commands:
        match command:
            case Move():
                records[command.record.key] = command.record
            case SetRun():
                run = command.run
            case SettleAttempt():
                record = records[command.key]
                records[command.key] = record._replace(open=_settled(record, command))
            case StartAttempt() | EndAttempt() | Note():
                pass
            case _:
                assert_never(command)
    return Snapshot(run, records)


def _settled(record: Record, command: SettleAttempt) -> tuple[Attempt, ...]:
    if command.how:
        return tuple(attempt for attempt in record.open if attempt.n != command.n)
    return tuple(attempt._replace(gone_at=command.gone_at) if attempt.n == command.n else attempt for attempt in record.open)
