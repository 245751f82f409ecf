"""R-15: an effect or a wait without an end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Mark, Starting, Step
from halfway.inspection.rules.common import Ways, found, kinds, outward, told

EFFECT = "No timeout is set for {what}: when it hangs, nobody learns that the run has stopped halfway."
WAIT = "The wait {what} has no end: when what it waits for never comes, nobody learns that the run has stopped halfway."
ENGINE = "No limit of time is set for {what}: when it hangs, only the engine's own ends it, after {hours} hours."
UNKNOWN = frozenset({Kind.UNKNOWN})
_REQUEST = re.compile(r"^[A-Z]{3,7} ")
SHORT = 3600.0  # seconds; who hangs no longer than that is missed soon enough


def check(case: Case) -> Iterator[Finding]:
    said: set[str] = set()
    # Who has started a program by hand sits in front of it, and sees that a command of it hangs.
    by_hand = case.flow.extra.get("engine") == "script" and {one.kind for one in case.flow.triggers} == {Starting.MANUAL}
    for step in Ways(case.flow).steps:
        waits = Mark.WAIT in step.marks
        if step.timeout is not None or not step.timeout_known or step.unit in said or not (waits or outward(step)):
            continue
        if by_hand and not waits and _is_command(step):
            continue
        said.add(step.unit)
        if step.ends_after is None:
            harmless = not waits and repeatability(step) is Repeatable.PROVEN
            yield found(RULE.id, Severity.LOW if harmless else Severity.MEDIUM, step, WAIT if waits else EFFECT)
        elif step.ends_after > SHORT:
            yield found(RULE.id, Severity.LOW, step, ENGINE, hours=f"{step.ends_after / 3600:g}")


def _is_command(step: Step) -> bool:
    """Whether it is a command of which nothing more is known; one that asks somebody else hangs for other reasons."""
    return kinds(step) == UNKNOWN and _REQUEST.match(told(step)) is None


RULE = Rule(
    id="R-15",
    name="no-timeout",
    title="Nothing ends a step that hangs",
    why="A step that hangs has neither succeeded nor failed, and nothing tells anybody.",
    fix="Set a timeout a little longer than the step ever takes, and look for the result when it has passed.",
    check=check,
)
