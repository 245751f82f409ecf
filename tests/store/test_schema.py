"""Migrations and the schema they make: numbered, forward only, checked, and the same as what is committed beside this file."""

from __future__ import annotations

import re
import sqlite3
from enum import StrEnum
from pathlib import Path

import psycopg
import pytest

from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Ended, Happened, Intent, Kind
from halfway.errors import SchemaError
from halfway.store import Store, migrate, open_store, status
from halfway.store.migrate import FILE, FOLDER, migrations

HERE = Path(__file__).parent
COLUMNS = """
select table_name, column_name, data_type, is_nullable from information_schema.columns
where table_schema = 'public' order by table_name, ordinal_position
"""
CONSTRAINTS = """
select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
where connamespace = 'public'::regnamespace and contype in ('c', 'p', 'u', 'f') order by 1, 2
"""
INDEXES = "select indexdef from pg_indexes where schemaname = 'public' order by indexname"


def sqlite_dump(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("select sql from sqlite_master where sql is not null order by type desc, name").fetchall()
    connection.close()
    return "\n".join(f"{sql};" for (sql,) in rows) + "\n"


def postgres_dump(url: str) -> str:
    with psycopg.connect(url) as connection:
        columns = [
            f"{table}.{column} {kind}{'' if null == 'YES' else ' not null'}" for table, column, kind, null in connection.execute(COLUMNS)
        ]
        constraints = [f"{table} {name} {text}" for table, name, text in connection.execute(CONSTRAINTS)]
        indexes = [text for (text,) in connection.execute(INDEXES)]
    return "\n".join((*columns, "", *constraints, "", *indexes)) + "\n"


def test_the_schema_of_sqlite_is_the_committed_one(sqlite_url: str) -> None:
    open_store(sqlite_url).close()
    assert sqlite_dump(Path(sqlite_url.removeprefix("sqlite:///"))) == (HERE / "schema.sqlite.sql").read_text()


def test_the_schema_of_postgres_is_the_committed_one(postgres_url: str) -> None:
    assert postgres_dump(postgres_url) == (HERE / "schema.postgres.sql").read_text()


CHECKED: list[tuple[str, str, type[StrEnum]]] = [
    ("halfway_run", "status", RunStatus),
    ("halfway_run", "intent", Intent),
    ("halfway_record", "kind", Kind),
    ("halfway_record", "status", RecordStatus),
    ("halfway_record", "effect", Happened),
    ("halfway_attempt", "ended", Ended),
]


@pytest.mark.parametrize(("table", "column", "values"), CHECKED)
def test_the_database_knows_exactly_the_states_of_the_domain(sqlite_url: str, table: str, column: str, values: type[StrEnum]) -> None:
    open_store(sqlite_url).close()
    dump = sqlite_dump(Path(sqlite_url.removeprefix("sqlite:///")))
    body = re.search(rf"create table {table} \((.*?)\n\);", dump, re.IGNORECASE | re.DOTALL)
    assert body is not None
    assert set(re.findall(rf"\b{column} = '(\w+)'", body[1])) == {value.value for value in values}


# ── the rules for files ──


def test_migrations_are_numbered_without_a_gap_and_come_for_both_databases() -> None:
    names = sorted(path.name for path in FOLDER.iterdir() if path.suffix == ".sql")
    assert [name for name in names if FILE.fullmatch(name) is None] == []
    for dialect in ("sqlite", "postgres"):
        assert [migration.number for migration in migrations(dialect)] == list(range(1, len(migrations(dialect)) + 1))
    assert len(migrations("sqlite")) == len(migrations("postgres"))


def test_a_migration_has_no_line_that_ends_a_statement_inside_a_text() -> None:
    """The runner splits at a semicolon at the end of a line."""
    for path in FOLDER.glob("*.sql"):
        for statement in re.sub(r"--.*", "", path.read_text()).split(";\n"):
            assert statement.count("'") % 2 == 0, f"{path.name}: {statement[:60]}"
            assert statement.count("(") == statement.count(")"), f"{path.name}: {statement[:60]}"


def test_applying_what_is_there_does_nothing(url: str) -> None:
    open_store(url).close()
    assert migrate(url) == ()
    found = status(url)
    assert (found.found, [one.number for one in found.applied]) == (found.needed, [one.number for one in migrations("sqlite")])


def change(url: str, text: str) -> None:
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            connection.execute(text)
        connection.close()
    else:
        with psycopg.connect(url) as server:
            server.execute(text.encode())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("update halfway_migration set checksum = 'another'", "SCHEMA_CHANGED"),
        ("insert into halfway_migration values (9999, 'later', 'x', 1)", "SCHEMA_NEWER"),
        ("delete from halfway_migration", "SCHEMA_OUTDATED"),
    ],
)
def test_a_schema_of_another_version_is_refused_and_says_what_to_do(url: str, text: str, code: str) -> None:
    open_store(url).close()
    change(url, text)
    with pytest.raises(SchemaError) as caught:
        open_store(url, create=True)
    assert caught.value.code == code
    if code == "SCHEMA_NEWER":
        with pytest.raises(SchemaError):
            migrate(url)


def test_a_migration_that_fails_changes_nothing(store: Store, url: str) -> None:
    change(url, "delete from halfway_migration")
    with pytest.raises(Exception, match="already exists"):
        migrate(url)
    assert status(url).found == 0


if __name__ == "__main__":  # python -m tests.store.test_schema POSTGRES_URL: writes both dumps anew
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        open_store(f"sqlite:///{folder}/x.db").close()
        (HERE / "schema.sqlite.sql").write_text(sqlite_dump(Path(folder) / "x.db"))
    (HERE / "schema.postgres.sql").write_text(postgres_dump(sys.argv[1]))
