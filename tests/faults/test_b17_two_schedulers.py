"""B17: any number of schedulers, killed at any moment, start one run for each tick; nobody leads, and no tick is missing."""

from __future__ import annotations

import random
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from halfway import Effect, Step, Workflow
from halfway.domain.ticks import ticks as due_between
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.engine.test_scheduler import A_DAY, daily, ticks

FLOWS = "tests.faults.test_b17_two_schedulers:flows"
HOUR = timedelta(hours=1)
TICKS = 16

pytestmark = pytest.mark.usefixtures("begun_day")


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """Every hour a run, which writes down the time for which it was started."""
    wf = flow("HOURLY", key=False)

    @wf.schedule(every=HOUR, name="TICK", catch_up="ALL", limit=1000)
    def tick(due: datetime) -> Order:
        return Order(id=due.isoformat())

    @wf.step(Effect.CREATE, idempotent=True)
    def work(step: Step[Order]) -> None:
        ledger.write("WORK", id=step.input.id)

    return [wf]


def test_four_schedulers_that_are_killed_around_the_ticks_start_one_run_for_each(
    harness: type[Harness], url: str, tmp_path: Path, ledger: Ledger
) -> None:
    """B17: four processes on one host; while time passes, now and then one is killed and another is started in its place."""
    h = harness(*flows(url, ledger))
    dice = random.Random(17)
    begun = h.app.store.schedules.schedules()[0].row.accounted_at
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(FLOWS, url, ledger.path)) for _ in range(4)]
        for n in range(TICKS):
            h.advance(HOUR.total_seconds())
            if n % 4 == 3:
                place = dice.randrange(4)
                workers[place].kill()  # while the others, and perhaps itself, are about to start the run of this tick
                workers[place] = stack.enter_context(Worker(FLOWS, url, ledger.path))
            until(lambda n=n: len(ticks(h, "HOURLY")) > n)  # type: ignore[misc]
        until(lambda: all(one.status == "SUCCESS" for one in ticks(h, "HOURLY")), patience=90)
    found = ticks(h, "HOURLY")
    first, step = found[0].due, int(HOUR.total_seconds()) * 1_000_000
    assert begun < first <= begun + step
    assert [one.due for one in found] == [first + n * step for n in range(len(found))]
    assert len(found) in (TICKS, TICKS + 1)  # one more if the hour has really ended meanwhile
    assert len({one.run_id for one in found}) == len(found) == len(h.app.control.runs(type="HOURLY", limit=1000))
    told = {datetime.fromtimestamp(one.due / 1e6, UTC).isoformat() for one in found}
    assert {line["id"] for line in ledger.lines()} == told


@pytest.mark.parametrize("operation", ["account_ticks", "start_tick"])
@pytest.mark.parametrize("moment", ["before_commit", "after_commit"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_scheduler_that_dies_around_its_commit_leaves_no_tick_behind(
    harness: type[Harness], url: str, ledger: Ledger, operation: str, moment: str, nth: int
) -> None:
    """B17: killed before and after each commit; the next process, whatever its number and name, finds what is left to be done."""
    h = harness(*flows(url, ledger))
    begun = h.app.store.schedules.schedules()[0].row.accounted_at
    with Worker(FLOWS, url, ledger.path, kill_at=f"{operation}.{moment}:{nth}", ready=False) as worker:
        while worker.running:
            seen = len(ticks(h, "HOURLY"))
            h.advance(HOUR.total_seconds())
            until(lambda seen=seen: len(ticks(h, "HOURLY")) > seen or not worker.running)  # type: ignore[misc]
        assert worker.wait() == -9
    spec, now = h.app.store.schedules.schedules()[0].row.spec, h.app.store.now()
    expected = list(due_between(spec, begun, now))
    with Worker(FLOWS, url, ledger.path):
        until(lambda: [one.status for one in ticks(h, "HOURLY")][: len(expected)] == ["SUCCESS"] * len(expected))
    found = [one for one in ticks(h, "HOURLY") if one.due <= now]
    assert [one.due for one in found] == expected
    assert len({one.run_id for one in found}) == len(expected)


def test_a_scheduler_of_the_same_process_and_name_inherits_nothing(harness: type[Harness]) -> None:
    """B17: who looks is told nowhere, so a new process cannot take itself for a dead one."""
    made = [harness(daily()) for _ in range(4)]
    schedulers = [h.app._scheduler(h.app.store) for h in made]
    for _ in range(5):
        made[0].advance(A_DAY)
        for _ in range(6):
            for one in schedulers:
                one.pass_once()
    assert [one.outcome for one in ticks(made[0])] == ["STARTED"] * 5
    assert len(made[0].app.control.runs(type="DAILY")) == 5
