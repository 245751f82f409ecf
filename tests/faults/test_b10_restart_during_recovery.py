"""B10: a database that goes away in the middle of a recovery delays it, and nothing stays with the dead."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Mark, Retry, RunStatus, Settings, Step, Workflow
from halfway.errors import DatabaseError
from halfway.testing import FailAt, Ledger
from tests.crash.processes import Worker
from tests.engine.harness import FAST, Harness, Order, flow, until
from tests.faults.checks import all_is_well
from tests.faults.outages import cutting, holding, impatient

FLOWS = "tests.faults.test_b10_restart_during_recovery:flows"
MANY = 50


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """The first attempt never ends."""
    import asyncio

    wf = flow(retry=Retry(3, wait=timedelta(milliseconds=10)))

    @wf.step(Effect.READ)
    async def work(step: Step[Order]) -> int:
        ledger.write("WORK", id=step.input.id, attempt=step.attempt)
        while step.attempt == 1:
            await asyncio.sleep(60)
        return step.attempt

    return [wf]


class Break:
    """Something breaks when the sweep reaches a point for the first time."""

    def __init__(self, point: str) -> None:
        self._point = point
        self.broken = threading.Event()
        self.mended = threading.Event()
        self.failed = 0
        self.what: Any = None

    def reached(self, name: str) -> None:
        if name != self._point or self.broken.is_set():
            return
        self.what.begin()
        self.broken.set()


def left_by_the_dead(h: Harness, url: str, ledger: Ledger) -> list[Any]:
    """Many attempts whose worker was killed."""
    [wf] = h.app.workflows.values()
    runs = list(h.app.start_many(wf, [Order(id=str(n)) for n in range(MANY)]))
    with Worker(FLOWS, url, ledger.path, slots=MANY) as worker:
        until(lambda: ledger.count(event="WORK") == MANY, "all are at work")
        worker.kill()
    return runs


@pytest.mark.parametrize("point", ["sweep.judge", "sweep.read", "sweep.before_commit"])
def test_a_sweep_whose_server_goes_away_is_repeated_when_it_is_back(
    postgres_server: str, postgres_url: str, ledger: Ledger, point: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B10."""
    broken = Break(point)
    h = Harness(postgres_url, *flows(postgres_url, ledger), points=broken)
    runs = left_by_the_dead(h, postgres_url, ledger)
    with cutting(postgres_server, postgres_url) as cut:
        broken.what = cut
        with h.worker(slots=MANY) as worker:
            assert broken.broken.wait(30)
            until(lambda: "the sweep is repeated" in caplog.text, "the sweep has noticed")
            cut.end()
            until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs), "all are taken over and end")
            assert worker.alive  # it needed no restart
    assert ledger.count(event="WORK", attempt=2) == MANY
    all_is_well(h, *runs)
    h.close()


def test_a_sweep_that_finds_the_file_locked_is_repeated_when_it_is_free(
    sqlite_url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """B10: the lock is held longer than the patience."""
    broken = Break("sweep.judge")
    h = Harness(sqlite_url, *flows(sqlite_url, ledger), points=broken)
    runs = left_by_the_dead(h, sqlite_url, ledger)
    impatient(monkeypatch)
    with holding(sqlite_url) as hold:
        broken.what = hold
        with h.worker(slots=MANY) as worker:
            assert broken.broken.wait(30)
            until(lambda: "the sweep is repeated" in caplog.text, "the sweep has noticed")
            hold.end()
            until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs), "all are taken over and end")
            assert worker.alive
    assert ledger.count(event="WORK", attempt=2) == MANY
    all_is_well(h, *runs)
    h.close()


class BreakAt(FailAt):
    """The connection breaks at a point, once the test has said so."""

    def __init__(self, point: str) -> None:
        super().__init__(point, DatabaseError("DATABASE_UNREACHABLE", url="of the test", problem="the connection broke."))
        self.armed = False

    def reached(self, name: str) -> None:
        if self.armed:
            super().reached(name)


@pytest.mark.parametrize("side", ["before", "after"])
def test_an_outage_of_our_own_database_uses_up_no_attempt_of_the_author(harness: type[Harness], side: str) -> None:
    """B10: the step may be tried once, and it was not it that failed."""
    broken = BreakAt(f"pump.{side}_commit")
    wf = flow(retry=Retry(1))

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order], mark: Mark) -> int:
        broken.armed = True  # the next commit is that of the mark
        with mark:
            return step.attempt

    h = harness(wf, points=broken, settings=Settings(**(vars(FAST) | {"poll": 30.0})))  # no other commit comes in between
    run = h.run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert h.record(run, "CREATE").failures == 0
    all_is_well(h, run)
