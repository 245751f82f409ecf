"""Business records (R-J2): while nobody knows what a CHANGE has done to one, no other run changes it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from halfway import Absent, CannotTell, Effect, Found, Mark, Retry, RetryLater, Risk, RunStatus, Step, StepFailed, Then, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.errors import Conflict
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, UNDO, execute, reach, work

SOON = Retry(3, wait=timedelta(milliseconds=10))
LOST = TimeoutError("no answer")


def changing(calls: Calls, answer: Any = None, ends: Mapping[str, Exception] | None = None, **options: Any) -> Workflow[Order]:
    """Changes the record of the customer before the dash; the first attempt of a run may end like this."""
    wf = flow(**options)
    how = {"c-1": LOST} if ends is None else ends

    @wf.step(Effect.CHANGE, record=lambda step: step.input.id.split("-")[0], evidence="the ledger", retry=SOON)
    def change(step: Step[Order], mark: Mark) -> str:
        n = calls.add(step.input.id)
        with mark:
            if n == 1 and step.input.id in how:
                raise how[step.input.id]
        return step.input.id

    if answer is not None:

        @change.probe(settle=timedelta(0))
        def look(step: Step[Order]) -> Any:
            return answer

    wf.change = change  # type: ignore[attr-defined]
    return wf


def holders(h: Harness) -> list[tuple[str, str]]:
    return [(key, holder) for key, holder in h.app.store.attention.holds()]


def kept_waiting(h: Harness, calls: Calls, run: Any) -> None:
    """The run has asked for the record again and again, and has changed nothing."""
    until(lambda: h.record(run, "CHANGE") is not None and h.record(run, "CHANGE").attempts >= 1)
    until(lambda: h.record(run, "CHANGE").code == "RECORD_HELD")
    assert "step.completed" not in h.journal(run)


def in_doubt(h: Harness, wf: Workflow[Order], **options: Any) -> Any:
    """A run whose change nobody knows about."""
    run = h.start(wf, Order(id="c-1"), **options)
    reach(h, run, RunStatus.MANUAL_REQUIRED)
    assert [holder for _, holder in holders(h)] == [f"{run.id}:CHANGE"]
    return run


@pytest.mark.parametrize("happened", [True, False])
def test_a_change_in_doubt_keeps_others_from_its_record_until_the_owner_has_settled_it(harness: type[Harness], happened: bool) -> None:
    calls = Calls()
    wf = changing(calls)
    h = harness(wf)
    with h.worker():
        first = in_doubt(h, wf)
        second, stranger = h.start(wf, Order(id="c-2")), h.start(wf, Order(id="d-1"))
        reach(h, stranger, RunStatus.SUCCESS)
        kept_waiting(h, calls, second)
        if happened:
            h.app.control.mark_success(first.id, "CHANGE", actor="kim", reason="seen", evidence="log", output='"c-1"')
        else:
            h.app.control.retry(first.id, "CHANGE", actor="kim", reason="not there", not_happened=True, evidence="log")
        reach(h, first, RunStatus.SUCCESS)
        h.advance(2)
        reach(h, second, RunStatus.SUCCESS)
    assert holders(h) == []
    assert h.record(second, "CHANGE").failures == 0  # waiting for the record cost it none of its attempts


@pytest.mark.parametrize("how", ["cancel", "deadline"])
def test_a_change_in_doubt_holds_its_record_also_when_its_run_is_to_stop(harness: type[Harness], how: str) -> None:
    calls = Calls()
    wf = changing(calls)
    h = harness(wf)
    with h.worker():
        first = in_doubt(h, wf, **({"deadline": datetime.now(UTC) + DAY} if how == "deadline" else {}))
        if how == "cancel":
            h.app.control.cancel(first.id, actor="kim", reason="stop")
        else:
            h.advance(2 * 86_400)
            until(lambda: "workflow.deadline_passed" in h.journal(first))
        assert h.status(first) is RunStatus.MANUAL_REQUIRED  # nobody knows yet
        second = h.start(wf, Order(id="c-2"))
        kept_waiting(h, calls, second)
        h.app.control.retry(first.id, "CHANGE", actor="kim", reason="not there", not_happened=True, evidence="log")
        reach(h, first, RunStatus.CANCELLED if how == "cancel" else RunStatus.EXPIRED)
        h.advance(2)
        reach(h, second, RunStatus.SUCCESS)
    assert calls.count("c-1") == 1
    assert holders(h) == []


def test_the_owner_may_open_a_record_while_the_step_stays_in_doubt(harness: type[Harness]) -> None:
    calls = Calls()
    wf = changing(calls)
    h = harness(wf)
    with h.worker():
        first = in_doubt(h, wf)
        second = h.start(wf, Order(id="c-2"))
        kept_waiting(h, calls, second)
        with pytest.raises(Exception, match="evidence"):
            h.app.control.release(first.id, "CHANGE", actor="kim", reason="urgent", evidence="")
        h.app.control.release(first.id, "CHANGE", actor="kim", reason="urgent", evidence="both orders touch different fields")
        h.advance(2)
        reach(h, second, RunStatus.SUCCESS)
        assert h.record(first, "CHANGE").status is RecordStatus.UNKNOWN
        assert h.status(first) is RunStatus.MANUAL_REQUIRED
        h.app.control.mark_success(first.id, "CHANGE", actor="kim", reason="seen", evidence="log", output='"c-1"')
        reach(h, first, RunStatus.SUCCESS)
        with pytest.raises(Conflict, match="holds no business record"):
            h.app.control.release(first.id, "CHANGE", actor="kim", reason="again", evidence="x")


@pytest.mark.parametrize("answer", [Found("c-1"), Absent(), CannotTell("?")], ids=["found", "absent", "cannot tell"])
def test_a_probe_that_finds_the_change_frees_the_record_and_one_that_does_not_leaves_it_to_the_owner(
    harness: type[Harness], answer: Any
) -> None:
    calls = Calls()
    wf = changing(calls, answer)
    h = harness(wf)
    run = h.start(wf, Order(id="c-1"))
    if isinstance(answer, Found):
        work(h, run, RunStatus.SUCCESS)
        assert holders(h) == []
    else:  # a change that is not seen may have been overwritten
        work(h, run, RunStatus.MANUAL_REQUIRED)
        assert [holder for _, holder in holders(h)] == [f"{run.id}:CHANGE"]
    assert calls.count("c-1") == 1


@pytest.mark.parametrize("error", [RetryLater("busy"), ConnectionRefusedError("closed"), StepFailed("refused")])
def test_a_change_that_provably_did_not_happen_frees_its_record(harness: type[Harness], error: Exception) -> None:
    calls = Calls()
    wf = changing(calls, ends={"c-1": error})
    h = harness(wf)
    run = h.start(wf, Order(id="c-1"))
    work(h, run, RunStatus.FAILED if isinstance(error, StepFailed) else RunStatus.SUCCESS)
    assert holders(h) == []


def test_a_run_that_waits_for_a_record_can_be_cancelled(harness: type[Harness]) -> None:
    calls = Calls()
    wf = changing(calls)
    h = harness(wf)
    with h.worker():
        first = in_doubt(h, wf)
        second = h.start(wf, Order(id="c-2"))
        kept_waiting(h, calls, second)
        h.app.control.cancel(second.id, actor="kim", reason="too late")
        reach(h, second, RunStatus.CANCELLED)
    assert [holder for _, holder in holders(h)] == [f"{first.id}:CHANGE"]


def test_the_undo_of_a_change_takes_the_record_too(harness: type[Harness]) -> None:
    calls, inside, go_on = Calls(), threading.Event(), threading.Event()
    wf = flow(on_failure=Then.COMPENSATE)

    @wf.step(Effect.CHANGE, record=lambda step: "c", evidence="the ledger", retry=SOON)
    def change(step: Step[Order]) -> str:
        calls.add(f"CHANGE {step.input.id}")
        return step.input.id

    @change.compensate(Risk.HIGH, evidence="the ledger")
    def back(step: Step[Order], made: str) -> None:
        calls.add(f"BACK {step.input.id}")
        inside.set()
        assert go_on.wait(30)

    @wf.step(Effect.READ)
    def check(step: Step[Order]) -> None:
        if step.input.id == "bad":
            raise StepFailed("no")

    h = harness(wf)
    with h.worker():
        first = h.start(wf, Order(id="bad"))
        reach(h, first, RunStatus.MANUAL_REQUIRED)
        h.app.control.approve(first.id, "CHANGE", actor="kim", reason="go")
        assert inside.wait(30)
        second = h.start(wf, Order(id="good"))
        until(lambda: h.record(second, "CHANGE") is not None and h.record(second, "CHANGE").code == "RECORD_HELD")
        assert calls.count("CHANGE good") == 0
        go_on.set()
        reach(h, first, RunStatus.COMPENSATED)
        h.advance(2)
        reach(h, second, RunStatus.SUCCESS)
    assert h.record(first, "CHANGE", UNDO).status is RecordStatus.SUCCESS
    assert execute(h.url, "select count(*) from halfway_lease") == [(0,)]


def test_a_record_without_a_usable_name_proves_that_nothing_was_done(harness: type[Harness]) -> None:
    """What goes wrong before the body is called is no lost answer."""
    calls, wf = Calls(), flow()

    @wf.step(Effect.CHANGE, record=lambda step: "", evidence="the ledger", retry=Retry(1))
    def change(step: Step[Order], mark: Mark) -> None:
        calls.add("CHANGE")
        with mark:
            pass

    h = harness(wf)
    run = h.run(wf, Order())
    record = h.record(run, "CHANGE")
    assert (run.status, record.code, record.effect, calls.made) == (RunStatus.FAILED, "KEY_INVALID", "none", [])
