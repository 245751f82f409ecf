"""R-31: of a run that failed nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Said, Severity
from halfway.inspection.rules.common import line, place, told

INFERENCE = "Nothing is kept of a run that fails; whether {what} was done can then not be looked up."


def check(case: Case) -> Iterator[Finding]:
    flow, ways = case.flow, case.ways
    step = next(ways.outward(), None)
    if flow.evidence_off is None or step is None:
        return
    facts = tuple(dict.fromkeys((place(flow.evidence_off, *flow.steps), line(step))))
    inference = Said(INFERENCE, {"what": told(step)})
    yield Finding(rule=RULE.id, severity=Severity.MEDIUM, span=flow.evidence_off, facts=facts, inference=inference)


RULE = Rule(
    id="R-31",
    name="execution-data-not-kept",
    title="Nothing is kept of a failed run",
    why="To go on after a stop one must know what was done. The record of the run is the only witness that costs nothing.",
    fix="Keep the data of failed runs at least as long as a run may be done again.",
    check=check,
    holds_if={INFERENCE: "no other log keeps what was done"},
)
