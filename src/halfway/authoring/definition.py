"""What names a step in the author's code: `step.output(x)`, `after=[x]`, `run.output(x)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar, cast

from pydantic import TypeAdapter

from halfway.authoring.schemas import fingerprint
from halfway.authoring.values import decode, encode

InputT_contra = TypeVar("InputT_contra", contravariant=True)
OutputT_co = TypeVar("OutputT_co", covariant=True)


class Source(Protocol):
    """Where what is too large for a value is read from."""

    def items(self, step: str, round: int, status: str, page: int) -> Iterator[Sequence[tuple[str, str | None, str, str | None]]]:
        """Page by page the items of a step in one state, in their order: key, output as JSON, error code, error text."""
        ...

    def children(self, step: str, round: int, page: int) -> Iterator[tuple[Mapping[str, str], Source]]:
        """The runs that a step has started, in order: their outputs as JSON by step, and where what is larger is read."""
        ...

    def lines(self, artifact_id: str, name: str) -> Iterator[str]:
        """The lines of an artifact; its hash is checked first."""
        ...


class StepDefinition(Generic[InputT_contra, OutputT_co]):
    """A declared step. Refer to it by this object; only the engine runs it, so it cannot be called."""

    def __init__(self, *, workflow: str, name: str, adapter: TypeAdapter[Any], may_lack: bool = False) -> None:
        self.workflow = workflow
        self.name = name
        self.homes = {workflow}  # the workflows and parts that it is a step of
        self.may_lack = may_lack  # its run may go on without its output
        self._adapter: TypeAdapter[Any] = adapter

    @cached_property
    def _shape(self) -> str:
        """A short hash of the shape of its output."""
        return fingerprint(self._adapter)

    def as_read(self) -> str:
        """What a step that reads this one depends on."""
        return f"{self.name}:{self._shape}"

    def decode(self, text: str) -> OutputT_co:
        """An output of this step, read back from its stored JSON."""
        return cast(OutputT_co, decode(self._adapter, text, what=f"output of {self.name}"))

    def encode(self, output: object) -> str:
        """An output of this step as JSON text."""
        return encode(self._adapter, output, what=f"output of {self.name}")

    def read(self, text: str, source: Source) -> OutputT_co:
        """An output of this step as it is read in a run; what is too large for a value comes from the source."""
        return self.decode(text)

    def __repr__(self) -> str:
        return f"<step {self.name} of {self.workflow}>"
