"""Stored definitions: immutable, so each is read once in a process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from halfway.domain.spec import ScheduleSpec, WorkflowSpec
from halfway.errors import NotFound
from halfway.store.database import Session, Work


class Definitions:
    """Definitions by hash, and the routes of their steps."""

    def __init__(self) -> None:
        self._specs: dict[str, WorkflowSpec] = {}
        self._routes: dict[str, Mapping[str, str]] = {}

    def cached(self, hash: str) -> WorkflowSpec | None:
        return self._specs.get(hash)

    def remember(self, spec: WorkflowSpec) -> None:
        """Only what is committed may be remembered."""
        self._specs[spec.hash] = spec

    def spec(self, session: Session, hash: str) -> WorkflowSpec:
        spec = self._specs.get(hash)
        if spec is None:
            rows = session.rows("spec", hash=hash)
            if not rows:
                raise NotFound("WORKFLOW_UNKNOWN", workflow=f"with definition {hash[:12]}", known="those that were registered")
            spec = self._specs[hash] = WorkflowSpec.from_json(rows[0][0])
        return spec

    def routes(self, session: Session, hash: str) -> Mapping[str, str]:
        routes = self._routes.get(hash)
        if routes is None:
            routes = self._routes[hash] = routes_of(self.spec(session, hash))
        return routes


def routes_of(spec: WorkflowSpec) -> dict[str, str]:
    return {step.name: step.route for step in spec.steps}


def register(session: Session, specs: Iterable[WorkflowSpec]) -> None:
    """Keeps definitions, in order of hash, so that two workers that start together do not wait for each other in a circle.

    What starts runs of a workflow, by an event or at a time, is what its newest version says.
    """
    by_hash = {spec.hash: spec for spec in specs}
    rows = [(hash, spec.type, spec.version, spec.to_json(), session.now) for hash, spec in sorted(by_hash.items())]
    works = [Work("register", rows)]
    for spec in sorted(by_hash.values(), key=lambda spec: (spec.type, spec.version, spec.hash)):
        works.append(Work("clear_triggers", [(spec.type, spec.version)]))
        triggers = sorted((spec.type, trigger.kind, trigger.name, _spaced(trigger.statuses), spec.version) for trigger in spec.triggers)
        if triggers:
            works.append(Work("put_trigger", triggers))
    session.many(works)
    for spec in sorted(by_hash.values(), key=lambda spec: (spec.type, spec.version, spec.hash)):
        _register_schedules(session, spec)


def schedule_text(spec: ScheduleSpec) -> str:
    """A schedule as it is kept: the same one gives the same text."""
    return json.dumps(asdict(spec), sort_keys=True)


def _register_schedules(session: Session, spec: WorkflowSpec) -> None:
    """Schedules are what the newest version of their workflow says."""
    names = [one.name for one in spec.schedules]
    if session.run("retire_schedules", type=spec.type, names=names, version=spec.version, now=session.now):
        session.run("skip_retired_ticks", type=spec.type, now=session.now)
    for one in sorted(spec.schedules, key=lambda one: one.name):
        session.run("put_schedule", type=spec.type, name=one.name, version=spec.version, spec=schedule_text(one), now=session.now)


def _spaced(statuses: Iterable[str]) -> str:
    """Each between spaces, so that one is found in the text whole."""
    names = " ".join(statuses)
    return f" {names} " if names else ""
