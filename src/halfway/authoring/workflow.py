"""Workflows: a graph of named steps, declared with decorators; it builds the Spec and the Handlers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from halfway.authoring.building import Built, Runbook, build, check_workflow
from halfway.authoring.definition import StepDefinition
from halfway.authoring.graph import written
from halfway.authoring.keys import key_of
from halfway.authoring.options import Defaults
from halfway.authoring.policy import DEFAULT_QUEUE, NO_ERRORS, THREE_TIMES, Budget, Errors, Queue, Retry
from halfway.authoring.retention import Retention
from halfway.authoring.schedules import Scheduled
from halfway.authoring.schemas import Misshapen
from halfway.authoring.steps import Handler
from halfway.authoring.takeover import Takeover
from halfway.authoring.triggers import Trigger
from halfway.authoring.values import decode, encode
from halfway.domain.line import Claim
from halfway.domain.spec import OnFailure, PastDeadline, Then, WorkflowSpec
from halfway.errors import InvalidInput

I = TypeVar("I")
OldI = TypeVar("OldI")

Severity: TypeAlias = Literal["LOW", "NORMAL", "HIGH", "CRITICAL"]


class Workflow(Scheduled[I], Generic[I]):
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
        concurrency: int | None = None,
        concurrency_key: Callable[[I], str] | None = None,
        concurrency_per_key: int = 1,
        retention: Retention | None = None,
        budget: Budget | None = None,
    ) -> None:
        """key: names the business case, without personal data; None: every start is a new run.

        resource: one run at a time has it, of whichever workflow. concurrency: so many runs of this workflow at once; concurrency_key:
        and so many (`concurrency_per_key`) for each key that it names. The others wait in order.
        timeout: of the whole run; the time it waits is not counted. on_failure: what a step's final failure means if the step does not
        say; None: COMPENSATE where all that is done before can be undone without a person, else FAIL. runbook: what a person should do,
        by error class or code; None: about every other error. retention: how long its runs are kept; None: as the application says.
        """
        super().__init__(name, input, Defaults(on_failure=on_failure, retry=retry, errors=errors, queue=queue))
        self._built: Built | None = None
        self._takeovers: dict[int, tuple[Workflow[Any], Takeover[Any, I]]] = {}
        self.version = version
        self._key, self._resource, self._concurrency_key = key, resource, concurrency_key
        if retention is not None and not isinstance(retention, Retention):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self._refusal(f"retention is {retention!r}.", "Give a Retention, as in Retention(history=timedelta(days=90)).")
        self.retention = retention
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
                budget=budget,
                concurrency=concurrency,
                concurrency_per_key=None if concurrency_key is None else concurrency_per_key,
            )
        except Misshapen as bad:
            raise self._refusal(bad.problem, bad.remedy) from None

    @written("@workflow.takes_over(former)")
    def takes_over(
        self,
        former: Workflow[OldI],
        /,
        *,
        at: Mapping[StepDefinition[OldI, object], StepDefinition[I, object] | None] = MappingProxyType({}),
    ) -> Callable[[Callable[[OldI], I]], Takeover[OldI, I]]:
        """Declares how runs of an earlier version are moved to this one; the function makes the new input from the former one.

        at: which step a former step has become; None: it is left behind. Steps that keep name, kind and shape need not be named.
        Nothing moves by itself: a person orders it with `halfway move`.
        """
        if not isinstance(former, Workflow):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self._refusal(f"takes_over: {former!r} is no workflow.", "Give the earlier version.")
        if former.name != self.name:
            raise self._refusal(f"takes_over: {former!r} is no version of it.", "Give the Workflow of the same name.")
        if former.version >= self.version:
            raise self._refusal(f"takes_over: version {former.version} is not earlier than {self.version}.", "Give an earlier version.")
        self._graph.check_open(f"takes_over of version {former.version} is declared")
        if former.version in self._takeovers:
            raise self._refusal(f"takes_over of version {former.version} is declared twice.", "Keep one.")
        made = Takeover(
            self.name, former.version, former.input_adapter, at, former=former.step_definitions, steps=self.step_definitions,
        )  # fmt: skip
        self._takeovers[former.version] = (former, made)
        return made.declare

    # ── what the engine and the faces use ──

    @property
    def step_definitions(self) -> Mapping[str, StepDefinition[Any, Any]]:
        """Its steps by name, as they are declared so far."""
        return {name: definition for name, (definition, _) in self._graph.steps.items()}

    @property
    def takeovers(self) -> Mapping[int, Takeover[Any, I]]:
        """By version, how runs of earlier ones are moved to this one."""
        return {version: made for version, (_, made) in self._takeovers.items()}

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

    def claims_of(self, input: I) -> tuple[Claim, ...]:
        """What a run with this input must hold before it begins, in order of the key."""
        frame = self._frame
        resource, found = self.resource_of(input), list[Claim]()
        if resource is not None:
            found.append(Claim(f"resource:{resource}"))
        if frame.concurrency is not None:
            found.append(Claim(f"workflow:{self.name}", frame.concurrency))
        if self._concurrency_key is not None and frame.concurrency_per_key is not None:
            key = key_of(f"concurrency key of {self.name}", self._concurrency_key, input)
            found.append(Claim(f"workflow:{self.name}:{key}", frame.concurrency_per_key))
        return tuple(sorted(found))

    @property
    def queues(self) -> frozenset[Queue]:
        """The queues in which its steps wait."""
        return frozenset(draft.settings.queue for _, draft in self._graph.steps.values())

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
            self._graph.check_conditions()
            triggers = tuple(trigger.spec for trigger in self._triggers.values())
            schedules = tuple(schedule.spec for schedule in self._schedules.values())
            takeovers = tuple(made.to_spec() for _, (_, made) in sorted(self._takeovers.items()))
            frame = dataclasses.replace(self._frame, triggers=triggers, schedules=schedules, takes_over=takeovers)
            built = build(frame, self.input_adapter, self._graph.steps)
            for former, made in self._takeovers.values():
                made.check(former.spec, built.spec)
            self._built = built
            self._graph.closed = True
        return self._built
