"""B15: a step that blocks its thread, its loop or the whole interpreter for longer than the lease stops no beat."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable
from contextlib import closing
from queue import SimpleQueue
from typing import Any

from halfway import Effect, RunStatus, Settings, Step, Workflow
from halfway.domain.run import Ended
from halfway.engine.slots import Threads
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import FAST, Harness, Order, flow, until
from tests.faults.checks import all_is_well

FLOWS = "tests.faults.test_b15_blocked_heartbeat:flows"
LEASE = 4.0  # a beat waits for the interpreter several times, and each wait is as long as the machine is busy
PATIENT = Settings(**(vars(FAST) | {"lease": LEASE}))


def length(url: str) -> float:
    """How long a body blocks: longer than a lease; a lock knows of none, and SQLite's others wait for whoever holds it."""
    return 1.5 * LEASE if url.startswith("postgres") else 2.2 * FAST.lease


def sleep(long: float) -> None:
    time.sleep(long)


def count(long: float) -> None:
    """Python code that never waits; the interpreter switches threads in between."""
    over = time.monotonic() + long
    n = 0
    while time.monotonic() < over:
        n += 1


def grind(long: float) -> None:
    """One call in C that holds the interpreter from its beginning to its end."""
    signs, took = 22, 0.0
    while took < long:
        began = time.monotonic()
        re.match("(a+)+b", "a" * signs)
        took = time.monotonic() - began
        signs += max(1, math.ceil(math.log2(long / took)))


def dump(long: float) -> None:
    """Calls in C that hold the interpreter for a good part of the lease, each."""
    big = [list(range(1000))] * 1000
    over = time.monotonic() + long
    while time.monotonic() < over:
        json.dumps(big)


BLOCKS: dict[str, Callable[[float], None]] = {"a": sleep, "b": sleep, "c": count, "d": grind, "e": dump}


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """One workflow for each way to block; a lost answer of any of them would need a person."""
    return [blocking(name, block, ledger, length(url)) for name, block in BLOCKS.items()] + [bystander(ledger)]


def blocking(name: str, block: Callable[[float], None], ledger: Ledger, long: float) -> Workflow[Order]:
    wf = flow(name.upper())
    if name == "b":

        @wf.step(Effect.CREATE, name="WORK", evidence="the ledger")
        async def on_loop(step: Step[Order]) -> None:
            ledger.write("WORK", how=name)
            block(long)

    else:

        @wf.step(Effect.CREATE, name="WORK", evidence="the ledger")
        def in_thread(step: Step[Order]) -> None:
            ledger.write("WORK", how=name)
            block(long)

    return wf


def bystander(ledger: Ledger) -> Workflow[Order]:
    wf = flow("BYSTANDER")

    @wf.step(Effect.CREATE, name="WORK", evidence="the ledger")
    def wait(step: Step[Order]) -> None:
        ledger.write("WORK", how="bystander")
        until(lambda: ledger.count(event="OVER"), "the others have ended")

    return wf


def nobody_is_taken_for_dead(url: str, ledger: Ledger, ways: str, **options: Any) -> None:
    made = {wf.name: wf for wf in flows(url, ledger)}
    with closing(Harness(url, *made.values(), settings=PATIENT)) as h:
        runs = [h.start(made[name], Order(id=name)) for name in ways.upper()]
        aside = h.start(made["BYSTANDER"], Order(id="bystander"))
        with Worker(FLOWS, url, ledger.path, lease=LEASE, **options):
            until(lambda: ledger.count(event="WORK") == len(runs) + 1, "all are at work")
            with h.worker():  # the second worker, which sweeps all the time
                until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs), "all end", patience=90)
                assert h.status(aside) is RunStatus.RUNNING
                ledger.write("OVER")
                until(lambda: h.status(aside) is RunStatus.SUCCESS)
        assert ledger.tally("how") | {None: 1} == dict.fromkeys([*ways, "bystander", None], 1)
        for run in [*runs, aside]:  # one that had not begun when the interpreter stood still was handed back
            [one] = h.app.store.reading.detail(run.id).records
            assert [attempt.ended for attempt in one.attempts if attempt.ended is not Ended.HANDED_BACK] == [Ended.SUCCESS]
            assert one.record.lost == 0
        all_is_well(h, *runs, aside)


def test_a_worker_inside_an_application_beats_while_its_threads_and_its_loop_are_blocked(postgres_url: str, ledger: Ledger) -> None:
    """B15 a, b, c, e: its beats come from a thread."""
    nobody_is_taken_for_dead(postgres_url, ledger, "abce")


def test_a_worker_with_a_parent_beats_while_its_interpreter_is_held(postgres_url: str, ledger: Ledger) -> None:
    """B15 a to e: its parent beats for it."""
    nobody_is_taken_for_dead(postgres_url, ledger, "abcde", watched=True, stall=60)


def test_a_worker_whose_life_is_a_lock_needs_no_beat(sqlite_url: str, ledger: Ledger) -> None:
    """B15 d."""
    nobody_is_taken_for_dead(sqlite_url, ledger, "d")


class HeldQueue(SimpleQueue[Any]):
    """Whoever takes from it has not yet woken up."""

    def __init__(self) -> None:
        self.awake = threading.Event()

    def get(self, *args: Any) -> Any:
        item = super().get(*args)
        assert self.awake.wait(30)
        return item


def test_a_step_that_blocks_its_thread_keeps_no_other_waiting_while_a_thread_is_free() -> None:
    """B15: two steps are given out before the idle thread has woken up for the first."""
    go_on, begun, ended = threading.Event(), SimpleQueue[str](), SimpleQueue[str]()

    def execute(name: str) -> tuple[None, None]:
        begun.put(name)
        assert name == "first" or go_on.wait(30)
        return None, None

    threads = Threads(2, execute, lambda name, report, payload: ended.put(name))  # type: ignore[arg-type, return-value]
    threads._work = held = HeldQueue()
    held.awake.set()
    threads.run(["first"])  # type: ignore[list-item]
    assert (begun.get(timeout=30), ended.get(timeout=30)) == ("first", "first")
    held.awake.clear()
    for name in ("blocks", "must not wait"):
        threads.run([name])  # type: ignore[list-item]
    held.awake.set()
    assert {begun.get(timeout=30), begun.get(timeout=30)} == {"blocks", "must not wait"}
    go_on.set()
    threads.stop()
