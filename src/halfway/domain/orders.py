"""What an operator may order, when it applies, and what it changes. A refused order raises, and changes nothing."""

from __future__ import annotations

from typing import assert_never

from halfway.domain import approvals, doubt, undo, waits
from halfway.domain.contract import Rule, rule_for_absent
from halfway.domain.facts import (
    Approved,
    CancelAsked,
    CompensateAsked,
    EditInput,
    MarkedSuccess,
    Order,
    ProbeAsked,
    Rejected,
    ReleaseAsked,
    ReleaseHold,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
    Told,
)
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus, Trigger
from halfway.domain.run import ACTING, ALL_BACK, Happened, Intent, Key, Kind, Record
from halfway.domain.spec import Sort, StepSpec
from halfway.domain.turn import Turn, still
from halfway.errors import Conflict, NotFound

REOPENABLE = frozenset({RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.MANUAL_REQUIRED})
DONE = frozenset({RecordStatus.SUCCESS, RecordStatus.SKIPPED})
WAIVED = "WAIVED"  # the code of a step that a person has skipped


def carry_out(turn: Turn, order: Order) -> None:
    match order:
        case CancelAsked():
            _cancel(turn, order)
        case CompensateAsked():
            _compensate(turn, order)
        case ResumeAsked():
            _resume(turn)
        case RetryAsked():
            _retry(turn, order)
        case Approved():
            approvals.approve(turn, target(turn, order.step, "approve"), order.by)
        case Rejected():
            approvals.reject(turn, target(turn, order.step, "reject"), order.by)
        case _:
            _settle(turn, order)


def _settle(turn: Turn, order: MarkedSuccess | ProbeAsked | SkipAsked | ReleaseAsked) -> None:
    match order:
        case MarkedSuccess():
            _mark_success(turn, order)
        case ProbeAsked():
            _probe(turn, order)
        case SkipAsked():
            _skip(turn, order)
        case ReleaseAsked():
            _release(turn, order)
        case _:
            assert_never(order)


# ── which record is meant ──


def target(turn: Turn, name: str, action: str) -> Record:
    """The record that an order about a step means: its compensation while that is open, else the step itself."""
    step = turn.spec.by_name.get(name)
    if step is None:
        raise NotFound("STEP_UNKNOWN", workflow=turn.spec.type, step=name, known=", ".join(turn.spec.by_name))
    undo = turn.records.get(Key(name, kind=Kind.COMPENSATION))
    if undo is not None and undo.status not in (RecordStatus.SUCCESS, RecordStatus.SKIPPED):
        return undo
    record = turn.records.get(Key(name))
    if record is None:
        raise refuse(turn, action, f"step {name} has not been started.")
    return record


def _target(turn: Turn, name: str, action: str) -> tuple[StepSpec, Record]:
    record = target(turn, name, action)
    return turn.step(record.key), record


def _is_undo(record: Record) -> bool:
    return record.key.kind is Kind.COMPENSATION


def told(record: Record) -> str:
    """What a person calls this record."""
    return f"the compensation of {record.key.step}" if _is_undo(record) else f"step {record.key.step}"


# ── cancel, compensate ──


def _cancel(turn: Turn, order: CancelAsked) -> None:
    if turn.run.status in FINAL:
        remedy = "Use: halfway compensate" if order.undo else ""
        raise refuse(turn, "cancel", f"it has already ended: {turn.run.status}.", remedy)
    if turn.run.undo is not None:
        raise refuse(turn, "cancel", "it is being undone.", "It ends when that is through.")
    if turn.run.intent is Intent.CANCEL:
        remedy = "It stops at the next safe boundary." if not order.undo else "Use: halfway compensate"
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
        raise refuse(turn, "compensate", "nothing has happened that could be undone.", "Use: halfway cancel" if not turn.over else "")
    if run.status in FINAL:
        _open_again(turn)
    turn.undo(order.step or ALL_BACK)


# ── resume ──


