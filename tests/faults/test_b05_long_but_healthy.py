"""B05: how long a step runs says nothing about its worker; only a worker that shows no life for a whole lease is dead."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

from halfway import Effect, RunStatus, Step
from halfway.testing import RecordPoints
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well


def test_steps_much_longer_than_the_lease_are_left_to_their_worker(harness: type[Harness]) -> None:
    """B05; both with the usual timeout and with the longest there is."""
    calls, go_on = Calls(), threading.Event()
    wf = flow()

    @wf.step(Effect.READ, after=[])
    def usual(step: Step[Order]) -> None:
        calls.add("USUAL")
        assert go_on.wait(60)

    @wf.step(Effect.CREATE, after=[], evidence="the ledger", timeout=timedelta(days=3650))
    def endless(step: Step[Order]) -> None:
        calls.add("ENDLESS")
        assert go_on.wait(60)

    others = RecordPoints()
    a, b = harness(wf), harness(wf, points=others)
    lease = a.app.settings.lease
    with a.worker() as owner:
        run = a.start(wf, Order())
        until(lambda: len(calls.made) == 2)
        with b.worker():  # it comes when both are taken
            seen, over = others.seen.count("sweep.judge"), time.monotonic() + 2.2 * lease
            until(lambda: time.monotonic() > over, "two leases pass")
            assert others.seen.count("sweep.judge") > seen + 5, "the other worker has looked all the time"
            attempts = [attempt for one in b.app.store.reading.detail(run.id).records for attempt in one.attempts]
            assert [(attempt.epoch, attempt.ended_at) for attempt in attempts] == [(owner.epoch, None)] * 2
            go_on.set()
            until(lambda: b.status(run) is RunStatus.SUCCESS)
    assert (calls.count("USUAL"), calls.count("ENDLESS")) == (1, 1)
    assert "sweep.read" not in others.seen
    all_is_well(b, run)
