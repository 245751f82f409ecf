"""What a worker finds and repairs by itself (R-D10): each broken state is put into the database, and one worker goes to work."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from halfway import Absent, Effect, Found, Mark, Retry, RetryLater, Risk, RunStatus, Step, StepFailed, Then, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, UNDO, Payment, execute, pay, reach, work


def reading(calls: Calls) -> Workflow[Order]:
    wf = flow()

    @wf.step(Effect.READ)
    def one(step: Step[Order]) -> None:
        calls.add("ONE")

    @wf.step(Effect.READ)
    def two(step: Step[Order]) -> None:
        calls.add("TWO")

    return wf


def dying(url: str, ledger: Ledger) -> list[Workflow[Order]]:
    """A process dies in the middle of CREATE, and another in the middle of its undo."""
    wf = flow(on_failure=Then.COMPENSATE)

    @wf.step(Effect.CREATE)
    def create(step: Step[Order]) -> str:
        ledger.write("create", key=step.key)
        if ledger.count(event="create", key=step.key) == 1 and step.input.id == "create":
            os.kill(os.getpid(), signal.SIGKILL)
        return "made"

    @create.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[str] | Absent:
        return Found("made") if ledger.count(event="create", key=step.key) else Absent()

    @create.compensate(Risk.LOW, probe=lambda step, made: Found(None) if ledger.count(event="undo", key=step.key) else Absent())
    def undo(step: Step[Order], made: str) -> None:
        ledger.write("undo", key=step.key)
        if ledger.count(event="undo", key=step.key) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    @wf.step(Effect.READ)
    def check(step: Step[Order]) -> None:
        if step.input.id != "create":
            raise StepFailed("no")

    return [wf]


@pytest.mark.parametrize(("id", "end"), [("create", RunStatus.SUCCESS), ("undo", RunStatus.COMPENSATED)])
def test_an_attempt_that_runs_without_a_worker_is_ended_and_its_outcome_found(
    harness: type[Harness], url: str, tmp_path: Path, id: str, end: RunStatus
) -> None:
    """RUNNING without a heartbeat; and COMPENSATING that stopped."""
    ledger = Ledger(tmp_path / "ledger")
    h = harness(*dying(url, ledger))
    [wf] = h.app.workflows.values()
    run = h.start(wf, Order(id=id))
    with Worker("tests.engine.test_reconciler:dying", url, ledger.path, ready=False) as doomed:
        assert doomed.wait() == -signal.SIGKILL
    assert h.status(run) is (RunStatus.RUNNING if id == "create" else RunStatus.COMPENSATING)
    work(h, run, end)
    assert ledger.count(event="create") == 1
    assert ledger.count(event="undo") == int(id == "undo")


def test_a_run_of_which_nothing_runs_or_can_run_is_moved_on(harness: type[Harness], url: str) -> None:
    """RUNNING, but its next step was never made ready."""
    calls = Calls()
    wf = reading(calls)
    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        reach(h, run, RunStatus.SUCCESS)
    for table in ("record", "attempt"):
        execute(url, f"delete from halfway_{table} where run_id = '{run.id}' and step = 'TWO'")
    execute(url, f"update halfway_run set status = 'RUNNING', ended_at = null where id = '{run.id}'")
    work(h, run, RunStatus.SUCCESS)
    assert (calls.count("ONE"), calls.count("TWO")) == (1, 2)


def test_a_run_whose_records_are_all_done_is_ended(harness: type[Harness], url: str) -> None:
    """RUNNING, but its end was never written."""
    calls = Calls()
    wf = reading(calls)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.SUCCESS)
    execute(url, f"update halfway_run set status = 'RUNNING', ended_at = null where id = '{run.id}'")
    work(h, run, RunStatus.SUCCESS)
    assert (calls.count("ONE"), calls.count("TWO")) == (1, 1)


def test_a_run_that_nobody_was_told_about_is_found(harness: type[Harness]) -> None:
    """PENDING without a signal: it was started by a program that has no worker."""
    calls = Calls()
    wf = reading(calls)
    h, other = harness(wf), harness(wf)
    with h.worker():
        reach(h, other.start(wf, Order()), RunStatus.SUCCESS)


def test_a_run_that_waits_for_a_resource_that_nobody_holds_is_given_it(harness: type[Harness], url: str) -> None:
    """PENDING, blocked, and the lease is gone without a word."""
    wf = flow(resource=lambda order: "r", key=False)

    @wf.step(Effect.READ)
    def only(step: Step[Order]) -> None: ...

    h = harness(wf)
    first, second = h.start(wf, Order(id="1")), h.start(wf, Order(id="2"))
    h.app.control.cancel(first.id, actor="kim", reason="no")
    execute(url, "delete from halfway_lease")
    work(h, second, RunStatus.SUCCESS)


def waiting() -> Workflow[Order]:
    child = flow("CHILD")

    @child.step(Effect.READ)
    def look(step: Step[Order]) -> None: ...

    wf = flow("PARENT")
    wf.child = child  # type: ignore[attr-defined]

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.wait_for(child, timeout=DAY, on_timeout=Then.FAIL)
    def other(step: Step[Order]) -> str:
        return step.input.id

    return wf


def test_a_wait_whose_event_is_here_is_ended_although_its_wake_is_gone(harness: type[Harness], url: str) -> None:
    """WAITING, but the event came and nobody was woken."""
    wf = waiting()
    h = harness(wf, wf.child)  # type: ignore[attr-defined]
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.app.send(PAID, Payment(), key="other", id="evt-1")
    execute(url, "update halfway_event set key = 'o1'")
    execute(url, "delete from halfway_wake")
    with h.worker():
        h.wait_for(run, "PAID", "SUCCESS")


def test_a_wait_for_a_run_that_has_ended_is_ended_although_its_wake_is_gone(harness: type[Harness], url: str) -> None:
    """WAITING on a run that has ended."""
    wf = waiting()
    h = harness(wf, wf.child)  # type: ignore[attr-defined]
    run = h.start(wf, Order())
    pay(h, "o1")
    with h.worker():
        h.wait_for(run, "OTHER", "WAITING")
    child = h.start(wf.child, Order())  # type: ignore[attr-defined]
    h.app.control.cancel(child.id, actor="kim", reason="no")
    execute(url, "delete from halfway_wake")
    assert h.status(run) is RunStatus.WAITING
    work(h, run, RunStatus.SUCCESS)


def test_a_doubt_that_nobody_looked_into_is_looked_into(harness: type[Harness]) -> None:
    """UNKNOWN: the worker was stopped before its probe looked."""
    calls = Calls()
    wf = flow()

    @wf.step(Effect.CREATE)
    def create(step: Step[Order], mark: Mark) -> str:
        calls.add("CREATE")
        with mark:
            raise TimeoutError("no answer")

    @create.probe(settle=timedelta(hours=1))
    def look(step: Step[Order]) -> Found[str] | Absent:
        return Found("made") if calls.add("LOOK") > 1 else Absent()

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: calls.count("LOOK") == 1)
        h.wait_for(run, "CREATE", "UNKNOWN")
    h.advance(3601)
    work(h, run, RunStatus.SUCCESS)
    assert calls.count("CREATE") == 1


def test_an_undo_that_nothing_will_move_is_moved_on(harness: type[Harness], url: str) -> None:
    """COMPENSATING, but the next undo was never made ready."""
    calls = Calls()
    wf = flow(on_failure=Then.COMPENSATE)

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order]) -> None: ...

    @create.compensate(Risk.LOW)
    def undo(step: Step[Order], made: None) -> None:
        calls.add("UNDO")

    @wf.step(Effect.READ)
    def check(step: Step[Order]) -> None:
        raise StepFailed("no")

    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.COMPENSATED)
    for table in ("record", "attempt"):
        execute(url, f"delete from halfway_{table} where run_id = '{run.id}' and kind = 'COMPENSATION'")
    execute(url, f"update halfway_run set status = 'COMPENSATING', ended_at = null where id = '{run.id}'")
    work(h, run, RunStatus.COMPENSATED)
    assert h.record(run, "CREATE", UNDO).status is RecordStatus.SUCCESS
    assert calls.count("UNDO") == 2


def test_a_failed_step_whose_retry_is_due_is_tried_again(harness: type[Harness]) -> None:
    """PENDING again after a failure: the worker that would have tried is gone."""
    calls = Calls()
    wf = flow()

    @wf.step(Effect.READ, retry=Retry(3, wait=timedelta(hours=1), max_wait=timedelta(hours=1)))
    def read(step: Step[Order]) -> None:
        if calls.add("READ") == 1:
            raise RetryLater("not yet")

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.record(run, "READ") is not None and h.record(run, "READ").failures == 1)
    h.advance(2 * 3600)
    work(h, run, RunStatus.SUCCESS)
    assert calls.count("READ") == 2


@pytest.mark.parametrize("what", ["deadline", "timeout"])
def test_a_run_whose_time_is_up_is_ended_although_no_worker_was_there(harness: type[Harness], what: str) -> None:
    options: dict[str, Any] = {"timeout": DAY} if what == "timeout" else {}
    calls = Calls()
    wf = flow(**options)

    @wf.step(Effect.READ, retry=Retry(2, wait=timedelta(days=3), max_wait=timedelta(days=3)))
    def read(step: Step[Order]) -> None:
        calls.add("READ")
        raise RetryLater("not yet")

    h = harness(wf)
    run = h.start(wf, Order(), **({} if what == "timeout" else {"deadline": datetime.now(UTC) + DAY}))
    with h.worker():
        until(lambda: h.record(run, "READ") is not None and h.record(run, "READ").failures == 1)
    h.advance(2 * 86_400)
    work(h, run, RunStatus.FAILED if what == "timeout" else RunStatus.EXPIRED)
    assert calls.count("READ") == 1