def _resume(turn: Turn) -> None:
    doubtful = [record.key.step for record in turn.of_kind(*ACTING) if record.status is RecordStatus.UNKNOWN and record.asks]
    if doubtful:
        raise refuse(turn, "resume", f"nobody knows yet whether {', '.join(doubtful)} happened.", SETTLE_BY_HAND.format(step=doubtful[0]))
    _in_time(turn, "resume")
    _not_stopping(turn, "resume")
    if turn.run.status not in REOPENABLE:
        raise refuse(turn, "resume", f"it is {turn.run.status}.", "Only a run that has stopped can be resumed.")
    stopped = [record for record in turn.of_kind(Kind.STEP) if record.status is RecordStatus.FAILED]
    late = [record for record in turn.of_kind(Kind.STEP) if record.status is RecordStatus.WAITING and not waits.is_planned(turn, record)]
    for record in stopped:
        _may_repeat(turn, "resume", turn.step(record.key), record)
    _reopen(turn)
    for record in stopped:
        if _only_by_name(turn, record) and not record.asks:
            asking = turn.move(record, Trigger.PERSON_NEEDED, asks=turn.approver(record.key))
            turn.note("step.person_needed", asking.key, asking.attempts, role=asking.asks, code=asking.code)
            turn.tell(Told.PERSON_NEEDED, asking)
        elif not _only_by_name(turn, record):
            turn.move(_fresh(record), Trigger.REOPENED)
    for record in late:
        _wait_anew(turn, record)
    _check_what_it_builds_on(turn)
    turn.note("workflow.resumed")


def _wait_anew(turn: Turn, record: Record) -> None:
    turn.close_wait(record, "AGAIN")
    turn.move(_fresh(record), Trigger.REOPENED)


def _fresh(record: Record) -> Record:
    """With its attempts anew; their numbers go on."""
    return record._replace(ready_at=None, failures=0, lost=0, asks="", code="", approved_until=None, approved_by=())


SETTLE_BY_HAND = (
    "Find out, then say so: halfway mark-success RUN {step} --evidence … if it did, "
    "halfway retry RUN {step} --not-happened --evidence … if it did not."
)


def _in_time(turn: Turn, action: str) -> None:
    deadline = turn.run.deadline_at
    if turn.run.status is RunStatus.EXPIRED or turn.run.intent is Intent.EXPIRE or (deadline is not None and turn.now >= deadline):
        raise refuse(turn, action, "its deadline has passed.", "Start a new run.")


def _not_stopping(turn: Turn, action: str) -> None:
    if turn.run.status is RunStatus.COMPENSATED:
        raise refuse(turn, action, "it has been undone.", "Start a new run.")
    if turn.run.status in FINAL:
        return
    if turn.run.undo is not None:
        raise refuse(turn, action, "it is being undone.", "Say what becomes of its compensations: halfway show RUN")
    if turn.run.intent is Intent.CANCEL:
        raise refuse(turn, action, "it was asked to stop.", "It can be resumed when it has stopped.")


def _may_repeat(turn: Turn, action: str, step: StepSpec, record: Record) -> None:
    key_counts = not turn.key_forgotten(step, record)
    repeat_harmless = step.idempotent and key_counts
    if record.effect is Happened.HAPPENED and step.can_be_lost and not repeat_harmless and record.status is RecordStatus.FAILED:
        remedy = f"Say what it gave: halfway mark-success RUN {step.name} --output … --evidence …"
        raise refuse(
            turn,
            action,
            f"{told(record)} failed after its effect had happened; another attempt would repeat it.",
            UNDO_BY_HAND.format(step=step.name) if _is_undo(record) else remedy,
        )


def _only_by_name(turn: Turn, record: Record) -> bool:
    """A probe did not find it while the run stopped. For a message that is no proof, so it is sent again only if that step is ordered."""
    step = turn.step(record.key)
    key_counts = not turn.key_forgotten(step, record)
    return record.code == "NOT_HAPPENED" and rule_for_absent(step, key_counts=key_counts) is Rule.ASK_PERSON


