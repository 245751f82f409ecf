"""A PostgreSQL database of halfway as evidence: the same card as from a file, nothing is written, and nobody's password is shown."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg import sql

from halfway.cli import main
from halfway.inspection.databases import ANOTHER, NEWEST
from halfway.inspection.servers import DENIED, INVALID, LIMITS, SLOW, UNREACHABLE, dump_server, reading, shown
from halfway.inspection.source import Unreadable
from tests.databases import Postgres, command
from tests.inspection.test_halfway_database import FILE, database

__all__ = ["database"]  # the fixture of runs on SQLite
TABLES = ("definition", "run", "record", "attempt", "evidence")
PASSWORD = "Zz9-only-for-readers"


@pytest.fixture(scope="module")
def address(postgres_databases: Postgres, database: Path) -> Iterator[str]:
    """The same runs in PostgreSQL."""
    with postgres_databases.database() as url:
        with psycopg.connect(url, autocommit=True) as there, closing(sqlite3.connect(database)) as here:
            there.execute("set session_replication_role = replica")  # rows of some tables only
            for table in (f"halfway_{name}" for name in TABLES):
                rows = here.execute(f"select * from {table}")
                columns = [sql.Identifier(one[0]) for one in rows.description]
                gaps = sql.SQL(",").join(sql.Placeholder() * len(columns))
                into = sql.SQL("insert into {} ({}) values ({})").format(sql.Identifier(table), sql.SQL(",").join(columns), gaps)
                with there.cursor() as cursor:
                    cursor.executemany(into, rows.fetchall())
        yield url


@pytest.fixture(scope="module")
def reader(address: str) -> Iterator[str]:
    """The address with a role that may select, and nothing else."""
    name = f"reader_{uuid4().hex[:8]}"
    command(address, f"create role {name} login password '{PASSWORD}'")
    command(address, f"grant select on {', '.join(f'halfway_{table}' for table in TABLES)} to {name}")
    yield as_url(address, name)
    command(address, f"drop owned by {name}")
    command(address, f"drop role {name}")


def as_url(address: str, user: str) -> str:
    given = psycopg.conninfo.conninfo_to_dict(address)
    return f"postgresql://{user}:{PASSWORD}@/{given['dbname']}?host={given['host']}" + (f"&port={given['port']}" if "port" in given else "")


def inspect(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["inspect", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert PASSWORD not in result.output
    return result


def test_the_card_is_that_of_the_same_runs_in_a_file(address: str, reader: str, database: Path, tmp_path: Path) -> None:
    file = inspect(f"sqlite:///{database}", "--json")
    for url in (address, reader):
        server = inspect(url, "--json")
        assert server.exit_code == file.exit_code == 20
        assert json.loads(server.stdout.replace(shown(url), database.as_posix())) == json.loads(file.stdout)
    (tmp_path / "flow.py").write_text(FILE)
    with_log = [inspect(tmp_path / "flow.py", "--run", one).stdout for one in (database, reader)]
    assert with_log[1].replace(shown(reader), database.as_posix()) == with_log[0]
    assert "nobody knows whether it happened" in with_log[0]


def test_what_is_shown_is_host_and_database(reader: str) -> None:
    for form in ("text", "sarif"):
        assert "reader_" not in inspect(reader, "--format", form).output


@pytest.mark.parametrize(("url", "name"), [
    ("postgresql://kim:secret@db.example/shop?password=other", "db.example/shop"),
    ("postgres://kim:secret@db.example:6432/shop", "db.example:6432/shop"),
    ("postgresql://kim:secret@", "localhost"),
    ("postgresql://kim:secret@h@db.example/shop", "db.example/shop"),  # signs that were not escaped
    ("postgresql://kim:secret/h@db.example/shop", "db.example/shop"),
    ("postgresql://kim:secret?h@db.example/shop", "db.example/shop"),
    ("postgresql://kim:secret%zz@db.example/shop", "postgresql"),
    ("postgresql://kim:secret\udcff@db.example/shop", "postgresql"),
])  # fmt: skip
def test_no_part_of_a_password_is_shown(url: str, name: str) -> None:
    assert shown(url) == name
    if name == "postgresql":
        with pytest.raises(Unreadable) as told:
            dump_server(url)
        assert str(told.value) == INVALID


def test_no_input_no_output_and_no_message_of_an_error_is_read(address: str) -> None:
    with psycopg.connect(address) as connection:
        assert "4111" in str(connection.execute("select * from halfway_run").fetchall())
    assert "4111" not in dump_server(address)


@pytest.mark.parametrize("statement", [
    "update halfway_run set version = 9", "create table mine (x int)", "truncate halfway_run", "drop table halfway_run",
    "select 1 from halfway_run for update", "select lo_create(0)", "alter role current_user set search_path = other",
])  # fmt: skip
def test_a_write_is_refused_whoever_reads(address: str, statement: str) -> None:
    """The role owns the tables: it is the transaction that refuses."""
    before = dump_server(address)
    with pytest.raises(Unreadable) as refused, reading(address) as ask:
        ask([(statement, {})])
    assert isinstance(refused.value.__cause__, psycopg.errors.ReadOnlySqlTransaction)
    assert dump_server(address) == before


def test_all_is_read_at_one_moment(address: str) -> None:
    with reading(address) as ask:
        [before] = ask([(NEWEST, {"limit": 9})])
        with psycopg.connect(address, autocommit=True) as other:
            other.execute("update halfway_run set version = version + 1")
        assert ask([(NEWEST, {"limit": 9})]) == [before]
    with psycopg.connect(address, autocommit=True) as other:
        other.execute("update halfway_run set version = version - 1")


def test_a_role_that_may_not_read_is_told_what_it_needs(address: str) -> None:
    name = f"stranger_{uuid4().hex[:8]}"
    command(address, f"create role {name} login password '{PASSWORD}'")
    try:
        result = inspect(as_url(address, name))
        assert (result.exit_code, DENIED in result.stderr, name in result.stderr) == (2, True, False)
        korean = inspect(as_url(address, name), "--lang", "ko").stderr
        assert "select 권한을" in korean
        assert re.findall(r"[A-Za-z]{3,} [A-Za-z]{3,}", korean.replace("halfway inspect", "")) == []
    finally:
        command(address, f"drop role {name}")


def test_a_table_that_is_locked_is_not_waited_for(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "lock_timeout", "50")
    with psycopg.connect(address) as writer:
        writer.execute("lock table halfway_run in access exclusive mode")
        with pytest.raises(Unreadable) as told:
            dump_server(address)
    assert str(told.value) == SLOW


def test_a_statement_that_takes_too_long_is_ended(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "statement_timeout", "50")
    with pytest.raises(Unreadable, match="in time"), reading(address) as ask:
        ask([("select pg_sleep(60)", {})])


def test_a_connection_that_is_lost_is_told(address: str) -> None:
    def end() -> None:
        with reading(address) as ask:
            [[row]] = ask([("select pg_backend_pid() as pid", {})])
            command(address, f"select pg_terminate_backend({row['pid']}, 5000)")
            ask([(NEWEST, {"limit": 1})])

    with pytest.raises(Unreadable) as told:
        end()
    assert str(told.value) == UNREACHABLE


def test_another_database_is_told_and_not_read(postgres_server: str) -> None:
    result = inspect(postgres_server)
    assert (result.exit_code, ANOTHER in result.stderr) == (2, True)


def test_a_table_of_another_version_is_told(postgres_url: str) -> None:
    command(postgres_url, "alter table halfway_record rename column effect to effects")
    with pytest.raises(Unreadable) as told:
        dump_server(postgres_url)
    assert str(told.value) == ANOTHER


def test_a_server_that_is_not_there_and_an_address_that_is_none_are_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        result = inspect(f"postgresql://kim:{PASSWORD}@127.0.0.1:{taken.getsockname()[1]}/shop")
    assert (result.exit_code, UNREACHABLE in result.stderr, "kim" in result.output) == (2, True, False)
    broken = inspect(f"postgresql://kim:{PASSWORD}%zz@127.0.0.1/shop")
    assert (broken.exit_code, INVALID in broken.stderr) == (2, True)


def test_without_the_driver_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfway.inspection.servers.find_spec", lambda name: None)
    result = inspect("postgresql://kim@127.0.0.1/shop")
    assert (result.exit_code, "pip install 'halfway[postgres]'" in result.stderr) == (2, True)
