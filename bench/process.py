"""Steps per second of `halfway worker`: a parent and a child of their own, by the times that the database has kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from bench.flows import Input, chain
from halfway import Halfway, RunStatus


def report(name: str, fresh: Callable[[], str], runs: int) -> None:
    for kind, slots in (("async", 200), ("def", 32)):
        rate = measure(fresh(), runs, kind, slots)
        print(f"{name:<11} {kind:<6} {slots:>4} slots  {runs} runs of 5 steps  {rate:>9,.0f} steps/s  in `halfway worker`")


def measure(url: str, runs: int, kind: str, slots: int) -> float:
    flow = chain(asynchronous=kind == "async")
    app = Halfway(url, workflows=[flow])
    app.start_many(flow, [Input(n=n) for n in range(runs)])
    command = [sys.executable, "-m", "halfway.cli", "worker", "--app", "bench.served:app", "--slots", str(slots), "--threads", str(slots)]
    worker = subprocess.Popen(command, env={**os.environ, "BENCH_URL": url, "BENCH_KIND": kind})
    try:
        while app.store.reading.runs(status=RunStatus.PENDING, limit=1) or app.store.reading.runs(status=RunStatus.RUNNING, limit=1):
            time.sleep(0.2)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
    done = [row.run for row in app.store.reading.runs(limit=runs)]
    app.close()
    began, ended = min(run.started_at or 0 for run in done), max(run.ended_at or 0 for run in done)
    return len(done) * 5 / ((ended - began) / 1e6)
