"""Steps in order of declaration, each after earlier ones: what a workflow is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from halfway.authoring.building import Built, input_adapter
from halfway.authoring.definition import StepDefinition
from halfway.authoring.drafts import Draft
from halfway.authoring.events import is_name
from halfway.authoring.options import Defaults, settle_options
from halfway.authoring.schemas import Misshapen
from halfway.authoring.shape import Shape, called
from halfway.domain.spec import Effect, Sort, WaitSpec
from halfway.errors import DefinitionError

I = TypeVar("I")
DefinitionT = TypeVar("DefinitionT", bound=StepDefinition[Any, Any])


class Graph(Generic[I]):
    """Takes declarations in, and refuses those that cannot work."""

    def __init__(self, name: str, input: type[I], defaults: Defaults) -> None:
        self.name = name
        self.input = input
        self._defaults = defaults
        self._steps: dict[str, tuple[StepDefinition[I, Any], Draft]] = {}
        self._built: Built | None = None
        try:
            self.input_adapter: TypeAdapter[I] = input_adapter(input)
        except Misshapen as bad:
            raise self._refusal(bad.problem, bad.remedy) from None

    def _draft(
        self,
        function: Callable[..., object],
        options: Mapping[str, object],
        read: Callable[[Callable[..., object]], Shape],
        *,
        sort: Sort,
        effect: Effect | None = None,
        connection: type | None = None,
        wait: WaitSpec | None = None,
    ) -> Draft:
        name = options.get("name", called(function).upper())
        self._check_open(f"step {name} is declared")
        if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
            raise self._refusal(f"{function!r} is not a function.", "Write @workflow.step(Effect.X) above a function.")
        if not isinstance(name, str) or not is_name(name):
            raise self._refusal(f"{name!r} is no name for a step.", "Use A-Z, 0-9 and '_', at most 64; give name='…'.")
        if name in self._steps:
            raise self._refusal(f"two steps are called {name}.", "Rename one, or give it name='…'.")
        try:
            after = self._after(options.get("after"))
            return Draft(
                workflow=self.name,
                name=name,
                sort=sort,
                effect=effect,
                connection=connection,
                body=function,
                shape=read(function),
                settings=settle_options(options, sort=sort, effect=effect, after=after, defaults=self._defaults),
                wait=wait,
            )
        except Misshapen as bad:
            raise self._refusal(f"step {name}: {bad.problem}", bad.remedy) from None

    def _after(self, given: object) -> tuple[str, ...]:
        if given is None:
            return tuple(self._steps)[-1:]
        if not isinstance(given, list | tuple):
            raise Misshapen(f"after is {given!r}.", "Give a list of steps, [] for at once.")
        found: dict[str, None] = {}
        for step in given:  # pyright: ignore[reportUnknownVariableType]
            if not isinstance(step, StepDefinition):
                raise Misshapen(f"after names {step!r}.", "Name steps by the objects that the decorators return.")
            if step.name not in self._steps or self._steps[step.name][0] is not step:
                raise Misshapen(f"after names {step.name}, which is no earlier step of {self.name}.", "Declare that step first.")
            found[step.name] = None
        return tuple(found)

    def _keep(self, definition: DefinitionT, draft: Draft) -> DefinitionT:
        self._steps[draft.name] = (definition, draft)
        return definition

    def _check_open(self, what: str) -> None:
        if self._built is not None:
            raise self._refusal(f"{what} after the workflow was used.", "Declare all steps before Halfway gets it.")

    def _refusal(self, problem: str, remedy: str) -> DefinitionError:
        return DefinitionError("DEFINITION", workflow=self.name, problem=problem, remedy=remedy)
