"""What the author's functions receive and answer with.

`Host` is what the engine gives to one attempt; `Step` and the marks are the author's view of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from threading import Lock
from types import TracebackType
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from pydantic import TypeAdapter

from halfway.authoring.definition import Source, StepDefinition
from halfway.authoring.events import Event
from halfway.authoring.keys import checked_key
from halfway.authoring.values import decode, encode
from halfway.domain.contract import Place
from halfway.errors import DefinitionError, HalfwayError, InvalidInput, NotFound

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
InputT_co = TypeVar("InputT_co", covariant=True)

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_MISSING = object()


# ── what a probe answers ──


@dataclass(frozen=True)
class Found(Generic[T_co]):
    """It happened, and this is what the step would have returned."""

    value: T_co


@dataclass(frozen=True)
class Absent:
    """It provably did not happen. The effect's rule says whether a machine may repeat it."""


@dataclass(frozen=True)
class CannotTell:
    """The probe looked and still does not know. A person decides."""

    reason: str


# ── values ──


@dataclass(frozen=True)
class Artifact:
    """A reference to stored content; small enough to be a step's output."""

    id: str
    name: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Failure:
    """Which step failed, and why."""

    step: str
    code: str
    message: str


# ── what the engine gives to one attempt ──


class Host(Source, Protocol):
    """One attempt, as the engine runs it. Its key is `{run}:{step}`."""

    @property
    def run_id(self) -> str: ...
    @property
    def step_name(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def round(self) -> int: ...
    @property
    def correlation_id(self) -> str: ...
    @property
    def key(self) -> str: ...

    def input_text(self) -> str:
        """The run's input as JSON."""
        ...

    def output_text(self, step: str, /) -> str | None:
        """An ancestor's output as JSON; None if it has none."""
        ...

    def ensure_running(self) -> None:
        """Raises AttemptEnded if this attempt is over."""
        ...

    def remaining(self) -> float:
        """Seconds until this attempt times out."""
        ...

    def cancel_requested(self) -> bool: ...

    def evidence(self, facts_json: str, /) -> None:
        """Durable when it returns."""
        ...

    def save(self, name: str, content: bytes, /) -> tuple[str, str, int]:
        """Stores an artifact and returns its id, SHA-256 and size."""
        ...

    def read(self, artifact_id: str, name: str, /) -> bytes: ...

    def call(self, tool: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object], /) -> Any:
        """What the tool answers, or an earlier attempt was answered."""
        ...

    def spend(self, tokens: int, /) -> None:
        """Durable when it returns; BudgetExceeded if that was more than there is."""
        ...

    def may_emit(self) -> bool:
        """False in a probe, a check or a draft: what only looks sends nothing."""
        ...

    def emit(self, event: str, key: str, payload_json: str, /) -> None:
        """Kept with the success of this attempt, or not at all."""
        ...

    def missing_text(self, step: str, /) -> str | None:
        """Why an ancestor has no output; None if it has one, or must have one."""
        ...

    def cause(self) -> Failure | None:
        """Which step's failure led here; None where nothing has failed."""
        ...

    def draft_text(self) -> str | None:
        """As JSON what the approver of this undo was shown; None if no draft was made."""
        ...

    def take_mark(self) -> None:
        """Returns when the mark is committed; raises MarkRefused or AttemptEnded if nothing may begin."""
        ...

    async def atake_mark(self) -> None: ...


# ── the effect mark ──


