"""decide(spec, snapshot, fact, now) -> commands: the only place where the course of a run is decided.

It calls no author function and reads no payload: statuses, codes, counts and recorded answers only. The same facts give the same
commands. `evolve` applies commands to a snapshot, as the store does to the rows.
"""

from __future__ import annotations

from typing import assert_never

from halfway.domain import budget, children, doubt, items, joins, orders, outcome, undo, waits
from halfway.domain.facts import (
    Arrived,
    AtRest,
    ChildEnded,
    Claimed,
    CloseWait,
    Command,
    Created,
    EditInput,
    EndAttempt,
    Fact,
    Finished,
    Gone,
    Late,
    LookAgain,
    Move,
    Note,
    OpenWait,
    Order,
    ParentStopped,
    PassDown,
    Postponed,
    ReleaseHold,
    ReopenItems,
    SetRun,
    SettleAttempt,
    StartAttempt,
    StopItems,
    Tell,
    Told,
    Unblocked,
    UndoItems,
)
from halfway.domain.lifecycle import ENTERED_BY, FINAL, RecordStatus, RunStatus, RunTrigger, Trigger, advance_run
from halfway.domain.run import ACTING, ALL_BACK, Attempt, Intent, Kind, Record, Snapshot
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
    if (turn.reopened or not turn.over) and not (turn.run.intent is intent and _has_only_started(turn, fact)):
        _go_on(turn)


def _has_only_started(turn: Turn, fact: Fact) -> bool:
    record = turn.records.get(fact.key) if isinstance(fact, Claimed) else None
    return record is not None and record.running is not None


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
        case Created() | Unblocked() | Postponed():
            _begin(turn, fact)
        case Arrived():
            waits.arrived(turn, turn.records[fact.key], fact.source)
        case LookAgain():
            pass
        case _:
            _hear(turn, fact)


def _hear(turn: Turn, fact: AtRest | ChildEnded | ParentStopped | Order) -> None:
    """What comes from items, from other runs, or from a person."""
    match fact:
        case AtRest():
            items.at_rest(turn, fact)
        case ChildEnded():
            children.ended(turn, fact)
        case ParentStopped():
            children.parent_stopped(turn)
        case _:
            orders.carry_out(turn, fact)


def _begin(turn: Turn, fact: Created | Unblocked | Postponed) -> None:
    match fact:
        case Created():
            turn.note("workflow.started")
        case Unblocked():
            turn.run = turn.run._replace(blocked=False)
        case Postponed():
            _postpone(turn, fact)


def _postpone(turn: Turn, fact: Postponed) -> None:
    """Its first steps start later; a run that has begun cannot be put off."""
    if fact.new_input:
        turn.commands.append(EditInput(keep=False))
    turn.note("workflow.postponed", at=fact.at)
    for record in turn.of_kind(Kind.STEP):
        if record.status is RecordStatus.PENDING and record.ready_at is not None:
            turn.move(record._replace(ready_at=fact.at), Trigger.BECAME_READY)


def _watch_the_time(turn: Turn) -> None:
    run = turn.run
    if run.deadline_at is not None and turn.now >= run.deadline_at:
        turn.run = run._replace(intent=Intent.EXPIRE)
        turn.note("workflow.deadline_passed")
        if turn.spec.past_deadline is Then.COMPENSATE:
            turn.undo(ALL_BACK)
    elif run.timeout_at is not None and turn.now >= run.timeout_at:
        turn.run = run._replace(intent=Intent.TIMEOUT)
        turn.note("workflow.timed_out")
        if turn.spec.on_failure is Then.COMPENSATE:
            turn.undo(ALL_BACK)
    if turn.run.intent is not None:
        turn.nobody_decides()


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
    if doubt.forgotten(turn, record):  # the copy from which the database was restored may be older than an attempt
        doubt.look(turn, turn.doubt(record._replace(code=doubt.RESTORED)))
        return
    if waits.needs_gate(turn, record):
        waits.gate(turn, record)
        return
    if not record.unsettled and not budget.allows(turn, record):
        turn.fail(record._replace(code=budget.EXCEEDED, ended_at=turn.now), Trigger.FAILED, Then.MANUAL)
        return
    takes_mark = step.takes_mark if fact.takes_mark is None else fact.takes_mark
    marked = record.key.kind in ACTING and step.can_be_lost and not step.holds and (step.idempotent or not takes_mark)
    n = record.attempts + 1
    attempt = Attempt(n, fact.epoch, turn.now, marked)
    if turn.run.started_at is None:
        timeout_at = turn.now + turn.spec.timeout if turn.spec.timeout is not None else None
        turn.run = turn.run._replace(started_at=turn.now, timeout_at=timeout_at)
    first_at = record.first_at or turn.now
    turn.move(
        record, Trigger.STARTED, attempts=n, ready_at=None, first_at=first_at, started_at=turn.now, ended_at=None, asks="",
        open=(*record.open, attempt),
    )  # fmt: skip
    turn.commands.append(StartAttempt(record.key, n, fact.epoch, marked))
    turn.note("step.started", record.key, n)


