"""How much runs at once: queues with limits, workflows with limits, what is paused, what is put off, and who is next."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from halfway import CannotTell, Effect, Found, Mark, Queue, Retry, Risk, RunStatus, Step, StepFailed, Workflow
from halfway.domain.draft import Audit
from halfway.errors import DefinitionError, InvalidInput
from halfway.store.ids import new_id
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import execute
from tests.faults.checks import all_is_well
from tests.faults.test_b39_locks_given_back import Room


def bounded(room: Room, go_on: threading.Event, queue: Queue, name: str = "FLOW", **options: Any) -> Workflow[Order]:
    """Its one step is inside until it may go on."""
    wf = flow(name, key=False, **options)

    @wf.step(Effect.READ, queue=queue, retry=Retry(1), timeout=timedelta(minutes=1))
    def work(step: Step[Order]) -> None:
        room.enter(step.run_id)
        try:
            assert go_on.wait(30)
            if step.input.id == "fails":
                raise StepFailed("no")
        finally:
            room.leave(step.run_id)

    return wf


def opened() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def pause(h: Harness, what: str, name: str, *, paused: bool = True) -> bool:
    action = f"{'pause' if paused else 'resume'}-{what.lower()}"
    done = h.app.store.queues.set_pause(what, name, paused=paused, audit=Audit(new_id(), "kim", action, "why"))
    for worker in h.app._workers:
        worker.wake()
    return done


def leases(h: Harness) -> int:
    [(count,)] = execute(h.url, "select count(*) from halfway_lease")
    return int(count)


# ── queues ──


def test_a_queue_runs_no_more_at_once_than_it_allows_and_all_of_that(harness: type[Harness]) -> None:
    room, go_on = Room(), threading.Event()
    wf = bounded(room, go_on, Queue("bulk", concurrency=3))
    h = harness(wf)
    runs = [h.start(wf, Order()) for _ in range(8)]
    with h.worker():
        until(lambda: len(room.inside) == 3)
        h.advance(1)
        [queue] = h.app.store.queues.limited()
        assert (queue.running, len(room.inside), leases(h)) == (3, 3, 3)
        go_on.set()
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert (room.most, leases(h)) == (3, 0)
    all_is_well(h, *runs)


def test_a_full_queue_keeps_no_other_queue_from_working(harness: type[Harness]) -> None:
    room, go_on, calls = Room(), threading.Event(), Calls()
    slow, quick = bounded(room, go_on, Queue("slow", concurrency=1), "SLOW"), flow("QUICK", key=False)

    @quick.step(Effect.READ)
    def work(step: Step[Order]) -> None:
        calls.add("quick")

    h = harness(slow, quick)
    with h.worker(slots=2):
        runs = [h.start(slow, Order()) for _ in range(10)]
        until(lambda: room.inside)
        others = [h.start(quick, Order()) for _ in range(10)]
        until(lambda: calls.count("quick") == 10)
        assert room.most == 1
        go_on.set()
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in (*runs, *others)))


def test_the_next_step_of_a_chain_waits_for_its_queue_too(harness: type[Harness]) -> None:
    room, wf, narrow = Room(), flow(key=False), Queue("narrow", concurrency=1)

    @wf.step(Effect.READ)
    def first(step: Step[Order]) -> None: ...

    @wf.step(Effect.READ, queue=narrow)
    def second(step: Step[Order]) -> None:
        room.enter(step.run_id)
        room.leave(step.run_id)

    @wf.step(Effect.READ, queue=narrow)
    async def third(step: Step[Order]) -> None:
        room.enter(step.run_id)
        room.leave(step.run_id)

    h = harness(wf)
    runs = list(h.app.start_many(wf, [Order() for _ in range(60)]))
    with h.worker(), h.worker():
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert (room.most, leases(h)) == (1, 0)
    all_is_well(h, *runs)


def test_a_slot_is_given_back_however_its_attempt_ends(harness: type[Harness]) -> None:
    """B39: success, failure, retry, cancel while running."""
    room, inside, go_on, wf = Room(), threading.Event(), threading.Event(), flow(key=False)

    @wf.step(Effect.READ, queue=Queue("bulk", concurrency=1), retry=Retry(2, wait=timedelta(0)))
    def work(step: Step[Order]) -> None:
        room.enter(step.run_id)
        try:
            if step.input.id == "fails":
                raise StepFailed("no")
            if step.input.id == "retries" and step.attempt == 1:
                raise OSError("again")
            if step.input.id == "cancelled":
                inside.set()
                assert go_on.wait(30)
        finally:
            room.leave(step.run_id)

    h = harness(wf)
    with h.worker():
        cancelled = h.start(wf, Order(id="cancelled"))
        assert inside.wait(30)
        h.app.control.cancel(cancelled.id, actor="kim", reason="no")
        go_on.set()
        runs = [h.start(wf, Order(id=id)) for id in ("fails", "retries", "succeeds")]
        until(lambda: [h.status(run) for run in runs] == [RunStatus.FAILED, RunStatus.SUCCESS, RunStatus.SUCCESS])
    assert (room.most, leases(h)) == (1, 0)
    all_is_well(h, *runs, cancelled, orders=1)


def test_a_body_that_outlives_its_timeout_keeps_its_slot_until_it_returns(harness: type[Harness]) -> None:
    room, go_on, first, wf = Room(), threading.Event(), threading.Event(), flow(key=False)

    @wf.step(Effect.READ, queue=Queue("bulk", concurrency=1), retry=Retry(1), timeout=timedelta(milliseconds=50))
    def work(step: Step[Order]) -> None:
        room.enter(step.run_id)
        if not first.is_set():
            first.set()
            assert go_on.wait(30)
        room.leave(step.run_id)

    h = harness(wf)
    with h.worker():
        run, behind = h.start(wf, Order()), h.start(wf, Order())
        until(lambda: h.status(run) is RunStatus.FAILED)
        h.advance(1)
        assert (leases(h), h.record(behind, "WORK").attempts) == (1, 0)
        go_on.set()
        until(lambda: h.status(behind) is RunStatus.SUCCESS)
    assert (room.most, leases(h)) == (1, 0)


def test_a_transaction_step_takes_and_gives_a_slot(sqlite_url: str) -> None:
    import sqlite3

    wf = flow(key=False)

    @wf.transaction(sqlite3.Connection, queue=Queue("bulk", concurrency=1))
    def book(step: Step[Order], connection: sqlite3.Connection) -> int:
        return int(connection.execute("select count(*) from halfway_lease").fetchone()[0])

    h = Harness(sqlite_url, wf)
    runs = [h.start(wf, Order()) for _ in range(3)]
    with h.worker():
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
        assert {h.get(run).output(book) for run in runs} == {1}
        until(lambda: leases(h) == 0)
    h.close()


def test_what_settles_a_doubt_needs_no_slot(harness: type[Harness]) -> None:
    room, go_on, wf = Room(), threading.Event(), flow(key=False)
    bulk = Queue("bulk", concurrency=1)

    @wf.step(Effect.CREATE, queue=bulk, retry=Retry(1))
    def make(step: Step[Order], mark: Mark) -> None:
        if step.input.id == "holds":
            room.enter(step.run_id)
            assert go_on.wait(30)
        with mark:
            if step.input.id == "lost":
                raise TimeoutError

    @make.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[None] | CannotTell:
        return Found(None)

    h = harness(wf)
    with h.worker():
        lost = h.start(wf, Order(id="lost"))
        until(lambda: (record := h.record(lost, "MAKE")) is not None and record.attempts == 1)
        holds = h.start(wf, Order(id="holds"))
        until(lambda: room.inside)
        until(lambda: h.status(lost) is RunStatus.SUCCESS)
        go_on.set()
        until(lambda: h.status(holds) is RunStatus.SUCCESS)
    assert leases(h) == 0


def test_no_more_attempts_begin_in_a_minute_than_the_queue_allows(harness: type[Harness]) -> None:
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ, queue=Queue("mail", per_minute=5))
    def send(step: Step[Order]) -> None:
        calls.add("send")

    h = harness(wf)
    runs = [h.start(wf, Order()) for _ in range(12)]
    with h.worker(), h.worker():
        for allowed in (5, 10, 12):
            until(lambda allowed=allowed: calls.count("send") == allowed)
            h.advance(10)
            assert calls.count("send") == allowed
            h.advance(51)
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    starts = sorted(at for (at,) in execute(h.url, "select started_at from halfway_attempt"))
    assert all(sum(at <= other < at + 60_000_000 for other in starts) <= 5 for at in starts)
    all_is_well(h, *runs)


def test_a_worker_says_the_limits_anew_and_they_hold_for_all(harness: type[Harness]) -> None:
    room, go_on = Room(), threading.Event()
    h = harness(bounded(room, go_on, Queue("bulk", concurrency=1)))
    [wf] = h.app.workflows.values()
    with h.worker():
        runs = [h.start(wf, Order()) for _ in range(6)]
        until(lambda: len(room.inside) == 1)
        wider = harness(bounded(room, go_on, Queue("bulk", concurrency=4)))
        with wider.worker():
            until(lambda: len(room.inside) == 4)
            without = harness(bounded(room, go_on, Queue("bulk")))
            with without.worker():
                until(lambda: len(room.inside) == 6)
                go_on.set()
                until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
                until(lambda: leases(h) == 0)
                assert h.app.store.queues.limited() == []


def test_two_queues_of_one_name_with_other_limits_are_refused() -> None:
    room, go_on = Room(), opened()
    one = bounded(room, go_on, Queue("bulk", concurrency=1), "ONE")
    with pytest.raises(DefinitionError, match="the queue bulk has other limits"):
        Harness("sqlite:///x.db", one, bounded(room, go_on, Queue("bulk", concurrency=2), "TWO"))
    Harness("sqlite:///x.db", one, bounded(room, go_on, Queue("bulk"), "TWO"))
    for wrong in ({"concurrency": 0}, {"per_minute": True}, {"concurrency": "3"}, {"per_minute": 1.5}):
        with pytest.raises(DefinitionError):
            Queue("bulk", **wrong)  # type: ignore[arg-type]


def test_a_queue_without_limits_is_written_nowhere_and_asked_for_nothing(harness: type[Harness]) -> None:
    wf = bounded(Room(), opened(), Queue("plain"))
    h = harness(wf)
    with h.worker() as worker:
        h.drain(h.start(wf, Order()))
        assert worker.pump is not None
        with worker.pump.runs.change(epoch=worker.epoch) as tx:
            assert not tx.flow.state().binds
    for table in ("halfway_queue", "halfway_lease", "halfway_claim", "halfway_pause"):
        assert execute(h.url, f"select count(*) from {table}") == [(0,)]


# ── workflows ──


def test_so_many_runs_of_a_workflow_go_at_once_and_the_others_follow_in_order(harness: type[Harness]) -> None:
    room, go_on = Room(), threading.Event()
    wf = bounded(room, go_on, Queue("default"), concurrency=2)
    h = harness(wf)
    with h.worker():
        runs = [h.start(wf, Order()) for _ in range(6)]
        until(lambda: len(room.inside) == 2)
        assert [h.app.store.reading.detail(run.id).run.blocked for run in runs].count(True) == 4
        go_on.set()
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert room.most == 2
    assert sorted(room.order[:2]) == sorted(run.id for run in runs[:2])
    assert leases(h) == 0
    all_is_well(h, *runs)


def test_so_many_runs_for_each_key_go_at_once_and_one_key_keeps_no_other_waiting(harness: type[Harness]) -> None:
    rooms = {name: Room() for name in "abc"}
    go_on, wf = threading.Event(), flow(key=False, concurrency=8, concurrency_key=lambda order: order.id, concurrency_per_key=2)

    @wf.step(Effect.READ, retry=Retry(1))
    def work(step: Step[Order]) -> None:
        rooms[step.input.id].enter(step.run_id)
        assert go_on.wait(30)
        rooms[step.input.id].leave(step.run_id)

    h = harness(wf)
    with h.worker(slots=20):
        runs = [h.start(wf, Order(id=id)) for id in "aaaaabbc"]
        until(lambda: [len(rooms[name].inside) for name in "abc"] == [2, 2, 1])
        go_on.set()
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert [rooms[name].most for name in "abc"] == [2, 2, 1]
    assert leases(h) == 0
    all_is_well(h, *runs)


def test_a_run_with_a_resource_and_a_limit_takes_both_or_nothing(harness: type[Harness]) -> None:
    rooms = {name: Room() for name in ("r1", "r2", "all")}
    wf = flow(key=False, concurrency=2, resource=lambda order: order.id)

    @wf.step(Effect.READ)
    def work(step: Step[Order]) -> None:
        for room in (rooms["all"], rooms[step.input.id]):
            room.enter(step.run_id)
        for room in (rooms["all"], rooms[step.input.id]):
            room.leave(step.run_id)

    h = harness(wf)
    with h.worker(), h.worker():
        runs = [*h.app.start_many(wf, [Order(id="r1" if n % 3 else "r2") for n in range(20)])]
        runs += [h.start(wf, Order(id="r2")) for _ in range(20)]
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert (rooms["r1"].most, rooms["r2"].most) == (1, 1)
    assert rooms["all"].most <= 2
    assert leases(h) == 0
    all_is_well(h, *runs)


# ── pauses ──


@pytest.mark.parametrize(("what", "name"), [("QUEUE", "bulk"), ("WORKFLOW", "FLOW")])
def test_what_is_paused_begins_nothing_new_and_what_runs_ends(harness: type[Harness], what: str, name: str) -> None:
    room, go_on = Room(), threading.Event()
    wf = bounded(room, go_on, Queue("bulk"))
    other = bounded(room, opened(), Queue("else"), "OTHER")
    h = harness(wf, other)
    with h.worker(slots=4):
        running = h.start(wf, Order())
        until(lambda: room.inside)
        assert pause(h, what, name)
        assert not pause(h, what, name)
        waiting = [h.start(wf, Order()) for _ in range(5)]
        go_on.set()
        until(lambda: h.status(running) is RunStatus.SUCCESS)
        beside = h.drain(h.start(other, Order()))
        h.advance(60)
        assert all(h.record(run, "WORK").attempts == 0 for run in waiting)
        assert pause(h, what, name, paused=False)
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in waiting))
    all_is_well(h, running, *waiting, beside)
    assert [row.audit.action for row in h.app.store.attention.audit_log()] == [f"resume-{what.lower()}", f"pause-{what.lower()}"]


def test_a_pause_holds_up_no_probe_and_no_undo(harness: type[Harness]) -> None:
    calls, wf, bulk = Calls(), flow(key=False), Queue("bulk")
    inside, go_on = threading.Event(), threading.Event()

    @wf.step(Effect.CREATE, queue=bulk)
    def make(step: Step[Order]) -> None:
        calls.add("make")

    @make.compensate(Risk.LOW, evidence="the ledger")
    def unmake(step: Step[Order], made: None) -> None:
        calls.add("unmake")

    @make.probe(settle=timedelta(0))
    def seen(step: Step[Order]) -> Found[None]:
        return Found(None)

    @wf.step(Effect.CREATE, queue=bulk, retry=Retry(1))
    def lose(step: Step[Order], mark: Mark) -> None:
        with mark:
            inside.set()
            assert go_on.wait(30)
            raise TimeoutError

    @lose.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[None]:
        calls.add("look")
        return Found(None)

    @wf.step(Effect.READ, queue=bulk)
    def never(step: Step[Order]) -> None:
        calls.add("never")

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        assert inside.wait(30)
        pause(h, "QUEUE", "bulk")
        go_on.set()
        until(lambda: calls.count("look") == 1)
        until(lambda: (record := h.record(run, "NEVER")) is not None and record.ready_at is not None)
        h.app.control.compensate(run.id, actor="kim", reason="not wanted")
        until(lambda: calls.count("unmake") == 1)
    assert calls.count("never") == 0


# ── who is next ──


def test_whoever_waits_long_enough_is_overtaken_by_no_priority(harness: type[Harness]) -> None:
    room, go_on = Room(), opened()
    wf = bounded(room, go_on, Queue("bulk", concurrency=1))
    h = harness(wf)
    old = h.start(wf, Order())
    h.advance(5 * 60)
    urgent = [h.start(wf, Order(), priority=10) for _ in range(3)]
    h.advance(6 * 60)
    late = [h.start(wf, Order(), priority=10) for _ in range(3)]
    with h.worker():
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in (old, *urgent, *late)))
    assert room.order == [run.id for run in (*urgent, old, *late)]
    top = h.start(wf, Order(), priority=1_000_000_000)
    assert execute(h.url, f"select priority from halfway_record where run_id = '{top.id}'") == [(1440,)]


def test_a_low_priority_is_served_while_urgent_work_never_stops_coming(harness: type[Harness]) -> None:
    room, wf = Room(), flow(key=False)
    low: list[Any] = []

    @wf.step(Effect.READ, queue=Queue("bulk", concurrency=1))
    def work(step: Step[Order]) -> None:
        room.enter(step.run_id)
        room.leave(step.run_id)

    h = harness(wf)
    low.append(h.start(wf, Order(), priority=-5))
    for minute in range(20):
        for _ in range(3):
            h.start(wf, Order(), priority=5)
        h.advance(60)
        if minute == 14:
            with h.worker(slots=1):
                until(lambda: h.status(low[0]) is RunStatus.SUCCESS)
    assert room.order.index(low[0].id) < 33  # those that came in the first ten minutes went before, the rest behind


# ── starts that are put off ──

LATER = timedelta(seconds=30)


def test_starts_of_one_key_are_put_off_and_the_newest_input_wins(harness: type[Harness]) -> None:
    seen: list[str] = []
    wf = flow(key=False)

    @wf.step(Effect.READ)
    def index(step: Step[Order]) -> None:
        seen.append(step.input.id)

    h = harness(wf)
    with h.worker():
        first = h.start(wf, Order(id="1"), debounce=LATER, debounce_key="customer:7")
        assert first.created
        for n in range(2, 6):
            h.advance(20)
            again = h.start(wf, Order(id=str(n)), debounce=LATER, debounce_key="customer:7")
            assert (again.id, again.created, again.status, again.input.id) == (first.id, False, RunStatus.PENDING, str(n))
        other = h.start(wf, Order(id="other"), debounce=LATER, debounce_key="customer:8")
        assert seen == []
        h.advance(31)
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in (first, other)))
        assert sorted(seen) == ["5", "other"]
        fresh = h.start(wf, Order(id="6"), debounce=LATER, debounce_key="customer:7")
        assert fresh.created
        assert fresh.id != first.id
        h.advance(31)
        until(lambda: h.status(fresh) is RunStatus.SUCCESS)
    assert execute(h.url, "select count(*) from halfway_input") == [(0,)]
    all_is_well(h, first, other, fresh)


def test_a_start_is_put_off_no_further_than_its_longest_delay(harness: type[Harness]) -> None:
    wf = bounded(Room(), opened(), Queue("default"))
    h = harness(wf)
    options: dict[str, Any] = {"debounce": LATER, "debounce_max": timedelta(seconds=50), "debounce_key": "k"}
    first = h.start(wf, Order(), **options)
    with h.worker():
        h.advance(29)
        h.start(wf, Order(), **options)
        h.advance(20)
        h.start(wf, Order(), **options)
        assert h.status(first) is RunStatus.PENDING
        h.advance(2)
        until(lambda: h.status(first) is RunStatus.SUCCESS)


def test_a_start_that_is_put_off_holds_nothing_and_claims_what_the_newest_input_names(harness: type[Harness]) -> None:
    room = Room()
    wf = bounded(room, opened(), Queue("default"), concurrency=1, resource=lambda order: order.id)
    h = harness(wf)
    put_off = h.start(wf, Order(id="a"), debounce=LATER, debounce_key="k")
    with h.worker():
        h.drain(h.start(wf, Order(id="a")))  # is not kept waiting
        assert h.status(put_off) is RunStatus.PENDING
        h.start(wf, Order(id="b"), debounce=LATER, debounce_key="k")
        assert {key for (key,) in execute(h.url, f"select key from halfway_claim where run_id = '{put_off.id}'")} == {
            "resource:b", "workflow:FLOW",
        }  # fmt: skip
        h.advance(31)
        until(lambda: h.status(put_off) is RunStatus.SUCCESS)
        assert h.app.control.show(put_off.id).resource == "b"
    assert leases(h) == 0


def test_a_start_that_was_cancelled_while_it_was_put_off_is_not_started(harness: type[Harness]) -> None:
    wf = bounded(Room(), opened(), Queue("default"))
    h = harness(wf)
    first = h.start(wf, Order(), debounce=LATER, debounce_key="k")
    h.app.control.cancel(first.id, actor="kim", reason="no")
    second = h.start(wf, Order(), debounce=LATER, debounce_key="k")
    assert (second.created, h.status(first)) == (True, RunStatus.CANCELLED)


def test_many_starts_at_once_make_one_run(harness: type[Harness]) -> None:
    wf = bounded(Room(), opened(), Queue("default"))
    h = harness(wf)
    assert h.app.store.reading.runs() == []
    barrier, found = threading.Barrier(8), list[Any]()

    def start(n: int) -> None:
        barrier.wait()
        for k in range(5):
            found.append(h.start(wf, Order(id=f"{n}:{k}"), debounce=LATER, debounce_key="k"))

    threads = [threading.Thread(target=start, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    assert len({run.id for run in found}) == sum(run.created for run in found) == 1


def test_a_run_with_a_key_of_its_own_is_put_off_under_that(harness: type[Harness]) -> None:
    wf = flow()

    @wf.step(Effect.READ)
    def work(step: Step[Order]) -> None: ...

    h = harness(wf)
    first = h.start(wf, Order(id="o-1"), debounce=LATER)
    assert h.start(wf, Order(id="o-1"), debounce=LATER).id == first.id
    h.advance(31)
    h.drain(first)
    assert h.start(wf, Order(id="o-1"), debounce=LATER).id == first.id
    for wrong in (
        {"debounce_key": "k", "debounce": LATER},
        {"debounce": timedelta(0)},
        {"debounce_max": LATER},
        {"debounce": LATER, "again": "x"},
    ):
        with pytest.raises(InvalidInput):
            h.start(wf, Order(id="o-2"), **wrong)


# ── pools of workers ──


def test_a_worker_serves_its_queues_and_no_others(harness: type[Harness]) -> None:
    room = Room()
    orders, ai = bounded(room, opened(), Queue("orders"), "ORDERS"), bounded(room, opened(), Queue("ai"), "AI")
    h = harness(orders, ai)
    with h.app.worker(Queue("orders")):
        slow = [h.start(ai, Order()) for _ in range(20)]
        quick = [h.start(orders, Order()) for _ in range(5)]
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in quick))
        h.advance(60)
        assert all(h.record(run, "WORK").attempts == 0 for run in slow)
        with h.app.worker(Queue("ai")):
            until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in slow))


# ── children ──


def test_a_child_works_under_the_place_of_its_parent(harness: type[Harness]) -> None:
    """Else the child would wait for the end of its parent, and the parent for that of its child."""
    room, child = Room(), flow("CHILD", key=False, resource=lambda order: "printer", concurrency=1)

    @child.step(Effect.READ)
    def work(step: Step[Order]) -> None:
        room.enter(step.run_id)
        room.leave(step.run_id)

    parent = flow("PARENT", key=False, resource=lambda order: "printer", concurrency=1)

    @parent.children(child)
    def parts(step: Step[Order]) -> list[Order]:
        return [Order(id=str(n)) for n in range(3)]

    h = harness(parent, child)
    with h.worker():
        runs = [h.start(parent, Order()) for _ in range(2)]
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert (room.most, len(room.order), leases(h)) == (1, 6, 0)


def test_a_run_of_a_schedule_claims_what_every_other_run_does(sqlite_url: str) -> None:
    from datetime import datetime

    wf = bounded(Room(), opened(), Queue("default"), concurrency=1, resource=lambda order: order.id)

    @wf.schedule("* * * * *", tz="UTC")
    def each_minute(due: datetime) -> Order:
        return Order(id="r")

    h = Harness(sqlite_url, wf)
    new = h.app.control.schedules.run_of("FLOW", next(iter(wf.schedule_functions)), h.app.store.now())
    assert new is not None
    assert new.claims == wf.claims_of(Order(id="r"))
    h.close()
