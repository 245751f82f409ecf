"""What a workflow of halfway would be made of that does what a flow does: its steps in order, what stands before each, who is asked.

Pure; nothing is claimed that the flow or a verified row of the base does not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from halfway.domain.spec import Effect
from halfway.inspection.assessing import IDENTIFIED
from halfway.inspection.knowledge import Action, Knowledge, Trust
from halfway.inspection.literals import Names
from halfway.inspection.model import CONSEQUENTIAL, Edge, Flow, Kind, Mark, OnError, Repeat, Span, Step, When

# The effect with the strictest rule counts; what nobody knows counts as a change.
EFFECTS: Mapping[Kind, Effect] = {
    Kind.AGENT: Effect.DELEGATE,
    Kind.MONEY: Effect.CHANGE,
    Kind.PERMISSION: Effect.CHANGE,
    Kind.RECORD: Effect.CHANGE,
    Kind.DELETE: Effect.CHANGE,
    Kind.DEPLOY: Effect.CHANGE,
    Kind.UNKNOWN: Effect.CHANGE,
    Kind.NOTIFY: Effect.NOTIFY,
    Kind.GIT: Effect.CHANGE,
    Kind.FILE: Effect.CHANGE,
    Kind.PUBLISH: Effect.CREATE,
    Kind.CREATE: Effect.CREATE,
    Kind.ENQUEUE: Effect.CREATE,
    Kind.READ: Effect.READ,
}
GOES_ON = (OnError.CONTINUE, OnError.SWALLOW)
BACK = frozenset({Mark.FAILURE_NOTICE, Mark.RECOVERY})


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One function of the workflow."""

    name: str
    effect: Effect | None  # None: a person is asked
    step: Step  # that it is made from; of an approval the one that it stands before
    after: tuple[str, ...] | None = None  # None: the one before
    optional: bool = False
    failed: str = ""  # it is done only if that one has failed
    action: Action | None = None
    waits: bool = False
    asks: bool = False


@dataclass
class Plan:
    """The functions in their order, and the steps that become none."""

    parts: dict[str, Planned] = field(default_factory=dict[str, Planned])  # by name
    made: dict[str, str] = field(default_factory=dict[str, str])  # by id of a step, the function that it has become
    undoes: dict[str, Step] = field(default_factory=dict[str, Step])  # by the name of what they take back
    left_out: list[Step] = field(default_factory=list[Step])  # on the way of a failure


def plan(flow: Flow, knowledge: Knowledge, names: Names) -> Plan:
    """The workflow that a flow would be."""
    return _Planning(flow, knowledge, names).done()


