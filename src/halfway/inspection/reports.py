"""Cards for programs: JSON, and SARIF 2.1.0 for code hosts. Never translated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halfway.inspection.card import Card, StepLine
from halfway.inspection.finding import Finding, Rule, Said, Severity
from halfway.inspection.inspecting import Inspection
from halfway.inspection.model import Fact, Span

Json = dict[str, Any]
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.BLOCKER: "error", Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note", Severity.INFO: "note"}


def words(said: Said) -> str:
    """A sentence in English."""
    return said.text.format(**{name: words(value) if isinstance(value, Said) else value for name, value in said.params.items()})


def as_json(inspection: Inspection) -> Json:
    """All of it; the shown card first."""
    return {
        "card": None if inspection.card is None else card_json(inspection.card),
        "others": [card_json(card) for card in inspection.others],
        "filesRead": inspection.read,
        "skipped": [skip.__dict__ for skip in inspection.skipped],
    }


def card_json(card: Card) -> Json:
    """One card."""
    return {
        "target": {
            "file": card.file, "flow": card.flow, "name": card.name, "format": card.format, "enabled": card.enabled, "steps": card.steps,
            "run": card.run or None,
        },
        "verdict": card.verdict.value,
        "reasons": [{"code": one.code, "step": one.step or None, "text": words(one.said)} for one in card.reasons],
        "gravest": None if card.gravest is None else {**_finding(card.gravest), "rank": card.rank},
        "findings": [_finding(one) for one in card.others],
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
        "rule": one.rule, "severity": one.severity.name, "step": one.step or None, "place": _place(one.span),
        "facts": [_fact(fact) for fact in one.facts], "inference": words(one.inference),
    }  # fmt: skip


def _fact(fact: Fact) -> Json:
    return {**_place(fact.span), "quote": fact.quote}


def _place(span: Span) -> Json:
    return {"file": span.file, "line": span.line, "at": span.at or None}


# ── SARIF ──


def as_sarif(inspection: Inspection, rules: Sequence[Rule], version: str) -> Json:
    """One run of the tool, a result for each finding; a result stays the same when lines move."""
    cards = [card for card in (inspection.card, *inspection.others) if card is not None]
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "halfway inspect", "version": version, "rules": [_rule(rule) for rule in rules]}},
                "columnKind": "unicodeCodePoints",
                "results": [result for card in cards for result in _results(card)],
            }
        ],
    }


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id, "name": rule.name, "shortDescription": {"text": rule.title}, "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix},
    }  # fmt: skip


def _results(card: Card) -> Iterator[Json]:
    for one in (card.gravest, *card.others):
        if one is not None:
            yield {
                "ruleId": one.rule,
                "level": LEVELS[one.severity],
                "message": {"text": words(one.inference)},
                "locations": [_location(one.span)],
                "relatedLocations": [_location(fact.span) for fact in one.facts],
                "partialFingerprints": {"stepAndRule/v1": _fingerprint(card.flow, one.step, one.rule)},
                "properties": {"verdict": card.verdict.value, "flow": card.name},
            }


def _location(span: Span) -> Json:
    region: Mapping[str, int] = {"startLine": max(1, span.line), **({"endLine": span.end} if span.end > span.line else {})}
    return {"physicalLocation": {"artifactLocation": {"uri": span.file.lstrip("/")}, "region": region}}


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
