"""B25: a child of a fork neither uses nor closes what its parent has open."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from halfway.errors import DatabaseError
from halfway.store import Store, forks, open_store
from tests.store.world import begin, ids, new_run, read, start

ROUNDS = 20


def in_child(work: Callable[[], None]) -> int:
    """Forks, works, ends as a program does (with all its destructors), and answers the exit code."""
    gc.collect(0)
    gc.freeze()  # what the tests have loaded is not the child's, and takes long to be looked through
    child = os.fork()
    if child:
        gc.unfreeze()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        work()
        gc.collect()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def sound(store: Store, url: str, runs: int) -> None:
    """The parent still works, and the file is whole."""
    assert start(store).created
    assert len(store.reading.runs(limit=10_000)) == runs + 1
    if url.startswith("sqlite"):
        with store.runs.change() as turn:
            assert turn._session.raw.execute("pragma integrity_check").fetchall() == [("ok",)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_that_end_leave_their_parents_connections_alone(store: Store, url: str) -> None:
    """B25 (a)."""
    for _ in range(ROUNDS):
        start(store)
        assert in_child(lambda: None) == 0
    sound(store, url, ROUNDS)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_may_use_the_store_of_their_parent(store: Store, url: str) -> None:
    for _ in range(ROUNDS):
        run_id = start(store).run_id

        def work(run_id: str = run_id) -> None:
            assert read(store, run_id).run.id == run_id
            start(store)

        assert in_child(work) == 0
    sound(store, url, 2 * ROUNDS)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_pool_of_forked_processes_works_on_one_store(store: Store, url: str) -> None:
    """B25 (b)."""
    start(store)
    pool = multiprocessing.get_context("fork").Pool(4, initializer=_inherit, initargs=(store,))
    with pool:
        pool.map(_start_one, range(50))
    pool.join()
    sound(store, url, 51)


_inherited: list[Store] = []


def _inherit(store: Store) -> None:
    _inherited.append(store)


def _start_one(_: int) -> None:
    start(_inherited[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_during_a_transaction_of_another_thread_does_not_touch_it(store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """B25 (c)."""
    monkeypatch.setattr(forks, "PATIENCE", 0.2)
    inside, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with store.runs.change() as turn:
            turn.lock([run_id])
            inside.set()
            forked.wait()

    run_id = start(store).run_id
    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()

    def work() -> None:
        with pytest.raises(DatabaseError) if url.startswith("sqlite") else nullcontext():
            assert store.reading.detail(run_id).run.id == run_id

    assert in_child(work) == 0
    forked.set()
    thread.join()
    sound(store, url, 1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_transaction_that_was_begun_before_a_fork_is_refused_in_the_child(store: Store, url: str) -> None:
    run_id = start(store).run_id
    with store.runs.change() as turn:

        def work() -> None:
            with pytest.raises(RuntimeError, match="before a fork"):
                turn.lock([run_id])

        assert in_child(work) == 0
        assert turn.lock([run_id])
    sound(store, url, 1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_beats_go_on_sends_none_for_the_parent_and_stops_none(store: Store, url: str) -> None:
    """B25 (e)."""
    epoch = begin(store)
    stop = threading.Event()
    beats: list[bool] = []

    def beat() -> None:
        while not stop.is_set():
            beats.append(store.lives.beat(epoch))

    thread = threading.Thread(target=beat)
    thread.start()
    for _ in range(ROUNDS):
        assert in_child(lambda: None) == 0
    stop.set()
    thread.join()
    assert all(beats)
    (found,) = store.lives.epochs()
    assert found.counter == (len(beats) if store.lives.beats else 0)
    sound(store, url, 0)


def test_ids_of_parent_and_child_differ(url: str) -> None:
    store = open_store(url)
    assert len(set(ids(store.runs.create([new_run() for _ in range(100)])))) == 100
    store.close()
