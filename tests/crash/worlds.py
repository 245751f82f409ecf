"""Databases with their ledgers: a fresh one for every kill, or a copy of one in which a process has died."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol
from uuid import uuid4

from halfway.store import migrate
from halfway.testing import Ledger
from tests.crash.flows import prepare
from tests.databases import command, named


class World(NamedTuple):
    """A database, and what really happened outside of it."""

    url: str
    folder: Path

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.folder / "ledger")


class Worlds(Protocol):
    """Worlds of one kind of database."""

    def fresh(self) -> World: ...
    def copy(self, world: World) -> World:
        """Nobody may be at work in it."""
        ...


class SqliteWorlds:
    """A folder each."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._number = count()
        self._empty = self._in(root / "empty")
        self._empty.folder.mkdir(parents=True)
        migrate(self._empty.url)
        prepare(self._empty.url)

    def fresh(self) -> World:
        return self.copy(self._empty)

    def copy(self, world: World) -> World:
        made = self._in(self._root / str(next(self._number)))
        shutil.copytree(world.folder, made.folder)
        return made

    def _in(self, folder: Path) -> World:
        return World(f"sqlite:///{folder}/halfway.db", folder)


class PostgresWorlds:
    """A database of the server and a folder each."""

    def __init__(self, root: Path, server: str, template: str) -> None:
        self._root, self._server = root, server
        self._number = count()
        self._made: list[str] = []
        self._empty = self._clone(template)
        prepare(self._empty.url)

    def fresh(self) -> World:
        return self.copy(self._empty)

    def copy(self, world: World) -> World:
        made = self._clone(world.url.partition("?")[0].rpartition("/")[2])
        if (world.folder / "ledger").exists():
            shutil.copy(world.folder / "ledger", made.folder)
        return made

    def close(self) -> None:
        for name in self._made:
            command(self._server, f"drop database {name} with (force)")

    def _clone(self, template: str) -> World:
        name = f"halfway_crash_{uuid4().hex[:12]}"
        self._made.append(name)
        command(self._server, f"create database {name} template {template}")
        folder = self._root / str(next(self._number))
        folder.mkdir(parents=True)
        return World(named(self._server, name), folder)


def worlds(kind: str, root: Path, server: str, template: str) -> Iterator[Worlds]:
    if kind == "sqlite":
        yield SqliteWorlds(root)
        return
    made = PostgresWorlds(root, server, template)
    yield made
    made.close()
