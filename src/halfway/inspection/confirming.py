"""What somebody has to confirm of a finding: for most of what rules can say, the reason stands in no file."""

from __future__ import annotations

from dataclasses import replace

from halfway.inspection.finding import Case, Finding, Rule, Said
from halfway.inspection.model import Step
from halfway.inspection.rules.common import outward, told

REFUSED = "{what} is reached at all: GitHub ends every job that uses {action}"
RETIRED = "{what} is reached at all: GitHub has taken the machine {action} away, and a job that asks for it does not begin"
ENDED = "{what} is reached at all: GitHub takes {action} no more, and what is before it ends there"
NO_INIT = "{what} comes to anything at all: its job is not seen to call terraform init"
NO_KEY = "{what} is let in at all: its job is not seen to put a key in place"
NO_SECRET = "{what} is let in at all: its job is not seen to be handed a secret"
UNREACHED = "{what} is reached at all: what is before it sets up Python 3.1, as which 3.10 is read without quotes"
NO_VERSION = "{what} is reached at all: {action} names no version that is likely to be there"
REASONS = {
    "action": REFUSED, "version": NO_VERSION, "machine": RETIRED, "command": ENDED, "python": UNREACHED,
    "init": NO_INIT, "key": NO_KEY, "secret": NO_SECRET,
}  # fmt: skip


def with_condition(case: Case, rule: Rule, finding: Finding) -> Finding:
    """The finding with the condition that its rule has for such a sentence, unless the file shows at this step that it is met."""
    step, text = case.steps.get(finding.step), rule.holds_if.get(finding.inference.text)
    own = None if text is None or (rule.shown is not None and rule.shown(case, step)) else Said(text, finding.inference.params)
    reached = None if rule.whenever else _reached(step, finding) if step is not None else _reached_at_all(case, finding)
    if own is not None and reached is not None:
        return replace(finding, holds_if=Said("{one}, and {other}", {"one": reached, "other": own}))
    return replace(finding, holds_if=reached or own)


def _reached_at_all(case: Case, finding: Finding) -> Said | None:
    """What is said of a whole flow depends on the same where none of its steps that act is reached."""
    acting = [step for step in case.flow.steps if outward(step) or step.opaque is not None]
    if not acting or any("unreached" not in step.extra and "lacks" not in step.extra for step in acting):
        return None
    return _reached(acting[0], finding)


def _reached(step: Step, finding: Finding) -> Said | None:
    kind, _, what = (step.extra.get("unreached") or step.extra.get("lacks", "")).partition(":")
    text = REASONS.get(kind)
    return None if text is None else Said(text, {"what": told(step), **finding.inference.params, "action": what})
