"""A campaign to ten thousand, in ten child runs, while its worker is killed five times: how long it takes, and how much memory."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from examples import campaign as example
from halfway import Halfway, Run, RunStatus

SLOTS = 32


def report(name: str, fresh: Callable[[], str], customers: int = 10_000, kills: int = 5) -> None:
    url = fresh()
    with tempfile.TemporaryDirectory() as folder:
        example.mailbox.open(Path(folder) / "mailbox.db")
        wrong = [f"a-{customer}" for customer in range(0, customers, customers // 20)]
        example.mailbox.forget(wrong)
        app = Halfway(url, workflows=example.flows())
        run = app.start(example.campaign, example.Campaign(id="bench", text="Hello", customers=customers))
        seconds, most = play(app, run, url, kills, customers)
        sent = Counter(example.mailbox.sent())
        print(f"{name:<11} {customers:,} recipients in {customers // example.BATCH} children, {kills} kills: {seconds:.1f} s, "
              f"{customers / seconds:,.0f} recipients/s, a worker takes at most {most:.0f} MB")  # fmt: skip
        print(f"{name:<11} {app.get(example.campaign, run.id).status}: {len(sent):,} sent, {sum(sent.values()) - len(sent)} twice")
        example.mailbox.learn(wrong)
        app.control.retry(run.id, "BATCHES", actor="bench", reason="the addresses are known now")
        seconds, _ = play(app, run, url, 0, customers)
        again = len(example.mailbox.sent()) - sum(sent.values())
        print(f"{name:<11} retry: {again} sent in {seconds:.1f} s, {app.get(example.campaign, run.id).status}")
        app.close()


def play(app: Halfway, run: Run[example.Campaign], url: str, kills: int, customers: int) -> tuple[float, float]:
    """Workers that are killed, and one that stays; seconds until the run has ended, and the most memory that one of them took."""
    began, most, chance = time.perf_counter(), 0.0, random.Random(7)
    for _ in range(kills):
        worker, aim = work(url), len(example.mailbox.sent()) + chance.randrange(customers // 20, customers // 8)
        while len(example.mailbox.sent()) < aim:
            time.sleep(0.02)
        most = max(most, memory(worker.pid))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    worker = work(url)
    while app.get(example.campaign, run.id).status not in (RunStatus.SUCCESS, RunStatus.PARTIAL_SUCCESS, RunStatus.MANUAL_REQUIRED):
        most = max(most, memory(worker.pid))
        time.sleep(0.1)
    seconds = time.perf_counter() - began
    worker.terminate()
    worker.wait()
    return seconds, most


def work(url: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"MAILBOX": str(example.mailbox.path)}
    return subprocess.Popen([sys.executable, "-m", "bench.campaign", url], env=environment, stderr=subprocess.DEVNULL)


def memory(pid: int) -> float:
    """The most that a process has taken so far, in megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    example.mailbox.open(Path(os.environ["MAILBOX"]))
    Halfway(sys.argv[1], workflows=example.flows()).worker(slots=SLOTS).run_forever()
