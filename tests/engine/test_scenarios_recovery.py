"""The named scenarios of recovery, on both databases: waits that resume, runs that are undone, and runs that are stopped on the way."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from halfway import Effect, Failure, Mark, RetryLater, Risk, RunStatus, Step, StepFailed, Then, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Happened
from halfway.errors import Conflict
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, UNDO, audits, pay, reach, told, waits, work


def selling(calls: Calls, **options: object) -> Workflow[Order]:
    """Orders, waits for the payment, ships."""
    wf = flow(**options)

    @wf.step(Effect.READ)
    def order(step: Step[Order]) -> str:
        calls.add("ORDER")
        return f"order-{step.input.id}"

    @wf.wait_for(PAID, timeout=3 * DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        calls.add("PAID")
        return step.output(order)

    @wf.step(Effect.READ)
    def ship(step: Step[Order]) -> int:
        calls.add("SHIP")
        return step.output(paid).amount

    wf.ship = ship  # type: ignore[attr-defined]
    return wf


def test_a_waiting_run_resumes_when_its_event_comes(harness: type[Harness]) -> None:
    calls = Calls()
    wf = selling(calls)
    h = harness(wf)
    run = h.start(wf, Order(id="7"))
    work(h, run, RunStatus.WAITING)
    assert calls.count("SHIP") == 0
    sent = pay(h, "order-7", 12)
    assert (sent.state, sent.run_id, sent.created) == ("DELIVERED", run.id, True)
    assert h.status(run) is RunStatus.RUNNING
    assert work(h, run, RunStatus.SUCCESS).output(wf.ship) == 12  # type: ignore[attr-defined]
    assert [calls.count(name) for name in ("ORDER", "PAID", "SHIP")] == [1, 1, 1]
    [wait] = waits(h, run)
    assert (wait.how, wait.source) == ("ARRIVED", sent.event_id)
    assert [name for name in h.journal(run) if "wait" in name or name == "workflow.resumed"] == [
        "step.waiting", "workflow.waiting", "workflow.resumed",
    ]  # fmt: skip


def test_a_waiting_run_occupies_no_slot(harness: type[Harness]) -> None:
    calls = Calls()
    wf = selling(calls)
    h = harness(wf)
    runs = [h.start(wf, Order(id=str(n))) for n in range(12)]
    with h.worker(slots=2):
        until(lambda: all(h.status(run) is RunStatus.WAITING for run in runs))
        assert [worker.running for worker in h.app.store.reading.workers()] == [0]


@pytest.mark.parametrize("when", ["before the run", "before the worker", "during the step before"])
def test_an_event_that_comes_first_is_met_by_the_wait(harness: type[Harness], when: str) -> None:
    calls, inside, go_on = Calls(), threading.Event(), threading.Event()
    wf = flow()

    @wf.step(Effect.READ)
    def order(step: Step[Order]) -> None:
        inside.set()
        assert when != "during the step before" or go_on.wait(30)

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.READ)
    def ship(step: Step[Order]) -> int:
        calls.add("SHIP")
        return step.output(paid).amount

    h = harness(wf)
    if when == "before the run":
        assert pay(h, "o1", 5).state == "KEPT"
    run = h.start(wf, Order())
    if when == "before the worker":
        assert pay(h, "o1", 5).state == "KEPT"
    with h.worker():
        if when == "during the step before":
            assert inside.wait(30)
            assert pay(h, "o1", 5).state == "KEPT"
            go_on.set()
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(ship) == 5
    assert calls.count("SHIP") == 1
    assert pay(h, "o1", 5).run_id == run.id  # a repeat is told who has used it up


def test_an_event_older_than_the_look_back_is_not_taken(harness: type[Harness]) -> None:
    wf = flow()

    @wf.wait_for(PAID, timeout=10 * DAY, on_timeout=Then.FAIL, look_back=DAY)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    h = harness(wf)
    pay(h, "o1", 1)
    h.advance(2 * 86_400)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    pay(h, "o1", 2)
    assert work(h, run, RunStatus.SUCCESS).output(paid).amount == 2


def journey(calls: Calls, **options: object) -> Workflow[Order]:
    """Three bookings that can be undone, and a last step that fails; `bad` undoes raise until they are told not to."""
    wf = flow(on_failure=Then.COMPENSATE, **options)
    wf.bad = set()  # type: ignore[attr-defined]

    def booking(name: str) -> None:
        @wf.step(Effect.CREATE, name=name, evidence="the ledger")
        def book(step: Step[Order]) -> str:
            calls.add(name)
            return f"{name.lower()}-1"

        @book.compensate(Risk.LOW)
        def cancel(step: Step[Order], booked: str, mark: Mark) -> None:
            calls.add(f"UNDO {name}", (booked, step.key, step.cause))
            with mark:
                if name in wf.bad:  # type: ignore[attr-defined]
                    raise StepFailed("the hotel does not answer", code="NO_ANSWER")

    for name in ("FLIGHT", "HOTEL", "CAR"):
        booking(name)

    @wf.step(Effect.READ)
    def check(step: Step[Order]) -> None:
        calls.add("CHECK")
        raise StepFailed("no visa", code="NO_VISA")

    return wf


def undone(calls: Calls) -> list[str]:
    return [name.removeprefix("UNDO ") for name, _ in calls.made if name.startswith("UNDO ")]


def test_compensation_undoes_in_reverse_order_with_each_steps_own_output_and_the_cause(harness: type[Harness]) -> None:
    calls = Calls()
    wf = journey(calls)
    h = harness(wf)
    run = h.start(wf, Order())
    ended = work(h, run, RunStatus.COMPENSATED)
    assert undone(calls) == ["CAR", "HOTEL", "FLIGHT"]
    why = Failure("CHECK", "NO_VISA", "no visa")
    assert [detail for name, detail in calls.made if name.startswith("UNDO ")] == [
        (f"{name.lower()}-1", f"{run.id}:{name}:undo", why) for name in ("CAR", "HOTEL", "FLIGHT")
    ]
    assert ended.failure is not None
    assert ended.failure.code == "NO_VISA"
    names = h.journal(run)
    assert names.count("compensation.completed") == 3
    assert names.index("workflow.compensating") < names.index("compensation.started")
    assert names[-1] == "workflow.compensated"


def test_an_undo_that_fails_leaves_the_others_going_on_and_can_be_retried_alone(harness: type[Harness]) -> None:
    calls = Calls()
    wf = journey(calls)
    wf.bad.add("HOTEL")  # type: ignore[attr-defined]
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.MANUAL_REQUIRED)
    assert undone(calls) == ["CAR", "HOTEL", "FLIGHT"]
    hotel = h.record(run, "HOTEL", UNDO)
    assert (hotel.status, hotel.code, hotel.asks) == (RecordStatus.FAILED, "NO_ANSWER", "owner")
    assert ("HOTEL", "NO_ANSWER") in told(h, run, "INCIDENT")
    assert [(one.step, one.kind, one.asked) for one in h.app.control.inbox()] == [("HOTEL", "COMPENSATION", "DECISION")]
    wf.bad.clear()  # type: ignore[attr-defined]
    h.app.control.retry(run.id, "HOTEL", actor="kim", reason="the hotel is open again")
    assert h.status(run) is RunStatus.COMPENSATING
    work(h, run, RunStatus.COMPENSATED)
    assert undone(calls) == ["CAR", "HOTEL", "FLIGHT", "HOTEL"]


def test_a_person_may_accept_what_could_not_be_undone(harness: type[Harness]) -> None:
    calls = Calls()
    wf = journey(calls)
    wf.bad.add("HOTEL")  # type: ignore[attr-defined]
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.MANUAL_REQUIRED)
    h.app.control.skip(run.id, "HOTEL", actor="kim", reason="the guest goes anyway")
    assert h.status(run) is RunStatus.COMPENSATED
    assert h.record(run, "HOTEL").effect is Happened.HAPPENED
    assert audits(h, run) == [("kim", "skip")]


def test_a_cancel_while_the_run_waits_ends_it_at_once(harness: type[Harness]) -> None:
    calls = Calls()
    wf = selling(calls)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    assert h.app.control.cancel(run.id, actor="kim", reason="no longer wanted").after is RunStatus.CANCELLED
    [wait] = waits(h, run)
    assert wait.how == "CLOSED"
    sent = pay(h, "order-o1")
    assert (sent.state, sent.closed_run) == ("NOT_DELIVERABLE", run.id)
    assert h.record(run, "PAID").status is RecordStatus.SKIPPED
    assert h.app.control.resume(run.id, actor="kim", reason="wanted after all").after is RunStatus.RUNNING
    work(h, run, RunStatus.SUCCESS)  # the event was kept, and the wait begins anew
    assert calls.count("ORDER") == 1


def waiting_journey(calls: Calls, **options: object) -> Workflow[Order]:
    """A booking that can be undone, and then a wait."""
    wf = flow(**options)

    @wf.step(Effect.CREATE, evidence="the ledger")
    def flight(step: Step[Order]) -> str:
        calls.add("FLIGHT")
        return "flight-1"

    @flight.compensate(Risk.LOW)
    def cancel(step: Step[Order], booked: str) -> None:
        calls.add("UNDO FLIGHT", step.cause)

    @wf.wait_for(PAID, timeout=30 * DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.READ)
    def ship(step: Step[Order]) -> None:
        calls.add("SHIP")

    return wf


def test_a_cancel_with_compensation_undoes_what_is_done(harness: type[Harness]) -> None:
    calls = Calls()
    wf = waiting_journey(calls)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.app.control.cancel(run.id, actor="kim", reason="ordered twice", undo=True)
    work(h, run, RunStatus.COMPENSATED)
    assert calls.made == [("FLIGHT", None), ("UNDO FLIGHT", Failure("", "CANCEL", ""))]
    with pytest.raises(Conflict, match="already ended"):
        h.app.control.cancel(run.id, actor="kim", reason="again", undo=True)
    assert pay(h, "o1").state == "NOT_DELIVERABLE"
    assert h.status(run) is RunStatus.COMPENSATED


def test_a_cancel_without_compensation_keeps_what_is_done_until_somebody_orders_the_undo(harness: type[Harness]) -> None:
    calls = Calls()
    wf = waiting_journey(calls)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    assert h.app.control.cancel(run.id, actor="kim", reason="ordered twice").after is RunStatus.CANCELLED
    assert undone(calls) == []
    h.app.control.compensate(run.id, actor="kim", reason="give the seat back")
    work(h, run, RunStatus.COMPENSATED)
    assert undone(calls) == ["FLIGHT"]


@pytest.mark.parametrize("then", [Then.COMPENSATE, Then.EXPIRE, Then.MANUAL])
def test_a_deadline_that_passes_while_the_run_waits_follows_its_policy(harness: type[Harness], then: Then) -> None:
    calls = Calls()
    wf = waiting_journey(calls, past_deadline=then)
    h = harness(wf)
    run = h.start(wf, Order(), deadline=datetime.now(UTC) + DAY)
    work(h, run, RunStatus.WAITING)
    h.advance(2 * 86_400)
    expected = {
        Then.COMPENSATE: RunStatus.COMPENSATED, Then.EXPIRE: RunStatus.EXPIRED, Then.MANUAL: RunStatus.MANUAL_REQUIRED,
    }[then]  # fmt: skip
    work(h, run, expected)
    assert undone(calls) == (["FLIGHT"] if then is Then.COMPENSATE else [])
    assert calls.count("SHIP") == 0
    assert pay(h, "o1").state == "NOT_DELIVERABLE"


def test_the_run_timeout_does_not_count_the_time_that_the_run_waits(harness: type[Harness]) -> None:
    calls, inside, go_on = Calls(), threading.Event(), threading.Event()
    wf = flow(timeout=timedelta(hours=1))

    @wf.wait_for(PAID, timeout=300 * DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.READ)
    def ship(step: Step[Order]) -> None:
        inside.set()
        assert go_on.wait(30)

    @wf.step(Effect.READ)
    def tell(step: Step[Order]) -> None:
        calls.add("TELL")

    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.advance(100 * 86_400)
    with h.worker():
        pay(h, "o1")
        assert inside.wait(30)
        left = h.app.store.reading.detail(run.id)
        assert left.run.timeout_at is not None
        assert 0 < left.run.timeout_at - left.now <= 3600 * 1_000_000
        h.advance(3601)  # but the time that it works does count
        until(lambda: "workflow.timed_out" in h.journal(run))
        go_on.set()
        reach(h, run, RunStatus.FAILED)
    assert calls.count("TELL") == 0


def test_a_corrected_input_is_never_taken_and_then_ignored(harness: type[Harness]) -> None:
    """An undo, and what a person has settled, go on from the input as it was: saying otherwise is refused."""
    calls = Calls()
    wf = journey(calls)
    wf.bad.add("HOTEL")  # type: ignore[attr-defined]
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.MANUAL_REQUIRED)
    with pytest.raises(Conflict, match="the compensation of HOTEL is FAILED, and goes on from the present input"):
        h.app.control.retry(run.id, "HOTEL", actor="kim", reason="another input", input=Order().model_dump_json())
    doubtful = flow("DOUBTFUL")

    @doubtful.step(Effect.CHANGE, evidence="the ledger")
    def pay(step: Step[Order], mark: Mark) -> None:
        with mark:
            raise TimeoutError("no answer")

    h = harness(doubtful)
    run = h.start(doubtful, Order())
    work(h, run, RunStatus.MANUAL_REQUIRED)
    with pytest.raises(Conflict, match="step PAY is UNKNOWN, and goes on from the present input"):
        h.app.control.retry(
            run.id,
            "PAY",
            actor="kim",
            reason="another input",
            input=Order().model_dump_json(),
            not_happened=True,
            gone=True,
            evidence="seen",
        )


def test_a_run_that_has_stopped_as_a_whole_is_in_the_inbox_of_its_owner(harness: type[Harness]) -> None:
    wf = flow(past_deadline=Then.MANUAL)

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> None:
        raise RetryLater("nothing yet", after=timedelta(hours=2))

    h = harness(wf)
    run = h.start(wf, Order(), deadline=datetime.now(UTC) + timedelta(hours=1))
    with h.worker():
        until(lambda: h.record(run, "LOOK") is not None and h.record(run, "LOOK").failures)
        h.advance(3601)
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
    [entry] = h.app.control.inbox(role="owner")
    assert (entry.run, entry.step, entry.kind, entry.asked, entry.role) == (run.id, "", "RUN", "DECISION", "owner")
    assert [one.command for one in entry.next if one.command]
    assert h.app.control.inbox(role="somebody") == ()