class _Planning:
    """Goes over the steps once, in their order."""

    def __init__(self, flow: Flow, knowledge: Knowledge, names: Names) -> None:
        self.flow, self.names = flow, names
        self.known = {action.id: action for action in knowledge.actions()}
        self.steps = sorted(flow.steps, key=lambda step: step.order)
        self.by_id = {step.id: step for step in self.steps}
        self.into: dict[str, list[Edge]] = {}
        for edge in flow.edges:
            self.into.setdefault(edge.after, []).append(edge)
        self.before: dict[str, tuple[str, ...]] = {}  # by function, those before it
        self.plan = Plan()
        takes_back = {step.undo.step for step in self.steps if step.undo is not None}
        self.undoing = {step.id for step in self.steps if step.name in takes_back or step.id in takes_back}
        self.failing = self._failing()

    def done(self) -> Plan:
        for step in self.steps:
            if step.id in self.undoing:
                continue
            source = self._source(step)
            if step.id in self.failing and not source:
                self.plan.left_out.append(step)
            else:
                self._add(step, source)
        by_name = {step.name: step for step in self.steps} | self.by_id
        for step in self.steps:
            if step.undo is not None and step.undo.step in by_name and step.id in self.plan.made:
                self.plan.undoes[self.plan.made[step.id]] = by_name[step.undo.step]
        return self.plan

    # ── what is on the way of a failure ──

    def _failing(self) -> frozenset[str]:
        """Ids of the steps that are reached only when something has failed."""
        found: set[str] = set()
        for step in self.steps:
            into = [edge for edge in self.into.get(step.id, ()) if edge.before in self.by_id]
            from_success = [edge for edge in into if edge.when is not When.ERROR and edge.before not in found]
            told = bool(step.marks & BACK)
            if not from_success and (into or told):
                found |= {step.id} if told or any(edge.when is When.ERROR or edge.before in found for edge in into) else set()
        return frozenset(found)

    def _source(self, step: Step) -> str:
        """The function whose failure leads here and lets the rest go on; empty if the whole flow ends with that failure."""
        if step.id not in self.failing:
            return ""
        into = self.into.get(step.id, ())
        failed = [self.plan.parts.get(self.plan.made.get(edge.before, "")) for edge in into if edge.when is When.ERROR]
        if failed:
            return next((one.name for one in failed if one is not None and all(part is not None and part.optional for part in failed)), "")
        ahead = (self.plan.parts[self.plan.made[edge.before]].failed for edge in into if edge.before in self.plan.made)
        return next(filter(None, ahead), "")

    def _goes_on(self, step: Step) -> bool:
        """Whether the rest is done although it has failed: a way that only takes back or tells is none."""
        if step.on_error is not OnError.ROUTE:
            return step.on_error in GOES_ON
        ways = {edge.after for edge in self.flow.edges if edge.before == step.id and edge.when is When.ERROR} - self.undoing
        return any(not self.by_id[id].marks & BACK for id in ways if id in self.by_id)

    # ── one step ──

    def _add(self, step: Step, source: str) -> None:
        after = self._after(step, source)
        if step.gate is not None and step.effect is None and step.opaque is None:
            self._keep(Planned(name=self.names.unique(step.name), effect=None, step=step, asks=True, failed=source), after, step)
            return
        effect = effect_of(step)
        if self._asks(step, effect, after):
            name = self.names.unique(f"approve {step.name}")
            self._keep(Planned(name=name, effect=None, step=step, asks=True, failed=source), after)
            after = (name,)
        made = Planned(
            name=self.names.unique(step.name), effect=effect, step=step, optional=self._goes_on(step), failed=source,
            action=None if step.effect is None else self.known.get(step.effect.action),
            waits=Mark.WAIT in step.marks and step.effect is None,
        )  # fmt: skip
        self._keep(made, after, step)

    def _keep(self, part: Planned, after: tuple[str, ...], step: Step | None = None) -> None:
        self.plan.parts[part.name] = replace(part, after=None if after == self._newest() else after)
        self.before[part.name] = after
        if step is not None:
            self.plan.made[step.id] = part.name

    def _after(self, step: Step, source: str) -> tuple[str, ...]:
        """What stands before it: as edges say, or the order of its unit where they say nothing."""
        into = [edge.before for edge in self.into.get(step.id, ()) if edge.when is not When.ERROR or source]
        found = [self.plan.made[id] for id in into if id in self.plan.made]
        if source and source not in found:
            found.insert(0, source)
        if found or not self.plan.parts:
            return tuple(dict.fromkeys(found))
        if not self.flow.edges:
            return self._newest()
        beside = [self.plan.made[one.id] for one in self.steps if one.id in self.plan.made and one.unit == step.unit]
        return () if step.id in self.into else tuple(beside[-1:])

    def _newest(self) -> tuple[str, ...]:
        return tuple(self.plan.parts)[-1:]

    # ── who is asked ──

    def _asks(self, step: Step, effect: Effect, after: Sequence[str]) -> bool:
        if effect is Effect.READ:
            return False
        gates = {self.plan.parts[name].step.gate for name in self._ancestors(after) if self.plan.parts[name].asks}
        if step.gate is not None and step.gate not in gates:
            return True
        asked = any(self.plan.parts[name].asks for name in self._ancestors(after))
        return (needs_person(step) and not asked) or self._unreviewed(after)

    def _ancestors(self, after: Sequence[str]) -> list[str]:
        found: list[str] = []
        ahead = list(after)
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.append(name)
                ahead.extend(self.before[name])
        return found

    def _unreviewed(self, after: Sequence[str]) -> bool:
        """Whether an agent has acted before, and nobody has looked at that since."""
        ahead, seen = list(after), set[str]()
        while ahead:
            part = self.plan.parts[ahead.pop()]
            if part.name in seen or part.asks or part.effect is Effect.READ:
                continue
            if part.effect is Effect.DELEGATE:
                return True
            seen.add(part.name)
            ahead.extend(self.before[part.name])
        return False


def needs_person(step: Step) -> bool:
    """Whether what it does is always a person's business (R-K8)."""
    return step.effect is not None and bool(step.effect.kinds & (CONSEQUENTIAL | {Kind.UNKNOWN}))


def effect_of(step: Step) -> Effect:
    """What the step does to the world, in the words of halfway."""
    if step.effect is None:
        return Effect.CHANGE if step.opaque is not None else Effect.READ
    return next((effect for kind, effect in EFFECTS.items() if kind in step.effect.kinds), Effect.CHANGE)


def known_safe(part: Planned) -> bool:
    """Whether a verified row says that a second call, made alike, has no further effect."""
    effect = part.step.effect
    if effect is None or not effect.certain or part.action is None or part.action.trust is not Trust.VERIFIED:
        return False
    if effect.repeat is Repeat.SAFE:
        return True
    return effect.repeat is Repeat.WITH_KEY and part.action.key is not None and part.action.key.seconds is not None


def identities(flow: Flow) -> Iterator[tuple[str, Span]]:
    """What the flow itself tells one case from another by, as it writes it, each with its place; what stays the same comes first."""
    given = [step.identity for step in flow.steps if step.identity is not None and step.identity.expression]
    for bearing in IDENTIFIED:
        yield from ((one.expression, one.span) for one in given if one.bearing is bearing)
