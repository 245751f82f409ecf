"""What a deployment of the report says about itself. Given to `daily_report()`; nothing is read from a global place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field

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
    connect_timeout: timedelta = timedelta(seconds=3)
    # Also the longest silence between two tokens: a large prompt is read before the first one comes.
    first_token_timeout: timedelta = timedelta(seconds=300)
    total_timeout: timedelta = timedelta(seconds=900)
    api_key_env: str | None = None

    @property
    def longest(self) -> timedelta:
        """How long a run can spend with the model when everything goes wrong."""
        return GENERATIONS * (TRIES * (self.total_timeout + self.first_token_timeout) + timedelta(minutes=20))


class NotionSettings(Frozen):
    """Where pages go. The token is named here and read from the environment when it is needed."""

    data_source_id: str
    url: str = "https://api.notion.com"
    token_env: str = "NOTION_TOKEN"
    # Notion may still commit a request 60 s after it came, and its query may lag behind that.
    settle: timedelta = timedelta(seconds=90)
    timeout: timedelta = timedelta(seconds=30)


class ReportSettings(Frozen):
    """Everything the daily report needs to know; without `notion` it ends with the Markdown file, without `llm` no model writes it."""

    projects: Mapping[Slug, ProjectSettings]
    out: Path
    llm: LlmSettings | None = None
    notion: NotionSettings | None = None
    owner: str = "report-owner"
