"""A workflow of halfway as a flow: what its engine repeats by itself, what it looks for first, and who decides.

What the engine may do again follows from the contract of a step, not from its retries: those count only what has provably not happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from halfway.domain.spec import Effect, Sort, StepSpec, WorkflowSpec
from halfway.inspection import model
from halfway.inspection.model import (
    Bearing,
    Edge,
    Fact,
    Flow,
    Gate,
    Guard,
    Identity,
    Kind,
    Mark,
    OnError,
    Receiver,
    Repeat,
    Repeater,
    Repeating,
    Reversible,
    Span,
    Starting,
    Step,
    Trigger,
    Undo,
    Unread,
)

FORMAT = "halfway"
SECOND = 1_000_000
CONTRACT = ("probe", "idempotent", "evidence")  # what tells after a lost answer whether it happened
KINDS: Mapping[Effect, Kind] = {
    Effect.READ: Kind.READ,
    Effect.CREATE: Kind.CREATE,
    Effect.NOTIFY: Kind.NOTIFY,
    Effect.CHANGE: Kind.RECORD,
    Effect.DELEGATE: Kind.AGENT,
}


@dataclass(frozen=True, kw_only=True)
class Told:
    """Where a step is declared, and what its function says beyond its declaration."""

    fact: Fact
    options: Mapping[str, Span] = field(default_factory=dict[str, Span])  # by the name of an option, `probe` and `undo`
    bearing: Bearing = Bearing.STABLE  # of the key that its call sends, if it is idempotent
    trusted: bool = True  # False: its probe takes an error for an absence
    seen: tuple[model.Effect, ...] = ()  # effects that can be recognised in the body
    outside: tuple[model.Effect, ...] = ()  # ... and those of them that its effect mark does not enclose
    facts: tuple[Fact, ...] = ()
    unwritten: Unread | None = None  # its body is still to be written, so that nothing of its contract is borne out

    def at(self, option: str) -> Span:
        return self.options.get(option, self.fact.span)


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A workflow with its places."""

    spec: WorkflowSpec
    whole: Fact
    steps: Mapping[str, Told]
    keys: Mapping[str, Fact] = field(default_factory=dict[str, Fact])  # `key`, `resource`, `concurrency`
    starts: tuple[Trigger, ...] = ()
    unread: tuple[Unread, ...] = ()


def flow_of(definition: Definition) -> Flow:
    """The flow that the engine makes of it."""
    spec, whole = definition.spec, definition.whole
    steps = [step for one in spec.steps for step in _steps(one, definition)]
    return Flow(
        id=spec.type, name=spec.type, format=FORMAT, file=whole.span.file, span=whole.span, steps=tuple(steps),
        edges=tuple(Edge(before, one.name) for one in spec.steps for before in one.after),
        triggers=definition.starts or (Trigger(Starting.CALL, whole.span, whole.quote),),
        guards=tuple(Guard(fact.span, group=fact.quote) for fact in definition.keys.values()),
        failure_notice=whole.span,  # its owner is told, by the inbox and by notices
        undoes=any(one.undo is not None for one in spec.steps),
        unread=definition.unread, version=str(spec.version), facts=(whole, *definition.keys.values()),
    )  # fmt: skip


def _steps(spec: StepSpec, definition: Definition) -> Iterator[Step]:
    told, of = definition.steps[spec.name], spec if spec.fan is None else spec.of_item
    effects, evidence = _effects(of, told), tuple(told.at(name) for name in CONTRACT if name in told.options)
    step = Step(
        id=spec.name, name=spec.name, unit=spec.name, scope=spec.name, order=definition.spec.order[spec.name] * 100,
        span=told.fact.span, quote=told.fact.quote, effect=effects[0] if effects else None,
        identity=_identity(of, told) if of.idempotent and told.unwritten is None else None, opaque=told.unwritten,
        repeaters=tuple(_repeaters(of, told)) if effects else (),
        timeout=_patience(spec), timeout_known=True, on_error=OnError.CONTINUE if spec.optional else OnError.STOP, kept=evidence,
        guard=told.at("probe") if of.probe is not None and told.trusted and told.unwritten is None else None,
        undo=Undo(f"undo of {spec.name}", told.at("undo"), tolerant=bool(evidence)) if spec.undo is not None else None,
        gate=_gate(spec, definition), condition=spec.condition, needs_output_of=spec.reads,
        marks=frozenset(_marks(spec, definition.spec)), facts=told.facts,
    )  # fmt: skip
    yield step
    for number, effect in enumerate(effects[1:], 2):
        # The contract is about one effect: whatever else the body does is repeated with it, and nobody looks for it.
        yield replace(
            step, id=f"{spec.name}-{number}", order=step.order + number, effect=effect, identity=None, guard=None, kept=(), undo=None
        )


