"""Lives of a worker of the report: `python -m tests.report.lives` reads requests from stdin, and forks a process for each.

A life starts the run of the day (or finds it), works until the run has ended or asks somebody, and stops. Beside the engine's own points
it names one on each side of whatever it does outside of its database.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import halfway.store.dialects.postgres  # noqa: F401 - so that no life has to load it
from halfway import Halfway, Retry, RunStatus
from halfway.engine.worker import Worker  # noqa: F401
from halfway.store import artifacts
from halfway.store.artifacts import StoreArtifacts
from halfway.testing import KillAt, RecordPoints
from halfway_report import files, generating, reading, saving, upload, workflow
from halfway_report.generators.ollama import Ollama
from halfway_report.generators.wire import Wire
from halfway_report.git import Git
from halfway_report.models import Day
from halfway_report.notion import Notion
from halfway_report.notion_values import DayPages
from halfway_report.settings import ReportSettings
from halfway_report.workflow import DailyReport, daily_report
from tests.crash.program import QUIET, serve

DAY = Day(project="shop", date=date(2026, 9, 30))
OUTSIDE: tuple[tuple[object, str, str], ...] = (
    (Git, "ask", "git"),
    (artifacts, "_fill", "artifact.write"),
    (StoreArtifacts, "_place", "artifact.name"),
    (Wire, "fetch", "model.fetch"),
    (Ollama, "ask", "model.ask"),
    (files, "_write", "file.write"),
    (files, "_publish", "file.name"),
    (files, "_sync_directory", "file.sync"),
    (Notion, "me", "notion.me"),
    (Notion, "columns", "notion.columns"),
    (Notion, "_query", "notion.query"),
    (Notion, "create", "notion.create"),
)


SOON = Retry(6, wait=timedelta(milliseconds=10), max_wait=timedelta(milliseconds=50))
# A death costs an attempt and the wait after it; the numbers of the report are ten seconds and more.
HASTY: tuple[tuple[object, str, object], ...] = (
    (workflow, "Retry", lambda times: SOON),
    (saving, "Retry", lambda times: SOON),
    (generating, "_PATIENT", SOON),
    (upload, "_PATIENT", SOON),
)


class Request(NamedTuple):
    """What a life is to do."""

    settings: str
    url: str
    folder: str
    at: str = ""  # `point:n`, where it kills itself; empty: nowhere


def watch(owner: object, name: str, label: str, reached: Callable[[str], None]) -> None:
    """Names a point before and one after each call."""
    true = getattr(owner, name)

    @functools.wraps(true)
    def watched(*arguments: object, **named: object) -> object:
        reached(f"{label}.before")
        answer = true(*arguments, **named)
        reached(f"{label}.after")
        return answer

    setattr(owner, name, watched)


def live(request: Request) -> None:
    folder = Path(request.folder)
    (folder / "pid").write_text(str(os.getpid()))
    name, _, n = request.at.partition(":")
    points = KillAt(name, int(n)) if request.at else RecordPoints()
    for owner, function, label in OUTSIDE:
        watch(owner, function, label, points.reached)

    def known(day: Day) -> DayPages:
        return reading.day_pages(app, report, day)

    # As `deploy()` does it, with the times of the tests.
    report = daily_report(ReportSettings.model_validate_json(request.settings), known=known)
    app = Halfway(request.url, workflows=[report.workflow], settings=QUIET, points=points, artifacts=folder / "artifacts")
    report.shelf.app = app
    status = work(app, report)
    app.close()
    os.write(1, json.dumps({"status": status, "points": points.seen if isinstance(points, RecordPoints) else []}).encode())


def work(app: Halfway, report: DailyReport) -> RunStatus:
    run = app.start(report.workflow, DAY)
    app.worker(slots=2).start()
    return app.result(run, timeout=timedelta(seconds=60)).status


if __name__ == "__main__":
    for module, name, waits in HASTY:
        setattr(module, name, waits)
    serve(Request, live)
