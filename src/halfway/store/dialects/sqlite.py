"""SQLite: one file, write-ahead log with full synchronisation, one writer at a time with a patience of our own."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from halfway.errors import DatabaseBusy, DatabaseError, InvalidInput, SchemaError
from halfway.ports import GuardFailed
from halfway.store.database import Ask, Purpose, Row, Session, Work, leads_to
from halfway.store.dialects.clock import Clock
from halfway.store.forks import leave_open
from halfway.store.migrate import newest
from halfway.store.statements import Statement, statements

PATIENCE = 10.0  # seconds until a locked database counts as busy
CLOCK = "select coalesce((select cast(value as integer) from halfway_meta where name = 'clock_offset'), 0)"
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
TAKEN = (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE)
LOCAL_COMMIT = "The transaction of a step ends with the step: return to commit, raise to roll back."
T = TypeVar("T")


class SqliteConnection:
    """A connection, and the transaction on it."""

    def __init__(self, raw: sqlite3.Connection, clock: Clock, path: Path) -> None:
        self.raw: Any = raw
        self.path = path
        self.file = file_of(path)
        self.now = 0
        self._clock = clock
        self._cursor = raw.cursor()
        self._cursor.row_factory = None  # a borrowed connection may have its own
        self._process = os.getpid()
        self._statements = statements(postgres=False)

    # ── a transaction ──

    def begin(self, *, write: bool, clock: bool = True, ask: Ask | None = None) -> list[Row]:
        self._own()
        patiently(lambda: self._cursor.execute("begin immediate" if write else "begin"))
        if clock:
            self.read_clock()
        self._guard(on=True)
        return [] if ask is None else self.rows(ask.name, **ask.params)

    def read_clock(self) -> None:
        """That of this machine. It is the first read: in a transaction that only reads, this is where it may have to wait."""
        offset = patiently(lambda: self._cursor.execute(CLOCK).fetchone()[0])
        self.now = self._clock.see(time.time_ns() // 1000 + offset)

    def identity(self) -> str:
        return ""  # a file has no sessions that could break

    def history(self) -> str:
        return ""  # a copy of a file looks as the file did

    def snapshots(self, before: int) -> list[tuple[int, str, int]]:
        return []  # a file knows nothing of its readers

    def in_transaction(self) -> bool:
        return bool(self.raw.in_transaction)

    def has_table(self, name: str) -> bool:
        text = "select 1 from sqlite_master where type = 'table' and name = ?"
        return patiently(lambda: self._cursor.execute(text, (name,)).fetchone()) is not None

    def lock_schema(self) -> None:
        """There is one writer anyway."""

    def commit(self) -> None:
        self._own()
        self._guard(on=False)
        patiently(lambda: self._cursor.execute("commit"))

    def rollback(self) -> bool:
        try:
            self._guard(on=False)
            if self.raw.in_transaction:
                self._cursor.execute("rollback")
        except sqlite3.Error:
            return False
        return True

    def _guard(self, *, on: bool) -> None:
        if isinstance(self.raw, LocalConnection):
            self.raw.guard(on=on)

    def is_stale(self) -> bool:
        """Whether the file was taken away or another one put in its place: what is written to the old one would be lost."""
        return self.file != file_of(self.path)

    def close(self) -> None:
        self.raw.close()

    def leave(self) -> None:
        leave_open(self.raw)

    # ── statements ──

    def rows(self, name: str, /, **params: object) -> list[Row]:
        return self._execute(name, params).fetchall()

    def run(self, name: str, /, **params: object) -> int:
        return self._execute(name, params).rowcount

    def many(self, works: Sequence[Work]) -> list[int]:
        self._own()
        try:
            return [self._cursor.executemany(self._statements[name].text, rows).rowcount for name, rows in works]
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode not in TAKEN:
                raise
            raise GuardFailed(str(error)) from error

    def each(self, work: Work) -> list[int]:
        self._own()
        text = self._statements[work.name].text
        return [self._cursor.execute(text, row).rowcount for row in work.rows]

    def _execute(self, name: str, params: dict[str, object]) -> sqlite3.Cursor:
        self._own()
        statement = self._statements[name]
        return self._cursor.execute(statement.text, _values(statement, params))

    def _own(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("This transaction was begun before a fork and belongs to the parent process.")


def file_of(path: Path) -> tuple[int, int] | None:
    """Which file lies at a path."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _values(statement: Statement, params: dict[str, object]) -> list[Any]:
    return [json.dumps(params[name]) if name in statement.lists else params[name] for name in statement.params]


