"""B20: whoever starts again inside the repeated hour adds no run. When a schedule is due is compared with zoneinfo in tests/domain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from halfway import Effect, Step, Workflow
from tests.engine.harness import Harness, Order, flow
from tests.engine.test_scheduler import settle, ticks

ZONE = ZoneInfo("America/New_York")
MINUTE = timedelta(minutes=1)


def timed(cron: str, name: str) -> Workflow[Order]:
    wf = flow(name, key=False)

    @wf.schedule(cron, tz="America/New_York", name="TICK", catch_up="ALL")
    def tick(due: datetime) -> Order:
        return Order(id=f"{due.isoformat()} fold {due.fold}")

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> None: ...

    return wf


def next_repeated_hour(now: datetime) -> datetime:
    """The first moment at which the clock of New York shows an hour for the second time."""
    moment = now.replace(minute=0, second=0, microsecond=0)
    while not moment.astimezone(ZONE).fold:
        moment += timedelta(hours=1)
    return moment


def test_a_scheduler_that_starts_again_inside_the_repeated_hour_adds_no_run(harness: type[Harness]) -> None:
    """B20: a new process looks every five minutes, from before the first pass until after the second."""
    flows = [timed("30 1 * * *", "DAILY"), timed("30 * * * *", "HOURLY")]
    h = harness(*flows)
    now = datetime.fromtimestamp(h.app.store.now() / 1e6, UTC)
    again = next_repeated_hour(now + timedelta(hours=3))
    h.advance((again - timedelta(hours=2) - now).total_seconds())
    settle(h)
    before = {name: len(ticks(h, name)) for name in ("DAILY", "HOURLY")}
    for _ in range(4 * 12):
        h.advance(300)
        settle(harness(timed("30 1 * * *", "DAILY"), timed("30 * * * *", "HOURLY")))
    start, end = again - timedelta(hours=2), again + timedelta(hours=2)
    found = {
        name: [datetime.fromtimestamp(one.due / 1e6, UTC) for one in ticks(h, name)[before[name] :]] for name in ("DAILY", "HOURLY")
    }  # fmt: skip
    assert found["DAILY"] == [again - 30 * MINUTE]
    hours = [start + n * timedelta(hours=1) + 30 * MINUTE for n in range(4)]
    assert [one for one in found["HOURLY"] if start <= one < end] == hours
    told = {h.app.control.show(one.run_id or "").input["id"][-6:] for one in ticks(h, "HOURLY")[before["HOURLY"] :]}
    assert told == {"fold 0", "fold 1"}
