"""What orders share: which record is meant, when a run may go on, how a record gets its attempts anew, and how one is refused."""

from __future__ import annotations

from halfway.domain import items, joins, waits
from halfway.domain.budget import EXCEEDED
from halfway.domain.joins import RULED_OUT, WAIVED, is_passed
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus, Trigger
from halfway.domain.loops import go_back, sends_back
from halfway.domain.run import Happened, Intent, Kind, Record, meant
from halfway.domain.spec import Sort, StepSpec
from halfway.domain.turn import Turn
from halfway.errors import Conflict, NotFound


def target(turn: Turn, name: str, action: str) -> Record:
    """The record that an order about a step means: its compensation while that is open, else the step itself."""
    step = turn.spec.by_name.get(name)
    if step is None:
        raise NotFound("STEP_UNKNOWN", workflow=turn.spec.type, step=name, known=", ".join(turn.spec.by_name))
    record = meant(turn.records, name)
    if record is None:
        raise refuse(turn, action, f"step {name} has not been started.")
    return record


def target_with_spec(turn: Turn, name: str, action: str) -> tuple[StepSpec, Record]:
    record = target(turn, name, action)
    return turn.step(record.key), record


def is_undo(record: Record) -> bool:
    return record.key.kind is Kind.COMPENSATION


def told(record: Record) -> str:
    """What a person calls this record."""
    return f"the compensation of {record.key.step}" if is_undo(record) else f"step {record.key.step}"


SETTLE_BY_HAND = (
    "Find out, then say so: halfway mark-success RUN {step} --evidence … --reason … if it did, "
    "halfway retry RUN {step} --not-happened --evidence … --reason … if it did not."
)


UNDO_BY_HAND = (
    "Put it right by hand and say so: halfway mark-success RUN {step} --evidence … --reason …, "
    "or accept it as it is: halfway skip RUN {step} --reason …"
)


def in_time(turn: Turn, action: str) -> None:
    deadline = turn.run.deadline_at
    if turn.run.status is RunStatus.EXPIRED or turn.run.intent is Intent.EXPIRE or (deadline is not None and turn.now >= deadline):
        raise refuse(turn, action, "its deadline has passed.", "Start a new run.")


def not_stopping(turn: Turn, action: str) -> None:
    if turn.run.status is RunStatus.COMPENSATED:
        raise refuse(turn, action, "it has been undone.", "Start a new run.")
    if turn.run.status in FINAL:
        return
    if turn.run.undo is not None:
        raise refuse(turn, action, "it is being undone.", "Say what becomes of its compensations: halfway show RUN")
    if turn.run.intent is Intent.CANCEL:
        raise refuse(turn, action, "it was asked to stop.", "It can be resumed when it has stopped.")


def may_repeat(turn: Turn, action: str, step: StepSpec, record: Record) -> None:
    key_counts = not turn.key_forgotten(step, record)
    repeat_harmless = step.idempotent and key_counts
    if record.effect is Happened.HAPPENED and step.can_be_lost and not repeat_harmless and record.status is RecordStatus.FAILED:
        remedy = f"Say what it gave: halfway mark-success RUN {step.name} --output … --evidence … --reason …"
        raise refuse(
            turn,
            action,
            f"{told(record)} failed after its effect had happened; another attempt would repeat it.",
            UNDO_BY_HAND.format(step=step.name) if is_undo(record) else remedy,
        )


def reopen(turn: Turn) -> None:
    """The run goes on; a run timeout begins anew, a deadline stays."""
    open_again(turn)
    for record in turn.steps():
        if record.status is RecordStatus.SKIPPED and record.code not in (WAIVED, RULED_OUT):  # closed only because the run had stopped
            turn.move(fresh(record), Trigger.REOPENED)


def open_again(turn: Turn) -> None:
    timeout_at = turn.now + turn.spec.timeout if turn.spec.timeout is not None else None
    # A run that had ended holds nothing any longer: it waits in line again.
    blocked = turn.run.blocked or (turn.run.status in FINAL and turn.spec.in_line)
    turn.run = turn.run._replace(intent=None, undo=None, timeout_at=timeout_at, timeout_left=None, blocked=blocked)
    turn.reopened = True


def fresh(record: Record) -> Record:
    """With its attempts anew; their numbers go on."""
    return record._replace(ready_at=None, failures=0, lost=0, asks="", code="", approved_until=None, approved_by=())


def grant(turn: Turn, record: Record) -> None:
    """Who lets a step go on that has used up its budget, or items of a step that has one, grants the whole of it once more."""
    of_items = record.code in (items.PARTIAL, items.TOO_MANY_FAILED)
    if record.code == EXCEEDED or (of_items and (turn.spec.budget or turn.step(record.key).budget)):
        turn.run = turn.run._replace(grants=turn.run.grants + 1)
        turn.note("workflow.budget_granted", record.key)


def try_again(turn: Turn, record: Record) -> None:
    """Its attempts anew, and its budget; where it has sent the run back before, and no round was left, a person gives another round."""
    grant(turn, record)
    rewind = turn.step(record.key).rewind
    if rewind is not None and sends_back(rewind, record.code) and record.code != joins.TOO_FEW:
        if record.asks:
            record = turn.move(record._replace(asks=""), Trigger.RELEASED)
        go_back(turn, record, rewind)
    elif record.code in (items.TOO_MANY_FAILED, items.PARTIAL):
        items.open_again(turn, record, by_name=False)
    else:
        turn.move(fresh(record), Trigger.REOPENED)


def in_doubt(turn: Turn, record: Record) -> list[Record]:
    """The items of a step about which a person must decide whether they happened."""
    found = [one for key, one in turn.records.items() if key.item and key.whole == record.key]
    return [one for one in found if one.status is RecordStatus.UNKNOWN and one.asks]


def wait_anew(turn: Turn, record: Record) -> None:
    turn.close_wait(record, "AGAIN")
    turn.move(fresh(record), Trigger.REOPENED)


def is_needed(turn: Turn, record: Record) -> bool:
    """Whether something that stands after it is still to be done."""
    after = [name for name, before in turn.spec.ancestors.items() if record.key.step in before]
    return any((other := turn.latest(name)) is None or not is_passed(turn, other) for name in after)


def broken_check(turn: Turn, record: Record) -> Record | None:
    """The check before a resume that found this step's result broken, and waits for a person."""
    if record.key.kind is not Kind.STEP:
        return None
    check = turn.records.get(record.key._replace(kind=Kind.CHECK))
    return check if check is not None and check.status is RecordStatus.FAILED and check.asks else None


def awaits_approval(turn: Turn, record: Record) -> bool:
    return waits.is_gate(record) or turn.step(record.key).sort is Sort.APPROVAL


def instead(turn: Turn, record: Record) -> str:
    if record.status is RecordStatus.WAITING and awaits_approval(turn, record):
        step = record.key.step
        return f"It waits for {record.asks}: halfway approve RUN {step} --reason …, or halfway reject RUN {step} --reason …"
    return "Only a failed step can be tried again."


def refuse(turn: Turn, action: str, problem: str, remedy: str = "") -> Conflict:
    """The error of an order that does not apply."""
    return Conflict("ACTION_REFUSED", action=action, run=turn.run.id, problem=problem, remedy=remedy)
