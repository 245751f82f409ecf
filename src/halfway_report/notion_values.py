"""What is asked of Notion, what is seen there, and how a request can fail. Values only: importing this loads no client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from halfway_report.models import Day, Page


class Fate(StrEnum):
    """What a failed request proves about what it asked for."""

    NOT_SENT = "NOT_SENT"  # no byte of it left; a repeat may help
    NOT_TAKEN = "NOT_TAKEN"  # Notion says that it is too busy; a repeat after the time that it names may help
    REFUSED = "REFUSED"  # Notion says no; a repeat would not help
    LOST = "LOST"  # it may have been done


class NotionError(Exception):
    """A request that failed. `after` is how long Notion wants to be left alone."""

    def __init__(self, fate: Fate, code: str, message: str, *, status: int | None = None, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.fate = fate
        self.code = code
        self.status = status
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
    """A page as it was seen. Without identity properties hash and run are those that were kept with its id, or None."""

    page: Page
    content_hash: str | None
    run_id: str | None
    in_trash: bool
    ours: bool  # the last to edit it was our connection
    external_id: str | None = None  # None: it has no such property, or this was not asked


@dataclass(frozen=True, kw_only=True)
class Search:
    """Every page that was seen for a day, trash included; only a complete search can say that there is none."""

    hits: tuple[Hit, ...]
    complete: bool
    by_property: bool = True  # False: the data source has no identity properties, so nobody could search
    vanished: str | None = None  # the address of a page that this day had, and that Notion does not show any more


@dataclass(frozen=True, kw_only=True)
class StoredPage:
    """The page of a day as its runs have it."""

    page: Page
    content_hash: str
    run_id: str  # which made it


@dataclass(frozen=True, kw_only=True)
class DayPages:
    """What the database of the runs knows about a day at Notion; `complete` if nothing of it can have been forgotten."""

    runs: frozenset[str] = frozenset()
    page: StoredPage | None = None
    complete: bool = False
    newer: str | None = None  # the run of a later revision that has begun its upload


Known: TypeAlias = Callable[[Day], DayPages]
