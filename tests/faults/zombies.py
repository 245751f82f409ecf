"""Workers that look dead to all others although they go on: without beats, or without the lock that proves their life."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from halfway.engine.catalog import Catalog
from halfway.engine.settings import Settings
from halfway.engine.sweep import Sweep
from halfway.engine.worker import Worker
from halfway.ports import Points
from halfway.testing import HoldAt
from tests.engine.harness import FAST, Harness

AT_ONCE = Settings(**(vars(FAST) | {"beat": 0.001, "lease": 0.002}))  # an observer without patience


@contextmanager
def zombie(h: Harness, slots: int = 4) -> Iterator[Worker]:
    """A worker that claims and works, and that whoever looks takes for dead."""
    worker = h.app.worker(slots=slots)
    worker.beats_itself = False
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


@contextmanager
def without_sweep(h: Harness, slots: int = 1) -> Iterator[Worker]:
    """A worker of which nothing but the pump takes the locks of runs, so that its first commit is about all that is due."""
    worker = h.app.worker(slots=slots)
    worker._sweep_loop = lambda: None  # type: ignore[method-assign]
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def look_dead(h: Harness, worker: Worker) -> None:
    """From now on nothing proves its life any more."""
    locks = h.app.store.lives._locks
    if locks is not None:
        locks._release(worker.epoch)


def sweeper(h: Harness, points: Points | None = None) -> Sweep:
    """A sweep that a test drives by itself."""
    store = h.app.store
    return Sweep(store.runs, store.lives, Catalog(store.runs, list(h.app.workflows.values())), AT_ONCE, points or h.app._points, own="none")


class HoldArmed(HoldAt):
    """Holds the first thread that reaches a point once the test has armed it, however often others have been there."""

    armed = False

    def reached(self, name: str) -> None:
        if self.armed:
            super().reached(name)


class HoldLater(HoldAt):
    """Holds the thread that reaches a point for the n-th time."""

    def __init__(self, point: str, n: int) -> None:
        super().__init__(point)
        self._passes, self._name = n - 1, point

    def reached(self, name: str) -> None:
        if name == self._name and self._passes > 0:
            self._passes -= 1
            return
        super().reached(name)
