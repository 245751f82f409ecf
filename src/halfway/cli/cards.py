"""The card of an inspection in words: the same sections on a terminal and in Markdown, in the chosen language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from halfway import lines
from halfway.cli.card_steps import compensation, happened, people, place, repeatable, said, sentences
from halfway.cli.i18n import _
from halfway.inspection.card import Card
from halfway.inspection.finding import Finding, Severity
from halfway.inspection.judging import Verdict
from halfway.inspection.model import Outcome
from halfway.inspection.suppressing import State, Suppressed

VERDICTS = {Verdict.PROCEED: "PROCEED", Verdict.LIMITED: "LIMITED TRIAL", Verdict.STOP: "STOP"}
SEVERITIES = {
    Severity.BLOCKER: "blocker",
    Severity.HIGH: "high",
    Severity.MEDIUM: "medium",
    Severity.LOW: "low",
    Severity.INFO: "information",
}
FIRST, LATER = "  ", "      "  # a later line of an entry stands further in than its first
OTHERS = 8  # findings and flows that are told in a line
REASONS = 3


class Section(NamedTuple):
    """A part of the card."""

    title: str
    lines: tuple[str, ...]


def wrapped(text: str, columns: int | None) -> Iterator[str]:
    """An entry of a section in lines of a terminal, the later ones set in."""
    return lines.wrapped(text, columns, first=FIRST, later=LATER)


def sections(card: Card, others: Sequence[Card]) -> Iterator[Section]:
    """The card in its order, from what was read to the one next step."""
    yield Section(_("What was read"), tuple(_target(card)))
    yield Section(_("Gravest weakness"), tuple(_gravest(card)))
    if card.suppressed:
        yield Section(_("Suppressed"), tuple(_suppressed(one) for one in card.suppressed))
    yield Section(_("What may already have happened"), happened(card))
    yield Section(_("May it be repeated"), repeatable(card))
    yield Section(_("If it is half done"), compensation(card))
    yield Section(_("Evidence to keep"), sentences(card, card.evidence))
    yield Section(_("Stop at"), sentences(card, card.stops) or (_("any error whose cause is not known"),))
    yield Section(_("Who approves"), (said(card.approver), *people(card)))
    if card.question is not None:
        yield Section(_("One question"), (said(card.question),))
    yield Section(_("Verdict"), tuple(_verdict(card)))
    yield Section(_("Next step (it only reads)"), (said(card.next),))
    yield from _others(card)
    if others:
        yield Section(_("Other flows"), tuple(_flow(one) for one in others[:OTHERS]) + _more(len(others), "--all"))


def _target(card: Card) -> Iterator[str]:
    none = _("{name} ({format}) in {file}, only read: no step that is known to do something outside")
    one = _("{name} ({format}) in {file}, only read: one step that does something outside")
    several = _("{name} ({format}) in {file}, only read: {steps} steps that do something outside")
    told = {0: none, 1: one}.get(len(card.lines), several)
    yield told.format(name=card.name, format=card.format, file=card.file, steps=len(card.lines))
    if not card.enabled:
        yield _("it is switched off")
    yield _("run: {run}").format(run=card.run) if card.run else _("run: none was given")


def _gravest(card: Card) -> Iterator[str]:
    if card.gravest is None or card.rule is None:
        yield _("none was found")
        return
    unsure = card.gravest.holds_if is not None
    severity = f"{_(SEVERITIES[card.gravest.severity])}, {_('needs confirmation')}" if unsure else _(SEVERITIES[card.gravest.severity])
    yield f"{card.rule.id} ({severity}): {_(card.rule.title)}"
    for fact in card.gravest.facts:
        yield f"{_('fact')}  {place(fact.span)}  {fact.quote}"
    yield f"{_('inference')}  {said(card.gravest.inference)}"
    if card.gravest.holds_if is not None:
        yield f"{_('holds if')}  {said(card.gravest.holds_if)}"
    yield f"{_('remedy')}  {_(card.rule.fix)}"


def _suppressed(one: Suppressed) -> str:
    """Who answers for it, and why it counts again if it does."""
    entry, until = one.suppression, one.suppression.expires.isoformat()
    told = _("{rule} ({severity})  {place}: {reason}").format(
        rule=entry.rule, severity=_(SEVERITIES[one.finding.severity]), place=place(one.finding.span), reason=entry.reason
    )
    match one.state:
        case State.ACTIVE:
            return told + "  " + _("[does not count; owner: {owner}; until {expires}]").format(owner=entry.owner, expires=until)
        case State.EXPIRED:
            return told + "  " + _("[counts again: it expired on {expires}; owner: {owner}]").format(owner=entry.owner, expires=until)
        case State.OVERRULED:
            assert one.why is not None
            return told + "  " + _("[counts all the same: {why}; owner: {owner}]").format(owner=entry.owner, why=said(one.why))


def _verdict(card: Card) -> Iterator[str]:
    yield _(VERDICTS[card.verdict])
    if card.run and card.lines and all(line.outcome is Outcome.NOT_EXECUTED for line in card.lines):
        yield _("in this run nothing was done outside, and nothing is in doubt")
    for one in card.reasons[:REASONS]:
        yield f"{one.code}  {said(one.said)}" + ("" if one.holds_if is None else f"  [{_('needs confirmation')}]")
    yield from _more(len(card.reasons), "--format json", REASONS)
    if card.verdict is Verdict.PROCEED:
        if any(one.state is State.ACTIVE for one in card.suppressed):
            yield _("nothing was found against it but what is suppressed above; that does not mean: run it now")
        elif card.gravest is None:
            yield _("nothing was found against it; that does not mean: run it now")
        else:
            yield _("what was found does not speak against it; that does not mean: run it now")
    elif card.verdict is Verdict.LIMITED:
        yield _("one item or a test account, with somebody who watches, and stopped as said above")


def _others(card: Card) -> Iterator[Section]:
    """The findings after the gravest: what the files show, and apart from it what somebody has to confirm first."""
    shown = [one for one in card.others if one.holds_if is None]
    unsure = [one for one in card.others if one.holds_if is not None]
    for title, found in ((_("Other findings"), shown), (_("Findings that need confirmation"), unsure)):
        if found:
            yield Section(title, tuple(_short(one) for one in found[:OTHERS]) + _more(len(found), "--format json"))


def _short(one: Finding) -> str:
    told = f"{one.rule} ({_(SEVERITIES[one.severity])})  {place(one.span)}  {said(one.inference)}"
    return told if one.holds_if is None else f"{told}  {_('holds if')}: {said(one.holds_if)}"


def _flow(card: Card) -> str:
    rule = card.gravest.rule if card.gravest is not None else "-"
    return f"{_(VERDICTS[card.verdict])}  {rule}  {card.file}  {card.name}"


def _more(number: int, shown_by: str, shown: int = OTHERS) -> tuple[str, ...]:
    return (_("and {n:,} more: {option}").format(n=number - shown, option=shown_by),) if number > shown else ()


def markdown(card: Card, others: Sequence[Card]) -> str:
    """The card as Markdown; quotes cannot break out of it."""
    return f"# {_escaped(card.name)}\n\n{blocks(sections(card, others))}"


def blocks(parts: Iterable[Section]) -> str:
    """Sections as Markdown."""
    return "\n\n".join(f"## {one.title}\n\n" + "\n".join(f"- {_escaped(line)}" for line in one.lines) for one in parts) + "\n"


def _escaped(text: str) -> str:
    for sign in "\\`*_{}[]<>|#~":
        text = text.replace(sign, f"\\{sign}")
    # No entity, nobody who is called, and no list within the list.
    text = text.replace("&", "&amp;").replace("@", "&#64;")
    return re.sub(r"^(\s*)([-+]|\d+[.)])(?=\s)", r"\1\\\2", text)
