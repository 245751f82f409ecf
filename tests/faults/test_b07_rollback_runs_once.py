"""B07: a run is undone once, whatever arrives while that begins; and an undo whose answer is lost follows the rule of every other step."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from halfway import Absent, Effect, Found, Risk, RunStatus, Step, Then, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Kind
from halfway.errors import Conflict
from halfway.testing import HoldAt, Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, UNDO, pay, reach, work
from tests.faults.checks import all_is_well
from tests.faults.zombies import without_sweep

REPEATS = 500
LATE = 2 * 86_400


def booking(undo: Callable[[str], Any], probe: Callable[[str], Any] | None = None, *, idempotent: bool = False) -> Workflow[Order]:
    """Two bookings, then a wait that the deadline ends."""
    wf = flow(past_deadline=Then.COMPENSATE)
    look = None if probe is None else lambda step, made: probe(step.key)

    for name in ("A", "B"):

        @wf.step(Effect.CREATE, name=name, evidence="the ledger")
        def book(step: Step[Order]) -> str:
            return step.key

        @book.compensate(Risk.LOW, probe=look, idempotent=idempotent, evidence="the ledger")
        def free(step: Step[Order], made: str) -> None:
            undo(step.key)

    @wf.wait_for(PAID, timeout=30 * DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.READ)
    def ship(step: Step[Order]) -> None:
        undo("SHIP")

    return wf


def waiting_run(h: Harness, wf: Workflow[Order], id: str = "o1") -> Any:
    run = h.start(wf, Order(id=id), deadline=datetime.now(UTC) + DAY)
    work(h, run, RunStatus.WAITING)
    return run


def undone_once(h: Harness, run: Any) -> None:
    """One compensation record for each completed step, with one attempt."""
    detail = h.app.store.reading.detail(run.id)
    records = [one.record for one in detail.records if one.record.key.kind is Kind.COMPENSATION]
    assert sorted(record.key.step for record in records) == ["A", "B"]
    assert {(record.status, record.attempts) for record in records} == {(RecordStatus.SUCCESS, 1)}
    assert h.journal(run).count("workflow.compensating") == 1


@pytest.mark.parametrize("late", ["event", "resume", "cancel", "compensate"])
def test_what_arrives_while_the_deadline_starts_the_undo_is_refused(harness: type[Harness], late: str) -> None:
    """B07: the pump has decided to undo and is held before its commit; what comes meanwhile is told afterwards."""
    calls = Calls()
    wf = booking(calls.add)
    hold = HoldAt("pump.before_commit")
    h, held = harness(wf), harness(wf, points=hold)
    run = waiting_run(h, wf)
    h.advance(LATE)
    orders: dict[str, Callable[[], Any]] = {
        "event": lambda: pay(h, "o1"),
        "resume": lambda: h.app.control.resume(run.id, actor="kim", reason="go on"),
        "cancel": lambda: h.app.control.cancel(run.id, actor="kim", reason="stop", undo=True),
        "compensate": lambda: h.app.control.compensate(run.id, actor="kim", reason="undo"),
    }
    with without_sweep(held), ThreadPoolExecutor(1) as pool:
        hold.wait()
        ordered = pool.submit(orders[late])
        with pytest.raises(TimeoutError):
            ordered.result(0.2)
        hold.release()
        if late == "event":
            assert ordered.result(30).state == "NOT_DELIVERABLE"
        else:
            with pytest.raises(Conflict, match=r"being undone|deadline|undone already|already ended"):
                ordered.result(30)
        reach(h, run, RunStatus.COMPENSATED)
    assert calls.made == [(f"{run.id}:B:undo", None), (f"{run.id}:A:undo", None)]
    undone_once(h, run)
    all_is_well(h, run, refused=int(late != "event"))


def test_an_event_that_comes_first_does_not_keep_the_deadline_from_undoing_once(harness: type[Harness]) -> None:
    """B07: the event holds the run, the deadline comes after it."""
    calls = Calls()
    wf = booking(calls.add)
    hold = HoldAt("event.before_commit")
    h, other = harness(wf), harness(wf, points=hold)
    run = waiting_run(h, wf)
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(pay, other, "o1")
        hold.wait()
        if h.url.startswith("postgres"):
            h.advance(LATE)
        hold.release()
        assert sending.result(30).state == "DELIVERED"
    if not h.url.startswith("postgres"):
        h.advance(LATE)
    work(h, run, RunStatus.COMPENSATED)
    assert calls.count("SHIP") == 0
    undone_once(h, run)
    all_is_well(h, run)


def test_two_workers_that_see_the_deadline_at_the_same_moment_undo_once(harness: type[Harness]) -> None:
    """B07, third test: forced, the second looks while the first is held; and then at random."""
    calls = Calls()
    wf = booking(calls.add)
    hold = HoldAt("pump.before_commit")
    h, held = harness(wf), harness(wf, points=hold)
    run = waiting_run(h, wf)
    h.advance(LATE)
    second = h.app.worker(slots=4)
    if h.url.startswith("postgres"):
        with without_sweep(held):
            hold.wait()
            second.start()
            until(lambda: second.pump is not None and second.pump.ticked > 0)
            hold.release()
            reach(h, run, RunStatus.COMPENSATED)
    else:
        with second:
            reach(h, run, RunStatus.COMPENSATED)
    second.stop()
    undone_once(h, run)
    deadline = datetime.now(UTC) + timedelta(seconds=LATE) + DAY
    runs = [h.start(wf, Order(id=f"r{n}"), deadline=deadline) for n in range(REPEATS)]
    with h.worker(), h.worker():
        until(lambda: h.app.control.counts().get("WAITING") == REPEATS)
        h.advance(LATE)
        until(lambda: not h.app.control.counts())
    for one in runs:
        undone_once(h, one)
    assert len(calls.made) == 2 * (REPEATS + 1)
    all_is_well(h, run, runs[0], runs[-1])


def dying(url: str, ledger: Ledger, **options: Any) -> list[Workflow[Order]]:
    """Its process dies when A is undone for the first time, after the ledger was written."""

    def undo(key: str) -> None:
        ledger.write("undo", key=key)
        if key.endswith(":A:undo") and ledger.count(key=key) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    return [booking(undo, **options)]


def without_probe(url: str, ledger: Ledger) -> list[Workflow[Order]]:
    return dying(url, ledger)


def idempotent(url: str, ledger: Ledger) -> list[Workflow[Order]]:
    return dying(url, ledger, idempotent=True)


def with_probe(url: str, ledger: Ledger) -> list[Workflow[Order]]:
    return dying(url, ledger, probe=lambda key: Found(None) if ledger.count(key=key) else Absent())


@pytest.mark.parametrize("kind", ["without_probe", "idempotent", "with_probe"])
def test_an_undo_whose_worker_dies_after_its_effect_follows_the_rule_of_a_lost_answer(
    harness: type[Harness], url: str, tmp_path: Path, kind: str
) -> None:
    """B07, second test."""
    ledger = Ledger(tmp_path / "ledger")
    h = harness(*globals()[kind](url, ledger))
    [wf] = h.app.workflows.values()
    run = waiting_run(h, wf)
    h.advance(LATE)
    with Worker(f"tests.faults.test_b07_rollback_runs_once:{kind}", url, ledger.path, ready=False) as doomed:
        assert doomed.wait() == -signal.SIGKILL
    with h.worker():
        if kind == "without_probe":
            reach(h, run, RunStatus.MANUAL_REQUIRED)
            assert h.record(run, "A", UNDO).status is RecordStatus.UNKNOWN
            h.app.control.mark_success(run.id, "A", actor="kim", reason="seen", evidence="the ledger")
        reach(h, run, RunStatus.COMPENSATED)
    assert ledger.count(key=f"{run.id}:B:undo") == 1
    assert ledger.count(key=f"{run.id}:A:undo") == (2 if kind == "idempotent" else 1)
    all_is_well(h, run, orders=int(kind == "without_probe"))