def _reopen(turn: Turn) -> None:
    """The run goes on; a run timeout begins anew, a deadline stays."""
    _open_again(turn)
    for record in turn.of_kind(Kind.STEP):
        if record.status is RecordStatus.SKIPPED and record.code != WAIVED:  # closed only because the run had stopped
            turn.move(_fresh(record), Trigger.REOPENED)


def _open_again(turn: Turn) -> None:
    timeout_at = turn.now + turn.spec.timeout if turn.spec.timeout is not None else None
    # A run that had ended holds its resource no longer: it waits in line for it again.
    blocked = turn.run.blocked or (turn.run.status in FINAL and turn.run.resource is not None)
    turn.run = turn.run._replace(intent=None, undo=None, timeout_at=timeout_at, timeout_left=None, blocked=blocked)
    turn.reopened = True


def _check_what_it_builds_on(turn: Turn) -> None:
    for record in turn.of_kind(Kind.STEP):
        if record.status is RecordStatus.SUCCESS and turn.step(record.key).verifies:
            key = record.key._replace(kind=Kind.CHECK)
            check = turn.records.get(key)
            trigger = Trigger.BECAME_READY if check is None else Trigger.REOPENED
            fresh = check or Record(key, RecordStatus.PENDING)
            turn.move(_fresh(fresh)._replace(ready_at=turn.now), trigger)


# ── retry ──


def _retry(turn: Turn, order: RetryAsked) -> None:
    step, record = _target(turn, order.step, "retry")
    _may_take_new_input(turn, order, record)
    if record.status is RecordStatus.UNKNOWN:
        _retry_unknown(turn, order, step, record)
        return
    if record.status is RecordStatus.SUCCESS and _broken_check(turn, record) is not None:
        _make_again(turn, record)
        return
    if order.not_happened:
        raise refuse(turn, "retry --not-happened", f"{told(record)} is {record.status}, not UNKNOWN.")
    waits_late = record.status is RecordStatus.WAITING and bool(record.asks) and not _awaits_approval(turn, record)
    if record.status is not RecordStatus.FAILED and not waits_late:
        raise refuse(turn, "retry", f"{told(record)} is {record.status}.", _instead(turn, record))
    if _is_undo(record):
        _retry_undo(turn, record)
        return
    _in_time(turn, "retry")
    _not_stopping(turn, "retry")
    _may_repeat(turn, "retry", step, record)
    others = [other.key.step for other in turn.of_kind(Kind.STEP) if other.key != record.key and turn.fails_run(other)]
    if others:
        raise refuse(turn, "retry", f"{', '.join(others)} failed too, and the run goes on only with all of them.", "Use: halfway resume")
    if order.new_input:
        _nothing_works_from_it(turn, record)
    _reopen(turn)
    if order.new_input:
        _edit_input(turn, record)
    if waits_late:
        _wait_anew(turn, record)
    else:
        turn.move(_fresh(record), Trigger.REOPENED)
    turn.note("step.retry_ordered", record.key, record.attempts)


def _may_take_new_input(turn: Turn, order: RetryAsked, record: Record) -> None:
    if order.new_input and (_is_undo(record) or record.status not in (RecordStatus.FAILED, RecordStatus.WAITING)):
        problem = f"{told(record)} is {record.status}, and goes on from the present input."
        raise refuse(turn, "retry --input", problem, "A corrected input is for a step that has failed.")


def _awaits_approval(turn: Turn, record: Record) -> bool:
    return waits.is_gate(record) or turn.step(record.key).sort is Sort.APPROVAL


def _instead(turn: Turn, record: Record) -> str:
    if record.status is RecordStatus.WAITING and _awaits_approval(turn, record):
        return f"It waits for {record.asks}: halfway approve RUN {record.key.step}, or halfway reject."
    return "Only a failed step can be tried again."


