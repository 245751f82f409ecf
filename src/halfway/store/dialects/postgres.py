"""PostgreSQL: one pooled connection for each transaction, limits on every wait, and errors that never show a password."""

from __future__ import annotations

import os
import select
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from halfway.errors import DatabaseBusy, DatabaseError, InvalidInput, SchemaError
from halfway.ports import GuardFailed
from halfway.store.database import Ask, Purpose, Row, Session, Work, leads_to
from halfway.store.dialects.clock import Clock
from halfway.store.forks import leave_open
from halfway.store.migrate import newest
from halfway.store.statements import statements

CLOCK = b"""select (extract(epoch from clock_timestamp()) * 1000000)::bigint
    + coalesce((select value::bigint from halfway_meta where name = 'clock_offset'), 0)"""
BEGIN = {True: b"begin isolation level read committed", False: b"begin isolation level repeatable read read only"}
SERVER = b"select oid::bigint, datname::text, pg_postmaster_start_time()::text from pg_database where datname = current_database()"
HISTORY = b"select system_identifier::text || '/' || timeline_id::text from pg_control_system(), pg_control_checkpoint()"
SNAPSHOTS = (
    b"select pid::bigint, coalesce(nullif(application_name, ''), usename::text, ''), (extract(epoch from xact_start) * 1000000)::bigint"
    b" from pg_stat_activity where datname = current_database() and backend_xmin is not null and pid <> pg_backend_pid()"
    b" and backend_type <> 'autovacuum worker'"  # it comes to its end by itself, and holds back no other
    b" and xact_start is not null and extract(epoch from xact_start) * 1000000 <= $1::bigint order by xact_start"
)
LOCK_SECONDS = 5
# Everything that is written goes by an index, whatever the statistics of a table that has just grown may say.
BY_INDEX = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "plan_cache_mode": "force_generic_plan"}


def limits(*, lock: int, statement: int, idle: int) -> dict[str, str]:
    """Milliseconds: for a lock, for a statement, for silence inside a transaction."""
    return {"lock_timeout": str(lock), "statement_timeout": str(statement), "idle_in_transaction_session_timeout": str(idle)}


