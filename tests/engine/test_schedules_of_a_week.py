"""A week of several schedules, with crashes at random commits and an outage of three days, accounted for tick by tick."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from halfway import Effect, Step, Workflow
from halfway.domain.spec import Overlap
from halfway.domain.ticks import ticks as due_between
from halfway.domain.ticks import told_in
from halfway.errors import DatabaseError
from tests.engine.harness import Harness, Order, flow
from tests.engine.test_races import lost_connection
from tests.engine.test_scheduler import settle, ticks

HOUR = 3600.0
WEEK = 7 * 24 * HOUR
OUTAGE = (2 * 24 * HOUR, 5 * 24 * HOUR)  # from the third day to the sixth


class Crashes:
    """Now and then a connection breaks before or after a commit of the scheduler; whoever looked is gone, another one comes."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.count = 0
        self.on = False

    def reached(self, name: str) -> None:
        if self.on and name.startswith(("account_ticks", "start_tick", "skip_tick", "tick_failed")) and self._dice.random() < 0.04:
            self.count += 1
            raise lost_connection()


def timed(name: str, *cron: Any, fails: Sequence[int] = (), **options: Any) -> Workflow[Order]:
    """A schedule; its function fails for hours of these numbers when it is asked first, and declines at 13 o'clock."""
    wf = flow(name)
    asked: Counter[str] = Counter()

    @wf.schedule(*cron, name="TICK", **options)
    def tick(due: datetime) -> Order | None:
        asked[due.isoformat()] += 1
        if due.hour in fails and asked[due.isoformat()] == 1:
            raise OSError("away")
        return None if due.hour == 13 else Order(id=f"{due.isoformat()} {due.fold}")

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> None: ...

    return wf


def all_of_them() -> list[Workflow[Order]]:
    return [
        timed("DAILY", "30 2 * * *", tz="Europe/Berlin", catch_up="ALL"),
        timed("HOURLY", "0 * * * *", tz="America/New_York", catch_up="ALL", limit=10, fails=(3, 4)),
        timed("OFFICE", "*/20 6-20 * * *", tz="Asia/Seoul", catch_up="SKIP"),
        timed("ROUND", every=timedelta(minutes=30), overlap="SKIP", fails=(7,)),
        timed("QUEUE", "15 */3 * * *", tz="Australia/Lord_Howe", overlap="WAIT", catch_up="ALL", limit=5),
    ]


def look(h: Harness) -> None:
    with suppress(DatabaseError):  # whoever looked is gone
        settle(h)


def end(h: Harness, *types: str) -> None:
    """The runs of these schedules go on no longer."""
    for type in types:
        for one in ticks(h, type):
            if one.status == "PENDING":
                h.app.control.cancel(one.run_id or "", actor="kim", reason="a test")


@pytest.mark.parametrize("seed", [1, 2])
def test_each_tick_of_a_week_has_one_run_or_is_recorded_as_left_out(harness: type[Harness], seed: int) -> None:
    """R-E7, B17, B19."""
    dice = random.Random(seed)
    crashes = Crashes(dice)
    h = harness(*all_of_them(), points=crashes)
    settle(h)
    begun = {one.row.type: one.row.accounted_at for one in h.app.store.schedules.schedules()}
    crashes.on = True
    passed = 0.0
    while passed < WEEK:
        step = dice.choice((300.0, 600.0, 900.0, 1800.0, 5400.0))
        if passed < OUTAGE[0] <= passed + step:
            step += OUTAGE[1] - OUTAGE[0]
        step += 5 - (h.app.store.now() / 1e6 + step) % 300  # five seconds after a time at which something may be due
        h.advance(step)
        passed += step
        look(h)
        if dice.random() < 0.3:
            end(h, "ROUND", "QUEUE")
            look(h)
    crashes.on = False
    settle(h)
    h.advance(120)
    settle(h)
    assert crashes.count >= 3
    assert h.app.store.schedules.missed("ROUND", "TICK")
    for one in h.app.store.schedules.schedules():
        account_for(h, one.row.type, begun[one.row.type])


def account_for(h: Harness, type: str, begun: int) -> None:
    """Every tick has one row, or is inside one row of many; each run was started by one tick, for its time."""
    [detail] = h.app.store.schedules.schedules(type=type)
    spec, rows = detail.row.spec, ticks(h, type)
    inside = [tick for row in h.app.store.schedules.missed(type, "TICK") for tick in due_between(spec, row.first - 1, row.last)]
    assert sum(row.total for row in h.app.store.schedules.missed(type, "TICK")) == len(inside)
    assert sorted([one.due for one in rows] + inside) == list(due_between(spec, begun, detail.row.accounted_at))
    started = [one for one in rows if one.outcome == "STARTED"]
    assert len(started) > 3
    for one in started:
        due = told_in(spec.zone, one.due)
        assert h.app.store.reading.detail(one.run_id or "").input == Order(id=f"{due.isoformat()} {due.fold}").model_dump_json()
    assert len({one.run_id for one in started}) == len(started) == len(h.app.control.runs(type=type, limit=10_000))
    reasons = Counter(one.reason for one in rows if one.outcome == "SKIPPED")
    assert set(reasons) <= {"MISSED", "OVERLAP", "SUPERSEDED", "DECLINED"}
    assert all(told_in(spec.zone, one.due).hour == 13 for one in rows if one.reason == "DECLINED")
    waiting = [one for one in rows if one.outcome == "WAITING"]
    assert len(waiting) <= (spec.limit if spec.overlap is Overlap.WAIT else 0)
