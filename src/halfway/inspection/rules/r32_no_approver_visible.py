"""R-32: nobody is seen to let an effect pass that is a person's business."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Flow, Kind, Mark, Receiver, Starting, Step
from halfway.inspection.rules.common import (
    ENTRIES,
    TABLES,
    answers,
    found,
    is_by_hand,
    is_of_queue,
    kinds,
    line,
    named_only,
    place,
    tells_team,
)
from halfway.inspection.ways import Ways

NOBODY = "Nothing in the files says who lets {what} pass; who approves it has to be asked."
UNNAMED = (
    "Something may hold {what} back until it is let pass; whether it does, and who lets it pass, is not in the files and has to be asked."
)
ASKED = "{what} waits until somebody lets it pass; who that is, is not in the files and has to be asked."
MOST_FACTS = 3
MADE_FOR_IT, EVERYDAYS = 2, 3  # weights
MADE_ONLY = frozenset({Kind.CREATE})
AT_HOME = frozenset({"looks", "says", "tells_team", "at_home", "let_pass"})
"""An agent that only reads, remarks or tells the own people; something of their own place; what they were asked about and have let pass."""
ASKED_FOR = frozenset({"waited_for", "called"})
"""Somebody waits for the answer, or has called for it by a mention, a command or a label."""
PARTS = frozenset({"aws.create", "aws.create_with_token"})
ASKS_ITSELF = frozenset({
    "github.pull", "github.pull.update", "github.release.draft", "package.bump", "github.label", "registry.description", "mail.label",
    "github.status", "github.comment.reaction", "github.comment.approval",
})  # fmt: skip
"""A pull request and a draft wait for somebody to let them pass; nobody approves labels and descriptions, and an approval is one."""
EVERYDAY = ("github.", "goreleaser.", "hubspot.", "crm.", *TABLES)
"""Words at a project, entries about customers and rows of a table are seldom anybody's to approve."""
NOBODYS = ("github.comment", *TABLES)


def check(case: Case) -> Iterator[Finding]:
    """Once of each flow, at the gravest of its effects."""
    ways = case.ways
    steps = [step for step in ways.outward() if _is_for_people(step)]
    gated = [step for step in ways.steps if step.gate is not None]
    let_pass = {one.id for gate in gated for one in (gate, *ways.behind(gate))}
    free = [step for step in steps if step.id not in let_pass]
    if not free:
        yield from _unnamed(ways, steps, gated)
        return
    # Nobody approves each answer to somebody who has written, nor what is done for it only.
    bot = any(_is_answer(case.flow, step) for step in free)
    free = sorted((step for step in free if not bot or (_weight(step) < MADE_FOR_IT and not _is_answer(case.flow, step))), key=_order)
    by_hand = {trigger.kind for trigger in case.flow.triggers} == {Starting.MANUAL}  # who starts it has said yes
    # Whoever queues a task has decided; what is merely created, or told to those who have asked to hear, is nobody's to approve.
    if not free or is_of_queue(case.flow) or _is_mild(free[0]) or all(_is_nobodys(one) for one in free):
        return
    if not (by_hand and case.flow.format == "n8n" and _weight(free[0]) > 0) and not _is_deployed_by_hand(case.flow, free[0]):
        mild = by_hand or _weight(free[0]) == EVERYDAYS or not ASKED_FOR.isdisjoint(free[0].extra)
        yield found(RULE.id, Severity.LOW if mild else Severity.MEDIUM, free[0], NOBODY, *(line(one) for one in free[1:MOST_FACTS]))


def _is_answer(flow: Flow, step: Step) -> bool:
    """Whether it tells somebody who has written, or whom the event names, of just that."""
    return answers(flow, step) or "confirms" in step.extra


def _unnamed(ways: Ways, steps: list[Step], gated: list[Step]) -> Iterator[Finding]:
    behind = [(gate, {step.id for step in ways.behind(gate)}) for gate in gated]
    for step in steps:
        if Mark.WAIT in step.marks or _is_mild(step) or _is_nobodys(step):
            continue  # it is itself the question, or nobody asks about it
        gates = [one.gate for one, later in behind if one.gate is not None and (one is step or step.id in later)]
        if gates and not any(gate.visible or gate.approver for gate in gates):
            asked = any(gate.kind == "approval" for gate in gates)
            yield found(RULE.id, Severity.LOW, step, ASKED if asked else UNNAMED, place(gates[0].span, *ways.steps))
            return


def _is_deployed_by_hand(flow: Flow, step: Step) -> bool:
    """Whether somebody sits in front of the script that deploys it."""
    return is_by_hand(flow) and Kind.DEPLOY in kinds(step)


def _is_mild(step: Step) -> bool:
    """Whether it only makes something, tells a customer by its name alone, or goes to a topic, of which those hear who have asked."""
    if named_only(step) or (kinds(step) == MADE_ONLY and _weight(step) != EVERYDAYS):
        return True
    return step.effect is not None and step.effect.action == "sns.publish" and step.effect.receiver is Receiver.UNKNOWN


def _is_nobodys(step: Step) -> bool:
    """Whether it is one of many that nobody approves one by one, also an entry that is only added."""
    if step.effect is None or _weight(step) != EVERYDAYS:
        return False
    return step.effect.action.startswith(NOBODYS) or step.effect.action in ENTRIES


def _order(step: Step) -> tuple[bool, bool, bool, int]:
    """What is known to be grave first."""
    return _weight(step) == EVERYDAYS, _is_mild(step), _is_nobodys(step), _weight(step)


def _weight(step: Step) -> int:
    """The graver the sooner: money and rights, then records and messages."""
    if step.effect is not None and step.effect.action.startswith(EVERYDAY) and not kinds(step) & {Kind.MONEY, Kind.PERMISSION}:
        return EVERYDAYS
    return 0 if kinds(step) & {Kind.MONEY, Kind.PERMISSION} else 1 if kinds(step) & {Kind.RECORD, Kind.NOTIFY} else MADE_FOR_IT


def _is_for_people(step: Step) -> bool:
    if step.effect is None or not step.effect.consequential or tells_team(step) or step.effect.action in ASKS_ITSELF:
        return False
    if not AT_HOME.isdisjoint(step.extra) or (step.effect.action in PARTS and kinds(step) == MADE_ONLY):
        return False  # a part of a deployment, among others
    if named_only(step) and kinds(step) <= MADE_ONLY | {Kind.UNKNOWN}:
        return False  # that a function is called create does not say that what it makes concerns anybody
    return Mark.FAILURE_NOTICE not in step.marks


RULE = Rule(
    id="R-32",
    name="no-approver-visible",
    title="Nobody is seen to approve it",
    why="Money, messages to customers, stock, rights and what an agent does are a person's business, also when a run is done again.",
    fix="Let a named role approve it: an environment with reviewers, a task for a person, or a wait for an answer.",
    check=check,
    holds_if=dict.fromkeys((NOBODY, UNNAMED), "{what} is something that somebody has to let pass"),
)
