"""R-07: success is told although a step has failed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Mark, OnError, Receiver, Step, When
from halfway.inspection.rules.common import found, is_apart, is_message, line, outward, told
from halfway.inspection.ways import Ways

INFERENCE = "{what} is reached when {failed} has failed, too, and then says that it is done."
_SAYS_NO = re.compile(r"(?i)reject|declin|denied|\bfail|error|cancel|sorry|\balert|\bwarn|\bbreach|\boverdue")
_ALWAYS = re.compile(r"\balways\(\)|!\s*cancelled\(\)")
# Who asks for the outcome, or tells it, does not tell a success that is none.
_TRUE = re.compile(r"\b(?:success\(\)|outcome|conclusion|job\.status|\.result)\b|==\s*['\"]success['\"]")


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    fallible = [one for one in ways.outward() if one.fallible and not _is_aside(one)]
    for notice in ways.outward():
        if not notice.marks & {Mark.SUCCESS_NOTICE, Mark.CLAIM} or _TRUE.search(f"{notice.condition}\n{notice.quote}"):
            continue
        if _SAYS_NO.search(f"{notice.name} {told(notice)}"):
            continue
        failed = next((one for one in fallible if one.id != notice.id and _passes(ways, one, notice)), None)
        if failed is not None:
            yield found(RULE.id, Severity.HIGH, notice, INFERENCE, line(failed), failed=failed.name)


def _is_aside(step: Step) -> bool:
    """Whether it only tells somebody who is no customer how far it is: no later message is about that."""
    return is_message(step) and step.effect is not None and step.effect.receiver is not Receiver.CUSTOMER


def _passes(ways: Ways, failed: Step, notice: Step) -> bool:
    """Whether a failure of the one does not keep from the other."""
    if is_apart(failed, notice):
        return False
    going_on = failed.on_error in (OnError.CONTINUE, OnError.SWALLOW) and not {"failure_asked", "dropped"} & failed.extra.keys()
    # What leads to it around a loop alone is about the next item.
    around = notice.order < failed.order and ways.is_after(notice, failed)
    passed_over = going_on and not around and ways.is_after(failed, notice)
    if Mark.SUCCESS_NOTICE not in notice.marks:  # a mark on the way of a failure may well say `failed`, and one before an effect `begun`
        return passed_over and not any(outward(one) for one in ways.after(notice))
    if passed_over or _is_told_of_failure(ways, failed, notice) or ways.joined(failed, notice) is When.ALWAYS:
        return True
    return ways.is_after(failed, notice) and _ALWAYS.search(notice.condition) is not None


def _is_told_of_failure(ways: Ways, failed: Step, notice: Step) -> bool:
    """Whether a failure leads to it without the same being tried once more, done in another way or begun anew, or these told, before."""
    if not ways.is_failing(failed, notice):
        return False
    alike = {one.id for one in ways.outward() if "told" in one.extra and one.extra["told"] == failed.extra.get("told")}
    before = {one.id for one in ways.steps if ways.is_after(one, failed) and not ways.is_aside(one)}
    known = {one.id for one in ways.steps if Mark.FAILURE_NOTICE in one.marks and one.extra.get("to", "") == notice.extra.get("to")}
    return notice.id in ways.failing_around(failed, (alike | before | known | {failed.id}) - {notice.id})


RULE = Rule(
    id="R-07",
    name="success-notice-on-failure",
    title="Success is told after a failure, too",
    why="A step that is always reached, or reached past an error that was passed over, tells of a success that was none.",
    fix="Let the message depend on the outcome of the step that it tells of.",
    check=check,
    holds_if={INFERENCE: "{what} says that {failed} was done"},
)
