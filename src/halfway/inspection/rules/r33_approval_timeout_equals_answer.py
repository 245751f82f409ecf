"""R-33: nobody has answered, and that is taken for an answer."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Gate, Span, Step
from halfway.inspection.rules.common import found, line, outward, place, told
from halfway.inspection.ways import Ways

DECIDED = "When nobody answers {what} in time, the flow goes on as if somebody had decided, to {later}."
ENDED = "When nobody answers {what} in time, the flow goes on as if somebody had decided."


def check(case: Case) -> Iterator[Finding]:
    ways, seen = case.ways, set[Span]()
    for step in ways.steps:
        gate = step.gate
        if gate is None or not gate.timeout_answers or gate.span in seen:
            continue
        seen.add(gate.span)
        yield _at(ways, step, gate)


def _at(ways: Ways, step: Step, gate: Gate) -> Finding:
    # A wait for a message of a program is less than a decision of a person.
    severity = Severity.HIGH if gate.kind == "approval" else Severity.MEDIUM
    facts = (place(gate.span, *ways.steps), *step.facts)
    later = step if outward(step) else next((one for one in (*ways.failing(step), *ways.after(step)) if outward(one)), None)
    if later is None:
        return found(RULE.id, severity, step, ENDED, *facts)
    return found(RULE.id, severity, step, DECIDED, *facts, line(later), what=_asked(ways, gate), later=later)


def _asked(ways: Ways, gate: Gate) -> str:
    """What was asked: the step that asks, where it is one."""
    return next((told(one) for one in ways.steps if one.span == gate.span and not outward(one)), gate.kind)


RULE = Rule(
    id="R-33",
    name="approval-timeout-equals-answer",
    title="Silence is taken for an answer",
    why="Who has not seen the question has not decided. A limit of time turns that into a yes or a no of nobody.",
    fix="Give silence a way of its own: ask again, or hand it over to a named person, and change nothing until then.",
    check=check,
    holds_if={DECIDED: "that way leads to {later} when there was no answer", ENDED: "silence must not count as that answer"},
)
