"""Tools that an agent may use inside a step, and when it hands over to a person (R-J10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from halfway.authoring.schemas import Misshapen
from halfway.authoring.shape import called
from halfway.domain.spec import Effect
from halfway.errors import StepFailed

Tools: TypeAlias = Mapping[Any, Effect]  # functions; their types differ, and a mapping is of one


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call that an agent is about to make; `number`: the how manyth of this attempt."""

    tool: str
    effect: Effect
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    number: int


HandOver: TypeAlias = Callable[[Call], str | None]  # why a person must take over before this call; None: it need not


class HandedOver(StepFailed):
    """The agent has come to a point at which a person takes over; the call was not made."""


class ToolNotAllowed(StepFailed):
    """The step has not declared this tool; the call was not made."""


class BudgetExceeded(StepFailed):
    """More was spent than the budget allows; the code is AI_BUDGET_EXCEEDED."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="AI_BUDGET_EXCEEDED")


class ToolFailed(Exception):
    """An earlier attempt has made this call, and it failed then; it is not made again, for it may have had its effect."""


def check_tools(tools: Tools, effect: Effect | None) -> None:
    """Raises Misshapen for tools that a step with this effect cannot have."""
    names: set[str] = set()
    for tool, its_effect in tools.items():
        if not callable(cast(object, tool)) or its_effect not in tuple(Effect):  # pyright: ignore[reportUnnecessaryContains]
            raise Misshapen(f"tools names {tool!r}: {its_effect!r}.", "Give functions, each with its Effect.")
        if effect is Effect.READ and its_effect is not Effect.READ:
            raise Misshapen(f"it is a READ, and its tool {called(tool)} is a {its_effect}.", "Give the step the effect of its tools.")
        if called(tool) in names:
            raise Misshapen(f"two tools are called {called(tool)}.", "Rename one.")
        names.add(called(tool))
