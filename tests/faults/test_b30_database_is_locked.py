"""B30: on SQLite a held write lock delays, and no error about it leaves the engine while the hold is shorter than the patience."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Retry, RunStatus, Step, Workflow
from halfway.errors import DatabaseBusy
from halfway.testing import Ledger
from tests.crash.flows import bookings, prepare
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.faults.checks import all_is_well
from tests.faults.outages import holding, impatient

FLOWS = "tests.faults.test_b30_database_is_locked:flows"
SOON = Retry(3, wait=timedelta(milliseconds=10))
RUNS = 90


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    wf = flow(retry=SOON)

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order]) -> str:
        ledger.write("CREATE", id=step.input.id)
        return step.input.id

    @wf.transaction(sqlite3.Connection)
    def book(step: Step[Order], connection: sqlite3.Connection) -> int:
        connection.execute("insert into booking (run, attempt) values (?, ?)", (step.run_id, step.attempt))
        return step.attempt

    @wf.step(Effect.READ)
    async def read(step: Step[Order]) -> str:
        ledger.write("READ", id=step.input.id)
        return step.output(create)

    return [wf]


@contextmanager
def beside(*works: Any) -> Iterator[list[BaseException]]:
    """Repeats each of these in a thread of its own for as long as the block lasts."""
    over, errors = threading.Event(), list[BaseException]()

    def repeat(work: Any) -> None:
        while not over.is_set():
            try:
                work()
            except BaseException as error:
                errors.append(error)
            over.wait(0.005)

    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_under_load_a_lock_that_is_held_again_and_again_fails_nothing_and_doubles_nothing(sqlite_url: str, ledger: Ledger) -> None:
    """B30: four workers in four processes, programs that start and read, and somebody who holds the lock for a second each time."""
    [wf] = flows(sqlite_url, ledger)
    with closing(Harness(sqlite_url, wf)) as h, ExitStack() as stack:
        prepare(sqlite_url)
        ids = iter(range(RUNS))
        runs: list[Any] = []

        def start() -> None:
            if (n := next(ids, None)) is not None:
                runs.append(h.start(wf, Order(id=str(n))))

        def look() -> None:
            for row in h.app.store.reading.runs():
                h.app.store.reading.detail(row.run.id)

        workers = [stack.enter_context(Worker(FLOWS, sqlite_url, ledger.path, slots=4, threads=4)) for _ in range(3)]
        hold = stack.enter_context(holding(sqlite_url))
        with h.worker(), beside(start, look, look) as errors:
            for _ in range(3):
                before = len(runs)
                until(lambda before=before: len(runs) > before + 5 or len(runs) == RUNS, "the work goes on")  # type: ignore[misc]
                hold.begin()
                over = time.monotonic() + 1.0
                until(lambda over=over: time.monotonic() > over)  # type: ignore[misc]
                hold.end()
            until(lambda: len(runs) == RUNS and all(h.status(run) is RunStatus.SUCCESS for run in runs), "all end", patience=60)
        assert errors == []
        for worker in workers:
            worker.terminate()
            assert worker.wait() == 0
            assert "locked" not in worker.errors()
        assert (ledger.count(event="CREATE"), ledger.count(event="READ"), bookings(sqlite_url)) == (RUNS, RUNS, RUNS)
        all_is_well(h, *runs)


def test_a_lock_held_longer_than_the_patience_delays_the_worker_and_refuses_the_others(
    sqlite_url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """B30: what a program asks for is refused whole; what the engine has to do is done later."""
    impatient(monkeypatch)
    caplog.set_level(logging.WARNING)
    [wf] = flows(sqlite_url, ledger)
    with closing(Harness(sqlite_url, wf)) as h, holding(sqlite_url) as hold:
        prepare(sqlite_url)
        runs = [h.start(wf, Order(id=str(n))) for n in range(20)]
        with h.worker() as worker:
            until(lambda: ledger.count(event="CREATE") >= 3)
            hold.begin()
            with pytest.raises(DatabaseBusy, match="Nothing was changed"):
                h.start(wf, Order(id="refused"))
            with pytest.raises(DatabaseBusy):
                h.app.control.cancel(runs[-1].id, actor="kim", reason="refused")
            until(lambda: "stayed locked" in caplog.text, "the worker has noticed")
            hold.end()
            until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs), "all end")
            assert worker.alive
        assert (ledger.count(event="CREATE"), ledger.count(event="READ"), bookings(sqlite_url)) == (20, 20, 20)
        assert len(h.app.store.reading.runs()) == 20
        all_is_well(h, *runs)


def test_opening_a_database_that_is_locked_says_so_and_leaves_nothing_open(
    sqlite_url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B30: at the very first use."""
    [wf] = flows(sqlite_url, ledger)
    with closing(Harness(sqlite_url, wf)) as h:
        h.start(wf, Order(id="makes the file"))
    impatient(monkeypatch)
    other = flow("OTHER")

    @other.step(Effect.READ)
    def read(step: Step[Order]) -> None: ...

    with closing(Harness(sqlite_url, wf, other)) as h, holding(sqlite_url) as hold:
        hold.begin()
        with pytest.raises(DatabaseBusy):
            h.start(other, Order())
        hold.end()
        assert h.run(other, Order()).status is RunStatus.SUCCESS
