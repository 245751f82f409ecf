"""B39: a resource and a business record are given back however their holder ends, and never have two holders.

A run names one resource at most, so two runs cannot take two of them in opposite order; records are held by one step at a time.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from halfway import Absent, Effect, Found, Mark, Retry, RunStatus, Step, StepFailed, Then, Workflow
from halfway.errors import Conflict, DatabaseError
from halfway.testing import FailAt, Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, execute, reach, work
from tests.engine.test_races import lost_connection
from tests.faults.checks import all_is_well

SOON = Retry(3, wait=timedelta(milliseconds=10))
AFTER = 5
LATE = 2 * 86_400


class Room:
    """Where one may be at a time; kept outside the engine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.inside: set[str] = set()
        self.most = 0
        self.order: list[str] = []

    def enter(self, who: str) -> None:
        with self._lock:
            self.inside.add(who)
            self.order.append(who)
            self.most = max(self.most, len(self.inside))

    def leave(self, who: str) -> None:
        with self._lock:
            self.inside.discard(who)


# ── resources ──


def one_at_a_time(room: Room, inside: threading.Event, go_on: threading.Event, **options: Any) -> Workflow[Order]:
    """One run at a time has the printer; the first one does as its id says."""
    wf = flow(key=False, resource=lambda order: "printer", **options)

    @wf.step(Effect.READ, retry=Retry(1))
    def first(step: Step[Order]) -> None:
        room.enter(step.run_id)
        try:
            if step.input.id != "next":
                inside.set()
                assert go_on.wait(30)
            if step.input.id == "fails":
                raise StepFailed("paper jam")
        finally:
            room.leave(step.run_id)

    @wf.step(Effect.READ)
    def second(step: Step[Order]) -> None:
        room.enter(step.run_id)
        room.leave(step.run_id)

    return wf


def five_more(h: Harness, wf: Workflow[Order], room: Room) -> list[Any]:
    """Start, work one after the other in the order in which they came, and leave nothing behind."""
    more = [h.start(wf, Order(id="next")) for _ in range(AFTER)]
    until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in more))
    assert room.most == 1
    begun = [id for id in dict.fromkeys(room.order) if id in {run.id for run in more}]
    assert begun == [run.id for run in more]
    assert execute(h.url, "select count(*) from halfway_lease") == [(0,)]
    return more


@pytest.mark.parametrize("end", ["succeeds", "fails", "cancelled", "deadline", "timeout"])
def test_a_resource_is_given_back_when_its_run_ends(harness: type[Harness], end: str) -> None:
    """B39: success, failure, cancel while running, deadline, timeout; with runs that queue behind."""
    room, inside, go_on = Room(), threading.Event(), threading.Event()
    wf = one_at_a_time(room, inside, go_on, **({"timeout": DAY} if end == "timeout" else {}))
    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order(id=end), **({"deadline": datetime.now(UTC) + DAY} if end == "deadline" else {}))
        assert inside.wait(30)
        behind = h.start(wf, Order(id="next"))
        dropped = h.start(wf, Order(id="next"))
        assert h.status(behind) is RunStatus.PENDING
        assert h.app.control.cancel(dropped.id, actor="kim", reason="no").after is RunStatus.CANCELLED  # while it queues
        if end == "cancelled":
            h.app.control.cancel(run.id, actor="kim", reason="no")
        elif end in ("deadline", "timeout"):
            h.advance(LATE)
        go_on.set()
        until(lambda: h.app.store.reading.detail(run.id).run.ended_at is not None)
        reach(h, behind, RunStatus.SUCCESS)
        more = five_more(h, wf, room)
    expected = {
        "succeeds": RunStatus.SUCCESS, "fails": RunStatus.FAILED, "cancelled": RunStatus.CANCELLED, "deadline": RunStatus.EXPIRED,
        "timeout": RunStatus.FAILED,
    }  # fmt: skip
    assert h.status(run) is expected[end]
    all_is_well(h, run, behind, dropped, *more, orders=1 + int(end == "cancelled"))


def test_a_run_that_waits_keeps_its_resource_until_it_is_cancelled(harness: type[Harness]) -> None:
    """B39: cancelled while it waits for an event."""
    wf = flow(key=False, resource=lambda order: "printer")

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.run_id

    h = harness(wf)
    with h.worker():
        first, second = h.start(wf, Order()), h.start(wf, Order())
        reach(h, first, RunStatus.WAITING)
        assert h.record(second, "PAID") is None
        h.app.control.cancel(first.id, actor="kim", reason="no")
        reach(h, second, RunStatus.WAITING)
        h.advance(LATE)
        reach(h, second, RunStatus.FAILED)
    assert execute(h.url, "select count(*) from halfway_lease") == [(0,)]
    all_is_well(h, first, second, orders=1)


