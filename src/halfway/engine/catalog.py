"""Which code this worker has: handlers by what a step must have to be run, and the definitions of the runs it meets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from halfway.authoring.steps import Handler
from halfway.authoring.workflow import Workflow
from halfway.domain.run import Kind
from halfway.domain.spec import StepSpec, WorkflowSpec
from halfway.ports import RunStore


class Catalog:
    """Handlers and specs. A run of an older definition is served wherever the code of its step is still the same (B34, B35)."""

    def __init__(self, store: RunStore, workflows: Sequence[Workflow[Any]]) -> None:
        self._store = store
        self._specs: dict[str, WorkflowSpec] = {workflow.spec.hash: workflow.spec for workflow in workflows}
        self._handlers: dict[str, Handler] = {}
        self._own: dict[tuple[str, int, str], Handler] = {}
        self._types: dict[str, str] = {}
        self.queues: set[str] = set()
        for workflow in workflows:
            for step in workflow.spec.steps:
                handler = self._handlers[step.code] = workflow.handlers[step.name]
                self._own[workflow.name, workflow.version, step.code] = handler
                self._types[step.code] = workflow.name
                self.queues.add(step.queue)

    def spec(self, hash: str) -> WorkflowSpec:
        known = self._specs.get(hash)
        if known is None:
            known = self._specs[hash] = self._store.spec(hash)
        return known

    def handler(self, spec: WorkflowSpec, step: StepSpec) -> Handler:
        """The code of the run's own version where that is here, else of another version that has the same step."""
        return self._own.get((spec.type, spec.version, step.code)) or self._handlers[step.code]

    def routes(self, queues: Iterable[str]) -> frozenset[str]:
        return frozenset(f"{queue}/{code}" for queue in queues for code in self._handlers)

    def type_of(self, route: str) -> str:
        """The workflow to which the steps of a route belong."""
        return self._types[route.rpartition("/")[2]]

    def on_loop(self, route: str, kind: Kind) -> bool:
        """Whether the function for this kind of record is `async def`."""
        handler = self._handlers[route.rpartition("/")[2]]
        return {
            Kind.STEP: handler.is_async,
            Kind.PROBE: handler.probe_is_async,
            Kind.CHECK: handler.verify_is_async,
            Kind.CONDITION: False,
            Kind.COMPENSATION: handler.undo_is_async,
            Kind.COMPENSATION_PROBE: handler.undo_probe_is_async,
            Kind.DRAFT: handler.draft_is_async,
        }[kind]
