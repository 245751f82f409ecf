"""URLs, opening, and the errors of a database that is missing, old, foreign, locked or away."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from halfway.domain.decide import decide
from halfway.domain.draft import Change
from halfway.domain.facts import CancelAsked
from halfway.errors import DatabaseBusy, DatabaseError, Exit, HalfwayError, InvalidInput, SchemaError
from halfway.store import Store, migrate, open_store, status
from halfway.store.dialects.urls import masked
from halfway.store.migrate import migrations
from tests.databases import command, name_of, named
from tests.store.world import TWO, new_run, read, start


def test_a_new_file_is_created_and_migrated_only_if_that_was_asked_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    with pytest.raises(DatabaseError) as caught:
        open_store(url, create=False)
    assert caught.value.code == "DATABASE_MISSING"
    assert list(tmp_path.iterdir()) == []
    assert status_code(url) == "DATABASE_MISSING"
    open_store(url, create=True).close()
    store = open_store(url, create=False)
    assert start(store).created
    store.close()


def status_code(url: str) -> str | None:
    try:
        status(url)
    except HalfwayError as error:
        return error.code
    return None


def test_a_relative_path_stays_where_it_was_when_the_program_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///here.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    start(store)
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "here.db"]


def test_an_application_may_keep_our_tables_beside_its_own(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "app.db") as connection:
        connection.execute("create table orders (id integer)")
    connection.close()
    store = open_store(f"sqlite:///{tmp_path / 'app.db'}")
    assert start(store).created
    store.close()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///:memory:",
        "sqlite://",
        "sqlite:///",
        "sqlite:///{}/",
        "sqlite:///{}/none/x.db",
        "sqlite:///{}/x.db?mode=ro",
        "mysql://x/y",
        "",
    ],
)
def test_what_is_no_database_of_ours_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_store(url.format(tmp_path))
    assert (caught.value.code, caught.value.exit_code) == ("URL_INVALID", Exit.USAGE)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear customer, " * 100)
    with pytest.raises(DatabaseError, match="not an SQLite database"):
        open_store(f"sqlite:///{path}")
    assert path.read_text() == "Dear customer, " * 100


def test_a_file_that_may_not_be_written_says_so(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'x.db'}")
    with store.runs.change() as turn:
        turn._session.raw.execute("pragma query_only = on")
    with pytest.raises(DatabaseError) as caught:
        start(store)
    assert caught.value.code == "DATABASE_FULL"
    store.close()


def test_a_lost_file_is_not_replaced_by_an_empty_one(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'x.db'}")
    start(store)
    for path in tmp_path.glob("x.db*"):
        path.unlink()
    with pytest.raises(DatabaseError) as caught:
        start(store)
    assert caught.value.code == "DATABASE_MISSING"
    assert list(tmp_path.glob("x.db*")) == []
    store.close()


def test_two_processes_that_create_the_same_file_both_succeed(tmp_path: Path) -> None:
    program = "import sys; from halfway.store import open_store; open_store(sys.argv[1]).close()"
    url = f"sqlite:///{tmp_path / 'x.db'}"
    processes = [subprocess.Popen([sys.executable, "-c", program, url]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert len(status(url).applied) == status(url).needed


# ── PostgreSQL ──


def test_a_server_is_never_migrated_unasked(postgres_server: str) -> None:
    name = f"halfway_unasked_{os.getpid()}"
    command(postgres_server, f"create database {name}")
    try:
        url = named(postgres_server, name)
        with pytest.raises(SchemaError) as caught:
            open_store(url, create=True)
        assert caught.value.code == "SCHEMA_OUTDATED"
        assert [migration.number for migration in migrate(url)] == [one.number for one in migrations("postgres")]
        assert migrate(url) == ()
        open_store(url).close()
    finally:
        command(postgres_server, f"drop database {name} with (force)")


def test_a_server_that_is_away_is_unreachable_and_no_password_is_told() -> None:
    with pytest.raises(DatabaseError) as caught:
        open_store("postgresql://kim:secret-word@127.0.0.1:1/x")
    assert (caught.value.code, caught.value.exit_code) == ("DATABASE_UNREACHABLE", Exit.DATABASE)
    assert "secret-word" not in str(caught.value)
    assert "kim:***@127.0.0.1" in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://kim:s@h/x", "postgresql://kim:***@h/x"),
        ("postgresql://kim@h/x", "postgresql://kim@h/x"),
        ("postgresql://h/x?user=kim&password=s&sslmode=require", "postgresql://h/x?user=kim&password=***&sslmode=require"),
        ("postgresql://kim:a@b@h:5/x", "postgresql://kim:***@h:5/x"),
        ("postgresql://[::1/x:s@", "postgresql://…"),
    ],
)
def test_urls_are_shown_without_passwords(url: str, shown: str) -> None:
    assert masked(url) == shown


def test_cut_connections_are_replaced(postgres_url: str, postgres_server: str) -> None:
    store = open_store(postgres_url)
    run_id = start(store).run_id

    def work() -> None:
        with store.runs.change() as turn:
            command(postgres_server, f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name_of(postgres_url)}'")
            turn.lock([run_id])

    with pytest.raises(DatabaseError) as caught:
        work()
    assert caught.value.code == "DATABASE_UNREACHABLE"
    assert read(store, run_id).run.id == run_id
    assert store.reading.runs()[0].run.id == run_id
    store.close()


def test_a_server_that_only_reads_is_unreachable_for_writes_and_not_for_ever(postgres_url: str) -> None:
    """B31."""
    store = open_store(postgres_url)
    run_id = start(store).run_id
    database = name_of(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"alter database {database} set default_transaction_read_only = on".encode())
        demoted = open_store(postgres_url)
        with pytest.raises(DatabaseError) as caught:
            start(demoted)
        assert caught.value.code == "DATABASE_UNREACHABLE"
        assert demoted.reading.detail(run_id).run.id == run_id
        connection.execute(b"set default_transaction_read_only = off")
        connection.execute(f"alter database {database} reset default_transaction_read_only".encode())
    assert start(demoted).created
    demoted.close()
    store.close()


def test_a_lock_that_is_held_too_long_is_busy(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from halfway.store.database import Purpose
    from halfway.store.dialects import postgres

    monkeypatch.setitem(postgres.SETTINGS[Purpose.WRITE], "lock_timeout", "20")
    store = open_store(postgres_url)
    run_id = start(store).run_id
    with psycopg.connect(postgres_url) as connection:
        connection.execute("select 1 from halfway_run for update")
        with pytest.raises(DatabaseBusy), store.runs.change() as turn:
            turn.lock([run_id], wait=True)
    assert read(store, run_id).run.id == run_id
    store.close()


def test_a_commit_after_a_failed_statement_is_an_error(postgres_url: str) -> None:
    """The server answers it with ROLLBACK; nothing may look as if it had been stored."""
    store = open_store(postgres_url)
    run_id = start(store).run_id
    before = read(store, run_id)

    def swallow() -> None:
        with store.runs.change() as turn:
            turn.write([Change(before, decide(TWO, before, CancelAsked(), turn.now))])
            with suppress(psycopg.Error):
                turn._session.raw.execute("select 1 / 0")

    with pytest.raises(psycopg.Error):
        swallow()
    assert read(store, run_id) == before
    store.close()


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "halfway.store.dialects.postgres", raising=False)
    with pytest.raises(InvalidInput) as caught:
        open_store("postgresql://h/x")
    assert caught.value.code == "EXTRA_MISSING"


def test_the_points_around_a_commit_carry_its_name(url: str) -> None:
    reached: list[str] = []

    class Recorder:
        def reached(self, name: str) -> None:
            reached.append(name)

    store: Store = open_store(url, points=Recorder())
    reached.clear()
    store.runs.create([new_run()])
    epoch = store.lives.begin(host="h", pid=1, identity="", kill_after=None)
    store.lives.beat(epoch)
    with store.runs.change(name="cycle"):
        pass
    store.reading.runs()
    store.lives.end(epoch)
    beats = ["beat"] if store.lives.beats else []
    names = ["start", "begin", *beats, "cycle", "end"]
    assert reached == [f"{name}.{side}" for name in names for side in ("before_commit", "after_commit")]
    store.close()
