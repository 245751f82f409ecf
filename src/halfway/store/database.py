"""A database as the store uses it: pooled connections, transactions with named commit points, and the errors they end in.

What differs between SQLite and PostgreSQL is behind `Dialect` and `Connection`, in `dialects/`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from halfway.errors import DatabaseError, HalfwayError
from halfway.ports import Points
from halfway.store.forks import Gate, watch

Row = tuple[Any, ...]
IDLE = 8  # connections that are kept for each purpose


class Purpose(StrEnum):
    """What a connection is for; PostgreSQL limits its waiting accordingly."""

    WRITE = "write"
    READ = "read"
    BEAT = "beat"
    LOCAL = "local"  # a transaction step: the author's own statements


class Work(NamedTuple):
    """One statement for many rows; values in the order of its parameters."""

    name: str
    rows: Sequence[Sequence[object]]


class Ask(NamedTuple):
    """A named statement with its parameters."""

    name: str
    params: dict[str, object]


class Session(Protocol):
    """A transaction at work."""

    now: int  # microseconds, of the database

    def identity(self) -> str:
        """Which life of the server answers; another one after a restart or a fail-over."""
        ...

    def history(self) -> str:
        """Which history of the data this is; another one after a fail-over or a restore. Empty: nobody can tell."""
        ...

    def snapshots(self, before: int) -> list[tuple[int, str, int]]:
        """Other sessions whose transactions began before and still see what was deleted since: (process, name, since when)."""
        ...

    def rows(self, name: str, /, **params: object) -> list[Row]:
        """All rows of a named statement."""
        ...

    def run(self, name: str, /, **params: object) -> int:
        """How many rows a named statement has changed."""
        ...

    def many(self, works: Sequence[Work]) -> list[int]:
        """Runs each statement over all its rows, in this order, and answers how many rows each has changed.

        A row that is already there means that the race for it was lost: `GuardFailed`.
        """
        ...

    def each(self, work: Work) -> list[int]:
        """How many rows one statement has changed, for each row of its values."""
        ...


class Connection(Session, Protocol):
    """One connection of ours."""

    raw: Any  # the driver's

    def read_clock(self) -> None:
        """`now` becomes the present time."""
        ...

    def in_transaction(self) -> bool: ...

    def begin(self, *, write: bool, clock: bool = True, ask: Ask | None = None) -> list[Row]:
        """`clock`: reads the time, from where a migration has yet to create it. `ask`: a first statement, on the same way."""
        ...

    def has_table(self, name: str) -> bool: ...

    def lock_schema(self) -> None:
        """Until the end of the transaction no other migration goes on."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> bool:
        """Ends what is open, if anything is; whether the connection can be used again."""
        ...

    def is_stale(self) -> bool:
        """Whether its other end is known to be gone."""
        ...

    def close(self) -> None: ...

    def leave(self) -> None:
        """In a child of a fork: lets go of what is the parent's, without a word to the other end."""
        ...


class Dialect(Protocol):
    """What the store must know about one kind of database."""

    @property
    def name(self) -> str: ...

    @property
    def url(self) -> str:
        """Fit to be shown: without a password."""
        ...

    @property
    def connection_type(self) -> str:
        """What an author writes in wf.transaction(…)."""
        ...

    @property
    def locks_by_process(self) -> bool:
        """Whether a child that is forked inside a transaction would believe that it holds its parent's locks."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where files that belong to the database lie, if it is itself a file."""
        ...

    def create(self) -> bool:
        """Makes a database where there is none; whether it has no tables of ours yet, and may be given them unasked."""
        ...

    def connect(self, purpose: Purpose) -> Connection: ...

    def borrow(self, given: object) -> AbstractContextManager[Session]:
        """The caller's own connection, inside the caller's transaction; a failure rolls back to where it began."""
        ...

    def gives(self, kind: type) -> bool:
        """Whether this is the class of connections that a transaction step gets here."""
        ...

    def translate(self, error: BaseException) -> Exception | None:
        """Our error for one of the driver's; None if it is not about the state of the database."""
        ...


