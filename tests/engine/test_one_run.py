"""A worker of one run: it executes nothing of any other, whatever is ready or becomes due meanwhile, and starts nothing by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from halfway import Effect, Step
from tests.engine.harness import Calls, Harness, Order, flow


def test_a_worker_of_one_run_executes_no_other(harness: type[Harness]) -> None:
    wf, calls = flow(), Calls()
    at = datetime.now(UTC) + timedelta(hours=5)

    @wf.schedule("* * * * *", tz="UTC", name="MINUTELY")
    def due(when: datetime) -> Order:
        return Order(id=f"at {when:%H:%M}")

    @wf.step(Effect.READ)
    def first(step: Step[Order]) -> None:
        calls.add("FIRST", step.input.id)

    @wf.wait_until()
    def opening(step: Step[Order]) -> datetime:
        return at

    @wf.step(Effect.READ)
    def last(step: Step[Order]) -> None:
        calls.add("LAST", step.input.id)

    h = harness(wf)
    early, mine, other = (h.start(wf, Order(id=name)) for name in ("early", "mine", "other"))
    for run in (early, mine):
        with h.app.worker(run=run):
            h.wait_for(run, "OPENING", "WAITING")
    with h.app.worker(run=mine):
        h.advance(6 * 3600)  # both waits are over, and the schedule is due
        h.wait_for(mine, "LAST", "SUCCESS")
        h.wait_for(early, "LAST", "PENDING")
    assert calls.made == [("FIRST", "early"), ("FIRST", "mine"), ("LAST", "mine")]
    assert (h.status(other), len(h.app.control.runs())) == ("PENDING", 3)
    with h.app.worker(run=early):
        h.wait_for(early, "LAST", "SUCCESS")
    assert calls.count("FIRST") == 2
