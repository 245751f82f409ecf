"""What the stand-in for Notion remembers: pages and requests, in memory and in a file that another process may read."""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from halfway_report.models import Frozen

DATA_SOURCE = "5a1d0000-0000-4000-8000-000000000001"
PROPERTIES = ("ExternalId", "ContentHash", "RunId")
_TITLE = "Name"
_TEXT_LIMIT = 2000  # UTF-16 units, as JavaScript counts
_BODY_LIMIT = 500_000
_Body = TypeVar("_Body", bound=BaseModel)


class LedgerPage(Frozen):
    """One page, as stored."""

    id: str
    created_time: str
    in_trash: bool = False
    title: str
    properties: dict[str, str]
    markdown: str

    def as_json(self) -> dict[str, object]:
        """The page object of the API."""
        properties: dict[str, object] = {name: _rich("rich_text", value) for name, value in self.properties.items()}
        return {
            "object": "page",
            "id": self.id,
            "created_time": self.created_time,
            "last_edited_time": self.created_time,
            "in_trash": self.in_trash,
            "url": f"https://www.notion.so/{self.id.replace('-', '')}",
            "parent": {"type": "data_source_id", "data_source_id": DATA_SOURCE},
            "properties": {_TITLE: _rich("title", self.title), **properties},
        }


class LedgerRequest(Frozen):
    """One request, and what was done to it."""

    method: str
    path: str
    fault: str | None = None
    page_id: str | None = None


class Ledger(Frozen):
    """Everything that ever reached the stand-in."""

    pages: tuple[LedgerPage, ...] = ()
    requests: tuple[LedgerRequest, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Ledger:
        """Reads the file; empty if there is none yet."""
        return cls.model_validate_json(path.read_bytes()) if path.exists() else cls()

    def posts(self) -> int:
        """How often someone asked for a new page."""
        return sum(request.method == "POST" and request.path == "/v1/pages" for request in self.requests)


@dataclass(frozen=True)
class Refusal(Exception):
    """The vendor says no; nothing was changed."""

    status: int
    code: str
    message: str


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Content(_Loose):
    content: str


class _TextItem(_Loose):
    text: _Content


class _Value(_Loose):
    rich_text: tuple[_TextItem, ...] = Field(max_length=100)


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


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid")  # `archived`, for one, is gone since this version

    in_trash: Annotated[bool, Field(strict=True)]


class Pages:
    """The vendor's database, with the vendor's rules. Safe for several threads."""

    def __init__(self, ledger: Path | None = None) -> None:
        self._path = ledger
        self._lock = threading.Lock()
        self._ledger = Ledger() if ledger is None else Ledger.load(ledger)

    @property
    def ledger(self) -> Ledger:
        """What is stored now; a value that does not change later."""
        return self._ledger

    def note(self, request: LedgerRequest) -> None:
        """Remembers a request that changed nothing."""
        with self._lock:
            self._store(self._ledger.model_copy(update={"requests": (*self._ledger.requests, request)}))

    def create(self, raw: bytes, *, fault: str | None) -> LedgerPage:
        """Makes a page; it is stored when this returns, whatever then becomes of the answer."""
        try:
            page = _new_page(raw)
        except Refusal:
            self.note(LedgerRequest(method="POST", path="/v1/pages", fault=fault))
            raise
        request = LedgerRequest(method="POST", path="/v1/pages", fault=fault, page_id=page.id)
        with self._lock:
            self._store(Ledger(pages=(*self._ledger.pages, page), requests=(*self._ledger.requests, request)))
        return page

    def query(self, source: str, raw: bytes) -> list[LedgerPage]:
        """The pages that fit a filter, newest first."""
        if source != DATA_SOURCE:
            raise _not_found("data source", source)
        query = _parse(_Query, raw)
        wanted = query.filter
        if wanted is not None and wanted.property not in PROPERTIES:
            raise Refusal(400, "validation_error", f"Could not find property with name or id: {wanted.property}")
        pages = [page for page in reversed(self._ledger.pages) if page.in_trash == query.in_trash]
        if wanted is not None:
            pages = [page for page in pages if page.properties.get(wanted.property, "") == wanted.rich_text.equals]
        return pages[: query.page_size]

    def get(self, page_id: str) -> LedgerPage:
        """One page, also from the trash."""
        for page in self._ledger.pages:
            if page.id == page_id:
                return page
        raise _not_found("page", page_id)

    def trash(self, page_id: str, raw: bytes) -> LedgerPage:
        """Puts a page into the trash, or takes it out."""
        change, page = _parse(_Change, raw), self.get(page_id)
        if page.in_trash and change.in_trash:
            raise Refusal(400, "validation_error", "Can't edit block that is archived. You must unarchive the block before editing.")
        changed = page.model_copy(update={"in_trash": change.in_trash})
        with self._lock:
            pages = tuple(changed if page.id == page_id else page for page in self._ledger.pages)
            self._store(self._ledger.model_copy(update={"pages": pages}))
        return changed

    def _store(self, ledger: Ledger) -> None:
        self._ledger = ledger
        if self._path is not None:
            temporary = self._path.with_suffix(".tmp")
            temporary.write_text(json.dumps(ledger.model_dump(), indent=1), "utf-8")
            os.replace(temporary, self._path)


def _new_page(raw: bytes) -> LedgerPage:
    if len(raw) > _BODY_LIMIT:
        raise Refusal(413, "validation_error", "Request body is too large.")
    body = _parse(_NewPage, raw)
    if body.parent.data_source_id != DATA_SOURCE:
        raise _not_found("data source", body.parent.data_source_id)
    properties = {name: "".join(item.text.content for item in value.rich_text) for name, value in body.properties.items()}
    for name, value in properties.items():
        if name not in PROPERTIES:
            raise Refusal(400, "validation_error", f"{name} is not a property that exists.")
        if len(value.encode("utf-16-le")) // 2 > _TEXT_LIMIT:
            raise Refusal(400, "validation_error", f"body failed validation: {name} is longer than {_TEXT_LIMIT}.")
    title, _, _ = body.markdown.removeprefix("# ").partition("\n")
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:00.000Z")  # the vendor knows minutes only
    return LedgerPage(id=str(uuid.uuid4()), created_time=created, title=title, properties=properties, markdown=body.markdown)


def _parse(kind: type[_Body], raw: bytes) -> _Body:
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


def _rich(kind: str, text: str) -> Mapping[str, object]:
    return {"type": kind, kind: [{"type": "text", "text": {"content": text}, "plain_text": text}]}