def _retry_undo(turn: Turn, record: Record) -> None:
    """One undo alone is tried again; the others go on, or have gone on, without it."""
    if record.code in (undo.Fate.NO_UNDO, undo.Fate.OUTPUT_UNKNOWN):
        raise refuse(turn, "retry", f"no machine can undo {record.key.step}.", UNDO_BY_HAND.format(step=record.key.step))
    _may_repeat(turn, "retry", turn.step(record.key), record)
    record = _fresh(record)._replace(ready_at=turn.now)
    draft = turn.records.get(record.key._replace(kind=Kind.DRAFT))
    if draft is not None and draft.status is RecordStatus.FAILED:  # what a person is to be shown is still to be made
        turn.move(record._replace(ready_at=None), Trigger.REOPENED)
        turn.move(_fresh(draft)._replace(ready_at=turn.now), Trigger.REOPENED)
    elif turn.step(record.key).requires_approval:
        turn.move(record._replace(ready_at=None), Trigger.REOPENED)
        waits.gate(turn, turn.records[record.key])
    else:
        turn.move(record, Trigger.REOPENED)
    turn.note("step.retry_ordered", record.key, record.attempts)


UNDO_BY_HAND = (
    "Put it right by hand and say so: halfway mark-success RUN {step} --evidence …, or accept it as it is: halfway skip RUN {step}"
)


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
            _wait_anew(turn, other)
        elif other.status is RecordStatus.PENDING and other.approved_until is not None:
            turn.move(other._replace(ready_at=None, approved_until=None, approved_by=()), Trigger.BECAME_READY)
        elif other.status is RecordStatus.SUCCESS and turn.step(other.key).sort is Sort.APPROVAL and _is_needed(turn, other):
            turn.move(_fresh(other), Trigger.INVALIDATED)
            turn.hold_back(other.key.step)


def _is_needed(turn: Turn, record: Record) -> bool:
    """Whether something that stands after it is still to be done."""
    after = [name for name, before in turn.spec.ancestors.items() if record.key.step in before]
    return any((other := turn.records.get(Key(name))) is None or other.status not in DONE for name in after)


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
    record = turn.settle(record, "PERSON_SAID_NOT", *record.unsettled)
    record = _fresh(record)._replace(effect=still(record, Happened.NOT))
    if turn.stopping and not _is_undo(record):
        turn.move(record._replace(code="PERSON_SAID_NOT"), Trigger.NOT_HAPPENED)
    elif _is_undo(record):
        turn.move(record, Trigger.MARKED_ABSENT)
        if step.requires_approval:
            waits.gate(turn, turn.records[record.key])
        else:
            turn.move(record._replace(ready_at=turn.now), Trigger.BECAME_READY)
    else:
        turn.move(record, Trigger.MARKED_ABSENT)
    turn.note("step.settled_by_person", record.key, record.attempts, happened=False)


def _broken_check(turn: Turn, record: Record) -> Record | None:
    """The check before a resume that found this step's result broken, and waits for a person."""
    if record.key.kind is not Kind.STEP:
        return None
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
    turn.hold_back(record.key.step)
    turn.note("step.retry_ordered", record.key, record.attempts)


# ── what a person has seen, or does without ──


def _vouch(turn: Turn, record: Record, check: Record) -> None:
    """A person has seen that the result holds, whatever the check says."""
    turn.move(_fresh(check), Trigger.MARKED_SUCCESS)
    turn.note("step.settled_by_person", record.key, record.attempts, happened=True)


