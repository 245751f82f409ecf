"""Steps that do the same for each item of a list, and lists too large for a value (R-E5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Generic, Protocol, TypeVar, overload

from pydantic import TypeAdapter

from halfway.authoring.definition import Source, StepDefinition
from halfway.authoring.drafts import SETTLE, Draft, first_line
from halfway.authoring.options import TIMEOUT
from halfway.authoring.policy import THREE_TIMES, Retry, microseconds
from halfway.authoring.step import Absent, Artifact, AsyncMark, CannotTell, Failure, Found, Mark, Step
from halfway.authoring.undo import Maybe, UndoOptions, check_risk, undoing
from halfway.authoring.values import decode
from halfway.domain.spec import Effect, ProbeSpec, Risk

I = TypeVar("I")
O = TypeVar("O")
O_co = TypeVar("O_co", covariant=True)
M = TypeVar("M")
ItemT = TypeVar("ItemT")

PAGE = 200  # items that are read at once


@dataclass(frozen=True)
class Streamed:
    """The output of a generator step: an artifact with a line of JSON for each item."""

    lines: Artifact
    count: int


@cache
def streamed_adapter() -> TypeAdapter[Streamed]:
    """Of what is stored in place of the items."""
    return TypeAdapter(Streamed)


class Items(Generic[O_co]):
    """The output of an `each` step: how many items succeeded, and what they returned, in the order of the list.

    The results are read page by page while they are looked through, so they need not fit into memory.
    """

    def __init__(self, name: str, adapter: TypeAdapter[Any], source: Source, counts: Mapping[str, int]) -> None:
        self.total = counts["total"]
        self.succeeded = counts["succeeded"]
        self.failed = counts["failed"]
        self.unknown = counts["asking"]
        self._name, self._adapter, self._source, self._round = name, adapter, source, counts["round"]

    def __iter__(self) -> Iterator[O_co]:
        for page in self._source.items(self._name, self._round, "SUCCESS", PAGE):
            for _, text, _, _ in page:
                if text is not None:
                    yield decode(self._adapter, text, what=f"output of an item of {self._name}")

    def failures(self) -> Iterator[Failure]:
        """The items that failed, each by its key, with its code and message."""
        for page in self._source.items(self._name, self._round, "FAILED", PAGE):
            for item, _, code, error in page:
                yield Failure(item, code, error or "")

    def __repr__(self) -> str:
        return f"<{self.succeeded} of {self.total} items of {self._name}>"


class ItemStep(StepDefinition[I, Items[O] | M], Generic[I, ItemT, O, M]):
    """A step that does the same for each item of a list."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(workflow=draft.workflow, name=draft.name, adapter=draft.shape.output, may_lack=draft.standing.may_lack)
        self._draft = draft

    def read(self, text: str, source: Source) -> Items[O] | M:
        """What is stored of the step as a whole says how many; the results are read when they are looked through."""
        return Items(self.name, self._adapter, source, json.loads(text))

    @overload
    def probe(self, look: Callable[[Step[I], ItemT], Maybe[Found[O] | Absent | CannotTell]], /) -> Callable[..., Any]: ...
    @overload
    def probe(
        self, /, *, settle: timedelta = ..., retry: Retry = ...
    ) -> Callable[[Callable[[Step[I], ItemT], Maybe[Found[O] | Absent | CannotTell]]], Callable[..., Any]]: ...
    def probe(
        self, look: Callable[..., Any] | None = None, /, *, settle: timedelta = SETTLE, retry: Retry = THREE_TIMES
    ) -> Callable[..., Any]:
        """Declares the function that looks whether the effect happened for one item; it takes the step and the item."""

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            draft = self._draft
            if settle < timedelta(0):
                raise draft.refusal(f"settle is {settle}.", "Give 0 or more.")
            draft.probe = draft.attach("probe", function, 2, draft.probe)
            draft.probe_spec = ProbeSpec(settle=microseconds(settle), retry=retry.to_spec(), shows=first_line(function))
            return function

        return declare if look is None else declare(look)

    def compensate(
        self,
        risk: Risk,
        /,
        *,
        effect: Effect | None = None,
        idempotent: bool = False,
        approver: str = "",
        retry: Retry = THREE_TIMES,
        timeout: timedelta = TIMEOUT,
        evidence: str = "",
    ) -> Callable[[Callable[[Step[I], ItemT, O], Maybe[None]]], Callable[[Step[I], ItemT, O], Maybe[None]]]:
        """Declares the function that corrects what the step did for one item; it takes the step, the item and what that returned.

        HIGH and CRITICAL wait for a person, once for all items.
        """
        check_risk(self._draft, risk)
        options = UndoOptions(
            risk=risk, effect=effect, idempotent=idempotent, approver=approver, retry=retry, timeout=timeout, evidence=evidence
        )

        def declare(function: Callable[[Step[I], ItemT, O], Maybe[None]]) -> Callable[[Step[I], ItemT, O], Maybe[None]]:
            self._draft.undo = undoing(self._draft, function, options, {})
            return function

        return declare


class ItemDecorator(Protocol[I, ItemT, M]):
    """Turns a function of the step and an item into a step for all items; last it may take the mark."""

    @overload
    def __call__(self, function: Callable[[Step[I], ItemT], Coroutine[Any, Any, O]], /) -> ItemStep[I, ItemT, O, M]: ...
    @overload
    def __call__(self, function: Callable[[Step[I], ItemT], O], /) -> ItemStep[I, ItemT, O, M]: ...
    @overload
    def __call__(self, function: Callable[[Step[I], ItemT, AsyncMark], Coroutine[Any, Any, O]], /) -> ItemStep[I, ItemT, O, M]: ...
    @overload
    def __call__(self, function: Callable[[Step[I], ItemT, Mark], O], /) -> ItemStep[I, ItemT, O, M]: ...
