"""A stand-in for a mail service, which any number of processes may use: it drops a mail that comes again under its key."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

SCHEMA = """
create table if not exists mail (key text not null primary key, id text not null, address text not null);
create table if not exists delivery (address text not null, key text not null);
create table if not exists unknown (address text not null primary key);
"""


class UnknownAddress(Exception):
    """The service does not know this address, and has sent nothing."""


class Mailbox:
    """What is sent is in a file, so that it outlives whoever sends."""

    def __init__(self, path: Path, *, drops_repeats: bool = True) -> None:
        self.path = path
        self.drops_repeats = drops_repeats

    def open(self, path: Path) -> None:
        self.path = path
        with closing(self._connect()) as connection:
            connection.executescript(SCHEMA)

    def send(self, address: str, text: str, *, key: str) -> str:
        """The id of the mail; of the first one, if it has been sent under this key before."""
        with closing(self._connect()) as connection:
            connection.execute("begin immediate")
            if connection.execute("select 1 from unknown where address = ?", (address,)).fetchone():
                raise UnknownAddress(f"{address} is unknown")
            known = connection.execute("select id from mail where key = ?", (key,)).fetchone()
            if known is not None and self.drops_repeats:
                return str(known[0])
            connection.execute("insert or ignore into mail values (?, ?, ?)", (key, f"m-{key}", address))
            connection.execute("insert into delivery values (?, ?)", (address, key))
            connection.execute("commit")
            return f"m-{key}"

    def find(self, key: str) -> str | None:
        with closing(self._connect()) as connection:
            found = connection.execute("select id from mail where key = ?", (key,)).fetchone()
        return None if found is None else str(found[0])

    def sent(self) -> list[str]:
        """The address of every mail that was really sent, in the order in which they were."""
        with closing(self._connect()) as connection:
            return [str(address) for (address,) in connection.execute("select address from delivery order by rowid")]

    def forget(self, addresses: Iterable[str]) -> None:
        with closing(self._connect()) as connection, connection:
            connection.executemany("insert or ignore into unknown values (?)", [(address,) for address in addresses])

    def learn(self, addresses: Iterable[str]) -> None:
        with closing(self._connect()) as connection, connection:
            connection.executemany("delete from unknown where address = ?", [(address,) for address in addresses])

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        connection.execute("pragma synchronous = off")
        return connection
