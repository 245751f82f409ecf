"""B39: slots of queues and places of workflows are given back however their holder ends, and never are there more than allowed.

B06: nobody claims more than a limit leaves.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from halfway import Effect, Queue, Retry, RunStatus, Step, Workflow
from halfway.errors import Conflict, DatabaseError
from halfway.testing import FailAt, Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.engine.recovery import execute
from tests.engine.test_limits import pause
from tests.engine.test_races import lost_connection
from tests.faults.checks import all_is_well
from tests.faults.test_b39_locks_given_back import Room

LIMIT = 3


def open_runs(h: Harness) -> bool:
    return any(count for status, count in h.app.control.counts().items() if status != "FAILED")


# ── two workers in one process ──


def test_five_hundred_runs_that_end_in_every_way_never_exceed_a_limit_and_leave_no_slot_behind(harness: type[Harness]) -> None:
    """B39: a queue, a workflow and a key with limits; ends by success, failure, retry and cancel at random."""
    rooms = {name: Room() for name in ("queue", "workflow", "k0", "k1", "k2", "k3")}
    narrow = Queue("narrow", concurrency=LIMIT)
    wf = flow(key=False, concurrency=7, concurrency_key=lambda order: order.id.partition(":")[0], concurrency_per_key=2)

    def inside(names: tuple[str, ...], step: Step[Order]) -> None:
        for name in names:
            rooms[name].enter(step.run_id)
        try:
            if step.input.id.endswith("fails") or (step.input.id.endswith("retries") and step.attempt == 1):
                raise RuntimeError
        finally:
            for name in names:
                rooms[name].leave(step.run_id)

    @wf.step(Effect.READ, retry=Retry(2, wait=timedelta(0)))
    def wide(step: Step[Order]) -> None:
        inside(("workflow", step.input.id.partition(":")[0]), step)

    @wf.step(Effect.READ, queue=narrow, retry=Retry(2, wait=timedelta(0)))
    def tight(step: Step[Order]) -> None:
        inside(("queue", "workflow", step.input.id.partition(":")[0]), step)

    @wf.step(Effect.READ, queue=narrow, retry=Retry(2, wait=timedelta(0)))
    async def last(step: Step[Order]) -> None:
        inside(("queue",), step)

    h = harness(wf)
    draw = random.Random(39)
    ids = [f"k{draw.randrange(4)}:{draw.choice(['succeeds', 'fails', 'retries', 'is cancelled'])}" for _ in range(500)]
    runs = h.app.start_many(wf, [Order(id=id) for id in ids])
    with h.worker(slots=6), h.worker(slots=6):
        for run in runs:
            if run.input.id.endswith("cancelled"):
                with suppress(Conflict):  # it was faster
                    h.app.control.cancel(run.id, actor="kim", reason="not wanted")
        until(lambda: not open_runs(h), patience=180)
    assert rooms["queue"].most <= LIMIT
    assert rooms["workflow"].most <= 7
    assert {rooms[f"k{n}"].most for n in range(4)} <= {1, 2}
    assert execute(h.url, "select count(*) from halfway_lease") == [(0,)]


@pytest.mark.parametrize("point", ["pump.before_commit", "pump.after_commit"])
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_commit_that_is_broken_takes_and_gives_each_slot_once(harness: type[Harness], point: str, nth: int) -> None:
    """B39: an outage around the commits in which slots are taken and given back."""

    class Later(FailAt):
        def __init__(self, error: DatabaseError) -> None:
            super().__init__(point, error)
            self.skip = nth - 1

        def reached(self, name: str) -> None:
            if name == point and self.skip > 0:
                self.skip -= 1
            else:
                super().reached(name)

    room, wf = Room(), flow(key=False)

    @wf.step(Effect.READ, queue=Queue("narrow", concurrency=1))
    def work(step: Step[Order]) -> None:
        room.enter(step.run_id)
        room.leave(step.run_id)

    h = harness(wf, points=Later(lost_connection()))
    runs = [h.start(wf, Order()) for _ in range(5)]
    with h.worker():
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
        until(lambda: execute(h.url, "select count(*) from halfway_lease") == [(0,)])
    assert room.most == 1
    all_is_well(h, *runs)


# ── processes ──


DYING = threading.Lock()


def limited(url: str, ledger: Ledger) -> list[Workflow[Order]]:
    """Writes when it enters and leaves; its process dies inside if its input says so, once."""
    wf = flow(key=False)

    @wf.step(Effect.READ, queue=Queue("narrow", concurrency=LIMIT), retry=Retry(5, wait=timedelta(0)))
    def work(step: Step[Order]) -> None:
        ledger.write("enters", who=f"{step.run_id}#{step.attempt}", pid=os.getpid())
        if step.input.id == "dies" and not ledger.count(event="dies", run=step.run_id):
            DYING.acquire()  # a process dies of one of them, also when it has begun both
            ledger.write("dies", run=step.run_id, pid=os.getpid())
            os.kill(os.getpid(), signal.SIGKILL)
        ledger.write("leaves", who=f"{step.run_id}#{step.attempt}", pid=os.getpid())

    return [wf]


def together(h: Harness, workers: ExitStack, flows: str, ledger: Ledger) -> None:
    """Three processes that begin at the same moment: before, their work is paused."""
    pause(h, "WORKFLOW", "FLOW")
    for _ in range(3):
        workers.enter_context(Worker(f"tests.faults.test_b39_limits:{flows}", h.url, ledger.path, ready=False))
    until(lambda: sum(row.epoch.state == "ALIVE" for row in h.app.store.reading.workers()) == 3)
    assert ledger.lines() == []
    pause(h, "WORKFLOW", "FLOW", paused=False)


def most_at_once(ledger: Ledger, dead: frozenset[int] = frozenset()) -> int:
    """Whoever was in a process that died has left with its last line."""
    last = {line["pid"]: n for n, line in enumerate(ledger.lines())}
    inside: set[object] = set()
    here: dict[object, set[object]] = {}
    most = 0
    for n, line in enumerate(ledger.lines()):
        pid = line["pid"]
        if line["event"] == "enters":
            inside.add(line["who"])
            here.setdefault(pid, set()).add(line["who"])
        elif line["event"] == "leaves":
            inside.discard(line["who"])
        most = max(most, len(inside))
        if pid in dead and n == last[pid]:
            inside -= here.get(pid, set())
    return most


def test_three_processes_never_do_more_at_once_than_the_queue_allows(harness: type[Harness], url: str, tmp_path: Path) -> None:
    """B39, B06: they all begin at the same moment, on three hundred runs."""
    ledger = Ledger(tmp_path / "ledger")
    h = harness(*limited(url, ledger))
    [wf] = h.app.workflows.values()
    runs = h.app.start_many(wf, [Order() for _ in range(300)])
    with ExitStack() as workers:
        together(h, workers, "limited", ledger)
        until(lambda: not open_runs(h), patience=180)
    assert ledger.count(event="enters") == len(runs)
    assert 1 <= most_at_once(ledger) <= LIMIT
    assert execute(url, "select count(*) from halfway_lease") == [(0,)]
    all_is_well(h, *runs)


def test_a_process_that_is_killed_with_slots_in_its_hands_leaves_none_behind(harness: type[Harness], url: str, tmp_path: Path) -> None:
    """B39: SIGKILL of the holder; afterwards all places are there again, and no more than that."""
    ledger = Ledger(tmp_path / "ledger")
    h = harness(*limited(url, ledger))
    [wf] = h.app.workflows.values()
    runs = [h.start(wf, Order(id="dies" if n < 2 else "succeeds")) for n in range(10)]
    for _ in range(2):
        with Worker("tests.faults.test_b39_limits:limited", url, ledger.path, ready=False) as doomed:
            assert doomed.wait() == -signal.SIGKILL
    dead = frozenset(int(str(line["pid"])) for line in ledger.lines() if line["event"] == "dies")
    assert len(dead) == 2
    with h.worker():
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
        until(lambda: execute(url, "select count(*) from halfway_lease") == [(0,)])
    assert most_at_once(ledger, dead) <= LIMIT
    all_is_well(h, *runs)


@pytest.mark.parametrize("point", ["pump.before_commit:2", "pump.after_commit:2", "pump.after_commit:3"])
def test_a_process_that_dies_around_the_commit_that_takes_a_slot_leaves_none_behind(
    harness: type[Harness], url: str, tmp_path: Path, point: str
) -> None:
    """B39: KILL of whoever takes, or gives back."""
    ledger = Ledger(tmp_path / "ledger")
    h = harness(*limited(url, ledger))
    [wf] = h.app.workflows.values()
    runs = [h.start(wf, Order()) for _ in range(6)]
    with Worker("tests.faults.test_b39_limits:limited", url, ledger.path, kill_at=point, ready=False) as doomed:
        assert doomed.wait() == -signal.SIGKILL
    with h.worker():
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
        until(lambda: execute(url, "select count(*) from halfway_lease") == [(0,)])
    all_is_well(h, *runs)


# ── the rate ──

RATE = 20


def rated(url: str, ledger: Ledger) -> list[Workflow[Order]]:
    wf = flow(key=False)

    @wf.step(Effect.READ, queue=Queue("mail", per_minute=RATE))
    def send(step: Step[Order]) -> None:
        ledger.write("sent", run=step.run_id, pid=os.getpid())

    return [wf]


def test_processes_that_begin_at_the_same_moment_keep_the_rate_of_a_queue(harness: type[Harness], url: str, tmp_path: Path) -> None:
    """The sum over all workers is bounded in any minute, and what is allowed is used."""
    ledger = Ledger(tmp_path / "ledger")
    h = harness(*rated(url, ledger))
    [wf] = h.app.workflows.values()
    runs: list[Any] = list(h.app.start_many(wf, [Order() for _ in range(RATE * 3)]))
    with ExitStack() as workers:
        together(h, workers, "rated", ledger)
        for minute in range(1, 4):
            until(lambda minute=minute: ledger.count(event="sent") >= RATE * minute)
            assert ledger.count(event="sent") == RATE * minute
            h.app.store.advance_clock(62_000_000)
        until(lambda: not open_runs(h))
    starts = sorted(at for (at,) in execute(url, "select started_at from halfway_attempt"))
    assert max(sum(at <= other < at + 60_000_000 for other in starts) for at in starts) == RATE
    assert set(Counter(line["run"] for line in ledger.lines()).values()) == {1}
    all_is_well(h, *runs)


def test_two_workers_at_a_barrier_never_take_one_slot_twice(harness: type[Harness]) -> None:
    """B39: both pumps stand just before they commit what they have taken; a hundred rounds."""
    room, wf = Room(), flow(key=False)
    start = threading.Barrier(2)

    @wf.step(Effect.READ, queue=Queue("one", concurrency=1))
    def work(step: Step[Order]) -> None:
        room.enter(step.run_id)
        room.leave(step.run_id)

    h = harness(wf)
    with h.worker(), h.worker():
        for _ in range(100):

            def come() -> None:
                start.wait()
                h.start(wf, Order())

            threads = [threading.Thread(target=come) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        until(lambda: not open_runs(h))
    assert room.most == 1
    assert len(room.order) == 200
    assert execute(h.url, "select count(*) from halfway_lease") == [(0,)]
