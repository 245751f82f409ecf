"""What several rules ask: whether a repeat is harmless, who repeats, what follows what. Guards are credited; what is unknown stays so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.assessing import Repeatable, identified, repeatability
from halfway.inspection.finding import Finding, Said, Severity
from halfway.inspection.model import (
    Edge,
    Fact,
    Flow,
    Kind,
    Mark,
    OnError,
    Receiver,
    Repeater,
    Repeating,
    Span,
    Starting,
    Step,
    When,
)
from halfway.inspection.quoting import quoted

OFFICIAL = frozenset({Kind.MONEY, Kind.RECORD, Kind.PERMISSION})
"""Where a second effect costs somebody money, stock or a right."""

TABLES = ("sheets.", "airtable.", "notion.", "dynamodb.", "db.")
"""How the actions on rows of tables of one's own begin."""

_REQUEST = re.compile(r"^[A-Z]{3,7} ")
SAME_AGAIN = frozenset({Repeating.STEP_RETRY, Repeating.REDELIVERY, Repeating.UNIT_RERUN, Repeating.RESTART, Repeating.REPLAY})
"""Who does the same once more; a schedule, a loop and a dispatch by hand begin something new."""


# ── a step ──


def exposed(step: Step) -> bool:
    """Whether a repeat has, or may have, a second effect that nothing tells from the first."""
    return repeatability(step) in (Repeatable.NO, Repeatable.UNKNOWN) and not identified(step)


def outward(step: Step) -> bool:
    """Whether it leaves something outside."""
    return step.effect is not None and step.effect.outward


def kinds(step: Step) -> frozenset[Kind]:
    """What it does outside; nothing for a step without an effect."""
    return step.effect.kinds - {Kind.READ} if step.effect is not None else frozenset()


def only_tells(step: Step) -> bool:
    """Whether it does nothing but tell people."""
    return kinds(step) == frozenset({Kind.NOTIFY})


def tells_team(step: Step) -> bool:
    """Whether it tells nobody but the own people."""
    return only_tells(step) and step.effect is not None and step.effect.receiver is Receiver.TEAM


def named_only(step: Step) -> bool:
    """Whether what it does is inferred from nothing but the name of a function."""
    return step.effect is not None and not step.effect.certain and step.effect.told.endswith("()")


def is_row(step: Step) -> bool:
    """Whether it is about a row of a table of one's own, which can be looked at again and written over."""
    return step.effect is not None and step.effect.action.startswith(TABLES) and not kinds(step) & {Kind.MONEY, Kind.PERMISSION}


def is_queued(step: Step) -> bool:
    """Whether it only queues a task; what it does twice is seen at the task."""
    return kinds(step) == frozenset({Kind.ENQUEUE})


def is_command(step: Step) -> bool:
    """Whether it is a command of which nothing more is known; one that asks somebody else goes wrong for other reasons."""
    return kinds(step) == frozenset({Kind.UNKNOWN}) and _REQUEST.match(told(step)) is None


def is_by_hand(flow: Flow) -> bool:
    """Whether it is a program that nothing but a person is seen to start."""
    program = flow.extra.get("engine") == "script" or flow.format == "shell"
    return program and {one.kind for one in flow.triggers} == {Starting.MANUAL}


def answers(flow: Flow, step: Step) -> bool:
    """Whether it is a message in the very channel by which the flow was started: an answer to the one who has written."""
    service = told(step).partition(" ")[0].lower()
    return only_tells(step) and len(service) > 3 and any(service in trigger.quote.lower() for trigger in flow.triggers)


def stops(step: Step) -> bool:
    """Whether it may fail, and what comes after it is then not done."""
    return step.fallible and step.on_error in (OnError.STOP, OnError.ROUTE)


