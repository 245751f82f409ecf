"""R-18: it is written down as done before it is done."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Mark, Step
from halfway.inspection.rules.common import found, kinds, line, tells_team
from halfway.inspection.ways import Ways

INFERENCE = "{what} says that it is done; when {later} fails after that, no repeat does it, and the effect is lost."
MARKS = frozenset({Mark.CLAIM, Mark.CURSOR})


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    for claim in ways.steps:
        if Mark.CLAIM not in claim.marks:
            continue
        later = next((one for one in ways.after(claim) if _is_lost(one)), None)
        if later is not None and not _settled(ways, later):
            severity = Severity.MEDIUM if tells_team(later) else Severity.HIGH
            yield found(RULE.id, severity, claim, INFERENCE, line(later), later=later)


def _is_lost(later: Step) -> bool:
    """Whether somebody misses it when it is not done; a line of a log only tells of the rest."""
    return bool(kinds(later) - {Kind.FILE}) and later.fallible and not later.marks & MARKS and "logs" not in later.extra


def _settled(ways: Ways, effect: Step) -> bool:
    """Whether a second mark after the effect makes the first one a mere `pending`, or a failure takes the first one back."""
    done = any(one.marks & MARKS for one in ways.after(effect))
    return done or any(one.marks & (MARKS | {Mark.RECOVERY}) for one in ways.failing(effect))


RULE = Rule(
    id="R-18",
    name="claim-before-effect",
    title="It is marked as done before it is done",
    why="The mark keeps repeats away. After a stop between the two, it keeps away the only one that was needed.",
    fix="Write `pending` before the effect and `done` after it, and settle what stays pending.",
    check=check,
    holds_if={INFERENCE: "nothing takes the mark back, and {later} is still wanted"},
)
