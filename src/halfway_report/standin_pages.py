"""What the stand-in for Notion keeps, by the vendor's rules: pages and requests, in memory and in a file that another process may read."""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from halfway_report.standin_ledger import BOT, DATA_SOURCE, Ledger, LedgerPage, LedgerRequest

DATABASE = "5a1d0000-0000-4000-8000-00000000000d"
PROPERTIES = ("ExternalId", "ContentHash", "RunId")
PERSON = "5a1d0000-0000-4000-8000-0000000000aa"
VERSION = "2026-03-11"
_TITLE = "Name"
_TEXT_LIMIT = 2000  # UTF-16 units, as JavaScript counts
_BODY_LIMIT = 500_000
_IN_TRASH = "Can't edit block that is archived. You must unarchive the block before editing."
_Body = TypeVar("_Body", bound=BaseModel)


@dataclass(frozen=True)
class Refusal(Exception):
    """The vendor says no; nothing was changed."""

    status: int
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request: which call it is, of what, and under which version of the API."""

    call: str
    target: str
    raw: bytes
    version: str
    request: LedgerRequest


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Content(_Loose):
    content: str


class _TextItem(_Loose):
    text: _Content


class _Value(_Loose):
    title: Annotated[tuple[_TextItem, ...] | None, Field(max_length=100)] = None
    rich_text: Annotated[tuple[_TextItem, ...] | None, Field(max_length=100)] = None

    def text(self) -> str:
        return "".join(item.text.content for item in self.title or self.rich_text or ())


class _Parent(_Loose):
    data_source_id: str


class _NewPage(_Loose):
    parent: _Parent
    properties: dict[str, _Value] = {}
    markdown: str = ""


class _Equals(_Loose):
    equals: str


class _Filter(_Loose):
    property: str
    rich_text: _Equals


class _Query(_Loose):
    filter: _Filter | None = None
    in_trash: bool = False
    page_size: Annotated[int, Field(ge=1, le=100)] = 100


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Change(_Strict):
    in_trash: Annotated[bool | None, Field(strict=True)] = None
    properties: dict[str, _Value] = {}


class _NewText(_Strict):
    new_str: str
    allow_deleting_content: bool = False


class _Replacement(_Strict):
    type: Literal["replace_content"]
    replace_content: _NewText


class Pages:
    """The vendor's database. Safe for several threads; the attributes are for tests to set before it is asked."""

    def __init__(self, ledger: Path | None = None) -> None:
        self.columns: dict[str, str] = {_TITLE: "title", **dict.fromkeys(PROPERTIES, "rich_text")}
        self.sources: dict[str, str] = {DATA_SOURCE: "Reports"}
        self.user: Mapping[str, str] = {"object": "user", "id": BOT, "type": "bot", "name": "Daily report"}
        self.lag = timedelta(0)  # how far queries are behind
        self._ahead = timedelta(0)
        self._path = ledger
        self._lock = threading.Lock()
        self._ledger = Ledger() if ledger is None else Ledger.load(ledger)

    @property
    def ledger(self) -> Ledger:
        """What is stored now; a value that does not change later."""
        return self._ledger

    # ── what a test does to it ──

    def advance(self, by: timedelta) -> None:
        """Moves its clock."""
        self._ahead += by

    def edit(self, page_id: str, *, by: str = PERSON, **changes: object) -> None:
        """What a person does in the browser."""
        with self._lock:
            self._replace(self._get(page_id).model_copy(update={"last_edited_by": by, **changes}))
            self._store()

    def copy(self, page_id: str) -> LedgerPage:
        """A second page like the first, as an import makes it."""
        with self._lock:
            twin = self._get(page_id).model_copy(update={"id": str(uuid.uuid4())})
            self._ledger = self._ledger.model_copy(update={"pages": (*self._ledger.pages, twin)})
            self._store()
        return twin

    def delete(self, page_id: str) -> None:
        """For good, as the trash does after a while."""
        with self._lock:
            kept = tuple(page for page in self._ledger.pages if page.id != page_id)
            self._ledger = self._ledger.model_copy(update={"pages": kept})
            self._store()

    # ── what the vendor does ──

    def note(self, request: LedgerRequest) -> None:
        """Remembers a request that changed nothing."""
        with self._lock:
            self._note(request)
            self._store()

    def serve(self, asked: Asked) -> Mapping[str, object]:
        """Does what is asked; it is stored when this returns, whatever then becomes of the answer."""
        with self._lock:
            made: str | None = None
            try:
                answer = self._serve(asked)
                made = str(answer["id"]) if asked.call == "create" else None
                return answer
            finally:
                self._note(asked.request.model_copy(update={"page_id": made or asked.request.page_id}))
                self._store()

    def _serve(self, asked: Asked) -> Mapping[str, object]:
        calls: Mapping[str, Callable[[Asked], Mapping[str, object]]] = {
            "create": self._create,
            "query": self._query,
            "source": lambda asked: self._source(asked.target),
            "database": lambda asked: self._database(asked.target),
            "get": lambda asked: self._get(asked.target).as_json(self.columns),
            "read": lambda asked: self._get(asked.target).markdown_json(),
            "update": self._update,
            "content": self._content,
            "me": lambda _: self.user,
            "search": lambda _: {"object": "list", "results": [], "next_cursor": None, "has_more": False},  # never knows the newest
        }
        return calls[asked.call](asked)

    def _create(self, asked: Asked) -> Mapping[str, object]:
        body = _parse(_NewPage, asked.raw)
        if body.parent.data_source_id not in self.sources:
            raise _not_found("data source", body.parent.data_source_id)
        title, properties = self._properties(body.properties)
        heading, content = _split(body.markdown) if title is None else (title, body.markdown)
        _check_length("title", heading)
        now = self._now()
        page = LedgerPage(
            id=str(uuid.uuid4()), source=body.parent.data_source_id, created_time=_minute(now), shown_from=now + self.lag,
            title=heading, properties=properties, markdown=f"# {heading}\n\n{content}" if heading else content,
        )  # fmt: skip
        self._ledger = self._ledger.model_copy(update={"pages": (*self._ledger.pages, page)})
        return page.as_json(self.columns)

    def _query(self, asked: Asked) -> Mapping[str, object]:
        self._source(asked.target)
        query, fault = _parse(_Query, asked.raw), asked.request.fault
        wanted = query.filter
        if wanted is not None and wanted.property not in self.columns:
            raise Refusal(400, "validation_error", f"Could not find property with name or id: {wanted.property}")
        now = self._now()
        pages = [page for page in reversed(self._ledger.pages) if page.source == asked.target and page.in_trash == query.in_trash]
        pages = [page for page in pages if page.shown_from <= now and fault is None]
        if wanted is not None:
            pages = [page for page in pages if page.properties.get(wanted.property, "") == wanted.rich_text.equals]
        status = (
            {"type": "incomplete", "incomplete_reason": "query_result_limit_reached"} if fault == "incomplete" else {"type": "complete"}
        )
        return {
            "object": "list",
            "results": [page.as_json(self.columns) for page in pages[: query.page_size]],
            "next_cursor": None,
            "has_more": len(pages) > query.page_size,
            "type": "page_or_data_source",
            "request_status": status,
        }

    def _source(self, source: str) -> Mapping[str, object]:
        if source not in self.sources:
            raise _not_found("data source", source)
        columns = {name: {"id": name, "name": name, "type": kind} for name, kind in self.columns.items()}
        parent = {"type": "database_id", "database_id": DATABASE}
        return {"object": "data_source", "id": source, "parent": parent, "properties": columns, "in_trash": False}

    def _database(self, database: str) -> Mapping[str, object]:
        if database != DATABASE:
            raise _not_found("database", database)
        return {"object": "database", "id": database, "data_sources": [{"id": id, "name": name} for id, name in self.sources.items()]}

    def _update(self, asked: Asked) -> Mapping[str, object]:
        raw, page = asked.raw, self._get(asked.target)
        if asked.version < VERSION:
            raw = raw.replace(b'"archived"', b'"in_trash"')
        change = _parse(_Change, raw)
        if page.in_trash and change.in_trash is not False:
            raise Refusal(400, "validation_error", _IN_TRASH)
        title, properties = self._properties(change.properties)
        page = page.model_copy(
            update={
                "in_trash": page.in_trash if change.in_trash is None else change.in_trash,
                "title": page.title if title is None else title,
                "properties": {**page.properties, **properties},
                "last_edited_by": self.user["id"],
            }
        )
        self._replace(page)
        return page.as_json(self.columns)

    def _content(self, asked: Asked) -> Mapping[str, object]:
        text, page = _parse(_Replacement, asked.raw).replace_content.new_str, self._get(asked.target)
        if page.in_trash:
            raise Refusal(400, "validation_error", _IN_TRASH)
        markdown = f"# {page.title}\n\n{text}" if page.title else text
        page = page.model_copy(update={"markdown": markdown, "last_edited_by": self.user["id"]})
        self._replace(page)
        return page.markdown_json()

    def _properties(self, given: Mapping[str, _Value]) -> tuple[str | None, dict[str, str]]:
        """The title if it is among them, and the others."""
        title: str | None = None
        texts: dict[str, str] = {}
        for name, value in given.items():
            _check_length(name, value.text())
            if name in {"title", _TITLE}:
                title = value.text()
            elif name not in self.columns:
                raise Refusal(400, "validation_error", f"{name} is not a property that exists.")
            elif self.columns[name] != "rich_text" or value.rich_text is None:
                raise Refusal(400, "validation_error", f"{name} is expected to be {self.columns[name]}.")
            else:
                texts[name] = value.text()
        return title, texts

    def _get(self, page_id: str) -> LedgerPage:
        for page in self._ledger.pages:
            if page.id == page_id:
                return page
        raise _not_found("page", page_id)

    def _replace(self, changed: LedgerPage) -> None:
        pages = tuple(changed if page.id == changed.id else page for page in self._ledger.pages)
        self._ledger = self._ledger.model_copy(update={"pages": pages})

    def _note(self, request: LedgerRequest) -> None:
        self._ledger = self._ledger.model_copy(update={"requests": (*self._ledger.requests, request)})

    def _store(self) -> None:
        if self._path is not None:
            temporary = self._path.with_suffix(".tmp")
            temporary.write_text(json.dumps(self._ledger.model_dump(mode="json"), indent=1), "utf-8")
            os.replace(temporary, self._path)

    def _now(self) -> datetime:
        return datetime.now(UTC) + self._ahead


