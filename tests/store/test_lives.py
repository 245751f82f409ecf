"""Epochs: who is alive, who is proven dead, and what that takes on each database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from halfway.domain.facts import Finished
from halfway.domain.run import Ended, Key, Report
from halfway.ports import EpochOver, Mark
from halfway.store import Store, identity, open_store
from halfway.store.life import proven_dead
from tests.store.world import MARKED, apply, begin, claim, read, start, until_somebody_waits

WORKER = """
import sys
from halfway.store import identity, open_store
store = open_store(sys.argv[1])
print(store.lives.begin(host="host", pid=1, identity=identity(), kill_after=None), flush=True)
sys.stdin.read()
"""


@contextmanager
def worker(url: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process with an epoch of its own."""
    process = subprocess.Popen([sys.executable, "-c", WORKER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()
            process.wait()


def test_an_epoch_lives_beats_and_ends(store: Store) -> None:
    epoch = store.lives.begin(host="here", pid=7, identity="i", kill_after=9)
    (found,) = store.lives.epochs()
    assert (found.id, found.state, found.host, found.pid, found.identity, found.kill_after) == (epoch, "ALIVE", "here", 7, "i", 9)
    assert store.lives.beat(epoch)
    assert store.lives.epochs()[0].counter == (1 if store.lives.beats else 0)
    store.lives.end(epoch)
    assert not store.lives.beat(epoch)
    assert not store.lives.beat("unknown")
    assert store.lives.epochs() == []
    assert [row.epoch.state for row in store.reading.workers()] == ["ENDED"]


def test_a_killed_process_is_dead_at_once_and_a_living_one_never(store: Store, url: str) -> None:
    with worker(url) as (process, epoch):
        (found,) = store.lives.epochs()
        assert found.id == epoch
        assert not store.lives.is_dead(found)
        os.kill(process.pid, signal.SIGSTOP)  # frozen, and alive
        assert not store.lives.is_dead(found)
        process.kill()
        process.wait()
        assert store.lives.is_dead(found)
        assert store.lives.declare_dead(found)
        assert not store.lives.declare_dead(found)
        assert store.lives.epochs() == []


def test_a_dead_epoch_is_shown_as_long_as_attempts_of_it_are_open(store: Store, url: str) -> None:
    with worker(url) as (process, epoch):
        run_id = start(store, MARKED).run_id
        claim(store, run_id, epoch, MARKED)
        with store.runs.change(epoch=epoch) as turn:
            assert turn.mark([Mark(run_id, Key("first"), 1, True)]).marks
        process.kill()
        process.wait()
    assert store.lives.declare_dead(store.lives.epochs()[0])
    (found,) = store.lives.epochs()
    assert (found.id, found.state) == (epoch, "DEAD")
    assert store.lives.is_dead(found)
    apply(store, run_id, MARKED, Finished(Key("first"), 1, Report(Ended.LOST, gone=False)))
    assert [one.id for one in store.lives.epochs()] == [epoch]
    with store.runs.change() as turn:
        (left,) = turn.left(epoch, lost=True)
    assert (left.run_id, left.attempt.marked, left.attempt.lost, left.attempt.gone_at) == (run_id, True, True, None)


def test_where_beats_are_counted_a_beat_refutes_a_death(postgres_url: str) -> None:
    store = open_store(postgres_url)
    epoch = begin(store)
    (seen,) = store.lives.epochs()
    assert store.lives.beat(epoch)
    assert not store.lives.declare_dead(seen)
    assert store.lives.declare_dead(store.lives.epochs()[0])
    assert not store.lives.beat(epoch)
    store.close()


def test_where_life_is_a_lock_nobody_is_declared_dead_while_holding_it(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    begin(store)
    (seen,) = store.lives.epochs()
    assert not store.lives.declare_dead(seen)
    store.lives.close()  # what the end of the process does
    assert store.lives.declare_dead(seen)
    store.close()


def test_a_child_of_a_fork_does_not_keep_its_parent_alive(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    with subprocess.Popen(
        [sys.executable, "-c", WORKER.replace("sys.stdin.read()", FORKS), sqlite_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        epoch = process.stdout.readline().strip().decode()
        child = int(process.stdout.readline())
        process.wait()
        os.kill(child, 0)  # it lives
        (found,) = store.lives.epochs()
        assert found.id == epoch
        assert store.lives.is_dead(found)
        os.kill(child, signal.SIGKILL)
    store.close()


FORKS = """
import os, time
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.write(writing, b"running")
    time.sleep(60)
os.read(reading, 7)
print(child, flush=True)
os.kill(os.getpid(), 9)
"""


def test_identity_proves_the_death_of_this_machines_processes_only() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        known = identity(process.pid)
        assert not proven_dead(known)
        process.kill()
        process.wait()
    assert proven_dead(known)
    assert not proven_dead(identity())
    assert not proven_dead("")
    assert not proven_dead(known.replace("boot:", "boot:another-"))
    assert proven_dead(identity().rpartition(":")[0] + ":1")  # the number was given to another process since


def test_a_transaction_of_a_worker_ends_before_it_can_be_declared_dead(postgres_url: str) -> None:
    store = open_store(postgres_url)
    epoch = begin(store)
    run_id = start(store, MARKED).run_id
    (seen,) = store.lives.epochs()
    order: list[str] = []
    with store.runs.change(epoch=epoch) as turn:
        sweep = threading.Thread(target=lambda: order.append(f"declared {store.lives.declare_dead(seen)}"))
        sweep.start()
        turn.lock([run_id])
        until_somebody_waits(postgres_url)
        order.append("written")
    sweep.join()
    assert order == ["written", "declared True"]
    with pytest.raises(EpochOver), store.runs.change(epoch=epoch):
        pytest.fail("it was let in")
    assert read(store, run_id).run.id == run_id
    store.close()
