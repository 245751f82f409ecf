"""The schema of a database: which migrations it has had, and the ones it still needs. Forward only; a released file is never edited."""

from __future__ import annotations

import hashlib
import re
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from halfway.errors import SchemaError
from halfway.store.database import Connection, Database, Purpose
from halfway.store.statements import fill

FOLDER = Path(__file__).parent / "migrations"
FILE = re.compile(r"(?P<number>\d{4})_(?P<name>\w+?)(?:\.(?P<dialect>sqlite|postgres))?\.sql")
COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)


class Migration(NamedTuple):
    """A numbered file, or the half of a pair that is meant for one database."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


class Applied(NamedTuple):
    """A migration that a database has had."""

    number: int
    name: str
    checksum: str
    applied_at: int


class SchemaStatus(NamedTuple):
    """What a database has, and what this version needs."""

    found: int
    needed: int
    applied: tuple[Applied, ...]


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """The files for one kind of database, in order."""
    found: list[Migration] = []
    for path in sorted(FOLDER.glob("*.sql")):
        parts = FILE.fullmatch(path.name)
        if parts and parts["dialect"] in (None, dialect):
            found.append(Migration(int(parts["number"]), parts["name"], path.read_text(encoding="utf-8")))
    return tuple(found)


def newest(dialect: str) -> int:
    """The schema that this version needs."""
    return migrations(dialect)[-1].number


def schema_status(database: Database) -> SchemaStatus:
    """Reads what was applied; a database without our tables has schema 0."""
    with database.connection(Purpose.READ) as connection:
        connection.begin(write=False, clock=False)
        applied = _applied(connection) if connection.has_table("halfway_migration") else ()
    return SchemaStatus(applied[-1].number if applied else 0, newest(database.dialect.name), applied)


def require_schema(database: Database, status: SchemaStatus) -> None:
    """Refuses an older, a newer or an altered schema, and says what to do."""
    url = database.dialect.url
    if status.found > status.needed:
        raise SchemaError("SCHEMA_NEWER", url=url, found=status.found, needed=status.needed)
    files = {migration.number: migration for migration in migrations(database.dialect.name)}
    for applied in status.applied:
        if files[applied.number].checksum != applied.checksum:
            raise SchemaError("SCHEMA_CHANGED", url=url, name=f"{applied.number:04}_{applied.name}")
    if status.found < status.needed:
        raise SchemaError("SCHEMA_OUTDATED", url=url, found=status.found, needed=status.needed)


def migrate_schema(database: Database) -> tuple[Migration, ...]:
    """Applies what is missing, in one transaction that no other migration can enter; answers what it has applied."""
    with database.connection(Purpose.WRITE) as connection:
        connection.begin(write=True, clock=False)
        connection.lock_schema()
        connection.run("create_migration")
        applied = _applied(connection)
        known = {migration.number for migration in migrations(database.dialect.name)}
        if applied and applied[-1].number not in known:
            raise SchemaError("SCHEMA_NEWER", url=database.dialect.url, found=applied[-1].number, needed=max(known))
        had = {one.number for one in applied}
        missing = tuple(migration for migration in migrations(database.dialect.name) if migration.number not in had)
        for migration in missing:
            _apply(connection, migration, postgres=database.dialect.name == "postgres")
        database.commit(connection, "migrate")
    return missing


def _applied(connection: Connection) -> tuple[Applied, ...]:
    return tuple(Applied(*row) for row in connection.rows("applied"))


def _apply(connection: Connection, migration: Migration, *, postgres: bool) -> None:
    """Statement by statement: a script as a whole would commit on SQLite before it begins."""
    for statement in COMMENT.sub("", migration.text).split(";\n"):
        if statement.strip():
            connection.raw.execute(fill(statement, postgres=postgres))
    connection.run("add_migration", number=migration.number, name=migration.name, checksum=migration.checksum, at=time.time_ns() // 1000)
