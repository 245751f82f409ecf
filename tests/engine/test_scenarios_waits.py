"""Waits that end otherwise than by their event: by a timeout with each policy, by a time, or by the end of another run."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from halfway import Absent, CannotTell, Effect, Found, Retry, Run, RunStatus, Step, StepFailed, Then, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.errors import Conflict
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, PROBE, Payment, pay, reach, told, waits, work

SOON = Retry(3, wait=timedelta(milliseconds=10))
LATE = 3 * 86_400


# ── time is up ──


def late(calls: Calls, then: Any, answer: Any = None, **options: Any) -> Workflow[Order]:
    """Waits a day for a payment; `answer` is what the probe says."""
    wf = flow()

    @wf.wait_for(PAID, timeout=DAY, on_timeout=then, **options)
    def paid(step: Step[Order]) -> str:
        calls.add("ASKED")
        return step.input.id

    if answer is not None:

        @paid.probe
        def look(step: Step[Order]) -> Any:
            calls.add("LOOK")
            return answer

    @wf.step(Effect.READ)
    def ship(step: Step[Order]) -> int:
        calls.add("SHIP")
        return step.output(paid).amount

    wf.ship = ship  # type: ignore[attr-defined]
    return wf


def overdue(h: Harness, wf: Workflow[Order], status: RunStatus) -> Run[Order]:
    """A run whose wait has lasted longer than its patience."""
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.advance(LATE)
    work(h, run, status)
    return run


@pytest.mark.parametrize(("then", "status"), [(Then.FAIL, RunStatus.FAILED), (Then.CANCEL, RunStatus.CANCELLED)])
def test_a_timeout_that_fails_or_cancels_ends_the_run_and_takes_no_late_event(
    harness: type[Harness], then: Then, status: RunStatus
) -> None:
    calls = Calls()
    wf = late(calls, then)
    h = harness(wf)
    run = overdue(h, wf, status)
    assert h.record(run, "PAID").code == "TIMED_OUT"
    [wait] = waits(h, run)
    assert (wait.how, wait.source) == ("TIMED_OUT", None)
    sent = pay(h, "o1")
    assert (sent.state, sent.closed_run) == ("NOT_DELIVERABLE", run.id)
    assert h.status(run) is status
    assert calls.count("SHIP") == 0
    h.app.control.resume(run.id, actor="kim", reason="it has been paid after all")
    work(h, run, RunStatus.SUCCESS)  # the wait begins anew, and the event is there


def test_a_timeout_with_a_value_goes_on_with_it(harness: type[Harness]) -> None:
    calls = Calls()
    wf = late(calls, Then.VALUE, value=Payment(amount=0))
    h = harness(wf)
    run = overdue(h, wf, RunStatus.SUCCESS)
    assert h.get(run).output(wf.ship) == 0  # type: ignore[attr-defined]
    assert pay(h, "o1").state == "NOT_DELIVERABLE"
    assert calls.count("SHIP") == 1


def test_a_timeout_that_waits_again_does_so_as_often_as_the_policy_says(harness: type[Harness]) -> None:
    calls = Calls()
    wf = late(calls, Then.RETRY)
    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        for n in (1, 2, 3):
            # One look at all of them: the wait before may end between two looks.
            until(lambda n=n: [wait.closed_at is None for wait in waits(h, run)] == [False] * (n - 1) + [True])  # type: ignore[misc]
            h.advance(LATE)
        reach(h, run, RunStatus.FAILED)
    assert calls.count("ASKED") == 3
    assert [wait.how for wait in waits(h, run)] == ["TIMED_OUT"] * 3


def test_an_event_reaches_a_wait_that_has_begun_again(harness: type[Harness]) -> None:
    calls = Calls()
    wf = late(calls, Then.RETRY)
    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.WAITING)
        h.advance(LATE)
        until(lambda: calls.count("ASKED") == 2 and h.status(run) is RunStatus.WAITING)
        assert pay(h, "o1", 4).state == "DELIVERED"
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(wf.ship) == 4  # type: ignore[attr-defined]


@pytest.mark.parametrize("order", ["retry", "mark_success", "skip", "event", "probe refused"])
def test_a_timeout_for_a_person_goes_on_as_the_person_or_the_late_event_says(harness: type[Harness], order: str) -> None:
    calls = Calls()
    wf = late(calls, Then.MANUAL)
    h = harness(wf)
    run = overdue(h, wf, RunStatus.MANUAL_REQUIRED)
    assert told(h, run, "PERSON_NEEDED") == [("PAID", "TIMED_OUT")]
    control = h.app.control
    if order == "probe refused":
        with pytest.raises(Conflict, match="no probe"):
            control.probe(run.id, "PAID", actor="kim", reason="look")
        assert h.status(run) is RunStatus.MANUAL_REQUIRED
        return
    if order == "retry":
        control.retry(run.id, "PAID", actor="kim", reason="they asked for another day")
        work(h, run, RunStatus.WAITING)
        assert calls.count("ASKED") == 2
        pay(h, "o1", 9)
    elif order == "mark_success":
        control.mark_success(run.id, "PAID", actor="kim", reason="seen", evidence="bank statement", output='{"amount": 9}')
    elif order == "skip":
        control.skip(run.id, "PAID", actor="kim", reason="a gift")
    else:
        assert pay(h, "o1", 9).state == "DELIVERED"
    if order == "skip":
        work(h, run, RunStatus.FAILED)  # what stands behind it reads what was skipped
        assert h.record(run, "SHIP").code == "OUTPUT_MISSING"
        return
    assert work(h, run, RunStatus.SUCCESS).output(wf.ship) == 9  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Found(Payment(amount=8)), RunStatus.SUCCESS),
        (Absent(), RunStatus.FAILED),
        (CannotTell("the bank is closed"), RunStatus.MANUAL_REQUIRED),
    ],
    ids=["found", "absent", "cannot tell"],
)
def test_a_timeout_with_a_probe_asks_the_world(harness: type[Harness], answer: Any, status: RunStatus) -> None:
    calls = Calls()
    wf = late(calls, Then.PROBE, answer)
    h = harness(wf)
    run = overdue(h, wf, status)
    assert calls.count("LOOK") == 1
    if status is RunStatus.SUCCESS:
        assert h.get(run).output(wf.ship) == 8  # type: ignore[attr-defined]
        assert pay(h, "o1").state == "NOT_DELIVERABLE"
    elif status is RunStatus.FAILED:
        assert h.record(run, "PAID").code == "TIMED_OUT"
    else:
        assert h.record(run, "PAID").asks == "owner"
        assert pay(h, "o1", 3).state == "DELIVERED"
        assert work(h, run, RunStatus.SUCCESS).output(wf.ship) == 3  # type: ignore[attr-defined]


def test_an_event_that_comes_while_the_probe_looks_is_taken_and_the_probe_changes_nothing(harness: type[Harness]) -> None:
    calls, looking, go_on = Calls(), threading.Event(), threading.Event()
    wf = flow()

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.PROBE)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @paid.probe
    def look(step: Step[Order]) -> Found[Payment] | Absent:
        looking.set()
        assert go_on.wait(30)
        return Absent()

    @wf.step(Effect.READ)
    def ship(step: Step[Order]) -> int:
        calls.add("SHIP")
        return step.output(paid).amount

    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.advance(LATE)
    with h.worker():
        assert looking.wait(30)
        assert pay(h, "o1", 6).state == "DELIVERED"
        until(lambda: calls.count("SHIP") == 1)
        go_on.set()
        until(lambda: h.record(run, "PAID", PROBE).status is RecordStatus.SUCCESS)
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(ship) == 6


def test_the_time_that_was_waited_for_is_known_beside_a_branch_that_runs(harness: type[Harness]) -> None:
    inside, go_on = threading.Event(), threading.Event()
    wf = flow()
    at = datetime.now(UTC) + timedelta(hours=5)

    @wf.wait_until(after=[])
    def opening(step: Step[Order]) -> datetime:
        return at

    @wf.step(Effect.READ, after=[])
    def prepare(step: Step[Order]) -> None:
        inside.set()
        assert go_on.wait(30)

    @wf.step(Effect.READ, after=[opening])
    def open_shop(step: Step[Order]) -> datetime:
        return step.output(opening)

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        assert inside.wait(30)
        h.wait_for(run, "OPENING", "WAITING")
        h.advance(5 * 3600)
        h.wait_for(run, "OPEN_SHOP", "SUCCESS")
        go_on.set()
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(open_shop) == at


def test_a_wait_for_a_time_ends_then_and_not_before(harness: type[Harness]) -> None:
    wf = flow()
    at = datetime.now(UTC) + timedelta(hours=5)

    @wf.wait_until()
    def opening(step: Step[Order]) -> datetime:
        return at

    @wf.step(Effect.READ)
    def open_shop(step: Step[Order]) -> datetime:
        return step.output(opening)

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        reach(h, run, RunStatus.WAITING)
        h.advance(4 * 3600)
        other = h.start(wf, Order(id="o2"))  # somebody who begins later looks at the clock after it was moved
        until(lambda: h.status(other) is RunStatus.WAITING)
        assert h.status(run) is RunStatus.WAITING
        h.advance(3600)
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(open_shop) == at


# ── other runs ──


def pair(calls: Calls, **parent: Any) -> tuple[Workflow[Order], Workflow[Order]]:
    """A workflow, and one that waits for its runs."""
    child = flow("CHILD")

    @child.step(Effect.READ)
    def look(step: Step[Order]) -> str:
        if step.input.id.startswith("bad"):
            raise StepFailed("no", code="NO")
        return f"seen {step.input.id}"

    wf = flow("PARENT", **parent)

    @wf.wait_for(child, timeout=DAY, on_timeout=Then.FAIL)
    def other(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.READ)
    def report(step: Step[Order]) -> str:
        calls.add("REPORT")
        run = step.output(other)
        failed = "" if run.failure is None else run.failure.code
        return run.output(look) if run.status is RunStatus.SUCCESS else f"{run.status} {failed}"

    wf.report = report  # type: ignore[attr-defined]
    return child, wf


@pytest.mark.parametrize("first", ["child", "parent"])
@pytest.mark.parametrize(("id", "said"), [("o1", "seen o1"), ("bad1", "FAILED NO")])
def test_a_wait_for_another_run_ends_with_what_became_of_it(harness: type[Harness], first: str, id: str, said: str) -> None:
    calls = Calls()
    child, wf = pair(calls)
    h = harness(child, wf)
    with h.worker():
        if first == "parent":
            run = h.start(wf, Order(id=id))
            reach(h, run, RunStatus.WAITING)
        begun = h.start(child, Order(id=id))
        until(lambda: h.status(begun) in (RunStatus.SUCCESS, RunStatus.FAILED))
        if first == "child":
            run = h.start(wf, Order(id=id))
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(wf.report) == said  # type: ignore[attr-defined]
    assert calls.count("REPORT") == 1
    assert [(wait.how, wait.source) for wait in waits(h, run)] == [("ARRIVED", begun.id)]


def test_a_cancelled_run_ends_the_wait_for_it_too(harness: type[Harness]) -> None:
    calls = Calls()
    child, wf = pair(calls)
    h = harness(child, wf)
    begun = h.start(child, Order())
    h.app.control.cancel(begun.id, actor="kim", reason="not needed")
    run = h.start(wf, Order())
    assert work(h, run, RunStatus.SUCCESS).output(wf.report) == "CANCELLED "  # type: ignore[attr-defined]


def test_a_wait_for_a_run_that_nobody_starts_times_out(harness: type[Harness]) -> None:
    child, wf = pair(Calls())
    h = harness(child, wf)
    overdue(h, wf, RunStatus.FAILED)
