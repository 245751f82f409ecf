"""R-39: an event that may come twice has its effect twice."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Fact, Flow, Mark, Repeater, Repeating, Starting, Step
from halfway.inspection.rules.common import OFFICIAL, Proof, Ways, again, again_at, exposed, found, kinds, repeatability, tells_team

TWICE = "The sender delivers an event again when no answer comes in time; {what} then happens twice, as nothing knows the event again."
UNKNOWN = "The sender delivers an event again when no answer comes in time; whether {what} then happens twice is not known."


def check(case: Case) -> Iterator[Finding]:
    ways = Ways(case.flow)
    claims = [step for step in ways.steps if Mark.CLAIM in step.marks]
    for step in ways.outward():
        repeat = next((one for one in again(step, Repeating.REDELIVERY) if one.automatic), None)
        known = step in claims or any(step in ways.after(claim) for claim in claims)
        if repeat is None or known or not exposed(step):
            continue
        text = TWICE if repeatability(step) is Proof.NOT else UNKNOWN
        yield found(RULE.id, _severity(step), step, text, *(_starts(case.flow, repeat) or again_at(repeat, step)))


def _severity(step: Step) -> Severity:
    if tells_team(step):
        return Severity.LOW
    if kinds(step) & OFFICIAL:
        return Severity.BLOCKER
    return Severity.HIGH if repeatability(step) is Proof.NOT else Severity.MEDIUM


def _starts(flow: Flow, repeat: Repeater) -> tuple[Fact, ...]:
    """The event that is delivered again, in the words of its trigger."""
    events = [one for one in flow.triggers if one.kind is Starting.EVENT]
    return tuple(Fact(one.span, one.quote) for one in events if one.span.line == repeat.span.line)


RULE = Rule(
    id="R-39",
    name="at-least-once-consumer",
    title="An event that comes twice has its effect twice",
    why="Webhooks and queues promise that an event comes at least once. When the answer is late or lost they deliver it again.",
    fix="Keep the id of each event that was dealt with and ask for it first, or send it along as the key of the effect.",
    check=check,
)
