"""B25: what a child of a fork does or leaves undone touches nothing of its parent's. Without TLS: the server of the tests has none.

The store alone is forked in tests/store; here a whole worker goes on meanwhile: pump, beats, sweep and bodies.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from typing import Any

import psycopg
import pytest

from halfway import Effect, Run, RunStatus, Step, Workflow
from halfway.errors import DatabaseError
from halfway.ports import NoPoints
from halfway.testing import HoldAt, Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.faults.checks import all_is_well
from tests.faults.forks import in_child
from tests.faults.outages import impatient

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python warns of forks beside threads; that is the point
FORKS = 60


def steps(body: Callable[[Step[Order]], str]) -> Workflow[Order]:
    wf = flow(key=False)

    @wf.step(Effect.CREATE, evidence="the ledger")
    def first(step: Step[Order]) -> str:
        return body(step)

    @wf.step(Effect.READ)
    def second(step: Step[Order]) -> str:
        return step.output(first)

    return wf


def nothing(step: Step[Order]) -> str:
    return step.input.id


@pytest.mark.parametrize("use", ["ends at once", "reads and starts", "works", "closes"])
def test_children_that_are_forked_beside_a_worker_leave_it_alone(harness: type[Harness], use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """B25 a, d, e: forked while transactions, beats and sweeps go on in other threads."""
    impatient(monkeypatch, 1.0)
    wf = steps(nothing)
    h = harness(wf)
    forks = FORKS if use == "ends at once" else FORKS // 4
    first = h.start(wf, Order(id="first"))

    def in_the_child() -> None:
        if use == "reads and starts":
            assert h.get(first).id == first.id
            h.start(wf, Order(id="of a child"))
        elif use == "works":
            own = h.start(wf, Order(id="of a child"))
            with h.worker():
                until(lambda: h.status(own) is RunStatus.SUCCESS)
        elif use == "closes":
            h.close()

    with h.worker() as worker:
        runs: list[Run[Order]] = [first]
        for n in range(forks):
            runs.append(h.start(wf, Order(id=str(n))))
            assert in_child(in_the_child) == 0
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs), "all runs of the parent end")
        until(lambda: all(row.run.status is RunStatus.SUCCESS for row in h.app.store.reading.runs(limit=1000)), "and those of its children")
        assert worker.alive
        [mine] = [row.epoch for row in h.app.store.reading.workers() if row.epoch.id == worker.epoch]
        assert mine.state == "ALIVE"
    all_is_well(h, *runs)


def test_an_app_that_was_only_made_before_the_forks_works_in_every_child(url: str) -> None:
    """B25 d: as a server does that loads the application first and forks its workers afterwards."""
    wf = steps(nothing)
    app = Harness(url, wf)

    def serve() -> None:
        run = app.run(wf, Order(id=str(os.getpid())))
        assert run.status is RunStatus.SUCCESS
        app.close()

    for _ in range(5):
        assert in_child(serve) == 0
    with closing(Harness(url, wf)) as h:
        runs = h.app.store.reading.runs()
        assert [row.run.status for row in runs] == [RunStatus.SUCCESS] * 5
        all_is_well(h, *(row.run for row in runs))


class Writing:
    """Another thread of the parent in the middle of a transaction."""

    def __init__(self, h: Harness, wf: Workflow[Order]) -> None:
        self._ended, self._hold = multiprocessing.get_context("fork").Event(), HoldAt("start.before_commit")
        self._database = h.app.store._database
        self._database.points = self._hold
        self._thread = threading.Thread(target=lambda: h.start(wf, Order(id="of the parent")))
        self._thread.start()
        self._hold.wait()

    def end(self) -> None:
        self._hold.release()
        self._thread.join(30)
        self._ended.set()

    def in_the_child(self) -> None:
        """Waits until it has long ended."""
        assert self._ended.wait(30)
        self._database.points = NoPoints()


def test_a_fork_waits_for_the_transactions_of_other_threads(harness: type[Harness], monkeypatch: pytest.MonkeyPatch) -> None:
    """B25 c."""
    wf = steps(nothing)
    h = harness(wf)
    writing = Writing(h, wf)
    gate, waited = h.app.store._database._gate, threading.Event()

    def end() -> None:
        until(lambda: gate._forks)
        waited.set()
        writing.end()

    other = threading.Thread(target=end)
    other.start()

    def start() -> None:
        writing.in_the_child()
        h.start(wf, Order(id="of the child"))

    assert in_child(start) == 0
    assert waited.is_set()
    other.join(30)
    assert len(h.app.store.reading.runs()) == 2


def test_a_child_of_a_fork_that_could_not_wait_works_where_locks_belong_to_connections_and_is_told_where_not(
    harness: type[Harness], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B25 c: SQLite keeps locks by process, so the child would believe for ever that it holds its parent's."""
    impatient(monkeypatch, 0.2)
    wf = steps(nothing)
    h = harness(wf)
    writing = Writing(h, wf)
    on_a_file = h.app.url.startswith("sqlite")

    def start() -> None:
        writing.in_the_child()
        for app in (h, Harness(h.app.url, wf)):
            with pytest.raises(DatabaseError, match="forked in the middle of a transaction") if on_a_file else nullcontext():
                app.start(wf, Order(id="of the child"))

    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            start()
            code = 0
        finally:
            os._exit(code)
    writing.end()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(h.app.store.reading.runs()) == (1 if on_a_file else 3)


