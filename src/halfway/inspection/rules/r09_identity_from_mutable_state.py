"""R-09: the name of what is made comes from what is the newest now, so that a repeat makes another thing."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Bearing, Kind, Repeat, Step
from halfway.inspection.quoting import quoted
from halfway.inspection.rules.common import IMAGE, again, again_at, found, kinds, place, told

ANOTHER = "Running it again computes a new name for {what} ({name}), so that a second one is made and no receiver can refuse it."
LOOKED = "The name for {what} is computed from what is the newest ({name}); whether the look before it finds the first one is not known."


def check(case: Case) -> Iterator[Finding]:
    for step in case.ways.outward():
        mutable = step.identity if step.identity is not None and step.identity.bearing is Bearing.MUTABLE else None
        repeat = next(again(step), None)
        if mutable is None or repeat is None or step.effect is None or step.effect.repeat is Repeat.SAFE:
            continue
        facts = [place(mutable.span, step), *again_at(repeat, step)]
        if step.guard is not None:
            facts.append(place(step.guard, step))
        text = ANOTHER if step.guard is None else LOOKED
        yield found(RULE.id, _severity(step), step, text, *facts, name=quoted(mutable.expression))


def _severity(step: Step) -> Severity:
    if step.guard is not None:
        return Severity.MEDIUM
    # One image more takes nothing from anybody, and can be deleted.
    return Severity.BLOCKER if kinds(step) & {Kind.PUBLISH, Kind.GIT} and not IMAGE.search(told(step)) else Severity.HIGH


RULE = Rule(
    id="R-09",
    name="identity-from-mutable-state",
    title="The name comes from what is the newest now",
    why="After half a run the newest is another one. A repeat then makes a different thing, which nobody can tell is a repeat.",
    fix="Compute the name once, before the unit that may be repeated, and hand it in.",
    check=check,
    holds_if={LOOKED: "the look before it does not find the first one", ANOTHER: "the newest is another one when it is run again"},
)
