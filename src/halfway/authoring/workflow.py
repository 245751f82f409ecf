"""Workflows: a graph of named steps, declared with decorators; it builds the Spec and the Handlers."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_origin, overload

from typing_extensions import Unpack

from halfway.authoring.building import Built, Runbook, build, check_workflow
from halfway.authoring.keys import key_of
from halfway.authoring.options import Defaults, Work
from halfway.authoring.policy import DEFAULT_QUEUE, NO_ERRORS, THREE_TIMES, Errors, Queue, Retry
from halfway.authoring.schemas import Misshapen
from halfway.authoring.shape import read_step, read_transaction
from halfway.authoring.step import AsyncMark, Mark, Step
from halfway.authoring.steps import EffectStep, Handler, TransactionStep
from halfway.authoring.triggers import Trigger, Triggered
from halfway.authoring.values import decode, encode
from halfway.domain.spec import Effect, OnFailure, PastDeadline, Sort, Then, WorkflowSpec
from halfway.errors import InvalidInput

I = TypeVar("I")
O = TypeVar("O")
DbT = TypeVar("DbT")

Severity: TypeAlias = Literal["LOW", "NORMAL", "HIGH", "CRITICAL"]

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


class Workflow(Triggered[I], Generic[I]):
    """A definition in code: named steps, and what happens when they stop anywhere.

    Declare its steps with `@workflow.step(Effect.X)`, `@workflow.transaction(Connection)`, and its waits with `@workflow.wait_for(…)`,
    `@workflow.wait_until()` and `@workflow.approval(role, …)`.
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
        on_failure: OnFailure | None = None,
        past_deadline: PastDeadline = Then.EXPIRE,
        runbook: Runbook = MappingProxyType({}),
        timeout: timedelta | None = None,
        stuck_after: timedelta | None = None,
        retry: Retry = THREE_TIMES,
        errors: Errors = NO_ERRORS,
        queue: Queue = DEFAULT_QUEUE,
    ) -> None:
        """key: names the business case, without personal data; None: every start is a new run.

        resource: one run at a time has it. timeout: of the whole run; the time it waits is not counted.
        on_failure: what a step's final failure means if the step does not say; None: COMPENSATE where all that is done before can be
        undone without a person, else FAIL. runbook: what a person should do, by error class or code; None: about every other error.
        """
        super().__init__(name, input, Defaults(on_failure=on_failure, retry=retry, errors=errors, queue=queue))
        self.version = version
        self._key, self._resource = key, resource
        try:
            self._frame = check_workflow(
                name,
                version=version,
                owner=owner,
                severity=severity,
                on_failure=on_failure,
                past_deadline=past_deadline,
                runbook=runbook,
                timeout=timeout,
                stuck_after=stuck_after,
                keyed=key is not None,
                locked=resource is not None,
            )
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
            read = partial(read_transaction, names=names)
            draft = self._draft(function, options, read, sort=Sort.TRANSACTION, connection=kind)
            return self._keep(TransactionStep[I, DbT, O](draft), draft)

        return declare

    def declare(
        self, function: Callable[..., object], options: Mapping[str, object], *, names: Mapping[str, Any], effect: Effect
    ) -> EffectStep[I, Any]:
        """Adds a step; what `@workflow.step(effect)` does."""
        draft = self._draft(function, options, partial(read_step, names=names), sort=Sort.STEP, effect=effect)
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

    @property
    def trigger_functions(self) -> Mapping[tuple[str, str], Trigger[I]]:
        """By kind and name of each trigger what makes the input of the run that it starts."""
        return MappingProxyType(self._triggers)

    def key_of(self, input: I) -> str | None:
        """The business key of a run with this input; None if every start is a new run."""
        return None if self._key is None else key_of(f"key of {self.name}", self._key, input)

    def resource_of(self, input: I) -> str | None:
        """What a run with this input has for itself; None if nothing."""
        return None if self._resource is None else key_of(f"resource of {self.name}", self._resource, input)

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
            triggers = tuple(trigger.spec for trigger in self._triggers.values())
            self._built = build(dataclasses.replace(self._frame, triggers=triggers), self.input_adapter, self._steps)
        return self._built
