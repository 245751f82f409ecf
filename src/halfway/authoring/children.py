"""Steps that start runs of another workflow and wait for them (R-E4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from halfway.authoring.definition import Source, StepDefinition
from halfway.authoring.drafts import Draft

I = TypeVar("I")
M = TypeVar("M")
T = TypeVar("T")
ChildT = TypeVar("ChildT")

PAGE = 50  # children that are read at once


class Children(Generic[ChildT]):
    """The output of a `children` step: what the runs have come to, and what their steps returned, in the order of their inputs."""

    def __init__(self, name: str, source: Source, counts: Mapping[str, int]) -> None:
        self.total = counts["total"]
        self.succeeded = counts["succeeded"] - counts["partial"]
        self.partial = counts["partial"]
        self.failed = counts["failed"]
        self._name, self._source, self._round = name, source, counts["round"]

    def outputs(self, step: StepDefinition[ChildT, T], /) -> Iterator[T]:
        """What this step returned in each of the runs that have its output."""
        for outputs, source in self._source.children(self._name, self._round, PAGE):
            text = outputs.get(step.name)
            if text is not None:
                yield step.read(text, source)

    def __repr__(self) -> str:
        return f"<{self.succeeded} of {self.total} runs of {self._name}>"


class ChildrenStep(StepDefinition[I, Children[ChildT] | M], Generic[I, ChildT, M]):
    """A step that starts runs and waits for all of them."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(workflow=draft.workflow, name=draft.name, adapter=draft.shape.output, may_lack=draft.standing.may_lack)

    def read(self, text: str, source: Source) -> Children[ChildT] | M:
        """What is stored says how many; the outputs are read when they are looked through."""
        return Children(self.name, source, json.loads(text))
