"""Bounded loops: a step that fails in a certain way sends its run back to an earlier one (R-E3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from halfway.authoring.definition import StepDefinition
from halfway.domain.spec import ANY_FAILURE, OnFailure, RewindSpec, Then
from halfway.errors import DefinitionError, StepFailed, code_of

InputT_contra = TypeVar("InputT_contra", contravariant=True)

_AFTERWARDS = (Then.MANUAL, Then.FAIL, Then.COMPENSATE)


@dataclass(frozen=True, kw_only=True)
class Rewind(Generic[InputT_contra]):
    """A bounded loop: when its step fails with `on`, the run goes back to `to`, at most `max` times; and what then.

    What stands between the two is done again in a new round. `on` names the exceptions that send it back; by default every
    StepFailed that the step itself raises. `Rejected`, at an approval, makes a rework loop.
    """

    to: StepDefinition[InputT_contra, Any]
    max: int
    on: type[StepFailed] | tuple[type[StepFailed], ...] = StepFailed
    then: OnFailure = Then.MANUAL

    def __post_init__(self) -> None:
        if not isinstance(self.to, StepDefinition):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _refused(f"to is {self.to!r}.", "Give the object that the decorator of the earlier step returned.")
        if isinstance(self.max, bool) or not isinstance(cast(object, self.max), int) or self.max < 1:
            raise _refused(f"max is {self.max!r}.", "Give a whole number of at least 1: how often the run may go back.")
        kinds = cast("tuple[object, ...]", self.kinds)
        if not kinds or not all(isinstance(kind, type) and issubclass(kind, StepFailed) for kind in kinds):
            raise _refused(f"on is {self.on!r}.", "Give StepFailed, or exception classes made from it.")
        if self.then not in _AFTERWARDS:
            raise _refused(f"then is {self.then}.", "Give Then.MANUAL, Then.FAIL or Then.COMPENSATE.")

    @property
    def kinds(self) -> tuple[type[StepFailed], ...]:
        """The exceptions that send the run back."""
        return self.on if isinstance(self.on, tuple) else (self.on,)

    def to_spec(self) -> RewindSpec:
        """The same policy as data."""
        codes = sorted({ANY_FAILURE if kind is StepFailed else code_of(kind) for kind in self.kinds})
        return RewindSpec(to=self.to.name, max=self.max, on=tuple(codes), then=self.then)


def _refused(problem: str, remedy: str) -> DefinitionError:
    return DefinitionError("POLICY_INVALID", policy="Rewind", problem=problem, remedy=remedy)
