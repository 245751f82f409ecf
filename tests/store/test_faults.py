"""Faults of the database and odd values: held locks (B30), full disks (B46), characters that one database cannot hold (B27)."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from halfway.domain.draft import Audit, Payload
from halfway.domain.facts import CancelAsked, Finished
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Ended, Key, Report
from halfway.errors import DatabaseBusy, DatabaseError, UnstorableValue
from halfway.ports import Evidence
from halfway.store import Store, open_store
from halfway.store.artifacts import OWNERS, StoreArtifacts
from halfway.store.dialects import sqlite
from tests.store.world import TWO, apply, begin, claim, new_run, order, read, start, succeed

FIRST = Key("first")


# ── B27 ──

ODD = ["a\\u0000b", "a\\\\u0000b", "\\u0000", "\\ud83d\\ude00", "line\\nbreak", "\\u001f", "\\u2028", "'\\\"\\\\%"]


@pytest.mark.parametrize("text", ODD)
def test_json_texts_come_back_byte_for_byte(store: Store, text: str) -> None:
    json = f'{{"{text}":"{text}"}}'
    run_id = start(store, input=json).run_id
    claim(store, run_id, begin(store))
    with store.runs.change() as turn:
        assert turn.keep([Evidence(run_id, FIRST, 1, json)])
    succeed(store, run_id, output=json)
    with store.runs.change() as turn:
        loaded = turn.load([run_id])[run_id]
    assert (loaded.input, loaded.outputs["first"], store.reading.detail(run_id).evidence[0].data) == (json, json, json)


@pytest.mark.parametrize(("error", "kept"), [("a\0b", "a\N{SYMBOL FOR NULL}b"), ("half \ud83d", "half ?"), ('{"a",NULL,\\"}', None)])
def test_what_went_wrong_is_kept_whatever_it_says(store: Store, error: str, kept: str | None) -> None:
    run_id = start(store).run_id
    claim(store, run_id, begin(store))
    failed = Finished(FIRST, 1, Report(Ended.FAILED, code="BROKEN"))
    apply(store, run_id, TWO, failed, payloads={FIRST: Payload(error=error)})
    detail = store.reading.detail(run_id).records[0]
    assert (detail.error, detail.record.status) == (kept or error, RecordStatus.FAILED)


@pytest.mark.parametrize("field", ["key", "resource", "correlation_id", "actor", "input"])
@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_a_start_with_what_cannot_be_kept_is_refused_by_name(store: Store, field: str, text: str) -> None:
    with pytest.raises(UnstorableValue) as caught:
        start(store, **{field: text})
    assert caught.value.params["path"] == field
    assert store.reading.runs() == []


def test_an_order_with_a_reason_that_cannot_be_kept_is_refused(store: Store) -> None:
    run_id = start(store).run_id
    before = read(store, run_id)
    with pytest.raises(UnstorableValue):
        order(store, run_id, CancelAsked(), Audit("a-1", "kim", "cancel", "be\0cause"))
    assert read(store, run_id) == before


@pytest.mark.parametrize("text", ["NULL", "null", "{}", "a,b", '"', "\\", "}", "{", "", " ", "a\nb", "한글 😀", "\x1f"])
def test_texts_that_mean_something_in_an_array_are_only_texts(store: Store, text: str) -> None:
    run_id = start(store).run_id
    claim(store, run_id, begin(store))
    succeed(store, run_id, output=text)
    assert store.reading.detail(run_id).records[0].output == text


# ── B30 ──

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("begin immediate")
print("held", flush=True)
sys.stdin.read()
connection.execute("commit")
connection.close()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the write lock until its input is closed."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halfway.db"


@pytest.fixture
def store_on_sqlite(sqlite_url: str) -> Iterator[Store]:
    opened = open_store(sqlite_url)
    yield opened
    opened.close()


def test_writers_wait_for_a_held_lock_and_readers_do_not(store_on_sqlite: Store, path: Path) -> None:
    """B30: no error leaves the store while the lock is held for less than its patience."""
    store = store_on_sqlite
    run_id = start(store).run_id
    done: list[str] = []
    with holder(path) as process:
        writers = [threading.Thread(target=lambda: done.append(start(store).run_id)) for _ in range(4)]
        for writer in writers:
            writer.start()
        assert store.reading.detail(run_id).run.id == run_id
        assert store.lives.epochs() == []
        assert done == []
        assert process.stdin is not None
        process.stdin.close()
        for writer in writers:
            writer.join()
    assert len(set(done)) == 4


def test_a_lock_that_is_held_longer_is_busy_and_nothing_is_half_written(
    store_on_sqlite: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B30."""
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    with holder(path) as process:
        with pytest.raises(DatabaseBusy):
            start(store_on_sqlite)
        assert process.stdin is not None
        process.stdin.close()
    assert store_on_sqlite.reading.runs() == []
    assert start(store_on_sqlite).created


