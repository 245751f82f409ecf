"""R-21: on the way of a failure some of the earlier effects are taken back, and some are not."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Mark, Step
from halfway.inspection.rules.common import found, line, place, stops
from halfway.inspection.rules.undoing import covered, matters_later, undoable
from halfway.inspection.ways import Ways

SOME = "When {later} fails, {undone} is taken back and {what} is not."
NOT_HERE = "When {later} fails, {what} is not taken back, though it is on another way."


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    said: set[str] = set()
    taken_back = [step for step in ways.outward() if undoable(step) and Mark.RECOVERY not in step.marks]
    for later, branch in _failures(ways):
        earlier = [step for step in taken_back if _is_earlier(ways, step, later)]
        at = frozenset(one.id for one in branch)
        back = {step.id: step for step in earlier if covered(ways, step, at)}
        for step in earlier:
            finding = None if step.id in back or step.id in said else _at(step, later, list(back.values())[:1])
            if finding is not None:
                said.add(step.id)
                yield finding


def _failures(ways: Ways) -> Iterator[tuple[Step, tuple[Step, ...]]]:
    """The ways of failures that the flow has; where it has none, the engine's own after each step that may fail."""
    failing = [(step, ways.failing(step)) for step in ways.steps if ways.failing_first(step)]
    yield from failing or ((step, ()) for step in ways.steps if stops(step) and matters_later(step))


def _is_earlier(ways: Ways, step: Step, later: Step) -> bool:
    return step.order < later.order and ways.is_after(step, later)


def _at(step: Step, later: Step, back: list[Step]) -> Finding | None:
    if back:
        undo = back[0].undo
        facts = (line(later), *((place(undo.span, back[0]),) if undo is not None else ()))
        return found(RULE.id, Severity.HIGH, step, SOME, *facts, later=later, undone=back[0].name)
    if step.undo is not None and step.undo.reached:
        facts = line(later), place(step.undo.span, step)
        return found(RULE.id, Severity.HIGH, step, NOT_HERE, *facts, later=later)
    return None


RULE = Rule(
    id="R-21",
    name="compensation-partial",
    title="Only some of the earlier effects are taken back",
    why="Who sees that something was undone believes that all was. The rest stays, and nobody looks for it.",
    fix="Take back every earlier effect on every way of a failure, the last one first.",
    check=check,
    holds_if=dict.fromkeys((SOME, NOT_HERE), "{what} must not stay without {later}"),
)
