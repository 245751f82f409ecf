"""The order of the steps of a flow: what comes after what when all goes well, and what when something fails. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from halfway.inspection.model import Edge, Flow, Mark, Step, When


class Ways:
    """The ways through a flow: the edges, and inside a unit that has none of its own the order of its steps."""

    def __init__(self, flow: Flow) -> None:
        self.steps = tuple(sorted(flow.steps, key=lambda step: step.order))
        self._by_id = {step.id: step for step in self.steps}
        self._going: dict[str, list[Edge]] = {}
        for edge in flow.edges:
            self._going.setdefault(edge.before, []).append(edge)
        self._aside, self._units_aside = self._only_on_failure(flow)
        self._named = self._by_name()
        self._entered = frozenset(edge.after for edge in flow.edges)
        self._next = self._in_units(flow)
        self._after: dict[str, tuple[Step, ...]] = {}
        self._behind: dict[str, tuple[Step, ...]] = {}
        self._ids_after: dict[str, frozenset[str]] = {}
        self._failing: dict[str, tuple[Step, ...]] = {}
        self._ids_failing: dict[str, frozenset[str]] = {}
        self._joined: dict[str, dict[str, When]] = {}
        self._following: dict[str, tuple[Step, ...]] = {}

    def outward(self) -> Iterator[Step]:
        """The steps that leave something outside."""
        return (step for step in self.steps if step.effect is not None and step.effect.outward)

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

    def behind(self, gate: Step) -> tuple[Step, ...]:
        """What the gate comes before: all that is done later, but for what a circle leads to first, before it comes to the gate."""
        if gate.id not in self._behind:
            free = self._ids_from(self._entries, frozenset({gate.id}))
            self._behind[gate.id] = tuple(one for one in self.after(gate) if one.id not in free or not self.is_after(one, gate))
        return self._behind[gate.id]

    @cached_property
    def _entries(self) -> tuple[Step, ...]:
        """Where the flow begins; a circle that nothing leads into begins at its first step."""
        found = [one for one in self.steps if not self.entered(one)]
        reached = self._ids_from(found, frozenset())
        for one in self.steps:
            if one.id not in reached:
                found.append(one)
                reached |= self._ids_from([one], reached)
        return tuple(found)

    def _ids_from(self, starts: Sequence[Step], closed: frozenset[str]) -> frozenset[str]:
        """The ids of what is reached, the starts as well, without passing what is closed."""
        seen, waiting = set(closed), [one for one in starts if one.id not in closed]
        seen |= {one.id for one in waiting}
        while waiting:
            for one in self.following(waiting.pop()):
                if one.id not in seen:
                    seen.add(one.id)
                    waiting.append(one)
        return frozenset(seen - closed)

    def failing(self, step: Step) -> tuple[Step, ...]:
        """What is done when the step has failed, along the edges that say so."""
        if step.id not in self._failing:
            firsts = self.failing_first(step)
            self._failing[step.id] = (*firsts, *(self._reached([one.id for one in firsts], *firsts, step) if firsts else ()))
        return self._failing[step.id]

    def is_failing(self, step: Step, other: Step) -> bool:
        """Whether the other is done when the step has failed."""
        if step.id not in self._ids_failing:
            self._ids_failing[step.id] = frozenset(one.id for one in self.failing(step))
        return other.id in self._ids_failing[step.id]

    def failing_around(self, step: Step, around: Collection[str]) -> frozenset[str]:
        """The ids of what is done when the step has failed, as far as no way to it leads through those steps."""
        waiting = [one for one in self.failing_first(step) if one.id not in around]
        seen = {one.id for one in waiting}
        while waiting:
            for one in self.following(waiting.pop()):
                if one.id not in seen and one.id not in around:
                    seen.add(one.id)
                    waiting.append(one)
        return frozenset(seen)

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
        if before.id not in self._joined:
            self._joined[before.id] = {edge.after: edge.when for edge in reversed(self._going.get(before.id, ()))}
        return self._joined[before.id].get(after.id)

    def named(self, name: str) -> tuple[Step, ...]:
        """The steps that are called so, by name or by id."""
        return self._named.get(name, ())

    def entered(self, step: Step) -> bool:
        """Whether an edge leads to it."""
        return step.id in self._entered

    def _by_name(self) -> dict[str, tuple[Step, ...]]:
        found: dict[str, list[Step]] = {}
        for step in self.steps:
            for name in {step.name, step.id}:
                found.setdefault(name, []).append(step)
        return {name: tuple(steps) for name, steps in found.items()}

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
            if step.unit in drawn or "drawn" in flow.extra or (part[1] and step.unit not in self._units_aside):
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
