"""R-44: what a step does is in a part that was not given."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.assessing import identified
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Flow, Kind, Repeater, Repeating, Step, Unread
from halfway.inspection.quoting import quoted
from halfway.inspection.rules.common import MADE, UNKNOWN_ONLY, again, found, kinds, named_only, outward, place, tells_team
from halfway.inspection.rules.delivering import repeated_at
from halfway.inspection.rules.quiet import called, is_quiet, pretends

ONCE = "{unread} was not read: what it does outside, and whether doing it again is harmless, is not known."
NONE = "{unread} names no function: the definition is not finished, and what is to be done there is not known."
AGAIN = "{unread} was not read, and it is done again by itself: what a second time does is not known."

# What is called so is mostly worked out, measured or left alone; that it does no more has still to be read.
_COMPUTES = re.compile(r"(?i)metric|generat|format|build(?:list|batch)|planner|create_\w*views?\b")
_CLEARS = re.compile(r"(?i)delete|remove|purge|clean|^empty")


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    gravest: dict[str, tuple[Finding, bool]] = {}
    for step in ways.steps:
        if step.opaque is None or "gone" in step.extra or tells_team(step) or _only_reads(step) or pretends(step):
            continue
        if not _is_grave(step):
            continue
        part = NONE if "unfinished" in step.extra else step.opaque.what  # where none is named, all such steps lack the same
        finding, before = _at(case.flow, step, step.opaque), gravest.get(part)
        if before is None or (finding.severity, _is_handed_more(step)) > (before[0].severity, before[1]):
            gravest[part] = finding, _is_handed_more(step)
    yield from (finding for finding, _ in gravest.values())


def _is_grave(step: Step) -> bool:
    """Whether what it does may concern somebody; that any other part was not read stands on the card, and is no weakness."""
    # That a function is called create does not say that what it makes concerns anybody.
    made = not any(one.automatic for one in again(step)) and named_only(step) and Kind.CREATE in kinds(step) and kinds(step) <= MADE
    quiet = kinds(step) <= UNKNOWN_ONLY and step.gate is None and is_quiet(step)
    return not made and not quiet and _is_consequential(step)


def _at(flow: Flow, step: Step, unread: Unread) -> Finding:
    # A repeat does not get there, carries by what it is known again, or the file says that it is none.
    safe = step.guard is not None or identified(step) or step.extra.get("said") == "idempotent"
    repeat = next((one for one in again(step) if one.automatic and not safe), None)
    repeated = repeated_at(flow, repeat, step) if repeat is not None else ()
    severity = Severity.HIGH if repeat is not None and _is_likely(repeat, step) else Severity.MEDIUM
    text = NONE if "unfinished" in step.extra else ONCE if repeat is None else AGAIN
    return found(RULE.id, severity, step, text, place(unread.span, step), *repeated, unread=quoted(unread.what, 80))


def _is_handed_more(step: Step) -> bool:
    """Whether this use of a part is handed a secret of its own or told to publish, and does not only look."""
    return "given" in step.extra and "looks" not in step.extra


def _is_likely(repeat: Repeater, step: Step) -> bool:
    """A retry comes by design; that an event comes twice is rarer, and counts where the effect is known to be grave."""
    said = called(step)
    if step.effect is not None and not step.effect.consequential and (_COMPUTES.search(said) or _CLEARS.search(said)):
        return False
    return repeat.kind is not Repeating.REDELIVERY or (step.effect is not None and step.effect.consequential)


def _only_reads(step: Step) -> bool:
    """Whether it only looks, as far as is known or its name says."""
    return step.effect is not None and not outward(step)


def _is_consequential(step: Step) -> bool:
    """Whether it is known to concern people, money, stock or rights, or may; what somebody guards is taken for it."""
    if step.gate is not None:
        return True
    if step.effect is None:
        return "handed" not in step.extra
    return step.effect.consequential or (Kind.UNKNOWN in kinds(step) and "serves" not in step.extra)


RULE = Rule(
    id="R-44",
    name="unreadable-consequential",
    title="What a step does was not given to be read",
    why="The definition names another: an action, a script, an image, a function. All that matters may be decided in there.",
    fix="Give that part to the inspection as well; until then somebody who knows it must answer for it.",
    check=check,
    holds_if=dict.fromkeys((ONCE, AGAIN), "it does something outside, and a second time does harm"),
)
