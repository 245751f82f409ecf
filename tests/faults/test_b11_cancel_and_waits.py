"""B11, for runs that wait: of a cancel and what a run waits for exactly one wins, and the other is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from halfway import Effect, RunStatus, Step, Then, Workflow
from halfway.errors import Conflict
from halfway.testing import HoldAt
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, pay, waits, work
from tests.faults.checks import all_is_well

REPEATS = 500


def waiting(calls: Calls, what: str) -> Workflow[Order]:
    """Waits for an event or for a person, and then goes on."""
    wf = flow()
    if what == "event":

        @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
        def paid(step: Step[Order]) -> str:
            return step.input.id
    else:

        @wf.approval("boss", expires=DAY, on_expiry=Then.FAIL)
        def agree(step: Step[Order]) -> str:
            return step.input.id

    @wf.step(Effect.CREATE, evidence="the ledger")
    def go(step: Step[Order]) -> None:
        calls.add("GO", step.input.id)

    return wf


def heard(act: Callable[[], Any]) -> str:
    try:
        return str(getattr(act(), "state", "taken"))
    except Conflict as refused:
        return f"refused: {refused}"


def cancel(h: Harness, run: Any) -> str:
    return heard(lambda: h.app.control.cancel(run.id, actor="kim", reason="no"))


def bring(h: Harness, run: Any, what: str) -> str:
    """What the run waits for."""
    if what == "event":
        return heard(lambda: pay(h, run.input.id))
    return heard(lambda: h.app.control.approve(run.id, "AGREE", actor="lee", reason="fine"))


@pytest.mark.parametrize("what", ["event", "approval"])
@pytest.mark.parametrize("first", ["cancel", "wait"])
def test_whoever_holds_the_run_wins(harness: type[Harness], what: str, first: str) -> None:
    """B11: forced in both orders. A cancel that comes second finds a run that goes on, and stops it before its next step."""
    calls = Calls()
    wf = waiting(calls, what)
    hold = HoldAt("order.before_commit" if first == "cancel" or what == "approval" else "event.before_commit")
    h, held = harness(wf), harness(wf, points=hold)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(cancel, held, run) if first == "cancel" else pool.submit(bring, held, run, what)
        hold.wait()
        late = pool.submit(bring, h, run, what) if first == "cancel" else pool.submit(cancel, h, run)
        with pytest.raises(TimeoutError):
            late.result(0.2)
        hold.release()
        told = (early.result(30), late.result(30))
    work(h, run, RunStatus.CANCELLED)
    assert told[0] == ("DELIVERED" if what == "event" and first == "wait" else "taken")
    if first == "cancel":
        assert told[1] == "NOT_DELIVERABLE" or told[1].startswith("refused")
    else:
        assert told[1] == "taken"
    assert [wait.how for wait in waits(h, run)] == ["CLOSED" if first == "cancel" else "ARRIVED" if what == "event" else "APPROVED"]
    assert calls.made == []
    all_is_well(h, run, orders=2 if (what, first) == ("approval", "wait") else 1, refused=int((what, first) == ("approval", "cancel")))


@pytest.mark.parametrize("what", ["event", "approval"])
def test_many_cancels_that_meet_what_their_runs_wait_for_all_end_one_way_or_the_other(harness: type[Harness], what: str) -> None:
    """B11: many pairs at the same moment."""
    calls = Calls()
    wf = waiting(calls, what)
    h = harness(wf)
    runs = list(h.app.start_many(wf, [Order(id=str(n)) for n in range(REPEATS)]))
    together = threading.Barrier(2)

    def all_of(act: Callable[[Any], str]) -> list[str]:
        together.wait(30)
        return [act(run) for run in runs]

    with h.worker(), ThreadPoolExecutor(2) as pool:
        until(lambda: h.app.control.counts().get("WAITING") == len(runs))
        cancels = pool.submit(all_of, lambda run: cancel(h, run))
        brought = pool.submit(all_of, lambda run: bring(h, run, what))
        ends = list(zip(runs, cancels.result(60), brought.result(60), strict=True))
        until(lambda: not h.app.control.counts())
    for run, stopped, came in ends:
        done = h.status(run) is RunStatus.SUCCESS
        assert h.status(run) is RunStatus.SUCCESS or stopped == "taken"
        assert done is stopped.startswith("refused") or (not done and stopped == "taken")
        assert not done or came in ("taken", "DELIVERED")
        [wait] = waits(h, run)
        assert (wait.how == "CLOSED") is (came == "NOT_DELIVERABLE" or came.startswith("refused"))
    # A step that had begun when the cancel came is finished: what is done stays done.
    assert {run.input.id for run, _, _ in ends if h.status(run) is RunStatus.SUCCESS} <= {str(id) for _, id in calls.made}
    assert len(calls.made) == len({id for _, id in calls.made})
    all_is_well(h, *runs, orders=sum([stopped, came].count("taken") for _, stopped, came in ends))
