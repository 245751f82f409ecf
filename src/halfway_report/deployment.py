"""Puts settings and a database together: the report as a program that runs somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from halfway import Halfway
from halfway_report import reading
from halfway_report.models import Day
from halfway_report.notion_values import DayPages
from halfway_report.settings import ReportSettings
from halfway_report.workflow import DailyReport, daily_report


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The report with its database, ready to start runs or to serve them."""

    report: DailyReport
    app: Halfway


def deploy(settings: ReportSettings, url: str, *, artifacts: Path | None = None, quiet: bool = False) -> Deployment:
    """Builds the workflow and the engine; nothing is touched until one of them is used.

    quiet: the log is not told when a person is needed, for somebody looks on.
    """

    def known(day: Day) -> DayPages:
        return reading.day_pages(app, report, day)

    report = daily_report(settings, known=known)
    app = Halfway(url, workflows=[report.workflow], artifacts=artifacts, notify=[] if quiet else None)
    report.shelf.app = app
    return Deployment(report=report, app=app)
