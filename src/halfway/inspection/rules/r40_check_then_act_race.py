"""R-40: the look before an effect may see too little: its source lags, or another run looks at the same time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Mark, Repeat, Repeating, Starting, Step
from halfway.inspection.rules.common import again, found, place, tells_team, told

TWICE = "{what} is looked for first, and that is no proof: one that was made a moment ago may not be found yet, and a second follows."
UNKNOWN = (
    "{what} is looked for first, and that is no proof: one that was made a moment ago may not be found yet; "
    "whether a second call then has a second effect is not known."
)
MEETING = frozenset({Starting.EVENT, Starting.PUSH, Starting.POLL, Starting.SCHEDULE, Starting.CALL})
_CHANGES = re.compile(r"(?i)\b(?:update|delete|edit|close|archive|patch|put)\b")
REFUSING = (Repeat.SAFE, Repeat.REJECTS, Repeat.MERGES)
"""Where the receiver itself keeps from a second one, the look need not."""


def check(case: Case) -> Iterator[Finding]:
    meets = any(trigger.kind in MEETING for trigger in case.flow.triggers)
    for step in case.ways.outward():
        look = step.guard or step.known_by
        if look is None or step.guard_is_proof or not _needs_it(step) or Mark.FAILURE_NOTICE in step.marks:
            continue  # that a failure is told of twice, which is rare after a look, does no harm
        if step.guard is None and not any(again(step, Repeating.REDELIVERY)):
            continue  # a clock finds what is still to be done, which is what the state is for
        if meets or any(one.automatic for one in again(step)):
            known = step.effect is not None and step.effect.certain and step.effect.repeat is not Repeat.UNKNOWN
            if (not known and _CHANGES.search(told(step))) or _updates(step):
                continue  # to change or delete what was found once more changes it to the same
            text = TWICE if known else UNKNOWN
            severity = Severity.MEDIUM if known and not tells_team(step) else Severity.LOW
            yield found(RULE.id, severity, step, text, place(look, step))


def _updates(step: Step) -> bool:
    return step.effect is not None and step.effect.action == "db.update"


def _needs_it(step: Step) -> bool:
    return step.effect is not None and step.effect.repeat not in REFUSING


RULE = Rule(
    id="R-40",
    name="check-then-act-race",
    title="The look before the effect is no proof",
    why="A search that is a little behind does not find what was made a second ago, and two runs that look at once both find nothing.",
    fix="Let the receiver refuse a second one by a unique key, or claim the item in a table with a unique column before acting.",
    check=check,
    holds_if=dict.fromkeys((TWICE, UNKNOWN), "two can look at the same moment, and a second {what} does harm"),
)
