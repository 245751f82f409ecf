"""Flows from few words, for the tests of rules: one line of a made-up file for each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

from halfway.inspection.finding import Case, Finding, Rule
from halfway.inspection.knowledge import Action, Key, Knowledge, Trust
from halfway.inspection.model import (
    Bearing,
    Edge,
    Effect,
    Flow,
    Guard,
    Identity,
    Kind,
    Receiver,
    Repeat,
    Repeater,
    Repeating,
    Reversible,
    Span,
    Starting,
    Step,
    Trigger,
    When,
)

FILE = "flow.yml"


def span(line: int, at: str = "") -> Span:
    return Span(FILE, line, at=at)


def effect(
    *kinds: Kind,
    repeat: Repeat = Repeat.DUPLICATES,
    told: str = "",
    action: str = "",
    reversible: Reversible = Reversible.FORWARD,
    certain: bool = True,
    receiver: Receiver = Receiver.UNKNOWN,
) -> Effect:
    name = told or " ".join(kind.value.lower() for kind in kinds)
    return Effect(action, frozenset(kinds), repeat, reversible, name, certain, receiver)


def identity(bearing: Bearing, expression: str = "", line: int = 90) -> Identity:
    return Identity(bearing, expression or bearing.value, span(line))


def step(name: str, line: int, does: Effect | None = None, **more: Any) -> Step:
    """A step in the unit `job`, in the order of its line, which says `do {name}`."""
    given = {"unit": "job", "scope": more.get("unit", "job"), "order": line, "quote": f"do {name}", "span": span(line), **more}
    return Step(id=name, name=name, effect=does, **given)


def repeater(kind: Repeating, bound: int | None = 3, line: int = 80, **more: Any) -> Repeater:
    automatic = kind not in (Repeating.UNIT_RERUN, Repeating.MANUAL, Repeating.REPLAY)
    return Repeater(**{"kind": kind, "automatic": automatic, "bound": bound, "span": span(line), **more})


RETRY = repeater(Repeating.STEP_RETRY)
RERUN = repeater(Repeating.UNIT_RERUN, bound=None, line=81)


def edge(before: str, after: str, when: When = When.SUCCESS) -> Edge:
    return Edge(before, after, when)


def edges(*names: str) -> tuple[Edge, ...]:
    """One after the other."""
    return tuple(Edge(before, after) for before, after in pairwise(names))


def trigger(kind: Starting, line: int = 2, **more: Any) -> Trigger:
    return Trigger(**{"kind": kind, "span": span(line), "quote": f"on {kind.value}", **more})


def guard(line: int = 5, **more: Any) -> Guard:
    return Guard(span(line), **more)


def flow(*steps: Step, format: str = "made-up", **more: Any) -> Flow:
    return Flow(id="flow", name="flow", format=format, file=FILE, span=span(1), steps=steps, **more)


def row(id: str, *, key: Key | None = None, probe: str = "none", **more: Any) -> Action:
    given = {"kinds": frozenset({Kind.MONEY}), "repeat": Repeat.WITH_KEY, "reversible": Reversible.FORWARD, "compensation": "none"}
    given |= {"mails": False, "sources": ("https://docs.example/",), "checked": date(2026, 11, 29), "trust": Trust.VERIFIED}
    return Action(id=id, key=key, probe=probe, **{**given, **more})


class Known(Knowledge):
    """A base that has nothing but the rows that it is given."""

    def __init__(self, *rows: Action) -> None:
        self._rows: Mapping[str, Action] = {one.id: one for one in rows}

    def action(self, id: str) -> Action:
        return self._rows[id]

    def actions(self) -> Sequence[Action]:
        return list(self._rows.values())


def findings(rule: Rule, flow: Flow, *rows: Action, **more: Any) -> list[Finding]:
    return list(rule.check(Case(flow, Known(*rows), **more)))


def told(finding: Finding) -> tuple[str, str, str, list[int]]:
    """What a test asserts of a finding: rule, severity, step and the lines of its facts."""
    return finding.rule, finding.severity.name, finding.step, [fact.span.line for fact in finding.facts]
