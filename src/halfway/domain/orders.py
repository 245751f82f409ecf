"""What an operator may order, when it applies, and what it changes. A refused order raises, and changes nothing."""

from __future__ import annotations

from halfway.domain.contract import Rule, rule_for_absent
from halfway.domain.facts import CancelAsked, MarkedSuccess, Order, ResumeAsked, RetryAsked
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus, Trigger
from halfway.domain.run import Happened, Intent, Key, Kind, Record
from halfway.domain.spec import StepSpec
from halfway.domain.turn import Turn
from halfway.errors import Conflict, NotFound

REOPENABLE = frozenset({RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.MANUAL_REQUIRED})


def carry_out(turn: Turn, order: Order) -> None:
    match order:
        case CancelAsked():
            _cancel(turn)
        case ResumeAsked():
            _resume(turn)
        case RetryAsked():
            _retry(turn, order)
        case MarkedSuccess():
            _mark_success(turn, order)


def _refuse(turn: Turn, action: str, problem: str, remedy: str = "") -> Conflict:
    return Conflict("ACTION_REFUSED", action=action, run=turn.run.id, problem=problem, remedy=remedy)


def _cancel(turn: Turn) -> None:
    if turn.run.status in FINAL:
        raise _refuse(turn, "cancel", f"it has already ended: {turn.run.status}.")
    if turn.run.intent is Intent.CANCEL:
        raise _refuse(turn, "cancel", "it was already asked to stop.", "It stops at the next safe boundary.")
    turn.run = turn.run._replace(intent=Intent.CANCEL)
    turn.note("workflow.cancel_requested")
    for record in turn.of_kind(Kind.STEP, Kind.CHECK):
        if record.status is RecordStatus.FAILED and record.asks:
            turn.move(record._replace(asks=""), Trigger.RELEASED)  # nobody needs to decide about it any more


def _record(turn: Turn, name: str, action: str) -> tuple[StepSpec, Record]:
    step = turn.spec.by_name.get(name)
    if step is None:
        raise NotFound("STEP_UNKNOWN", workflow=turn.spec.type, step=name, known=", ".join(turn.spec.by_name))
    record = turn.records.get(Key(name))
    if record is None:
        raise _refuse(turn, action, f"step {name} has not been started.")
    return step, record


def _resume(turn: Turn) -> None:
    doubtful = [record.key.step for record in turn.of_kind(Kind.STEP) if record.status is RecordStatus.UNKNOWN and record.asks]
    if doubtful:
        raise _refuse(turn, "resume", f"nobody knows yet whether {', '.join(doubtful)} happened.", SETTLE_BY_HAND.format(step=doubtful[0]))
    _in_time(turn, "resume")
    _not_stopping(turn, "resume")
    if turn.run.status not in REOPENABLE:
        raise _refuse(turn, "resume", f"it is {turn.run.status}.", "Only a run that has stopped can be resumed.")
    stopped = [record for record in turn.of_kind(Kind.STEP) if record.status is RecordStatus.FAILED]
    for record in stopped:
        _may_repeat(turn, "resume", turn.step(record.key), record)
    _reopen(turn)
    for record in stopped:
        if _only_by_name(turn, record) and not record.asks:
            turn.move(record, Trigger.PERSON_NEEDED, asks=turn.approver(record.key))
            turn.note("step.person_needed", record.key, record.attempts, role=turn.approver(record.key), code=record.code)
        elif not _only_by_name(turn, record):
            turn.move(_fresh(record), Trigger.REOPENED)
    _check_what_it_builds_on(turn)
    turn.note("workflow.resumed")


def _fresh(record: Record) -> Record:
    """With its attempts anew; their numbers go on."""
    return record._replace(ready_at=None, failures=0, lost=0, asks="", code="")


SETTLE_BY_HAND = (
    "Find out, then say so: halfway mark-success RUN {step} --evidence … if it did, "
    "halfway retry RUN {step} --not-happened --evidence … if it did not."
)


def _in_time(turn: Turn, action: str) -> None:
    deadline = turn.run.deadline_at
    if turn.run.status is RunStatus.EXPIRED or turn.run.intent is Intent.EXPIRE or (deadline is not None and turn.now >= deadline):
        raise _refuse(turn, action, "its deadline has passed.", "Start a new run.")


def _not_stopping(turn: Turn, action: str) -> None:
    if turn.run.intent is Intent.CANCEL and turn.run.status not in FINAL:
        raise _refuse(turn, action, "it was asked to stop.", "It can be resumed when it has stopped.")


def _may_repeat(turn: Turn, action: str, step: StepSpec, record: Record) -> None:
    key_counts = not turn.key_forgotten(step, record)
    repeat_harmless = step.idempotent and key_counts
    if record.effect is Happened.HAPPENED and step.can_be_lost and not repeat_harmless and record.status is RecordStatus.FAILED:
        raise _refuse(
            turn,
            action,
            f"step {step.name} failed after its effect had happened; another attempt would repeat it.",
            f"Say what it gave: halfway mark-success RUN {step.name} --output … --evidence …",
        )


def _only_by_name(turn: Turn, record: Record) -> bool:
    """A probe did not find it while the run stopped. For a message that is no proof, so it is sent again only if that step is ordered."""
    step = turn.step(record.key)
    key_counts = not turn.key_forgotten(step, record)
    return record.code == "NOT_HAPPENED" and rule_for_absent(step, key_counts=key_counts) is Rule.ASK_PERSON


