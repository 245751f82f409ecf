"""B26: what ends while its worker stops is stored; what does not end is handed back or in doubt; nothing new is begun."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Retry, Run, RunStatus, Step, StepFailed, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well
from tests.faults.outages import cutting
from tests.faults.zombies import HoldLater, without_sweep

FLOWS = "tests.faults.test_b26_graceful_stop:flows"
LONG = 60.0  # a lease that a machine which stands still for a moment does not miss
SOON = Retry(3, wait=timedelta(milliseconds=10))


class Floor:
    """One workflow for each way to meet a stop."""

    def __init__(self) -> None:
        self.calls = Calls()
        self.end = threading.Event()  # of those that end in time
        self.over = threading.Event()  # of those that do not
        self.wf = flow(key=False, retry=SOON)

        @self.wf.step(Effect.READ)
        def first(step: Step[Order]) -> str:
            n = self.calls.add(step.input.id)
            if step.input.id == "slow" and n == 1:
                self.over.wait(60)
            elif step.input.id != "late":
                self.end.wait(60)
            if step.input.id == "fails":
                raise StepFailed("it will not work", code="NO_GOOD")
            return step.input.id

        @self.wf.step(Effect.READ)
        def second(step: Step[Order]) -> str:
            self.calls.add("SECOND")
            return step.output(first)

    def started(self, h: Harness, *ids: str) -> dict[str, Run[Order]]:
        runs = {id: h.start(self.wf, Order(id=id)) for id in ids}
        until(lambda: all(self.calls.count(id) == 1 for id in ids), "all are at work")
        return runs


def test_success_and_failure_during_a_stop_are_stored_and_what_is_slow_runs_again_elsewhere(harness: type[Harness]) -> None:
    """B26."""
    floor = Floor()
    h = harness(floor.wf)
    worker = h.app.worker(slots=3)
    worker.start()
    runs = floor.started(h, "ends", "fails", "slow")
    with ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(worker.stop, 1.0)
        until(lambda: worker.pump.stopping)
        runs["late"] = h.start(floor.wf, Order(id="late"))  # nothing new is begun
        floor.end.set()
        until(lambda: h.record(runs["ends"], "FIRST").status is RecordStatus.SUCCESS, "it ended in time")
        until(lambda: h.status(runs["fails"]) is RunStatus.FAILED, "and so did the failure")
        stopping.result(60)
    assert h.record(runs["fails"], "FIRST").code == "NO_GOOD"
    assert h.record(runs["slow"], "FIRST").status is RecordStatus.PENDING
    assert (floor.calls.count("SECOND"), floor.calls.count("late")) == (0, 0)
    assert [row.epoch.state for row in h.app.store.reading.workers()] == ["ENDED"]
    with h.worker():
        until(lambda: all(h.status(runs[id]) is RunStatus.SUCCESS for id in ("ends", "slow", "late")), "another worker goes on")
    assert (floor.calls.count("ends"), floor.calls.count("slow"), floor.calls.count("SECOND")) == (1, 2, 3)
    assert h.record(runs["slow"], "FIRST").failures == 0
    floor.over.set()
    all_is_well(h, *runs.values())


def test_a_result_between_its_return_and_its_commit_is_stored(harness: type[Harness]) -> None:
    """B26: held in the commit that ends it."""
    floor = Floor()
    hold = HoldLater("pump.before_commit", 2)
    h = harness(floor.wf, points=hold)
    floor.end.set()
    run = h.start(floor.wf, Order(id="ends"))
    with without_sweep(h) as worker, ThreadPoolExecutor(1) as pool:
        hold.wait()
        stopping = pool.submit(worker.stop)
        until(lambda: worker.pump.stopping)
        hold.release()
        stopping.result(60)
    assert h.record(run, "FIRST").status is RecordStatus.SUCCESS
    assert h.drain(run).status is RunStatus.SUCCESS
    assert floor.calls.count("ends") == 1
    all_is_well(h, run)


def test_a_marked_effect_that_outlasts_the_stop_is_in_doubt_and_not_repeated(harness: type[Harness]) -> None:
    """B26: it is neither repeated nor forgotten."""
    calls, over = Calls(), threading.Event()
    wf = flow()

    @wf.step(Effect.NOTIFY, evidence="the provider's log")
    def tell(step: Step[Order]) -> str:
        calls.add("TELL")
        assert over.wait(60)
        return "told"

    h = harness(wf)
    worker = h.app.worker(slots=1)
    run = h.start(wf, Order())
    worker.start()
    until(lambda: calls.count("TELL") == 1)
    worker.stop(grace=0)
    assert h.record(run, "TELL").status is RecordStatus.UNKNOWN
    assert h.record(run, "TELL").code == "WORKER_STOPPED"
    over.set()
    with h.worker():
        h.advance(3600)
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED, "a person is asked")
    assert calls.count("TELL") == 1
    all_is_well(h, run)


# ── a process and its signals ──


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    wf = flow(key=False, retry=SOON)

    @wf.step(Effect.READ)
    def work(step: Step[Order]) -> str:
        ledger.write("WORK", id=step.input.id)
        if step.input.id == "slow" and step.attempt == 1:
            until(lambda: ledger.count(event="NEVER"), patience=100)
        return step.input.id

    return [wf]


@pytest.mark.parametrize(("signals", "code"), [(1, 0), (2, 128 + 15)])
def test_a_worker_process_ends_by_the_first_signal_in_good_order_and_by_the_second_at_once(
    harness: type[Harness], url: str, ledger: Ledger, signals: int, code: int
) -> None:
    """B26."""
    [wf] = flows(url, ledger)
    h = harness(wf)
    run = h.start(wf, Order(id="slow"))
    with Worker(FLOWS, url, ledger.path, grace=0.3 if signals == 1 else 60, lease=LONG) as worker:
        until(lambda: ledger.count(event="WORK") == 1)
        worker.terminate()
        if signals == 2:
            until(lambda: worker.terminate() or not worker.running, "the second ends it")
        assert worker.wait() == code
    h.advance(LONG)
    assert h.drain(run).status is RunStatus.SUCCESS
    assert (h.record(run, "WORK").failures, h.record(run, "WORK").lost) == (0, signals - 1)
    all_is_well(h, run)


def test_a_stop_while_the_server_is_away_ends_and_others_find_what_was_left(
    postgres_server: str, postgres_url: str, ledger: Ledger
) -> None:
    """B26: while the database is down."""
    [wf] = flows(postgres_url, ledger)
    with closing(Harness(postgres_url, wf)) as h:
        run = h.start(wf, Order(id="slow"))
        with Worker(FLOWS, postgres_url, ledger.path, grace=0.3) as worker:
            until(lambda: ledger.count(event="WORK") == 1)
            with cutting(postgres_server, postgres_url) as cut:
                cut.begin()
                worker.terminate()
                assert worker.wait() == 0
        assert h.drain(run).status is RunStatus.SUCCESS
        assert h.record(run, "WORK").failures == 0
        all_is_well(h, run)
