"""What a deployment of the report says about itself. Given to `daily_report()`; nothing is read from a global place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, StringConstraints, model_validator

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


# As Notion shows it, with or without hyphens; an address is no id.
_NotionId = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F-]{32,36}$")]


class NotionProperties(Frozen):
    """What the properties are called that carry the identity of a page. Each is of the kind text."""

    external_id: str = "ExternalId"
    content_hash: str = "ContentHash"
    run_id: str = "RunId"  # which made the page

    @model_validator(mode="after")
    def _distinct(self) -> NotionProperties:
        if len({self.external_id, self.content_hash, self.run_id}) < 3:
            raise ValueError("two of the properties have the same name")
        return self


class NotionSettings(Frozen):
    """Where pages go: a data source, or a database that has only one. The token is named here and read when it is needed."""

    data_source_id: _NotionId | None = None
    database_id: _NotionId | None = None
    properties: NotionProperties = NotionProperties()
    url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")] = "https://api.notion.com"
    token_env: str = "NOTION_TOKEN"
    # Notion may still commit a request 60 s after it came, and its query may lag behind that.
    settle: timedelta = timedelta(seconds=90)
    timeout: timedelta = timedelta(seconds=30)  # of a request

    @model_validator(mode="after")
    def _one_place(self) -> NotionSettings:
        if not self.data_source_id and not self.database_id:
            raise ValueError("name the data source that takes the pages, or a database that has only one")
        return self


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
