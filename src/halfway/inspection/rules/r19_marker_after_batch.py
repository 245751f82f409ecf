"""R-19: how far a loop of effects came is written down only after its end."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Mark, Repeating, Step
from halfway.inspection.rules.common import SECOND, again_at, exposed, found, line

TWICE = "A stop in the middle of the loop leaves {cursor} undone, and the next run does {what} again for all that were done."
UNKNOWN = "A stop in the middle of the loop leaves {cursor} undone; whether {what} then has a second effect for those done is not known."
MARKS = frozenset({Mark.CURSOR, Mark.CLAIM})


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    for step in ways.outward():
        if not _in_loop(step) or step.marks & MARKS or not exposed(step):
            continue
        marks = [one for one in ways.after(step) if one.marks & MARKS]
        if any(_in_loop(one) for one in marks):
            continue  # written down for each item
        cursor = next((one for one in marks if Mark.CURSOR in one.marks), None)
        if cursor is not None:
            text = TWICE if repeatability(step) is Repeatable.NO else UNKNOWN
            loop = (fact for one in step.repeaters if one.kind is Repeating.LOOP for fact in again_at(one, step))
            yield found(RULE.id, Severity.HIGH, step, text, *loop, line(cursor), cursor=cursor.name)


def _in_loop(step: Step) -> bool:
    return Mark.IN_LOOP in step.marks or any(one.kind is Repeating.LOOP for one in step.repeaters)


RULE = Rule(
    id="R-19",
    name="marker-after-batch",
    title="Progress is written down only after the loop",
    why="A stop at one item makes the next run begin at the first, and repeats all that were done.",
    fix="Write down each item when it is done, or give each item a key.",
    check=check,
    holds_if=dict.fromkeys((TWICE, UNKNOWN), SECOND),
)
