"""What runs cost that wait: an idle worker beside very many of them, and how fast all are woken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from bench.flows import Input
from halfway import Effect, Event, Halfway, Step, Then, Workflow


class Paid(BaseModel):
    amount: int


PAID = Event("PAID", Paid)


def waiting() -> Workflow[Input]:
    """Waits for an event, then takes one more step."""
    flow = Workflow("WAITING", Input, version=1, owner="bench", key=lambda given: f"n:{given.n}")

    @flow.wait_for(PAID, timeout=timedelta(days=1), on_timeout=Then.FAIL)
    async def paid(step: Step[Input]) -> str:
        return f"n:{step.input.n}"

    @flow.step(Effect.READ)
    async def after(step: Step[Input]) -> int:
        return step.output(paid).amount

    return flow


def report(name: str, fresh: Callable[[], str], runs: int = 20_000) -> None:
    empty = idle_worker(fresh())
    url = fresh()
    parked = park(url, runs)
    full = idle_worker(url)
    print(f"{name:<11} {runs:,} runs parked at {parked:,.0f} runs/s")
    for what in ("megabytes", "threads", "connections", "cpu"):
        print(f"{name:<11} idle worker: {what:<12} {empty[what]:>8} beside none, {full[what]:>8} beside {runs:,} that wait")
    given, through = wake(url, runs)
    print(f"{name:<11} send_many: {given:,.0f} runs/s woken; {through:,.0f} runs/s until the last one has ended")


def park(url: str, runs: int) -> float:
    """Starts runs and lets them come to their wait; runs a second."""
    flow = waiting()
    app = Halfway(url, workflows=[flow])
    began = time.perf_counter()
    for first in range(0, runs, 500):
        app.start_many(flow, [Input(n=n) for n in range(first, min(first + 500, runs))])
    with app.worker(slots=200):
        _until(lambda: app.control.counts().get("WAITING", 0) == runs)
    took = time.perf_counter() - began
    app.close()
    return runs / took


def wake(url: str, runs: int) -> tuple[float, float]:
    flow = waiting()
    app = Halfway(url, workflows=[flow])
    with app.worker(slots=200):
        began = time.perf_counter()
        sent = app.send_many(PAID, [(f"n:{n}", f"e{n}", Paid(amount=n)) for n in range(runs)])
        given = time.perf_counter() - began
        assert all(one.state == "DELIVERED" for one in sent)
        _until(lambda: not any(app.control.counts().values()))
        through = time.perf_counter() - began
    app.close()
    return runs / given, runs / through


def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.05)


def idle_worker(url: str) -> dict[str, float]:
    """What a worker process takes that has nothing to do."""
    told = subprocess.run(
        [sys.executable, "-m", "bench.waiting"], env={**os.environ, "BENCH_URL": url}, check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(told.stdout.splitlines()[-1])
    return found


def sit(url: str, seconds: float = 8.0) -> dict[str, float]:
    app = Halfway(url, workflows=[waiting()])
    with app.worker(slots=8):
        time.sleep(2.0)
        before = time.process_time()
        time.sleep(seconds)
        cpu = (time.process_time() - before) / seconds
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
        sockets = [name for name in os.listdir("/proc/self/fd") if _names_database(name)]
    app.close()
    return {
        "megabytes": round(int(status["VmRSS"].split()[0]) / 1024, 1),
        "threads": int(status["Threads"]),
        "connections": len(sockets),
        "cpu": round(cpu, 4),
    }


def _names_database(fd: str) -> bool:
    try:
        target = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return False
    return target.startswith("socket:") or target.endswith(".db")


if __name__ == "__main__":
    print(json.dumps(sit(os.environ["BENCH_URL"])))
