"""B25: what a child of a fork does or leaves undone touches nothing of its parent's. Without TLS: the server of the tests has none.

The store alone is forked in tests/store; here a whole worker goes on meanwhile: pump, beats, sweep and bodies.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import pytest

from halfway import Effect, Run, RunStatus, Step, Workflow
from halfway.errors import DatabaseBusy
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

    def or_told(work: Callable[[], None]) -> None:
        """A child that was forked in the middle of a transaction may find the file of its parent locked."""
        with suppress(DatabaseBusy):
            work()

    with h.worker() as worker:
        runs: list[Run[Order]] = [first]
        for n in range(forks):
            runs.append(h.start(wf, Order(id=str(n))))
            assert in_child(lambda: or_told(in_the_child)) == 0
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


def child_inside_a_transaction(h: Harness, wf: Workflow[Order]) -> int:
    """The exit code of a child that was forked while another thread wrote, and starts a run when that has long ended."""
    ended, writing = multiprocessing.get_context("fork").Event(), HoldAt("start.before_commit")
    h.app.store._database.points = writing
    other = threading.Thread(target=lambda: h.start(wf, Order(id="of the parent")))
    other.start()
    writing.wait()

    def start() -> None:
        assert ended.wait(30)
        h.app.store._database.points = NoPoints()
        h.start(wf, Order(id="of the child"))

    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            start()
            code = 0
        finally:
            os._exit(code)
    writing.release()
    other.join(30)
    ended.set()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def test_a_child_of_a_fork_during_a_transaction_writes_when_that_has_ended(postgres_url: str) -> None:
    """B25 c."""
    wf = steps(nothing)
    with closing(Harness(postgres_url, wf)) as h:
        assert child_inside_a_transaction(h, wf) == 0
        assert len(h.app.store.reading.runs()) == 2


@pytest.mark.xfail(strict=True, reason="SQLite keeps locks per process, and the child inherits the belief that its parent's are held")
def test_a_child_of_a_fork_during_a_transaction_on_a_file_writes_when_that_has_ended(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B25 c."""
    impatient(monkeypatch, 0.5)
    wf = steps(nothing)
    with closing(Harness(sqlite_url, wf)) as h:
        assert child_inside_a_transaction(h, wf) == 0


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