class _SingleUse:
    """The state that both marks share.

    `place` stays INSIDE when an exception left the block, which is then in `failed`.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._use = Lock()  # taken once and never given back
        self.place = Place.BEFORE
        self.failed: BaseException | None = None

    def _enter_once(self) -> None:
        if not self._use.acquire(blocking=False):
            raise HalfwayError("MARK_MISUSED", step=self._host.step_name, run=self._host.run_id, problem="entered its effect mark twice.")

    def _leave(self, error: BaseException | None) -> None:
        if error is None:
            self.place = Place.CLOSED
        else:
            self.failed = error


class Mark(_SingleUse):
    """Encloses the one outside call of a `def` step: `with mark:`.

    Before it nothing can have happened; an answer that is lost inside it is a lost answer.
    """

    def __enter__(self) -> None:
        self._enter_once()
        self._host.take_mark()
        self.place = Place.INSIDE

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self._leave(error)


class AsyncMark(_SingleUse):
    """Encloses the one outside call of an `async def` step: `async with mark:`."""

    async def __aenter__(self) -> None:
        self._enter_once()
        await self._host.atake_mark()
        self.place = Place.INSIDE

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self._leave(error)


# ── the first argument of every function an author writes ──


class Step(Generic[InputT_co]):
    """One attempt of one step, as its function sees it."""

    def __init__(
        self,
        host: Host,
        *,
        input: TypeAdapter[Any],
        upstream: frozenset[StepDefinition[Any, object]],
        effect_key: Callable[[Step[Any]], str] | None = None,
        undoing: bool = False,
    ) -> None:
        """undoing: this is an undo, which must not meet its step under the same business key at the receiver."""
        self._host = host
        self._adapter = input
        self._upstream = upstream
        self._effect_key = effect_key
        self._undoing = undoing
        self._input: object = _MISSING
        self._outputs: dict[StepDefinition[Any, object], object] = {}
        self._key: str | None = None

    @property
    def input(self) -> InputT_co:
        """The run's input."""
        if self._input is _MISSING:
            self._input = decode(self._adapter, self._host.input_text(), what="input of the run")
        return cast(InputT_co, self._input)

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._host.run_id

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self._host.attempt

    @property
    def round(self) -> int:
        """In a loop the number of this round, from 1."""
        return self._host.round

    @property
    def correlation_id(self) -> str:
        """The id that all runs and log lines of one business case share."""
        return self._host.correlation_id

    @property
    def key(self) -> str:
        """The same on every attempt: give it to the receiver, so that a repeat is recognised."""
        if self._key is None:
            self._key = self._host.key if self._effect_key is None else self._business_key(self._effect_key)
        return self._key

    @property
    def cancel_requested(self) -> bool:
        """Whether someone asked the run to stop at the next safe boundary."""
        return self._host.cancel_requested()

    @property
    def remaining(self) -> timedelta:
        """The time until this attempt times out: give it to clients as their timeout."""
        return timedelta(seconds=max(0.0, self._host.remaining()))

    @property
    def cause(self) -> Failure | None:
        """Why we are here, in an undo and after a loop has gone back: the step that failed, its code and its message."""
        return self._host.cause()

    @property
    def draft(self) -> Json:
        """In an undo: what its approver was shown; None if no draft was made."""
        text = self._host.draft_text()
        return None if text is None else cast(Json, json.loads(text))

    def output(self, step: StepDefinition[InputT_co, T], /) -> T:
        """What an earlier step returned; None if that step is optional or conditional and has returned nothing. Never does I/O."""
        self._host.ensure_running()
        known = self._outputs.get(step, _MISSING)
        if known is _MISSING:
            text = self._output_text(step)
            known = None if text is None else step.read(text, self._host)
            if not isinstance(known, Iterator):  # that can be read only once
                self._outputs[step] = known
        return cast(T, known)

    def missing(self, step: StepDefinition[InputT_co, object], /) -> str | None:
        """Why an optional or conditional step has no output: its error, or what ruled it out; None if it has one."""
        self._host.ensure_running()
        self._check_upstream(step)
        return self._host.missing_text(step.name)

    def evidence(self, **facts: Json) -> None:
        """Keeps facts that prove what happened; durable when it returns, also if the step then fails."""
        self._host.ensure_running()
        self._host.evidence(encode(_facts(), facts, what=f"evidence of {self._host.step_name}"))

    def emit(self, event: Event[T], payload: T, /, *, key: str) -> None:
        """Sends an event together with this step's success, or not at all."""
        self._host.ensure_running()
        if not self._host.may_emit():
            raise DefinitionError("EMIT_REFUSED", step=self._host.step_name, run=self._host.run_id, event=event.name)
        self._host.emit(event.name, checked_key(f"key of the event {event.name}", key), event.encode(payload))

    def call(self, tool: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls a tool that the step has declared, and writes it down before and after; of an async tool await the answer.

        Made once more by a repeat of the step, a call with an effect is not made again: it gets its former answer.
        """
        self._host.ensure_running()
        return cast(T, self._host.call(tool, args, dict(kwargs)))

    def spend(self, *, tokens: int = 0) -> None:
        """Counts against the budgets of the step and of the run; durable when it returns."""
        self._host.ensure_running()
        if isinstance(tokens, bool) or not isinstance(cast(object, tokens), int) or tokens < 0:
            raise InvalidInput("VALUE_INVALID", what="tokens", problem=f"{tokens!r} is no number of tokens")
        self._host.spend(tokens)

    def save(self, name: str, content: str | bytes, /) -> Artifact:
        """Stores content of any size and returns the reference to it."""
        self._host.ensure_running()
        raw = content.encode() if isinstance(content, str) else content
        artifact_id, sha256, size = self._host.save(name, raw)
        return Artifact(artifact_id, name, sha256, size)

    def read(self, artifact: Artifact, /) -> bytes:
        """The stored content; its hash is checked."""
        self._host.ensure_running()
        return self._host.read(artifact.id, artifact.name)

    def _output_text(self, step: StepDefinition[Any, object]) -> str | None:
        self._check_upstream(step)
        text = self._host.output_text(step.name)
        if text is None and not step.may_lack:
            raise NotFound("OUTPUT_MISSING", step=step.name, run=self._host.run_id, status="skipped")
        return text

    def _check_upstream(self, step: StepDefinition[Any, object]) -> None:
        if step not in self._upstream:
            raise DefinitionError(
                "DEFINITION",
                workflow=step.workflow,
                problem=f"step {self._host.step_name} reads the output of {step.name}, which does not stand before it.",
                remedy=f"Add {step.name} to its after=[…].",
            )

    def _business_key(self, effect_key: Callable[[Step[Any]], object]) -> str:
        key = effect_key(self)
        if not isinstance(key, str) or not key:
            raise InvalidInput("KEY_INVALID", what=f"effect_key of {self._host.step_name}", problem=f"it gave {type(key).__name__}.")
        return f"{key}:undo" if self._undoing else key


@cache
def _facts() -> TypeAdapter[dict[str, Any]]:
    return TypeAdapter(dict[str, Any])
