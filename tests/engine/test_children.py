"""R-E4: child runs. A parent hears of every one of them, a cancel and an undo pass down, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Effect, Retry, Risk, RunStatus, Step, StepFailed, Then, Workflow
from tests.engine.harness import Calls, Harness, Order, flow, until


class Batch(BaseModel):
    """The input of a child."""

    number: int
    of: str = "x"


class Ledger(Calls):
    """Calls, and which batches fail."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: set[int] = set()


def family(calls: Ledger, n: int = 3, *, key: bool = True, **options: Any) -> Any:
    batch = Workflow(
        "BATCH", Batch, version=1, owner="o", key=(lambda batch: f"{batch.of}:{batch.number}") if key else None, on_failure=Then.FAIL
    )

    @batch.step(Effect.CREATE, evidence="the ledger")
    def work(step: Step[Batch]) -> str:
        calls.add("WORK", step.input.number)
        return f"worked {step.input.number}"

    @work.compensate(Risk.LOW, idempotent=True)
    def unwork(step: Step[Batch], done: str) -> None:
        calls.add("UNWORK", step.input.number)

    @batch.step(Effect.READ, retry=Retry(1))
    def check(step: Step[Batch]) -> int:
        if step.input.number in calls.bad:
            raise StepFailed("bad")
        return step.input.number

    parent = flow("PARENT", key=False)

    @parent.children(batch, **options)
    def batches(step: Step[Order]) -> Iterator[Batch]:
        for number in range(n):
            yield Batch(number=number, of=step.input.id)

    @parent.step(Effect.READ, retry=Retry(1))
    def total(step: Step[Order]) -> dict[str, Any]:
        if step.input.id == "fails":
            raise StepFailed("no")
        found = step.output(batches)
        return {"total": found.total, "ok": found.succeeded, "failed": found.failed, "partial": found.partial,
                "outputs": list(found.outputs(work))}  # fmt: skip

    return parent, batch, batches, total


def children(h: Harness, run: Any) -> list[Any]:
    rows = h.app.store.reading.children(run.id, "BATCHES", 1, after=0, limit=1000)
    return [h.app.store.reading.detail(child).run for _, child in rows]


@pytest.mark.parametrize("key", [True, False])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_children_run_and_their_parent_goes_on_when_all_have_ended(harness: type[Harness], n: int, key: bool) -> None:
    calls = Ledger()
    parent, batch, _, total = family(calls, n, key=key)
    h = harness(parent, batch)
    run = h.run(parent, Order(id="a"))
    assert run.status is RunStatus.SUCCESS
    assert run.output(total) == {
        "total": n, "ok": n, "failed": 0, "partial": 0, "outputs": [f"worked {number}" for number in range(n)],
    }  # fmt: skip
    assert sorted(number for name, number in calls.made if name == "WORK") == list(range(n))


def test_a_failed_child_is_tried_again_alone_and_goes_on_where_it_failed(harness: type[Harness]) -> None:
    calls = Ledger()
    calls.bad = {1}
    parent, batch, _, total = family(calls, 3, partial_from=0.5)
    h = harness(parent, batch)
    run = h.run(parent, Order(id="a"))
    assert run.status is RunStatus.PARTIAL_SUCCESS
    assert run.output(total)["failed"] == 1
    calls.bad, calls.made = set(), []
    h.app.control.retry(run.id, "BATCHES", actor="kim", reason="mended")
    run = h.drain(run)
    assert run.status is RunStatus.SUCCESS
    assert calls.made == []  # what the child had done before stays done


def test_what_a_vain_listing_has_found_is_not_started(harness: type[Harness]) -> None:
    calls, tries = Ledger(), []
    batch = Workflow("BATCH", Batch, version=1, owner="o", key=None)

    @batch.step(Effect.READ)
    def work(step: Step[Batch]) -> int:
        calls.add("WORK", step.input.of)
        return step.input.number

    parent = flow("PARENT", key=False)

    @parent.children(batch)
    def batches(step: Step[Order]) -> Iterator[Batch]:
        tries.append(1)
        for number in range(3 if len(tries) > 1 else 600):
            yield Batch(number=number, of=f"try {len(tries)}")
        if len(tries) == 1:
            raise StepFailed("the list is not whole")

    h = harness(parent, batch)
    run = h.run(parent, Order(id="a"))
    assert run.status is RunStatus.FAILED
    h.app.control.resume(run.id, actor="kim", reason="the list is whole now")
    run = h.drain(run)
    assert run.status is RunStatus.SUCCESS
    assert [of for _, of in calls.made] == ["try 2"] * 3
    assert run.output(batches).total == 3


