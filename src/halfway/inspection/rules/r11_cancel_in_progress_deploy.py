"""R-11: a newer run ends an older one in the middle of an effect."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Step
from halfway.inspection.rules.common import found, kinds, place

INFERENCE = "A newer run ends this one wherever it is, also in the middle of {what}."
HALVED = frozenset({Kind.DEPLOY, Kind.PUBLISH, Kind.MONEY, Kind.GIT})


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    for guard in case.flow.guards:
        step = next((one for one in ways.steps if guard.unit in ("", one.unit) and _is_halved(one)), None)
        if guard.cancels and step is not None:
            yield found(RULE.id, Severity.HIGH, step, INFERENCE, place(guard.span, step))


def _is_halved(step: Step) -> bool:
    """Whether half of it does harm; what could not be read and somebody guards is taken for it."""
    return bool(kinds(step) & HALVED) or (step.opaque is not None and step.gate is not None)


RULE = Rule(
    id="R-11",
    name="cancel-in-progress-deploy",
    title="A newer run stops an older one halfway",
    why="To cancel what is running is right for tests. For an effect it is a stop halfway, by design.",
    fix="Let runs with effects wait for each other: `cancel-in-progress: false` with `queue: max`.",
    check=check,
)
