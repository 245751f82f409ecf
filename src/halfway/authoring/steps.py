"""Declared steps and what is attached to them: probes, verifiers; and the handler that the engine runs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeAlias, TypeVar, overload

from pydantic import TypeAdapter

from halfway.authoring.definition import StepDefinition
from halfway.authoring.options import Settings
from halfway.authoring.policy import THREE_TIMES, Errors, Retry, microseconds
from halfway.authoring.schemas import fingerprint, mentions, short_hash
from halfway.authoring.shape import Misshapen, Shape, read_helper
from halfway.authoring.step import Absent, Artifact, AsyncMark, CannotTell, Found, Host, Mark, Step
from halfway.domain.spec import Effect, ProbeSpec, Sort, StepSpec
from halfway.errors import DefinitionError

I = TypeVar("I")
O = TypeVar("O")
T = TypeVar("T")
DbT = TypeVar("DbT")

Maybe: TypeAlias = T | Awaitable[T]  # every function may be `def` or `async def`
Answer: TypeAlias = Found[O] | Absent | CannotTell
# A probe takes what the step took; verify takes that, and then what the step returned.
Look: TypeAlias = Callable[[Step[I]], Maybe[Answer[O]]]
Check: TypeAlias = Callable[[Step[I], O], Maybe[bool]]

SETTLE = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class Helper:
    """A function attached to a step."""

    function: Callable[..., object]
    is_async: bool


@dataclass(kw_only=True)
class Draft:
    """All that is known of a declared step; it may grow until the workflow is used."""

    workflow: str
    name: str
    sort: Sort
    effect: Effect | None
    connection: type | None
    body: Callable[..., object]
    shape: Shape
    settings: Settings
    probe: Helper | None = None
    probe_spec: ProbeSpec | None = None
    verify: Helper | None = None
    sealed: bool = field(default=False)

    def attach(self, what: str, function: Callable[..., object], takes: int, taken: Helper | None) -> Helper:
        """Checks a function that is being attached."""
        if self.sealed:
            raise self.refusal(f"a {what} is added after the workflow was used.", "Declare everything before Halfway gets it.")
        if taken is not None:
            raise self.refusal(f"a second {what} is declared.", "Keep one.")
        try:
            return Helper(function=function, is_async=read_helper(function, takes=takes, what=what))
        except Misshapen as bad:
            raise self.refusal(bad.problem, bad.remedy) from None

    def refusal(self, problem: str, remedy: str) -> DefinitionError:
        return DefinitionError("DEFINITION", workflow=self.workflow, problem=f"step {self.name}: {problem}", remedy=remedy)

    def _repeats(self) -> tuple[str, ...]:
        """What makes a repeat harmless must be the same in the code that repeats."""
        settings = self.settings
        return (("idempotent",) if settings.idempotent else ()) + (("business key",) if settings.effect_key is not None else ())

    def to_spec(self, input_schema: str) -> StepSpec:
        """The step as data."""
        settings, output_schema = self.settings, fingerprint(self.shape.output)
        return StepSpec(
            name=self.name,
            sort=self.sort,
            effect=self.effect,
            after=settings.after,
            retry=settings.retry.to_spec(),
            timeout=microseconds(settings.timeout),
            queue=settings.queue.name,
            takes_mark=self.shape.takes_mark,
            idempotent=settings.idempotent,
            idempotent_for=None if settings.idempotent_for is None else microseconds(settings.idempotent_for),
            probe=self.probe_spec,
            verifies=self.verify is not None or mentions(self.shape.output, cls=Artifact),
            evidence=settings.evidence,
            accept_unknown=settings.accept_unknown,
            approver=settings.approver,
            on_failure=settings.on_failure,
            irreversible=settings.irreversible,
            business_key=settings.effect_key is not None,
            output_schema=output_schema,
            code=short_hash(self.workflow, self.name, self.effect or self.sort, input_schema, output_schema, *self._repeats()),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Handler:
    """What a worker needs to run one step: the author's functions and the types of their values."""

    name: str
    code: str
    sort: Sort
    effect: Effect | None
    connection: type | None
    body: Callable[..., object]
    is_async: bool
    takes_mark: bool
    input_adapter: TypeAdapter[Any]
    output_adapter: TypeAdapter[Any]
    errors: Errors
    effect_key: Callable[[Step[Any]], str] | None
    probe: Callable[..., object] | None
    probe_is_async: bool
    verify: Callable[..., object] | None
    verify_is_async: bool
    upstream: frozenset[StepDefinition[Any, object]]

    def step(self, host: Host) -> Step[Any]:
        """The author's view of one attempt."""
        return Step(host, input=self.input_adapter, upstream=self.upstream, effect_key=self.effect_key)

    def mark(self, host: Host) -> Mark | AsyncMark:
        """A fresh effect mark for one attempt."""
        return AsyncMark(host) if self.is_async else Mark(host)


class EffectStep(StepDefinition[I, O], Generic[I, O]):
    """A step that looks at the outside world or changes it."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(workflow=draft.workflow, name=draft.name, adapter=draft.shape.output)
        self._draft = draft

    @overload
    def probe(self, look: Look[I, O], /) -> Look[I, O]: ...
    @overload
    def probe(self, /, *, settle: timedelta = ..., retry: Retry = ...) -> Callable[[Look[I, O]], Look[I, O]]: ...
    def probe(
        self, look: Look[I, O] | None = None, /, *, settle: timedelta = SETTLE, retry: Retry = THREE_TIMES
    ) -> Look[I, O] | Callable[[Look[I, O]], Look[I, O]]:
        """Declares the function that looks whether the effect happened.

        It answers Found, Absent or CannotTell. An Absent counts only if the look began `settle` after the attempt was gone
        (60 s by default; 0 where the receiver shows at once).
        """

        def declare(function: Look[I, O]) -> Look[I, O]:
            draft = self._draft
            if settle < timedelta(0):
                raise draft.refusal(f"settle is {settle}.", "Give 0 or more.")
            draft.probe = draft.attach("probe", function, 1, draft.probe)
            draft.probe_spec = ProbeSpec(settle=microseconds(settle), retry=retry.to_spec(), shows=first_line(function))
            return function

        return declare if look is None else declare(look)

    def verify(self, holds: Check[I, O], /) -> Check[I, O]:
        """Declares the function that a resume asks whether the output still holds."""
        draft = self._draft
        draft.verify = draft.attach("verify function", holds, 2, draft.verify)
        return holds


class TransactionStep(StepDefinition[I, O], Generic[I, DbT, O]):
    """A step in the own database. No probe: what commits with its checkpoint cannot be in doubt."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(workflow=draft.workflow, name=draft.name, adapter=draft.shape.output)


def first_line(function: Callable[..., object]) -> str:
    """The first sentence of a function's docstring, else its name in words."""
    text = (inspect.getdoc(function) or "").strip()
    if not text:
        return re.sub(r"_+", " ", str(getattr(function, "__name__", ""))).strip()
    return text.splitlines()[0].strip()
