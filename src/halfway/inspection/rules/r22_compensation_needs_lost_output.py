"""R-22: the undo needs what the effect answered, which is exactly what a lost answer does not give."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.rules.common import found, place

INFERENCE = "When the answer of {what} is lost, {undo} has nothing to take back by, and fails just when it is needed."


def check(case: Case) -> Iterator[Finding]:
    for step in case.ways.outward():
        if step.undo is not None and step.undo.reached and not step.undo.tolerant:
            yield found(RULE.id, Severity.HIGH, step, INFERENCE, place(step.undo.span, step), undo=step.undo.step)


RULE = Rule(
    id="R-22",
    name="compensation-needs-lost-output",
    title="The undo needs an answer that may be lost",
    why="After a lost answer nobody has the id. An undo that takes it for granted throws, and the effect stays.",
    fix="Let the undo look for the thing by a key of the order when it has no id.",
    check=check,
    holds_if={INFERENCE: "{undo} cannot find {what} in another way"},
)
