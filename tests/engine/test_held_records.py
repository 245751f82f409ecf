"""A business record that another run holds: who wants it waits, and does not keep the workers busy meanwhile (R-J2)."""

from __future__ import annotations

from typing import Any

from halfway import Effect, Mark, RunStatus, Step
from tests.engine.harness import Calls, Harness, Order, flow, until

SECOND = 1_000_000


def test_a_held_record_is_asked_for_less_and_less_often(harness: type[Harness], url: str) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.CHANGE, evidence="the account", record=lambda step: "account")
    def change(step: Step[Order], mark: Mark) -> None:
        with mark:
            if calls.add("CHANGE") == 1:
                raise TimeoutError("the answer is lost")

    h = harness(wf)
    first = h.run(wf, Order(id="first"))
    assert first.status is RunStatus.MANUAL_REQUIRED
    with h.worker():
        second = h.start(wf, Order(id="second"))
        for n in (1, 2, 3):
            record = tried(h, second, n)
            assert record.ready_at - record.ended_at == n * SECOND
            h.advance(n)
        h.app.control.mark_success(first.id, "CHANGE", actor="kim", reason="looked", evidence="line 7")
        until(lambda: h.advance(60) or h.status(second) is RunStatus.SUCCESS, "it goes on when the record is free")
    assert calls.count("CHANGE") == 2


def tried(h: Harness, run: Any, attempts: int) -> Any:
    """The record when it has been refused so many times."""
    until(lambda: (record := h.record(run, "CHANGE")) is not None and record.attempts == attempts and record.status == "PENDING")
    return h.record(run, "CHANGE")
