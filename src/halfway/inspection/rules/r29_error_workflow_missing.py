"""R-29: a failure reaches nobody."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Said, Severity
from halfway.inspection.model import Fact, Flow, Mark, Starting
from halfway.inspection.rules.common import Ways, line, told

INFERENCE = "When {what} fails, nobody is told: the half that is done stays until somebody happens to look."
WATCHED = frozenset({"github-actions"})
"""Here the one who starts a run hears of its failure; of one that the clock or a program has started nobody may."""
ALONE = frozenset({Starting.SCHEDULE, Starting.EVENT, Starting.POLL})


def check(case: Case) -> Iterator[Finding]:
    flow = case.flow
    step = next(Ways(flow).outward(), None)
    if step is None or not flow.enabled or not flow.notice_expected or _somebody_hears(flow):
        return
    starts = [Fact(one.span, one.quote) for one in flow.triggers if one.kind in ALONE]
    inference = Said(INFERENCE, {"what": told(step)})
    yield Finding(rule=RULE.id, severity=Severity.MEDIUM, span=flow.span, facts=(line(step), *starts), inference=inference)


def _somebody_hears(flow: Flow) -> bool:
    if flow.failure_notice is not None or any(Mark.FAILURE_NOTICE in step.marks for step in flow.steps):
        return True
    if flow.triggers and all(one.kind is Starting.MANUAL for one in flow.triggers):
        return True  # who has started it sits in front of it
    return flow.format in WATCHED and not any(one.kind in ALONE for one in flow.triggers)


RULE = Rule(
    id="R-29",
    name="error-workflow-missing",
    title="A failure reaches nobody",
    why="What stops in the middle gets worse by the hour: people wait, later runs build on it, logs are deleted.",
    fix="Name somebody who is told: an error workflow, a failure callback, a step that runs `if: failure()`.",
    check=check,
)
