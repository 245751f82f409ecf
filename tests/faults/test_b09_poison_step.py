"""B09: a step that kills its worker is started three times at most, harms nobody else, and can be cancelled; a stop is no death."""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Retry, RunStatus, Step, Workflow
from halfway.domain.lifecycle import FINAL, RecordStatus
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well

FLOWS = "tests.faults.test_b09_poison_step:flows"
SOON = Retry(3, wait=timedelta(milliseconds=20))
HEALTHY = 20


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """One that dies in the way that the environment says, and one that is healthy."""
    poison, healthy = flow("POISON", retry=SOON), flow("HEALTHY")

    @poison.step(Effect.READ)
    def die(step: Step[Order]) -> None:
        ledger.write("DIE", attempt=step.attempt)
        DEATHS[os.environ["DEATH"]]()

    @healthy.step(Effect.READ)
    def live(step: Step[Order]) -> str:
        ledger.write("LIVE", id=step.input.id)
        return step.input.id

    return [poison, healthy]


def out_of_memory() -> None:
    """All that is left to this process are a few megabytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 50_000_000, hard))
    try:
        bytearray(1 << 32)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def segfault() -> None:
    """Any thread may be the one that the signal reaches; this one does not go on until it has."""
    os.kill(os.getpid(), signal.SIGSEGV)
    threading.Event().wait()


DEATHS: dict[str, Callable[[], object]] = {
    "exit": lambda: os._exit(137),
    "segfault": segfault,
    "memory": out_of_memory,
}


def supervise(url: str, ledger: Ledger, over: Callable[[], bool], flows: str = FLOWS, **options: Any) -> int:
    """Starts a worker whenever there is none, and answers how many have died."""
    deaths = 0
    while not over():
        with Worker(flows, url, ledger.path, ready=False, threads=2, **options) as worker:
            until(lambda worker=worker: over() or not worker.running, "the run ends or the worker dies")  # type: ignore[misc]
            deaths += not worker.running
    return deaths


@pytest.mark.parametrize(("url", "death"), [("sqlite", "exit"), ("sqlite", "segfault"), ("postgres", "exit")], indirect=["url"])
def test_a_step_that_kills_its_worker_fails_after_three_starts_and_all_others_finish(
    harness: type[Harness], url: str, ledger: Ledger, death: str
) -> None:
    """B09."""
    poison, healthy = flows(url, ledger)
    h = harness(poison, healthy)
    bad = h.start(poison, Order(id="bad"))
    good = [h.start(healthy, Order(id=str(n))) for n in range(HEALTHY)]
    deaths = supervise(url, ledger, lambda: all(h.status(run) in FINAL for run in [bad, *good]), DEATH=death)
    assert deaths == ledger.count(event="DIE") == 3
    assert h.status(bad) is RunStatus.FAILED
    assert h.record(bad, "DIE").code == "WORKER_LOST"
    assert {h.status(run) for run in good} == {RunStatus.SUCCESS}
    all_is_well(h, bad, *good)


def test_the_parent_of_a_worker_brings_it_back_until_the_poison_is_used_up(sqlite_url: str, ledger: Ledger) -> None:
    """B09: one `worker` command, that nobody else has to supervise."""
    poison, healthy = flows(sqlite_url, ledger)
    with closing(Harness(sqlite_url, poison, healthy)) as h:
        bad, good = h.start(poison, Order(id="bad")), h.start(healthy, Order(id="good"))
        with Worker(FLOWS, sqlite_url, ledger.path, watched=True, threads=1, DEATH="exit") as worker:
            until(lambda: h.status(bad) in FINAL and h.status(good) in FINAL, "both end")
            assert worker.running
            worker.terminate()
            assert worker.wait() == 0
        assert (h.status(bad), h.status(good)) == (RunStatus.FAILED, RunStatus.SUCCESS)
        assert ledger.count(event="DIE") == 3
        all_is_well(h, bad, good)


def deadly_company(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """One that dies only when the other is at work, every time."""
    poison, neighbour = flow("POISON", retry=SOON), flow("NEIGHBOUR", retry=SOON)

    @poison.step(Effect.READ)
    def die(step: Step[Order]) -> None:
        until(lambda: ledger.count(event="LONG") >= step.attempt)
        os._exit(137)

    @neighbour.step(Effect.READ)
    def long(step: Step[Order]) -> str:
        ledger.write("LONG")
        until(lambda: ledger.count(event="OVER"))
        return "done"

    return [poison, neighbour]


@pytest.mark.xfail(strict=True, reason="three deaths count against everything that ran at those moments, whoever caused them")
def test_a_neighbour_of_poison_is_not_taken_for_poison_itself(sqlite_url: str, ledger: Ledger) -> None:
    """B09: healthy runs all finish, also one that was at work each time."""
    poison, neighbour = deadly_company(sqlite_url, ledger)
    with closing(Harness(sqlite_url, poison, neighbour)) as h:
        bad, good = h.start(poison, Order(id="bad")), h.start(neighbour, Order(id="good"))
        supervise(sqlite_url, ledger, lambda: h.status(bad) in FINAL, flows="tests.faults.test_b09_poison_step:deadly_company")
        assert h.status(bad) is RunStatus.FAILED
        ledger.write("OVER")
        assert h.drain(good).status is RunStatus.SUCCESS


def test_a_step_that_runs_out_of_memory_fails_by_itself_and_its_worker_goes_on(sqlite_url: str, ledger: Ledger) -> None:
    """B09: where the limit is the process's own, it is an error like others."""
    poison, healthy = flows(sqlite_url, ledger)
    with closing(Harness(sqlite_url, poison, healthy)) as h:
        bad, good = h.start(poison, Order(id="bad")), h.start(healthy, Order(id="good"))
        assert supervise(sqlite_url, ledger, lambda: all(h.status(run) in FINAL for run in [bad, good]), DEATH="memory") == 0
        assert (h.record(bad, "DIE").code, ledger.count(event="DIE")) == ("MEMORY_ERROR", 3)
        assert h.status(good) is RunStatus.SUCCESS
        all_is_well(h, bad, good)