def _reopen(turn: Turn) -> None:
    """The run goes on; a run timeout begins anew, a deadline stays."""
    timeout_at = turn.now + turn.spec.timeout if turn.spec.timeout is not None else None
    # A run that had ended holds its resource no longer: it waits in line for it again.
    blocked = turn.run.status in FINAL and turn.run.resource is not None
    turn.run = turn.run._replace(intent=None, timeout_at=timeout_at, blocked=blocked)
    turn.reopened = True
    for record in turn.of_kind(Kind.STEP):
        if record.status is RecordStatus.SKIPPED:  # closed only because the run had stopped
            turn.move(_fresh(record), Trigger.REOPENED)


def _check_what_it_builds_on(turn: Turn) -> None:
    for record in turn.of_kind(Kind.STEP):
        if record.status is RecordStatus.SUCCESS and turn.step(record.key).verifies:
            key = record.key._replace(kind=Kind.CHECK)
            check = turn.records.get(key)
            trigger = Trigger.BECAME_READY if check is None else Trigger.REOPENED
            fresh = check or Record(key, RecordStatus.PENDING)
            turn.move(_fresh(fresh)._replace(ready_at=turn.now), trigger)


def _retry(turn: Turn, order: RetryAsked) -> None:
    step, record = _record(turn, order.step, "retry")
    if record.status is RecordStatus.UNKNOWN:
        _retry_unknown(turn, order, step, record)
        return
    if record.status is RecordStatus.SUCCESS and _broken_check(turn, record) is not None:
        _make_again(turn, record)
        return
    if order.not_happened:
        raise _refuse(turn, "retry --not-happened", f"step {step.name} is {record.status}, not UNKNOWN.")
    if record.status is not RecordStatus.FAILED:
        raise _refuse(turn, "retry", f"step {step.name} is {record.status}.", "Only a failed step can be tried again.")
    _in_time(turn, "retry")
    _not_stopping(turn, "retry")
    _may_repeat(turn, "retry", step, record)
    others = [other.key.step for other in turn.of_kind(Kind.STEP) if other.key != record.key and turn.fails_run(other)]
    if others:
        raise _refuse(turn, "retry", f"{', '.join(others)} failed too, and the run goes on only with all of them.", "Use: halfway resume")
    _reopen(turn)
    turn.move(_fresh(record), Trigger.REOPENED)
    turn.note("step.retry_ordered", record.key, record.attempts)


def _retry_unknown(turn: Turn, order: RetryAsked, step: StepSpec, record: Record) -> None:
    if not order.not_happened:
        raise _refuse(turn, "retry", f"nobody knows whether {step.name} happened.", SETTLE_BY_HAND.format(step=step.name))
    alive = [attempt for attempt in record.unsettled if attempt.gone_at is None or attempt.gone_at > turn.now]
    if alive and not order.gone:
        raise _refuse(
            turn,
            "retry --not-happened",
            f"attempt {alive[0].n} of {step.name} may still be running and could still do it.",
            "Wait until it has ended, or make sure that its process is dead and say so with --gone.",
        )
    record = turn.settle(record, "PERSON_SAID_NOT", *record.unsettled)
    record = _fresh(record)._replace(effect=Happened.NOT)
    if turn.stopping:
        turn.move(record._replace(code="PERSON_SAID_NOT"), Trigger.NOT_HAPPENED)
    else:
        turn.move(record, Trigger.MARKED_ABSENT)
    turn.note("step.settled_by_person", record.key, record.attempts, happened=False)


def _broken_check(turn: Turn, record: Record) -> Record | None:
    """The check before a resume that found this step's result broken, and waits for a person."""
    check = turn.records.get(record.key._replace(kind=Kind.CHECK))
    return check if check is not None and check.status is RecordStatus.FAILED and check.asks else None


def _make_again(turn: Turn, record: Record) -> None:
    """A person orders that a result that no longer holds is made again."""
    check = _broken_check(turn, record)
    assert check is not None
    _in_time(turn, "retry")
    _not_stopping(turn, "retry")
    turn.move(_fresh(check), Trigger.MARKED_SUCCESS)
    turn.move(_fresh(record), Trigger.INVALIDATED)
    turn.note("step.retry_ordered", record.key, record.attempts)


def _vouch(turn: Turn, record: Record, check: Record) -> None:
    """A person has seen that the result holds, whatever the check says."""
    turn.move(_fresh(check), Trigger.MARKED_SUCCESS)
    turn.note("step.settled_by_person", record.key, record.attempts, happened=True)


def _mark_success(turn: Turn, order: MarkedSuccess) -> None:
    step, record = _record(turn, order.step, "mark-success")
    check = _broken_check(turn, record)
    if record.status is RecordStatus.SUCCESS and check is not None:
        _vouch(turn, record, check)
        return
    if record.status not in (RecordStatus.UNKNOWN, RecordStatus.FAILED):
        raise _refuse(turn, "mark-success", f"step {step.name} is {record.status}.", "Only a step that failed or is UNKNOWN can be marked.")
    if turn.run.status in (RunStatus.EXPIRED, RunStatus.CANCELLED):
        raise _refuse(turn, "mark-success", f"the run has ended: {turn.run.status}.")
    record = turn.settle(record, "PERSON_SAID_YES", *record.unsettled)
    effect = Happened.HAPPENED if step.can_be_lost else record.effect
    if turn.run.status in FINAL:
        _reopen(turn)
    turn.move(_fresh(record)._replace(effect=effect, ended_at=turn.now), Trigger.MARKED_SUCCESS, keep=True)
    turn.note("step.settled_by_person", record.key, record.attempts, happened=True)
