"""Where a command works: the file `report.toml`, the workflow it describes, and the database of its runs."""

from __future__ import annotations

import difflib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from halfway import Halfway
from halfway_report.configuration import Configuration, find, read
from halfway_report.days import DayName, named_day
from halfway_report.deployment import deploy
from halfway_report.language import _
from halfway_report.models import Day
from halfway_report.settings import ProjectSettings
from halfway_report.workflow import DailyReport


@dataclass(frozen=True, kw_only=True)
class Site:
    """A deployment that is open for one command."""

    configuration: Configuration
    report: DailyReport
    app: Halfway

    def day(self, project: str, wanted: date | DayName | None) -> Day:
        """The day that is meant, in the zone of the project."""
        return day_of(self.configuration, project, wanted)


def configured(config: Path | None) -> Configuration:
    """The file that was named, or the nearest one."""
    return read(config or find(Path.cwd()))


@contextmanager
def opened(config: Path | None, *, no_llm: bool = False, quiet: bool = True) -> Generator[Site, None, None]:
    """Opens the deployment that the file describes; its database is made at its first use. quiet: as `deploy()` has it."""
    configuration = configured(config)
    settings = configuration.settings
    if no_llm and settings.llm is not None:
        settings = settings.model_copy(update={"llm": None, "language": settings.llm.language})
    deployment = deploy(settings, configuration.database, artifacts=configuration.artifacts, quiet=quiet)
    try:
        yield Site(configuration=configuration, report=deployment.report, app=deployment.app)
    finally:
        deployment.app.close()


def day_of(configuration: Configuration, project: str, wanted: date | DayName | None) -> Day:
    """The day that is meant, in the zone of the project; today if nothing was said."""
    settings = known_project(configuration, project)
    now = datetime.now(ZoneInfo(settings.zone))
    return Day(project=project, date=wanted if isinstance(wanted, date) else named_day(wanted or "today", now, settings.calendar))


def known_project(configuration: Configuration, project: str) -> ProjectSettings:
    """The settings of a project; a mistake in its name is told with the nearest one."""
    projects = configuration.settings.projects
    if project in projects:
        return projects[project]
    near = difflib.get_close_matches(project, projects, n=1)
    told = _("{file} has no project {project}; known: {known}.").format(
        file=configuration.path, project=project, known=", ".join(sorted(projects)) or "-"
    )
    raise click.UsageError(told + (f" {_('Did you mean {name}?').format(name=near[0])}" if near else ""), click.get_current_context())
