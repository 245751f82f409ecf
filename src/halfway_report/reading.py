"""The one place where the report asks halfway's Control; everything else here sees these frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from halfway import Halfway
from halfway.errors import NotFound
from halfway_report.models import Day, Page
from halfway_report.notion_values import DayPages, StoredPage
from halfway_report.workflow import NAME, DailyReport

_MOST = 1000  # runs of one day


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


def day_pages(app: Halfway, report: DailyReport, day: Day) -> DayPages:
    """What the runs of a day know about its page at Notion; a run that failed or whose history was deleted knows none."""
    keys = {row.id: row.key or "" for row in app.control.runs(type=NAME, search=day.key, limit=_MOST)}
    ids = {run_id: number for run_id, key in keys.items() if (number := _number(key, day.key)) > 0}
    page: Page | None = None
    sha256 = maker = ""
    for run_id in sorted(ids, key=ids.__getitem__):
        if (uploaded := _uploaded(app, report, run_id)) is not None:
            maker = run_id if page is None or page.id != uploaded[0].id else maker
            page, sha256 = uploaded
    stored = None if page is None else StoredPage(page=page, content_hash=sha256, run_id=maker)
    complete = sorted(ids.values()) == list(range(1, len(ids) + 1)) and app.control.gone(day.key) is None
    return DayPages(runs=frozenset(ids), page=stored, complete=complete)


def _number(key: str, day: str) -> int:
    """Which run of the day it is that has this key: that of the second one ends in #2. 0 for one of another day."""
    name, _, number = key.partition("#")
    return 0 if name != day else int(number or 1)


def _uploaded(app: Halfway, report: DailyReport, run_id: str) -> tuple[Page, str] | None:
    if report.upload_notion is None:
        return None
    try:
        run = app.get(report.workflow, run_id)
        return run.output(report.upload_notion), run.output(report.generate_report).sha256
    except NotFound:
        return None