def again(step: Step, *sorts: Repeating) -> Iterator[Repeater]:
    """Who does the step again, of these sorts or else of those that do the same once more; one that tries once is none."""
    wanted = sorts or SAME_AGAIN
    return (repeater for repeater in step.repeaters if repeater.kind in wanted and (repeater.bound is None or repeater.bound > 1))


def retries(step: Step) -> Iterator[Repeater]:
    """Its automatic retries."""
    return (repeater for repeater in again(step, Repeating.STEP_RETRY) if repeater.automatic)


# ── the order of steps ──


class Ways:
    """The ways through a flow: the edges, and inside a unit that has none of its own the order of its steps."""

    def __init__(self, flow: Flow) -> None:
        self.steps = tuple(sorted(flow.steps, key=lambda step: step.order))
        self._by_id = {step.id: step for step in self.steps}
        self._going: dict[str, list[Edge]] = {}
        for edge in flow.edges:
            self._going.setdefault(edge.before, []).append(edge)
        self._aside, self._units_aside = self._only_on_failure(flow)
        self._entered = frozenset(edge.after for edge in flow.edges)
        self._next = self._in_units(flow)
        self._after: dict[str, tuple[Step, ...]] = {}
        self._ids_after: dict[str, frozenset[str]] = {}
        self._failing: dict[str, tuple[Step, ...]] = {}
        self._following: dict[str, tuple[Step, ...]] = {}

    def outward(self) -> Iterator[Step]:
        """The steps that leave something outside."""
        return (step for step in self.steps if outward(step))

    def after(self, step: Step) -> tuple[Step, ...]:
        """What is done later when all goes well."""
        if step.id not in self._after:
            self._after[step.id] = tuple(
                one for one in self._reached([step.id], step) if not one.marks & {Mark.FAILURE_NOTICE, Mark.RECOVERY}
            )
        return self._after[step.id]

    def is_after(self, step: Step, other: Step) -> bool:
        """Whether the other is done later when all goes well; steps are many, and comparing two as a whole is slow."""
        if step.id not in self._ids_after:
            self._ids_after[step.id] = frozenset(one.id for one in self.after(step))
        return other.id in self._ids_after[step.id]

    def failing(self, step: Step) -> tuple[Step, ...]:
        """What is done when the step has failed, along the edges that say so."""
        if step.id not in self._failing:
            firsts = self.failing_first(step)
            self._failing[step.id] = (*firsts, *(self._reached([one.id for one in firsts], *firsts, step) if firsts else ()))
        return self._failing[step.id]

    def failing_first(self, step: Step) -> tuple[Step, ...]:
        """What is done directly when the step has failed."""
        firsts = [edge.after for edge in self._going.get(step.id, ()) if edge.when is When.ERROR]
        return tuple(self._by_id[one] for one in dict.fromkeys(firsts) if one in self._by_id)

    def following(self, step: Step) -> tuple[Step, ...]:
        """What comes directly after it when all goes well."""
        if step.id not in self._following:
            edges = [edge.after for edge in self._going.get(step.id, ()) if edge.when is not When.ERROR]
            names = dict.fromkeys((*edges, *self._next.get(step.id, ())))
            self._following[step.id] = tuple(self._by_id[one] for one in names if one in self._by_id)
        return self._following[step.id]

    def is_aside(self, step: Step) -> bool:
        """Whether it is done only after a failure."""
        return step.id in self._aside

    def joined(self, before: Step, after: Step) -> When | None:
        """How an edge joins the two, if one does."""
        return next((edge.when for edge in self._going.get(before.id, ()) if edge.after == after.id), None)

    def entered(self, step: Step) -> bool:
        """Whether an edge leads to it."""
        return step.id in self._entered

    def _reached(self, starts: list[str], *without: Step) -> tuple[Step, ...]:
        seen, waiting = set(starts), [self._by_id[one] for one in starts if one in self._by_id]
        while waiting:
            for one in self.following(waiting.pop()):
                if one.id not in seen:
                    seen.add(one.id)
                    waiting.append(one)
        seen -= {one.id for one in without}
        return tuple(step for step in self.steps if step.id in seen)

    def _in_units(self, flow: Flow) -> dict[str, tuple[str, ...]]:
        """The next step of the same unit; within a unit, what is done only after a failure has no next one but by an edge."""
        drawn = {self._unit(edge.before) for edge in flow.edges if self._is_own_way(edge)}
        last: dict[tuple[str, bool], str] = {}
        following: dict[str, tuple[str, ...]] = {}
        for step in self.steps:
            part = (step.unit, step.id in self._aside)
            if step.unit in drawn or (part[1] and step.unit not in self._units_aside):
                continue
            if part in last:
                following[last[part]] = (step.id,)
            last[part] = step.id
        return following

    def _only_on_failure(self, flow: Flow) -> tuple[frozenset[str], frozenset[str]]:
        """The steps that are done only after a failure, and the units that are entered only then."""
        coming: dict[str, list[Edge]] = {}
        for edge in flow.edges:
            coming.setdefault(edge.after, []).append(edge)
        aside, units = set[str](), set[str]()
        waiting = [edge.after for edge in flow.edges if edge.when is When.ERROR and edge.after in self._by_id]
        while waiting:
            one = waiting.pop()
            if one in aside or not all(edge.when is When.ERROR or edge.before in aside for edge in coming.get(one, ())):
                continue
            aside.add(one)
            waiting.extend(edge.after for edge in self._going.get(one, ()) if edge.after in self._by_id)
            unit = self._by_id[one].unit
            if unit not in units and all(self._unit(edge.before) != unit for edge in coming.get(one, ())):
                units.add(unit)
                waiting.extend(step.id for step in self.steps if step.unit == unit and step.order > self._by_id[one].order)
        return frozenset(aside), frozenset(units)

    def _is_own_way(self, edge: Edge) -> bool:
        """Whether it joins two steps of one unit when all goes well: a unit with such edges tells its branches by them."""
        return edge.when is not When.ERROR and edge.before not in self._aside and self._unit(edge.before) == self._unit(edge.after)

    def _unit(self, step: str) -> str:
        return self._by_id[step].unit if step in self._by_id else ""