def _mark_success(turn: Turn, order: MarkedSuccess) -> None:
    step, record = _target(turn, order.step, "mark-success")
    check = _broken_check(turn, record)
    if record.status is RecordStatus.SUCCESS and check is not None:
        _vouch(turn, record, check)
        return
    _only_by_its_people(turn, "mark-success", record)
    if waits.is_gate(record) and not _is_undo(record):
        raise refuse(turn, "mark-success", f"{told(record)} waits for {record.asks}.", _instead(turn, record))
    if record.status not in (RecordStatus.UNKNOWN, RecordStatus.FAILED, RecordStatus.WAITING):
        raise refuse(
            turn, "mark-success", f"{told(record)} is {record.status}.", "Only a step that failed, waits or is UNKNOWN can be marked."
        )
    if turn.run.status in (RunStatus.EXPIRED, RunStatus.CANCELLED, RunStatus.COMPENSATED):
        raise refuse(turn, "mark-success", f"the run has ended: {turn.run.status}.")
    if record.status is RecordStatus.WAITING:
        turn.close_wait(record, "PERSON_SAID_YES")
    record = turn.settle(record, "PERSON_SAID_YES", *record.unsettled)
    effect = Happened.HAPPENED if step.can_be_lost or step.sort is Sort.TRANSACTION else record.effect
    if turn.run.status in FINAL:
        _reopen(turn)
    marked = _fresh(record)._replace(effect=effect, ended_at=turn.now, ready_at=None)
    turn.move(marked, Trigger.MARKED_SUCCESS, keep=not _is_undo(record))
    turn.note("step.settled_by_person", record.key, record.attempts, happened=True)


def _only_by_its_people(turn: Turn, action: str, record: Record) -> None:
    """An approval is given by those who may, and by as many as must; no other order stands for it (R-J5)."""
    step = turn.step(record.key)
    if step.sort is not Sort.APPROVAL:
        return
    remedy = _instead(turn, record)
    if record.status is not RecordStatus.WAITING:
        remedy = f"Ask again: halfway retry RUN {step.name}" if record.status is RecordStatus.FAILED else ""
    raise refuse(turn, action, f"{told(record)} is an approval, and is {record.status}.", remedy)


def _skip(turn: Turn, order: SkipAsked) -> None:
    record = target(turn, order.step, "skip")
    if record.status is RecordStatus.UNKNOWN or record.unsettled:
        raise refuse(turn, "skip", f"nobody knows whether {told(record)} happened.", SETTLE_BY_HAND.format(step=order.step))
    _only_by_its_people(turn, "skip", record)
    if record.status not in (RecordStatus.FAILED, RecordStatus.WAITING, RecordStatus.PENDING):
        raise refuse(turn, "skip", f"{told(record)} is {record.status}.", "Only what has failed or waits can be skipped.")
    if not _is_undo(record):
        _in_time(turn, "skip")
        _not_stopping(turn, "skip")
        if turn.run.status in FINAL:
            _reopen(turn)
    if record.status is RecordStatus.WAITING:
        turn.close_wait(record, WAIVED)
    skipped = _fresh(record)._replace(code=WAIVED, ended_at=turn.now)
    turn.move(skipped, Trigger.WAIVED)
    draft = turn.records.get(record.key._replace(kind=Kind.DRAFT))
    if _is_undo(record) and draft is not None and draft.status is RecordStatus.PENDING:  # nobody is shown it any more
        turn.move(draft._replace(ready_at=None, code=WAIVED, ended_at=turn.now), Trigger.STOPPED)
    turn.note("step.waived", record.key, record.attempts or None)


def _probe(turn: Turn, order: ProbeAsked) -> None:
    step, record = _target(turn, order.step, "probe")
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


def _release(turn: Turn, order: ReleaseAsked) -> None:
    step, record = _target(turn, order.step, "release")
    if not step.holds or record.status is not RecordStatus.UNKNOWN:
        raise refuse(turn, "release", f"{told(record)} holds no business record.", "Only a CHANGE that is UNKNOWN does.")
    turn.commands.append(ReleaseHold(record.key))
    turn.note("step.hold_released", record.key, record.attempts)


def refuse(turn: Turn, action: str, problem: str, remedy: str = "") -> Conflict:
    """The error of an order that does not apply."""
    return Conflict("ACTION_REFUSED", action=action, run=turn.run.id, problem=problem, remedy=remedy)