def patiently(attempt: Callable[[], T]) -> T:
    """Tries again while another process writes. SQLite's own waiting starves whoever waits longest, this does not."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if _primary(error) not in BUSY or time.monotonic() >= give_up:
                raise
        time.sleep(random.uniform(0.0005, 0.0015))


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _no_transactions(action: int, *about: str | None) -> int:
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_TRANSACTION else sqlite3.SQLITE_OK


class LocalConnection(sqlite3.Connection):
    """What a transaction step gets: its commit is the end of the attempt, not the author's."""

    def commit(self) -> None:
        raise RuntimeError(LOCAL_COMMIT)

    def rollback(self) -> None:
        raise RuntimeError(LOCAL_COMMIT)

    def executescript(self, script: str, /) -> sqlite3.Cursor:
        raise RuntimeError("executescript() commits before it begins: give each statement to execute().")

    def guard(self, *, on: bool) -> None:
        """Whether statements that begin or end a transaction are refused; those of the engine itself come with the guard down."""
        self.set_authorizer(_no_transactions if on else None)

    def __exit__(self, *exc: object) -> Literal[False]:
        return False


class Sqlite:
    """A database file."""

    name = "sqlite"
    connection_type = "sqlite3.Connection"
    locks_by_process = True

    def __init__(self, url: str, path: Path) -> None:
        self.url = url
        self.path = path
        self.folder = path.with_name(path.name + ".halfway")
        self._clock = Clock()

    def connect(self, purpose: Purpose) -> SqliteConnection:
        return SqliteConnection(self.open(local=purpose is Purpose.LOCAL), self._clock, self.path)

    def create(self) -> bool:
        raw = self.open(create=True)
        try:
            return not SqliteConnection(raw, self._clock, self.path).has_table("halfway_migration")
        finally:
            raw.close()

    def open(self, *, create: bool = False, local: bool = False) -> sqlite3.Connection:
        """A connection of the driver. Only a migration creates the file, so that a lost one is not replaced by an empty one."""
        mode = "rwc" if create else "rw"
        if not create and not self.path.exists():
            raise DatabaseError("DATABASE_MISSING", url=self.url)
        raw = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=PATIENCE,
            factory=LocalConnection if local else sqlite3.Connection,
        )
        try:
            raw.execute("pragma journal_mode = wal")
            raw.execute("pragma synchronous = full")
            raw.execute("pragma foreign_keys = off")
            raw.execute("pragma busy_timeout = 0")
        except sqlite3.Error:
            raw.close()
            raise
        return raw

    def gives(self, kind: type) -> bool:
        return kind is sqlite3.Connection

    @contextmanager
    def borrow(self, given: object) -> Generator[Session]:
        raw = leads_to(given, lambda found: isinstance(found, sqlite3.Connection))
        if not isinstance(raw, sqlite3.Connection) or not self._same_file(raw):
            raise InvalidInput("CONNECTION_REFUSED_WITHIN", given=type(given).__qualname__, url=self.url)
        if not raw.in_transaction:
            problem = "a connection without an open transaction (say 'begin' first)"
            raise InvalidInput("CONNECTION_REFUSED_WITHIN", given=problem, url=self.url)
        session = SqliteConnection(raw, self._clock, self.path)
        session.read_clock()
        raw.execute("savepoint halfway")
        try:
            yield session
        except BaseException:
            if raw.in_transaction:
                raw.execute("rollback to savepoint halfway")
                raw.execute("release savepoint halfway")
            raise
        raw.execute("release savepoint halfway")

    def _same_file(self, given: sqlite3.Connection) -> bool:
        cursor = given.cursor()
        cursor.row_factory = None
        files = [file for _, name, file in cursor.execute("pragma database_list") if name == "main"]
        return bool(files and files[0]) and self.path.exists() and os.path.samefile(files[0], self.path)

    def translate(self, error: BaseException) -> Exception | None:
        if not isinstance(error, sqlite3.Error):
            return None
        match _primary(error):
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return DatabaseBusy("DATABASE_BUSY", url=self.url, seconds=int(PATIENCE))
            case sqlite3.SQLITE_FULL | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_IOERR:
                return DatabaseError("DATABASE_FULL", url=self.url, problem=f"{error}.")
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return DatabaseError("DATABASE_UNREACHABLE", url=self.url, problem=f"it is damaged or not an SQLite database ({error}).")
            case sqlite3.SQLITE_CANTOPEN:
                return DatabaseError("DATABASE_UNREACHABLE", url=self.url, problem=f"{error}.")
            case _ if "no such table: halfway_" in str(error):
                return SchemaError("SCHEMA_OUTDATED", url=self.url, found=0, needed=newest(self.name))
            case _:
                return None