# ── what is said ──


def line(step: Step) -> Fact:
    """The line of a step."""
    return Fact(step.span, step.quote)


def place(span: Span, *steps: Step) -> Fact:
    """A place that a fact is about, with the quote of it that one of the steps has; without one the quote is empty."""
    known = [fact for step in steps for fact in (*step.facts, line(step))]
    return next((Fact(span, fact.quote) for fact in known if (fact.span.file, fact.span.line) == (span.file, span.line)), Fact(span, ""))


def again_at(repeater: Repeater, *steps: Step) -> tuple[Fact, ...]:
    """Where it is said that it is done again; what the file does not say is no fact of it."""
    fact = place(repeater.span, *steps)
    return () if repeater.default and not fact.quote else (fact,)


def told(step: Step) -> str:
    """The step in words, safe to show."""
    return quoted(step.effect.told if step.effect is not None and step.effect.told else step.name)


def _beside(step: Step, said: object) -> object:
    """What another step is called; where several actions share one name, what it does."""
    if not isinstance(said, Step):
        return said
    return told(said) if said.name == step.name else said.name


def found(rule: str, severity: Severity, step: Step, inference: str, *facts: Fact, **params: object) -> Finding:
    """A finding at a step; its own line is the first fact, and `{what}` of the inference is what it does."""
    every: dict[tuple[str, int, str], Fact] = {}
    for fact in (line(step), *facts):
        every.setdefault((fact.span.file, fact.span.line, fact.quote), fact)
    return Finding(
        rule=rule,
        severity=severity,
        span=step.span,
        step=step.id,
        facts=tuple(every.values()),
        inference=Said(inference, {"what": told(step), **{name: _beside(step, one) for name, one in params.items()}}),
    )
