"""R-A2: runs that are moved more than once, and runs whose former attempts still speak."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Event, Retry, RunStatus, Step, Then, Workflow
from halfway.errors import Conflict
from tests.engine.harness import Calls, Harness, Order, until

GO: Event[dict[str, str]] = Event("GO", dict[str, str])


class Version:
    """Steps that notify, and a wait after the first of them."""

    def __init__(self, number: int, calls: Calls, *names: str) -> None:
        self.wf = Workflow("MANY", Order, version=number, owner="o", key=lambda order: order.id)
        self.steps: dict[str, Any] = {}
        for name in names:
            self.steps[name] = self._notify(name, calls)
            if len(self.steps) == 1:
                self._wait()

    def _notify(self, name: str, calls: Calls) -> Any:
        @self.wf.step(Effect.NOTIFY, name=name, evidence="the log", stays="It is sent.")
        def told(step: Step[Order]) -> int:
            return calls.add(name)

        return told

    def _wait(self) -> None:
        @self.wf.wait_for(GO, timeout=timedelta(days=1), on_timeout=Then.FAIL)
        def wait(step: Step[Order]) -> str:
            return "go"

    def takes_over(self, old: Version, **at: str) -> Version:
        @self.wf.takes_over(old.wf, at={old.steps[former]: self.steps[now] for former, now in at.items()})
        def carry(former: Order) -> Order:
            return former

        return self


def test_a_name_is_not_taken_again_two_moves_later(harness: type[Harness]) -> None:
    calls = Calls()
    first = Version(1, calls, "A")
    second = Version(2, calls, "A2").takes_over(first, A="A2")
    third = Version(3, calls, "A2", "A").takes_over(second)
    h = harness(first.wf, second.wf, third.wf)
    run = h.start(first.wf, Order(id="x"))
    with h.worker():
        until(lambda: h.status(run) is RunStatus.WAITING)
    h.app.control.move(run.id, to=2, actor="kim", reason="renamed")
    with pytest.raises(Conflict, match="Step A was begun"):
        h.app.control.move(run.id, to=3, actor="kim", reason="a new A")
    assert [one.code for one in h.app.control.plan_move(run.id, to=3).move.problems] == ["NAME_TAKEN"]


def test_a_thread_of_the_former_version_does_not_answer_for_the_step_that_has_its_name_now(harness: type[Harness]) -> None:
    hold, begun, go_on = threading.Event(), threading.Event(), threading.Event()
    old = Workflow("BOOKING", Order, version=1, owner="o", key=None)
    new = Workflow("BOOKING", Order, version=2, owner="o", key=None)

    @old.step(Effect.READ, name="BOOK", retry=Retry(1), timeout=timedelta(milliseconds=300))
    def looked(step: Step[Order]) -> str:
        hold.wait(30)
        return "of version 1"

    @new.step(Effect.CREATE, name="BOOK", evidence="the ledger")
    def booked(step: Step[Order]) -> str:
        begun.set()
        go_on.wait(30)
        return "of version 2"

    @new.takes_over(old, at={looked: None})
    def carry(former: Order) -> Order:
        return former

    h = harness(old, new)
    run = h.start(old, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.FAILED)
        h.app.control.move(run.id, actor="kim", reason="it books now")
        h.app.control.resume(run.id, actor="kim", reason="again")
        assert begun.wait(30)
        assert h.record(run, "BOOK").attempts == 2
        hold.set()  # its word comes now, about attempt 1
        last = h.start(new, Order())  # whoever has heard of that run has heard of the word before it
        until(lambda: h.record(last, "BOOK") is not None and h.record(last, "BOOK").attempts == 1)
        assert h.status(run) is RunStatus.RUNNING
        go_on.set()
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    assert h.app.get(new, run.id).output(booked) == "of version 2"
