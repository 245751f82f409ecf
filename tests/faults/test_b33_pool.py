"""B33: bodies and waits hold no connection, so 60 runs on 20 slots finish, and whoever asks meanwhile is answered."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from halfway import Effect, Mark, RunStatus, Step, Then, Workflow
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, accounts, connection_type, execute, pay, waits
from tests.faults.checks import all_is_well

RUNS = 60
SLOTS = 20
OPEN = """
    select pid, xact_start from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
"""


def busy(url: str, calls: Calls, gate: threading.Semaphore) -> Workflow[Order]:
    """A body that works long, a transaction, a wait, and a body with a mark, an artifact and evidence."""
    kind = connection_type(url)
    wf = flow()

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> str:
        calls.add("LOOK")
        assert gate.acquire(timeout=60)
        return step.save("look.txt", step.run_id).id

    @wf.transaction(kind)
    def count(step: Step[Order], db: kind) -> None:  # type: ignore[valid-type]
        db.execute("update account set version = version + 1")  # type: ignore[attr-defined]

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order], mark: Mark) -> int:
        step.evidence(run=step.run_id)
        with mark:
            calls.add("CREATE", step.input.id)
            assert gate.acquire(timeout=60)
        return step.output(paid).amount

    return wf


def nothing_is_open(url: str) -> None:
    """While bodies stand still: a transaction that is seen is one of the engine's own, and is over in a moment."""
    if not url.startswith("postgres"):
        return
    with psycopg.connect(url, autocommit=True) as watching:
        for _ in range(20):
            seen = set(watching.execute(OPEN).fetchall())
            until(lambda seen=seen: not seen & set(watching.execute(OPEN).fetchall()), "a transaction stays open")  # type: ignore[misc]


@pytest.fixture
def asking() -> Any:
    """Somebody who asks all the time; answers what went wrong."""
    stop, wrong = threading.Event(), list[BaseException]()
    threads: list[threading.Thread] = []

    def begin(h: Harness, runs: list[Any]) -> list[BaseException]:
        def ask() -> None:
            n = 0
            while not stop.is_set():
                try:
                    h.app.control.show(runs[n % len(runs)].id)
                    h.app.control.runs(limit=10)
                    h.app.control.counts()
                except BaseException as error:
                    wrong.append(error)
                n += 1

        threads.append(threading.Thread(target=ask))
        threads[-1].start()
        return wrong

    yield begin
    stop.set()
    for thread in threads:
        thread.join(30)


def test_bodies_hold_no_connection_and_everything_finishes(harness: type[Harness], url: str, asking: Any) -> None:
    """B33: 60 runs on 20 slots."""
    calls, gate = Calls(), threading.Semaphore(0)
    accounts(url)
    wf = busy(url, calls, gate)
    h = harness(wf)
    runs = list(h.app.start_many(wf, [Order(id=str(n)) for n in range(RUNS)]))
    wrong = asking(h, runs)
    with h.worker(slots=SLOTS):
        until(lambda: calls.count("LOOK") == SLOTS)
        nothing_is_open(url)
        gate.release(RUNS)
        until(lambda: h.app.control.counts().get("WAITING") == RUNS)
        nothing_is_open(url)
        for n in range(RUNS):
            pay(h, str(n), n)
        until(lambda: calls.count("CREATE") == SLOTS)
        nothing_is_open(url)
        gate.release(RUNS)
        until(lambda: not h.app.control.counts())
    assert wrong == []
    assert {h.status(run) for run in runs} == {RunStatus.SUCCESS}
    assert execute(url, "select version from account") == [(RUNS + 1,)]
    assert calls.count("CREATE") == RUNS
    all_is_well(h, *runs)


def test_waiting_runs_hold_neither_slots_nor_connections(harness: type[Harness], url: str) -> None:
    """B33: many runs wait, and one more goes through at once."""
    calls, gate = Calls(), threading.Semaphore(1000)
    accounts(url)
    wf = busy(url, calls, gate)
    h = harness(wf)
    runs = list(h.app.start_many(wf, [Order(id=str(n)) for n in range(RUNS)]))
    with h.worker(slots=2):
        until(lambda: h.app.control.counts().get("WAITING") == RUNS)
        nothing_is_open(url)
        assert [row.running for row in h.app.store.reading.workers()] == [0]
        if url.startswith("postgres"):
            text = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            assert execute(url, text)[0][0] < RUNS / 2
        pay(h, "x", 1)
        late = h.start(wf, Order(id="x"))
        until(lambda: h.status(late) is RunStatus.SUCCESS)
    assert all(wait.closed_at is None for run in runs for wait in waits(h, run))
    all_is_well(h, late, *runs)
