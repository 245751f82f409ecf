"""A worker process of the tests: `python -m tests.crash.worker MODULE:FUNCTION URL LEDGER …`. It prints its epoch and works until SIGTERM.

The function gets the URL and the ledger of the world, and answers the workflows. HALFWAY_KILL_AT names the point where it is killed.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from importlib import import_module
from typing import Any

from halfway import Halfway, Settings
from halfway.engine.parent import Parent, die_with, serve
from halfway.engine.worker import Worker
from halfway.ports import Lives
from halfway.store import open_store
from halfway.testing import KillAt, Ledger
from tests.engine.harness import FAST

FOREVER = 3600.0


def main(arguments: list[str]) -> None:
    given = options().parse_args(arguments)
    if given.watched:
        watch([argument for argument in arguments if argument != "--watched"])
    skew(given.skew)
    settings = Settings(**(vars(FAST) | {name: value for name in vars(FAST) if (value := getattr(given, name)) is not None}))
    app = Halfway(given.url, workflows=workflows(given.flows, given.url, given.ledger), settings=settings, points=KillAt.from_env())
    made = app._worker([], given.slots, given.threads, kill_after=None if given.report is None else int(FOREVER * 1e6))
    threading.Thread(target=tell, args=(made,), daemon=True).start()
    if given.report is None:
        made.run_forever()
    else:
        die_with(given.parent, given.lifeline)
        serve(made, settings, url=given.url, beats=app.store.lives.beats, kill_after=FOREVER, report=given.report)
    app.close()


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    for name in ("flows", "url", "ledger"):
        parser.add_argument(name)
    for name in vars(FAST):
        parser.add_argument(f"--{name}", type=float)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--skew", type=float, default=0.0, help="seconds by which the wall clock of this process is wrong")
    parser.add_argument("--watched", action="store_true", help="a parent process beats for it and restarts it")
    for name in ("report", "lifeline", "parent"):  # what a parent tells its child
        parser.add_argument(f"--{name}", type=int)
    return parser


def workflows(flows: str, url: str, ledger: str) -> list[Any]:
    module, _, function = flows.partition(":")
    answered: list[Any] = getattr(import_module(module), function)(url, Ledger(ledger))
    return answered


def watch(arguments: list[str]) -> None:
    def lives(url: str) -> Lives:
        return open_store(url, create=False).lives

    sys.exit(Parent([sys.executable, "-m", "tests.crash.worker", *arguments], lives).run())


def skew(seconds: float) -> None:
    true = time.time_ns
    time.time_ns = lambda: true() + int(seconds * 1e9)
    time.time = lambda: time.time_ns() / 1e9


def tell(worker: Worker) -> None:
    while worker.pump is None:
        time.sleep(0.001)
    print(worker.epoch, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # a body that ignores its end must not keep the process
