"""The one place where the report asks halfway's Control; everything else here sees these frozen values."""

from __future__ import annotations

import json
import os
import re
import socket
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from halfway import Halfway
from halfway.errors import Conflict, NotFound
from halfway_report.models import Day, Page
from halfway_report.notion_values import DayPages, StoredPage
from halfway_report.workflow import NAME, DailyReport

Kept: TypeAlias = Literal["report", "context", "prompt"]
_NAMES: Mapping[Kept, re.Pattern[str]] = {
    "report": re.compile(r"report(?:-\d+)?\.md"),
    "context": re.compile(r"context\.json"),
    "prompt": re.compile(r"prompt.*"),
}
UPLOAD = "UPLOAD_NOTION"
_SENTENCE = re.compile(r"sentence-.*\.json")  # what the mode map keeps of each question
_OF_ONE_DAY = 1000


@dataclass(frozen=True, kw_only=True)
class ArtifactView:
    """Something that a step has stored."""

    name: str
    sha256: str
    created_at: str  # RFC 3339, UTC: its order is the order of time


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One step of a run, as it stands in the database."""

    name: str
    kind: str  # READ, CREATE, …
    status: str
    effect: str  # what is known about it: none, happened, not, unknown
    attempts: int
    round: int  # from 1; of a step that was sent back, which time this is
    asks: str  # the role that must decide; empty if nobody is asked
    output: object  # JSON
    artifacts: tuple[ArtifactView, ...]
    effect_began_at: datetime | None  # of the last attempt
    started_at: datetime | None
    ended_at: datetime | None
    error_code: str  # of its undo, if that needs a person
    message: str
    undo: str = ""  # how far its undo is; empty if there is none


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
    key: str
    day: Day
    status: str
    undoing: bool = False
    steps: tuple[StepView, ...]
    journal: tuple[EntryView, ...]
    document: Mapping[str, object]

    def step(self, name: str) -> StepView:
        """The step with this name."""
        return next(step for step in self.steps if step.name == name)

    def said(self, step: str, field: str) -> str:
        """A field of what a step returned; empty if it has not."""
        output = next((one.output for one in self.steps if one.name == step), None)
        return str(output.get(field) or "") if isinstance(output, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - JSON

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


def show(app: Halfway, run_id: str, *, journal: bool = True) -> RunView:
    """What the database knows about a run now; needs no worker."""
    page = app.control.show(run_id, journal=journal)
    return RunView(
        id=page.id,
        key=page.key or "",
        day=Day.model_validate(page.input),
        status=page.status.value,
        undoing=page.undo is not None,
        steps=tuple(
            StepView(
                name=step.name,
                kind=step.kind,
                status=step.status,
                effect=step.effect,
                attempts=step.attempts,
                round=step.round,
                asks=step.waits_for,
                output=step.output,
                artifacts=tuple(
                    ArtifactView(name=one["name"], sha256=one["sha256"], created_at=one["createdAt"]) for one in step.artifacts
                ),
                effect_began_at=next((attempt.effect_began_at for attempt in reversed(step.history) if attempt.kind == "STEP"), None),
                started_at=step.started_at,
                ended_at=step.ended_at,
                error_code=step.error_code if step.undo is None else step.undo.code or step.error_code,
                message=step.message if step.undo is None else step.undo.message or step.message,
                undo="" if step.undo is None else step.undo.status,
            )
            for step in page.steps
        ),
        journal=tuple(EntryView(at=line.at, name=line.name, step=line.step, data=line.data) for line in page.journal),
        document=page.to_json(),
    )


def runs(app: Halfway, workflow: str, limit: int, *, status: str | None = None, search: str | None = None) -> tuple[RunLine, ...]:
    """The newest runs of a workflow."""
    return tuple(
        RunLine(id=row.id, key=row.key or "", status=row.status.value, document=row.to_json())
        for row in app.control.runs(type=workflow, status=status, search=search, limit=limit)
    )


def of_day(app: Halfway, workflow: str, day: Day) -> tuple[RunView, ...]:
    """The runs that report a day, the first revision first."""
    found = [row for row in runs(app, workflow, _OF_ONE_DAY, search=day.key) if day.place_of(row.key) is not None]
    return tuple(sorted((show(app, row.id, journal=False) for row in found), key=lambda view: view.day.revision))


def kept(app: Halfway, view: RunView, what: Kept, number: int | None = None) -> bytes | None:
    """What a run has stored, its hash checked; None if there is none.

    number: of which generation, as `attempts()` counts them; by default the one in use, or the newest.
    """
    stored = sorted((one for step in view.steps for one in step.artifacts), key=lambda one: one.created_at)
    found = [one for one in stored if _NAMES[what].fullmatch(one.name)]
    if what == "prompt" and not found:
        return _questions(app, [one for one in stored if _SENTENCE.fullmatch(one.name)])
    if number is not None and what != "context":
        found = [one for one in found if re.fullmatch(rf"{what}-{number}\.\w+", one.name)]
    elif what == "report" and (chosen := view.said("VALIDATE_REPORT", "sha256")):
        found = [one for one in found if one.sha256 == chosen] or found
    return app.store.artifacts.get(found[-1].sha256) if found else None


def _questions(app: Halfway, sentences: Iterable[ArtifactView]) -> bytes | None:
    """What a model was asked in the mode map, once for each sentence."""
    asked = [str(json.loads(app.store.artifacts.get(one.sha256) or b"{}").get("prompt", "")) for one in sentences]
    return "\n\n---\n\n".join(asked).encode() + b"\n" if asked else None


def workers(app: Halfway) -> int:
    """How many worker processes are alive; one that was killed on this machine counts no more, though nobody has noted it yet."""
    return sum(row.epoch.state == "ALIVE" and not _gone(row.epoch.host, row.epoch.pid) for row in app.control.workers())


def _gone(host: str, pid: int) -> bool:
    if host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


# ── orders ──


def resume(app: Halfway, run_id: str, *, actor: str, reason: str) -> None:
    """Orders that a run goes on after what stopped it."""
    app.control.resume(run_id, actor=actor, reason=reason)


def retry(app: Halfway, run_id: str, step: str, *, actor: str, reason: str, evidence: str | None = None) -> None:
    """Orders that a step gets its attempts anew; with evidence, that what nobody knows of did not happen."""
    app.control.retry(run_id, step, actor=actor, reason=reason, not_happened=evidence is not None, evidence=evidence)


def hurry(app: Halfway, view: RunView, *, actor: str, reason: str) -> None:
    """Orders that what would be tried again later is tried now; where it has begun meanwhile, nothing is left to do."""
    for step in view.steps:
        if step.status == "PENDING" and step.attempts:
            try:
                app.control.retry(view.id, step.name, actor=actor, reason=reason)
            except Conflict:
                continue


def probe(app: Halfway, run_id: str, step: str, *, actor: str, reason: str) -> None:
    """Orders that the outside world is asked again what became of a step."""
    app.control.probe(run_id, step, actor=actor, reason=reason)


def skip(app: Halfway, run_id: str, step: str, *, actor: str, reason: str) -> None:
    """Orders that a run goes on without a step."""
    app.control.skip(run_id, step, actor=actor, reason=reason)


def cancel(app: Halfway, run_id: str, *, actor: str, reason: str, undo: bool) -> None:
    """Asks a run to stop; with `undo` what it has made is taken back."""
    app.control.cancel(run_id, actor=actor, reason=reason, undo=undo)


# ── the pages of a day ──


def day_pages(app: Halfway, report: DailyReport, day: Day) -> DayPages:
    """What the runs of a day know about its page at Notion; a run that failed or whose history was deleted knows none."""
    found = {row.id: day.place_of(row.key) for row in runs(app, NAME, _OF_ONE_DAY, search=day.key)}
    places = {run_id: place for run_id, place in found.items() if place is not None}
    page: Page | None = None
    sha256 = maker = ""
    for run_id in sorted(places, key=places.__getitem__):
        if (uploaded := _uploaded(app, report, run_id)) is not None:
            maker = run_id if page is None or page.id != uploaded[0].id else maker
            page, sha256 = uploaded
        elif page is not None and _has_begun(app, run_id, UPLOAD):
            sha256 = ""  # it may have put its text there, and ended before it could say so
    stored = None if page is None else StoredPage(page=page, content_hash=sha256, run_id=maker)
    complete = _without_gaps(places.values()) and app.control.gone(day.key) is None
    later = (run_id for run_id, (revision, _) in places.items() if revision > day.revision)
    newer = next((run_id for run_id in later if _has_begun(app, run_id, UPLOAD)), None)
    return DayPages(runs=frozenset(places), page=stored, complete=complete, newer=newer)


def _has_begun(app: Halfway, run_id: str, name: str) -> bool:
    """Whether a step of a run has ever begun to change something."""
    steps = app.control.show(run_id, journal=False).steps
    attempts = (attempt for step in steps if step.name == name for attempt in step.history)
    return any(attempt.kind == "STEP" and attempt.effect_began_at is not None for attempt in attempts)


def _without_gaps(places: Iterable[tuple[int, int]]) -> bool:
    """Whether every revision of a day is there, and every run of each."""
    times: defaultdict[int, set[int]] = defaultdict(set)
    for revision, time in places:
        times[revision].add(time)
    return all(found == set(range(1, len(found) + 1)) for found in (set(times), *times.values()))


def _uploaded(app: Halfway, report: DailyReport, run_id: str) -> tuple[Page, str] | None:
    if report.upload_notion is None:
        return None
    try:
        run = app.get(report.workflow, run_id)
        return run.output(report.upload_notion), run.output(report.validate_report).sha256
    except NotFound:
        return None
