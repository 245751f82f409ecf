"""R-20: an effect that could be taken back has nothing that takes it back."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Mark, Repeat, Step
from halfway.inspection.rules.common import found, is_row, kinds, line, outward, stops
from halfway.inspection.rules.undoing import matters_later, undoable

ENGINE = "When {later} fails, {what} stays; the engine can undo, and nothing is registered for it."
MODELLED = "The failure of {later} has a way of its own, to {branch}, and {what} stays: nothing on it takes the money back."


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    recovered = {one.id for one in ways.steps if any(Mark.RECOVERY in back.marks for back in ways.failing(one))}
    for step in ways.outward():
        if not undoable(step) or step.undo is not None or Mark.RECOVERY in step.marks or _stays_true(step):
            continue
        if ways.is_aside(step):
            continue  # it is part of how a failure is dealt with
        finding = _at(case, step, recovered)
        if finding is not None:
            yield finding


def _stays_true(step: Step) -> bool:
    """Whether it only sets what a row of one's own says of the way so far."""
    return is_row(step) and step.effect is not None and step.effect.repeat in (Repeat.SAFE, Repeat.MERGES)


def _at(case: Case, step: Step, recovered: Collection[str]) -> Finding | None:
    ways = case.ways
    # What comes after it by a loop alone is about the next item, which leaves the last one whole.
    later = [one for one in ways.after(step) if one.order > step.order and stops(one) and matters_later(one)]
    if any(one.id in recovered for one in later):
        return None  # something is taken back; whether all of it is another rule's question
    modelled = next(((one, ways.failing(one)[0]) for one in later if ways.failing(one)), None) or _chosen(later)
    if modelled is not None and Kind.MONEY in kinds(step):
        facts = line(modelled[0]), line(modelled[1])
        return found(RULE.id, Severity.BLOCKER, step, MODELLED, *facts, later=modelled[0].name, branch=modelled[1].name)
    if is_row(step):
        later = [one for one in later if outward(one)]  # a row of one's own that is followed by a look is whole
    if later and case.flow.undoes:
        # A row of one's own is written over or looked at again; what others were given is not.
        return found(RULE.id, Severity.LOW if is_row(step) else Severity.HIGH, step, ENGINE, line(later[0]), later=later[0].name)
    return None


def _chosen(later: list[Step]) -> tuple[Step, Step] | None:
    """A later step, and the step that follows when its result says that it has failed."""
    on_failure = next((one for one in later if one.extra.get("branch") == "failure"), None)
    before = [one for one in later if one.extra.get("branch") != "failure"]
    return (before[0], on_failure) if on_failure is not None and before else None


RULE = Rule(
    id="R-20",
    name="compensation-missing",
    title="Nothing takes the effect back when a later step fails",
    why="A failure after it leaves half of the whole: money taken and nothing sent, a record without its other half.",
    fix="Register a cancellation, a refund or a roll-back for it, or hand it over to a person.",
    check=check,
    holds_if=dict.fromkeys((ENGINE, MODELLED), "{what} must not stay without {later}"),
)
