"""B21: life and death are observed, not read from clocks; what is due is due by the database's clock, whoever wrote it."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Retry, RetryLater, RunStatus, Step, Workflow
from halfway.testing import Ledger, RecordPoints
from tests.crash.processes import Worker
from tests.engine.harness import FAST, Harness, Order, flow, until
from tests.faults.checks import all_is_well

FLOWS = "tests.faults.test_b21_clocks:flows"
HOUR = 3600.0


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """A step that works until the test ends it, and one whose retry is due in an hour."""
    long, later = flow("LONG"), flow("LATER", retry=Retry(3, wait=timedelta(hours=1), max_wait=timedelta(hours=1)))

    @long.step(Effect.CREATE, evidence="the ledger")
    def work(step: Step[Order]) -> int:
        ledger.write("WORK", attempt=step.attempt)
        until(lambda: ledger.count(event="GO_ON"), "the test lets it go on", patience=60)
        return step.attempt

    @later.step(Effect.READ)
    def wait(step: Step[Order]) -> int:
        ledger.write("WAIT", attempt=step.attempt)
        if step.attempt == 1:
            raise RetryLater("in an hour")
        return step.attempt

    return [long, later]


def looked(points: RecordPoints, times: int) -> None:
    """Waits until a sweep has judged so many times more."""
    before = points.seen.count("sweep.judge")
    until(lambda: points.seen.count("sweep.judge") >= before + times, "the sweep looks")


@pytest.mark.parametrize(("url", "wrong"), [("sqlite", -600), ("postgres", 600), ("postgres", -600)], indirect=["url"])
def test_a_clock_that_is_wrong_by_minutes_takes_no_living_work(harness: type[Harness], url: str, ledger: Ledger, wrong: int) -> None:
    """B21: the clock of the worker is wrong (on SQLite it would be the database's), and then that of the database jumps."""
    long, later = flows(url, ledger)
    points = RecordPoints()
    h = harness(long, later, points=points)
    run = h.start(long, Order())
    with Worker(FLOWS, url, ledger.path, skew=wrong if h.app.store.lives.beats else 0) as worker:
        until(lambda: ledger.count(event="WORK") == 1)
        with h.worker():
            over = time.monotonic() + 1.5 * FAST.lease
            looked(points, 3)
            h.app.store.advance_clock(-wrong * 1_000_000)
            until(lambda: time.monotonic() > over, "more than a lease passes")
            looked(points, 3)
            assert h.status(run) is RunStatus.RUNNING
            [one] = h.app.store.reading.detail(run.id).records
            assert [(attempt.epoch, attempt.ended_at) for attempt in one.attempts] == [(worker.epoch, None)]
            worker.kill()  # now it is dead, and that is seen
            h.advance(max(0, 2 * wrong))  # the step's doubt is looked at by a clock that may have gone back
            until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED, "its step is in doubt")
    assert ledger.count(event="WORK") == 1
    all_is_well(h, run)


@pytest.mark.parametrize("skew", [600, -600])
def test_a_retry_is_due_by_the_databases_clock_whoever_wrote_it(postgres_url: str, ledger: Ledger, skew: int) -> None:
    """B21: on SQLite the machine's clock is the database's."""
    long, later = flows(postgres_url, ledger)
    with closing(Harness(postgres_url, long, later)) as h:
        run = h.start(later, Order())
        asked = h.app.store.reading.detail(run.id).run.created_at / 1e6
        with Worker(FLOWS, postgres_url, ledger.path, skew=skew) as worker:
            until(lambda: (record := h.record(run, "WAIT")) is not None and record.failures == 1, "it has failed once")
            worker.kill()
        due = h.record(run, "WAIT").ready_at / 1e6
        assert asked + HOUR / 2 <= due <= asked + HOUR + 60  # with its jitter, and without the ten minutes
        with h.worker():
            h.advance(HOUR / 2 - 60)
            for _ in range(3):
                h.app.store.reading.runs()
            assert ledger.count(event="WAIT") == 1
            h.advance(HOUR / 2 + 120)
            until(lambda: h.status(run) is RunStatus.SUCCESS, "it is due")
        all_is_well(h, run)


def test_a_sweep_that_stood_still_for_longer_than_the_lease_takes_nobody_for_dead(postgres_url: str, ledger: Ledger) -> None:
    """B21: what it saw before counts for nothing."""
    long, later = flows(postgres_url, ledger)
    with closing(Harness(postgres_url, long, later)) as h, h.worker():
        run = h.start(long, Order())
        until(lambda: ledger.count(event="WORK") == 1)
        with Worker(FLOWS, postgres_url, ledger.path) as sweeper:
            sweeper.freeze()
            over = time.monotonic() + 1.3 * FAST.lease
            until(lambda: time.monotonic() > over, "more than a lease passes")
            sweeper.thaw()
            seen = beats(h, sweeper.epoch)
            until(lambda: beats(h, sweeper.epoch) > seen + 3 or state(h, sweeper.epoch) == "DEAD", "it looks again")
            assert h.status(run) is RunStatus.RUNNING
            ledger.write("GO_ON")
            until(lambda: h.status(run) is RunStatus.SUCCESS)
        assert ledger.count(event="WORK") == 1
        all_is_well(h, run)


def beats(h: Harness, epoch: str) -> int:
    return next(row.epoch.counter for row in h.app.store.reading.workers() if row.epoch.id == epoch)


def state(h: Harness, epoch: str) -> str:
    return next(row.epoch.state for row in h.app.store.reading.workers() if row.epoch.id == epoch)
