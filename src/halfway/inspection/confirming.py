"""What somebody has to confirm of a finding: for most of what rules can say, the reason stands in no file."""

from __future__ import annotations

from dataclasses import replace

from halfway.inspection.finding import Case, Finding, Rule, Said

REFUSED = "{what} is reached at all: GitHub ends every job that uses {action}"
ENDED = "{what} is reached at all: GitHub takes {action} no more, and what is before it ends there"
UNREACHED = "{what} is reached at all: what is before it sets up Python 3.1, as which 3.10 is read without quotes"


def with_condition(case: Case, rule: Rule, finding: Finding) -> Finding:
    """The finding with the condition that its rule has for such a sentence, unless the file shows at this step that it is met."""
    step, text = case.steps.get(finding.step), rule.holds_if.get(finding.inference.text)
    params = finding.inference.params
    own = None if text is None or (rule.shown is not None and rule.shown(case, step)) else Said(text, params)
    why = "" if step is None else step.extra.get("unreached", "")
    text = UNREACHED if why == "python" else ENDED if why.startswith("::") else REFUSED
    reached = Said(text, {**params, "action": why.removeprefix("::")}) if why else None
    if own is not None and reached is not None:
        return replace(finding, holds_if=Said("{one}, and {other}", {"one": reached, "other": own}))
    return replace(finding, holds_if=reached or own)
