"""R-12: of the runs that wait only the newest is kept, where each of them was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Fact, Flow, Guard, Starting, Trigger
from halfway.inspection.rules.common import found, place

GIVEN_UP = "While one run is under way, a second one gives up at once, and its {what} never happens."
INFERENCE = "While one run is under way and another waits, a third one takes the place of the waiting one, whose {what} never happens."
_OWN_THING = re.compile(r"\b(?:tags?|release)\b", re.IGNORECASE)
# A group of each thing, or of each run, has nobody else to wait with.
_OF_EACH_THING = re.compile(r"github\.(?:ref|event\.release|run_id)|\binputs\.", re.IGNORECASE)


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    meant = next((trigger for trigger in case.flow.triggers if _each_is_meant(trigger)), None)
    if meant is None:
        return
    for guard in _replacing(case.flow):
        step = next((one for one in ways.outward() if guard.unit in ("", one.unit)), None)
        if step is not None:
            text = INFERENCE if case.flow.format == "github-actions" else GIVEN_UP
            yield found(RULE.id, Severity.MEDIUM, step, text, place(guard.span, step), Fact(meant.span, meant.quote))


def _replacing(flow: Flow) -> Iterator[Guard]:
    return (guard for guard in flow.guards if not guard.cancels and not guard.queues and not _OF_EACH_THING.search(guard.group))


def _each_is_meant(trigger: Trigger) -> bool:
    """Whether each start is about something of its own: a dispatch with inputs, a tag, a release."""
    if trigger.kind is Starting.MANUAL:
        return bool(trigger.inputs)
    return trigger.kind in (Starting.PUSH, Starting.EVENT) and _OWN_THING.search(f"{trigger.quote} {trigger.span.at}") is not None


RULE = Rule(
    id="R-12",
    name="pending-replaced",
    title="A waiting run is replaced by a newer one",
    why="A group keeps one waiting run only. When each run has work of its own, the one in the middle is dropped without a word.",
    fix="Keep all that wait: `queue: max`, or a group for each tag or input.",
    check=check,
    holds_if=dict.fromkeys((GIVEN_UP, INFERENCE), "the run that is left does not do for both what the other one would have done"),
)
