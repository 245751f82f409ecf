"""A database of the first release, with rows of it, becomes one of this release: nothing is lost, and everything works."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from halfway.domain.facts import Move
from halfway.domain.lifecycle import RecordStatus, RunStatus, Trigger
from halfway.domain.run import Happened, Key, Kind
from halfway.store import Store, migrate, open_store, status
from halfway.store.migrate import migrations
from halfway.store.statements import fill
from tests.databases import command, named
from tests.store.world import TWO, begin, claim, event, put, receive, succeed, take, waits

ROWS = [
    f"insert into halfway_definition values ('{TWO.hash}', 'orders', 1, '{TWO.to_json()}', 1)",
    f"insert into halfway_run values ('r-1', 'orders', 1, '{TWO.hash}', 'RUNNING', null, 3, 2, 0, '', null, 0, "
    "'{\"n\":1}', 'order-1', 'kim', 1, 2, 3, null, null, null)",
    "insert into halfway_key values ('orders', 'order-1', 1, 'r-1')",
    "insert into halfway_record values ('r-1', 'first', 1, '', 'STEP', 'SUCCESS', 'default/code', 0, null, 1, 0, 0, 'happened', '', '', 0, "
    "2, 2, 3, '\"out\"', null)",
    "insert into halfway_record values ('r-1', 'second', 1, '', 'STEP', 'PENDING', 'default/code', 0, 3, 0, 0, 0, 'none', '', '', 0, "
    "null, null, null, null, null)",
    "insert into halfway_attempt values ('r-1', 'first', 1, '', 'STEP', 1, 'e-1', 2, 2, 3, 'SUCCESS', '', null, 3)",
    "insert into halfway_journal values ('r-1', 1, 1, 'workflow.started', null, null, null, null, null, null)",
    "insert into halfway_audit values ('a-1', 5, 'kim', 'retry', 'r-1', 'first', 'why', null, 'FAILED', 'RUNNING')",
    "insert into halfway_audit values ('a-2', 6, 'kim', 'cancel', 'r-1', null, 'why', null, 'RUNNING', 'RUNNING')",
]


def first_release(dialect: str) -> list[str]:
    """What made a database of the first release, and the rows of a run."""
    text = migrations(dialect)[0]
    lines = "\n".join(line for line in text.text.splitlines() if not line.lstrip().startswith("--"))
    made = [fill(one, postgres=dialect == "postgres") for one in lines.split(";\n") if one.strip()]
    made.append("create table halfway_migration (number bigint primary key, name text not null, checksum text not null, applied_at bigint)")
    made.append(f"insert into halfway_migration values (1, 'initial', '{text.checksum}', 1)")
    return made + ROWS


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'halfway.db'}"
        connection = sqlite3.connect(tmp_path / "halfway.db")
        for one in first_release("sqlite"):
            connection.execute(one)
        connection.commit()
        connection.close()
        yield url
        return
    server = str(request.getfixturevalue("postgres_server"))
    command(server, "create database halfway_old")
    url = named(server, "halfway_old")
    with psycopg.connect(url) as raw:
        for one in first_release("postgres"):
            raw.execute(one.encode())
    yield url
    command(server, "drop database halfway_old with (force)")


def test_a_database_of_the_first_release_is_brought_up_to_date(old: str) -> None:
    assert status(old).found == 1
    assert [migration.number for migration in migrate(old)] == [one.number for one in migrations("sqlite")][1:]
    assert migrate(old) == ()
    store = open_store(old)
    detail = store.reading.detail("r-1")
    first, second = detail.records
    assert (detail.run.status, detail.run.revision, detail.key, detail.input) == (RunStatus.RUNNING, 3, "order-1", '{"n":1}')
    assert (detail.run.undo, detail.run.timeout_left, detail.run.restored_at, detail.run.actor) == (None, None, None, "kim")
    assert (first.record.status, first.record.effect, first.output) == (RecordStatus.SUCCESS, Happened.HAPPENED, '"out"')
    assert (second.record.status, second.record.ready_at, second.record.approved_by) == (RecordStatus.PENDING, 3, ())
    assert len(first.attempts) == 1
    assert [line.name for line in store.reading.journal("r-1")] == ["workflow.started"]
    assert [(line.audit.action_id, line.audit.refused, line.id) for line in store.reading.audit("r-1")] == [
        ("a-1", None, 5),
        ("a-2", None, 6),
    ]
    assert store.reading.find("order-1") == "r-1"
    store.close()


def test_an_old_run_goes_on_in_the_new_schema(old: str) -> None:
    migrate(old)
    store = open_store(old)
    go_on(store)
    store.close()


def go_on(store: Store) -> None:
    put(store, "r-1", waits(step="second"))
    paid = event()
    receive(store, paid)
    assert take(store, "r-1") == [paid.id]
    snapshot = claim(store, "r-1", begin(store), name="second")
    for kind in (Kind.COMPENSATION_PROBE, Kind.DRAFT):
        record = snapshot.records[Key("first")]._replace(key=Key("first", kind=kind))
        put(store, "r-1", Move(record, Trigger.SUCCEEDED))
    after = succeed(store, "r-1", name="second")
    assert after.run.status is RunStatus.SUCCESS
    assert Key("first", kind=Kind.DRAFT) in after.records
