"""B19: after 78 minutes without a scheduler there is no storm: what is caught up is what was declared, and the rest is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from halfway import Effect, Step, Workflow
from halfway.domain.schedule import is_on_time
from halfway.domain.spec import SECOND, CatchUp
from halfway.domain.ticks import ticks
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.engine.test_scheduler import settle
from tests.engine.test_scheduler import ticks as kept

FLOWS = "tests.faults.test_b19_catch_up_storm:flows"
OUTAGE = 78 * 60.0
LIMIT = 20

pytestmark = pytest.mark.usefixtures("begun_day")


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """One workflow for each way to catch up."""
    return [every_ten_seconds(catch_up) for catch_up in CatchUp]


def every_ten_seconds(catch_up: CatchUp) -> Workflow[Order]:
    wf = flow(f"BY_{catch_up}", key=False)

    @wf.schedule(every=timedelta(seconds=10), name="TICK", catch_up=catch_up.value, limit=LIMIT)
    def tick(due: datetime) -> Order:
        return Order(id=due.isoformat())

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> None: ...

    return wf


@contextmanager
def in_this_process(h: Harness) -> Iterator[Callable[[], None]]:
    """Nobody looks for 78 minutes, then a new scheduler does: stopped and started, or a clock that jumps."""
    settle(h)
    yield lambda: h.advance(OUTAGE)
    settle(h)


@contextmanager
def frozen(h: Harness) -> Iterator[Callable[[], None]]:
    """A process stands still meanwhile, and goes on where it was."""
    with Worker(FLOWS, h.url, "-") as worker:
        until(lambda: all(one.row.next_at > one.row.accounted_at for one in h.app.store.schedules.schedules() if one.row.next_at))

        def outage() -> None:
            worker.freeze()
            h.advance(OUTAGE)
            worker.thaw()

        yield outage
        until(lambda: all(h.app.store.schedules.missed(f"BY_{one}", "TICK") for one in CatchUp))
        until(lambda: not any(one.waiting for one in h.app.store.schedules.schedules()))


@contextmanager
def paused(h: Harness) -> Iterator[Callable[[], None]]:
    """A person lets the schedules rest."""
    settle(h)

    def outage() -> None:
        for one in CatchUp:
            h.app.control.schedules.pause(f"BY_{one}", "TICK", actor="kim", reason="a test")
        h.advance(OUTAGE)
        settle(h)
        for one in CatchUp:
            h.app.control.schedules.resume(f"BY_{one}", "TICK", actor="kim", reason="a test")

    yield outage
    settle(h)


@pytest.mark.parametrize("way", [in_this_process, frozen, paused])
def test_after_an_outage_as_many_are_caught_up_as_was_declared_and_the_rest_is_counted(harness: type[Harness], way: Any) -> None:
    """B19: skip: no old tick; one: the newest; all: the newest twenty; then the rhythm goes on, and no tick comes twice."""
    h = harness(*(every_ten_seconds(catch_up) for catch_up in CatchUp))
    with way(h) as outage:
        outage()
    for catch_up in CatchUp:
        type = f"BY_{catch_up}"
        [missed] = h.app.store.schedules.missed(type, "TICK")
        [detail] = h.app.store.schedules.schedules(type=type)
        caught_up = [one for one in kept(h, type) if one.outcome == "STARTED" and missed.first < one.due <= missed.at]
        if catch_up is CatchUp.SKIP:
            assert all(is_on_time(detail.row.spec, one.due, missed.at) for one in caught_up)
            assert len(caught_up) <= 1
        else:
            one_more = missed.at - caught_up[-1].due < SECOND  # it became due while the others were accounted for
            assert len(caught_up) - {CatchUp.ONE: 1, CatchUp.ALL: LIMIT}[catch_up] in ((0, 1) if one_more else (0,))
            expected = list(ticks(detail.row.spec, missed.last, missed.at))
            assert [one.due for one in caught_up] == expected
        everything = list(ticks(detail.row.spec, missed.first - 1, missed.last))
        assert len(everything) == missed.total >= 440
        before = {one.due for one in kept(h, type)}
        assert before.isdisjoint(everything)
        h.advance(10)
        settle(h)
        [after] = h.app.store.schedules.missed(type, "TICK")
        assert after == missed
        assert {one.due for one in kept(h, type)} > before
