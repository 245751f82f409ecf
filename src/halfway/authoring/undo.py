"""Compensations: the function that corrects what a step did when the run cannot go on (R-D3, R-D4)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeAlias, TypeVar, overload

from halfway.authoring.drafts import SETTLE, Draft, Helper, Undoing
from halfway.authoring.options import positive
from halfway.authoring.policy import Retry
from halfway.authoring.schemas import Misshapen
from halfway.authoring.shape import read_transaction_undo, read_undo, returned
from halfway.authoring.step import Absent, AsyncMark, CannotTell, Found, Mark, Step
from halfway.domain.spec import Effect, Risk, Sort

I = TypeVar("I")
O = TypeVar("O")
T = TypeVar("T")
DbT = TypeVar("DbT")

Maybe: TypeAlias = T | Awaitable[T]  # every function may be `def` or `async def`
# An undo takes what the step took, and then what it returned; and last the mark, if it wants it.
Undo: TypeAlias = Callable[[Step[I], O], Maybe[None]]
MarkedUndo: TypeAlias = Callable[[Step[I], O, Mark], None]
AsyncMarkedUndo: TypeAlias = Callable[[Step[I], O, AsyncMark], Awaitable[None]]
TransactionUndo: TypeAlias = Callable[[Step[I], DbT, O], None]
UndoProbe: TypeAlias = Callable[[Step[I], O], Maybe[Found[None] | Absent | CannotTell]]
Drafting: TypeAlias = Callable[[Step[I], O], Maybe[object]]


@dataclass(frozen=True, kw_only=True)
class UndoOptions:
    """How a step is undone."""

    risk: Risk
    effect: Effect | None
    idempotent: bool = False
    probe: Callable[..., object] | None = None
    draft: Callable[..., object] | None = None
    approver: str = ""
    retry: Retry
    timeout: timedelta
    evidence: str = ""
    settle: timedelta = SETTLE

    def check(self, draft: Draft) -> None:
        """Raises Misshapen for what cannot work."""
        if draft.effect is Effect.READ:
            raise Misshapen("it has an undo, but a READ changes nothing.", "Remove the undo.")
        if self.effect is not None and self.effect not in tuple(Effect):
            raise Misshapen(f"{self.effect!r} is not an effect.", "Give the effect that the undo itself has.")
        if self.effect is Effect.READ:
            raise Misshapen("its undo is a READ, which corrects nothing.", "Give the effect that the undo itself has.")
        if draft.settings.stays:
            raise Misshapen("it has an undo and stays=.", "Keep one: either it is undone, or it says why it may stay.")
        kinds: dict[str, tuple[type, str]] = {
            "idempotent": (bool, "True or False"),
            "approver": (str, "the name of a role"),
            "retry": (Retry, "a Retry"),
            "timeout": (timedelta, "a timedelta"),
            "evidence": (str, "a text"),
        }
        for name, (kind, told) in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise Misshapen(f"{name} is {getattr(self, name)!r}.", f"Give {told}.")
        positive("timeout", self.timeout)
        if self.settle < timedelta(0):
            raise Misshapen(f"settle is {self.settle}.", "Give 0 or more.")


class UndoDecorator(Generic[I, O]):
    """Keeps a function as the undo of a step, and gives it back unchanged."""

    def __init__(self, draft: Draft, options: UndoOptions) -> None:
        self._draft, self._options = draft, options

    @overload
    def __call__(self, function: Undo[I, O], /) -> Undo[I, O]: ...
    @overload
    def __call__(self, function: MarkedUndo[I, O], /) -> MarkedUndo[I, O]: ...
    @overload
    def __call__(self, function: AsyncMarkedUndo[I, O], /) -> AsyncMarkedUndo[I, O]: ...
    def __call__(self, function: Callable[..., object], /) -> Callable[..., object]:
        names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]
        self._draft.undo = undoing(self._draft, function, self._options, names)
        return function


def check_risk(draft: Draft, risk: object) -> None:
    """Refuses an undo that does not say its risk, as one that is written without its parentheses."""
    if not isinstance(risk, Risk):
        raise draft.refusal(f"{risk!r} is not a risk.", "Give a member of Risk, as in compensate(Risk.LOW).")


def undoing(draft: Draft, function: Callable[..., object], options: UndoOptions, names: dict[str, Any]) -> Undoing:
    """The undo of a step; a DefinitionError if it cannot be one."""
    draft.open_for("compensation", draft.undo)
    try:
        options.check(draft)
        if draft.sort is Sort.TRANSACTION:
            read_transaction_undo(function)
            is_async, takes_mark = False, False
        else:
            is_async, takes_mark = read_undo(function, names, item=draft.fan is not None)
        shown = None if options.draft is None else returned(options.draft, names)
    except Misshapen as bad:
        raise draft.refusal(bad.problem, bad.remedy) from None
    made = Undoing(
        risk=options.risk,
        effect=None if draft.sort is Sort.TRANSACTION else options.effect or draft.effect,
        body=Helper(function=function, is_async=is_async),
        takes_mark=takes_mark,
        idempotent=options.idempotent,
        retry=options.retry,
        timeout=options.timeout,
        approver=options.approver.strip(),
        evidence=options.evidence.strip(),
        probe=None if options.probe is None else draft.attach("probe of the undo", options.probe, 2, None),
        draft=None if options.draft is None else draft.attach("draft", options.draft, 2, None),
        draft_returns=shown,
        settle=options.settle,
    )
    if made.draft is not None and not made.needs_approval:
        raise draft.refusal(f"its undo makes a draft, but at {made.risk} nobody is shown one.", "Give Risk.HIGH or more, or no draft=.")
    return made