class Database:
    """Connections and transactions; safe to use from any thread, and after a fork."""

    def __init__(self, dialect: Dialect, points: Points) -> None:
        self.dialect = dialect
        self.points = points
        self._idle: dict[Purpose, list[Connection]] = {purpose: [] for purpose in Purpose}
        self._busy: set[Connection] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._gate = Gate(dialect.url)
        watch(self)

    @contextmanager
    def transaction(self, name: str, *, write: bool = True, purpose: Purpose = Purpose.WRITE) -> Generator[Session]:
        """Leaving it normally commits, an exception rolls everything back. `name` is that of the points around the commit."""
        with self.asking(name, None, write=write, purpose=purpose) as (session, _):
            yield session

    @contextmanager
    def asking(
        self, name: str, ask: Ask | None, *, write: bool = True, purpose: Purpose = Purpose.WRITE
    ) -> Generator[tuple[Session, list[Row]]]:
        """A transaction and the answer to its first statement, which costs no round trip of its own."""
        with self.connection(purpose) as connection:
            answer = connection.begin(write=write, ask=ask)
            yield connection, answer
            self.commit(connection, name if write else None)

    def reading(self) -> AbstractContextManager[Session]:
        return self.transaction("read", write=False, purpose=Purpose.READ)

    @contextmanager
    def borrowed(self, given: object) -> Generator[Session]:
        """The caller's transaction on the caller's connection; what we did in it is undone if we fail, the rest stands."""
        with self.translated(), self.dialect.borrow(given) as session:
            yield session

    @contextmanager
    def translated(self) -> Generator[None]:
        """Errors of the driver that are about the state of the database become ours."""
        try:
            yield
        except BaseException as error:
            known = self.dialect.translate(error)
            if known is None:
                raise
            raise known from error

    def commit(self, connection: Connection, name: str | None) -> None:
        if name is not None:
            self.points.reached(f"{name}.before_commit")
        try:
            connection.commit()
        except Exception as error:
            known = self.dialect.translate(error)
            if isinstance(known, DatabaseError) and known.code == "DATABASE_UNREACHABLE":
                raise DatabaseError("COMMIT_UNKNOWN", url=self.dialect.url, problem=known.params["problem"]) from error
            raise
        if name is not None:
            self.points.reached(f"{name}.after_commit")

    @contextmanager
    def connection(self, purpose: Purpose) -> Generator[Connection]:
        """A connection of one's own; whatever is open on it in the end is rolled back."""
        process = os.getpid()
        with self.translated():
            self._gate.enter()
            try:
                connection = self._take(purpose)
                sound = True
                try:
                    yield connection
                except BaseException as error:
                    sound = not self._is_outage(error)
                    raise
                finally:
                    if os.getpid() == process:
                        self._give_back(purpose, connection, connection.rollback() and sound)
            finally:
                if os.getpid() == process:
                    self._gate.leave()

    def close(self) -> None:
        """Closes what is idle now and the rest when it is given back."""
        with self._lock:
            self._closed = True
            idle = [connection for connections in self._idle.values() for connection in connections]
            for connections in self._idle.values():
                connections.clear()
        for connection in idle:
            connection.close()

    def forked(self) -> None:
        for connections in self._idle.values():
            for connection in connections:
                connection.leave()
            connections.clear()
        for connection in self._busy:
            connection.leave()
        self._busy = set()
        self._lock = threading.Lock()

    def _take(self, purpose: Purpose) -> Connection:
        if self.dialect.locks_by_process and self._gate.torn:
            raise DatabaseError("FORKED_INSIDE", url=self.dialect.url)
        connection = None
        while connection is None:
            with self._lock:
                idle = self._idle[purpose]
                connection = idle.pop() if idle else None
            if connection is None:
                connection = self.dialect.connect(purpose)
            elif connection.is_stale():
                connection.close()
                connection = None
        with self._lock:
            self._busy.add(connection)
        return connection

    def _is_outage(self, error: BaseException) -> bool:
        known = self.dialect.translate(error)
        return isinstance(known, HalfwayError) and known.code == "DATABASE_UNREACHABLE"

    def _give_back(self, purpose: Purpose, connection: Connection, usable: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            keep = usable and not self._closed and purpose is not Purpose.LOCAL and len(self._idle[purpose]) < IDLE
            if keep:
                self._idle[purpose].append(connection)
        if not keep:
            connection.close()


def leads_to(given: object, wanted: Callable[[object], bool]) -> object | None:
    """The driver's connection behind what an application holds: Django, SQLAlchemy and their like keep it in an attribute."""
    for _ in range(4):
        if wanted(given):
            return given
        for name in ("driver_connection", "dbapi_connection", "connection"):
            inner = getattr(given, name, None)
            if wanted(inner) or (inner is not None and not callable(inner)):
                given = inner
                break
        else:
            return None
    return None
