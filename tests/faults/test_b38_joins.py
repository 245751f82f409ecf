"""B38: no join waits for a branch that can no longer come, and no branch that hangs hides the failure of another."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Retry, RetryLater, RunStatus, Step, StepFailed, Then, Workflow
from halfway.domain.lifecycle import FINAL, RecordStatus
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well


class Broken(StepFailed):
    """A branch fails."""


class Branches:
    """One is fine, one fails in the first of its three steps, and one hangs for as long as nobody tells it to stop."""

    def __init__(self, *, hears: bool = True) -> None:
        self.calls, self.told, self.go_on, self.hangs = Calls(), threading.Event(), threading.Event(), threading.Event()
        self.wf = wf = flow(key=False, retry=Retry(1))

        @wf.step(Effect.READ, after=[])
        def good(step: Step[Order]) -> str:
            return "good"

        @wf.step(Effect.READ, after=[])
        def one(step: Step[Order]) -> str:
            assert self.hangs.wait(30)
            raise Broken("the first of three")

        @wf.step(Effect.READ)
        def two(step: Step[Order]) -> str:
            self.calls.add("TWO")
            return step.output(one)

        @wf.step(Effect.READ)
        def three(step: Step[Order]) -> str:
            self.calls.add("THREE")
            return step.output(two)

        @wf.step(Effect.READ, after=[], timeout=timedelta(minutes=20))
        def hang(step: Step[Order]) -> str:
            self.hangs.set()
            until(lambda: step.cancel_requested, "it is told to stop")
            self.told.set()
            assert hears or self.go_on.wait(30)
            if hears:
                raise RetryLater("it was told to stop")
            return "in the end"

        @wf.step(Effect.READ, after=[good, three, hang])
        def join(step: Step[Order]) -> list[str]:
            self.calls.add("JOIN")
            return [step.output(good), step.output(three), step.output(hang)]


def test_a_required_branch_that_fails_tells_its_siblings_to_stop_and_decides_the_run(harness: type[Harness]) -> None:
    """B38, fail-fast."""
    branches = Branches()
    h = harness(branches.wf)
    run = h.run(branches.wf, Order())
    assert run.status is RunStatus.FAILED
    assert branches.told.is_set()
    assert branches.calls.made == []
    assert (h.record(run, "ONE").code, h.record(run, "HANG").code) == ("BROKEN", "RUN_FAILED")
    assert h.record(run, "JOIN") is None
    all_is_well(h, run)


def test_the_final_state_waits_for_a_sibling_that_goes_on_all_the_same(harness: type[Harness]) -> None:
    """B38: its result is kept, nothing new starts meanwhile, and a run is never over while something of it still runs."""
    branches = Branches(hears=False)
    h = harness(branches.wf)
    run = h.start(branches.wf, Order())
    with h.worker():
        until(branches.told.is_set)
        h.wait_for(run, "ONE", "FAILED")
        assert h.status(run) is RunStatus.RUNNING
        branches.go_on.set()
        until(lambda: h.status(run) in FINAL)
    assert h.status(run) is RunStatus.FAILED
    assert h.record(run, "HANG").status is RecordStatus.SUCCESS
    assert branches.calls.made == []
    all_is_well(h, run)


def optional(calls: Calls, *, at_least: int | None = None) -> tuple[Workflow[Order], Any]:
    """Three branches that may fail: two do, one of them late."""
    wf, late = flow(key=False, retry=Retry(1)), threading.Event()

    @wf.optional.step(Effect.READ, after=[])
    def first(step: Step[Order]) -> str:
        late.set()
        raise Broken("first")

    @wf.optional.step(Effect.READ, after=[])
    def second(step: Step[Order]) -> str:
        return "second"

    @wf.optional.step(Effect.READ, after=[])
    def third(step: Step[Order]) -> str:
        assert late.wait(30)
        raise Broken("third")

    options = {} if at_least is None else {"at_least": at_least}

    @wf.step(Effect.READ, after=[first, second, third], **options)
    def join(step: Step[Order]) -> list[str]:
        calls.add("JOIN")
        return [step.output(one) or f"missing: {step.missing(one)}" for one in (first, second, third)]

    return wf, join


def test_a_join_that_waits_for_all_fails_when_the_last_has_ended_and_every_error_is_told(harness: type[Harness]) -> None:
    """B38, wait-all."""
    calls = Calls()
    wf, _ = optional(calls, at_least=3)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    assert {name: h.record(run, name).code for name in ("FIRST", "SECOND", "THIRD", "JOIN")} == {
        "FIRST": "BROKEN", "SECOND": "", "THIRD": "BROKEN", "JOIN": "TOO_FEW_SUCCEEDED",
    }  # fmt: skip
    assert calls.made == []
    all_is_well(h, run)


def test_a_join_that_keeps_what_it_gets_sees_what_is_missing_and_where(harness: type[Harness]) -> None:
    """B38, keep-partial."""
    calls = Calls()
    wf, join = optional(calls)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.PARTIAL_SUCCESS
    assert run.output(join) == ["missing: BROKEN: first", "second", "missing: BROKEN: third"]
    all_is_well(h, run)


def test_a_branch_that_works_at_its_second_attempt_is_as_good_as_any(harness: type[Harness]) -> None:
    """B38, variant."""
    wf = flow(key=False, retry=Retry(2, wait=timedelta(milliseconds=5)))

    @wf.step(Effect.READ, after=[])
    def good(step: Step[Order]) -> int:
        return 1

    @wf.step(Effect.READ, after=[])
    def shaky(step: Step[Order]) -> int:
        if step.attempt == 1:
            raise RetryLater("once more")
        return step.attempt

    @wf.step(Effect.READ, after=[good, shaky])
    def join(step: Step[Order]) -> list[int]:
        return [step.output(good), step.output(shaky)]

    h = harness(wf)
    run = h.run(wf, Order())
    assert (run.status, run.output(join)) == (RunStatus.SUCCESS, [1, 2])
    all_is_well(h, run)


def test_branches_that_are_all_ruled_out_do_not_hold_up_their_join(harness: type[Harness]) -> None:
    """B38, variant."""
    wf = flow(key=False)

    @wf.when(lambda step: False).step(Effect.READ, after=[])
    def left(step: Step[Order]) -> int:
        return 1

    @wf.when(lambda step: False).step(Effect.READ, after=[])
    def right(step: Step[Order]) -> int:
        return 2

    @wf.step(Effect.READ, after=[left, right])
    def join(step: Step[Order]) -> list[int | None]:
        return [step.output(left), step.output(right)]

    h = harness(wf)
    run = h.run(wf, Order())
    assert (run.status, run.output(join)) == (RunStatus.SUCCESS, [None, None])
    all_is_well(h, run)


@pytest.mark.parametrize("then", [Then.FAIL, Then.MANUAL, Then.COMPENSATE])
def test_no_policy_says_success_over_a_required_branch_that_failed(harness: type[Harness], then: Any) -> None:
    """B38."""
    wf = flow(key=False, retry=Retry(1))

    @wf.optional.step(Effect.READ, after=[])
    def good(step: Step[Order]) -> int:
        return 1

    @wf.step(Effect.READ, after=[], on_failure=then)
    def bad(step: Step[Order]) -> int:
        raise Broken("no")

    @wf.step(Effect.READ, after=[good, bad])
    def join(step: Step[Order]) -> None:
        raise AssertionError("it never runs")

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is (RunStatus.MANUAL_REQUIRED if then is Then.MANUAL else RunStatus.FAILED)
    assert h.record(run, "JOIN") is None
    all_is_well(h, run)