def _split(markdown: str) -> tuple[str, str]:
    """The heading that becomes the title, and what is below it."""
    first, _, rest = markdown.lstrip().partition("\n")
    return (first[2:].strip(), rest.lstrip("\n")) if first.startswith("# ") else ("", markdown)


def _check_length(name: str, text: str) -> None:
    units = len(text.encode("utf-16-le")) // 2
    if units > _TEXT_LIMIT:
        what = f"body.properties.{name}.text.content.length"
        raise Refusal(400, "validation_error", f"body failed validation: {what} should be ≤ `{_TEXT_LIMIT}`, instead was `{units}`.")


def _minute(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:00.000Z")  # the vendor knows minutes only


def _parse(kind: type[_Body], raw: bytes) -> _Body:
    if len(raw) > _BODY_LIMIT:
        raise Refusal(413, "validation_error", "Request body is too large.")
    try:
        return kind.model_validate_json(raw or b"{}")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        code = "invalid_json" if first["type"] == "json_invalid" else "validation_error"
        raise Refusal(400, code, f"body failed validation: body.{where}: {first['msg']}") from error


def _not_found(what: str, name: str) -> Refusal:
    hint = "Make sure the relevant pages and databases are shared with your integration."
    return Refusal(404, "object_not_found", f"Could not find {what} with ID: {name}. {hint}")
