"""Orders about an undo, and the word that a database was restored: killed around their commits, they count once or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from halfway import Run, RunStatus
from halfway.errors import Conflict
from tests.crash.matrix import Nursery
from tests.crash.program import FLOWS
from tests.crash.worlds import World, Worlds
from tests.engine.harness import Harness, Order
from tests.faults.checks import all_is_well

SAID = {"actor": "kim", "reason": "looked", "action_id": "order-1"}


class Stuck(Harness):
    """A run with one effect, which has failed."""

    def __init__(self, world: World) -> None:
        self.wf = FLOWS["stuck"](world.url, world.ledger)
        super().__init__(world.url, self.wf)

    def __enter__(self) -> Stuck:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def failed(world: World) -> None:
    with Stuck(world) as h:
        assert h.drain(h.start(h.wf, Order())).status is RunStatus.FAILED


def undo_failed(world: World) -> None:
    failed(world)
    with Stuck(world) as h:
        run = h.start(h.wf, Order())
        h.app.control.compensate(run.id, actor="kim", reason="not wanted", action_id="order-0")
        assert h.drain(run).status is RunStatus.MANUAL_REQUIRED


Before = Callable[[World], None]
ORDERS: list[tuple[str, Before, dict[str, str], RunStatus, int]] = [
    ("compensate", failed, {}, RunStatus.MANUAL_REQUIRED, 1),
    ("skip", undo_failed, {"step": "CREATE"}, RunStatus.COMPENSATED, 2),
    ("mark_success", undo_failed, {"step": "CREATE", "evidence": "removed by hand"}, RunStatus.COMPENSATED, 2),
    ("retry", undo_failed, {"step": "CREATE"}, RunStatus.MANUAL_REQUIRED, 2),
]


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize(("action", "begun", "arguments", "then", "orders"), ORDERS, ids=[order[0] for order in ORDERS])
def test_an_order_about_an_undo_that_is_killed_is_given_again_and_counts_once(
    nursery: Nursery, places: Worlds, action: str, begun: Before, arguments: dict[str, str], then: RunStatus, orders: int, side: str
) -> None:
    world = places.fresh()
    begun(world)
    with Stuck(world) as h:
        run = h.start(h.wf, Order())
        before = h.status(run), h.journal(run)
        order = {"run": run.id} | SAID | arguments
        assert nursery.live("stuck", world, f"order.{side}_commit:1", order=(action, order)) is None
        if side == "before":
            assert (h.status(run), h.journal(run)) == before
        give(h, run, action, order, carried_out=side == "after")
        assert h.drain(run).status is then
        all_is_well(h, run, orders=orders)


def give(h: Harness, run: Run[Any], action: str, order: dict[str, str], *, carried_out: bool) -> None:
    act: Callable[..., object] = getattr(h.app.control, action)
    if not carried_out:
        act(**order)
        return
    stands = h.status(run), h.journal(run)
    with pytest.raises(Conflict):
        act(**order)
    assert (h.status(run), h.journal(run)) == stands


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_restore_that_is_killed_is_told_again_and_nothing_is_done_twice(nursery: Nursery, places: Worlds, side: str) -> None:
    """The run had died before its CREATE; after a restore nobody may rely on that, so its probe is asked first."""
    world = places.fresh()
    assert nursery.live("order", world, "pump.after_commit:2") is None
    assert nursery.live("order", world, f"restored.{side}_commit:1", order=("restored", {})) is None
    wf = FLOWS["order"](world.url, world.ledger)
    h = Harness(world.url, wf)
    try:
        run = h.start(wf, Order())
        assert ("workflow.restored" in h.journal(run)) == (side == "after")
        h.app.store.runs.restored()
        h.advance(6 * 60)  # until then an attempt that nobody knows of may still be under way, and an Absent does not count
        run = h.drain(run)
        assert run.status is RunStatus.SUCCESS, h.journal(run)
        events = [line["event"] for line in world.ledger.lines() if line["event"] in ("FIND", "CREATE")]
        assert events[:2] == ["FIND", "CREATE"]
        assert world.ledger.tally()["CREATE"] == 1
        all_is_well(h, run)
    finally:
        h.close()
