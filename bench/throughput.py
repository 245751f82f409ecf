"""Steps per second: runs of five trivial steps, started in the same process, with a worker in the same process."""

from __future__ import annotations

import cProfile
import pstats
import threading
import time
from collections.abc import Callable

from bench.flows import Input, chain
from halfway import Halfway
from halfway.engine.worker import calm_collector


def report(name: str, fresh: Callable[[], str], runs: int, *, profile: bool) -> None:
    for kind, slots, asynchronous in (("async", 200, True), ("async", 50, True), ("def", 32, False)):
        seconds = measure(fresh(), runs, slots, asynchronous=asynchronous, profile=profile)
        print(f"{name:<11} {kind:<6} {slots:>4} slots  {runs} runs of 5 steps  {runs * 5 / seconds:>9,.0f} steps/s")


def measure(url: str, runs: int, slots: int, *, asynchronous: bool, profile: bool = False) -> float:
    flow = chain(asynchronous=asynchronous)
    app = Halfway(url, workflows=[flow])
    ended = threading.Semaphore(0)
    app._ended = lambda run_id: ended.release()  # type: ignore[method-assign]  # count ends without reading the database
    app.start_many(flow, [Input(n=n) for n in range(runs)])
    worker = app.worker(slots=slots)
    calm_collector()  # as a worker process does; an application that embeds a worker decides for itself
    profiler = cProfile.Profile()
    began = time.perf_counter()
    worker.start()
    if profile and worker.pump is not None:
        _profile_pump(worker.pump, profiler)
    for _ in range(runs):
        ended.acquire()
    seconds = time.perf_counter() - began
    worker.stop()
    app.close()
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    return seconds


def _profile_pump(pump: object, profiler: cProfile.Profile) -> None:
    turn = pump._turn  # type: ignore[attr-defined]

    def profiled() -> None:
        profiler.enable()
        try:
            turn()
        finally:
            profiler.disable()

    pump._turn = profiled  # type: ignore[attr-defined]
