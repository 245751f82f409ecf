"""The engine as a test drives it: real stores, real workers, a clock that can be moved, and waiting for conditions only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from pydantic import BaseModel

from halfway import Halfway, Run, RunStatus, Settings, Workflow
from halfway.domain.run import Key, Kind
from halfway.engine.worker import Worker
from halfway.ports import Points

I = TypeVar("I", bound=BaseModel)

FAST = Settings(beat=0.2, lease=1.5, sweep=0.1, stall=10.0, poll=0.05, grace=5.0, settle=0.2, hung=30.0)
PATIENCE = 60.0


class Order(BaseModel):
    """The input of most test workflows."""

    id: str = "o1"


def flow(name: str = "FLOW", *, key: bool = True, **options: Any) -> Workflow[Order]:
    """An empty workflow over `Order`."""
    return Workflow(name, Order, version=options.pop("version", 1), owner="owner", key=(lambda order: order.id) if key else None, **options)


def until(condition: Callable[[], object], what: str = "", patience: float = PATIENCE) -> None:
    """Waits for a condition; the only way in which tests wait."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"never happened: {what or condition}")
        time.sleep(0.005)


class Harness:
    """One application on one database."""

    def __init__(
        self, url: str, *workflows: Workflow[Any], settings: Settings = FAST, points: Points | None = None, artifacts: str | None = None
    ) -> None:
        self.url = url
        self.app = Halfway(url, workflows=workflows, settings=settings, points=points, artifacts=artifacts)
        self.workers: list[Worker] = []

    def close(self) -> None:
        self.app.close()

    # ── doing ──

    def start(self, workflow: Workflow[I], input: I, **options: Any) -> Run[I]:
        return self.app.start(workflow, input, **options)

    @contextmanager
    def worker(self, slots: int = 8, threads: int | None = None) -> Iterator[Worker]:
        worker = self.app.worker(slots=slots, threads=threads)
        with worker:
            yield worker

    def drain(self, run: Run[I], *, slots: int = 8) -> Run[I]:
        """Works until the run has ended or needs something from outside."""
        with self.worker(slots):
            return self.app.result(run, timeout=timedelta(seconds=PATIENCE))

    def run(self, workflow: Workflow[I], input: I, **options: Any) -> Run[I]:
        """Starts a run and drains it."""
        return self.drain(self.start(workflow, input, **options))

    def advance(self, seconds: float) -> None:
        """Moves the database's clock forward and wakes the workers."""
        self.app.store.advance_clock(int(seconds * 1_000_000))
        for worker in self.app._workers:
            if worker.alive:
                worker.wake()

    # ── looking ──

    def get(self, run: Run[I]) -> Run[I]:
        return self.app.get(self.app._workflow_of(run), run.id)

    def status(self, run: Run[Any]) -> RunStatus:
        return self.app.store.reading.detail(run.id).run.status

    def record(self, run: Run[Any], step: str, kind: Kind = Kind.STEP) -> Any:
        """A record of the run, or None if the step has none yet."""
        found = [one.record for one in self.app.store.reading.detail(run.id).records if one.record.key == Key(step, kind=kind)]
        return found[0] if found else None

    def wait_for(self, run: Run[Any], step: str, status: str, kind: Kind = Kind.STEP) -> None:
        until(lambda: (record := self.record(run, step, kind)) is not None and record.status == status, f"{step} {status}")

    def journal(self, run: Run[Any]) -> list[str]:
        return [entry.name for entry in self.app.store.reading.journal(run.id, limit=10_000)]

    def attempts(self, run: Run[Any], step: str) -> Sequence[Any]:
        found = [one.attempts for one in self.app.store.reading.detail(run.id).records if one.record.key == Key(step)]
        return found[0] if found else ()


class Calls:
    """How often each body really ran; the smallest ledger of the world, inside one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.made: list[tuple[str, object]] = []

    def add(self, what: str, detail: object = None) -> int:
        with self._lock:
            self.made.append((what, detail))
            return sum(1 for name, _ in self.made if name == what)

    def count(self, what: str) -> int:
        return sum(1 for name, _ in self.made if name == what)
