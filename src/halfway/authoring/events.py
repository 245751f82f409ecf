"""Events: messages from outside and between runs, declared once, so that both ends agree on the payload."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from halfway.authoring.schemas import Misshapen, adapter_for
from halfway.authoring.values import decode, encode
from halfway.errors import DefinitionError

T = TypeVar("T")

_NAME = re.compile(r"[A-Z0-9_]{1,64}")


@dataclass(frozen=True)
class Event(Generic[T]):
    """A kind of message: awaited with `wait_for`, sent with `app.send` or `step.emit`."""

    name: str
    payload: type[T]
    adapter: TypeAdapter[T] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise _refused(f"{self.name!r} is no name for an event.", "Use A-Z, 0-9 and '_', at most 64.")
        try:
            object.__setattr__(self, "adapter", adapter_for(self.payload))
        except Misshapen as bad:
            raise _refused(bad.problem, bad.remedy) from None

    def encode(self, payload: T) -> str:
        """A payload as JSON text."""
        return encode(self.adapter, payload, what=f"payload of {self.name}")

    def decode(self, text: str) -> T:
        """A payload from JSON text; InvalidInput if it does not fit."""
        return decode(self.adapter, text, what=f"payload of {self.name}")


def is_name(name: object) -> bool:
    """Whether something can be the name of a workflow, a step or an event."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _refused(problem: str, remedy: str) -> DefinitionError:
    return DefinitionError("POLICY_INVALID", policy="Event", problem=problem, remedy=remedy)
