"""R-24: something that takes an effect back is declared, and nothing ever calls it."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.rules.common import found, place

INFERENCE = "{undo} is there to take back {what}, and no way of a failure leads to it: it never runs."


def check(case: Case) -> Iterator[Finding]:
    for step in case.ways.outward():
        if step.undo is not None and not step.undo.reached:
            yield found(RULE.id, Severity.MEDIUM, step, INFERENCE, place(step.undo.span, step), undo=step.undo.step)


RULE = Rule(
    id="R-24",
    name="dead-compensation",
    title="An undo is declared and never called",
    why="Who reads the definition believes that a failure is cleaned up. It is not, and nobody finds out before it is needed.",
    fix="Trigger it on the way of the failure, or let the failure go on to the engine that calls it.",
    check=check,
)
