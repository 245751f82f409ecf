"""How runs of an earlier version of a workflow are moved to a later one: which step stands for which, and what becomes of the input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import TypeAdapter

from halfway.authoring.definition import StepDefinition
from halfway.authoring.schemas import Misshapen, fingerprint
from halfway.authoring.shape import called, is_coroutine, parameters
from halfway.authoring.values import decode
from halfway.domain.spec import StepSpec, WorkflowSpec
from halfway.domain.takeover import TakeoverSpec
from halfway.errors import DefinitionError

I = TypeVar("I")
OldI = TypeVar("OldI")
T = TypeVar("T")
OldT = TypeVar("OldT")
Steps: TypeAlias = Mapping[str, StepDefinition[Any, Any]]
Pairs: TypeAlias = Mapping[StepDefinition[OldI, object], StepDefinition[I, object] | None]


class Takeover(Generic[OldI, I]):
    """What `takes_over` makes of its function: how runs of an earlier version are moved to this one, when a person orders it."""

    def __init__(
        self, name: str, version: int, adapter: TypeAdapter[OldI], at: Pairs[OldI, I], *, former: Steps, steps: Steps,
    ) -> None:  # fmt: skip
        """former, steps: of the earlier version, and of this one."""
        self._name = name
        self.version = version
        self._adapter = adapter
        self._former, self._steps = former, steps
        self._function: Callable[[OldI], I] | None = None
        self._outputs: dict[str, tuple[StepDefinition[Any, Any], StepDefinition[Any, Any], Callable[[Any], Any]]] = {}
        for one, step in at.items():
            self._check(one, former, f"version {version}")
            if step is not None:
                self._check(step, steps, "this version")
        self._at = tuple((one.name, "" if step is None else step.name) for one, step in at.items())
        taken = [name for _, name in self._at if name]
        if len(set(taken)) < len(taken):
            raise self._refusal("two steps are to become the same one.", "Name each step of this version once.")

    def output(
        self, former: StepDefinition[OldI, OldT], step: StepDefinition[I, T], /
    ) -> Callable[[Callable[[OldT], T]], Callable[[OldT], T]]:
        """Declares how the output of a done step is made from that of the step it was, where their shapes differ."""
        self._check(former, self._former, f"version {self.version}")
        self._check(step, self._steps, "this version")

        def declare(function: Callable[[OldT], T]) -> Callable[[OldT], T]:
            self._check_function(function, "the former output")
            if step.name in self._outputs:
                raise self._refusal(f"two functions make the output of {step.name}.", "Keep one.")
            self._outputs[step.name] = (former, step, function)
            return function

        return declare

    # ── what the workflow and Control use ──

    def declare(self, function: Callable[[OldI], I]) -> Takeover[OldI, I]:
        """Takes in the function that makes the input."""
        self._check_function(function, "the former input")
        self._function = function
        return self

    def input_for(self, text: str) -> I:
        """The input of this version, from the JSON of the former one."""
        assert self._function is not None
        return self._function(decode(self._adapter, text, what=f"input of {self._name} v{self.version}"))

    def output_for(self, name: str, text: str) -> str:
        """The output of a step of this version as JSON, from that of the former one."""
        former, step, function = self._outputs[name]
        return step.encode(function(former.decode(text)))

    def to_spec(self) -> TakeoverSpec:
        schema = fingerprint(self._adapter)
        return TakeoverSpec(version=self.version, input_schema=schema, at=self._at, outputs=tuple(sorted(self._outputs)))

    def check(self, former: WorkflowSpec, spec: WorkflowSpec) -> None:
        """Refuses a mapping that no run could ever be moved by."""
        for name, now in self._at:
            if now:
                self._check_pair(former.by_name[name], spec.by_name[now])
        at = dict(self._at)
        for one, step, _ in self._outputs.values():
            if at.get(one.name, one.name) != step.name:
                raise self._refusal(f"an output of {step.name} is made from {one.name}, which does not become it.", "Name both in at={…}.")

    # ── inside ──

    def _check_pair(self, one: StepSpec, step: StepSpec) -> None:
        if (one.sort, one.effect) != (step.sort, step.effect):
            problem = f"{one.name} is {one.effect or one.sort}, and {step.name} is {step.effect or step.sort}."
            raise self._refusal(problem, "A step can only stand for one of the same kind; None leaves it behind.")
        if one.output_schema != step.output_schema and step.name not in self._outputs:
            problem = f"the output of {one.name} has another shape than that of {step.name}."
            raise self._refusal(problem, "Say how one is made from the other, with @….output(former, step).")

    def _check(self, step: object, known: Steps, where: str) -> None:
        if not isinstance(step, StepDefinition) or known.get(step.name) is not step:
            raise self._refusal(f"{step!r} is no step of {where}.", "Name steps by the objects that were declared.")

    def _check_function(self, function: Callable[..., object], takes: str) -> None:
        if is_coroutine(function):
            raise self._refusal(f"{called(function)} is 'async def', but it only makes a value.", "Write it with 'def'.")
        try:
            found = len(parameters(function))
        except Misshapen as bad:
            raise self._refusal(bad.problem, bad.remedy) from None
        if found != 1:
            raise self._refusal(f"{called(function)} takes {found} arguments.", f"Take {takes}.")

    def _refusal(self, problem: str, remedy: str) -> DefinitionError:
        return DefinitionError("DEFINITION", workflow=self._name, problem=f"takes_over version {self.version}: {problem}", remedy=remedy)