def test_runs_that_have_not_ended_well_are_told_with_their_parent(harness: type[Harness]) -> None:
    calls = Ledger()
    calls.bad = {1}
    parent, batch, _, _ = family(calls, 3, partial_from=0.5)
    h = harness(parent, batch)
    run = h.run(parent, Order(id="a"))
    shown = h.app.control.show(run.id)
    [bad] = [child for child in children(h, run) if child.status is RunStatus.FAILED]
    assert shown.relatives == ((), (("BATCHES", bad.id, RunStatus.FAILED),))
    assert shown.to_json()["childrenNotWell"] == [{"step": "BATCHES", "workflowRunId": bad.id, "status": "FAILED"}]
    below = h.app.control.show(bad.id)
    assert below.relatives == (((run.id, "BATCHES"),), ())
    assert below.to_json()["parents"] == [{"workflowRunId": run.id, "step": "BATCHES"}]


def test_without_thresholds_a_failed_child_fails_the_parent_and_a_resume_helps(harness: type[Harness]) -> None:
    calls = Ledger()
    calls.bad = {0}
    parent, batch, _, _ = family(calls, 2)
    h = harness(parent, batch)
    run = h.run(parent, Order(id="a"))
    assert run.status is RunStatus.FAILED
    calls.bad = set()
    h.app.control.resume(run.id, actor="kim", reason="mended")
    assert h.drain(run).status is RunStatus.SUCCESS


def test_a_child_that_succeeded_after_its_parent_failed_is_found(harness: type[Harness]) -> None:
    """B37 d."""
    calls = Ledger()
    calls.bad = {0}
    parent, batch, _, _ = family(calls, 1)
    h = harness(parent, batch)
    run = h.run(parent, Order(id="a"))
    assert run.status is RunStatus.FAILED
    calls.bad = set()
    [child] = children(h, run)
    with h.worker():
        h.app.control.resume(child.id, actor="kim", reason="mended")
        until(lambda: children(h, run)[0].status is RunStatus.SUCCESS)
        h.app.control.retry(run.id, "BATCHES", actor="kim", reason="it is done")
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    assert [number for name, number in calls.made if name == "WORK"] == [0]


def test_a_run_that_stands_under_the_key_of_a_child_is_waited_for_and_not_started(harness: type[Harness]) -> None:
    calls = Ledger()
    parent, batch, _, total = family(calls, 2)
    h = harness(parent, batch)
    standing = h.start(batch, Batch(number=1, of="a"))
    run = h.run(parent, Order(id="a"))
    assert run.status is RunStatus.SUCCESS
    assert run.output(total)["total"] == 2
    assert sorted(number for name, number in calls.made if name == "WORK") == [0, 1]
    assert standing.id in [child.id for child in children(h, run)]


@pytest.mark.parametrize("detached", [False, True])
def test_a_cancel_passes_down_unless_the_children_are_detached(harness: type[Harness], detached: bool) -> None:
    import threading

    calls, hold = Ledger(), threading.Event()
    parent, batch = flow("PARENT", key=False), Workflow("BATCH", Batch, version=1, owner="o", key=None)

    @batch.step(Effect.READ)
    def first(step: Step[Batch]) -> int:
        calls.add("FIRST")
        hold.wait(20)
        return 1

    @batch.step(Effect.READ)
    def second(step: Step[Batch]) -> int:
        return calls.add("SECOND")

    @parent.children(batch, detached=detached)
    def batches(step: Step[Order]) -> list[Batch]:
        return [Batch(number=number) for number in range(3)]

    h = harness(parent, batch)
    run = h.start(parent, Order())
    with h.worker():
        until(lambda: len(calls.made) == 3)
        h.app.control.cancel(run.id, actor="kim", reason="stop")
        if detached:
            until(lambda: h.status(run) is RunStatus.CANCELLED)
        else:
            until(lambda: all(child.status is RunStatus.CANCEL_REQUESTED for child in children(h, run)))
            assert h.status(run) is RunStatus.CANCEL_REQUESTED
        hold.set()
        wanted = RunStatus.SUCCESS if detached else RunStatus.CANCELLED
        until(lambda: all(child.status is wanted for child in children(h, run)))
        until(lambda: h.status(run) is RunStatus.CANCELLED)
    assert len([1 for name, _ in calls.made if name == "SECOND"]) == (3 if detached else 0)