def test_a_run_that_is_resumed_waits_in_line_for_its_resource_again(harness: type[Harness]) -> None:
    """B39: the one that failed may not come back beside the one that holds it now."""
    room, inside, go_on = Room(), threading.Event(), threading.Event()
    wf = one_at_a_time(room, inside, go_on)
    h = harness(wf)
    with h.worker():
        go_on.set()
        run = h.start(wf, Order(id="fails"))
        reach(h, run, RunStatus.FAILED)
        go_on.clear()
        inside.clear()
        holder = h.start(wf, Order(id="holds"))
        assert inside.wait(30)
        h.app.control.resume(run.id, actor="kim", reason="there is paper again")
        until(lambda: h.app.store.reading.detail(run.id).run.blocked)
        assert room.most == 1
        go_on.set()
        reach(h, holder, RunStatus.SUCCESS)
        until(lambda: h.status(run) is RunStatus.FAILED)
        more = five_more(h, wf, room)
    all_is_well(h, run, holder, *more, orders=1)


@pytest.mark.parametrize("point", ["pump.before_commit", "pump.after_commit"])
@pytest.mark.parametrize("nth", [2, 3, 4])
def test_a_release_whose_commit_is_broken_happens_once(harness: type[Harness], point: str, nth: int) -> None:
    """B39: whoever releases meets an outage around its commits."""

    class Later(FailAt):
        def __init__(self, error: DatabaseError) -> None:
            super().__init__(point, error)
            self.skip = nth - 1

        def reached(self, name: str) -> None:
            if name == point and self.skip > 0:
                self.skip -= 1
            else:
                super().reached(name)

    room, go_on = Room(), threading.Event()
    go_on.set()
    wf = one_at_a_time(room, threading.Event(), go_on)
    h = harness(wf, points=Later(lost_connection()))
    with h.worker():
        more = five_more(h, wf, room)
    all_is_well(h, *more)


# ── processes that die ──


def printing(url: str, ledger: Ledger) -> list[Workflow[Order]]:
    """Its process dies while it holds the printer, or the record."""
    wf = flow(key=False, resource=lambda order: "printer")

    @wf.step(Effect.CHANGE, record=lambda step: "tray", evidence="the ledger", retry=SOON)
    def first(step: Step[Order], mark: Mark) -> None:
        if step.input.id == "before" and not ledger.count(event="dies"):
            ledger.write("dies")
            os.kill(os.getpid(), signal.SIGKILL)
        with mark:
            ledger.write("print", run=step.run_id)
            if step.input.id == "inside" and not ledger.count(event="dies"):
                ledger.write("dies")
                os.kill(os.getpid(), signal.SIGKILL)

    @first.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[None] | Absent:
        return Found(None) if ledger.count(run=step.run_id) else Absent()

    return [wf]


@pytest.mark.parametrize(
    ("id", "kill_at"),
    [("before", ""), ("inside", ""), *(("plain", f"pump.{side}_commit:{n}") for side in ("before", "after") for n in (2, 3))],
)
def test_what_a_dead_process_held_is_given_back(harness: type[Harness], url: str, tmp_path: Path, id: str, kill_at: str) -> None:
    """B39: KILL of the holder, before and inside its effect, and of the releaser around its commit."""
    ledger = Ledger(tmp_path / "ledger")
    h = harness(*printing(url, ledger))
    [wf] = h.app.workflows.values()
    run = h.start(wf, Order(id=id))
    behind = h.start(wf, Order(id="next"))
    with Worker("tests.faults.test_b39_locks_given_back:printing", url, ledger.path, kill_at=kill_at, ready=False) as doomed:
        assert doomed.wait() == -signal.SIGKILL
    with h.worker():
        until(lambda: h.status(run) in (RunStatus.SUCCESS, RunStatus.MANUAL_REQUIRED))
        asked = h.status(run) is RunStatus.MANUAL_REQUIRED
        if asked:  # it died between its mark and its effect, and of a CHANGE that is not seen a person decides
            assert h.app.control.show(behind.id).status is RunStatus.PENDING
            h.app.control.retry(run.id, "FIRST", actor="kim", reason="an empty tray", not_happened=True, evidence="the tray")
        reach(h, run, RunStatus.SUCCESS)
        reach(h, behind, RunStatus.SUCCESS)
    assert ledger.count(event="print", run=run.id) == ledger.count(event="print", run=behind.id) == 1
    assert execute(url, "select count(*) from halfway_lease") == [(0,)]
    all_is_well(h, run, behind, orders=int(asked))


# ── records ──


def crossing(room: dict[str, Room], calls: Calls, together: threading.Barrier | None = None) -> Workflow[Order]:
    """Changes two records one after the other, in the order that its input names: `ab-1` or `ba-1`."""
    wf = flow(key=False)

    def change(n: int) -> None:
        @wf.step(Effect.CHANGE, name=f"CHANGE{n}", record=lambda step: step.input.id[n], evidence="the ledger", retry=SOON)
        def change(step: Step[Order], mark: Mark) -> None:
            if together is not None and n == 0 and step.attempt == 1:  # a repeat has nobody to wait for
                together.wait(30)
            record = step.input.id[n]
            with mark:
                room[record].enter(step.run_id)
                calls.add(record, step.run_id)
                room[record].leave(step.run_id)

    change(0)
    change(1)
    return wf


