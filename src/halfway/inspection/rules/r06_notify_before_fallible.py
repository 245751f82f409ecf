"""R-06: somebody is told before the thing itself is done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Mark, Receiver, Repeat, Step
from halfway.inspection.rules.common import found, is_message, is_unread, kinds, line, only_tells, outward, stops, tells_team, told

CUSTOMER = "When {later} fails, or is never reached, a customer has been told by {what} already, and a repeat tells it again."
TEAM = "When {later} fails, or is never reached, the team has been told by {what} already, and a repeat tells it again."
UNKNOWN = "When {later} fails, or is never reached, somebody, perhaps a customer, has been told by {what} already."
_TIDIED = re.compile(r"(?i)mark_?as_?(?:un)?read|(?:add|remove)_?labels?\b|\barchive\b")


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    told_of = {one.id for one in ways.steps if _is_told_of(one)}
    for step in ways.outward():
        if not _tells(step) or step.marks & {Mark.FAILURE_NOTICE, Mark.RECOVERY, Mark.WAIT}:  # who waits for an answer asks
            continue
        # By a loop alone it is about the next item.
        beside = step.extra.get("told_or_not", "").split("\n")
        after = (one for one in ways.after(step) if one.order > step.order and one.id not in beside)
        later = next((one for one in after if one.id in told_of and told(one) != told(step)), None)
        if later is not None:
            severity = Severity.MEDIUM if _is_inside(step) or (_is_beside(step) and _is_kept_up(later)) else Severity.HIGH
            yield found(RULE.id, severity, step, _text(step), line(later), later=later)


def _tells(step: Step) -> bool:
    """Whether it is there to tell somebody; a release of which some people hear as well is not."""
    meant = Mark.SUCCESS_NOTICE in step.marks or (step.effect is not None and step.effect.receiver is Receiver.CUSTOMER)
    return only_tells(step) or (meant and Kind.NOTIFY in kinds(step))


def _is_told_of(later: Step) -> bool:
    """What a message may speak of: not another message, and not the mark that it is sent, also where that is one at a mail."""
    if later.effect is not None and _TIDIED.search(later.effect.told):
        return False
    if "logs" in later.extra or is_unread(later) or is_message(later):
        return False
    return outward(later) and stops(later) and not later.marks & {Mark.CLAIM, Mark.CURSOR}


def _is_inside(step: Step) -> bool:
    """Whether it goes to the own people, whatever else it may do."""
    return tells_team(step) or (step.effect is not None and step.effect.receiver is Receiver.TEAM)


def _is_beside(step: Step) -> bool:
    """Whether it may speak of something else: who hears it is not known, or it answers what somebody has written."""
    return "answers" in step.extra or step.effect is None or step.effect.receiver is Receiver.UNKNOWN


def _is_kept_up(later: Step) -> bool:
    """Whether it brings a record up to date, which the next run does as well; a message seldom tells of that."""
    return later.effect is not None and later.effect.repeat in (Repeat.SAFE, Repeat.MERGES)


def _text(step: Step) -> str:
    receiver = step.effect.receiver.value if step.effect is not None else ""
    return {"customer": CUSTOMER, "team": TEAM}.get(receiver, UNKNOWN)


RULE = Rule(
    id="R-06",
    name="notify-before-fallible",
    title="A message is sent before what it tells of is done",
    why="A message cannot be taken back. When a later step fails, it has said what is not so.",
    fix="Send the message last, or only when the later step has succeeded.",
    check=check,
    holds_if=dict.fromkeys((CUSTOMER, TEAM, UNKNOWN), "what {what} says is true only once {later} is done, or saying it again does harm"),
)
