"""B37: a parent hears of the end of every child, once and with what it really came to, whatever breaks at that moment."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Retry, RunStatus, Step, StepFailed, Workflow
from halfway.domain.lifecycle import FINAL
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.engine.test_races import lost_connection
from tests.faults.checks import all_is_well

FLOWS = "tests.faults.test_b37_children_heard:flows"
SOON = Retry(3, wait=timedelta(milliseconds=10))


def family(work: Callable[[Step[Order]], str], *, n: int = 2, **options: Any) -> tuple[Workflow[Order], Workflow[Order], Any]:
    """A parent with so many children, each of which does one thing, and what the parent makes of them."""
    child = flow("CHILD", retry=SOON, **options)

    @child.step(Effect.CREATE, idempotent=True, name="WORK")
    def work_(step: Step[Order]) -> str:
        return work(step)

    parent = flow("PARENT", key=False, retry=SOON)

    @parent.children(child)
    def children(step: Step[Order]) -> list[Order]:
        return [Order(id=f"{step.input.id}{number}") for number in range(n)]

    @parent.step(Effect.READ)
    def total(step: Step[Order]) -> list[str]:
        return list(step.output(children).outputs(work_))

    return parent, child, total


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    def work(step: Step[Order]) -> str:
        ledger.write("WORK", id=step.input.id, key=step.key)
        return step.input.id

    return [*family(work)[:2]]


def children_of(h: Harness, run: Any) -> list[Any]:
    rows = h.app.store.reading.children(run.id, "CHILDREN", 1, after=0, limit=1000)
    return [h.app.store.reading.detail(child).run for _, child in rows]


def heard_once(h: Harness, run: Any) -> None:
    """The parent went on once, after all of them."""
    assert Counter(h.journal(run))["workflow.completed"] == 1
    assert h.record(run, "TOTAL").attempts == 1
    all_is_well(h, run, *children_of(h, run))


class CutAt:
    """Breaks the connection at a point when it is reached for the n-th time from now on."""

    def __init__(self, point: str) -> None:
        self._point, self.left = point, 0

    def reached(self, name: str) -> None:
        if name != self._point or self.left <= 0:
            return
        self.left -= 1
        if not self.left:
            raise lost_connection()


@pytest.mark.parametrize("point", ["pump.before_commit", "pump.after_commit"])
def test_a_connection_that_breaks_at_any_commit_hides_no_child(harness: type[Harness], point: str) -> None:
    """B37 a."""
    cut = CutAt(point)
    parent, child, total = family(lambda step: step.input.id)
    h = harness(parent, child, points=cut)
    with h.worker():
        for n in range(1, 9):
            cut.left = n
            run = h.start(parent, Order(id=f"{n}:"))
            until(lambda run=run: h.status(run) is RunStatus.SUCCESS, f"cut {n} does no harm")  # type: ignore[misc]
            cut.left = 0
            assert h.get(run).output(total) == [f"{n}:0", f"{n}:1"]
            heard_once(h, run)


@pytest.mark.parametrize("n", [3, 5, 6, 7])
@pytest.mark.parametrize("point", ["pump.before_commit", "pump.after_commit"])
def test_a_worker_that_is_killed_at_a_commit_takes_no_child_with_it(
    harness: type[Harness], url: str, ledger: Ledger, point: str, n: int
) -> None:
    """B37 b."""
    parent, child = flows(url, ledger)
    h = harness(parent, child)
    run = h.start(parent, Order(id="k"))
    with Worker(FLOWS, url, ledger.path, ready=False, kill_at=f"{point}:{n}") as worker:
        until(lambda: not worker.running or h.status(run) is RunStatus.SUCCESS, "it dies, or has nothing left to do")
    with Worker(FLOWS, url, ledger.path):
        until(lambda: h.status(run) is RunStatus.SUCCESS, "another worker goes on")
    times = Counter(line["key"] for line in ledger.lines())
    assert len(times) == 2
    assert max(times.values()) <= 2  # it is idempotent, so a death may repeat it under the same key
    heard_once(h, run)


def test_children_that_end_while_nobody_works_for_their_parent(harness: type[Harness]) -> None:
    """B37 c."""
    parent, child, total = family(lambda step: step.input.id)
    h, others = harness(parent), harness(child)
    run = h.start(parent, Order(id="c"))
    with h.worker():
        until(lambda: len(children_of(h, run)) == 2)
    with others.worker():
        until(lambda: all(one.status is RunStatus.SUCCESS for one in children_of(h, run)))
    assert h.status(run) not in FINAL
    run = h.drain(run)
    assert run.output(total) == ["c0", "c1"]
    heard_once(h, run)


def test_a_retry_of_a_parent_that_failed_takes_the_child_that_has_succeeded_since(harness: type[Harness], ledger: Ledger) -> None:
    """B37 d: nothing is done again."""
    away = [True]

    def work(step: Step[Order]) -> str:
        if away[0]:
            raise StepFailed("away")
        ledger.write("WORK")
        return step.input.id

    parent, child, total = family(work, n=1)
    h = harness(parent, child)
    run = h.run(parent, Order(id="d"))
    assert run.status is RunStatus.FAILED
    away[0] = False
    [one] = children_of(h, run)
    with h.worker():
        h.app.control.resume(one.id, actor="kim", reason="it is back")
        until(lambda: children_of(h, run)[0].status is RunStatus.SUCCESS)
        h.app.control.retry(run.id, "CHILDREN", actor="kim", reason="it is done")
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    assert h.get(run).output(total) == ["d0"]
    assert ledger.count(event="WORK") == 1


@pytest.mark.parametrize("how", ["fails", "is cancelled", "times out"])
def test_a_parent_hears_what_its_child_really_came_to(harness: type[Harness], how: str) -> None:
    """B37 e."""
    here = threading.Event()

    def work(step: Step[Order]) -> str:
        here.set()
        if how == "fails":
            raise StepFailed("no")
        until(lambda: step.cancel_requested)
        raise StepFailed("stopped")

    parent, child, _ = family(work, n=1, timeout=timedelta(hours=1))
    h = harness(parent, child)
    run = h.start(parent, Order(id="e"))
    with h.worker():
        until(here.is_set)
        if how == "is cancelled":
            h.app.control.cancel(children_of(h, run)[0].id, actor="kim", reason="stop")
        elif how == "times out":
            h.advance(3700)
        until(lambda: h.status(run) is RunStatus.FAILED, "the parent is told")
    [item] = h.app.store.reading.items(run.id, "CHILDREN", 1, after=-1, limit=9)
    assert (item.status, item.code) == ("FAILED", "CHILD_CANCELLED" if how == "is cancelled" else "CHILD_FAILED")
    assert h.record(run, "CHILDREN").code == "ITEMS_FAILED"
    assert h.record(run, "TOTAL") is None


def test_children_that_all_end_at_the_same_moment_are_all_heard_of(harness: type[Harness]) -> None:
    """B37 f."""
    n, go_on = 200, threading.Event()
    child, parent = flow("CHILD"), flow("PARENT", key=False)

    @child.step(Effect.READ)
    async def work(step: Step[Order]) -> str:
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        return step.input.id

    @parent.children(child)
    def children(step: Step[Order]) -> list[Order]:
        return [Order(id=f"{number:03d}") for number in range(n)]

    @parent.step(Effect.READ)
    def total(step: Step[Order]) -> list[str]:
        return list(step.output(children).outputs(work))

    h = harness(parent, child)
    run = h.start(parent, Order())
    with h.worker(slots=n), h.worker(slots=n):
        running = [RunStatus.RUNNING] * n
        until(lambda: [one.status for one in children_of(h, run)] == running, "all of them run", patience=60)
        go_on.set()
        until(lambda: h.status(run) is RunStatus.SUCCESS, "all of them are heard of", patience=60)
    assert h.get(run).output(total) == [f"{number:03d}" for number in range(n)]
    assert h.record(run, "TOTAL").attempts == 1
