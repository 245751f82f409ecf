"""Cards for programs, as JSON. Never translated."""

from __future__ import annotations

from typing import Any

from halfway.inspection.card import Card, StepLine
from halfway.inspection.finding import Finding, Said
from halfway.inspection.inspecting import Inspection
from halfway.inspection.model import Fact, Span
from halfway.inspection.quoting import quoted
from halfway.inspection.suppressing import Suppressed, Suppression

Json = dict[str, Any]


def words(said: Said) -> str:
    """A sentence in English; what fills its gaps is safe to show."""
    params = {name: words(value) if isinstance(value, Said) else quoted(str(value)) for name, value in said.params.items()}
    return said.text.format(**params) if params else said.text  # the base quotes addresses with braces


def as_json(inspection: Inspection) -> Json:
    """All of it; the shown card first."""
    return {
        "card": None if inspection.card is None else card_json(inspection.card),
        "others": [card_json(card) for card in inspection.others],
        "filesRead": inspection.read,
        "skipped": [{"path": skip.path, "why": skip.told} for skip in inspection.skipped],
        "unmatchedSuppressions": [_suppression(one) for one in inspection.unmatched],
    }


def card_json(card: Card) -> Json:
    """One card."""
    return {
        "target": {
            "file": card.file, "flow": quoted(card.flow), "name": card.name, "format": card.format, "enabled": card.enabled,
            "steps": card.steps, "run": card.run or None,
        },
        "verdict": card.verdict.value,
        "reasons": [{"code": one.code, "step": quoted(one.step) or None, "text": words(one.said),
             "holdsIf": None if one.holds_if is None else words(one.holds_if)} for one in card.reasons],
        "gravest": None if card.gravest is None else {**_finding(card.gravest), "rank": card.rank},
        "findings": [_finding(one) for one in card.others],
        "suppressions": [_suppressed(one) for one in card.suppressed],
        "steps": [_step(line) for line in card.lines],
        "evidence": [words(one) for one in card.evidence],
        "stopConditions": [words(one) for one in card.stops],
        "approver": words(card.approver),
        "question": None if card.question is None else words(card.question),
        "next": words(card.next),
    }  # fmt: skip


def _step(line: StepLine) -> Json:
    return {
        "name": line.name, "place": _place(line.span), "effects": [kind.value for kind in line.kinds], "recognised": line.told,
        "certain": line.certain, "outcome": line.outcome.value, "evidence": None if line.evidence is None else _fact(line.evidence),
        "repeatable": line.repeatable.value, "why": words(line.why), "category": line.category.value,
        "compensation": line.compensation or None, "probe": line.probe or None, "verified": line.sourced, "needsPerson": line.person,
    }  # fmt: skip


def _finding(one: Finding) -> Json:
    return {
        "rule": one.rule, "severity": one.severity.name, "step": quoted(one.step) or None, "place": _place(one.span),
        "facts": [_fact(fact) for fact in one.facts], "inference": words(one.inference),
        "holdsIf": None if one.holds_if is None else words(one.holds_if),
    }  # fmt: skip


def _suppressed(one: Suppressed) -> Json:
    return {
        **_suppression(one.suppression), "state": one.state.value, "why": None if one.why is None else words(one.why),
        "finding": _finding(one.finding),
    }  # fmt: skip


def _suppression(one: Suppression) -> Json:
    return {
        "rule": one.rule, "file": one.shown, "at": quoted(one.at) or None, "reason": one.reason, "owner": one.owner,
        "expires": one.expires.isoformat(), "source": one.source,
    }  # fmt: skip


def _fact(fact: Fact) -> Json:
    return {**_place(fact.span), "quote": fact.quote}


def _place(span: Span) -> Json:
    return {"file": span.file, "line": span.line, "at": quoted(span.at) or None}
