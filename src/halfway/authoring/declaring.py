"""The ways to declare a step, and parts: steps that belong together in a module of their own."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Never, Protocol, TypeVar, get_origin, overload

from typing_extensions import Unpack

from halfway.authoring.children import ChildrenStep
from halfway.authoring.definition import StepDefinition
from halfway.authoring.drafts import Standing
from halfway.authoring.graph import Graph, WorkflowDefinition, written
from halfway.authoring.items import ItemDecorator, ItemStep
from halfway.authoring.options import ChildWork, Defaults, ItemWork, Work, fan_of
from halfway.authoring.policy import DEFAULT_QUEUE, NO_ERRORS, THREE_TIMES
from halfway.authoring.schemas import Misshapen
from halfway.authoring.shape import read_children, read_condition, read_item_step, read_step, read_transaction
from halfway.authoring.step import AsyncMark, Mark, Step
from halfway.authoring.steps import EffectStep, StreamStep, TransactionStep
from halfway.authoring.waits import Waiting
from halfway.domain.spec import Effect, Sort

I = TypeVar("I")
I_contra = TypeVar("I_contra", contravariant=True)
O = TypeVar("O")
M = TypeVar("M")
DbT = TypeVar("DbT")
ItemT = TypeVar("ItemT")
ChildT = TypeVar("ChildT")

_CONNECTIONS = ("sqlite3.Connection", "psycopg.Connection")
NO_DEFAULTS = Defaults(on_failure=None, retry=THREE_TIMES, errors=NO_ERRORS, queue=DEFAULT_QUEUE)


class StepDecorator(Generic[I, M]):
    """Turns a function into a step; one that wants to say where its effect begins takes the mark as its second argument."""

    def __init__(self, steps: Steps[I, M], effect: Effect, options: Mapping[str, object]) -> None:
        self._steps, self._effect, self._options = steps, effect, options

    @overload
    def __call__(self, function: Callable[[Step[I]], Coroutine[Any, Any, O]], /) -> EffectStep[I, O, M]: ...
    @overload
    def __call__(self, function: Callable[[Step[I]], O], /) -> EffectStep[I, O, M]: ...
    @overload
    def __call__(self, function: Callable[[Step[I], AsyncMark], Coroutine[Any, Any, O]], /) -> EffectStep[I, O, M]: ...
    @overload
    def __call__(self, function: Callable[[Step[I], Mark], O], /) -> EffectStep[I, O, M]: ...
    def __call__(self, function: Callable[..., object], /) -> EffectStep[I, Any, M]:
        names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage] - for models declared beside the step
        return self._steps.declare(function, self._options, names=names, effect=self._effect)


class Steps(Waiting[I, M], Generic[I, M]):
    """The ways to declare a step; `M` is what reading its output adds when it may have none: None, or nothing."""

    def __call__(self, *given: Never, **options: Never) -> Never:
        """Refused: nothing is declared by a workflow alone, or by `optional` and `when(…)` alone."""
        condition = "" if self._standing.condition is None else ".when(…)"
        chain = f"@workflow{'.optional' if self._standing.optional else ''}{condition}"
        raise self._refusal(f"{chain} does not say what is declared.", f"Write {chain}.step(Effect.X), or another way to declare a step.")

    @written("@workflow.step(Effect.READ)")
    def step(self, effect: Effect, /, **options: Unpack[Work[I]]) -> StepDecorator[I, M]:
        """Declares a step; its effect decides what a lost answer means."""
        if effect not in tuple(Effect):
            raise self._refusal(f"{effect!r} is not an effect.", "Give a member of Effect, as in @workflow.step(Effect.READ).")
        return StepDecorator(self, Effect(effect), options)

    @written("@workflow.transaction(psycopg.Connection)")
    def transaction(
        self, connection: type[DbT], /, **options: Unpack[Work[I]]
    ) -> Callable[[Callable[[Step[I], DbT], O]], TransactionStep[I, DbT, O, M]]:
        """Declares a step in the own database; what it writes is committed together with its checkpoint."""
        kind = get_origin(connection) or connection
        bases = kind.__mro__ if isinstance(kind, type) else ()
        if not any(f"{base.__module__}.{base.__qualname__}" in _CONNECTIONS for base in bases):
            raise self._refusal(f"{kind!r} is no connection for a transaction.", f"Give {' or '.join(_CONNECTIONS)}.")

        def declare(function: Callable[[Step[I], DbT], O]) -> TransactionStep[I, DbT, O, M]:
            names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]
            read = partial(read_transaction, names=names)
            draft = self._draft(function, options, read, sort=Sort.TRANSACTION, connection=kind)
            return self._keep(TransactionStep[I, DbT, O, M](draft), draft)

        return declare

    def declare(
        self, function: Callable[..., object], options: Mapping[str, object], *, names: Mapping[str, Any], effect: Effect
    ) -> EffectStep[I, Any, M]:
        """Adds a step; what `@workflow.step(effect)` does."""
        draft = self._draft(function, options, partial(read_step, names=names), sort=Sort.STEP, effect=effect)
        if not draft.shape.streams:
            return self._keep(EffectStep[I, Any, M](draft), draft)
        if effect is not Effect.READ or draft.shape.takes_mark:
            raise draft.refusal("it is a generator, which can only list what is there.", "Declare it with Effect.READ.")
        return self._keep(StreamStep[I, Any, M](draft), draft)

    @written("@workflow.each(Effect.READ, items, key=lambda item: item.id)")
    def each(
        self, effect: Effect, items: StepDefinition[I, Iterable[ItemT]], /, *, key: Callable[[ItemT], str], **options: Unpack[ItemWork[I]]
    ) -> ItemDecorator[I, ItemT, M]:
        """Declares a step that does the same for each item of the list that an earlier step returned; `key` names an item.

        Each item is a record of its own: its attempts, its idempotency key, its lost-answer rule. `concurrency`: so many at once.
        SUCCESS only if all succeed; a share of successes from `partial_from` on is a partial success, less than `failed_below` is a
        failure, and between the two a person decides. A list too large for a value comes from a generator step.
        """
        if effect not in tuple(Effect):
            raise self._refusal(f"{effect!r} is not an effect.", "Give a member of Effect.")
        if self._graph.name not in getattr(items, "homes", ()):
            raise self._refusal(f"each: {items!r} is no earlier step of {self._graph.name}.", "Give the step that returns the list.")
        try:
            fan, rest = fan_of(options)
            if "rewind" in rest or "record" in rest:
                raise Misshapen("rewind= and record= mean nothing in each.", "Remove the option.")
        except Misshapen as bad:
            raise self._refusal(f"each: {bad.problem}", bad.remedy) from None

        def declare(function: Callable[..., Any]) -> ItemStep[I, ItemT, Any, M]:
            names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]
            draft = self._draft(
                function, rest, partial(read_item_step, names=names), sort=Sort.EACH, effect=Effect(effect),
                fan=dataclasses.replace(fan, items=items.name), item_key=key,
            )  # fmt: skip
            return self._keep(ItemStep[I, ItemT, Any, M](draft), draft)

        return declare

    @written("@workflow.children(other)")
    def children(
        self, workflow: WorkflowDefinition[ChildT], /, **options: Unpack[ChildWork[I]]
    ) -> Callable[[Callable[[Step[I]], Iterable[ChildT]]], ChildrenStep[I, ChildT, M]]:
        """Declares a step that starts runs of another workflow and waits for all of them; the function returns their inputs.

        A child whose key is taken is not started but waited for. `concurrency`, `partial_from` and `failed_below` are those of `each`.
        A cancel and an undo pass down to the children, unless they are `detached`.
        """
        if not isinstance(workflow, WorkflowDefinition):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self._refusal(f"children: {workflow!r} is no workflow.", "Give a Workflow.")
        try:
            fan, rest = fan_of(options)
            detached = rest.pop("detached", False)
            if not isinstance(detached, bool) or "rewind" in rest:
                raise Misshapen("children take detached=True or False, and no rewind=.", "Correct the option.")
        except Misshapen as bad:
            raise self._refusal(f"children: {bad.problem}", bad.remedy) from None

        def declare(function: Callable[[Step[I]], Iterable[ChildT]]) -> ChildrenStep[I, ChildT, M]:
            fan_out = dataclasses.replace(fan, workflow=workflow.name)
            draft = self._draft(function, rest, read_children, sort=Sort.CHILDREN, fan=fan_out, child=workflow, detached=detached)
            return self._keep(ChildrenStep[I, ChildT, M](draft), draft)

        return declare

    @written("@workflow.when(condition).step(Effect.READ)")
    def when(self, condition: Callable[[Step[I]], bool], /) -> Steps[I, None]:
        """A step declared on this runs only if the condition holds; whoever reads its output must expect None.

        The condition is looked at once in every round, when all that the step stands after is through; its answer is kept.
        """
        if self._standing.condition is not None:
            raise self._refusal("when(…) is said twice of one step.", "Put both into one function.")
        try:
            read_condition(condition)
        except Misshapen as bad:
            raise self._refusal(bad.problem, bad.remedy) from None
        self._graph.conditions[id(condition)] = condition
        return Steps(self._graph, dataclasses.replace(self._standing, condition=condition))

    @property
    def optional(self) -> Steps[I, None]:
        """A step declared on this may fail without failing the run; whoever reads its output must expect None."""
        return Steps(self._graph, dataclasses.replace(self._standing, optional=True))


class Includable(Protocol[I_contra]):
    """So that a part written for a smaller input fits every workflow whose input has it."""

    def definitions(self) -> Sequence[StepDefinition[I_contra, object]]: ...


class Part(Steps[I, Never], Generic[I]):
    """Steps that belong together, in a module of their own; workflows include them.

    What a step leaves open (retry, queue, errors, on_failure) comes from the workflow that includes it.
    """

    def __init__(self, name: str, /) -> None:
        super().__init__(Graph(name, NO_DEFAULTS), Standing())
        self.name = name

    def include(self, part: Includable[I], /) -> None:
        """Adds the steps of a part here, in their order; the first stands after the step declared just before, if it does not say."""
        self._graph.check_open("a part is included")
        if not isinstance(part, Part) or part is self:
            raise self._refusal(f"include: {part!r} is no part.", "Give a Part.")
        if part._graph.closed:
            raise self._refusal(f"include: {part.name} is a workflow that was used.", "Move the common steps into a Part.")
        part._graph.check_conditions()
        for definition, draft in part._graph.steps.values():
            draft.sealed = True
            self._graph.adopt(definition, draft)

    def definitions(self) -> Sequence[StepDefinition[I, object]]:
        """Its steps, in their order."""
        return [definition for definition, _ in self._graph.steps.values()]
