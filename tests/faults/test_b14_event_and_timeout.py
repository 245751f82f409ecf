"""B14: of an event and a timeout exactly one ends the wait, the run goes on once, and the loser is told."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from halfway import Absent, Effect, Found, Run, RunStatus, Step, Then, Workflow
from halfway.testing import HoldAt, KillAt, Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, Payment, pay, reach, waits, work
from tests.faults.checks import all_is_well
from tests.faults.forks import in_child
from tests.faults.zombies import without_sweep

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python warns of forks beside threads; here are none that matter
REPEATS = 500
LATE = 2 * 86_400


def waiting(add: Callable[[str, int], Any]) -> Workflow[Order]:
    """Waits a day for a payment, else goes on with one over nothing; then books it."""
    wf = flow()

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.VALUE, value=Payment(amount=0))
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.CREATE, evidence="the ledger")
    def book(step: Step[Order]) -> int:
        amount = step.output(paid).amount
        add(step.input.id, amount)
        return amount

    @book.probe(settle=DAY * 0)
    def look(step: Step[Order]) -> Found[int] | Absent:
        lines = [line for line in getattr(add, "lines", list)() if line["id"] == step.input.id]
        return Found(int(lines[0]["amount"])) if lines else Absent()

    return wf


def won(h: Harness, run: Run[Order]) -> str:
    """What has ended the wait; once, and with one continuation."""
    [wait] = waits(h, run)
    names = h.journal(run)
    assert names.count("step.completed") == 2
    assert names.count("workflow.completed") == 1
    assert wait.how in ("ARRIVED", "VALUE")
    return "event" if wait.how == "ARRIVED" else "timeout"


def test_an_event_that_holds_the_run_wins_and_the_timeout_changes_nothing(harness: type[Harness]) -> None:
    """B14: the sender is held before its commit, and the time is up meanwhile."""
    calls = Calls()
    wf = waiting(calls.add)
    hold = HoldAt("event.before_commit")
    h, other = harness(wf), harness(wf, points=hold)
    run = h.start(wf, Order())
    with h.worker(), ThreadPoolExecutor(1) as pool:
        reach(h, run, RunStatus.WAITING)
        sending = pool.submit(pay, other, "o1", 7)
        hold.wait()
        if h.url.startswith("postgres"):
            h.advance(LATE)
            beats = [worker.epoch.counter for worker in h.app.store.reading.workers()]
            until(lambda: [worker.epoch.counter for worker in h.app.store.reading.workers()] > beats, "the pump has looked in vain")
        hold.release()
        sent = sending.result(30)
        reach(h, run, RunStatus.SUCCESS)
        h.advance(LATE)
    work(h, run, RunStatus.SUCCESS)
    assert (sent.state, won(h, run)) == ("DELIVERED", "event")
    assert calls.made == [("o1", 7)]
    all_is_well(h, run)


def test_a_timeout_that_holds_the_run_wins_and_the_sender_is_told(harness: type[Harness]) -> None:
    """B14: the pump is held before the commit that ends the wait, and the event comes meanwhile."""
    calls = Calls()
    wf = waiting(calls.add)
    hold = HoldAt("pump.before_commit")
    h, held = harness(wf), harness(wf, points=hold)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.advance(LATE)
    with without_sweep(held), ThreadPoolExecutor(1) as pool:
        hold.wait()  # its first commit ends the wait
        sending = pool.submit(pay, h, "o1", 7)
        with pytest.raises(TimeoutError):
            sending.result(0.2)  # it waits for the run
        hold.release()
        sent = sending.result(30)
        reach(h, run, RunStatus.SUCCESS)
    assert (sent.state, sent.closed_run, won(h, run)) == ("NOT_DELIVERABLE", run.id, "timeout")
    assert calls.made == [("o1", 0)]
    all_is_well(h, run)


def test_many_events_that_meet_their_timeouts_all_end_one_way_or_the_other(harness: type[Harness]) -> None:
    """B14: events and timeouts at the same moment."""
    calls = Calls()
    wf = waiting(calls.add)
    h = harness(wf)
    runs = list(h.app.start_many(wf, [Order(id=str(n)) for n in range(REPEATS)]))
    together = threading.Barrier(3)

    def send(ids: range) -> list[Any]:
        together.wait(30)
        return [pay(h, str(n), n + 1) for n in ids]

    with h.worker(), ThreadPoolExecutor(2) as pool:
        until(lambda: h.app.control.counts().get("WAITING") == REPEATS)
        halves = [pool.submit(send, range(part, REPEATS, 2)) for part in (0, 1)]
        together.wait(30)
        h.advance(LATE)
        sent = {one.event_id: one for half in halves for one in half.result(60)}
        until(lambda: not h.app.control.counts())
    amounts = dict(calls.made)
    assert len(calls.made) == len(amounts) == REPEATS
    for n, run in enumerate(runs):
        assert amounts[str(n)] == (n + 1 if won(h, run) == "event" else 0)
    delivered = {one.run_id for one in sent.values() if one.state == "DELIVERED"}
    assert delivered == {run.id for n, run in enumerate(runs) if amounts[str(n)]}
    all_is_well(h, runs[0], runs[-1])


@pytest.mark.parametrize("point", ["event.before_commit", "event.after_commit"])
def test_a_sender_that_dies_leaves_all_or_nothing(harness: type[Harness], point: str) -> None:
    """B14, KILL: the wait and what follows it are one commit, so no second event is needed for what stood behind it."""
    calls = Calls()
    wf = waiting(calls.add)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)

    def die() -> None:
        doomed = Harness(h.url, wf, points=KillAt(point))
        pay(doomed, "o1", 7, id="evt-1")

    assert in_child(die) == -signal.SIGKILL
    if point == "event.before_commit":
        assert h.status(run) is RunStatus.WAITING
        assert pay(h, "o1", 7, id="evt-1").created  # nothing of the first one stands
    else:
        assert not pay(h, "o1", 7, id="evt-1").created
    work(h, run, RunStatus.SUCCESS)
    assert (calls.made, won(h, run)) == ([("o1", 7)], "event")
    all_is_well(h, run)


def in_process(url: str, ledger: Ledger) -> list[Workflow[Order]]:
    """For worker processes."""

    def add(id: str, amount: int) -> None:
        ledger.write("book", id=id, amount=amount)

    add.lines = ledger.lines  # type: ignore[attr-defined]
    return [waiting(add)]


@pytest.mark.parametrize("kind", ["event", "timeout"])
def test_a_worker_that_dies_at_any_commit_leaves_a_wait_that_is_ended_once(
    harness: type[Harness], url: str, tmp_path: Path, kind: str
) -> None:
    """B14, KILL: the pump dies around the commit that ends the wait, or around one of those that follow."""
    ledger = Ledger(tmp_path / "ledger")
    h = harness(*in_process(url, ledger))
    [wf] = h.app.workflows.values()
    for place in ("before", "after"):
        run = h.start(wf, Order(id=f"{kind}-{place}"))
        work(h, run, RunStatus.WAITING)
        if kind == "event":
            pay(h, run.input.id, 7)
        else:
            h.advance(LATE)
        flows = "tests.faults.test_b14_event_and_timeout:in_process"
        with Worker(flows, url, ledger.path, kill_at=f"pump.{place}_commit:1", ready=False) as doomed:
            assert doomed.wait() == -signal.SIGKILL
        work(h, run, RunStatus.SUCCESS)
        assert won(h, run) == kind
        assert ledger.count(id=run.input.id) == 1
        all_is_well(h, run)
