"""R-14: an effect whose answer is lost is treated as one that did not happen."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Fact, Kind, Mark, OnError, Receiver, Repeat, Step
from halfway.inspection.rules.common import (
    SECOND,
    UNKNOWN_ONLY,
    again_at,
    answers,
    exposed,
    found,
    is_command,
    kinds,
    line,
    outward,
    retries,
    tells_team,
)
from halfway.inspection.ways import Ways

RETRIED = "{what} is taken for failed after {seconds} seconds and done again, though it may have happened."
BOOKED = "When the answer of {what} is lost, {then} follows as if it had not happened; nothing looks first."
FILE = frozenset({Kind.FILE})
BOOKS = frozenset({Kind.MONEY, Kind.RECORD, Kind.PERMISSION, Kind.DELETE, Kind.NOTIFY})


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    for step in ways.outward():
        if (
            not step.fallible
            or step.effect is None
            or step.effect.repeat is Repeat.SAFE
            or kinds(step) == FILE
            or is_command(step)  # of what nobody knows it cannot be said that it is taken for not done
        ):
            continue
        then = _booked(ways, step)
        # The limit of the whole ends the retry with it.
        within = step.extra.get("limit") == "whole"
        retry = next((one for one in retries(step) if one.after_timeout and not within), None)
        if then is not None:
            # Who has written is told that it went wrong, and asks again.
            mild = kinds(step) == UNKNOWN_ONLY or answers(case.flow, then)
            severity = Severity.MEDIUM if mild else Severity.HIGH
            yield found(RULE.id, severity, step, BOOKED, line(then), then=then.name)
        elif step.timeout is not None and retry is not None and exposed(step) and not retry.default:
            facts: tuple[Fact, ...] = (*(fact for fact in step.facts if "timeout" in fact.span.at), *again_at(retry, step))
            severity = Severity.MEDIUM if kinds(step) == UNKNOWN_ONLY or tells_team(step) else Severity.HIGH
            yield found(RULE.id, severity, step, RETRIED, *facts, seconds=f"{step.timeout:g}")


def _booked(ways: Ways, step: Step) -> Step | None:
    """The first step on the way of its failure that takes it for not done; who looks before is asking, not booking."""
    going_on = _in_any_case(ways, step)
    ways_out = [one for one in ways.failing_first(step) if one.id not in going_on]
    waiting = [one for one in ways_out if not _decided(step, one) and not _takes_back(step, one)]
    seen = {step.id, *going_on}
    while waiting:
        one = waiting.pop(0)
        if one.id in seen or _looks(ways, step, one):
            continue
        seen.add(one.id)
        if _books(one):
            return one
        waiting.extend(ways.following(one))
    return None


def _in_any_case(ways: Ways, step: Step) -> set[str]:
    """What comes when all goes well, before the step is done once more: it does not take the step for failed."""
    seen, waiting = {step.id}, [step]
    while waiting:
        for one in ways.following(waiting.pop()):
            if one.id not in seen:
                seen.add(one.id)
                waiting.append(one)
    return seen - {step.id}


def _decided(step: Step, then: Step) -> bool:
    """Whether the way is taken because of an answer that came, and not because none did."""
    if "answered" in step.extra:
        return True  # every way of its failure is that of an error that it names
    return step.on_error is OnError.STOP and then.extra.get("branch") == "failure"


def _takes_back(step: Step, then: Step) -> bool:
    """Whether it is the undo of the very step, which takes it for done; what such an undo needs is the question of R-22."""
    return step.undo is not None and step.undo.step in (then.name, then.id)


def _looks(ways: Ways, step: Step, then: Step) -> bool:
    """Whether it is a look, or has one of its own; one that was before the effect cannot have seen it."""
    if then.effect is not None and not outward(then):
        return True
    look = then.guard
    if look is None or look.line < step.span.line:
        return False
    return not any(one.span.line == look.line and ways.is_after(one, step) for one in ways.steps)


def _books(step: Step) -> bool:
    if step.effect is None or not step.effect.outward or "alike" in step.extra:
        return False  # a message of the same words as the one of success says nothing of a failure
    if Mark.FAILURE_NOTICE in step.marks:
        return step.effect.receiver is Receiver.CUSTOMER or bool(kinds(step) & BOOKS - {Kind.NOTIFY})
    return Mark.RECOVERY in step.marks or bool(kinds(step) & BOOKS)


RULE = Rule(
    id="R-14",
    name="timeout-as-failure",
    title="A lost answer is taken for a failure",
    why="After a timeout nobody knows whether it happened. To repeat, to undo or to book it as failed is a guess.",
    fix="Add a state of its own for what is not known: look for the result, and decide only then.",
    check=check,
    holds_if={RETRIED: SECOND, BOOKED: "{then} does harm where {what} has happened after all"},
)
