"""Declared steps and what is attached to them: probes, verifiers, undos; and the handler that the engine runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload

from pydantic import TypeAdapter

from halfway.authoring.definition import Source, StepDefinition
from halfway.authoring.drafts import SETTLE, Draft, first_line
from halfway.authoring.options import TIMEOUT
from halfway.authoring.policy import THREE_TIMES, Errors, Retry, microseconds
from halfway.authoring.step import Absent, AsyncMark, CannotTell, Found, Host, Mark, Step
from halfway.authoring.tools import HandOver, Tools
from halfway.authoring.undo import Drafting, Maybe, TransactionUndo, UndoDecorator, UndoOptions, UndoProbe, check_risk, undoing
from halfway.domain.spec import WAITS, Effect, ProbeSpec, Risk, Sort, WaitSpec
from halfway.errors import StepFailed

I = TypeVar("I")
O = TypeVar("O")
M = TypeVar("M")
DbT = TypeVar("DbT")

Answer: TypeAlias = Found[O] | Absent | CannotTell
# A probe takes what the step took; verify and compensate take that, and then what the step returned.
Look: TypeAlias = Callable[[Step[I]], Maybe[Answer[O]]]
Check: TypeAlias = Callable[[Step[I], O], Maybe[bool]]


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
    body_adapter: TypeAdapter[Any]  # of what the body itself returns; another one only in a wait, where it says what for
    errors: Errors
    effect_key: Callable[[Step[Any]], str] | None
    probe: Callable[..., object] | None
    probe_is_async: bool
    verify: Callable[..., object] | None
    verify_is_async: bool
    upstream: frozenset[StepDefinition[Any, object]]
    wait: WaitSpec | None
    condition: Callable[[Step[Any]], bool] | None
    rewind_on: tuple[type[StepFailed], ...]
    streams: bool  # a generator: what it yields is kept line by line
    item_adapter: TypeAdapter[Any] | None  # of a step that is done for many: what it takes
    item_key: Callable[[Any], str]
    tools: Tools
    hand_over: HandOver | None
    list_streams: bool
    child: object  # the workflow whose runs it starts; None in every other step
    record: Callable[[Step[Any]], str] | None  # answers a key that can be kept, or raises InvalidInput
    undo: Callable[..., object] | None  # takes step and output; in a transaction step, connection and output; last the mark
    undo_is_async: bool
    undo_takes_mark: bool
    undo_probe: Callable[..., object] | None  # takes step and output
    undo_probe_is_async: bool
    draft: Callable[..., object] | None  # takes step and output
    draft_is_async: bool
    draft_adapter: TypeAdapter[Any] | None  # of what the draft returns

    @property
    def waits(self) -> bool:
        """Whether its body only says what it waits for."""
        return self.sort in WAITS

    def step(self, host: Host, *, undoing: bool = False) -> Step[Any]:
        """The author's view of one attempt; `undoing`: of the undo, its probe or its draft."""
        return Step(host, input=self.input_adapter, upstream=self.upstream, effect_key=self.effect_key, undoing=undoing)

    def mark(self, host: Host, *, undoing: bool = False) -> Mark | AsyncMark:
        """A fresh effect mark for one attempt of the body, or of the undo."""
        return AsyncMark(host) if (self.undo_is_async if undoing else self.is_async) else Mark(host)


class EffectStep(StepDefinition[I, O | M], Generic[I, O, M]):
    """A step that looks at the outside world or changes it."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(workflow=draft.workflow, name=draft.name, adapter=draft.shape.output, may_lack=draft.standing.may_lack)
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

    def compensate(
        self,
        risk: Risk,
        /,
        *,
        effect: Effect | None = None,
        idempotent: bool = False,
        probe: UndoProbe[I, O] | None = None,
        settle: timedelta = SETTLE,
        draft: Drafting[I, O] | None = None,
        approver: str = "",
        retry: Retry = THREE_TIMES,
        timeout: timedelta = TIMEOUT,
        evidence: str = "",
    ) -> UndoDecorator[I, O]:
        """Declares the function that corrects what the step did when the run cannot go on.

        It takes the step and its output, and the mark if it wants it. HIGH and CRITICAL wait for a person, and so does an undo that
        notifies or changes; `draft` makes what this person is shown. `effect` is what the undo itself does; by default the same.
        `probe` looks whether the undo happened; its Absent counts only `settle` after the attempt was gone.
        """
        check_risk(self._draft, risk)
        options = UndoOptions(
            risk=risk, effect=effect, idempotent=idempotent, probe=probe, draft=draft, approver=approver, retry=retry, timeout=timeout,
            evidence=evidence, settle=settle,
        )  # fmt: skip
        return UndoDecorator(self._draft, options)


class StreamStep(EffectStep[I, O, M], Generic[I, O, M]):
    """A generator step: its output is read line by line, each time from the beginning."""

    def read(self, text: str, source: Source) -> O | M:
        return cast(O, self._lines(text, source))

    def _lines(self, text: str, source: Source) -> Iterator[Any]:
        lines = json.loads(text)["lines"]
        for line in source.lines(lines["id"], lines["name"]):
            yield self.decode(line)


class TransactionStep(StepDefinition[I, O | M], Generic[I, DbT, O, M]):
    """A step in the own database. No probe: what commits with its checkpoint cannot be in doubt."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(workflow=draft.workflow, name=draft.name, adapter=draft.shape.output, may_lack=draft.standing.may_lack)
        self._draft = draft

    def compensate(
        self, risk: Risk, /, *, approver: str = "", retry: Retry = THREE_TIMES
    ) -> Callable[[TransactionUndo[I, DbT, O]], TransactionUndo[I, DbT, O]]:
        """Declares the function that corrects what the step wrote; it is a transaction too, and takes step, connection and output."""
        check_risk(self._draft, risk)
        options = UndoOptions(risk=risk, effect=None, approver=approver, retry=retry, timeout=TIMEOUT)

        def declare(function: TransactionUndo[I, DbT, O]) -> TransactionUndo[I, DbT, O]:
            self._draft.undo = undoing(self._draft, function, options, {})
            return function

        return declare
