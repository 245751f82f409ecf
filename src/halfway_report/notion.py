"""Talks to Notion over HTTP: one POST makes a whole page, one query looks for it. Never retries and never follows a redirect.

A client that repeats a request by itself could say "refused" about a request that was taken before; then nobody could
tell what happened. So every fault leaves this module as httpx2 raised it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Annotated

import httpx2
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from halfway_report.models import Page

VERSION = "2026-03-11"
EXTERNAL_ID, CONTENT_HASH, RUN_ID = "ExternalId", "ContentHash", "RunId"
_BUSY = {429, 529}
_CONNECT = timedelta(seconds=5)


class NotionBusy(Exception):
    """Notion did not take the request and says when to come again."""

    def __init__(self, status: int, after: timedelta) -> None:
        super().__init__(f"Notion answered {status}, and asks to wait {after.total_seconds():.0f} s")
        self.after = after


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A page as we want it; its first heading of level 1 becomes the title."""

    external_id: str
    content_hash: str
    run_id: str
    markdown: str


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A page that carries the external id."""

    page: Page
    content_hash: str
    in_trash: bool


@dataclass(frozen=True, kw_only=True)
class Search:
    """Every page with an external id, trash included; only a complete search can say that there is none."""

    hits: tuple[Hit, ...]
    complete: bool


class _Lenient(BaseModel):
    # Notion adds fields without a new version.
    model_config = ConfigDict(extra="ignore")


class _Text(_Lenient):
    plain_text: str


class _Property(_Lenient):
    rich_text: tuple[_Text, ...] = ()


class _Page(_Lenient):
    id: Annotated[str, StringConstraints(min_length=1)]
    url: str
    in_trash: bool = False
    properties: Mapping[str, _Property] = {}

    def text(self, name: str) -> str:
        return "".join(part.plain_text for part in self.properties.get(name, _Property()).rich_text)

    def page(self) -> Page:
        return Page(id=self.id, url=self.url)


class _Error(_Lenient):
    code: str
    message: str


class _Status(_Lenient):
    type: str = "complete"


class _Answer(_Lenient):
    results: tuple[_Page, ...]
    has_more: bool = False
    request_status: _Status = Field(default_factory=_Status)


class Notion:
    """One data source, reached with one token; `remaining` says before each request how long it may take."""

    def __init__(self, url: str, token: str, data_source_id: str, *, remaining: Callable[[], timedelta]) -> None:
        self._source = data_source_id
        self._remaining = remaining
        self._client = httpx2.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}", "Notion-Version": VERSION},
            follow_redirects=False,
        )

    def __enter__(self) -> Notion:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self._client.close()

    def create(self, draft: Draft) -> Page:
        """Makes the page with all its properties and all its content; whatever this raises, only NotionBusy says that nothing happened."""
        properties = {EXTERNAL_ID: draft.external_id, CONTENT_HASH: draft.content_hash, RUN_ID: draft.run_id}
        answer = self._post(
            "/v1/pages",
            {
                "parent": {"type": "data_source_id", "data_source_id": self._source},
                "properties": {name: {"rich_text": [{"text": {"content": value}}]} for name, value in properties.items()},
                "markdown": draft.markdown,
            },
        )
        return _Page.model_validate_json(answer.content).page()

    def find(self, external_id: str) -> Search:
        """Looks for the external id among the living pages and in the trash."""
        live, trashed = self._query(external_id, in_trash=False), self._query(external_id, in_trash=True)
        return Search(hits=live.hits + trashed.hits, complete=live.complete and trashed.complete)

    def _query(self, external_id: str, *, in_trash: bool) -> Search:
        answer = self._post(
            f"/v1/data_sources/{self._source}/query",
            {"filter": {"property": EXTERNAL_ID, "rich_text": {"equals": external_id}}, "in_trash": in_trash, "page_size": 10},
        )
        found = _Answer.model_validate_json(answer.content)
        return Search(
            hits=tuple(Hit(page=page.page(), content_hash=page.text(CONTENT_HASH), in_trash=page.in_trash) for page in found.results),
            complete=found.request_status.type == "complete" and not found.has_more,
        )

    def _post(self, path: str, body: Mapping[str, object]) -> httpx2.Response:
        response = self._client.post(path, json=body, timeout=_timeout(self._remaining()))
        if response.status_code in _BUSY:
            raise NotionBusy(response.status_code, _retry_after(response))
        if not response.is_success:
            raise httpx2.HTTPStatusError(_reason(response), request=response.request, response=response)
        return response


def _timeout(remaining: timedelta) -> httpx2.Timeout:
    # Ours must come before the engine's, so that a slow answer ends as a read timeout.
    seconds = max(0.1, remaining.total_seconds() * 0.9)
    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECT.total_seconds()))


def _reason(response: httpx2.Response) -> str:
    """The status and the vendor's own words, which say more than the status; the edge answers in HTML and has none."""
    try:
        error = _Error.model_validate_json(response.content)
    except ValidationError:
        error = _Error(code=response.reason_phrase, message="no explanation was given")
    return f"Notion answered {response.status_code} {error.code}: {error.message}"


def _retry_after(response: httpx2.Response) -> timedelta:
    seconds = response.headers.get("Retry-After", "")
    return timedelta(seconds=int(seconds) if seconds.isdigit() else 30)
