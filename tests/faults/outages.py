"""Databases that are away for a while: forced and ended by the test, never by time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from halfway.store import forks
from halfway.store.dialects import sqlite


class Cut:
    """A database of a PostgreSQL server from which everybody is thrown out."""

    def __init__(self, server: str, url: str) -> None:
        with psycopg.connect(url) as own:
            self._name = own.info.dbname
        self._admin = psycopg.connect(server, autocommit=True)

    def begin(self) -> None:
        self._admin.execute(f'alter database "{self._name}" allow_connections false')  # type: ignore[arg-type]
        self.sever()

    def sever(self) -> None:
        """All present connections are broken when it returns; new ones can be made unless the outage has begun."""
        self._admin.execute("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = %s", [self._name])

    def end(self) -> None:
        self._admin.execute(f'alter database "{self._name}" allow_connections true')  # type: ignore[arg-type]

    def close(self) -> None:
        self.end()
        self._admin.close()


@contextmanager
def cutting(server: str, url: str) -> Iterator[Cut]:
    cut = Cut(server, url)
    try:
        yield cut
    finally:
        cut.close()


def in_a_transaction(url: str) -> bool:
    """Whether somebody stands in the middle of a transaction that writes; of PostgreSQL, of any."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=0)) as connection:
            try:
                connection.execute("begin immediate")
            except sqlite3.OperationalError:
                return True
        return False
    with psycopg.connect(url, autocommit=True) as own:
        found = own.execute("select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'")
        return found.fetchone() is not None


class Hold:
    """Somebody else's transaction that keeps the write lock of an SQLite file."""

    def __init__(self, url: str) -> None:
        self._connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=30, check_same_thread=False)

    def begin(self) -> None:
        self._connection.execute("begin immediate")

    def end(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback")

    def close(self) -> None:
        self.end()
        self._connection.close()


@contextmanager
def holding(url: str) -> Iterator[Hold]:
    hold = Hold(url)
    try:
        yield hold
    finally:
        hold.close()


def impatient(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.1) -> None:
    """A locked SQLite file counts as busy after this time, so that a test need not hold it for ten seconds; a fork waits as long."""
    monkeypatch.setattr(sqlite, "PATIENCE", seconds)
    monkeypatch.setattr(forks, "PATIENCE", seconds)