def _go_on(turn: Turn) -> None:
    """Whatever the fact was: doubts are looked at, what has become possible becomes ready, what has become pointless is closed."""
    for record in [one for one in turn.records.values() if one.ready_at is not None and _is_due(one, one.ready_at, turn.now)]:
        if record.status is RecordStatus.UNKNOWN:
            doubt.look(turn, record)
        else:
            waits.timed_out(turn, record)
    if not turn.stopping and not turn.run.blocked:
        joins.make_ready(turn)  # a step for which too few came through fails at once, and may fail its run
    if turn.stopping:
        _close_pending(turn)
        if turn.run.undo is not None:
            undo.go_on(turn)


def _is_due(record: Record, ready_at: int, now: int) -> bool:
    """Whether the time has come to look at it: a doubt that asks nobody, or a wait at its end."""
    if record.status is RecordStatus.PENDING or ready_at > now:
        return False
    return record.status is RecordStatus.WAITING or (record.status is RecordStatus.UNKNOWN and not record.asks)


def _close_pending(turn: Turn) -> None:
    for record in turn.of_kind(Kind.STEP, Kind.CHECK, Kind.CONDITION):
        if items.are_under_way(record):
            if items.stop(turn, record):
                children.stop(turn, record)
        elif record.status is RecordStatus.WAITING and record.key.item:
            continue  # a child: it ends by itself, and is told
        elif record.status is RecordStatus.WAITING:
            turn.close_wait(record, "CLOSED")
            turn.stop(record._replace(asks=""), absent=False)
        elif record.status is not RecordStatus.PENDING:
            continue
        elif record.unsettled:
            doubt.look(turn, turn.doubt(record))
        else:
            turn.stop(record, absent=False)


# ── the run's own state ──


def run_status(turn: Turn) -> RunStatus:
    """The state of a run, the first that applies; written precedence of R-A3 and R-A4."""
    run = turn.run
    asks = waiting = False
    active = run.started_at is None and run.status is RunStatus.PENDING
    if active and run.intent is None and run.undo is None and not _has_begun(turn):
        return RunStatus.PENDING
    for record in turn.records.values():
        status = record.status
        if (
            status is RecordStatus.RUNNING
            or (status is RecordStatus.PENDING and record.ready_at is not None)
            or (status is RecordStatus.UNKNOWN and not record.asks)
            or (items.are_under_way(record) and not record.asks)
        ):
            return _active_status(turn)
        if status is RecordStatus.WAITING and waits.is_planned(turn, record):
            waiting = True
        elif record.asks and not record.key.item:  # a step asks about all of its items together
            asks = True
    if asks:
        return RunStatus.MANUAL_REQUIRED
    return RunStatus.WAITING if waiting else _quiet_status(turn)


def _has_begun(turn: Turn) -> bool:
    """Also without an attempt: a person was asked, or has skipped a step, or the database may have forgotten a start."""
    return any(record.status is not RecordStatus.PENDING for record in turn.records.values())


def _active_status(turn: Turn) -> RunStatus:
    if undo.was_undone(turn) or (turn.run.undo is not None and turn.run.intent is not Intent.CANCEL):
        return RunStatus.COMPENSATING
    return RunStatus.CANCEL_REQUESTED if turn.run.intent is Intent.CANCEL else RunStatus.RUNNING


