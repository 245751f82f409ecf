"""B18: whatever brings a run forward again, what is done is not done again, and its outputs are those of the first time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Mark, Retry, Run, RunStatus, Step, Workflow
from halfway.errors import Conflict
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.faults.checks import all_is_well

FLOWS = "tests.faults.test_b18_retry_from_the_middle:flows"
SOON = Retry(3, wait=timedelta(milliseconds=10))


def four_steps(ledger: Ledger, third: Callable[[Step[Order], Mark], str]) -> Workflow[Order]:
    """Every step writes what it got from those before it; READs give another value each time."""
    wf = flow(retry=SOON)

    @wf.step(Effect.READ)
    def one(step: Step[Order]) -> str:
        ledger.write("ONE")
        return os.urandom(8).hex()

    @wf.step(Effect.CREATE, evidence="the ledger")
    def two(step: Step[Order]) -> str:
        ledger.write("TWO")
        return f"{step.output(one)}-2"

    @wf.step(Effect.CHANGE, evidence="the ledger", name="THREE")
    def three(step: Step[Order], mark: Mark) -> str:
        ledger.write("THREE", got=[step.output(one), step.output(two)], attempt=step.attempt)
        return third(step, mark)

    @wf.step(Effect.READ)
    def four(step: Step[Order]) -> list[str]:
        ledger.write("FOUR", got=[step.output(one), step.output(two)])
        return [step.output(one), step.output(two), step.output(three)]

    return wf


def done_once(h: Harness, run: Run[Order], ledger: Ledger, *, third: int) -> None:
    """One and two ran once, and everything after them has read what they returned then."""
    tally = ledger.tally()
    assert (tally["ONE"], tally["TWO"], tally["THREE"], tally["FOUR"]) == (1, 1, third, 1)
    outputs = {one.record.key.step: one.output for one in h.app.store.reading.detail(run.id).records}
    first = str(outputs["ONE"]).strip('"')
    assert outputs["TWO"] == f'"{first}-2"'
    assert all(line["got"] == [first, f"{first}-2"] for line in ledger.lines() if "got" in line)


def test_automatic_retries_repeat_only_the_step_that_failed(harness: type[Harness], ledger: Ledger) -> None:
    """B18 a."""

    def third(step: Step[Order], mark: Mark) -> str:
        if step.attempt <= 2:
            raise RuntimeError("not yet")
        with mark:
            return "3"

    wf = four_steps(ledger, third)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    done_once(h, run, ledger, third=3)
    all_is_well(h, run)


def failing(ledger: Ledger, times: int) -> Workflow[Order]:
    def third(step: Step[Order], mark: Mark) -> str:
        if step.attempt <= times:
            raise RuntimeError("not yet")
        with mark:
            return "3"

    return four_steps(ledger, third)


@pytest.mark.parametrize("order", ["retry", "resume"])
def test_an_operators_retry_repeats_only_the_step_that_failed(harness: type[Harness], ledger: Ledger, order: str) -> None:
    """B18 b: the attempts were used up."""
    wf = failing(ledger, 3)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    if order == "retry":
        h.app.control.retry(run.id, "THREE", actor="kim", reason="it is back")
    else:
        h.app.control.resume(run.id, actor="kim", reason="it is back")
    assert h.drain(run).status is RunStatus.SUCCESS
    assert h.record(run, "THREE").attempts == 4  # numbers go on
    done_once(h, run, ledger, third=4)
    all_is_well(h, run, orders=1)


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """For a worker process that is killed in step three, before its effect has begun."""

    def third(step: Step[Order], mark: Mark) -> str:
        until(lambda: step.attempt > 1 or ledger.count(event="GO_ON"), "it is killed")
        with mark:
            return "3"

    return [four_steps(ledger, third)]


def test_a_kill_during_a_step_repeats_only_that_step(harness: type[Harness], url: str, ledger: Ledger) -> None:
    """B18 c."""
    [wf] = flows(url, ledger)
    h = harness(wf)
    run = h.start(wf, Order())
    with Worker(FLOWS, url, ledger.path) as worker:
        until(lambda: ledger.count(event="THREE") == 1)
        worker.kill()
    assert h.drain(run).status is RunStatus.SUCCESS
    assert h.record(run, "THREE").lost == 1
    done_once(h, run, ledger, third=2)
    all_is_well(h, run)


def test_another_worker_goes_on_where_a_person_has_answered(harness: type[Harness], ledger: Ledger) -> None:
    """B18 d: it waited for a person, and its first worker is gone."""

    def third(step: Step[Order], mark: Mark) -> str:
        with mark:
            raise TimeoutError("no answer")

    wf = four_steps(ledger, third)
    first, second = harness(wf), harness(wf)
    run = first.run(wf, Order())
    assert run.status is RunStatus.MANUAL_REQUIRED
    first.close()
    second.app.control.mark_success(run.id, "THREE", actor="kim", reason="seen", evidence="row 7", output='"3"')
    assert second.drain(run).status is RunStatus.SUCCESS
    epochs = {attempt.epoch for one in second.app.store.reading.detail(run.id).records for attempt in one.attempts}
    assert len(epochs) == 2
    done_once(second, run, ledger, third=1)
    all_is_well(second, run, orders=1)


def test_a_retry_that_is_ordered_by_many_at_once_is_carried_out_once(harness: type[Harness], ledger: Ledger) -> None:
    """B18 e."""
    wf = failing(ledger, 3)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    together = threading.Barrier(6)

    def press(n: int) -> bool:
        together.wait(30)
        try:
            h.app.control.retry(run.id, "THREE", actor=f"kim {n}", reason="it is back")
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(press, range(6))) == [False] * 5 + [True]
    assert h.drain(run).status is RunStatus.SUCCESS
    done_once(h, run, ledger, third=4)
    all_is_well(h, run, orders=1)


def test_a_retry_of_what_has_not_failed_is_refused_and_changes_nothing(harness: type[Harness], ledger: Ledger) -> None:
    """B18."""
    wf = failing(ledger, 0)
    h = harness(wf)
    run = h.start(wf, Order())
    for _ in range(2):  # before it has begun, and after it has succeeded
        before = h.app.store.reading.detail(run.id).run, h.journal(run)
        for step in ("ONE", "THREE"):
            with pytest.raises(Conflict):
                h.app.control.retry(run.id, step, actor="kim", reason="again")
        with pytest.raises(Conflict):
            h.app.control.resume(run.id, actor="kim", reason="again")
        assert (h.app.store.reading.detail(run.id).run, h.journal(run)) == before
        h.drain(run)
    done_once(h, run, ledger, third=1)
    all_is_well(h, run)