def test_two_runs_that_change_two_records_in_opposite_order_both_end(harness: type[Harness]) -> None:
    """B39: both have their first record at the same moment; a step gives it back before the next one takes another."""
    rooms, calls = {"a": Room(), "b": Room()}, Calls()
    wf = crossing(rooms, calls, threading.Barrier(2))
    h = harness(wf)
    with h.worker(), h.worker():
        runs = [h.start(wf, Order(id="ab")), h.start(wf, Order(id="ba"))]
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert {room.most for room in rooms.values()} == {1}
    assert execute(h.url, "select count(*) from halfway_lease") == [(0,)]
    all_is_well(h, *runs)


def test_many_runs_on_two_records_in_both_orders_never_meet_in_one(harness: type[Harness]) -> None:
    """B39: two workers, so that marks for the same records are asked for in batches and at the same moment."""
    rooms, calls = {"a": Room(), "b": Room()}, Calls()
    wf = crossing(rooms, calls)
    h = harness(wf)
    with h.worker(slots=4), h.worker(slots=4):
        runs = list(h.app.start_many(wf, [Order(id="ab" if n % 2 else "ba") for n in range(20)]))

        def all_end() -> bool:
            h.advance(1)  # who has found a record held asks again after a second
            return all(h.status(run) is RunStatus.SUCCESS for run in runs)

        until(all_end)
    assert {room.most for room in rooms.values()} == {1}
    assert (calls.count("a"), calls.count("b")) == (20, 20)
    assert execute(h.url, "select count(*) from halfway_lease") == [(0,)]
    all_is_well(h, *runs)


def test_two_doubts_about_two_records_do_not_wait_for_each_other(harness: type[Harness]) -> None:
    """B39: each run is in doubt about the record that the other one wants next."""
    calls = Calls()
    wf = flow(key=False)
    for n in (0, 1):

        @wf.step(Effect.CHANGE, name=f"CHANGE{n}", record=lambda step, n=n: step.input.id[n], evidence="the ledger")  # type: ignore[misc]
        def change(step: Step[Order], mark: Mark, n: int = n) -> None:
            with mark:
                calls.add(f"{step.input.id}{n}")
                if n == 0:
                    raise TimeoutError("no answer")

    h = harness(wf)
    runs = [h.start(wf, Order(id=id)) for id in ("ab", "ba")]
    for run in runs:
        work(h, run, RunStatus.MANUAL_REQUIRED)
    with h.worker():
        for run in runs:
            h.app.control.mark_success(run.id, "CHANGE0", actor="kim", reason="seen", evidence="log")
        until(lambda: [h.advance(1), all(h.status(run) is RunStatus.SUCCESS for run in runs)][1])
    assert sorted(name for name, _ in calls.made) == ["ab0", "ab1", "ba0", "ba1"]
    assert execute(h.url, "select count(*) from halfway_lease") == [(0,)]
    all_is_well(h, *runs, orders=2)


def test_five_hundred_runs_that_end_in_every_way_never_share_a_resource_and_leave_none_behind(harness: type[Harness]) -> None:
    """B39: a few resources, two workers, and ends by success, failure, retry, cancel and timeout at random."""
    rooms = {f"r{n}": Room() for n in range(8)}
    wf = flow(key=False, resource=lambda order: order.id.partition(":")[0])

    @wf.step(Effect.READ, retry=Retry(2, wait=timedelta(0)))
    def only(step: Step[Order]) -> None:
        name, _, end = step.input.id.partition(":")
        rooms[name].enter(step.run_id)
        try:
            if end == "fails" or (end == "retries" and step.attempt == 1):
                raise RuntimeError(end)
        finally:
            rooms[name].leave(step.run_id)

    h = harness(wf)
    draw = random.Random(39)
    ids = [f"r{draw.randrange(8)}:{draw.choice(['succeeds', 'fails', 'retries', 'is cancelled'])}" for _ in range(500)]
    runs = h.app.start_many(wf, [Order(id=id) for id in ids])
    with h.worker(slots=4), h.worker(slots=4):
        for run in runs:
            if run.input.id.endswith("cancelled"):
                with suppress(Conflict):  # it was faster
                    h.app.control.cancel(run.id, actor="kim", reason="not wanted")
        until(lambda: not any(count for status, count in h.app.control.counts().items() if status != "FAILED"), patience=120)
    assert {room.most for room in rooms.values()} == {1}
    assert execute(h.url, "select count(*) from halfway_lease") == [(0,)]
