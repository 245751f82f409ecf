"""The one place where the report asks halfway's Control; everything else here sees these frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from halfway import Halfway


class _View(BaseModel):
    """A value that is written in JSON with the names that halfway uses there."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class StepView(_View):
    """One step of a run, as it stands in the database."""

    name: str
    status: str
    effect: str
    attempts: int
    started_at: datetime | None
    ended_at: datetime | None
    error_code: str
    message: str


class EntryView(_View):
    """One line of the journal."""

    at: datetime
    name: str
    step: str
    data: Mapping[str, object]


class RunView(_View):
    """A run with its steps and its journal."""

    id: str
    status: str
    steps: tuple[StepView, ...]
    journal: tuple[EntryView, ...]

    def step(self, name: str) -> StepView | None:
        """The step with this name, if the run has it."""
        return next((step for step in self.steps if step.name == name), None)

    def count(self, entry: str, step: str) -> int:
        """How often something happened to a step."""
        return sum(line.name == entry and line.step == step for line in self.journal)


class RunLine(_View):
    """A run in a list."""

    id: str
    key: str
    status: str


def show(app: Halfway, run_id: str) -> RunView:
    """What the database knows about a run now; needs no worker."""
    page = app.control.show(run_id)
    return RunView(
        id=run_id,
        status=str(page.status),
        steps=tuple(
            StepView(
                name=step.name,
                status=str(step.status),
                effect=str(step.effect or ""),
                attempts=step.attempts,
                started_at=step.started_at,
                ended_at=step.ended_at,
                error_code=step.error_code or "",
                message=step.message or "",
            )
            for step in page.steps
        ),
        journal=tuple(EntryView(at=line.at, name=line.name, step=line.step or "", data=line.data or {}) for line in page.journal),
    )


def runs(app: Halfway, workflow: str, limit: int) -> tuple[RunLine, ...]:
    """The newest runs of a workflow."""
    return tuple(RunLine(id=row.id, key=row.key or "", status=str(row.status)) for row in app.control.runs(type=workflow, limit=limit))


def resume(app: Halfway, run_id: str, *, actor: str, reason: str) -> None:
    """Orders that a run goes on after what stopped it."""
    app.control.resume(run_id, actor=actor, reason=reason)
