"""R-37: what runs a program starts it again when it ends, and its effects with it."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Repeater, Repeating, Step
from halfway.inspection.rules.common import OFFICIAL, SECOND, again, again_at, exposed, found, kinds, outward

TWICE = "The program is started again after a failure, and {what} then happens once more."
UNKNOWN = "The program is started again after a failure; whether {what} then has a second effect is not known."


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    for step in ways.steps:
        restart = next((one for one in again(step, Repeating.RESTART) if _is_written(one)), None)
        if restart is not None and "serves" not in step.extra and outward(step) and exposed(step):
            severity, text = _judged(step)
            yield found(RULE.id, severity, step, text, *again_at(restart, step))


def _is_written(restart: Repeater) -> bool:
    """What nobody wrote down is the question of R-02."""
    return restart.automatic and not restart.default


def _judged(step: Step) -> tuple[Severity, str]:
    known = repeatability(step) is Repeatable.NO
    return Severity.HIGH if known or kinds(step) & OFFICIAL else Severity.MEDIUM, TWICE if known else UNKNOWN


RULE = Rule(
    id="R-37",
    name="restart-policy-repeats",
    title="A restart repeats the effects of a program",
    why="A restart is right for a server. Work that comes to an end is begun again, after a failure from its beginning, or for ever.",
    fix="Take the restart away for work that comes to an end, or have it ask first what is done already.",
    check=check,
    holds_if=dict.fromkeys((TWICE, UNKNOWN), SECOND),
)
