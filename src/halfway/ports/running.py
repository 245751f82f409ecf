"""How runs are created and changed: the transactions of a worker and of Control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeAlias

from halfway.domain.draft import Audit, Change
from halfway.domain.line import Claim
from halfway.domain.run import Attempt, Key, Snapshot
from halfway.domain.spec import WorkflowSpec
from halfway.ports.calls import Answered, Called
from halfway.ports.events import Inbox, NewEvent, Received
from halfway.ports.flow import Flow
from halfway.ports.items import Items, Listed
from halfway.ports.moving import Moves


class Parent(NamedTuple):
    """The attempt of a step that starts a run."""

    run_id: str
    key: Key
    n: int


class Debounce(NamedTuple):
    """A start that each later one of the same key puts off; microseconds."""

    key: str
    wait: int
    longest: int | None = None  # so long after the first one it begins in any case


class NewRun(NamedTuple):
    """A run to be created; `input` is JSON text. Without an id it gets one."""

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
    parent: Parent | None = None  # which waits for it; its attempt must still run, else `GuardFailed`
    trigger: str | None = None  # the task that starts it, which is done with its creation
    claims: tuple[Claim, ...] = ()  # what it must hold before it begins, in order of the key
    debounce: Debounce | None = None


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
    hold: str | None = None  # the business record that it changes, to be held for every run until the outcome is known (R-J2)


class Granted(NamedTuple):
    """Which effects may begin, and which may not because another step holds their business record."""

    marks: frozenset[Mark]
    held: frozenset[Mark] = frozenset()


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


Kept: TypeAlias = Evidence | Saved | Listed | Called | Answered


class Left(NamedTuple):
    """A RUNNING attempt whose worker is dead, or which its worker does not know."""

    run_id: str
    key: Key
    attempt: Attempt


class GuardFailed(Exception):
    """A guarded write found no row: the race was lost, and nothing of the transaction may stand."""


class EpochOver(Exception):
    """This worker's epoch has been declared dead."""


class Turn(Protocol):
    """One transaction in which runs are changed. Leaving it normally commits, an exception rolls everything back."""

    now: int  # the database's time; never goes backwards in a process
    inbox: Inbox
    items: Items
    flow: Flow
    moves: Moves

    def lock(self, ids: Sequence[str], *, wait: bool = False) -> Mapping[str, int]:
        """Locks these runs in order of id and answers their revisions; without `wait` those locked elsewhere are left out."""
        ...

    def load(self, ids: Sequence[str]) -> Mapping[str, Loaded]:
        """Reads locked runs with their records, open attempts and outputs."""
        ...

    def ready(self, route: str, limit: int, *, steps: bool = True, run_id: str = "") -> Sequence[Ready]:
        """The first due records of a route by their rank, not locked; without `steps` only what looks and what undoes.

        run_id: those of one run alone.
        """
        ...

    def write(self, changes: Sequence[Change]) -> None:
        """Stores what was decided; `GuardFailed` if an attempt had already ended or a run had moved."""
        ...

    def mark(self, marks: Sequence[Mark]) -> Granted:
        """Sets the effect marks that may be set: the attempt runs, cancel and deadline allow it, and its record is free or its own."""
        ...

    def keep(self, rows: Sequence[Kept]) -> frozenset[Kept]:
        """Keeps what attempts that still run hand in, and answers which of it was kept."""
        ...

    def left(self, epoch: str, *, lost: bool = False) -> Sequence[Left]:
        """The attempts of this epoch that run according to the database; or its unsettled ones that are not yet known to be gone."""
        ...

    def due(self, limit: int, *, repair: int = 0) -> Sequence[str]:
        """Runs whose time has come (a doubt, a wait, a deadline, a timeout), what they wait for is here, or which nothing would ever
        move; at most `limit` of each kind.

        `repair`: microseconds. Waits that were opened within that time are compared with what has come, whether or not somebody was told:
        either side of a race may have missed the other. It costs a look for each such wait, so it is for the sweep.
        """
        ...


class RunStore(Protocol):
    """Runs and what belongs to them."""

    def register(self, specs: Sequence[WorkflowSpec]) -> None:
        """Keeps definitions by hash; a run finds its own again."""
        ...

    def spec(self, hash: str) -> WorkflowSpec:
        """The definition with this hash; definitions are immutable, so they are read once."""
        ...

    def create(self, runs: Sequence[NewRun], *, within: object = None) -> Sequence[Started]:
        """Creates runs, or finds those that stand under their keys, in one transaction; `within` is the caller's.

        A run whose `trigger` is done already is not created: its answer has an empty id.
        """
        ...

    def child(self, run_id: str, key: Key) -> str | None:
        """The run that stands for an item of a step that starts runs; None if there is none yet."""
        ...

    def keep(self, events: Sequence[NewEvent], *, within: object) -> Sequence[Received]:
        """Stores messages in the caller's own transaction; what waits for them hears after its commit."""
        ...

    def refuse(self, run_id: str, audit: Audit) -> None:
        """Keeps that an order was refused, in a transaction of its own (R-D8)."""
        ...

    def change(self, *, epoch: str | None = None, name: str = "change") -> AbstractContextManager[Turn]:
        """A transaction to change runs in. With an epoch it first makes sure that this epoch is alive, else `EpochOver`."""
        ...

    def transaction(self, kind: type, run_id: str, key: Key, n: int) -> AbstractContextManager[Local]:
        """A connection for a transaction step."""
        ...

    def restored(self) -> int:
        """Opens a new era after a restore: every open run is told that starts of it may be missing; answers how many.

        Runs that are created in the next seven days are told the same: what a copy does not know may concern them too.
        """
        ...


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
