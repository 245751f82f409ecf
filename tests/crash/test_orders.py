"""A person's order whose program dies around its commit was carried out and audited, or not at all (B01, B18 e)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from halfway import Run, RunStatus
from halfway.errors import Conflict
from tests.crash.flows import FLOWS
from tests.crash.matrix import Nursery
from tests.crash.worlds import World, Worlds
from tests.engine.harness import Harness, Order
from tests.faults.checks import all_is_well

SAID = {"actor": "kim", "reason": "looked", "action_id": "order-1"}
SEEN = {"step": "SEND", "evidence": "log line 7", "output": '"sent: dear o1"'}
ABSENT = {"step": "SEND", "evidence": "no line", "not_happened": "yes"}


def in_doubt(nursery: Nursery, world: World) -> None:
    """A message that may have been sent, and nobody knows."""
    assert nursery.live("message", world, "world.after_send:1") is None
    with harness(world) as h:
        assert h.drain(h.start(h.wf, Order())).status is RunStatus.MANUAL_REQUIRED


class harness(Harness):
    def __init__(self, world: World) -> None:
        self.wf = FLOWS["message"](world.url, world.ledger)
        super().__init__(world.url, self.wf)

    def __enter__(self) -> harness:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


ORDERS: list[tuple[str, dict[str, str], RunStatus]] = [
    ("mark_success", SEEN, RunStatus.SUCCESS),
    ("retry", ABSENT, RunStatus.SUCCESS),
    ("cancel", {}, RunStatus.MANUAL_REQUIRED),  # the doubt must still be settled
]


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize(("action", "arguments", "then"), ORDERS, ids=[order[0] for order in ORDERS])
def test_an_order_that_is_killed_is_given_again_and_counts_once(
    nursery: Nursery, places: Worlds, action: str, arguments: dict[str, str], then: RunStatus, side: str
) -> None:
    world = places.fresh()
    in_doubt(nursery, world)
    with harness(world) as h:
        run = h.start(h.wf, Order())
        before = h.status(run), h.journal(run)
        order = {"run": run.id} | SAID | arguments
        assert nursery.live("message", world, f"order.{side}_commit:1", order=(action, order)) is None
        if side == "before":
            assert (h.status(run), h.journal(run)) == before
        give(h, run, action, order, carried_out=side == "after")
        assert h.drain(run).status is then
        assert world.ledger.count(event="SEND") == (2 if action == "retry" else 1)  # the person's word was wrong, and it counts
        all_is_well(h, run, orders=1)


def give(h: Harness, run: Run[Any], action: str, order: dict[str, str], *, carried_out: bool) -> None:
    act: Callable[..., object] = getattr(h.app.control, action)
    if carried_out:
        stands = h.status(run), h.journal(run)
        with pytest.raises(Conflict):
            act(**order)
        assert (h.status(run), h.journal(run)) == stands
    else:
        act(**order)
