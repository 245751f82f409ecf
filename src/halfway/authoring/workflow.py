"""Workflows: a graph of named steps, declared with decorators; it builds the Spec and the Handlers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import timedelta
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_origin, overload

from pydantic import TypeAdapter
from typing_extensions import Unpack

from halfway.authoring.building import Built, build, check_workflow, input_adapter
from halfway.authoring.definition import StepDefinition
from halfway.authoring.options import Defaults, Work, settle_options
from halfway.authoring.policy import DEFAULT_QUEUE, NO_ERRORS, THREE_TIMES, Errors, Queue, Retry
from halfway.authoring.shape import Misshapen, called, read_step, read_transaction
from halfway.authoring.step import AsyncMark, Mark, Step
from halfway.authoring.steps import Draft, EffectStep, Handler, TransactionStep
from halfway.authoring.values import decode, encode
from halfway.domain.spec import Effect, OnFailure, PastDeadline, Sort, Then, WorkflowSpec
from halfway.errors import DefinitionError, InvalidInput

I = TypeVar("I")
O = TypeVar("O")
DbT = TypeVar("DbT")
DefinitionT = TypeVar("DefinitionT", bound=StepDefinition[Any, Any])

Severity: TypeAlias = Literal["LOW", "NORMAL", "HIGH", "CRITICAL"]

KEY_LIMIT = 512
_NAME = re.compile(r"[A-Z0-9_]{1,64}")
_CONNECTIONS = ("sqlite3.Connection", "psycopg.Connection")


class StepDecorator(Generic[I]):
    """Turns a function into a step; one that wants to say where its effect begins takes the mark as its second argument."""

    def __init__(self, workflow: Workflow[I], effect: Effect, options: Mapping[str, object]) -> None:
        self._workflow, self._effect, self._options = workflow, effect, options

    @overload
    def __call__(self, function: Callable[[Step[I]], Coroutine[Any, Any, O]], /) -> EffectStep[I, O]: ...
    @overload
    def __call__(self, function: Callable[[Step[I]], O], /) -> EffectStep[I, O]: ...
    @overload
    def __call__(self, function: Callable[[Step[I], AsyncMark], Coroutine[Any, Any, O]], /) -> EffectStep[I, O]: ...
    @overload
    def __call__(self, function: Callable[[Step[I], Mark], O], /) -> EffectStep[I, O]: ...
    def __call__(self, function: Callable[..., object], /) -> EffectStep[I, Any]:
        names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage] - for models declared beside the step
        return self._workflow.declare(function, self._options, names=names, effect=self._effect)


class Workflow(Generic[I]):
    """A definition in code: named steps, and what happens when they stop anywhere.

    Declare its steps with `@workflow.step(Effect.X)` and `@workflow.transaction(Connection)`.
    """

    def __init__(
        self,
        name: str,
        input: type[I],
        /,
        *,
        version: int,
        owner: str,
        key: Callable[[I], str] | None,
        resource: Callable[[I], str] | None = None,
        severity: Severity = "NORMAL",
        on_failure: OnFailure = Then.FAIL,
        past_deadline: PastDeadline = Then.EXPIRE,
        timeout: timedelta | None = None,
        stuck_after: timedelta | None = None,
        retry: Retry = THREE_TIMES,
        errors: Errors = NO_ERRORS,
        queue: Queue = DEFAULT_QUEUE,
    ) -> None:
        """key: names the business case, without personal data; None: every start is a new run.

        resource: one run at a time has it. timeout: of the whole run; the time it waits is not counted.
        """
        self.name = name
        self.version = version
        self._key, self._resource = key, resource
        self._defaults = Defaults(on_failure=on_failure, retry=retry, errors=errors, queue=queue)
        self._steps: dict[str, tuple[StepDefinition[I, Any], Draft]] = {}
        self._built: Built | None = None
        try:
            self._frame = check_workflow(
                name,
                version=version,
                owner=owner,
                severity=severity,
                on_failure=on_failure,
                past_deadline=past_deadline,
                timeout=timeout,
                stuck_after=stuck_after,
                keyed=key is not None,
                locked=resource is not None,
            )
            self.input_adapter: TypeAdapter[I] = input_adapter(input)
        except Misshapen as bad:
            raise self._refusal(bad.problem, bad.remedy) from None

    # ── declaring ──

    def step(self, effect: Effect, /, **options: Unpack[Work[I]]) -> StepDecorator[I]:
        """Declares a step; its effect decides what a lost answer means."""
        if effect not in tuple(Effect):
            raise self._refusal(f"{effect!r} is not an effect.", "Give a member of Effect, as in @workflow.step(Effect.READ).")
        return StepDecorator(self, Effect(effect), options)

    def transaction(
        self, connection: type[DbT], /, **options: Unpack[Work[I]]
    ) -> Callable[[Callable[[Step[I], DbT], O]], TransactionStep[I, DbT, O]]:
        """Declares a step in the own database; what it writes is committed together with its checkpoint."""
        kind = get_origin(connection) or connection
        bases = kind.__mro__ if isinstance(kind, type) else ()
        if not any(f"{base.__module__}.{base.__qualname__}" in _CONNECTIONS for base in bases):
            raise self._refusal(f"{kind!r} is no connection for a transaction.", f"Give {' or '.join(_CONNECTIONS)}.")

        def declare(function: Callable[[Step[I], DbT], O]) -> TransactionStep[I, DbT, O]:
            names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]
            draft = self._draft(function, options, names=names, effect=None, connection=kind)
            return self._keep(TransactionStep[I, DbT, O](draft), draft)

        return declare

    def declare(
        self, function: Callable[..., object], options: Mapping[str, object], *, names: Mapping[str, Any], effect: Effect
    ) -> EffectStep[I, Any]:
        """Adds a step; what `@workflow.step(effect)` does."""
        draft = self._draft(function, options, names=names, effect=effect, connection=None)
        return self._keep(EffectStep[I, Any](draft), draft)

    # ── what the engine and the faces use ──

    @property
    def spec(self) -> WorkflowSpec:
        """The definition as data. Asking for it closes the workflow: nothing can be declared afterwards."""
        return self._build().spec

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """For each step what a worker needs to run it."""
        return self._build().handlers

    def key_of(self, input: I) -> str | None:
        """The business key of a run with this input; None if every start is a new run."""
        return None if self._key is None else self._text_of("key", self._key, input)

    def resource_of(self, input: I) -> str | None:
        """What a run with this input has for itself; None if nothing."""
        return None if self._resource is None else self._text_of("resource", self._resource, input)

    def encode(self, input: I) -> str:
        """The input as JSON text."""
        return encode(self.input_adapter, input, what=f"input of {self.name}")

    def parse(self, text: str) -> I:
        """An input from JSON text; InvalidInput if it does not fit."""
        try:
            return decode(self.input_adapter, text)
        except InvalidInput as error:
            raise InvalidInput("INPUT_INVALID", workflow=self.name, problem=error.params["problem"]) from None

    # ── inside ──

    def _build(self) -> Built:
        if self._built is None:
            self._built = build(self._frame, self.input_adapter, self._steps)
        return self._built

    def _draft(
        self,
        function: Callable[..., object],
        options: Mapping[str, object],
        *,
        names: Mapping[str, Any],
        effect: Effect | None,
        connection: type | None,
    ) -> Draft:
        name = options.get("name", called(function).upper())
        if self._built is not None:
            raise self._refusal(f"step {name} is declared after the workflow was used.", "Declare all steps before Halfway gets it.")
        if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
            raise self._refusal(f"{function!r} is not a function.", "Write @workflow.step(Effect.X) above a function.")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise self._refusal(f"{name!r} is no name for a step.", "Use A-Z, 0-9 and '_', at most 64; give name='…'.")
        if name in self._steps:
            raise self._refusal(f"two steps are called {name}.", "Rename one, or give it name='…'.")
        sort = Sort.STEP if effect is not None else Sort.TRANSACTION
        try:
            return Draft(
                workflow=self.name,
                name=name,
                sort=sort,
                effect=effect,
                connection=connection,
                body=function,
                shape=(read_step if sort is Sort.STEP else read_transaction)(function, names),
                settings=settle_options(options, sort=sort, after=self._after(options.get("after")), defaults=self._defaults),
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

    def _text_of(self, what: str, function: Callable[[I], object], input: I) -> str:
        try:
            text = function(input)
        except Exception as error:
            raise InvalidInput(
                "KEY_INVALID", what=f"{what} of {self.name}", problem=f"its function raised {type(error).__name__}."
            ) from error
        problem = ""
        if not isinstance(text, str):
            problem = f"it gave {type(text).__name__}."
        elif not 0 < len(text) <= KEY_LIMIT:
            problem = f"it has {len(text)} characters."
        elif not text.isprintable():
            problem = "it has control characters or half of a surrogate pair."
        if problem:
            raise InvalidInput("KEY_INVALID", what=f"{what} of {self.name}", problem=problem)
        return str(text)

    def _refusal(self, problem: str, remedy: str) -> DefinitionError:
        return DefinitionError("DEFINITION", workflow=self.name, problem=problem, remedy=remedy)
