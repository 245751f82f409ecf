"""One idle run of five steps: from `start` until it has ended."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

from bench.flows import Input, chain
from halfway import Halfway


def report(name: str, fresh: Callable[[], str], runs: int = 200) -> None:
    for asynchronous in (True, False):
        times = sorted(measure(fresh(), runs, asynchronous=asynchronous))
        p50, p95 = statistics.median(times) * 1e3, times[int(len(times) * 0.95)] * 1e3
        kind = "async" if asynchronous else "def"
        print(f"{name:<11} {kind:<6} one idle run of 5 steps  p50 {p50:.1f} ms  p95 {p95:.1f} ms")


def measure(url: str, runs: int, *, asynchronous: bool) -> list[float]:
    flow = chain(asynchronous=asynchronous)
    app = Halfway(url, workflows=[flow])
    ended = threading.Event()
    app._ended = lambda run_id: ended.set()  # type: ignore[method-assign]
    times: list[float] = []
    with app.worker(slots=4):
        for n in range(runs + 10):
            ended.clear()
            began = time.perf_counter()
            app.start(flow, Input(n=n))
            ended.wait()
            if n >= 10:
                times.append(time.perf_counter() - began)
    app.close()
    return times
