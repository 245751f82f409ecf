"""R-36: a secret stands in the definition itself; its place is told, never its value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Said, Severity
from halfway.inspection.model import Step

ONE = "A secret is written into the definition: everybody who may read the file may use it."
HANDING = frozenset({"n8n", "make", "zapier", "agents", "step-functions", "bpmn"})
"""Formats in which nothing runs beside the flow itself."""
LAST_PARTS = 3  # of a path: what lies further out is called after persons and machines
_LOCAL = re.compile(r"(?i)(?<![a-z])(?:local(?:host)?|dev|tests?|e2e|docs?|examples?|samples?|demo|hack|sandbox|playground)(?![a-z])")
SEVERAL = "{count} secrets are written into the definition: everybody who may read the file may use them."


def check(case: Case) -> Iterator[Finding]:
    facts = list(dict.fromkeys(case.flow.secrets))
    if not facts:
        return
    inference = Said(SEVERAL, {"count": len(facts)}) if len(facts) > 1 else Said(ONE)
    yield Finding(rule=RULE.id, severity=Severity.MEDIUM, span=facts[0].span, facts=tuple(facts), inference=inference)


def _is_shown(case: Case, _: Step | None) -> bool:
    """Whether it is handed to a service of somebody else, and not in what is called after a trial, nor in what n8n keeps of one.

    In programs and workflows most of them are of services that run beside them, unless their form says whose they are.
    """
    called = "/".join(case.flow.file.split("/")[-LAST_PARTS:])
    kept = any("pinData" not in one.span.at for one in case.flow.secrets)
    if any(one.certain for one in case.flow.secrets):
        return True
    return case.flow.format in HANDING and kept and _LOCAL.search(called) is None


RULE = Rule(
    id="R-36",
    name="secret-in-definition",
    title="A secret stands in the definition",
    why="A definition is copied, exported and shared. Whoever has a copy can do in its name what the automation does.",
    fix="Keep it where the engine keeps secrets, refer to it by its name, and replace the one that has been written down.",
    check=check,
    holds_if=dict.fromkeys((ONE, SEVERAL), "it opens more than what is started beside it on one's own machine"),
    shown=_is_shown,
    whenever=True,
)
