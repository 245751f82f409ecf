"""Talks to Notion through its client, `notion-client`: the only module that knows it. Never retries and never follows a redirect.

A client that repeats a request by itself could say "refused" about a request that was taken before; then nobody could
tell what happened. So its retries are off, and every fault leaves this module as a NotionError that says what it proves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Annotated, TypeVar

import httpx
import notion_client
from notion_client.errors import HTTPResponseError, RequestTimeoutError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from halfway_report import notion_faults
from halfway_report.models import Page
from halfway_report.notion_markdown import cut, for_notion, title_of, without_title
from halfway_report.notion_values import Draft, Fate, Hit, NotionError, Search
from halfway_report.settings import NotionProperties

VERSION = "2026-03-11"
_CONNECT = timedelta(seconds=5)
# The client writes a line about every failure; the run says it better.
_log = logging.getLogger("halfway_report.notion_client")
_Answer = TypeVar("_Answer", bound=BaseModel)


class _Lenient(BaseModel):
    # Notion adds fields without a new version.
    model_config = ConfigDict(extra="ignore")


class _Text(_Lenient):
    plain_text: str


class _Property(_Lenient):
    rich_text: tuple[_Text, ...] = ()


class _User(_Lenient):
    id: str
    type: str = ""


class _Page(_Lenient):
    id: Annotated[str, StringConstraints(min_length=1)]
    url: str
    in_trash: bool = False
    last_edited_by: _User | None = None
    properties: Mapping[str, _Property] = {}

    def text(self, name: str) -> str:
        return "".join(part.plain_text for part in self.properties.get(name, _Property()).rich_text)

    def page(self) -> Page:
        return Page(id=self.id, url=self.url)


class _Status(_Lenient):
    type: str = "complete"


class _Found(_Lenient):
    results: tuple[_Page, ...]
    has_more: bool = False
    request_status: _Status = Field(default_factory=_Status)


class _Column(_Lenient):
    type: str


class _Source(_Lenient):
    properties: Mapping[str, _Column]


class _Named(_Lenient):
    id: str
    name: str = ""


class _Database(_Lenient):
    data_sources: tuple[_Named, ...] = ()


class _Any(_Lenient):
    object: str


class Notion:
    """One connection, with one token; `patience` says before each request how long it may take."""

    def __init__(self, url: str, token: str, names: NotionProperties, *, patience: Callable[[], timedelta]) -> None:
        self._names = names
        self._patience = patience
        self._bot: str | None = None
        self._http = httpx.Client(follow_redirects=False)
        self._client = notion_client.Client(
            client=self._http,
            auth=token,
            base_url=url.rstrip("/"),
            notion_version=VERSION,
            retry=False,
            logger=_log,
            log_level=logging.CRITICAL,
        )

    def __enter__(self) -> Notion:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self._http.close()

    def me(self) -> str:
        """The id of the bot as whom this connection edits pages; empty for the token of a person, whose own edits look the same."""
        if self._bot is None:
            with self._asking():
                user = _read(_User, self._client.users.me())
            self._bot = user.id if user.type == "bot" else ""
        return self._bot

    def data_sources(self, database_id: str) -> Mapping[str, str]:
        """The data sources of a database: name by id."""
        with self._asking():
            return {source.id: source.name for source in _read(_Database, self._client.databases.retrieve(database_id)).data_sources}

    def columns(self, source: str) -> Mapping[str, str]:
        """The properties that a data source has: kind by name."""
        with self._asking():
            return {name: column.type for name, column in _read(_Source, self._client.data_sources.retrieve(source)).properties.items()}

    def find(self, source: str, external_id: str) -> Search:
        """Looks for the external id among the living pages and in the trash."""
        seen = [self._query(source, external_id, in_trash=False), self._query(source, external_id, in_trash=True)]
        if not any(search.hits for search in seen):
            # Somebody may have taken it out of the trash between the two.
            seen.append(self._query(source, external_id, in_trash=False))
        # What was moved in between was seen twice, and is where it was seen last.
        hits = {hit.page.id: hit for search in seen for hit in search.hits}
        return Search(hits=tuple(hits.values()), complete=all(search.complete for search in seen))

    def get(self, page_id: str) -> Hit | None:
        """One page, also from the trash; None if Notion does not show it."""
        try:
            with self._asking():
                page = _read(_Page, self._client.pages.retrieve(page_id))
        except NotionError as error:
            if error.status == 404:
                return None
            raise
        return self._hit(page)

    def create(self, source: str, draft: Draft, *, by_property: bool) -> Page:
        """Makes the page with all its properties and all its content in one request."""
        properties = self._identity(draft) if by_property else {}
        title, markdown = title_of(draft.markdown), draft.markdown
        if cut(title) != title:
            properties, markdown = {**properties, "title": {"title": _text(cut(title))}}, without_title(markdown)
        parent = {"type": "data_source_id", "data_source_id": source}
        with self._asking():
            answer = self._client.pages.create(parent=parent, properties=properties, markdown=for_notion(markdown))
            return _read(_Page, answer).page()

    def update(self, page: Page, draft: Draft, *, by_property: bool) -> Page:
        """Takes the page's hash away, puts the draft's content in place of its own, and then the new hash; RunId stays as it is.

        A page between two contents has no hash, so no other text is ever taken for the one that it has. Whatever fails in the last request
        is "lost": the page has its new content, and nobody wrote down which.
        """
        content = {"new_str": for_notion(without_title(draft.markdown)), "allow_deleting_content": True}
        if by_property:
            self._put_hash(page, "")
        with self._asking():
            _read(_Any, self._client.pages.update_markdown(page.id, type="replace_content", replace_content=content))
        if by_property:
            try:
                self._put_hash(page, draft.content_hash)
            except NotionError as error:
                raise NotionError(Fate.LOST, error.code, f"the page has its new content, and no hash yet: {error}") from error
        return page

    def _put_hash(self, page: Page, content_hash: str) -> None:
        changed = {self._names.content_hash: {"rich_text": _text(content_hash) if content_hash else []}}
        with self._asking():
            _read(_Any, self._client.pages.update(page.id, properties=changed))

    def trash(self, page: Page) -> None:
        """Puts the page into the trash, from which people can take it back."""
        with self._asking():
            _read(_Any, self._client.pages.update(page.id, in_trash=True))

    def _query(self, source: str, external_id: str, *, in_trash: bool) -> Search:
        wanted = {"property": self._names.external_id, "rich_text": {"equals": external_id}}
        with self._asking():
            found = _read(_Found, self._client.data_sources.query(source, filter=wanted, in_trash=in_trash, page_size=10))
        complete = found.request_status.type == "complete" and not found.has_more
        return Search(hits=tuple(self._hit(page) for page in found.results), complete=complete)

    def _hit(self, page: _Page) -> Hit:
        editor, me = page.last_edited_by, self.me()
        return Hit(
            page=page.page(),
            content_hash=page.text(self._names.content_hash) or None,
            run_id=page.text(self._names.run_id) or None,
            in_trash=page.in_trash,
            ours=bool(me) and editor is not None and editor.id == me,
            external_id=page.text(self._names.external_id) if self._names.external_id in page.properties else None,
        )

    def _identity(self, draft: Draft) -> dict[str, object]:
        names = self._names
        values = {names.external_id: draft.external_id, names.content_hash: draft.content_hash, names.run_id: draft.run_id}
        return {name: {"rich_text": _text(value)} for name, value in values.items()}

    @contextmanager
    def _asking(self) -> Generator[None, None, None]:
        """Encloses one request: gives it its time, and says what its failure proves."""
        seconds = max(0.1, self._patience().total_seconds())
        self._http.timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT.total_seconds()))
        try:
            yield
        except HTTPResponseError as error:
            raise notion_faults.by_status(error.status, error.body, error.headers.get("Retry-After", "")) from error
        except RequestTimeoutError as error:
            # The client calls every timeout the same; what it hides tells whether anything was sent.
            raise _meant(error.__context__ or error) from error
        except (ValidationError, ValueError) as error:
            raise NotionError(Fate.LOST, "ANSWER_UNREADABLE", f"the answer of Notion could not be read ({type(error).__name__})") from error
        except (httpx.HTTPError, httpx.InvalidURL, notion_client.errors.NotionClientErrorBase) as error:
            meant = _meant(error)
            # A run tells the causes, too, and the words of this one may quote a header or the address.
            raise meant from None if meant.code == "NOTION_ADDRESS" else error


def _meant(error: BaseException) -> NotionError:
    return notion_faults.by_exception(tuple(kind.__name__ for kind in type(error).__mro__), str(error) or type(error).__name__)


def _read(kind: type[_Answer], answer: object) -> _Answer:
    return kind.model_validate(answer)


def _text(value: str) -> list[dict[str, object]]:
    return [{"text": {"content": value}}]
