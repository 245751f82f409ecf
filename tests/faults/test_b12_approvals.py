"""B12, decisions: silence is never a yes, a late answer is refused and audited, and of two answers the first one counts."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from halfway import Effect, RunStatus, Step, Then, Workflow
from halfway.errors import Conflict
from halfway.testing import HoldAt
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, reach, waits, work
from tests.faults.checks import all_is_well
from tests.faults.zombies import without_sweep

REPEATS = 500
LATE = 2 * 86_400


def asking(calls: Calls, on_expiry: Any = Then.CANCEL, on_reject: Any = Then.CANCEL) -> Workflow[Order]:
    wf = flow()

    @wf.approval("boss", expires=DAY, on_expiry=on_expiry, on_reject=on_reject)
    def agree(step: Step[Order]) -> str:
        return f"go on with {step.input.id}?"

    @wf.step(Effect.CREATE, evidence="the ledger")
    def go(step: Step[Order]) -> None:
        calls.add("GO", step.input.id)

    return wf


def answer(h: Harness, run: Any, what: str, actor: str) -> str:
    """What somebody hears who decides."""
    try:
        getattr(h.app.control, what)(run.id, "AGREE", actor=actor, reason="so I say")
    except Conflict as refused:
        return str(refused)
    return "taken"


def audit(h: Harness, run: Any) -> list[tuple[str, str, bool]]:
    return [(row.audit.actor, row.audit.action, row.audit.refused is None) for row in h.app.store.reading.audit(run.id)]


@pytest.mark.parametrize(
    ("then", "status"), [(Then.FAIL, RunStatus.FAILED), (Then.CANCEL, RunStatus.CANCELLED), (Then.MANUAL, RunStatus.MANUAL_REQUIRED)]
)
def test_silence_leads_to_the_declared_branch_and_never_to_a_yes(harness: type[Harness], then: Any, status: RunStatus) -> None:
    """B12: no answer until the deadline, then one that comes too late."""
    calls = Calls()
    wf = asking(calls, on_expiry=then)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.advance(LATE)
    work(h, run, status)
    assert [wait.how for wait in waits(h, run)] == ["TIMED_OUT"]
    assert "already decided" in answer(h, run, "approve", "kim")
    assert h.status(run) is status
    assert audit(h, run) == [("kim", "approve", False)]
    assert calls.made == []
    all_is_well(h, run, refused=1)


def test_an_answer_after_the_deadline_is_refused_even_before_anybody_has_noticed(harness: type[Harness]) -> None:
    """B12: no worker was there when the time was up."""
    calls = Calls()
    wf = asking(calls)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.advance(LATE)
    assert "is over" in answer(h, run, "approve", "kim")
    assert h.status(run) is RunStatus.WAITING
    assert audit(h, run) == [("kim", "approve", False)]
    work(h, run, RunStatus.CANCELLED)
    assert calls.made == []
    all_is_well(h, run, refused=1)


@pytest.mark.parametrize("first", ["approve", "reject"])
@pytest.mark.parametrize("second", ["approve", "reject"])
def test_a_second_answer_is_told_that_it_is_already_decided(harness: type[Harness], first: str, second: str) -> None:
    """B12: the same person twice."""
    calls = Calls()
    wf = asking(calls)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    assert answer(h, run, first, "kim") == "taken"
    assert "already decided" in answer(h, run, second, "kim")
    work(h, run, RunStatus.SUCCESS if first == "approve" else RunStatus.CANCELLED)
    assert "already decided" in answer(h, run, second, "kim")
    assert audit(h, run) == [("kim", first, True), ("kim", second, False), ("kim", second, False)]
    assert calls.count("GO") == int(first == "approve")
    all_is_well(h, run, orders=1, refused=2)


def test_an_order_that_is_given_twice_under_its_own_id_is_carried_out_once(harness: type[Harness]) -> None:
    """B12: a form that is sent twice."""
    wf = asking(Calls())
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.app.control.approve(run.id, "AGREE", actor="kim", reason="fine", action_id="click-1")
    with pytest.raises(Conflict) as repeated:
        h.app.control.approve(run.id, "AGREE", actor="kim", reason="fine", action_id="click-1")
    assert repeated.value.code == "ACTION_REPEATED"
    all_is_well(h, run, orders=1, refused=0)


@pytest.mark.parametrize(("first", "second"), [("approve", "reject"), ("reject", "approve")])
def test_of_two_opposite_answers_the_one_that_holds_the_run_counts(harness: type[Harness], first: str, second: str) -> None:
    """B12: forced in both orders."""
    calls = Calls()
    wf = asking(calls)
    hold = HoldAt("order.before_commit")
    h, other = harness(wf), harness(wf, points=hold)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(answer, other, run, first, "kim")
        hold.wait()
        late: Future[str] = pool.submit(answer, h, run, second, "lee")
        with pytest.raises(TimeoutError):
            late.result(0.2)
        hold.release()
        assert early.result(30) == "taken"
        assert "already decided" in late.result(30)
    work(h, run, RunStatus.SUCCESS if first == "approve" else RunStatus.CANCELLED)
    assert audit(h, run) == [("kim", first, True), ("lee", second, False)]
    assert calls.count("GO") == int(first == "approve")
    all_is_well(h, run, orders=1, refused=1)


def test_an_approval_that_meets_its_expiry_waits_for_it_and_is_refused(harness: type[Harness]) -> None:
    """B12: the pump is held before the commit that ends the wait."""
    calls = Calls()
    wf = asking(calls)
    hold = HoldAt("pump.before_commit")
    h, held = harness(wf), harness(wf, points=hold)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    h.advance(LATE)
    with without_sweep(held), ThreadPoolExecutor(1) as pool:
        hold.wait()
        late = pool.submit(answer, h, run, "approve", "kim")
        with pytest.raises(TimeoutError):
            late.result(0.2)
        hold.release()
        assert "already decided" in late.result(30)
        reach(h, run, RunStatus.CANCELLED)
    assert calls.made == []
    all_is_well(h, run, refused=1)


def test_many_pairs_of_opposite_answers_all_end_with_one_decision(harness: type[Harness]) -> None:
    """B12: many pairs at the same moment."""
    calls = Calls()
    wf = asking(calls)
    h = harness(wf)
    runs = list(h.app.start_many(wf, [Order(id=str(n)) for n in range(REPEATS)]))
    with h.worker():
        until(lambda: h.app.control.counts().get("WAITING") == REPEATS)
    with ThreadPoolExecutor(2) as pool:
        yes = pool.map(lambda run: answer(h, run, "approve", "kim"), runs)
        no = pool.map(lambda run: answer(h, run, "reject", "lee"), reversed(runs))
        heard = list(zip(runs, yes, reversed(list(no)), strict=True))
    with h.worker():
        until(lambda: not h.app.control.counts())
    for run, approved, rejected in heard:
        assert [approved, rejected].count("taken") == 1
        assert h.status(run) is (RunStatus.SUCCESS if approved == "taken" else RunStatus.CANCELLED)
        assert sorted(taken for _, _, taken in audit(h, run)) == [False, True]
    assert sorted(str(id) for _, id in calls.made) == sorted(run.input.id for run, approved, _ in heard if approved == "taken")
    all_is_well(h, runs[0], runs[-1], orders=2, refused=2)
