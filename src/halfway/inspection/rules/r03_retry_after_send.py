"""R-03: after an effect something else may fail inside the same retry, which then repeats the effect that had succeeded."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Repeater, Step
from halfway.inspection.rules.common import SECOND, again_at, breaks_off, exposed, found, is_queued, is_same_call, line, retries, tells_team

TWICE = "{what} has succeeded when {later} fails; the retry begins before both, and {what} happens a second time."
UNKNOWN = (
    "{what} has succeeded when {later} fails; the retry begins before both, and whether {what} then happens a second time is not known."
)


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    for step in ways.outward():
        retry = next(retries(step), None)
        if retry is None or not exposed(step) or "replaced" in step.extra:
            continue
        if retry.narrow and not retry.after_timeout:
            continue  # errors of one's own are raised by what is looked at here, and not by a call that goes wrong
        later = next(
            (one for one in ways.after(step) if _shares(step, one) and breaks_off(step, one) and _raises(one, retry)),
            None,
        )
        if later is not None:
            text = TWICE if repeatability(step) is Repeatable.NO else UNKNOWN
            yield found(RULE.id, _severity(step), step, text, line(later), *again_at(retry, step, later), later=later)


def _shares(step: Step, later: Step) -> bool:
    """Whether both are in one retry; one and the same call is not after itself."""
    return (later.unit, later.scope) == (step.unit, step.scope) and not is_same_call(step, later)


def _raises(step: Step, retry: Repeater) -> bool:
    """Whether its failure starts that retry: what is worked out here seldom fails as a request does."""
    return not retry.narrow or step.effect is not None or step.opaque is not None


def _severity(step: Step) -> Severity:
    if is_queued(step):
        return Severity.MEDIUM
    return Severity.BLOCKER if repeatability(step) is Repeatable.NO and not tells_team(step) else Severity.HIGH


RULE = Rule(
    id="R-03",
    name="retry-after-send",
    title="A failure after an effect repeats the effect",
    why="What comes after the effect shares its retry. When that fails, an effect that had succeeded is done once more.",
    fix="Make the effect a step of its own, and write down that it is done before anything else may fail.",
    check=check,
    holds_if=dict.fromkeys((TWICE, UNKNOWN), SECOND),
)
