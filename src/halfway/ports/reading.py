"""What people and faces look at: runs, with everything that belongs to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from halfway.domain.draft import Audit
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Ended, Key, Kind, Record, RunRow
from halfway.ports.items import CountRow, ItemRow
from halfway.ports.workers import Epoch


class Row(NamedTuple):
    """A run in a list."""

    run: RunRow
    key: str | None
    updated_at: int
    current: tuple[str, ...]  # steps that run, wait, are in doubt, or ask somebody
    records: tuple[Record, ...] = ()


class AttemptRow(NamedTuple):
    """An attempt as it is kept, whether or not it still matters."""

    n: int
    epoch: str
    started_at: int
    mark_at: int | None
    ended_at: int | None
    ended: Ended | None
    code: str
    settled: str | None  # what has proven what happened
    gone_at: int | None


class RecordDetail(NamedTuple):
    """A record with everything that belongs to it."""

    record: Record
    output: str | None  # JSON text
    error: str | None
    attempts: tuple[AttemptRow, ...]


class EvidenceRow(NamedTuple):
    """Facts that an attempt kept."""

    key: Key
    n: int
    at: int
    data: str  # JSON text


class ArtifactRow(NamedTuple):
    """An artifact that an attempt made."""

    id: str
    key: Key
    n: int
    name: str
    sha256: str
    size: int
    created_at: int


class Detail(NamedTuple):
    """One run with all that is known about it, but for its journal and audit."""

    run: RunRow
    key: str | None
    input: str
    actor: str
    updated_at: int
    now: int  # the database's time of this reading
    records: tuple[RecordDetail, ...]
    evidence: tuple[EvidenceRow, ...]
    artifacts: tuple[ArtifactRow, ...]
    counts: tuple[CountRow, ...] = ()  # of the items of steps that are done for many, which are not in `records`


class JournalRow(NamedTuple):
    """A line of the journal."""

    seq: int
    at: int
    name: str
    key: Key | None
    n: int | None
    data: str | None  # JSON text


class AuditRow(NamedTuple):
    """A line of the audit log; about no single run, if it names none."""

    at: int
    run_id: str  # `schedule:TYPE/NAME`, if the order was about a schedule
    audit: Audit
    before: str  # the run's state; of an order about a schedule, the schedule's
    after: str
    id: int = 0  # its place in the log


class WorkerRow(NamedTuple):
    """A worker process, present or past."""

    epoch: Epoch
    started_at: int
    ended_at: int | None
    running: int  # attempts
    queues: tuple[str, ...] = ()  # that it serves


class DefinitionRow(NamedTuple):
    """A registered definition."""

    type: str
    version: int
    hash: str
    registered_at: int


class SchemaRow(NamedTuple):
    """Which schema the database has, and which one this version needs."""

    found: int
    needed: int
    url: str


class Relatives(NamedTuple):
    """The runs above and below a run."""

    parents: tuple[tuple[str, str], ...]  # (run, step): have started it, or wait for it
    children: tuple[tuple[str, str, RunStatus], ...]  # (step, run, status): have not ended well; those that ask for a person first


class Reading(Protocol):
    """What people and faces look at; changes nothing and takes no locks."""

    def runs(
        self, *, status: RunStatus | None = None, type: str | None = None, search: str | None = None, limit: int = 50,
        before: str | None = None,
    ) -> Sequence[Row]:  # fmt: skip
        """Runs, the newest first; `before` is the last one of the page before. A search matches ids, keys and resources literally."""
        ...

    def find(self, text: str) -> str:
        """The run with this id or key, or whose id ends in at least 6 such characters, also if its history was deleted.

        NotFound if there is none, or more than one.
        """
        ...

    def detail(self, run_id: str, *, items: bool = False) -> Detail:
        """Everything about one run, as of one moment; NotFound says so, if its history was deleted."""
        ...

    def journal(self, run_id: str, *, after_seq: int = 0, limit: int = 1000) -> Sequence[JournalRow]:
        """What happened in a run, in order."""
        ...

    def audit(self, run_id: str) -> Sequence[AuditRow]:
        """Who ordered what and why, in order."""
        ...

    def workers(self) -> Sequence[WorkerRow]:
        """Worker processes: all that are alive, and the latest others."""
        ...

    def definitions(self) -> Sequence[DefinitionRow]:
        """All registered definitions."""
        ...

    def schema(self) -> SchemaRow:
        """The state of the schema."""
        ...

    def artifact(self, run_id: str, id: str) -> ArtifactRow | None:
        """An artifact of this run; None if this run has none with this id."""
        ...

    def children(self, run_id: str, step: str, round: int, *, after: int, limit: int) -> Sequence[tuple[int, str]]:
        """A page of the runs that a step has started, in the order of their list: place and id."""
        ...

    def relatives(self, run_id: str, *, limit: int = 20) -> Relatives:
        """The runs that have started this one, and those of its own that have not ended well; at most so many of each."""
        ...

    def items(
        self, run_id: str, step: str, round: int, *, after: int, limit: int, status: str | None = None, kind: Kind = Kind.STEP
    ) -> Sequence[ItemRow]:
        """A page of the items of a step, or of their undo, in their order: those after this place in the list, of the undo below 0."""
        ...
