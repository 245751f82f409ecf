"""R-41: a part of the definition is fetched anew by each run, and may be another one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Said, Severity
from halfway.inspection.model import Step
from halfway.inspection.rules.common import is_no_stack, outward

INFERENCE = "A run that is started again may be another one than the first: what the quoted lines take comes from places that move."
MOST_FACTS = 3
_INSTALLS = re.compile(r"\b(?:curl|wget)\b(?!.*raw\.githubusercontent\.com)[^|]*\|\s*(?:sudo\s+)?(?:-\S+\s+)*(?:ba|z)?sh\b")


def check(case: Case) -> Iterator[Finding]:
    facts = case.flow.moving[:MOST_FACTS]
    step = next((one for one in case.ways.steps if outward(one) or (one.opaque is not None and "gone" not in one.extra)), None)
    if step is not None and facts:
        yield Finding(rule=RULE.id, severity=Severity.LOW, span=facts[0].span, facts=facts, inference=Said(INFERENCE))


def _is_shown(case: Case, step: Step | None) -> bool:
    """Whether more is fetched than the installer of a tool, of which a script mostly wants the newest."""
    facts = case.flow.moving[:MOST_FACTS]
    return is_no_stack(case, step) and not (case.flow.format == "shell" and all(_INSTALLS.search(fact.quote) for fact in facts))


RULE = Rule(
    id="R-41",
    name="unpinned-definition",
    title="A part of the definition may change between two attempts",
    why="A branch, `latest` or a script from the net is whatever it is today. What the first attempt did cannot be read there any more.",
    fix="Name the version, the commit or the digest of everything that a run takes from elsewhere.",
    check=check,
    holds_if={INFERENCE: "what changes there changes what is done outside"},
    shown=_is_shown,
)
