"""What wakes and starts runs from elsewhere: events that steps send, and triggers by an event or by the end of another run."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from halfway import Effect, Event, Mark, Retry, RetryLater, Run, RunStatus, Step, StepFailed, Then, Workflow
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, Payment, pay, reach, work

SOON = Retry(3, wait=timedelta(milliseconds=10))


def runs_of(h: Harness, type: str) -> list[str]:
    return [line.id for line in h.app.control.runs(type=type)]


def receiving() -> Workflow[Order]:
    """Waits for a payment."""
    wf = flow("RECEIVE")

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    wf.paid = paid  # type: ignore[attr-defined]
    return wf


def sending(calls: Calls, *, fails: int = 0, error: Exception | None = None) -> Workflow[Order]:
    """Sends a payment and fails so many times after that."""
    wf = flow("SEND")

    @wf.step(Effect.READ, retry=SOON)
    def send(step: Step[Order]) -> None:
        n = calls.add("SEND")
        step.emit(PAID, Payment(amount=n), key=step.input.id)
        if n <= fails:
            raise error or RetryLater("not yet")

    return wf


def test_an_event_that_a_step_sends_wakes_the_wait_of_another_run(harness: type[Harness]) -> None:
    calls = Calls()
    wf, other = sending(calls), receiving()
    h = harness(wf, other)
    run = h.start(other, Order())
    with h.worker():
        reach(h, run, RunStatus.WAITING)
        reach(h, h.start(wf, Order()), RunStatus.SUCCESS)
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(other.paid).amount == 1  # type: ignore[attr-defined]


def test_an_event_of_an_attempt_that_fails_is_never_seen(harness: type[Harness]) -> None:
    calls = Calls()
    wf, other = sending(calls, fails=2), receiving()
    h = harness(wf, other)
    run = h.start(other, Order())
    with h.worker():
        reach(h, run, RunStatus.WAITING)
        reach(h, h.start(wf, Order()), RunStatus.SUCCESS)
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(other.paid).amount == 3  # type: ignore[attr-defined]
    assert [row.event.payload for row in h.app.control.events(name="PAID")] == ['{"amount":3}']


def test_an_event_of_a_step_that_fails_for_good_is_never_seen(harness: type[Harness]) -> None:
    calls = Calls()
    wf, other = sending(calls, fails=1, error=StepFailed("no")), receiving()
    h = harness(wf, other)
    run = h.start(other, Order())
    with h.worker():
        reach(h, run, RunStatus.WAITING)
        reach(h, h.start(wf, Order()), RunStatus.FAILED)
        assert h.status(run) is RunStatus.WAITING
    assert h.app.control.events(name="PAID") == []


def test_an_event_is_not_visible_before_its_step_has_succeeded(harness: type[Harness]) -> None:
    sent, go_on = threading.Event(), threading.Event()
    wf = flow("SEND")

    @wf.step(Effect.CREATE, evidence="the ledger")
    def send(step: Step[Order], mark: Mark) -> None:
        step.emit(PAID, Payment(), key=step.input.id)
        with mark:
            sent.set()
            assert go_on.wait(30)

    other = receiving()
    h = harness(wf, other)
    run = h.start(other, Order())
    with h.worker():
        h.start(wf, Order())
        assert sent.wait(30)
        reach(h, run, RunStatus.WAITING)
        assert h.app.control.events(name="PAID") == []
        go_on.set()
        reach(h, run, RunStatus.SUCCESS)


def test_an_event_that_a_step_sends_is_handed_over_to_those_outside(harness: type[Harness]) -> None:
    wf = sending(Calls())
    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        reach(h, run, RunStatus.SUCCESS)
        until(lambda: [row.delivered_at is not None for row in h.app.store.attention.messages(what="EVENT")] == [True])


def triggered(calls: Calls) -> Workflow[Order]:
    """Starts on a payment, except on one over nothing."""
    wf = flow("ON_PAID")

    @wf.starts_on(PAID)
    def begin(payment: Payment) -> Order | None:
        if payment.amount < 0:
            raise ValueError("an amount below zero")
        return Order(id=f"paid-{payment.amount}") if payment.amount else None

    @wf.step(Effect.READ)
    def book(step: Step[Order]) -> None:
        calls.add("BOOK", step.input.id)

    return wf


def test_an_event_starts_a_run_once_although_it_is_delivered_twice(harness: type[Harness]) -> None:
    calls = Calls()
    wf = triggered(calls)
    h = harness(wf)
    with h.worker(), h.worker():
        assert [pay(h, "x", 5, id="evt-1").created for _ in range(3)] == [True, False, False]
        until(lambda: len(runs_of(h, "ON_PAID")) == 1)
        [run_id] = runs_of(h, "ON_PAID")
        until(lambda: h.app.get(wf, run_id).status is RunStatus.SUCCESS)
        assert not pay(h, "x", 5, id="evt-1").created  # also after its run has ended
        assert pay(h, "x", 6, id="evt-2").created
        until(lambda: calls.count("BOOK") == 2)
    assert calls.made == [("BOOK", "paid-5"), ("BOOK", "paid-6")]
    assert h.app.control.show(run_id).started_by == "event:PAID"


def test_an_event_that_starts_nothing_leaves_nothing_behind(harness: type[Harness]) -> None:
    wf = triggered(Calls())
    h = harness(wf)
    pay(h, "x", 0)
    with h.worker():
        until(lambda: not h.app.store.triggers.due(["ON_PAID"], 10))
    assert runs_of(h, "ON_PAID") == []


def test_an_event_whose_run_cannot_be_made_is_kept_and_tried_again_and_delays_no_other(harness: type[Harness]) -> None:
    calls = Calls()
    wf = triggered(calls)
    h = harness(wf)
    pay(h, "x", -1)
    pay(h, "x", 7)
    with h.worker():
        until(lambda: calls.count("BOOK") == 1)
    h.advance(2 * 3600)
    [task] = h.app.store.triggers.due(["ON_PAID"], 10)
    assert (task.name, task.tries) == ("PAID", 1)


@pytest.mark.parametrize("first", ["trigger", "wait"])
def test_one_event_both_starts_a_run_and_ends_a_wait(harness: type[Harness], first: str) -> None:
    calls = Calls()
    wf, other = triggered(calls), receiving()
    h = harness(wf, other)
    if first == "wait":
        run = h.start(other, Order())
        work(h, run, RunStatus.WAITING)
    pay(h, "o1", 3)
    if first == "trigger":
        with h.worker():
            until(lambda: calls.count("BOOK") == 1)
        run = h.start(other, Order())
    with h.worker():
        reach(h, run, RunStatus.SUCCESS)
        until(lambda: calls.count("BOOK") == 1)


def test_the_end_of_a_run_starts_another_if_it_ended_as_was_asked(harness: type[Harness]) -> None:
    calls = Calls()
    first = flow("FIRST")

    @first.step(Effect.READ)
    def look(step: Step[Order]) -> str:
        if step.input.id == "bad":
            raise StepFailed("no", code="NO")
        return step.input.id.upper()

    after = flow("AFTER")

    @after.starts_after(first)
    def follow(run: Run[Order]) -> Order:
        return Order(id=f"{run.output(look)}-{run.input.id}")

    @after.step(Effect.READ)
    def note(step: Step[Order]) -> None:
        calls.add("NOTE", step.input.id)

    sorry = flow("SORRY")

    @sorry.starts_after(first, RunStatus.FAILED, RunStatus.CANCELLED)
    def apologise(run: Run[Order]) -> Order:
        return Order(id=f"{run.status}-{run.input.id}-{run.failure.code if run.failure else ''}")

    @sorry.step(Effect.READ)
    def write(step: Step[Order]) -> None:
        calls.add("WRITE", step.input.id)

    h = harness(first, after, sorry)
    with h.worker(), h.worker():
        h.start(first, Order(id="good"))
        h.start(first, Order(id="bad"))
        until(lambda: len(calls.made) == 2)
    cancelled = h.start(first, Order(id="late"))
    h.app.control.cancel(cancelled.id, actor="kim", reason="no")
    with h.worker():
        until(lambda: len(calls.made) == 3)
        until(lambda: not h.app.store.triggers.due(["AFTER", "SORRY"], 10))
    assert sorted(calls.made) == [("NOTE", "GOOD-good"), ("WRITE", "CANCELLED-late-"), ("WRITE", "FAILED-bad-NO")]
    assert (len(runs_of(h, "AFTER")), len(runs_of(h, "SORRY"))) == (1, 2)


def test_what_a_worker_has_no_code_for_is_left_to_one_that_has(harness: type[Harness]) -> None:
    """C5: in the middle of a release, a worker without the trigger must not drop what the other release has asked for."""
    calls = Calls()
    wf = triggered(calls)
    h = harness(wf)
    pay(h, "x", 5)
    other = flow("ON_PAID", version=2)

    @other.starts_on(Event("REFUNDED", Payment))
    def begin(payment: Payment) -> Order:
        return Order()

    @other.step(Effect.READ)
    def book(step: Step[Order]) -> None:
        pass

    with harness(other).worker():
        until(lambda: [task for task in h.app.control.failed_tasks() if "is not started by it" in task.error])
    h.advance(3600)
    with h.worker():
        until(lambda: calls.count("BOOK") == 1)
