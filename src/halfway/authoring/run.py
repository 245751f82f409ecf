"""A run, as a program sees it: a snapshot with its typed input and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from halfway.authoring.definition import StepDefinition
from halfway.authoring.step import Failure
from halfway.domain.lifecycle import RunStatus
from halfway.errors import NotFound

I = TypeVar("I")
T = TypeVar("T")


class Run(Generic[I]):
    """A snapshot of a run."""

    def __init__(
        self,
        *,
        id: str,
        type: str,
        version: int,
        key: str | None,
        status: RunStatus,
        input: I,
        failure: Failure | None,
        created: bool,
        outputs: Mapping[str, str],
        steps: Mapping[str, str],
    ) -> None:
        """outputs: JSON text by step, without those that have none. steps: the status of each step."""
        self.id = id
        self.type = type
        self.version = version
        self.key = key
        self.status = status
        self.input = input
        self.failure = failure
        self.created = created  # False: a run with this key was already there
        self._outputs = outputs
        self._steps = steps

    def output(self, step: StepDefinition[I, T], /) -> T:
        """What a step of this run returned."""
        if step.workflow != self.type or step.name not in self._steps:
            raise NotFound("STEP_UNKNOWN", workflow=self.type, step=step.name, known=", ".join(self._steps))
        text = self._outputs.get(step.name)
        if text is None:
            raise NotFound("OUTPUT_MISSING", step=step.name, run=self.id, status=self._steps[step.name])
        return step.decode(text)

    def __repr__(self) -> str:
        return f"<run {self.id} of {self.type}: {self.status}>"
