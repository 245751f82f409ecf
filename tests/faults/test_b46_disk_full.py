"""B46: a full disk makes no false success and loses nothing that was answered; the engine goes on by itself when there is room again."""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest

from halfway import Artifact, Effect, Retry, RunStatus, Step, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.errors import DatabaseError
from halfway.store.artifacts import OWNERS
from halfway.store.dialects.sqlite import SqliteConnection
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well

BIG = "x" * 200_000


class Disk(Protocol):
    """Where the database lies, and how full it is."""

    folder: Path

    def fill(self) -> None: ...
    def free(self) -> None: ...


class SmallDisk:
    """A file system of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        with (self.folder / "ballast").open("wb", buffering=0) as stream, suppress(OSError):
            while True:
                stream.write(b"x" * 4096)

    def free(self) -> None:
        (self.folder / "ballast").unlink()


class FewPages:
    """A database that may not grow."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.pages = 1_000_000
        begin = SqliteConnection.begin

        def limited(connection: SqliteConnection, **options: Any) -> Any:
            connection.raw.execute(f"pragma max_page_count = {self.pages}")
            return begin(connection, **options)

        monkeypatch.setattr(SqliteConnection, "begin", limited)

    def fill(self) -> None:
        self.pages = 1  # no fewer than there are

    def free(self) -> None:
        self.pages = 1_000_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("file systems cannot be mounted here; the same is tried with a limit on pages")
    yield SmallDisk(folder)
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def few_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FewPages:
    return FewPages(tmp_path, monkeypatch)


@pytest.fixture(params=["small_disk", "few_pages"])
def disk(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


class Work:
    """An effect whose big output comes when the test lets it."""

    def __init__(self) -> None:
        self.calls, self.go_on = Calls(), threading.Event()
        self.wf = flow(key=False)

        @self.wf.step(Effect.CREATE, evidence="the ledger")
        def create(step: Step[Order]) -> str:
            self.calls.add("CREATE", step.run_id)
            assert self.go_on.wait(30)
            return BIG


def test_a_result_that_finds_no_room_is_kept_in_mind_and_stored_when_there_is_some(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    """B46 b, d, e: the effect has happened, and is not repeated."""
    caplog.set_level(logging.WARNING)
    work = Work()
    with closing(Harness(f"sqlite:///{disk.folder / 'halfway.db'}", work.wf)) as h, h.worker(slots=4) as worker:
        runs = [h.start(work.wf, Order()) for _ in range(4)]
        until(lambda: work.calls.count("CREATE") == 4)
        disk.fill()
        work.go_on.set()
        until(lambda: "cannot be written" in caplog.text, "the worker says so where it can")
        assert {h.status(run) for run in runs} == {RunStatus.RUNNING}  # no false success
        assert worker.alive
        disk.free()
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs), "it goes on by itself")
        assert work.calls.count("CREATE") == 4
        assert {h.record(run, "CREATE").attempts for run in runs} == {1}
        all_is_well(h, *runs)


def test_a_start_that_finds_no_room_is_refused_and_what_was_answered_is_there(disk: Disk) -> None:
    """B46 a."""
    work = Work()
    with closing(Harness(f"sqlite:///{disk.folder / 'halfway.db'}", work.wf)) as h:
        answered = [h.start(work.wf, Order(id="first")).id]
        disk.fill()

        def start_many() -> None:
            for _ in range(2000):
                answered.append(h.start(work.wf, Order(id=BIG[:10_000])).id)

        with pytest.raises(DatabaseError) as caught:
            start_many()
        assert caught.value.code == "DATABASE_FULL"
        assert sorted(row.run.id for row in h.app.store.reading.runs(limit=5000)) == sorted(answered)
        disk.free()
        answered.append(h.start(work.wf, Order(id="last")).id)
        assert sorted(row.run.id for row in h.app.store.reading.runs(limit=5000)) == sorted(answered)


def saving(full: Callable[[], None]) -> Workflow[Order]:
    wf = flow(retry=Retry(50, wait=timedelta(milliseconds=50), factor=1.0))

    @wf.step(Effect.READ)
    def save(step: Step[Order]) -> Artifact:
        if step.attempt == 1:
            full()
        return step.save("big.txt", BIG)

    @wf.step(Effect.READ)
    def read(step: Step[Order]) -> int:
        return len(step.read(step.output(save)))

    return wf


def kept_in(artifacts: Path) -> list[Path]:
    return [path for path in artifacts.rglob("*") if path.is_file() and path.parent.name != OWNERS]


def test_an_artifact_that_finds_no_room_is_not_there_at_all(small_disk: SmallDisk) -> None:
    """B46 c."""
    wf = saving(small_disk.fill)
    with closing(Harness(f"sqlite:///{small_disk.folder / 'halfway.db'}", wf)) as h, h.worker():
        run = h.start(wf, Order())
        files = small_disk.folder / "halfway.db.halfway" / "artifacts"
        until(lambda: (record := h.record(run, "SAVE")) is not None and record.attempts >= 1 and (small_disk.folder / "ballast").exists())
        # An attempt may just be trying: what it has written so far is no artifact yet, and goes when it fails.
        assert [path for path in kept_in(files) if path.suffix != ".part"] == []
        until(lambda: kept_in(files) == [])
        small_disk.free()
        until(lambda: h.status(run) is RunStatus.SUCCESS, "it goes on by itself")
        assert h.record(run, "READ").status is RecordStatus.SUCCESS
        assert [path.stat().st_size for path in kept_in(files)] == [len(BIG)]
        assert len(h.app.store.reading.detail(run.id).artifacts) == 1
        all_is_well(h, run)
