"""Cards as SARIF 2.1.0, which code hosts show beside the lines. Never translated; what is suppressed stays in it, and says so."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from halfway.inspection.card import Card
from halfway.inspection.finding import Finding, Rule, Severity
from halfway.inspection.gathering import Skip
from halfway.inspection.inspecting import Inspection
from halfway.inspection.model import Span
from halfway.inspection.reports import Json, words
from halfway.inspection.suppressing import State, Suppression, absolute

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.BLOCKER: "error", Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note", Severity.INFO: "note"}


def as_sarif(inspection: Inspection, rules: Sequence[Rule], version: str, here: str) -> Json:
    """One run of the tool, a result for each finding, which stays the same when lines move. Paths begin at the folder `here`."""
    cards = [card for card in (inspection.card, *inspection.others) if card is not None]
    seen = Counter[str]()
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "halfway inspect", "version": version, "rules": [_rule(rule) for rule in rules]}},
                "invocations": [
                    {"executionSuccessful": True, "toolExecutionNotifications": [_unread(skip, here) for skip in inspection.skipped]}
                ],
                "columnKind": "unicodeCodePoints",
                "results": [result for card in cards for result in _results(card, here, seen)],
            }
        ],
    }


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id, "name": rule.name, "shortDescription": {"text": rule.title}, "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix},
    }  # fmt: skip


def _unread(skip: Skip, here: str) -> Json:
    place = {"physicalLocation": {"artifactLocation": {"uri": _uri(skip.path, here)}}}
    return {"level": "warning", "message": {"text": f"not read: {skip.told}"}, "locations": [place]}


def _results(card: Card, here: str, seen: Counter[str]) -> Iterator[Json]:
    for one in (card.gravest, *card.others):
        if one is not None:
            yield _result(card, one, here, seen)
    answered = [told for told in card.suppressed if told.state is State.ACTIVE]
    for number, told in enumerate(answered):
        if all(one.finding != told.finding for one in answered[:number]):  # two people may answer for one finding
            same = _unique(_suppression(one.suppression) for one in answered if one.finding == told.finding)
            yield {**_result(card, told.finding, here, seen), "suppressions": same}


def _result(card: Card, one: Finding, here: str, seen: Counter[str]) -> Json:
    print_ = _fingerprint(_uri(card.file, here), card.name, one.step, one.rule)
    seen[print_] += 1
    return {
        "ruleId": one.rule,
        # What a person has to confirm is a review by the standard, and has no level.
        "kind": "fail" if one.holds_if is None else "review",
        "level": LEVELS[one.severity] if one.holds_if is None else "none",
        "message": {"text": words(one.inference) if one.holds_if is None else f"{words(one.inference)} Holds if: {words(one.holds_if)}"},
        "locations": [_location(one.span, here)],
        "relatedLocations": _unique(_location(fact.span, here) for fact in one.facts),
        "partialFingerprints": {"stepAndRule/v1": print_ if seen[print_] == 1 else f"{print_}:{seen[print_]}"},
        # The standard wants it of every result as soon as one has it; an empty list says: not suppressed.
        "suppressions": [],
        "properties": {"verdict": card.verdict.value, "flow": card.name, "severity": one.severity.name},
    }


def _unique(every: Iterable[Json]) -> list[Json]:
    """Each once, as the standard wants it: two facts may stand on one line."""
    found: list[Json] = []
    for one in every:
        if one not in found:
            found.append(one)
    return found


def _suppression(one: Suppression) -> Json:
    return {
        "kind": "external", "status": "accepted", "justification": f"{one.reason} (owner: {one.owner}; expires: {one.expires.isoformat()})",
        "properties": {"owner": one.owner, "expires": one.expires.isoformat()},
    }  # fmt: skip


def _location(span: Span, here: str) -> Json:
    region: Mapping[str, int] = {"startLine": max(1, span.line), **({"endLine": span.end} if span.end > span.line else {})}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(span.file, here)}, "region": region}}


def _uri(file: str, here: str) -> str:
    """Relative to the folder from which paths begin, as code hosts want it; a file outside of it by its whole address."""
    path = PurePosixPath(absolute(file, here))
    if path.is_relative_to(here):
        return quote(path.relative_to(here).as_posix())
    return "file://" + quote(path.as_posix())


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
