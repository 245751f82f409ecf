"""What a long history costs (B47): a claim, a timer, a sweep and a start beside millions of runs that have ended, and while old ones are
deleted: `python -m bench.soak [--ended N] [--waiting N] [--hold SECONDS] [--only sqlite|postgres]`.

Nothing tells the database to look at its statistics. On PostgreSQL somebody holds a snapshot while runs are deleted.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta

from bench.database import databases
from bench.history import ROUTE, SPEC, fill, new_run
from halfway import Retention
from halfway.control.cleaning import Policy, cleanup
from halfway.domain.decide import decide
from halfway.domain.draft import Change
from halfway.domain.facts import Claimed, Finished
from halfway.domain.run import Ended, Report
from halfway.store import Store, open_store

TIMES = 300  # each thing is measured so often
SLOWER, LONGEST = 3, 100  # a claim: at most so many times as slow as without a history, and never so many milliseconds
P95 = 20  # milliseconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak")
    parser.add_argument("--ended", type=int, default=2_000_000)
    parser.add_argument("--waiting", type=int, default=50_000)
    parser.add_argument("--hold", type=float, default=600, help="seconds for which old runs are deleted at most")
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, fresh in databases(folder, options.only):
            soak(name, fresh, options.ended, options.waiting, options.hold)


def soak(name: str, fresh: Callable[[], str], ended: int, waiting: int, hold: float) -> None:
    empty = open_store(fresh())
    fill(empty, ended=0, runnable=1000, waiting=0)
    before = figures(name, "no history", empty)
    empty.close()
    url = fresh()
    store = open_store(url)
    began = time.perf_counter()
    fill(store, ended=ended, runnable=1000, waiting=waiting)
    print(f"{name:<11} {ended:,} runs that have ended and {waiting:,} that wait, written in {time.perf_counter() - began:.0f} s")
    beside = figures(name, f"beside {ended:,}", store)
    with holding(url, name), deleting(url, hold) as batches:
        during = figures(name, "while deleting", store)
    told(name, batches)
    for what, found in (("beside", beside), ("while deleting", during)):
        good = found["p95"] < P95 and (what != "beside" or found["p95"] < SLOWER * before["p95"]) and found["most"] < LONGEST
        print(f"{name:<11} claim {what}: {'as it should be' if good else 'TOO SLOW'}")
    store.close()


def figures(name: str, when: str, store: Store) -> dict[str, float]:
    """The figures of a claim; all are printed."""
    epoch = store.lives.begin(host="bench", pid=1, identity="", kill_after=None)
    works: dict[str, Callable[[], object]] = {
        "claim": lambda: claim(store, epoch),
        "timers": lambda: timers(store),
        "sweep": store.lives.epochs,
        "start": lambda: store.runs.create([new_run()]),
    }
    found = {what: measured(work) for what, work in works.items()}
    for what, one in found.items():
        print(f"{name:<11} {when:<20} {what:<7} p50 {one['p50']:6.2f} ms  p95 {one['p95']:6.2f} ms  most {one['most']:7.2f} ms")
    return found["claim"]


def measured(work: Callable[[], object]) -> dict[str, float]:
    """How long it takes, in milliseconds; what it answers with is done afterwards, and not measured."""
    times: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        afterwards = work()
        times.append((time.perf_counter() - began) * 1e3)
        if callable(afterwards):
            afterwards()
    return summary(times)


def summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times) or [0.0]
    return {"p50": ordered[len(ordered) // 2], "p95": ordered[int(len(ordered) * 0.95)], "most": ordered[-1]}


def claim(store: Store, epoch: str) -> Callable[[], None]:
    """One record is claimed, as the pump does it; answers with what ends it, so that there is always a next one."""
    with store.runs.change(epoch=epoch) as turn:
        (one,) = turn.ready(ROUTE, 1)
        loaded = turn.load(list(turn.lock([one.run_id])))
        snapshot = loaded[one.run_id].snapshot
        turn.write([Change(snapshot, decide(SPEC, snapshot, Claimed(one.key, epoch), turn.now))])

    def finish() -> None:
        with store.runs.change(epoch=epoch) as turn:
            turn.lock([one.run_id], wait=True)
            snapshot = turn.load([one.run_id])[one.run_id].snapshot
            turn.write([Change(snapshot, decide(SPEC, snapshot, Finished(one.key, 1, Report(Ended.SUCCESS)), turn.now))])

    return finish


def timers(store: Store) -> None:
    with store.runs.change() as turn:
        turn.due(100)


@contextmanager
def deleting(url: str, seconds: float) -> Generator[list[float]]:
    """Deletes what is old meanwhile, and goes on until all is deleted or the time is up; how long each batch took, in milliseconds."""
    store = open_store(url)
    batches: list[float] = []
    until = time.monotonic() + seconds
    policy = Policy(by_type={SPEC.type: Retention(history=timedelta(milliseconds=1))})
    deleted: dict[str, int] = {}

    def work() -> None:
        began = time.perf_counter()

        def rest(took: float) -> None:
            nonlocal began
            batches.append((time.perf_counter() - began) * 1e3)
            time.sleep(took)
            began = time.perf_counter()

        deleted.update(cleanup(store.keeping, policy, stop=lambda: time.monotonic() > until, rest=rest).deleted)

    thread = threading.Thread(target=work)
    first = time.perf_counter()
    thread.start()
    yield batches
    thread.join()
    took = time.perf_counter() - first
    runs, rows = deleted.get("runs", 0), sum(deleted.values())
    print(f"{'':<11} {runs:,} runs with {rows - runs:,} rows deleted in {took:.0f} s: {runs / took:,.0f} runs/s")
    store.close()


def told(name: str, batches: list[float]) -> None:
    one = summary(batches)
    print(f"{name:<11} {len(batches):,} batches  p50 {one['p50']:.1f} ms  p95 {one['p95']:.1f} ms  most {one['most']:.1f} ms")


@contextmanager
def holding(url: str, name: str) -> Generator[None]:
    """Somebody holds a snapshot; a doctor sees it when it is five minutes old."""
    if url.startswith("sqlite"):
        yield
        return
    import psycopg

    with psycopg.connect(url, application_name="reader") as reader:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("select count(*) from halfway_meta")
        yield
        store = open_store(url)
        seen = store.keeping.snapshots(0)
        print(f"{name:<11} a snapshot is held by {', '.join(one.name for one in seen)}: halfway doctor says so after five minutes")
        store.close()


if __name__ == "__main__":
    main()