def test_no_transaction_reads_before_it_has_the_write_lock(store_on_sqlite: Store, path: Path) -> None:
    """B30: two that read first and write later would fail at once, whatever the patience."""
    store = store_on_sqlite
    run_ids = [start(store).run_id for _ in range(4)]
    barrier = threading.Barrier(4)

    def cancel(run_id: str) -> None:
        barrier.wait()
        apply(store, run_id, TWO, CancelAsked())

    threads = [threading.Thread(target=cancel, args=(run_id,)) for run_id in run_ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(read(store, run_id).run.ended_at is not None for run_id in run_ids)


# ── B46 ──


def start_until_full(store: Store, answered: list[str]) -> None:
    for _ in range(1000):
        answered.append(start(store, input='"' + "x" * 10_000 + '"').run_id)


def fill(path: Path) -> None:
    """Until not another byte fits, whatever the size of a block."""
    with path.open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(b"x" * 4096)


def limit_pages(store: Store, pages: int) -> None:
    """For the connections that are idle now, which are those that will be used."""
    for purpose in ("write", "beat"):
        with store._database.transaction("limit", purpose=purpose) as session:
            session.raw.execute(f"pragma max_page_count = {pages}")


def test_a_full_database_refuses_and_goes_on_when_there_is_room(store_on_sqlite: Store) -> None:
    """B46 (a), (b), (e): nothing that was answered is missing, nothing half-written stays."""
    store = store_on_sqlite
    epoch = begin(store)
    run_id = start(store).run_id
    claim(store, run_id, epoch)
    limit_pages(store, 1)  # the smallest that it takes: what it has already
    answered: list[str] = []
    with pytest.raises(DatabaseError) as caught:
        start_until_full(store, answered)
    assert caught.value.code == "DATABASE_FULL"
    with pytest.raises(DatabaseError):
        succeed(store, run_id, output='"' + "x" * 100_000 + '"')
    assert read(store, run_id).records[FIRST].running is not None
    assert {row.run.id for row in store.reading.runs(limit=1000)} == {run_id, *answered}
    limit_pages(store, 1_000_000)
    assert succeed(store, run_id, output='"' + "x" * 100_000 + '"').records[FIRST].status is RecordStatus.SUCCESS
    assert start(store).created


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB, where the system lets us make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("file systems cannot be mounted here; the same is tried with a limit on pages")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_refuses_and_the_store_goes_on_when_there_is_room(small_disk: Path) -> None:
    """B46 (a) to (d)."""
    store = open_store(f"sqlite:///{small_disk / 'halfway.db'}")
    epoch = begin(store)
    run_id = start(store).run_id
    claim(store, run_id, epoch)
    ballast = small_disk / "ballast"
    fill(ballast)
    answered: list[str] = []
    with pytest.raises(DatabaseError) as caught:
        start_until_full(store, answered)
    assert caught.value.code == "DATABASE_FULL"
    with pytest.raises(DatabaseError):
        store.artifacts.put(b"x" * 100_000)
    artifacts = small_disk / "halfway.db.halfway" / "artifacts"
    assert [path for path in artifacts.rglob("*") if path.is_file() and path.parent.name != OWNERS] == []
    ballast.unlink()
    assert {row.run.id for row in store.reading.runs(limit=1000)} == {run_id, *answered}
    assert succeed(store, run_id).records[FIRST].status is RecordStatus.SUCCESS
    assert isinstance(store.artifacts, StoreArtifacts)
    assert store.artifacts.get(store.artifacts.put(b"x" * 100_000)[0]) == b"x" * 100_000
    store.close()
    with sqlite3.connect(small_disk / "halfway.db") as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_batch_that_fails_leaves_nothing(store: Store) -> None:
    good, bad = new_run(), new_run(input="a\0b")
    with pytest.raises(UnstorableValue):
        store.runs.create([good, bad])
    assert store.reading.runs() == []
