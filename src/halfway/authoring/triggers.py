"""What starts a run by itself: an event, or the end of another workflow's run (R-C5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from halfway.authoring.building import input_adapter
from halfway.authoring.declaring import Part
from halfway.authoring.events import Event
from halfway.authoring.graph import WorkflowDefinition, written
from halfway.authoring.options import Defaults
from halfway.authoring.run import Run
from halfway.authoring.schemas import Misshapen
from halfway.authoring.shape import called, is_coroutine, parameters
from halfway.authoring.values import decode
from halfway.authoring.waits import run_of
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.domain.spec import TriggerSpec

I = TypeVar("I")
T = TypeVar("T")
OtherT = TypeVar("OtherT")


@dataclass(frozen=True, kw_only=True, eq=False)
class Trigger(Generic[I]):
    """A trigger with the author's function."""

    spec: TriggerSpec
    function: Callable[[Any], I | None]
    adapter: TypeAdapter[Any]  # of the event's payload, or of the other run

    def input_for(self, text: str) -> I | None:
        """The input of the run that this payload, or this finished run, starts; None if it starts none."""
        return self.function(decode(self.adapter, text, what=f"trigger {self.spec.name}"))


class Triggered(Part[I], WorkflowDefinition[I], Generic[I]):
    """The ways to declare a trigger."""

    def __init__(self, name: str, input: type[I], defaults: Defaults) -> None:
        super().__init__(name)
        self._graph.defaults = defaults
        self.input = input
        try:
            self.input_adapter: TypeAdapter[I] = input_adapter(input)
        except Misshapen as bad:
            raise self._refusal(bad.problem, bad.remedy) from None
        self._triggers: dict[tuple[str, str], Trigger[I]] = {}

    @written("@workflow.starts_on(event)")
    def starts_on(self, event: Event[T], /) -> Callable[[Callable[[T], I | None]], Callable[[T], I | None]]:
        """Declares that an event starts a run; the function makes its input from the payload, or says None: no run."""
        if not isinstance(event, Event):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self._refusal(f"starts_on: {event!r} is no event.", "Give an Event.")

        def declare(function: Callable[[T], I | None]) -> Callable[[T], I | None]:
            self._start_by(TriggerSpec(kind="EVENT", name=event.name), function, event.adapter)
            return function

        return declare

    @written("@workflow.starts_after(other)")
    def starts_after(
        self, workflow: WorkflowDefinition[OtherT], /, *statuses: RunStatus
    ) -> Callable[[Callable[[Run[OtherT]], I | None]], Callable[[Run[OtherT]], I | None]]:
        """Declares that the end of another workflow's run starts one; the function makes its input, or says None: no run.

        statuses: in which the other run must have ended; by default SUCCESS.
        """
        if not isinstance(workflow, WorkflowDefinition):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self._refusal(f"starts_after: {workflow!r} is no workflow.", "Give a Workflow.")
        for status in statuses:
            if status not in FINAL:
                raise self._refusal(f"starts_after: no run ends as {status}.", f"Give {', '.join(sorted(FINAL))}.")
        wanted = tuple(dict.fromkeys(status.value for status in statuses)) or (RunStatus.SUCCESS.value,)

        def declare(function: Callable[[Run[OtherT]], I | None]) -> Callable[[Run[OtherT]], I | None]:
            self._start_by(TriggerSpec(kind="RUN", name=workflow.name, statuses=wanted), function, run_of(workflow))
            return function

        return declare

    def _start_by(self, spec: TriggerSpec, function: Callable[[Any], I | None], adapter: TypeAdapter[Any]) -> None:
        self._graph.check_open(f"a trigger by {spec.name} is declared")
        if (spec.kind, spec.name) in self._triggers:
            raise self._refusal(f"two functions say what {spec.name} starts.", "Keep one.")
        try:
            if is_coroutine(function):
                raise Misshapen(f"{called(function)} is 'async def', but it only makes an input.", "Write it with 'def'.")
            found = len(parameters(function))
            if found != 1:
                told = "the payload" if spec.kind == "EVENT" else "the other run"
                raise Misshapen(f"{called(function)} takes {found} arguments.", f"Take {told}.")
        except Misshapen as bad:
            raise self._refusal(f"trigger by {spec.name}: {bad.problem}", bad.remedy) from None
        self._triggers[spec.kind, spec.name] = Trigger(spec=spec, function=function, adapter=adapter)
