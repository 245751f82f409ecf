"""What a card says of its steps, in words: the gravest first, and those of which the same is said in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from halfway.cli.i18n import _
from halfway.inspection.assessing import Category, Repeatable
from halfway.inspection.card import Card, StepLine
from halfway.inspection.finding import Said
from halfway.inspection.model import Outcome, Span
from halfway.inspection.quoting import quoted

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
NAMES = 6  # steps that are named in a line


def said(one: Said, **safe: str) -> str:
    """A sentence in the chosen language; names, lines and quotes stay as they are. `safe` is filled in as it is."""
    text = _(one.text)
    params = {name: said(value) if isinstance(value, Said) else quoted(str(value)) for name, value in one.params.items()} | safe
    return text.format(**params) if params else text  # the base quotes addresses with braces


def place(span: Span) -> str:
    return f"{span.file}:{span.line}" + (f" ({quoted(span.at)})" if span.at else "")


def happened(card: Card) -> tuple[str, ...]:
    """With a run, first whether it may be begun again: what is done, not known and not done."""
    told = _each(card, card.lines, lambda line: _happened(card, line), _("nothing outside"))
    return (_summary(card), *told) if card.run and card.lines else told


def repeatable(card: Card) -> tuple[str, ...]:
    return _each(card, card.lines, _repeat, _("nothing changes anything outside"))


def compensation(card: Card) -> tuple[str, ...]:
    """With a run only of what is in doubt: the rest is done or not, as the log says."""
    if card.run and card.lines:
        return _each(card, card.doubtful, _compensation, "") or (_("nothing is in doubt"),)
    return _each(card, card.lines, _compensation, _("there is nothing to take back"))


def people(card: Card) -> Iterator[str]:
    names = [line.name for line in _gravest_first(card.lines) if line.person]
    if names:
        yield _("always a person's business: {steps}").format(steps=_named(names))


def sentences(card: Card, told: Iterable[Said]) -> tuple[str, ...]:
    """Sentences about steps; those that say the same of several share a line, which stands where the gravest of them would."""
    order = {line.name: number for number, line in enumerate(_gravest_first(card.lines))}
    groups: dict[tuple[object, ...], list[Said]] = {}
    for one in told:
        rest = tuple((name, value.text if isinstance(value, Said) else value) for name, value in one.params.items() if name != "step")
        groups.setdefault((one.text, *rest), []).append(one)

    def names(group: Sequence[Said]) -> list[str]:
        return sorted((str(one.params["step"]) for one in group if "step" in one.params), key=lambda name: order.get(name, -1))

    ranked = sorted(groups.values(), key=lambda group: min((order.get(name, -1) for name in names(group)), default=-1))
    return tuple(said(group[0], **({"step": _named(names(group))} if names(group) else {})) for group in ranked)


def _summary(card: Card) -> str:
    def names(*outcomes: Outcome) -> str:
        return _named([line.name for line in _gravest_first(card.lines) if line.outcome in outcomes]) or _("nothing")

    return _("Done: {done}. Not known: {doubtful}. Not done: {left}.").format(
        done=names(Outcome.LANDED), doubtful=names(Outcome.UNKNOWN, Outcome.NO_LOG), left=names(Outcome.NOT_EXECUTED)
    )


def _each(card: Card, lines: Sequence[StepLine], told: Callable[[StepLine], str], nothing: str) -> tuple[str, ...]:
    """What is said of the steps with an effect; where none is known to have one, what was not read may."""
    if lines or card.lines:
        groups: dict[str, list[str]] = {}
        for line in _gravest_first(lines):
            groups.setdefault(told(line), []).append(line.name)
        return tuple(f"{_named(names)}: {text}" for text, names in groups.items())
    hidden = any(reason.code in ("S6", "L6") for reason in card.reasons)
    return (_("needs confirmation: not all of it could be read") if hidden else nothing,)


def _gravest_first(lines: Sequence[StepLine]) -> list[StepLine]:
    return sorted(lines, key=lambda line: -line.weight)


def _named(names: Sequence[str]) -> str:
    told = ", ".join(names[:NAMES])
    return told if len(names) <= NAMES else _("{names} and {n:,} more").format(names=told, n=len(names) - NAMES)


def _happened(card: Card, line: StepLine) -> str:
    untold = card.run and line.outcome is Outcome.NO_LOG
    told = _("may have happened: the log says nothing about it") if untold else _(OUTCOMES[line.outcome])
    return told if line.evidence is None else f"{told}  {place(line.evidence.span)}  {line.evidence.quote}"


def _repeat(line: StepLine) -> str:
    unsure = "" if line.sourced or line.repeatable is Repeatable.PROVEN else f"  [{_('source not confirmed')}]"
    return f"{_(ANSWERS[line.repeatable])}, {said(line.why)}{unsure}"


def _compensation(line: StepLine) -> str:
    how = f": {_(line.compensation).rstrip('.')}" if line.compensation not in ("", "none") else ""
    probe = f"; {_('look with')}: {_(line.probe)}" if line.probe not in ("", "none") else f"; {_('no way to look is known')}"
    return f"{_(CATEGORIES[line.category])}{how}{probe}"
