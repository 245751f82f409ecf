"""The one place where the report asks halfway's Control; everything else here sees these frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from halfway import Halfway


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One step of a run, as it stands in the database."""

    name: str
    kind: str  # READ, CREATE, …
    status: str
    effect: str  # what is known about it: none, happened, not, unknown
    attempts: int
    effect_began_at: datetime | None  # of the last attempt
    ended_at: datetime | None
    error_code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class EntryView:
    """One line of the journal."""

    at: datetime
    name: str
    step: str
    data: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class RunView:
    """A run with its steps and its journal; `document` is all of it, as JSON has it."""

    id: str
    status: str
    steps: tuple[StepView, ...]
    journal: tuple[EntryView, ...]
    document: Mapping[str, object]

    def step(self, name: str) -> StepView:
        """The step with this name."""
        return next(step for step in self.steps if step.name == name)

    def count(self, entry: str, step: str) -> int:
        """How often something happened to a step."""
        return sum(line.name == entry and line.step == step for line in self.journal)


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """A run in a list; `document` is all of it, as JSON has it."""

    id: str
    key: str
    status: str
    document: Mapping[str, object]


def show(app: Halfway, run_id: str) -> RunView:
    """What the database knows about a run now; needs no worker."""
    page = app.control.show(run_id)
    return RunView(
        id=page.id,
        status=page.status.value,
        steps=tuple(
            StepView(
                name=step.name,
                kind=step.kind,
                status=step.status,
                effect=step.effect,
                attempts=step.attempts,
                effect_began_at=next((attempt.effect_began_at for attempt in reversed(step.history) if attempt.kind == "STEP"), None),
                ended_at=step.ended_at,
                error_code=step.error_code,
                message=step.message,
            )
            for step in page.steps
        ),
        journal=tuple(EntryView(at=line.at, name=line.name, step=line.step, data=line.data) for line in page.journal),
        document=page.to_json(),
    )


def runs(app: Halfway, workflow: str, limit: int) -> tuple[RunLine, ...]:
    """The newest runs of a workflow."""
    return tuple(
        RunLine(id=row.id, key=row.key or "", status=row.status.value, document=row.to_json())
        for row in app.control.runs(type=workflow, limit=limit)
    )


def resume(app: Halfway, run_id: str, *, actor: str, reason: str) -> None:
    """Orders that a run goes on after what stopped it."""
    app.control.resume(run_id, actor=actor, reason=reason)
