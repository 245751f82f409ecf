"""What has reached the stand-in for Notion, as values: its pages, and every request."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from halfway_report.models import Frozen

DATA_SOURCE = "5a1d0000-0000-4000-8000-000000000001"
BOT = "5a1d0000-0000-4000-8000-0000000000b0"


class LedgerPage(Frozen):
    """One page, as stored; `markdown` is all of it, the title as its first heading."""

    id: str
    source: str = DATA_SOURCE
    created_time: str
    shown_from: datetime = datetime(1970, 1, 1, tzinfo=UTC)  # when queries begin to show it
    in_trash: bool = False
    last_edited_by: str = BOT
    title: str
    properties: dict[str, str]
    markdown: str

    def markdown_json(self) -> dict[str, object]:
        """The content below the title, as the API gives it."""
        content = self.markdown.removeprefix(f"# {self.title}\n\n")
        return {"object": "page_markdown", "id": self.id, "markdown": content, "truncated": False, "unknown_block_ids": []}

    def as_json(self, columns: Mapping[str, str]) -> dict[str, object]:
        """The page object of the API: every column, also an empty one."""
        texts = {name: self.title if kind == "title" else self.properties.get(name, "") for name, kind in columns.items()}
        return {
            "object": "page",
            "id": self.id,
            "created_time": self.created_time,
            "last_edited_time": self.created_time,
            "last_edited_by": {"object": "user", "id": self.last_edited_by},
            "in_trash": self.in_trash,
            "url": f"https://www.notion.so/{self.id.replace('-', '')}",
            "parent": {"type": "data_source_id", "data_source_id": self.source},
            "properties": {name: _rich(columns[name], text) for name, text in texts.items()},
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

    def patches(self) -> int:
        """How often someone asked for a change of a page."""
        return sum(request.method == "PATCH" for request in self.requests)


def _rich(kind: str, text: str) -> Mapping[str, object]:
    if kind not in {"title", "rich_text"}:
        return {"type": kind, kind: None}
    return {"type": kind, kind: [{"type": "text", "text": {"content": text}, "plain_text": text}] if text else []}
