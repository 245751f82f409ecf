"""Steps in order of declaration, each after earlier ones: what a workflow is made of."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Generic, TypeVar, cast

from halfway.authoring.definition import StepDefinition
from halfway.authoring.drafts import Draft, Standing
from halfway.authoring.events import is_name
from halfway.authoring.options import Defaults, settle_options
from halfway.authoring.schemas import Misshapen
from halfway.authoring.shape import Shape, called
from halfway.domain.spec import Effect, FanSpec, Sort, WaitSpec
from halfway.errors import DefinitionError

I = TypeVar("I")
M = TypeVar("M")  # what reading an output adds when the step may be without one: Never or None
DefinitionT = TypeVar("DefinitionT", bound=StepDefinition[Any, Any])
MethodT = TypeVar("MethodT", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What a decorator knows about a step beside its function and its options."""

    sort: Sort
    effect: Effect | None = None
    connection: type | None = None
    wait: WaitSpec | None = None
    fan: FanSpec | None = None
    item_key: Callable[[Any], str] | None = None
    child: object = None
    detached: bool = False


class Graph:
    """Takes declarations in, and refuses those that cannot work."""

    def __init__(self, name: str, defaults: Defaults) -> None:
        self.name = name
        self.defaults = defaults
        self.steps: dict[str, tuple[StepDefinition[Any, Any], Draft]] = {}
        self.closed = False  # it was used, so that nothing can be declared any more
        self.conditions: dict[int, Callable[..., object]] = {}  # said by when(…), and so far of no step

    def draft(
        self,
        function: Callable[..., object],
        options: Mapping[str, object],
        read: Callable[[Callable[..., object]], Shape],
        declared: Declared,
        standing: Standing,
    ) -> Draft:
        """A step as it is being declared."""
        name = options.get("name", called(function).upper())
        self.check_open(f"step {name} is declared")
        if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
            raise self.refusal(f"{function!r} is not a function.", "Write @workflow.step(Effect.X) above a function.")
        self._check_name(name)
        assert isinstance(name, str)
        try:
            settings = settle_options(
                options, sort=declared.sort, effect=declared.effect, after=self._after(options.get("after")), defaults=self.defaults
            )
            standing.check(settings, declared.sort, options)
            return Draft(
                workflow=self.name, name=name, sort=declared.sort, effect=declared.effect, connection=declared.connection,
                body=function, shape=read(function), settings=settings, wait=declared.wait,
                fan=declared.fan, item_key=declared.item_key, child=declared.child,
                detached=declared.detached, standing=standing, options=options,
                first=not self.steps,
            )  # fmt: skip
        except Misshapen as bad:
            raise self.refusal(f"step {name}: {bad.problem}", bad.remedy) from None

    def keep(self, definition: DefinitionT, draft: Draft) -> DefinitionT:
        self.conditions.pop(id(draft.standing.condition), None)
        self.steps[draft.name] = (definition, draft)
        return definition

    def adopt(self, definition: StepDefinition[Any, Any], draft: Draft) -> None:
        """Takes in a step of a part: what it says of itself stays, what it leaves open comes from here."""
        self._check_name(draft.name)
        after = tuple(self.steps)[-1:] if draft.first and "after" not in draft.options else draft.settings.after
        try:
            settings = settle_options(draft.options, sort=draft.sort, effect=draft.effect, after=after, defaults=self.defaults)
        except Misshapen as bad:
            raise self.refusal(f"step {draft.name}: {bad.problem}", bad.remedy) from None
        definition.homes.add(self.name)
        self.steps[draft.name] = (definition, dataclasses.replace(draft, workflow=self.name, settings=settings, sealed=False))

    def check_open(self, what: str) -> None:
        if self.closed:
            raise self.refusal(f"{what} after the workflow was used.", "Declare all steps before Halfway gets it.")

    def check_conditions(self) -> None:
        """Refuses a condition that is said of no step: what was meant to have it would always run, or be no step at all."""
        for condition in self.conditions.values():
            remedy = "Write @workflow.when(condition).step(Effect.X) above the function of a step, or remove it."
            raise self.refusal(f"when({called(condition)}) is said of no step.", remedy)

    def refusal(self, problem: str, remedy: str) -> DefinitionError:
        return DefinitionError("DEFINITION", workflow=self.name, problem=problem, remedy=remedy)

    def _check_name(self, name: object) -> None:
        if not is_name(name):
            raise self.refusal(f"{name!r} is no name for a step.", "Use A-Z, 0-9 and '_', at most 64; give name='…'.")
        if name in self.steps:
            raise self.refusal(f"two steps are called {name}.", "Rename one, or give it name='…'.")

    def _after(self, given: object) -> tuple[str, ...]:
        if given is None:
            return tuple(self.steps)[-1:]
        if not isinstance(given, list | tuple):
            raise Misshapen(f"after is {given!r}.", "Give a list of steps, [] for at once.")
        found: dict[str, None] = {}
        for step in given:  # pyright: ignore[reportUnknownVariableType]
            if not isinstance(step, StepDefinition):
                raise Misshapen(f"after names {step!r}.", "Name steps by the objects that the decorators return.")
            if step.name not in self.steps or self.steps[step.name][0] is not step:
                raise Misshapen(f"after names {step.name}, which is no earlier step of {self.name}.", "Declare that step first.")
            found[step.name] = None
        return tuple(found)


def written(example: str) -> Callable[[MethodT], MethodT]:
    """Makes a decorator refuse arguments that do not fit, as those of one that is written without its parentheses; and say how."""

    def told(method: MethodT) -> MethodT:
        signature = inspect.signature(method)

        @wraps(method)
        def checked(self: Declaring[Any, Any], *given: object, **options: object) -> object:
            try:
                signature.bind(self, *given, **options)
            except TypeError as error:
                problem, remedy = f"{method.__name__}: {error}.", f"Write it as in {example}."
                raise self._refusal(problem, remedy) from None  # pyright: ignore[reportPrivateUsage]
            return method(self, *given, **options)

        return cast(MethodT, checked)

    return told


class WorkflowDefinition(Generic[I]):
    """A workflow as others refer to it: by its name, with the type of its input."""

    name: str
    input: type[I]


class Declaring(Generic[I, M]):
    """Where steps are declared: straight in a graph, or so that they may be without an output."""

    def __init__(self, graph: Graph, standing: Standing) -> None:
        self._graph, self._standing = graph, standing

    def _draft(
        self,
        function: Callable[..., object],
        options: Mapping[str, object],
        read: Callable[[Callable[..., object]], Shape],
        **declared: Any,
    ) -> Draft:
        return self._graph.draft(function, options, read, Declared(**declared), self._standing)

    def _keep(self, definition: DefinitionT, draft: Draft) -> DefinitionT:
        return self._graph.keep(definition, draft)

    def _refusal(self, problem: str, remedy: str) -> DefinitionError:
        return self._graph.refusal(problem, remedy)
