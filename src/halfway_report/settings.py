"""What a deployment of the report says about itself. Given to `daily_report()`; nothing is read from a global place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, model_validator

from halfway_report.dates import DayName
from halfway_report.models import Basis, Frozen, Slug


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"no such time zone: {name}") from error
    return name


class ProjectSettings(Frozen):
    """One project: its repositories, and whose midnight ends its day."""

    repositories: tuple[Path, ...] = Field(min_length=1)
    zone: Annotated[str, AfterValidator(_known_zone)] = "UTC"
    basis: Basis = "author"


class NotionSettings(Frozen):
    """Where pages go. The token is named here and read from the environment when it is needed."""

    data_source_id: str
    url: str = "https://api.notion.com"
    token_env: str = "NOTION_TOKEN"
    # Notion may still commit a request 60 s after it came, and its query may lag behind that.
    settle: timedelta = timedelta(seconds=90)
    timeout: timedelta = timedelta(seconds=30)


class ScheduleSettings(Frozen):
    """When the report of a project starts by itself, by the clock of the project's zone, and about which day it then is."""

    cron: str  # minute, hour, day, month, day of the week
    date: DayName = "today"
    catch_up: Literal["SKIP", "ONE", "ALL"] = "ONE"  # which starts are made up for after an outage


class ReportSettings(Frozen):
    """Everything the daily report needs to know; without `notion` it ends with the Markdown file."""

    projects: Mapping[Slug, ProjectSettings]
    out: Path
    notion: NotionSettings | None = None
    owner: str = "report-owner"
    schedules: Mapping[Slug, ScheduleSettings] = {}  # by project

    @model_validator(mode="after")
    def _of_known_projects(self) -> ReportSettings:
        if unknown := sorted(self.schedules.keys() - self.projects.keys()):
            raise ValueError(f"schedules.{unknown[0]}: there is no project {unknown[0]}")
        return self
