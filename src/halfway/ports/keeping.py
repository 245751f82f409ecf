"""What is deleted when it is old, and what stays known of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

from halfway.domain.draft import Audit
from halfway.domain.lifecycle import RunStatus


class Old(StrEnum):
    """What gets old, in the order in which it is deleted."""

    RUNS = "runs"  # become no more than what stays known of them
    REST = "rest"  # the other rows of such runs
    EVENTS = "events"  # lose their payloads
    BATCHES = "batches"
    ARTIFACTS = "artifacts"  # the rows that name files
    AUDIT = "audit"
    KEYS = "keys"  # with what was known of their runs
    TICKS = "ticks"  # what became of the times of schedules
    EVENT_IDS = "eventIds"
    FILES = "files"  # that no row names


class Cut(NamedTuple):
    """What is old enough to be deleted. Times are those of the database, of FILES those of the files."""

    until: int = 0
    type: str = ""  # RUNS, AUDIT, KEYS, TICKS: of the workflow
    unused_until: int = 0  # EVENTS: of those that nobody has used
    untils: Mapping[str, int] = {}  # ARTIFACTS, REST: by workflow, where artifacts have a time of their own


class Place(NamedTuple):
    """The last one that was looked at: the next batch begins behind it."""

    at: int = 0
    id: str = ""


class Swept(NamedTuple):
    """One batch: how many rows or files of which kind were deleted, which old ones stay and why, and where the next one begins."""

    deleted: Mapping[str, int]
    kept: Mapping[str, int]  # by the reason
    after: Place | None  # None: this was the last batch


class Past(NamedTuple):
    """What stays known of a run whose history was deleted."""

    run_id: str
    type: str
    version: int
    status: RunStatus
    key: str | None
    ended_at: int
    deleted_at: int


class OpenSnapshot(NamedTuple):
    """A transaction that is open for long: what is deleted after it began is not gone before it ends."""

    pid: int
    name: str
    began_at: int


class Keeping(Protocol):
    """What is old, found and deleted in small batches; each batch is one short transaction, and many may sweep at once."""

    def now(self) -> int:
        """The database's time, in microseconds."""
        ...

    def count(self, what: Old, cut: Cut) -> int:
        """About how many there are, for RUNS; 0 for all that nobody counts beforehand."""
        ...

    def sweep(self, what: Old, cut: Cut, after: Place, *, delete: bool) -> Swept:
        """One batch of what is old enough, behind this place; without `delete` it is only counted."""
        ...

    def past(self, run_id: str) -> Past | None:
        """What stays known of a run whose history was deleted; None for every other."""
        ...

    def note(self, audit: Audit) -> None:
        """Keeps who ordered what about no single run, and why; or that it was refused."""
        ...

    def snapshots(self, older_than: int) -> tuple[OpenSnapshot, ...]:
        """Transactions of others that have been open for longer, in microseconds; the oldest first."""
        ...