def _quiet_status(turn: Turn) -> RunStatus:
    run, spec = turn.run, turn.spec
    if undo.was_undone(turn):
        return RunStatus.COMPENSATED
    if undo.waits_in_line(turn):
        return _active_status(turn)
    decided = run.undo is not None  # it was to be undone, and nothing has happened: nobody is asked any more
    if run.intent is Intent.EXPIRE:
        return RunStatus.MANUAL_REQUIRED if spec.past_deadline is Then.MANUAL and not decided else RunStatus.EXPIRED
    if run.intent is Intent.CANCEL:
        return RunStatus.CANCELLED
    if run.intent is Intent.TIMEOUT:
        return RunStatus.MANUAL_REQUIRED if spec.on_failure is Then.MANUAL and not decided else RunStatus.FAILED
    if turn.stopping:
        return RunStatus.FAILED
    steps = turn.steps()
    if len(steps) < len(spec.steps) or not all(joins.is_passed(turn, record) for record in steps):
        return RunStatus.RUNNING
    return RunStatus.SUCCESS if all(joins.is_whole(record) for record in steps) else RunStatus.PARTIAL_SUCCESS


FINAL_NOTES: dict[RunStatus, str] = {
    RunStatus.SUCCESS: "workflow.completed",
    RunStatus.PARTIAL_SUCCESS: "workflow.partly_completed",
    RunStatus.COMPENSATED: "workflow.compensated",
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
        _note_status(turn, before.status, status)
    ended = status in FINAL and before.status is not status
    if ended:
        _close_rest(turn)
    _release_holds(turn)
    if not turn.commands and turn.run is before:
        return
    ended_at = (turn.now if ended else before.ended_at) if status in FINAL else None
    _set_watch(turn, status)
    turn.run = turn.run._replace(status=status, revision=before.revision + 1, seq=before.seq + turn.notes, ended_at=ended_at)
    turn.commands.append(SetRun(turn.run, ended))


def _note_status(turn: Turn, before: RunStatus, status: RunStatus) -> None:
    if status is RunStatus.MANUAL_REQUIRED:
        turn.note("workflow.person_needed")
        if not any(record.asks for record in turn.records.values()):
            turn.commands.append(Tell(Told.PERSON_NEEDED, None, turn.spec.owner, str(turn.run.intent or "")))
    elif status is RunStatus.WAITING:
        turn.note("workflow.waiting")
    elif before is RunStatus.WAITING and status is RunStatus.RUNNING:
        turn.note("workflow.resumed")
    elif status in FINAL:
        turn.note(FINAL_NOTES[status])


AT_REST = (RunStatus.WAITING, RunStatus.MANUAL_REQUIRED)


def _set_watch(turn: Turn, status: RunStatus) -> None:
    """The time that a run waits, or that a person takes, is not the run's own (R-B8): its watch stands still."""
    run = turn.run
    if status in AT_REST and run.timeout_at is not None:
        turn.run = run._replace(timeout_at=None, timeout_left=max(run.timeout_at - turn.now, 0))
    elif status not in AT_REST and run.timeout_left is not None:
        turn.run = run._replace(timeout_at=None if status in FINAL else turn.now + run.timeout_left, timeout_left=None)


def _release_holds(turn: Turn) -> None:
    """A business record is free again when it is known what happened to it (R-J2)."""
    if not turn.spec.holds:
        return
    for key in dict.fromkeys(command.record.key for command in turn.commands if isinstance(command, Move)):
        record = turn.records[key]
        if key.kind in ACTING and turn.step(key).holds and record.attempts and not _in_doubt(record):
            turn.commands.append(ReleaseHold(key))


def _in_doubt(record: Record) -> bool:
    return record.status in (RecordStatus.RUNNING, RecordStatus.UNKNOWN) or bool(record.unsettled)


def _close_rest(turn: Turn) -> None:
    """A final transition first closes every open row."""
    for record in list(turn.records.values()):
        if record.status is RecordStatus.WAITING:
            turn.close_wait(record, "CLOSED")
        if record.status in (RecordStatus.PENDING, RecordStatus.WAITING):
            turn.stop(record._replace(asks=""), absent=False)


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
            case StartAttempt() | EndAttempt() | Note() | OpenWait() | CloseWait() | ReleaseHold() | EditInput() | Tell():
                pass
            case StopItems() | PassDown() | ReopenItems() | UndoItems():
                pass
            case _:
                assert_never(command)
    return Snapshot(run, records)


def _settled(record: Record, command: SettleAttempt) -> tuple[Attempt, ...]:
    if command.how:
        return tuple(attempt for attempt in record.open if attempt.n != command.n)
    return tuple(attempt._replace(gone_at=command.gone_at) if attempt.n == command.n else attempt for attempt in record.open)
