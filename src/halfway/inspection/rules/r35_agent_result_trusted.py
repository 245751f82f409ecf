"""R-35: an agent is started, and what it does is not looked at, or cannot be found again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Mark, Step
from halfway.inspection.rules.common import found, kinds, line, outward, tells_team
from halfway.inspection.ways import Ways

LOST = "The id of what {what} starts is kept nowhere: what the agent did stands in its own log only, as long as that is kept."
AWAY = "{what} starts an agent elsewhere, and nothing waits for its end: the run ends well whatever the agent does."
TRUSTED = "{later} goes on with what {what} has made, and nobody looks at it between."
_ASKS = re.compile(r"(?i)\b(?:curl|wget|http|gh|invoke-restmethod)\b|wait|poll|status")
_REQUEST = re.compile(r"^(?:POST|PUT)\b|\bgh agent-task create\b")


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    for step in ways.outward():
        # What an agent is allowed to do is no call of one.
        if Kind.AGENT not in kinds(step) or "unattended" in step.extra:
            continue
        looks = "looks" in step.extra  # it has done nothing that somebody would have to find again
        trusting = _trusting(ways, step)
        if trusting is not None:
            yield found(RULE.id, Severity.HIGH, step, TRUSTED, line(trusting), later=trusting)
        elif _goes_away(ways, step):
            yield found(RULE.id, Severity.HIGH, step, AWAY)
        elif not step.kept and not looks:
            yield found(RULE.id, Severity.HIGH if _elsewhere(step) else Severity.LOW, step, LOST)


def _trusting(ways: Ways, agent: Step) -> Step | None:
    """The first effect that uses its output before a person or a rule has let it pass."""
    for later in ways.after(agent):
        if later.gate is not None:
            return None
        keeps = later.span in agent.kept
        if agent.id in later.needs_output_of and outward(later) and not tells_team(later) and not keeps:
            return later
    return None


def _goes_away(ways: Ways, agent: Step) -> bool:
    return _elsewhere(agent) and not any(_looks(one, agent) for one in ways.after(agent))


def _looks(later: Step, agent: Step) -> bool:
    """Whether it waits, or asks how the agent is getting on."""
    only_asks = not later.effect.outward if later.effect is not None else _ASKS.search(later.quote) is not None
    return (only_asks and agent.id in later.needs_output_of) or Mark.WAIT in later.marks


def _elsewhere(step: Step) -> bool:
    """Whether it only asks for an agent; one that runs in the step itself leaves its log there."""
    if "streams" in step.extra:
        return False  # the request lasts as long as what it starts
    return step.effect is not None and _REQUEST.search(step.effect.told) is not None


RULE = Rule(
    id="R-35",
    name="agent-result-trusted",
    title="What an agent does is not looked at",
    why="An agent decides by itself what it does. Without its id and its log nobody can tell what it did before it stopped.",
    fix="Keep the id and the log of its session, wait for its end, and hold back what depends on it until a person has looked.",
    check=check,
    holds_if={
        **dict.fromkeys((LOST, AWAY), "the agent does something outside by itself"),
        TRUSTED: "what {what} has made may be wrong, and does harm in {later}",
    },
)