def test_a_cancel_reaches_a_run_whose_worker_has_just_died(harness: type[Harness], url: str, ledger: Ledger) -> None:
    """B09: cancel during the crash loop."""
    poison, healthy = flows(url, ledger)
    h = harness(poison, healthy)
    run = h.start(poison, Order())
    with Worker(FLOWS, url, ledger.path, ready=False, DEATH="exit") as worker:
        assert worker.wait() == 137
    assert h.record(run, "DIE").status is RecordStatus.RUNNING  # as far as anybody has seen
    assert h.app.control.cancel(run.id, actor="kim", reason="it kills our workers").after is RunStatus.CANCEL_REQUESTED
    supervise(url, ledger, lambda: h.status(run) in FINAL, DEATH="exit")
    assert h.status(run) is RunStatus.CANCELLED
    assert ledger.count(event="DIE") == 1
    all_is_well(h, run, orders=1)


def test_a_cancel_between_two_starts_ends_the_crash_loop_at_once(harness: type[Harness], url: str, ledger: Ledger) -> None:
    """B09: no worker is needed for it."""
    poison, healthy = flows(url, ledger)
    h = harness(poison, healthy)
    run = h.start(poison, Order())
    with Worker(FLOWS, url, ledger.path, ready=False, DEATH="exit") as worker:
        worker.wait()
    with h.worker() as worker:
        worker.pump.stopping = True  # it sweeps, and takes nothing
        until(lambda: h.record(run, "DIE").status is RecordStatus.PENDING, "the attempt is taken from the dead")
        assert h.app.control.cancel(run.id, actor="kim", reason="it kills our workers").after is RunStatus.CANCELLED
    assert ledger.count(event="DIE") == 1
    all_is_well(h, run, orders=1)


def test_five_stops_during_one_long_step_use_up_nothing(harness: type[Harness]) -> None:
    """B09: a graceful stop is no death and no failure."""
    calls, go_on = Calls(), threading.Event()
    wf = flow(retry=Retry(2, wait=timedelta(milliseconds=10)))

    @wf.step(Effect.READ)
    def long(step: Step[Order]) -> int:
        calls.add("LONG")
        assert go_on.wait(60)
        return step.attempt

    h = harness(wf)
    run = h.start(wf, Order())
    for times in range(1, 6):
        worker = h.app.worker(slots=1)
        worker.start()
        until(lambda times=times: calls.count("LONG") == times)  # type: ignore[misc]
        worker.stop(grace=0)
        assert h.record(run, "LONG").status is RecordStatus.PENDING
    go_on.set()
    assert h.drain(run).status is RunStatus.SUCCESS
    record = h.record(run, "LONG")
    assert (record.attempts, record.failures, record.lost) == (6, 0, 0)
    assert h.get(run).output(long) == 6
    all_is_well(h, run)
