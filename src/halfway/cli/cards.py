"""The card of an inspection in words: the same sections on a terminal and in Markdown, in the chosen language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from halfway import lines
from halfway.cli.i18n import _
from halfway.inspection.assessing import Category, Repeatable
from halfway.inspection.card import Card, StepLine
from halfway.inspection.finding import Finding, Said, Severity
from halfway.inspection.judging import Verdict
from halfway.inspection.model import Outcome, Span
from halfway.inspection.quoting import quoted
from halfway.inspection.suppressing import State, Suppressed

VERDICTS = {Verdict.PROCEED: "PROCEED", Verdict.LIMITED: "LIMITED TRIAL", Verdict.STOP: "STOP"}
OUTCOMES = {
    Outcome.LANDED: "has happened",
    Outcome.NOT_EXECUTED: "was not executed",
    Outcome.UNKNOWN: "nobody knows whether it happened",
    Outcome.NO_LOG: "may have happened: without the log of a run this needs confirmation",
}
ANSWERS = {
    Repeatable.PROVEN: "yes",
    Repeatable.GUARDED: "guarded",
    Repeatable.NO: "no",
    Repeatable.UNKNOWN: "needs confirmation",
}
CATEGORIES = {
    Category.CANCEL: "cancel",
    Category.MARK: "mark for review",
    Category.CORRECT: "correct",
    Category.QUARANTINE: "quarantine",
    Category.HAND_OVER: "hand over to a person",
}
SEVERITIES = {
    Severity.BLOCKER: "blocker",
    Severity.HIGH: "high",
    Severity.MEDIUM: "medium",
    Severity.LOW: "low",
    Severity.INFO: "information",
}
FIRST, LATER = "  ", "      "  # a later line of an entry stands further in than its first
OTHERS = 8  # findings and flows that are told in a line


class Section(NamedTuple):
    """A part of the card."""

    title: str
    lines: tuple[str, ...]


def said(one: Said) -> str:
    """A sentence in the chosen language; names, lines and quotes stay as they are."""
    text = _(one.text)
    params = {name: said(value) if isinstance(value, Said) else quoted(str(value)) for name, value in one.params.items()}
    return text.format(**params) if params else text  # the base quotes addresses with braces


def wrapped(text: str, columns: int | None) -> Iterator[str]:
    """An entry of a section in lines of a terminal, the later ones set in."""
    return lines.wrapped(text, columns, first=FIRST, later=LATER)


def sections(card: Card, others: Sequence[Card]) -> Iterator[Section]:
    """The card in its order, from what was read to the one next step."""
    yield Section(_("What was read"), tuple(_target(card)))
    yield Section(_("Gravest weakness"), tuple(_gravest(card)))
    if card.suppressed:
        yield Section(_("Suppressed"), tuple(_suppressed(one) for one in card.suppressed))
    yield Section(_("What may already have happened"), _each(card, _happened, _("nothing outside")))
    yield Section(_("May it be repeated"), _each(card, _repeat, _("nothing changes anything outside")))
    yield Section(_("If it is half done"), _each(card, _compensation, _("there is nothing to take back")))
    yield Section(_("Evidence to keep"), tuple(said(one) for one in card.evidence))
    yield Section(_("Stop at"), tuple(said(one) for one in card.stops) or (_("any error whose cause is not known"),))
    yield Section(_("Who approves"), (said(card.approver), *_people(card)))
    if card.question is not None:
        yield Section(_("One question"), (said(card.question),))
    yield Section(_("Verdict"), tuple(_verdict(card)))
    yield Section(_("Next step (it only reads)"), (said(card.next),))
    if card.others:
        yield Section(_("Other findings"), tuple(_short(one) for one in card.others[:OTHERS]) + _more(len(card.others)))
    if others:
        yield Section(_("Other flows"), tuple(_flow(one) for one in others[:OTHERS]) + _more(len(others)))


def _each(card: Card, told: Callable[[StepLine], str], nothing: str) -> tuple[str, ...]:
    """A line for each step with an effect; where none is known to have one, what was not read may."""
    if card.lines:
        return tuple(told(line) for line in card.lines)
    hidden = any(reason.code in ("S6", "L6") for reason in card.reasons)
    return (_("needs confirmation: not all of it could be read") if hidden else nothing,)


def _target(card: Card) -> Iterator[str]:
    one = _("{name} ({format}) in {file}, one step; it was only read")
    several = _("{name} ({format}) in {file}, {steps} steps; it was only read")
    yield (one if card.steps == 1 else several).format(name=card.name, format=card.format, file=card.file, steps=card.steps)
    if not card.enabled:
        yield _("it is switched off")
    yield _("run: {run}").format(run=card.run) if card.run else _("run: none was given")


def _gravest(card: Card) -> Iterator[str]:
    if card.gravest is None or card.rule is None:
        yield _("none was found")
        return
    yield f"{card.rule.id} ({_(SEVERITIES[card.gravest.severity])}): {_(card.rule.title)}"
    for fact in card.gravest.facts:
        yield f"{_('fact')}  {_place(fact.span)}  {fact.quote}"
    yield f"{_('inference')}  {said(card.gravest.inference)}"
    yield f"{_('remedy')}  {_(card.rule.fix)}"


def _suppressed(one: Suppressed) -> str:
    """Who answers for it, and why it counts again if it does."""
    entry, until = one.suppression, one.suppression.expires.isoformat()
    told = _("{rule} ({severity})  {place}: {reason}").format(
        rule=entry.rule, severity=_(SEVERITIES[one.finding.severity]), place=_place(one.finding.span), reason=entry.reason
    )
    match one.state:
        case State.ACTIVE:
            return told + "  " + _("[does not count; owner: {owner}; until {expires}]").format(owner=entry.owner, expires=until)
        case State.EXPIRED:
            return told + "  " + _("[counts again: it expired on {expires}; owner: {owner}]").format(owner=entry.owner, expires=until)
        case State.OVERRULED:
            assert one.why is not None
            return told + "  " + _("[counts all the same: {why}; owner: {owner}]").format(owner=entry.owner, why=said(one.why))


def _happened(line: StepLine) -> str:
    told = f"{line.name}: {_(OUTCOMES[line.outcome])}"
    return told if line.evidence is None else f"{told}  {_place(line.evidence.span)}  {line.evidence.quote}"


def _repeat(line: StepLine) -> str:
    unsure = "" if line.sourced or line.repeatable is Repeatable.PROVEN else f"  [{_('source not confirmed')}]"
    return f"{line.name}: {_(ANSWERS[line.repeatable])}, {said(line.why)}{unsure}"


def _compensation(line: StepLine) -> str:
    how = f": {_(line.compensation).rstrip('.')}" if line.compensation not in ("", "none") else ""
    probe = f"; {_('look with')}: {_(line.probe)}" if line.probe not in ("", "none") else f"; {_('no way to look is known')}"
    return f"{line.name}: {_(CATEGORIES[line.category])}{how}{probe}"


def _people(card: Card) -> Iterator[str]:
    names = [line.name for line in card.lines if line.person]
    if names:
        yield _("always a person's business: {steps}").format(steps=", ".join(names))


def _verdict(card: Card) -> Iterator[str]:
    yield _(VERDICTS[card.verdict])
    for one in card.reasons[:3]:
        yield f"{one.code}  {said(one.said)}"
    if card.verdict is Verdict.PROCEED:
        if any(one.state is State.ACTIVE for one in card.suppressed):
            yield _("nothing was found against it but what is suppressed above; that does not mean: run it now")
        elif card.gravest is None:
            yield _("nothing was found against it; that does not mean: run it now")
        else:
            yield _("what was found does not speak against it; that does not mean: run it now")
    elif card.verdict is Verdict.LIMITED:
        yield _("one item or a test account, with somebody who watches, and stopped as said above")


def _short(one: Finding) -> str:
    return f"{one.rule} ({_(SEVERITIES[one.severity])})  {_place(one.span)}  {said(one.inference)}"


def _flow(card: Card) -> str:
    rule = card.gravest.rule if card.gravest is not None else "-"
    return f"{_(VERDICTS[card.verdict])}  {rule}  {card.file}  {card.name}"


def _more(number: int) -> tuple[str, ...]:
    return (_("and {n:,} more: --all").format(n=number - OTHERS),) if number > OTHERS else ()


def _place(span: Span) -> str:
    return f"{span.file}:{span.line}" + (f" ({quoted(span.at)})" if span.at else "")


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
