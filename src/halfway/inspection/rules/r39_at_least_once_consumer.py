"""R-39: an event that may come twice has its effect twice."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Mark, Receiver, Repeating, Step
from halfway.inspection.rules.common import DELIVERED, again, answers, exposed, found, is_logged, is_queued, kinds, only_tells, tells_team
from halfway.inspection.rules.delivering import repeated_at

TWICE = "An event is delivered again when its receipt is not confirmed in time; {what} then happens twice, as nothing knows it again."
UNKNOWN = "An event is delivered again when its receipt is not confirmed in time; whether {what} then happens twice is not known."


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    claims = [step for step in ways.steps if Mark.CLAIM in step.marks]
    for step in ways.outward():
        repeat = next((one for one in again(step, Repeating.REDELIVERY) if one.automatic), None)
        known = step in claims or any(ways.is_after(claim, step) for claim in claims)
        # What was not read is the question of R-44.
        if repeat is None or known or step.opaque is not None or not exposed(step) or step.known_by is not None:
            continue
        if "replaced" in step.extra:
            continue  # whoever begins again deletes them first
        if is_logged(step):
            continue  # that it has come twice is what a log is there to tell
        text = TWICE if repeatability(step) is Repeatable.NO else UNKNOWN
        mild = answers(case.flow, step) or "confirms" in step.extra or is_queued(step)
        severity = min(_severity(step), Severity.MEDIUM) if mild else _severity(step)
        yield found(RULE.id, severity, step, text, *repeated_at(case.flow, repeat, step))


def _severity(step: Step) -> Severity:
    if tells_team(step) or _tells_of_failure(step):
        return Severity.LOW
    if kinds(step) & {Kind.MONEY, Kind.PERMISSION}:
        return Severity.BLOCKER
    return Severity.HIGH if repeatability(step) is Repeatable.NO or Kind.RECORD in kinds(step) else Severity.MEDIUM


def _tells_of_failure(step: Step) -> bool:
    """Whether a handler of errors tells it, and not the customer whom the event is about."""
    told_to = step.effect.receiver if step.effect is not None else None
    return "in_handler" in step.extra and only_tells(step) and told_to is not Receiver.CUSTOMER


RULE = Rule(
    id="R-39",
    name="at-least-once-consumer",
    title="An event that comes twice has its effect twice",
    why="Webhooks and queues promise that an event comes at least once. When the answer is late or lost they deliver it again.",
    fix="Keep the id of each event that was dealt with and ask for it first, or send it along as the key of the effect.",
    check=check,
    holds_if=dict.fromkeys((TWICE, UNKNOWN), DELIVERED),
)
