"""What the engine and Control need from the outside, as Protocols. Implementations live in `store`; app.py puts them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from halfway.domain.draft import Audit, Change
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Attempt, Ended, Key, Record, RunRow, Snapshot
from halfway.domain.spec import WorkflowSpec

# ── values that cross the ports ──


class NewRun(NamedTuple):
    """A run to be created; `input` is JSON text."""

    id: str
    spec: WorkflowSpec
    input: str
    key: str | None
    resource: str | None
    correlation_id: str
    priority: int
    deadline_at: int | None
    actor: str = ""
    again: str | None = None  # the reason for a second run under a key whose first run has ended


class Started(NamedTuple):
    """The answer to a creation: the run that now stands under the key."""

    run_id: str
    created: bool
    ready: tuple[str, ...] = ()  # routes that have work now
    key: str | None = None  # under which it stands: `key`, or `key#2` for a second run


class Ready(NamedTuple):
    """A record that waits for a slot."""

    run_id: str
    key: Key
    route: str
    priority: int
    ready_at: int


class Loaded(NamedTuple):
    """A run as a worker takes it up: its snapshot, and the texts that its steps read."""

    snapshot: Snapshot
    input: str
    outputs: Mapping[str, str]  # JSON by step, of those that have succeeded


class Mark(NamedTuple):
    """An attempt wants to begin its effect; `bound`: cancel and deadline bind it (kind step only)."""

    run_id: str
    key: Key
    n: int
    bound: bool


class Evidence(NamedTuple):
    """Facts an attempt wants to keep, also if it then fails; JSON text."""

    run_id: str
    key: Key
    n: int
    data: str


class Saved(NamedTuple):
    """An artifact whose file is in place and whose row is wanted."""

    run_id: str
    key: Key
    n: int
    id: str
    name: str
    sha256: str
    size: int


class Left(NamedTuple):
    """A RUNNING attempt whose worker is dead, or which its worker does not know."""

    run_id: str
    key: Key
    attempt: Attempt


class Epoch(NamedTuple):
    """One life of one worker process."""

    id: str
    state: str  # ALIVE, DEAD, ENDED
    counter: int  # of its last beat
    beat_at: int  # database time of its last beat
    host: str
    pid: int
    identity: str  # what proves on the same machine that this very process is dead
    kill_after: int | None  # its parent kills it this long after the last confirmed beat; None: nobody does


# ── ports ──


class Turn(Protocol):
    """One transaction in which runs are changed. Leaving it normally commits, an exception rolls everything back."""

    now: int  # the database's time; never goes backwards in a process

    def lock(self, ids: Sequence[str], *, wait: bool = False) -> Mapping[str, int]:
        """Locks these runs in order of id and answers their revisions; without `wait` those locked elsewhere are left out."""
        ...

    def load(self, ids: Sequence[str]) -> Mapping[str, Loaded]:
        """Reads locked runs with their records, open attempts and outputs."""
        ...

    def ready(self, route: str, limit: int) -> Sequence[Ready]:
        """The first due records of a route in (priority, ready_at), not locked."""
        ...

    def write(self, changes: Sequence[Change]) -> None:
        """Stores what was decided; `GuardFailed` if an attempt had already ended or a run had moved."""
        ...

    def mark(self, marks: Sequence[Mark]) -> frozenset[Mark]:
        """Sets the effect marks that may be set, and answers which: the attempt runs, and cancel and deadline allow it."""
        ...

    def keep(self, rows: Sequence[Evidence | Saved]) -> frozenset[Evidence | Saved]:
        """Keeps evidence and artifact rows of attempts that still run, and answers which."""
        ...

    def running(self, epoch: str) -> Sequence[Left]:
        """The attempts of this epoch that run according to the database."""
        ...

    def lost(self, epoch: str) -> Sequence[Left]:
        """The unsettled attempts of this epoch that are not yet known to be gone."""
        ...

    def take_resource(self, run_id: str) -> bool:
        """Gives the run its resource if it is free and nobody is before it."""
        ...

    def due(self, limit: int) -> Sequence[str]:
        """Runs whose time has come (a doubt, a deadline, a timeout, a resource set free), and those nothing would ever move."""
        ...


class GuardFailed(Exception):
    """A guarded write found no row: the race was lost, and nothing of the transaction may stand."""


class RunStore(Protocol):
    """Runs and what belongs to them."""

    def register(self, specs: Sequence[WorkflowSpec]) -> None:
        """Keeps definitions by hash; a run finds its own again."""
        ...

    def spec(self, hash: str) -> WorkflowSpec:
        """The definition with this hash; definitions are immutable, so they are read once."""
        ...

    def create(self, runs: Sequence[NewRun], *, within: object = None) -> Sequence[Started]:
        """Creates runs, or finds those that stand under their keys, in one transaction; `within` is the caller's."""
        ...

    def change(self, *, epoch: str | None = None, name: str = "change") -> AbstractContextManager[Turn]:
        """A transaction to change runs in. With an epoch it first makes sure that this epoch is alive, else `EpochOver`."""
        ...

    def transaction(self, kind: type, run_id: str, key: Key, n: int) -> AbstractContextManager[Local]:
        """A connection for a transaction step."""
        ...