def test_a_body_that_forks_inside_its_transaction_does_not_wait_for_itself(harness: type[Harness], url: str) -> None:
    """B25 b: its child must not use the database of the engine, and need not."""
    wf, kind = flow(key=False), sqlite3.Connection if url.startswith("sqlite") else psycopg.Connection[Any]

    @wf.transaction(kind)
    def first(step: Step[Order], db: Any) -> str:
        assert in_child(lambda: None) == 0
        return "forked"

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    all_is_well(h, run)


def test_a_child_sends_no_beat_for_its_parent(postgres_url: str) -> None:
    """B25 e: the beats of the parent are its own."""
    wf = steps(nothing)
    with closing(Harness(postgres_url, wf)) as h, h.worker() as worker:
        sent: list[str] = []
        lives = h.app.store.lives
        beat = lives.beat

        def counted(epoch: str) -> bool:
            sent.append(epoch)
            return beat(epoch)

        lives.beat = counted  # type: ignore[method-assign]
        until(lambda: len(sent) >= 2)
        pid = os.fork()
        if pid == 0:
            time.sleep(1.0)  # as long as several beats
            os._exit(0 if threading.active_count() == 1 else 1)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        [mine] = [row.epoch for row in h.app.store.reading.workers() if row.epoch.id == worker.epoch]
        assert abs(mine.counter - len(sent)) <= 2  # those before it was counted, or one under way


def square(n: int) -> int:
    return n * n


@pytest.mark.parametrize("how", ["fork", "pool"])
def test_a_body_that_forks_is_a_body_like_any_other(harness: type[Harness], how: str) -> None:
    """B25 b: inside a step."""

    def body(step: Step[Order]) -> str:
        if how == "fork":
            assert in_child(lambda: None) == 0
            return "forked"
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return str(sum(pool.map(square, range(50))))

    wf = steps(body)
    h = harness(wf)
    runs = [h.start(wf, Order(id=str(n))) for n in range(4)]
    with h.worker(slots=2):
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs), "all end")
    assert {h.record(run, "FIRST").attempts for run in runs} == {1}
    all_is_well(h, *runs)


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """For a worker process: a body that leaves a child behind."""

    def body(step: Step[Order]) -> str:
        if os.fork() == 0:
            ledger.write("CHILD", pid=os.getpid())
            time.sleep(120)
            os._exit(0)
        ledger.write("BODY")
        until(lambda: ledger.count(event="GO_ON"), patience=100)
        return "done"

    return [steps(body)]


def test_a_dead_worker_is_dead_although_a_child_of_it_lives_on(harness: type[Harness], url: str, ledger: Ledger) -> None:
    """B25: what the child has inherited keeps nobody alive."""
    [wf] = flows(url, ledger)
    h = harness(wf)
    run = h.start(wf, Order())
    try:
        with Worker("tests.faults.test_b25_fork:flows", url, ledger.path) as worker:
            until(lambda: ledger.count(event="CHILD") == ledger.count(event="BODY") == 1)
            worker.kill()
        with h.worker():
            # Killed inside a transaction it keeps its session until the server ends the silence, because the child holds its socket.
            until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED, "its attempt is in doubt", patience=60)
        assert h.record(run, "FIRST").code == "WORKER_LOST"
        all_is_well(h, run)
    finally:
        for line in ledger.lines():
            if line["event"] == "CHILD":
                os.kill(int(str(line["pid"])), signal.SIGKILL)
