"""R-05: the receiver forgets the key before the last repeat may come."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import identified
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.knowledge import Key
from halfway.inspection.model import Repeat, Repeater, Repeating, Step
from halfway.inspection.rules.common import again, again_at, found

INFERENCE = "The receiver remembers the key of {what} for {hours} hours; a repeat may come later, and is then taken for a new action."
DAYS = 24 * 3600
# Runs may be run again within 30 days (docs.github.com, re-running workflows and jobs). Other formats set no end to it.
LATEST = {"github-actions": 30 * DAYS}
LONG = 30 * DAYS  # nobody does it again so late
BY_A_PERSON = (Repeating.UNIT_RERUN, Repeating.REPLAY)


def check(case: Case) -> Iterator[Finding]:
    for step in case.ways.outward():
        key = _key(case, step)
        if key is None or key.seconds is None or key.seconds >= LONG or step.guard is not None:
            continue
        late = next((one for one in again(step) if _after(one, key.seconds, case.flow.format)), None)
        if late is not None:
            yield found(RULE.id, Severity.MEDIUM, step, INFERENCE, *again_at(late, step), hours=f"{round(key.seconds / 3600, 1):g}")


def _key(case: Case, step: Step) -> Key | None:
    """How the receiver knows a repeat, if the step makes use of it."""
    if step.effect is None or step.effect.repeat is not Repeat.WITH_KEY or not identified(step):
        return None
    try:
        return case.knowledge.action(step.effect.action).key
    except KeyError:
        return None


def _after(repeater: Repeater, seconds: int, format: str) -> bool:
    """Whether it may repeat after so many seconds; how long a bounded retry takes is not known."""
    if repeater.kind in BY_A_PERSON:
        return format not in LATEST or LATEST[format] > seconds
    return repeater.kind is Repeating.STEP_RETRY and repeater.bound is None


RULE = Rule(
    id="R-05",
    name="key-ttl-shorter",
    title="The key is forgotten before the last repeat may come",
    why="A receiver remembers a key for some hours or days. A repeat after that is a new action.",
    fix="Look for the result before a late repeat, and do it only when nothing is found.",
    check=check,
)