class EpochOver(Exception):
    """This worker's epoch has been declared dead."""


class Local(Protocol):
    """A transaction step at work: its own connection, and the guarded end that commits everything together."""

    connection: object

    @property
    def intact(self) -> bool:
        """Whether the transaction is still the one that was begun; False if the body has committed or rolled back by itself."""
        ...

    def keep(self, rows: Sequence[Evidence | Saved]) -> None:
        """Evidence and artifact rows, kept together with the rest or not at all."""
        ...

    def finish(self, decide: Callable[[Loaded, int], Change]) -> Snapshot:
        """Locks the run, lets `decide` answer, stores it and commits; `GuardFailed` if the attempt is no longer running."""
        ...


class Lives(Protocol):
    """Epochs and their beats (section 8 of the design)."""

    observer: str  # the life of the server in which the epochs were last read; beats are compared within one only
    beats: bool  # whether life is shown by beats; on SQLite it is an OS lock, and a beat writes nothing

    def begin(self, *, host: str, pid: int, identity: str, kill_after: int | None) -> str:
        """A new epoch."""
        ...

    def beat(self, epoch: str) -> bool:
        """Counts one beat; False if the epoch is no longer alive."""
        ...

    def epochs(self) -> Sequence[Epoch]:
        """All that are alive, and the dead ones that still have open attempts."""
        ...

    def is_dead(self, epoch: Epoch) -> bool:
        """Whether it is proven that the process of this epoch is dead."""
        ...

    def declare_dead(self, epoch: Epoch) -> bool:
        """ALIVE -> DEAD, unless it has beaten since it was read."""
        ...

    def end(self, epoch: str) -> None:
        """The worker has stopped in good order and holds nothing."""
        ...


class Artifacts(Protocol):
    """Content by its hash."""

    def put(self, content: bytes) -> tuple[str, int]:
        """Stores content durably and answers (sha256, size)."""
        ...

    def get(self, sha256: str) -> bytes | None:
        """The content, or None if it is missing or does not match its hash."""
        ...


class Points(Protocol):
    """Named points of the engine where a test may stop, kill or break it."""

    def reached(self, name: str) -> None: ...


class NoPoints:
    """Nothing happens at any point."""

    def reached(self, name: str) -> None:
        return None


class Row(NamedTuple):
    """A run in a list."""

    run: RunRow
    key: str | None
    updated_at: int
    current: tuple[str, ...]  # steps that run, are in doubt, or ask somebody
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


class JournalRow(NamedTuple):
    """A line of the journal."""

    seq: int
    at: int
    name: str
    key: Key | None
    n: int | None
    data: str | None  # JSON text


class AuditRow(NamedTuple):
    """A line of the audit log."""

    at: int
    run_id: str
    audit: Audit
    before: RunStatus
    after: RunStatus


class WorkerRow(NamedTuple):
    """A worker process, present or past."""

    epoch: Epoch
    started_at: int
    ended_at: int | None
    running: int  # attempts


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


class Reading(Protocol):
    """What people and faces look at; changes nothing and takes no locks."""

    def runs(
        self, *, status: RunStatus | None = None, type: str | None = None, search: str | None = None, limit: int = 50,
        before: str | None = None,
    ) -> Sequence[Row]:  # fmt: skip
        """Runs, the newest first; `before` is the last one of the page before. A search matches ids, keys and resources literally."""
        ...

    def find(self, text: str) -> str:
        """The run with this id or key, or whose id ends in at least 6 such characters. NotFound if there is none, or more than one."""
        ...

    def detail(self, run_id: str) -> Detail:
        """Everything about one run, as of one moment."""
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
