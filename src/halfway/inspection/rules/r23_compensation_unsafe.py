"""R-23: what takes an effect back may itself stop halfway, happen twice, or fail unheard."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import OnError, Step
from halfway.inspection.rules.common import again_at, exposed, found, line, only_tells, retries
from halfway.inspection.ways import Ways

TWICE = "When the answer of {undo} is lost, it is done again, and {what} is taken back a second time."
UNKNOWN = "When the answer of {undo} is lost, it is done again; whether {what} is then taken back twice is not known."
UNHEARD = "When {undo} itself fails, that is passed over: {what} stays, and nobody learns of it."
ALONE = "When {undo} itself fails, nothing tries it again and nobody takes over: {what} stays."


def check(case: Case) -> Iterator[Finding]:
    """Once of each undo, at the first of the effects that it takes back."""
    ways, said = case.ways, set[str]()
    for step in ways.outward():
        back = None if only_tells(step) else _back(ways, step)  # what was said stays said
        finding = _at(ways, step, back) if back is not None and back.id not in said else None
        if finding is not None and back is not None:
            said.add(back.id)
            yield finding


def _back(ways: Ways, step: Step) -> Step | None:
    """What takes it back, if it can be read; what cannot is the question of R-44."""
    if step.undo is None or not step.undo.reached:
        return None
    named = (one for one in ways.steps if one is not step and step.undo.step in (one.name, one.id))
    return next((one for one in named if one.opaque is None), None)


def _at(ways: Ways, step: Step, back: Step) -> Finding | None:
    retry = next(retries(back), None)
    if retry is not None and exposed(back):
        text = TWICE if repeatability(back) is Repeatable.NO else UNKNOWN
        return found(RULE.id, Severity.HIGH, step, text, line(back), *again_at(retry, back), undo=back.name)
    if back.on_error in (OnError.CONTINUE, OnError.SWALLOW):
        return found(RULE.id, Severity.HIGH, step, UNHEARD, line(back), undo=back.name)
    tried = retry is not None or (step.undo is not None and step.undo.retried)
    if not tried and not ways.failing(back):
        return found(RULE.id, Severity.HIGH, step, ALONE, line(back), undo=back.name)
    return None


RULE = Rule(
    id="R-23",
    name="compensation-unsafe",
    title="The undo is not safe itself",
    why="An undo is a call like any other: its answer may be lost, and it may fail. A second refund costs as much as a second charge.",
    fix="Let the undo carry a key of the effect that it takes back, try it again, and hand over to a person when it fails for good.",
    check=check,
    holds_if={
        **dict.fromkeys((TWICE, UNKNOWN), "it does harm to take {what} back twice"),
        **dict.fromkeys((UNHEARD, ALONE), "{what} must not stay"),
    },
)
