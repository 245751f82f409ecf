"""R-30: what is done to report a failure makes another thing each time, or may fail without a word."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Fact, Kind, Mark, OnError, Starting, Step
from halfway.inspection.rules.common import again, again_at, exposed, found, kinds
from halfway.inspection.ways import Ways

EACH = "Each failure makes another one by {what}: nothing looks for the one that is open already, and the real one drowns in them."
UNHEARD = "{what} is the only thing that tells of a failure, and when it fails itself that is passed over."
RETURNS = frozenset({Starting.SCHEDULE, Starting.EVENT, Starting.POLL})


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    notices = [step for step in ways.outward() if Mark.FAILURE_NOTICE in step.marks]
    for step in notices:
        repeated = _repeated(case, ways, step)
        # A remark stands below the one that is open.
        remark = step.effect is not None and step.effect.action == "github.comment"
        if Kind.CREATE in kinds(step) and not remark and exposed(step) and repeated:
            yield found(RULE.id, Severity.MEDIUM, step, EACH, *repeated)
        elif len(notices) == 1 and step.on_error is OnError.SWALLOW:
            yield found(RULE.id, Severity.MEDIUM, step, UNHEARD)


def _repeated(case: Case, ways: Ways, notice: Step) -> list[Fact]:
    """Who brings the same failure about again: a retry of it or of what failed, the clock, the next event."""
    failed = [one for one in ways.steps if ways.is_failing(one, notice)]
    again_of = [fact for one in (notice, *failed) for repeat in again(one) if repeat.automatic for fact in again_at(repeat, one)]
    return [*again_of, *(Fact(one.span, one.quote) for one in case.flow.triggers if one.kind in RETURNS)]


RULE = Rule(
    id="R-30",
    name="alert-is-unsafe",
    title="The alarm is not safe itself",
    why="An alarm that opens a ticket for each attempt buries the one that matters, and one that fails silently is none.",
    fix="Look for the open ticket of the same failure and add to it, and let a failed alarm fail the run.",
    check=check,
    holds_if={EACH: "several failures come before somebody has dealt with the first", UNHEARD: "nothing that stands elsewhere tells of it"},
)
