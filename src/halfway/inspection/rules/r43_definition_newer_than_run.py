"""R-43: the run was one of another version of the definition than the one that was given."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Said, Severity
from halfway.inspection.model import Fact
from halfway.inspection.quoting import quoted

INFERENCE = "The run {run} was one of version {ran}, and the definition is version {given}: what was read may not be what ran."


def check(case: Case) -> Iterator[Finding]:
    flow, run = case.flow, case.run
    if run is None or not run.version or not flow.version or run.version == flow.version:
        return
    ran, given = quoted(run.version, 80), quoted(flow.version, 80)
    facts = Fact(run.version_at or run.span, f"version: {ran}"), Fact(flow.version_at or flow.span, f"version: {given}")
    inference = Said(INFERENCE, {"run": run.id, "ran": ran, "given": given})
    yield Finding(rule=RULE.id, severity=Severity.MEDIUM, span=facts[0].span, facts=facts, inference=inference)


RULE = Rule(
    id="R-43",
    name="definition-newer-than-run",
    title="The run was one of another version",
    why="Steps were added, renamed or taken away since. What the log says of a step may be about another one.",
    fix="Give the definition of the version that ran, and decide by that what is half done.",
    check=check,
)
