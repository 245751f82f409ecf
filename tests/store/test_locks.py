"""The order of locks of `halfway.store`: nobody ever waits in a circle."""

from __future__ import annotations

import threading
from collections.abc import Callable

from halfway.domain.decide import decide
from halfway.domain.draft import Change
from halfway.domain.facts import LookAgain
from halfway.store import Store
from tests.store.world import LOCKED, TWO, ids, new_run

ROUNDS = 30


def together(*works: Callable[[int], None]) -> None:
    """Runs them at the same moment, again and again; whatever one raises is raised here."""
    barrier = threading.Barrier(len(works))
    errors: list[BaseException] = []

    def repeat(work: Callable[[int], None]) -> None:
        try:
            for number in range(ROUNDS):
                barrier.wait()
                work(number)
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_runs_asked_for_in_opposite_order_are_locked_in_one(store: Store) -> None:
    run_ids = ids(store.runs.create([new_run() for _ in range(20)]))

    def lock(order: list[str]) -> Callable[[int], None]:
        def work(_: int) -> None:
            with store.runs.change() as turn:
                assert len(turn.lock(order, wait=True)) == len(order)
                loaded = turn.load(order)
                turn.write([Change(one.snapshot, decide(TWO, one.snapshot, LookAgain(), turn.now)) for one in loaded.values()])

        return work

    together(lock(run_ids), lock(run_ids[::-1]), lock(run_ids[10:] + run_ids[:10]))


def test_keys_and_resources_taken_in_opposite_order_are_taken_in_one(store: Store) -> None:
    def create(step: int) -> Callable[[int], None]:
        def work(number: int) -> None:
            names = [f"{number}-{place}" for place in range(10)][::step]
            store.runs.create([new_run(LOCKED, key=name, resource=name) for name in names])

        return work

    together(create(1), create(-1), create(1))
    assert len(store.reading.runs(limit=1000)) == 10 * ROUNDS


def test_a_batch_that_leaves_out_what_is_locked_never_waits(store: Store) -> None:
    run_ids = ids(store.runs.create([new_run() for _ in range(20)]))

    def pump(order: list[str]) -> Callable[[int], None]:
        def work(_: int) -> None:
            with store.runs.change() as turn:
                locked = turn.lock(order)
                turn.lock([run_id for run_id in run_ids if run_id not in locked])

        return work

    together(pump(run_ids[:15]), pump(run_ids[5:]), pump(run_ids[::2]))