def test_an_undo_passes_down_to_every_child(harness: type[Harness]) -> None:
    calls = Ledger()
    parent, batch, _, _ = family(calls, 3)
    h = harness(parent, batch)
    run = h.run(parent, Order(id="fails"))
    assert run.status is RunStatus.FAILED
    h.app.control.compensate(run.id, actor="kim", reason="back")
    run = h.drain(run)
    assert run.status is RunStatus.COMPENSATED
    assert sorted(number for name, number in calls.made if name == "UNWORK") == [0, 1, 2]
    assert {child.status for child in children(h, run)} == {RunStatus.COMPENSATED}


def test_an_undo_leaves_alone_a_run_that_stood_already_under_the_key_of_a_child(harness: type[Harness]) -> None:
    calls = Ledger()
    parent, batch, _, _ = family(calls, 2)
    h = harness(parent, batch)
    standing = h.run(batch, Batch(number=1, of="fails"))
    run = h.run(parent, Order(id="fails"))
    h.app.control.compensate(run.id, actor="kim", reason="back")
    run = h.drain(run)
    assert run.status is RunStatus.COMPENSATED
    assert h.status(standing) is RunStatus.SUCCESS
    assert [number for name, number in calls.made if name == "UNWORK"] == [0]


def test_many_children_that_end_at_once_are_all_heard_of(harness: type[Harness]) -> None:
    """B37 f."""
    calls = Ledger()
    parent, batch, _, total = family(calls, 200)
    h = harness(parent, batch)
    run = h.start(parent, Order(id="a"))
    with h.worker(slots=64), h.worker(slots=64):
        until(lambda: h.status(run) is RunStatus.SUCCESS, patience=60)
    assert h.get(run).output(total)["ok"] == 200


def test_a_child_works_under_the_resource_of_its_parent(harness: type[Harness]) -> None:
    batch = Workflow("BATCH", Batch, version=1, owner="o", key=None, resource=lambda batch: batch.of)
    parent = Workflow("PARENT", Order, version=1, owner="o", key=None, resource=lambda order: order.id)

    @batch.step(Effect.READ)
    def work(step: Step[Batch]) -> int:
        return step.input.number

    @parent.children(batch)
    def batches(step: Step[Order]) -> list[Batch]:
        return [Batch(number=1, of=step.input.id)]

    h = harness(parent, batch)
    assert h.run(parent, Order(id="r")).status is RunStatus.SUCCESS


def test_a_run_that_is_its_own_child_fails_and_does_not_wait(harness: type[Harness]) -> None:
    circle = flow("CIRCLE")

    @circle.children(circle)
    def again(step: Step[Order]) -> list[Order]:
        return [step.input]

    h = harness(circle)
    run = h.run(circle, Order(id="a"))
    assert run.status is RunStatus.FAILED
    [item] = h.app.store.reading.items(run.id, "AGAIN", 1, after=0, limit=10)
    assert (item.code, item.attempts) == ("CHILD_IS_ABOVE", 1)
    assert f"cannot wait for run {run.id}: that is the run itself, or one that waits for it." in str(item.error)


def test_a_run_that_waits_for_the_one_above_it_fails_and_so_does_that(harness: type[Harness]) -> None:
    upper, lower = flow("UPPER"), flow("LOWER")

    @upper.children(lower)
    def down(step: Step[Order]) -> list[Order]:
        return [step.input]

    @lower.children(upper)
    def up(step: Step[Order]) -> list[Order]:
        return [step.input]

    h = harness(upper, lower)
    run = h.run(upper, Order(id="a"))
    assert run.status is RunStatus.FAILED
    [item] = h.app.store.reading.items(run.id, "DOWN", 1, after=0, limit=10)
    assert item.code == "CHILD_FAILED"
