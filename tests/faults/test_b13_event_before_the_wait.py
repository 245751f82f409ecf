"""B13: an event that comes before its wait, at whatever moment, is given to it once; one that nobody can take is never silently "ok"."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from halfway import Effect, Run, RunStatus, Step, Then, Workflow
from halfway.testing import HoldAt
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, pay, reach, waits, work
from tests.faults.checks import all_is_well
from tests.faults.zombies import HoldLater, without_sweep

MANY = 200
REPEATS = 500


def paying(calls: Calls, times: int = 1) -> Workflow[Order]:
    """Waits for so many payments, one after the other, and books each."""
    wf = flow()
    for n in range(times):

        @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL, name=f"PAID{n}")
        def paid(step: Step[Order]) -> str:
            return step.input.id

        @wf.step(Effect.CREATE, name=f"BOOK{n}", evidence="the ledger")
        def book(step: Step[Order], paid=paid) -> int:  # type: ignore[no-untyped-def]
            calls.add(step.input.id, step.output(paid).amount)
            return int(step.output(paid).amount)

    return wf


def each_got_its_own(h: Harness, runs: list[Run[Order]]) -> None:
    """Every wait has ended by an event, and no event was given twice."""
    found = [wait for run in runs for wait in waits(h, run)]
    assert {wait.how for wait in found} == {"ARRIVED"}
    sources = [wait.source for wait in found]
    assert len(sources) == len(set(sources))
    assert h.app.control.events(unused=True) == []


def test_events_sent_right_after_the_start_all_arrive(harness: type[Harness]) -> None:
    """B13: start and event in the same millisecond."""
    calls = Calls()
    wf = paying(calls)
    h = harness(wf)
    with h.worker():
        runs = []
        for n in range(MANY):
            runs.append(h.start(wf, Order(id=str(n))))
            pay(h, str(n), n)
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert sorted(calls.made) == sorted((str(n), n) for n in range(MANY))
    each_got_its_own(h, runs)
    all_is_well(h, *runs)


def test_events_that_meet_their_waits_at_random_all_arrive(harness: type[Harness]) -> None:
    """B13: senders race with the worker that opens the waits."""
    calls = Calls()
    wf = paying(calls)
    h = harness(wf)
    runs = list(h.app.start_many(wf, [Order(id=str(n)) for n in range(REPEATS)]))
    with h.worker(), ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: pay(h, str(n), n), range(REPEATS)))
        until(lambda: len(calls.made) == REPEATS)
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert sorted(calls.made) == sorted((str(n), n) for n in range(REPEATS))
    each_got_its_own(h, runs)
    all_is_well(h, runs[0], runs[-1])


def test_an_event_sent_between_the_decision_to_wait_and_its_commit_arrives(harness: type[Harness]) -> None:
    """B13: the pump has decided to open the wait and is held; the event comes meanwhile."""
    calls = Calls()
    wf = paying(calls)
    hold = HoldLater("pump.before_commit", 2)  # the first commit starts the wait's function, the second opens the wait
    h, other = harness(wf, points=hold), harness(wf)
    run = h.start(wf, Order())
    assert other.status(run) is RunStatus.PENDING
    with without_sweep(h), ThreadPoolExecutor(1) as pool:
        hold.wait()
        sending = pool.submit(pay, other, "o1", 3)
        if h.url.startswith("postgres"):
            assert sending.result(30).state == "KEPT"  # neither sees the other
        hold.release()
        assert sending.result(30).created
        reach(h, run, RunStatus.SUCCESS)
    assert calls.made == [("o1", 3)]
    each_got_its_own(h, [run])
    all_is_well(h, run)


def test_an_event_that_is_about_to_be_committed_when_its_wait_opens_arrives(harness: type[Harness]) -> None:
    """B13: the sender is held, and the wait is opened meanwhile; on SQLite it is opened after that."""
    inside, go_on = threading.Event(), threading.Event()
    wf = flow()

    @wf.step(Effect.READ)
    def before(step: Step[Order]) -> None:
        inside.set()
        assert go_on.wait(30)

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    hold = HoldAt("event.before_commit")
    h, other = harness(wf), harness(wf, points=hold)
    run = h.start(wf, Order())
    with h.worker(), ThreadPoolExecutor(1) as pool:
        assert inside.wait(30)
        sending = pool.submit(pay, other, "o1", 3)
        hold.wait()
        go_on.set()
        if h.url.startswith("postgres"):
            reach(h, run, RunStatus.WAITING)
        hold.release()
        assert sending.result(30).created
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(paid).amount == 3
    each_got_its_own(h, [run])
    all_is_well(h, run)


def test_events_of_one_name_are_taken_in_the_order_in_which_they_came(harness: type[Harness]) -> None:
    """B13: order per name is kept, whether they came before or after the wait."""
    calls = Calls()
    wf = paying(calls, times=4)
    h = harness(wf)
    pay(h, "o1", 1)
    pay(h, "o1", 2)
    run = h.start(wf, Order())
    with h.worker():
        reach(h, run, RunStatus.WAITING)
        until(lambda: len(calls.made) == 2)
        pay(h, "o1", 3)
        pay(h, "o1", 4)
        reach(h, run, RunStatus.SUCCESS)
    assert calls.made == [("o1", 1), ("o1", 2), ("o1", 3), ("o1", 4)]
    each_got_its_own(h, [run])
    all_is_well(h, run)


@pytest.mark.parametrize("end", [RunStatus.SUCCESS, RunStatus.CANCELLED])
def test_an_event_for_a_run_that_has_ended_is_recorded_and_answered_as_not_deliverable(harness: type[Harness], end: RunStatus) -> None:
    """B13: never silently "ok"."""
    calls = Calls()
    wf = paying(calls)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    if end is RunStatus.SUCCESS:
        pay(h, "o1", 1)
        work(h, run, RunStatus.SUCCESS)
    else:
        h.app.control.cancel(run.id, actor="kim", reason="no")
    before = h.app.control.show(run.id).revision
    sent = pay(h, "o1", 2)
    assert (sent.state, sent.created, sent.closed_run) == ("NOT_DELIVERABLE", True, run.id)
    work(h, run, end)
    assert h.app.control.show(run.id).revision == before
    assert [row.event.payload for row in h.app.control.events(unused=True)] == ['{"amount":2}']
    all_is_well(h, run, orders=int(end is RunStatus.CANCELLED))


def test_an_event_that_nobody_waits_for_is_kept_and_says_so(harness: type[Harness]) -> None:
    """B13: an unknown key. It may be that of a run to come."""
    h = harness(paying(Calls()))
    sent = pay(h, "nobody", 1)
    assert (sent.state, sent.run_id, sent.closed_run) == ("KEPT", None, None)
