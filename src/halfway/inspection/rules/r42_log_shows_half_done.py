"""R-42: the log of a run shows an effect that landed, or may have, before the run ended."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import to_customer, weight
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.judging import outcome, ran_as
from halfway.inspection.model import Fact, Outcome, Step
from halfway.inspection.rules.common import OFFICIAL, found, kinds, tells_team

LANDED = "The log shows that {what} was done and that {later} was not finished: the run {run} is half done."
OPEN = "The log shows that {what} was begun and not how it ended: it may have happened, and the run {run} may be half done."
MOST_FACTS = 3


def check(case: Case) -> Iterator[Finding]:
    """Once of a run, at the gravest of the effects that stand in the log."""
    if case.run is None:
        return
    steps = case.ways.steps
    broken = next((one for one in steps if outcome(case, one) is Outcome.UNKNOWN), None)
    if broken is None:
        return
    done = [one for one in steps if kinds(one) and (one is broken or (one.order < broken.order and _landed(case, one)))]
    if done:
        gravest = max(done, key=lambda one: (weight(one), outcome(case, one) is Outcome.UNKNOWN, -one.order))
        text = OPEN if outcome(case, gravest) is Outcome.UNKNOWN else LANDED
        facts = _facts(case, [gravest, broken, *done])
        yield found(RULE.id, _severity(gravest), gravest, text, *facts, later=broken.name, run=case.run.id)


def _landed(case: Case, step: Step) -> bool:
    return outcome(case, step) in (Outcome.LANDED, Outcome.UNKNOWN)


def _facts(case: Case, steps: list[Step]) -> list[Fact]:
    said = dict.fromkeys(ran.fact for one in steps if (ran := ran_as(case, one)) is not None)
    return list(said)[:MOST_FACTS]


def _severity(step: Step) -> Severity:
    if kinds(step) & OFFICIAL or to_customer(step):
        return Severity.BLOCKER
    return Severity.MEDIUM if tells_team(step) else Severity.HIGH


RULE = Rule(
    id="R-42",
    name="log-shows-half-done",
    title="A run has stopped halfway",
    why="It is no question any more whether it can happen: it has. Whatever is done next begins from a state that nobody planned.",
    fix="Find out for each effect in the log whether it landed, write down its id, and only then decide what is done again.",
    check=check,
)
