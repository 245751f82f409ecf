"""Schedules at work, on both databases: what starts, what waits, what is left out, and what is done when the author's code fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from halfway import Effect, Retention, Step, StepFailed, Workflow
from halfway.domain.spec import Overlap
from halfway.engine.scheduler import UPKEEP, Job, Scheduler
from halfway.errors import DatabaseError
from halfway.ports import TickRow
from halfway.testing import FailAt
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.test_races import lost_connection

DAY = timedelta(days=1)
A_DAY = 24 * 3600.0  # moving the clock by it makes exactly one tick due

pytestmark = pytest.mark.usefixtures("begun_day")


def of_the_day(due: datetime) -> Order:
    return Order(id=due.date().isoformat())


def daily(
    make: Callable[[datetime], Order | None] = of_the_day, *, type: str = "DAILY", version: int = 1, **options: Any
) -> Workflow[Order]:
    """Each day a run, at midnight."""
    wf = flow(type, version=version)
    wf.schedule(every=DAY, name="TICK", **options)(make)

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> None:
        if step.input.id == "bad":
            raise StepFailed("no", code="NO")

    return wf


def scheduler(h: Harness) -> Scheduler:
    return h.app._scheduler(h.app.store)


def settle(h: Harness) -> None:
    """Passes until nothing is left to be done."""
    one = scheduler(h)
    while one.pass_once():
        pass


def tick(h: Harness, days: int = 1) -> None:
    """So many days pass, and somebody looks."""
    h.advance(days * A_DAY)
    settle(h)


def ticks(h: Harness, type: str = "DAILY", name: str = "TICK") -> list[TickRow]:
    """The oldest first."""
    return list(h.app.store.schedules.ticks(type, name, limit=1000))[::-1]


def told(h: Harness) -> list[tuple[str, str]]:
    return [(one.outcome, one.reason) for one in ticks(h)]


def test_a_worker_starts_a_run_for_each_tick(harness: type[Harness]) -> None:
    wf = daily()
    h = harness(wf)
    with h.worker(), h.worker():
        for count in range(1, 4):
            h.advance(A_DAY)
            until(lambda count=count: len([one for one in ticks(h) if one.status == "SUCCESS"]) == count)  # type: ignore[misc]
    days = [datetime.fromtimestamp(one.due / 1e6, UTC) for one in ticks(h)]
    assert [b - a for a, b in pairwise(days)] == [DAY, DAY]
    runs = [h.app.control.show(one.run_id or "") for one in ticks(h)]
    assert [run.input["id"] for run in runs] == [day.date().isoformat() for day in days]
    assert {run.started_by for run in runs} == {"schedule:TICK"}


def test_a_new_schedule_starts_nothing_for_the_past(harness: type[Harness]) -> None:
    h = harness(daily(catch_up="ALL"))
    settle(h)
    assert ticks(h) == []
    assert h.app.store.schedules.missed("DAILY", "TICK") == []


def test_an_outage_is_caught_up_as_was_declared(harness: type[Harness]) -> None:
    h = harness(daily(catch_up="ALL", limit=3))
    settle(h)
    tick(h, days=5)
    assert told(h) == [("SKIPPED", "MISSED")] * 2 + [("STARTED", "")] * 3
    tick(h, days=1)
    assert told(h)[5:] == [("STARTED", "")]


def test_a_tick_that_its_function_declines_starts_nothing(harness: type[Harness]) -> None:
    h = harness(daily(lambda due: None))
    settle(h)
    tick(h)
    assert told(h) == [("SKIPPED", "DECLINED")]


def test_while_an_earlier_run_goes_on_a_tick_is_started_left_out_or_waits(harness: type[Harness]) -> None:
    found: dict[Overlap, list[tuple[str, str]]] = {}
    for overlap in Overlap:
        h = harness(daily(type=f"DAILY_{overlap}", overlap=overlap.value))
        settle(h)
        for _ in range(3):
            tick(h)
        found[overlap] = [(one.outcome, one.reason) for one in ticks(h, f"DAILY_{overlap}")]
    assert found == {
        Overlap.START: [("STARTED", "")] * 3,
        Overlap.SKIP: [("STARTED", ""), ("SKIPPED", "OVERLAP"), ("SKIPPED", "OVERLAP")],
        Overlap.WAIT: [("STARTED", ""), ("SKIPPED", "SUPERSEDED"), ("WAITING", "")],
    }


def test_what_has_waited_starts_when_the_earlier_run_has_ended(harness: type[Harness]) -> None:
    wf = daily(overlap="WAIT")
    h = harness(wf)
    settle(h)
    tick(h)
    tick(h)
    [first, second] = ticks(h)
    assert (first.outcome, second.outcome) == ("STARTED", "WAITING")
    with h.worker():
        until(lambda: [one.status for one in ticks(h)] == ["SUCCESS", "SUCCESS"])


def test_a_function_that_fails_is_asked_again_at_a_pace_and_everybody_can_see_it(harness: type[Harness]) -> None:
    calls = Calls()

    def make(due: datetime) -> Order:
        if calls.add("MAKE") < 3:
            raise OSError("the calendar is away")
        return Order(id=due.isoformat())

    h = harness(daily(make))
    settle(h)
    tick(h)
    for _ in range(5):
        settle(h)
    assert (told(h), calls.count("MAKE")) == ([("WAITING", "")], 1)
    [shown] = h.app.control.schedules.list()
    assert (shown.waiting, shown.error) == (1, "OSError: the calendar is away")
    for _ in range(2):
        h.advance(60)
        settle(h)
    assert (told(h), calls.count("MAKE")) == ([("STARTED", "")], 3)
    assert h.app.control.schedules.list()[0].error is None


def test_a_function_that_keeps_failing_holds_up_no_later_tick_and_leaves_no_storm(harness: type[Harness]) -> None:
    broken = threading.Event()
    broken.set()

    def make(due: datetime) -> Order:
        if broken.is_set():
            raise OSError("away")
        return Order(id=due.isoformat())

    h = harness(daily(make), daily(type="WELL"))
    settle(h)
    for _ in range(4):
        tick(h)
    assert told(h) == [("SKIPPED", "SUPERSEDED")] * 3 + [("WAITING", "")]
    assert [one.outcome for one in ticks(h, "WELL")] == ["STARTED"] * 4
    broken.clear()
    tick(h)
    assert told(h)[3:] == [("STARTED", "")] * 2


def test_an_error_of_the_database_is_not_the_functions(harness: type[Harness]) -> None:
    h = harness(daily())
    settle(h)
    h.advance(A_DAY)
    broken = harness(daily(), points=FailAt("start_tick.before_commit", lost_connection()))
    with pytest.raises(DatabaseError):
        settle(broken)
    assert [(row.outcome, row.tries) for row in ticks(h)] == [("WAITING", 0)]


# ── versions ──


def test_two_versions_of_the_code_do_not_fight_the_newest_one_starts_the_runs(harness: type[Harness]) -> None:
    older = harness(daily())
    settle(older)
    newer = harness(daily(lambda due: Order(id=f"new-{due.date()}"), version=2))
    settle(newer)
    for h in (older, newer) * 2:
        settle(h)
    older.advance(A_DAY)
    settle(older)
    assert ticks(older) == []
    settle(newer)
    [only] = ticks(newer)
    assert newer.app.control.show(only.run_id or "").input["id"].startswith("new-")
    restarted = harness(daily())  # an older worker comes back
    restarted.advance(A_DAY)
    settle(restarted)
    settle(newer)
    assert [one.outcome for one in ticks(newer)] == ["STARTED", "STARTED"]


def test_a_worker_without_the_code_leaves_a_schedule_alone(harness: type[Harness]) -> None:
    h = harness(daily())
    settle(h)
    other = harness(daily(type="OTHER"))
    h.advance(A_DAY)
    settle(other)
    assert ticks(h) == []
    settle(h)
    assert told(h) == [("STARTED", "")]


def test_a_changed_time_goes_on_from_the_last_tick(harness: type[Harness]) -> None:
    h = harness(daily())
    settle(h)
    tick(h)
    changed = harness(daily(version=2, catch_up="ALL"))
    tick(changed, days=2)
    assert told(changed) == [("STARTED", "")] * 3


def test_a_worker_without_schedules_looks_at_no_clock(harness: type[Harness]) -> None:
    wf = flow("PLAIN")

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> None: ...

    assert scheduler(harness(wf)).idle
    assert not scheduler(harness(daily())).idle


# ── upkeep ──


def test_upkeep_is_done_by_one_worker_when_it_is_due(harness: type[Harness]) -> None:
    done: list[str] = []
    made = [harness(daily()), harness(daily())]
    for name, h in zip("ab", made, strict=True):
        h.app._upkeep.append(Job("cleanup", int(A_DAY) * 1_000_000, lambda name=name: done.append(name)))  # type: ignore[misc]
    schedulers = [scheduler(h) for h in made]
    for _ in range(5):
        for one in schedulers * 2:
            one.pass_once()
        made[0].advance(A_DAY)
    for one in schedulers * 2:
        one.pass_once()
    assert len(done) == 5
    assert made[0].app.control.schedules.list() == made[1].app.control.schedules.list()
    assert "cleanup" not in [one.row.name for one in made[0].app.control.schedules.list()]


def test_upkeep_that_fails_is_done_again_when_it_is_due(harness: type[Harness]) -> None:
    calls = Calls()

    def clean() -> None:
        if calls.add("CLEAN") == 1:
            raise OSError("no")

    h = harness(daily())
    h.app._upkeep.append(Job("cleanup", int(A_DAY) * 1_000_000, clean))
    settle(h)
    tick(h)
    tick(h)
    assert calls.count("CLEAN") == 2
    assert [one.error for one in ticks(h, UPKEEP, "cleanup")] == ["OSError: no", None]


def test_a_schedule_does_not_care_how_its_run_ends(harness: type[Harness]) -> None:
    h = harness(daily(lambda due: Order(id="bad"), overlap="SKIP"))
    with h.worker():
        h.advance(A_DAY)
        until(lambda: [one.status for one in ticks(h)] == ["FAILED"])
        h.advance(A_DAY)
        until(lambda: told(h) == [("STARTED", "")] * 2)


def test_what_is_old_is_deleted_by_a_worker_without_being_asked(harness: type[Harness]) -> None:
    """R-F6, R-E7: cleanup is a schedule of the engine's own."""
    wf = flow(key=False, retention=Retention(history=timedelta(days=1)))

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        return 1

    h = harness(wf)
    run = h.run(wf, Order())
    h.advance(2 * 24 * 3600)
    with h.worker():
        until(lambda: (h.advance(3600), h.app.control.gone(run.id) is not None)[1], "the history of the run is deleted")
