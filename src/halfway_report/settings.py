"""What a deployment of the report says about itself. Given to `daily_report()`; nothing is read from a global place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from halfway_report.days import DayName, known_calendar
from halfway_report.kinds import unwanted
from halfway_report.models import Basis, Frozen, Slug


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"no such time zone: {name}") from error
    return name


def _matching(pattern: str, otherwise: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if re.search(pattern, text) is None:
            raise ValueError(f"{otherwise}: {text}")
        return text

    return check


def _pattern(text: str) -> str:
    try:
        matches_nothing = re.compile(text).match("") is not None
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    if matches_nothing:
        raise ValueError("this expression matches the empty text, so it would match everywhere")
    return text


# What git itself would refuse as a branch, and whatever could be read as an option or a range.
_BRANCH = r"^(?!.*(?:\.\.|@\{|//|\.lock(?:/|$)))[^\s\x00-\x1f\x7f~^:?*\[\\./-][^\s\x00-\x1f\x7f~^:?*\[\\]*(?<![./])$"

Expression: TypeAlias = Annotated[str, AfterValidator(_pattern)]
Branch: TypeAlias = Annotated[str, StringConstraints(max_length=200), AfterValidator(_matching(_BRANCH, "no name of a branch"))]


def _file_pattern(text: str) -> str:
    try:
        unwanted([text])
    except re.error:
        raise ValueError("no pattern of .gitignore") from None
    return text


class PersonalData(Frozen):
    """What is taken out of texts beside secrets, before anything stores or sends them."""

    emails: bool = True
    names: tuple[Annotated[str, StringConstraints(min_length=2)], ...] = ()
    patterns: Mapping[Slug, Expression] = {}


class ProjectSettings(Frozen):
    """One project: its repositories, whose midnight ends its day, and what of a day is told."""

    repositories: tuple[Path, ...] = Field(min_length=1)
    zone: Annotated[str, AfterValidator(_known_zone)] = "UTC"
    calendar: Annotated[str, AfterValidator(known_calendar)] | None = None  # whose holidays; KR or US-NY
    basis: Basis = "author"
    branch: Branch | None = None  # where work lands; HEAD if left out
    remotes: bool = False  # whether what was fetched of other people's branches counts
    exclude_authors: tuple[Expression, ...] = ()  # looked for in `Name <address>`, whatever the case
    show_authors: bool = False
    personal: PersonalData = PersonalData()
    drop: tuple[Annotated[str, AfterValidator(_file_pattern)], ...] = ()  # files that are counted only, as in .gitignore
    context_tokens: Annotated[int, Field(ge=500)] = 24_000

    @model_validator(mode="after")
    def _branch_is_used(self) -> Self:
        if self.branch is not None and self.basis != "landed":
            raise ValueError("a branch is only asked for where the basis is landed")
        return self


# As Notion shows it, with or without hyphens; an address is no id.
_NotionId = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F-]{32,36}$")]


# In capitals, as everywhere, so that a token that was written here by mistake is not taken for a name and repeated.
VARIABLE = r"^[A-Z_][A-Z0-9_]{0,63}$"
_Variable = Annotated[str, StringConstraints(pattern=VARIABLE)]


def without_userinfo(url: str) -> str:
    """An address as it may be shown: without a name and a password before the host."""
    before, slashes, rest = url.rpartition("://")
    place, slash, path = rest.partition("/")
    # A password may hold a slash, which ends the host for everybody else.
    return f"{before}{slashes}{rest.rpartition('@')[2] if '@' in rest else place + slash + path}"


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


_Span = Annotated[timedelta, Field(gt=timedelta(0))]
Mode: TypeAlias = Literal["whole", "structured", "map"]
TRIES, GENERATIONS = 5, 3  # of a model that does not answer; of a report that is none


class LlmSettings(Frozen):
    """Which model writes, and how long it may take. A key is named here and read from the environment when it is needed.

    whole: the model writes Markdown. structured: it fills in a JSON schema. map: it writes one sentence for each commit.
    """

    provider: Literal["ollama", "openai"] = "ollama"  # openai: any server that is compatible with it
    base_url: str = "http://127.0.0.1:11434"
    model: str = Field(min_length=1)
    mode: Mode = "map"
    language: Literal["en", "ko"] = "en"
    num_ctx: int = Field(default=8192, ge=512)  # tokens; of an OpenAI-compatible server as it was started
    num_predict: int = Field(default=1500, ge=16)
    temperature: float = Field(default=0.2, ge=0, le=2)
    seed: int = Field(default=7, ge=0)
    think: bool = False  # asked of a model that can
    connect_timeout: _Span = timedelta(seconds=3)
    # Also the longest silence between two tokens: a large prompt is read before the first one comes.
    first_token_timeout: _Span = timedelta(seconds=300)
    total_timeout: _Span = timedelta(seconds=900)
    api_key_env: _Variable | None = None


class NotionSettings(Frozen):
    """Where pages go: a data source, or a database that has only one. The token is named here and read when it is needed."""

    data_source_id: _NotionId | None = None
    database_id: _NotionId | None = None
    properties: NotionProperties = NotionProperties()
    url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")] = "https://api.notion.com"
    token_env: _Variable = "NOTION_TOKEN"
    # Notion may still commit a request 60 s after it came, and its query may lag behind that.
    settle: Annotated[timedelta, Field(ge=timedelta(0))] = timedelta(seconds=90)
    timeout: _Span = timedelta(seconds=30)  # of a request

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
    """Everything the daily report needs to know; without `notion` it ends with the Markdown file, without `llm` no model writes it."""

    projects: Mapping[Slug, ProjectSettings]
    out: Path
    llm: LlmSettings | None = None
    notion: NotionSettings | None = None
    owner: str = "report-owner"
    language: Literal["en", "ko"] = "en"  # of a report that no model writes
    schedules: Mapping[Slug, ScheduleSettings] = {}  # by project

    @model_validator(mode="after")
    def _of_known_projects(self) -> ReportSettings:
        if unknown := sorted(self.schedules.keys() - self.projects.keys()):
            raise ValueError(f"schedules.{unknown[0]}: there is no project {unknown[0]}")
        return self
