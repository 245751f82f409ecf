"""R-41: a part of the definition is fetched anew by each run, and may be another one."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Said, Severity
from halfway.inspection.rules.common import outward, told

INFERENCE = "Running it again may do {what} another way than the first time: the quoted lines take code from places that move."
MOST_FACTS = 3


def check(case: Case) -> Iterator[Finding]:
    facts = case.flow.moving[:MOST_FACTS]
    step = next((one for one in case.ways.steps if outward(one) or (one.opaque is not None and "gone" not in one.extra)), None)
    if step is not None and facts:
        inference = Said(INFERENCE, {"what": told(step)})
        yield Finding(rule=RULE.id, severity=Severity.LOW, span=facts[0].span, facts=facts, inference=inference)


RULE = Rule(
    id="R-41",
    name="unpinned-definition",
    title="A part of the definition may change between two attempts",
    why="A branch, `latest` or a script from the net is whatever it is today. What the first attempt did cannot be read there any more.",
    fix="Name the version, the commit or the digest of everything that a run takes from elsewhere.",
    check=check,
)
