"""B01: wherever a crash comes between two commits, what is stored is whole, and the run goes on without turning in circles.

The kills themselves are in tests/crash; here every commit of every operation is looked at as a crash behind it would leave it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from halfway import Absent, Effect, Found, Mark, Retry, RetryLater, Run, RunStatus, Step, Workflow
from halfway.domain.lifecycle import FINAL
from halfway.store import open_store
from halfway.testing import RecordPoints
from tests.engine.harness import Harness, Order, flow, until
from tests.faults.checks import all_is_well, attempts_are_recorded, has_a_reason_to_wake, history_agrees

SOON = Retry(2, wait=timedelta(milliseconds=5))
LATER = Retry(3, wait=timedelta(hours=1), max_wait=timedelta(hours=1))


class LookAtEveryCommit:
    """Reads the whole database behind every commit, on connections of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self.problems: list[str] = []
        self.seen: Counter[str] = Counter()

    def reached(self, name: str) -> None:
        if not name.endswith(".after_commit") or name.startswith("register"):
            return
        with self._lock:
            self.seen[name] += 1
            try:
                self._look()
            except AssertionError as problem:
                self.problems.append(f"behind {name}: {problem}")

    def _look(self) -> None:
        store = open_store(self._url, create=False)
        try:
            for row in store.reading.runs():
                detail = store.reading.detail(row.run.id)
                # Others commit meanwhile: the journal is at least as new.
                journal = [line for line in store.reading.journal(row.run.id) if line.seq <= detail.run.seq]
                history_agrees(detail, journal)
                attempts_are_recorded(detail, journal)
                has_a_reason_to_wake(detail)
        finally:
            store.close()


def every_turn() -> Workflow[Order]:
    """A retry, a doubt that a person must settle, and a failure."""
    wf = flow(retry=SOON)

    @wf.step(Effect.READ)
    def read(step: Step[Order]) -> int:
        if step.attempt == 1:
            raise RetryLater("not yet")
        return step.attempt

    @wf.step(Effect.NOTIFY, evidence="the provider's log")
    def tell(step: Step[Order], mark: Mark) -> str:
        with mark:
            raise TimeoutError("no answer")

    @wf.step(Effect.READ)
    def fail(step: Step[Order]) -> None:
        raise RuntimeError("never")

    return wf


def happened(h: Harness, run: Run[Order]) -> None:
    h.app.control.mark_success(run.id, "TELL", actor="kim", reason="seen", evidence="log", output='"m1"')


def did_not_happen(h: Harness, run: Run[Order]) -> None:
    h.app.control.retry(run.id, "TELL", actor="kim", reason="not seen", not_happened=True, evidence="log")


def cancel(h: Harness, run: Run[Order]) -> None:
    h.app.control.cancel(run.id, actor="kim", reason="no longer wanted")


@pytest.mark.parametrize(
    ("orders", "then"),
    [
        ([happened], RunStatus.FAILED),
        ([did_not_happen, happened], RunStatus.FAILED),
        ([cancel, happened], RunStatus.CANCELLED),
        ([cancel, did_not_happen], RunStatus.CANCELLED),
    ],
    ids=["happened", "did not, then happened", "cancel, happened", "cancel, did not"],
)
def test_behind_every_commit_state_and_history_agree_and_something_will_move_the_run(
    harness: type[Harness], url: str, orders: list[Callable[[Harness, Run[Order]], None]], then: RunStatus
) -> None:
    """B01."""
    looks = LookAtEveryCommit(url)
    wf = every_turn()
    h = harness(wf, points=looks)
    with h.worker(slots=2):
        run = h.start(wf, Order())
        for order in orders:
            until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED, "it asks")
            order(h, run)
        until(lambda: h.status(run) in FINAL, "it ends")
    assert not looks.problems, "\n".join(looks.problems[:5])
    assert {f"{name}.after_commit" for name in ("start", "begin", "pump", "order", "end")} <= set(looks.seen)
    assert h.status(run) is then
    all_is_well(h, run, orders=len(orders))


class Stuck:
    """Runs that have nothing to do for a long time, each for another reason."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.wf = flow(resource=lambda order: "the one" if order.id in ("holds", "blocked") else order.id)

        @self.wf.step(Effect.CREATE, retry=LATER, timeout=timedelta(milliseconds=200))
        def create(step: Step[Order], mark: Mark) -> str:
            if step.input.id == "retries":
                raise RetryLater("in an hour")
            with mark:
                if step.input.id == "hangs":
                    self.go_on.wait(60)
                raise TimeoutError("no answer")

        @create.probe(settle=timedelta(hours=1))
        def find(step: Step[Order]) -> Found[str] | Absent:
            if step.input.id == "cannot tell":
                return Found("done")
            return Absent()

    def started(self, h: Harness) -> list[Run[Order]]:
        ids = ["retries", "hangs", "settles", "holds", "blocked", "cannot tell"]
        return [h.start(self.wf, Order(id=id)) for id in ids]


def test_runs_that_wait_make_no_work(harness: type[Harness]) -> None:
    """B01: a retry in an hour, a thread that hangs, an Absent that does not count yet, a resource that is taken, a run that has ended."""
    stuck, points = Stuck(), RecordPoints()
    h = harness(stuck.wf, points=points)
    with h.worker(slots=4):
        runs = stuck.started(h)
        until(lambda: all(settled(h, run) for run in runs), "nothing is left to do")
        seqs = [h.app.store.reading.detail(run.id).run.seq for run in runs]
        before = points.seen.count("pump.after_commit")
        quiet = time.monotonic() + 1.0  # about twenty looks of the worker
        until(lambda: time.monotonic() > quiet)
        looks = points.seen.count("pump.after_commit") - before
        stuck.go_on.set()
    assert looks < 100, "the worker turns in circles"
    changed = [h.app.store.reading.detail(run.id).run.seq - seq for run, seq in zip(runs, seqs, strict=True)]
    assert max(changed) < 20
    all_is_well(h, *runs)


def settled(h: Harness, run: Run[Any]) -> bool:
    detail = h.app.store.reading.detail(run.id)
    if detail.run.status in FINAL or detail.run.blocked:
        return True
    records = [one.record for one in detail.records]
    return bool(records) and all(record.running is None for record in records) and detail.run.started_at is not None
