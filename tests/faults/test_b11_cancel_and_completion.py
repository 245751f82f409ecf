"""B11: of a cancel and a completion exactly one wins, the canceller is told which, and nothing changes it afterwards."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from halfway import Effect, Run, RunStatus, Step
from halfway.errors import Conflict
from halfway.testing import HoldAt
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well
from tests.faults.zombies import HoldArmed, without_sweep

WHY = "ordered twice"
PAIRS = 300


def cancel(h: Harness, run: Run[Order]) -> str:
    """What the canceller hears."""
    try:
        return h.app.control.cancel(run.id, actor="kim", reason=WHY).after
    except Conflict as refused:
        return "refused" if "already ended: SUCCESS" in str(refused) else str(refused)


def stands(h: Harness, run: Run[Order], heard: str) -> None:
    """The end fits what was said, and the reason is the canceller's."""
    fits(h, run, heard)
    all_is_well(h, run, orders=int(heard != "refused"))


def fits(h: Harness, run: Run[Order], heard: str) -> None:
    won = heard != "refused"
    assert h.status(run) is (RunStatus.CANCELLED if won else RunStatus.SUCCESS)
    audit = [row.audit for row in h.app.store.reading.audit(run.id) if row.audit.refused is None]
    assert [(order.actor, order.reason) for order in audit] == [("kim", WHY)] * won


def test_a_cancel_between_the_last_return_and_the_end_wins(harness: type[Harness]) -> None:
    """B11: the cancel comes first."""
    returned, go_on = threading.Event(), threading.Event()
    wf = flow()

    @wf.step(Effect.READ)
    def last(step: Step[Order]) -> str:
        returned.set()
        assert go_on.wait(30)
        return "done"

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        assert returned.wait(30)
        heard = cancel(h, run)
        go_on.set()
        until(lambda: h.status(run) is RunStatus.CANCELLED)
    assert heard == RunStatus.CANCEL_REQUESTED
    assert h.get(run).output(last) == "done"  # what is done stays done
    stands(h, run, heard)


def test_a_cancel_while_the_end_is_about_to_be_committed_is_told_that_it_came_too_late(harness: type[Harness]) -> None:
    """B11: the end holds the run, and the cancel waits for it."""
    begun, go_on = threading.Event(), threading.Event()
    wf = flow()

    @wf.step(Effect.READ)
    def last(step: Step[Order]) -> None:
        begun.set()
        assert go_on.wait(30)

    hold = HoldArmed("pump.before_commit")
    h, other = harness(wf, points=hold), harness(wf)
    run = h.start(wf, Order())
    assert other.status(run) is RunStatus.PENDING
    with without_sweep(h), ThreadPoolExecutor(1) as pool:
        assert begun.wait(30)
        hold.armed = True  # what is committed next is the end
        go_on.set()
        hold.wait()
        heard: Future[str] = pool.submit(cancel, other, run)
        with pytest.raises(TimeoutError):
            heard.result(0.2)  # it waits: nothing is decided yet
        hold.release()
        assert heard.result(30) == "refused"
    stands(h, run, "refused")


def test_an_end_while_a_cancel_is_about_to_be_committed_is_a_cancel(harness: type[Harness]) -> None:
    """B11: the cancel holds the run, and the end waits for it."""
    calls, go_on = Calls(), threading.Event()
    wf = flow()

    @wf.step(Effect.READ)
    def last(step: Step[Order]) -> None:
        calls.add("LAST")
        assert go_on.wait(30)

    hold = HoldAt("order.before_commit")
    h, other = harness(wf), harness(wf, points=hold)
    with h.worker(), ThreadPoolExecutor(1) as pool:
        run = h.start(wf, Order())
        until(lambda: calls.count("LAST") == 1)
        heard = pool.submit(cancel, other, run)
        hold.wait()
        go_on.set()
        hold.release()
        assert heard.result(30) == RunStatus.CANCEL_REQUESTED
        until(lambda: h.status(run) is RunStatus.CANCELLED)
    stands(h, run, RunStatus.CANCEL_REQUESTED)


def test_a_step_that_raises_after_a_cancel_leaves_the_run_cancelled_for_the_cancellers_reason(harness: type[Harness]) -> None:
    """B11: the variant in which the running step fails late."""
    entered, go_on = threading.Event(), threading.Event()
    wf = flow()

    @wf.step(Effect.READ)
    def last(step: Step[Order]) -> None:
        entered.set()
        assert go_on.wait(30)
        raise RuntimeError("the runner died")

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        assert entered.wait(30)
        heard = cancel(h, run)
        go_on.set()
        until(lambda: h.status(run) is RunStatus.CANCELLED)
    stands(h, run, heard)
    with pytest.raises(Conflict):
        h.app.control.cancel(run.id, actor="lee", reason="again")
    stands(h, run, heard)


def test_many_cancels_that_meet_their_completions_all_end_one_way_or_the_other(harness: type[Harness]) -> None:
    """B11: many pairs that start at the same moment."""
    meeting: dict[str, threading.Barrier] = {}
    wf = flow(key=False)

    @wf.step(Effect.READ)
    def last(step: Step[Order]) -> None:
        meeting[step.input.id].wait(30)

    h = harness(wf)
    runs = {str(n): h.start(wf, Order(id=str(n))) for n in range(PAIRS)}
    meeting.update((id, threading.Barrier(2)) for id in runs)

    def meet(id: str) -> str:
        meeting[id].wait(30)
        return cancel(h, runs[id])

    with h.worker(slots=4), ThreadPoolExecutor(4) as pool:
        heard = dict(zip(runs, pool.map(meet, runs), strict=True))
        until(lambda: all(h.status(run) in (RunStatus.SUCCESS, RunStatus.CANCELLED) for run in runs.values()), "all end")
    for id, run in runs.items():
        fits(h, run, heard[id])
    all_is_well(h, *runs.values(), orders=sum(one != "refused" for one in heard.values()))
