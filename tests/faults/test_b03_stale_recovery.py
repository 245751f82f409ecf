"""B03: a recovery that has read an old state changes nothing that has moved since."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from halfway import Effect, Retry, RunStatus, Step, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.testing import HoldAt
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well
from tests.faults.zombies import HoldLater, look_dead, sweeper, zombie

SOON = Retry(3, wait=timedelta(milliseconds=10))


def on_sqlite(h: Harness) -> bool:
    return not h.app.store.lives.beats


def test_a_step_that_completed_under_a_held_sweep_stays_completed(harness: type[Harness]) -> None:
    """B03 v1."""
    calls, go_on = Calls(), threading.Event()
    wf = flow()

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order]) -> str:
        calls.add("CREATE")
        assert go_on.wait(30)
        return "made"

    a, b = harness(wf), harness(wf)
    with zombie(a) as worker, ThreadPoolExecutor(1) as pool:
        run = a.start(wf, Order())
        until(lambda: calls.count("CREATE") == 1)
        look_dead(a, worker)
        # Where beats are counted the first look only remembers what it has seen.
        hold = HoldLater("sweep.judge", 1 if on_sqlite(b) else 2)
        sweep = sweeper(b, hold)
        if not on_sqlite(b):
            assert sweep.sweep() == ()
        sweeping = pool.submit(sweep.sweep)
        hold.wait()  # it has read that the epoch lives and holds an attempt
        go_on.set()
        until(lambda: a.status(run) is RunStatus.SUCCESS, "the worker commits")
        hold.release()
        assert sweeping.result(30) == ()
        [epoch] = [row.epoch for row in b.app.store.reading.workers() if row.epoch.id == worker.epoch]
        assert epoch.state == "DEAD"  # it was declared dead, and there was nothing to take
    assert calls.count("CREATE") == 1
    assert b.journal(run) == ["workflow.started", "step.started", "step.completed", "workflow.completed"]
    assert b.record(run, "CREATE").code == ""
    all_is_well(b, run)


def test_a_second_attempt_under_a_held_sweep_keeps_its_owner_and_its_counts(harness: type[Harness]) -> None:
    """B03 v2: held before it judges."""
    a = harness(wf := two_tries())
    overtaken(a, harness(wf), HoldAt("sweep.judge") if on_sqlite(a) else HoldLater("sweep.judge", 2))


def test_a_second_attempt_under_a_sweep_that_has_read_the_first_keeps_its_owner_and_its_counts(postgres_url: str) -> None:
    """B03 v2: held inside its transaction, behind its select; on SQLite nothing could move under it."""
    wf = two_tries()
    a, b = Harness(postgres_url, wf), Harness(postgres_url, wf)
    try:
        overtaken(a, b, HoldAt("sweep.read"))
    finally:
        a.close()
        b.close()


def two_tries() -> Workflow[Order]:
    wf = flow()
    wf.calls, wf.first, wf.second = Calls(), threading.Event(), threading.Event()  # type: ignore[attr-defined]

    @wf.step(Effect.READ, retry=SOON)
    def read(step: Step[Order]) -> int:
        wf.calls.add("READ")  # type: ignore[attr-defined]
        assert (wf.first if step.attempt == 1 else wf.second).wait(30)  # type: ignore[attr-defined]
        return step.attempt

    return wf


def overtaken(a: Harness, b: Harness, hold: HoldAt) -> None:
    [wf] = a.app.workflows.values()
    with zombie(a) as worker, ThreadPoolExecutor(1) as pool:
        run = a.start(wf, Order())
        until(lambda: wf.calls.count("READ") == 1)
        look_dead(a, worker)
        sweep = sweeper(b, hold)
        if not on_sqlite(b):
            assert sweep.sweep() == ()
        sweeping = pool.submit(sweep.sweep)
        hold.wait()
        quick = sweeper(b)
        until(lambda: run.id in quick.sweep(), "another sweep takes the attempt from the dead")
        with b.worker() as owner:
            until(lambda: wf.calls.count("READ") == 2)
            before = b.record(run, "READ")
            hold.release()
            assert sweeping.result(30) == ()
            after = b.record(run, "READ")
            assert after == before
            assert after.status is RecordStatus.RUNNING
            assert (after.running.n, after.running.epoch, after.lost, after.failures) == (2, owner.epoch, 1, 0)
            wf.second.set()
            until(lambda: b.status(run) is RunStatus.SUCCESS, "the second attempt ends the run")
        wf.first.set()
    assert b.app.store.reading.detail(run.id).records[0].output == "2"
    all_is_well(b, run)
