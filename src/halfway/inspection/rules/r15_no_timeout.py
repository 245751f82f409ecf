"""R-15: an effect or a wait without an end."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Mark
from halfway.inspection.rules.common import found, is_by_hand, is_command, kinds, named_only, outward, told

EFFECT = "No timeout is set for {what}: when it hangs, nobody learns that the run has stopped halfway."
WAIT = "The wait {what} has no end: when what it waits for never comes, nobody learns that the run has stopped halfway."
BY_HAND = "No timeout is set for {what}: when it hangs, only who has started it by hand may see that it has stopped halfway."
ENGINE = "No limit of time is set for {what}: when it hangs, only the engine's own ends it, after {hours} hours."
MADE = frozenset({Kind.CREATE, Kind.UNKNOWN})
SHORT = 3600.0  # seconds; who hangs no longer than that is missed soon enough


def check(case: Case) -> Iterator[Finding]:
    said: set[str] = set()
    # Who has started a program by hand sits in front of it, and sees that a command of it hangs.
    by_hand = is_by_hand(case.flow)
    idle = not any(True for _ in case.ways.outward())  # nothing but the wait itself is open
    for step in case.ways.steps:
        waits = Mark.WAIT in step.marks
        if step.timeout is not None or not step.timeout_known or step.unit in said or not (waits or outward(step)):
            continue
        if by_hand and not waits and is_command(step):
            continue
        said.add(step.unit)
        if step.ends_after is None:
            harmless = not waits and repeatability(step) is Repeatable.PROVEN
            # Of work that is only known by its name nobody can say how much hangs on it.
            named = not waits and (is_command(step) or (named_only(step) and kinds(step) <= MADE))
            # What waits for each next thing, over and over, is meant to wait.
            meant = waits and bool(step.extra.get("endless"))
            severity = Severity.LOW if harmless or by_hand or named or idle or meant else Severity.MEDIUM
            text = WAIT if waits else BY_HAND if by_hand else EFFECT
            yield found(RULE.id, severity, step, text, what=step.extra.get("waits_for") or told(step))
        elif step.ends_after > SHORT:
            yield found(RULE.id, Severity.LOW, step, ENGINE, hours=f"{step.ends_after / 3600:g}")


RULE = Rule(
    id="R-15",
    name="no-timeout",
    title="Nothing ends a step that hangs",
    why="A step that hangs has neither succeeded nor failed, and nothing tells anybody.",
    fix="Set a timeout a little longer than the step ever takes, and look for the result when it has passed.",
    check=check,
)