SETTINGS = {
    Purpose.WRITE: BY_INDEX | limits(lock=LOCK_SECONDS * 1000, statement=30_000, idle=30_000),
    Purpose.READ: limits(lock=LOCK_SECONDS * 1000, statement=30_000, idle=30_000),
    Purpose.BEAT: BY_INDEX | limits(lock=1_500, statement=3_000, idle=3_000),
    Purpose.LOCAL: limits(lock=30_000, statement=0, idle=3_600_000),
}
CONNECTION = {  # what the URL may say otherwise
    "application_name": "halfway",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
LOCAL_COMMIT = "The transaction of a step ends with the step: return to commit, raise to roll back."


class PostgresConnection:
    """A connection, and the transaction on it."""

    def __init__(self, raw: psycopg.Connection[Any], clock: Clock) -> None:
        self.raw: Any = raw
        self.now = 0
        self._connection = raw
        self._clock = clock
        self._process = os.getpid()
        self._statements = statements(postgres=True)
        self._cursor = self._new_cursor()

    # ── a transaction ──

    def begin(self, *, write: bool, clock: bool = True, ask: Ask | None = None) -> list[Row]:
        self._own()
        if not clock:
            self._cursor.execute(BEGIN[write], prepare=False)
        elif ask is None:
            self._cursor.execute(BEGIN[write] + b"; " + CLOCK, prepare=False)  # one round trip
            self._cursor.nextset()
            self._set_clock()
        else:
            return self._begin_asking(write, ask)
        return []

    def _begin_asking(self, write: bool, ask: Ask) -> list[Row]:
        statement, asked = self._statements[ask.name], self._new_cursor()
        with self._connection.pipeline():  # still one round trip
            self._new_cursor().execute(BEGIN[write], prepare=False)
            self._cursor.execute(CLOCK, prepare=True)
            asked.execute(statement.sent, untyped([ask.params[name] for name in statement.params]), prepare=True)
        self._set_clock()
        return asked.fetchall()

    def read_clock(self) -> None:
        self._cursor.execute(CLOCK)
        self._set_clock()

    def identity(self) -> str:
        row = self._cursor.execute(b"select pg_postmaster_start_time()::text").fetchone()
        return "" if row is None else str(row[0])

    def history(self) -> str:
        try:
            with self._connection.transaction():  # a savepoint: not everybody may ask
                row = self._cursor.execute(HISTORY).fetchone()
        except errors.InsufficientPrivilege:
            return ""
        return "" if row is None else str(row[0])

    def snapshots(self, before: int) -> list[tuple[int, str, int]]:
        return self._cursor.execute(SNAPSHOTS, [str(before)]).fetchall()

    def in_transaction(self) -> bool:
        """A connection that is lost has ended nothing by itself: its server rolls back."""
        return self._connection.info.transaction_status is not TransactionStatus.IDLE

    def has_table(self, name: str) -> bool:
        return self._cursor.execute(b"select to_regclass($1)", [name]).fetchone() != (None,)

    def lock_schema(self) -> None:
        self._cursor.execute(b"select pg_advisory_xact_lock(hashtext('halfway_migration'))")

    def commit(self) -> None:
        """The server answers a commit of a failed transaction with ROLLBACK, not with an error."""
        self._own()
        self._cursor.execute(b"commit", prepare=False)
        if self._cursor.statusmessage != "COMMIT":
            raise errors.InFailedSqlTransaction("a statement had failed, so nothing was committed")

    def rollback(self) -> bool:
        try:
            if self._connection.info.transaction_status is not TransactionStatus.IDLE:
                self._cursor.execute(b"rollback", prepare=False)
        except psycopg.Error:
            return False
        return not self._connection.closed

    def is_stale(self) -> bool:
        """The server never speaks first but to say that it goes."""
        poll = select.poll()
        poll.register(self._connection.fileno(), select.POLLIN | select.POLLHUP)
        return bool(poll.poll(0))

    def close(self) -> None:
        self._connection.close()

    def leave(self) -> None:
        """The socket is closed here without a word, so that the server sees the end of the parent at once."""
        leave_open(self._connection)
        with suppress(psycopg.Error, OSError):  # broken already
            os.close(self._connection.fileno())

    # ── statements ──

    def rows(self, name: str, /, **params: object) -> list[Row]:
        return self._execute(name, params).fetchall()

    def run(self, name: str, /, **params: object) -> int:
        return self._execute(name, params).rowcount

    def many(self, works: Sequence[Work]) -> list[int]:
        self._own()
        cursors = [self._new_cursor() for _ in works]
        try:
            with self._connection.pipeline():
                for cursor, (name, rows) in zip(cursors, works, strict=True):
                    statement = self._statements[name]
                    if statement.columns:
                        cursor.execute(statement.sent, list(map(array, zip(*rows, strict=True), statement.columns)))
                    else:
                        cursor.executemany(statement.sent, map(untyped, rows))
        except errors.UniqueViolation as error:
            raise GuardFailed(str(error)) from error
        return [cursor.rowcount for cursor in cursors]

    def each(self, work: Work) -> list[int]:
        self._own()
        if not work.rows:
            return []
        sent = self._statements[work.name].sent
        cursors = [self._new_cursor() for _ in work.rows]
        with self._connection.pipeline():
            for cursor, row in zip(cursors, work.rows, strict=True):
                cursor.execute(sent, untyped(row))
        return [cursor.rowcount for cursor in cursors]

    def _execute(self, name: str, params: dict[str, object]) -> psycopg.RawCursor[Row]:
        self._own()
        statement = self._statements[name]
        return self._cursor.execute(statement.sent, untyped([params[param] for param in statement.params]))

    def _new_cursor(self) -> psycopg.RawCursor[Row]:
        return psycopg.RawCursor(self._connection, row_factory=tuple_row)

    def _set_clock(self) -> None:
        row = self._cursor.fetchone()
        assert row is not None
        self.now = self._clock.see(row[0])

    def _own(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("This transaction was begun before a fork and belongs to the parent process.")


def untyped(values: Sequence[object]) -> list[object]:
    """Numbers as text, whose type the statement knows: else every size of a number, and None, would make a statement of its own."""
    return [str(value) if isinstance(value, int) else value for value in values]


def array(column: Sequence[object], text: bool) -> str:
    """An array as PostgreSQL writes it; several times faster than handing over a list."""
    if not text:
        return "{" + ",".join(map(str, column)).replace("None", "NULL") + "}"
    values = cast("Sequence[str | None]", column)
    if None not in values:
        joined = '","'.join(cast("Sequence[str]", column))
        if "\\" not in joined and joined.count('"') == 2 * (len(values) - 1):  # nothing in it has to be escaped
            return f'{{"{joined}"}}'
    return "{" + ",".join(["NULL" if value is None else _quoted(value) for value in values]) + "}"


def _quoted(value: str) -> str:
    if '"' in value or "\\" in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'


class LocalConnection(psycopg.Connection[Any]):
    """What a transaction step gets: its commit is the end of the attempt, not the author's."""

    def commit(self) -> None:
        raise RuntimeError(LOCAL_COMMIT)

    def rollback(self) -> None:
        raise RuntimeError(LOCAL_COMMIT)


class Postgres:
    """A server."""

    name = "postgres"
    connection_type = "psycopg.Connection"
    locks_by_process = False
    folder = None

    def __init__(self, url: str, shown: str) -> None:
        self.url = shown
        self._secret = url
        self._clock = Clock()
        self._server: Row | None = None

    def create(self) -> bool:
        """A database of a server is made and migrated by those who run the server."""
        return False

    def connect(self, purpose: Purpose) -> PostgresConnection:
        kind = LocalConnection if purpose is Purpose.LOCAL else psycopg.Connection[Any]
        given = conninfo_to_dict(self._secret)
        ours = {name: value for name, value in CONNECTION.items() if name not in given}
        raw = kind.connect(make_conninfo(self._secret, **ours), autocommit=True)
        try:
            for name, value in SETTINGS[purpose].items():
                raw.execute("select set_config(%s, %s, false)", [name, value])
        except BaseException:
            raw.close()
            raise
        return PostgresConnection(raw, self._clock)

    def gives(self, kind: type) -> bool:
        return kind is psycopg.Connection

    @contextmanager
    def borrow(self, given: object) -> Generator[Session]:
        raw = cast("psycopg.Connection[Any] | None", leads_to(given, lambda found: isinstance(found, psycopg.Connection)))
        if raw is None or not self._same_server(raw):
            raise InvalidInput("CONNECTION_REFUSED_WITHIN", given=type(given).__qualname__, url=self.url)
        if raw.autocommit and raw.info.transaction_status is TransactionStatus.IDLE:
            problem = "a connection that commits by itself, without an open transaction"
            raise InvalidInput("CONNECTION_REFUSED_WITHIN", given=problem, url=self.url)
        session = PostgresConnection(raw, self._clock)
        session.read_clock()  # begins the caller's transaction if the driver has not yet done so
        with raw.transaction():  # a savepoint inside it
            yield session

    def _same_server(self, given: psycopg.Connection[Any]) -> bool:
        theirs = psycopg.RawCursor(given, row_factory=tuple_row).execute(SERVER).fetchone()
        if theirs != self._server:  # not known yet, restarted since, or another one
            connection = self.connect(Purpose.READ)
            try:
                self._server = psycopg.RawCursor(connection.raw, row_factory=tuple_row).execute(SERVER).fetchone()
            finally:
                connection.close()
        return theirs == self._server

    def translate(self, error: BaseException) -> Exception | None:
        match error:
            case errors.LockNotAvailable() | errors.QueryCanceled() | errors.DeadlockDetected() | errors.SerializationFailure():
                return DatabaseBusy("DATABASE_BUSY", url=self.url, seconds=LOCK_SECONDS)
            case errors.DiskFull():
                return DatabaseError("DATABASE_FULL", url=self.url, problem="its disk is full.")
            case errors.UndefinedTable() if "halfway_" in str(error):
                return SchemaError("SCHEMA_OUTDATED", url=self.url, found=0, needed=newest(self.name))
            case errors.ReadOnlySqlTransaction():
                return DatabaseError("DATABASE_UNREACHABLE", url=self.url, problem="the server only reads at present.")
            case psycopg.OperationalError() | psycopg.InterfaceError():
                return DatabaseError("DATABASE_UNREACHABLE", url=self.url, problem=self._told(error))
            case _:
                return None

    def _told(self, error: BaseException) -> str:
        """What the driver says, in one line and without the password."""
        said = " ".join(str(error).split()) or type(error).__name__
        password = conninfo_to_dict(self._secret).get("password")
        return (said.replace(str(password), "***") if password else said) + ("" if said.endswith(".") else ".")
