"""R-11: a newer run ends an older one in the middle of an effect."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Step
from halfway.inspection.rules.common import found, kinds, place

INFERENCE = "A newer run ends this one wherever it is, also in the middle of {what}."
HALVED = frozenset({Kind.DEPLOY, Kind.PUBLISH, Kind.MONEY, Kind.GIT})
PUSHED = frozenset({Kind.GIT, Kind.DELETE})


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    for guard in case.flow.guards:
        mine = [one for one in ways.steps if guard.unit in ("", one.unit)]
        step = next((one for one in mine if kinds(one) & HALVED), None) or next((one for one in mine if _is_guarded(one)), None)
        if guard.cancels and step is not None and not _is_one_push(step, mine):
            yield found(RULE.id, Severity.HIGH, step, INFERENCE, place(guard.span, step))


def _is_guarded(step: Step) -> bool:
    """Whether it could not be read and somebody guards it: half of it is taken to do harm."""
    return step.opaque is not None and step.gate is not None


def _is_one_push(step: Step, mine: list[Step]) -> bool:
    """Whether nothing is there to be halved but one push, which is there as a whole or not at all; the newer run does it all again."""
    alone = [one for one in mine if kinds(one) & HALVED] == [step] and not any(_is_guarded(one) for one in mine)
    return alone and kinds(step) <= PUSHED and all(repeatability(one) is Repeatable.PROVEN for one in mine)


RULE = Rule(
    id="R-11",
    name="cancel-in-progress-deploy",
    title="A newer run stops an older one halfway",
    why="To cancel what is running is right for tests. For an effect it is a stop halfway, by design.",
    fix="Let runs with effects wait for each other: `cancel-in-progress: false` with `queue: max`.",
    check=check,
)
