"""A run, as a program sees it: a snapshot with its typed input and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, get_args

from pydantic import GetCoreSchemaHandler, Json, TypeAdapter
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function
from typing_extensions import TypedDict

from halfway.authoring.definition import Source, StepDefinition
from halfway.authoring.step import Failure
from halfway.domain.lifecycle import RunStatus
from halfway.errors import InvalidInput, NotFound

I = TypeVar("I")
T = TypeVar("T")


class _NoSource:
    """A run that came as a value, and knows no database."""

    def items(self, step: str, round: int, status: str, page: int) -> Iterator[Sequence[tuple[str, str | None, str, str | None]]]:
        raise _unreadable(step)

    def children(self, step: str, round: int, page: int) -> Iterator[tuple[Mapping[str, str], Source]]:
        raise _unreadable(step)

    def lines(self, artifact_id: str, name: str) -> Iterator[str]:
        raise _unreadable(name)


def _unreadable(what: str) -> InvalidInput:
    problem = "it is read from the database while it is looked through, and this run came as a value."
    return InvalidInput("VALUE_INVALID", what=what, problem=problem)


NO_SOURCE = _NoSource()


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
        source: Source = NO_SOURCE,
        forgotten: bool = False,
    ) -> None:
        """outputs: JSON text by step, without those that have none. steps: the status of each step. forgotten: its history was deleted,
        so it has no outputs any more.
        """
        self.id = id
        self.type = type
        self.version = version
        self.key = key
        self.status = status
        self.input = input
        self.failure = failure
        self.created = created  # False: a run with this key was already there
        self.forgotten = forgotten
        self._outputs = outputs
        self._steps = steps
        self._source = source

    def output(self, step: StepDefinition[I, T], /) -> T:
        """What a step of this run returned."""
        if self.forgotten and self.type in step.homes:
            raise NotFound("OUTPUT_GONE", step=step.name, run=self.id, status=self.status)
        if self.type not in step.homes or step.name not in self._steps:
            raise NotFound("STEP_UNKNOWN", workflow=self.type, step=step.name, known=", ".join(self._steps))
        text = self._outputs.get(step.name)
        if text is None:
            raise NotFound("OUTPUT_MISSING", step=step.name, run=self.id, status=self._steps[step.name])
        return step.read(text, self._source)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """So that a stored run comes back as one."""
        (input,) = get_args(source)
        stored: Any = _Stored  # the input is known when the program runs only
        return no_info_after_validator_function(_run, handler(stored[input]))

    def __repr__(self) -> str:
        return f"<run {self.id} of {self.type}: {self.status}>"


class _StoredFailure(TypedDict):
    """Why it failed; a record may have failed without a message."""

    step: str
    code: str | None
    message: str | None


class _Stored(TypedDict, Generic[I]):
    """A run as JSON: what another run gets that waited for it, or that it started."""

    id: str
    type: str
    version: int
    key: str | None
    status: RunStatus
    input: Json[I]  # JSON text, as it is kept
    failure: _StoredFailure | None
    outputs: dict[str, str]  # JSON text by step
    steps: dict[str, str]


def run_adapter(input: type[I]) -> TypeAdapter[Run[I]]:
    """The adapter that makes a run with this input from its stored JSON."""
    run: Any = Run  # the input is known when the program runs only
    return TypeAdapter(run[input])


def _run(stored: _Stored[I]) -> Run[I]:
    why = stored["failure"]
    return Run(
        id=stored["id"],
        type=stored["type"],
        version=stored["version"],
        key=stored["key"],
        status=stored["status"],
        input=stored["input"],
        failure=None if why is None else Failure(why["step"], why["code"] or "", why["message"] or ""),
        created=False,
        outputs=stored["outputs"],
        steps=stored["steps"],
    )
