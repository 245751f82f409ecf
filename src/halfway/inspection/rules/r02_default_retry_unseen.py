"""R-02: the engine repeats an effect by default, and the file does not say so."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Repeating
from halfway.inspection.rules.common import SECOND, again, again_at, exposed, found, is_shown_twice

BOUNDED = "The engine tries {what} up to {attempts} times by default; the file reads as if it happened once."
UNTIL = "The engine tries {what} again by default until its limit of time is reached; the file reads as if it happened once."
ENDLESS = "The engine tries {what} again without end by default; the file reads as if it happened once."
UNSEEN = (Repeating.STEP_RETRY, Repeating.REDELIVERY, Repeating.RESTART)


def check(case: Case) -> Iterator[Finding]:
    for step in case.ways.outward():
        unseen = next((one for one in again(step, *UNSEEN) if one.default and one.automatic), None)
        if unseen is None or not exposed(step) or "endless" in step.extra:
            continue  # what the file itself does over and over does not read as if it happened once
        timed = unseen.kind is Repeating.STEP_RETRY and bool(step.extra.get("limit"))
        text = BOUNDED if unseen.bound is not None else UNTIL if timed else ENDLESS
        endless = unseen.bound is None and not timed and step.opaque is None
        grave = endless or repeatability(step) is Repeatable.NO or (step.effect is not None and step.effect.consequential)
        yield found(RULE.id, Severity.HIGH if grave else Severity.MEDIUM, step, text, *again_at(unseen, step), attempts=unseen.bound)


RULE = Rule(
    id="R-02",
    name="default-retry-unseen",
    title="The engine repeats an effect by default",
    why="Who reads the file believes that the effect happens once. The engine's own default repeats it.",
    fix="Write the number of attempts down: one for an effect that is not safe to repeat.",
    check=check,
    holds_if=dict.fromkeys((BOUNDED, UNTIL, ENDLESS), SECOND),
    shown=is_shown_twice,
)
