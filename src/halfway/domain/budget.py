"""What a run, or a step of it, may spend before a person looks at it (R-E6). Who lets it go on grants the whole budget once more."""

from __future__ import annotations

from halfway.domain.run import Kind, Record
from halfway.domain.spec import BudgetSpec
from halfway.domain.turn import Turn

EXCEEDED = "AI_BUDGET_EXCEEDED"


def allows(turn: Turn, record: Record) -> bool:
    """Whether another attempt of this record is within what may be spent on attempts, steps and time.

    Items are not counted and not stopped one by one: a step that is done for many is one step, whose tools and tokens are counted.
    """
    if record.key.kind is not Kind.STEP or record.key.item:
        return True
    times = turn.run.grants + 1
    return _allows(turn, turn.spec.budget, None, record, times) and _allows(
        turn, turn.step(record.key).budget, record.key.step, record, times
    )


def _allows(turn: Turn, budget: BudgetSpec | None, step: str | None, record: Record, times: int) -> bool:
    if budget is None:
        return True
    begun = [one for one in turn.of_kind(Kind.STEP) if one.attempts and not one.key.item and step in (None, one.key.step)]
    if budget.attempts is not None and sum(one.attempts for one in begun) >= budget.attempts * times:
        return False
    if budget.steps is not None and not record.attempts and len(begun) >= budget.steps * times:
        return False
    since = turn.run.started_at
    return budget.duration is None or since is None or turn.now - since < budget.duration * times


def limits(run: BudgetSpec | None, step: BudgetSpec | None, grants: int) -> tuple[int | None, int | None, int | None, int | None]:
    """Tokens and calls that the run may spend, and that the step may; None: as many as it likes."""
    times = grants + 1

    def of(number: int | None) -> int | None:
        return None if number is None else number * times

    of_run, of_step = run or BudgetSpec(), step or BudgetSpec()
    return of(of_run.tokens), of(of_run.tool_calls), of(of_step.tokens), of(of_step.tool_calls)