# ── what it does ──


def _effects(spec: StepSpec, told: Told) -> list[model.Effect]:
    if spec.sort is Sort.CHILD and spec.fan is not None:
        return [model.Effect("", frozenset({Kind.ENQUEUE}), Repeat.SAFE, Reversible.YES, f"runs of {spec.fan.workflow}")]
    if spec.effect is None or spec.waits:
        return []  # what commits with its checkpoint cannot be lost
    if spec.effect is Effect.READ:
        # A READ is repeated as often as the engine likes, whatever its body does.
        return [*told.seen, *told.outside] or [model.Effect("", frozenset({Kind.READ}), Repeat.SAFE, Reversible.YES, spec.name)]
    return [_declared(spec, told.seen[0] if told.seen else None), *told.seen[1:], *told.outside]


def _declared(spec: StepSpec, seen: model.Effect | None) -> model.Effect:
    assert spec.effect is not None
    more = frozenset[Kind]() if seen is None else seen.kinds - {Kind.UNKNOWN, Kind.READ}
    kinds = more | {KINDS[spec.effect]}
    repeat = Repeat.DUPLICATES if spec.effect in (Effect.CREATE, Effect.NOTIFY) else Repeat.UNKNOWN
    return model.Effect(
        seen.action if seen is not None else "", kinds, Repeat.WITH_KEY if spec.idempotent else repeat, _reversible(spec),
        seen.told if seen is not None else spec.name, certain=True, receiver=seen.receiver if seen is not None else Receiver.UNKNOWN,
    )  # fmt: skip


def _reversible(spec: StepSpec) -> Reversible:
    if spec.irreversible:
        return Reversible.NO
    if spec.stays:
        return Reversible.UNKNOWN  # nobody means to take it back, so that nothing does is no weakness
    return Reversible.YES if spec.undo is not None else Reversible.FORWARD


# ── how it recovers ──


def _identity(spec: StepSpec, told: Told) -> Identity:
    """What its receiver knows a repeat by; a change that sets the same again needs no key for that."""
    natural = told.bearing is Bearing.NONE and spec.effect is Effect.CHANGE
    return Identity(Bearing.NATURAL if natural else told.bearing, "idempotent" if natural else "step.key", told.at("idempotent"))


def _repeaters(spec: StepSpec, told: Told) -> Iterator[Repeater]:
    """The engine, where the rule of the effect lets it; else only a person."""
    alone = spec.effect is Effect.READ or spec.idempotent or (spec.effect is Effect.CREATE and spec.probe is not None)
    if alone and spec.retry.attempts > 1:
        yield Repeater(
            Repeating.STEP_RETRY, automatic=True, bound=spec.retry.attempts, span=told.at("retry"), default="retry" not in told.options
        )
    yield Repeater(Repeating.MANUAL, automatic=False, bound=None, span=told.fact.span)


def _patience(spec: StepSpec) -> float | None:
    wait = None if spec.wait is None else spec.wait.timeout
    return spec.timeout / SECOND if spec.wait is None else None if wait is None else wait / SECOND


# ── who decides ──


def _gate(spec: StepSpec, definition: Definition) -> Gate | None:
    """A person who must agree, or is named to decide; the owner alone is named for everything, so for nothing."""
    told = definition.steps[spec.name]
    if spec.sort is Sort.APPROVAL and spec.wait is not None:
        return Gate("approval", told.fact.span, approver=spec.wait.role, visible=True)
    if spec.waits or spec.effect in (None, Effect.READ):
        return None
    by_name = definition.spec.by_name
    for name in sorted(definition.spec.ancestors[spec.name], key=lambda one: definition.spec.order[one], reverse=True):
        wait = by_name[name].wait
        if by_name[name].sort is Sort.APPROVAL and wait is not None:
            return Gate("approval", definition.steps[name].fact.span, approver=wait.role, visible=True)
    if spec.requires_approval or spec.approver:
        return Gate("approval", told.at("approver"), approver=spec.approver or definition.spec.owner, visible=True)
    return Gate("owner", definition.whole.span, approver=definition.spec.owner)


def _marks(spec: StepSpec, whole: WorkflowSpec) -> Iterator[Mark]:
    if spec.waits:
        yield Mark.WAIT
    if spec.fan is not None:
        yield Mark.IN_LOOP
    if spec.effect is Effect.DELEGATE and spec.budget is None and whole.budget is None:
        yield Mark.AGENT_LOOP
