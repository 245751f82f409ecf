"""Slots of queues, lines of runs, pauses and starts that are put off, as the databases keep them."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from halfway.domain.decide import decide
from halfway.domain.draft import Audit, Change
from halfway.domain.facts import CancelAsked, Claimed, Finished, Unblocked
from halfway.domain.line import Claim, Limits, holder_of
from halfway.domain.run import Ended, Key, Report
from halfway.errors import Conflict
from halfway.ports import Debounce, FlowState, GuardFailed, OpenQueue, Started
from halfway.store import Store, new_id, open_store
from tests.engine.recovery import execute
from tests.store.world import LOCKED, ROUTE, TWO, apply, begin, new_run, read, start, until_somebody_waits

FIRST = Key("first")
LINE = replace(TWO, type="lines", concurrency=2)
BOTH = replace(LOCKED, type="both", concurrency=2)
MINUTE = 60_000_000


def audit(action: str = "pause-queue", id: str | None = None) -> Audit:
    return Audit(id or new_id(), "kim", action, "too much")


def state(store: Store, epoch: str) -> FlowState:
    with store.runs.change(epoch=epoch) as turn:
        return turn.flow.state()


def opened(store: Store, queue: str = "default") -> OpenQueue | None:
    with store.runs.change() as turn:
        return turn.flow.open(queue)


def begin_with_slot(store: Store, run_id: str, epoch: str, slot: int) -> None:
    """As the pump does it: the slot is taken in the transaction that starts the attempt."""
    with store.runs.change(epoch=epoch) as turn:
        turn.flow.state()
        turn.lock([run_id])
        snapshot = turn.load([run_id])[run_id].snapshot
        commands = decide(TWO, snapshot, Claimed(FIRST, epoch), turn.now)
        turn.write([Change(snapshot, commands, slots={holder_of(run_id, FIRST, 1): ("queue:default", slot)})])


@pytest.fixture
def epoch(store: Store) -> str:
    return begin(store)


# ── limits and pauses ──


def test_limits_are_said_for_all_and_read_when_they_have_changed(store: Store, url: str, epoch: str) -> None:
    assert state(store, epoch) == FlowState({})
    store.queues.declare({"bulk": Limits(3, None), "plain": Limits()})
    assert state(store, epoch) == FlowState({"bulk": Limits(3, None)})
    [(name,)] = execute(url, "select value from halfway_meta where name = 'flow'")
    store.queues.declare({"bulk": Limits(3, None)})
    assert execute(url, "select value from halfway_meta where name = 'flow'") == [(name,)]
    other = open_store(url)
    other.queues.declare({"bulk": Limits(None, 60)})
    assert state(store, epoch).limits == {"bulk": Limits(None, 60)}
    other.queues.declare({"bulk": Limits()})
    assert state(store, epoch) == FlowState({})
    other.close()


def test_a_pause_is_set_once_audited_and_seen_by_the_next_transaction(store: Store, epoch: str) -> None:
    first = audit()
    assert store.queues.set_pause("QUEUE", "bulk", paused=True, audit=first)
    assert not store.queues.set_pause("QUEUE", "bulk", paused=True, audit=audit())
    assert store.queues.set_pause("WORKFLOW", "orders", paused=True, audit=audit("pause-workflow"))
    assert state(store, epoch) == FlowState({}, frozenset({"bulk"}), frozenset({"orders"}))
    assert [(row.what, row.name, row.actor, row.reason) for row in store.queues.pauses()] == [
        ("QUEUE", "bulk", "kim", "too much"), ("WORKFLOW", "orders", "kim", "too much"),
    ]  # fmt: skip
    with pytest.raises(Conflict):
        store.queues.set_pause("QUEUE", "bulk", paused=False, audit=first)
    assert store.queues.set_pause("QUEUE", "bulk", paused=False, audit=audit("resume-queue"))
    assert not store.queues.set_pause("QUEUE", "bulk", paused=False, audit=audit("resume-queue"))
    assert state(store, epoch).paused_queues == frozenset()
    log = store.attention.audit_log()
    assert [(row.audit.action, row.run_id, row.before, row.after) for row in log] == [
        ("resume-queue", "", "", ""), ("pause-workflow", "", "", ""), ("pause-queue", "", "", ""),
    ]  # fmt: skip


def test_a_worker_says_which_queues_it_serves(store: Store) -> None:
    store.lives.begin(host="h", pid=1, identity="", kill_after=None, queues=["bulk", "mail"])
    begin(store)
    assert sorted(row.queues for row in store.reading.workers()) == [(), ("bulk", "mail")]


# ── slots ──


def test_a_slot_comes_with_the_start_of_an_attempt_and_goes_with_its_end(store: Store, epoch: str) -> None:
    store.queues.declare({"default": Limits(2, None)})
    one, two = start(store).run_id, start(store).run_id
    begin_with_slot(store, one, epoch, 0)
    found = opened(store)
    assert found is not None
    assert (found.limits, found.taken) == (Limits(2, None), {0: holder_of(one, FIRST, 1)})
    with pytest.raises(GuardFailed):
        begin_with_slot(store, two, epoch, 0)
    assert read(store, two).records[FIRST].attempts == 0
    begin_with_slot(store, two, epoch, 1)
    apply(store, one, TWO, Finished(FIRST, 1, Report(Ended.SUCCESS)))
    apply(store, two, TWO, Finished(FIRST, 1, Report(Ended.NOTHING)))
    assert opened(store) == OpenQueue(Limits(2, None), {}, ())


def test_a_slot_stays_while_the_body_may_still_be_at_it(store: Store, url: str, epoch: str) -> None:
    store.queues.declare({"default": Limits(2, None)})
    one, two = start(store).run_id, start(store).run_id
    begin_with_slot(store, one, epoch, 0)
    begin_with_slot(store, two, epoch, 1)
    apply(store, one, TWO, Finished(FIRST, 1, Report(Ended.LOST, gone=False)))
    apply(store, two, TWO, Finished(FIRST, 1, Report(Ended.LOST, gone_after=MINUTE)))
    with store.runs.change() as turn:
        assert turn.flow.tidy() == 0
    store.advance_clock(MINUTE + 1)
    with store.runs.change() as turn:
        assert turn.flow.tidy() == 1
    execute(url, "update halfway_worker set state = 'DEAD'")
    with store.runs.change() as turn:
        assert turn.flow.tidy() == 1
        assert turn.flow.tidy() == 0
    assert execute(url, "select count(*) from halfway_lease") == [(0,)]


def test_slots_of_attempts_that_have_ended_are_given_back_by_whoever_tidies(store: Store, url: str, epoch: str) -> None:
    store.queues.declare({"default": Limits(2, None)})
    one = start(store).run_id
    begin_with_slot(store, one, epoch, 1)
    stranger = open_store(url)  # knows no limits, so the end of the attempt leaves the slot
    apply(stranger, one, TWO, Finished(FIRST, 1, Report(Ended.SUCCESS)))
    assert execute(url, "select slot from halfway_lease") == [(1,)]
    with stranger.runs.change() as turn:
        assert turn.flow.tidy() == 1
    stranger.close()


def test_a_queue_is_in_one_hand_and_nobody_waits_for_it(postgres_url: str) -> None:
    store = open_store(postgres_url)
    store.queues.declare({"default": Limits(2, 10), "other": Limits(1, None)})
    with store.runs.change() as turn:
        assert turn.flow.open("default") is not None
        assert opened(store) is None
        assert opened(store, "other") is not None
    assert opened(store) is not None
    assert opened(store, "unknown") is None
    store.close()


def test_starts_are_counted_with_the_transaction_or_not_at_all(store: Store) -> None:
    store.queues.declare({"default": Limits(None, 5)})

    def fail() -> None:
        with store.runs.change() as turn:
            turn.flow.count("default", ((1, 2),))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert opened(store) == OpenQueue(Limits(None, 5), {}, ())
    now = store.now() // 1_000_000
    with store.runs.change() as turn:
        turn.flow.count("default", ((now, 5),))
    assert opened(store) == OpenQueue(Limits(None, 5), {}, ((now, 5),))
    [row] = store.queues.limited()
    assert (row.name, row.limits, row.running, row.started, row.next_at) == ("default", Limits(None, 5), 0, 5, (now + 61) * 1_000_000)


# ── lines ──


def claiming(slots: int = 2, key: str = "workflow:lines") -> dict[str, object]:
    return {"claims": (Claim(key, slots),)}


def test_so_many_runs_hold_a_place_and_the_others_stand_in_line(store: Store) -> None:
    runs = [start(store, LINE, **claiming()) for _ in range(4)]
    assert [run.ready for run in runs] == [(ROUTE,), (ROUTE,), (), ()]
    ids = [run.run_id for run in runs]
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == []
        assert turn.flow.take(ids[2:]) == frozenset()
    assert [(row.key, row.slots, row.held, row.waits) for row in store.queues.lines(ids[3])] == [("workflow:lines", 2, 2, True)]
    apply(store, ids[0], LINE, CancelAsked())
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == ids[2:]
        assert turn.flow.take(ids[2:]) == {ids[2]}
    apply(store, ids[2], LINE, Unblocked())
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == []
    assert [(row.held, row.waits) for row in store.queues.lines(ids[2])] == [(2, False)]


def test_whoever_waits_for_one_thing_takes_nothing_else_and_keeps_nobody_behind(store: Store, url: str) -> None:
    def claims(resource: str) -> dict[str, object]:
        return {"resource": resource, "claims": (Claim(f"resource:{resource}"), Claim("workflow:both", 2))}

    a1, a2, b = (start(store, BOTH, **claims(name)) for name in ("a", "a", "b"))
    assert [bool(run.ready) for run in (a1, a2, b)] == [True, False, True]
    assert execute(url, f"select count(*) from halfway_lease where holder = '{a2.run_id}'") == [(0,)]
    apply(store, b.run_id, BOTH, CancelAsked())
    c = start(store, BOTH, **claims("c"))
    assert bool(c.ready)
    apply(store, a1.run_id, BOTH, CancelAsked())
    d = start(store, BOTH, **claims("d"))
    assert d.ready == ()  # a2 could go, and was first
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == [a2.run_id, d.run_id]
        assert turn.flow.take([a2.run_id, d.run_id]) == {a2.run_id}


def test_a_limit_that_was_lowered_holds_for_those_who_come(store: Store) -> None:
    runs = [start(store, LINE, **claiming(4)) for _ in range(4)]
    assert start(store, LINE, **claiming(2)).ready == ()
    for run in runs[:2]:
        apply(store, run.run_id, LINE, CancelAsked())
    assert start(store, LINE, **claiming(2)).ready == ()
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == []
    apply(store, runs[2].run_id, LINE, CancelAsked())
    with store.runs.change() as turn:
        assert len(turn.flow.in_line(10)) == 2


@pytest.mark.parametrize("round", range(25))
def test_of_runs_that_come_at_once_never_more_than_allowed_begin(store: Store, url: str, round: int) -> None:
    barrier, answers = threading.Barrier(4), list[Started]()

    def come() -> None:
        barrier.wait()
        answers.extend(store.runs.create([new_run(LINE, **claiming(3)) for _ in range(2)]))

    threads = [threading.Thread(target=come) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    begun = [one for one in answers if one.ready]
    assert 1 <= len(begun) <= 3
    assert execute(url, "select count(distinct holder), count(*) from halfway_lease") == [(len(begun), len(begun))]


def test_two_sweeps_give_one_place_to_one_run(postgres_url: str) -> None:
    store = open_store(postgres_url)
    one, two, three = (start(store, LINE, **claiming(1)).run_id for _ in range(3))
    apply(store, one, LINE, CancelAsked())
    taken: list[frozenset[str]] = []

    def other() -> None:
        with store.runs.change() as turn:
            taken.append(turn.flow.take([three]))

    thread = threading.Thread(target=other)
    with store.runs.change() as turn:
        assert turn.flow.take([two]) == {two}
        thread.start()
        until_somebody_waits(postgres_url)
    thread.join()
    assert taken == [frozenset()]
    assert execute(postgres_url, "select holder from halfway_lease") == [(two,)]
    store.close()


# ── the order of records ──


def test_a_point_of_priority_is_worth_a_minute_of_waiting(store: Store) -> None:
    old = start(store, priority=0).run_id
    store.advance_clock(2 * MINUTE)
    urgent, lazy = start(store, priority=3).run_id, start(store, priority=-3).run_id
    store.advance_clock(2 * MINUTE)
    late = start(store, priority=3).run_id
    with store.runs.change() as turn:
        assert [one.run_id for one in turn.ready(ROUTE, 10)] == [urgent, old, late, lazy]
        assert [one.run_id for one in turn.ready(ROUTE, 2)] == [urgent, old]
        assert turn.ready(ROUTE, 10, steps=False) == []
        assert [one.run_id for one in turn.ready(ROUTE, 10, run_id=late)] == [late]
        assert turn.ready(ROUTE, 10, steps=False, run_id=late) == []


def test_what_is_ready_comes_in_the_order_of_an_index(store: Store, url: str) -> None:
    from halfway.store.statements import statements

    for name in ("ready", "ready_beside"):
        found = statements(postgres=url.startswith("postgres"))[name]
        values = {"route": ROUTE, "now": 1, "limit": 5}
        with store._database.transaction("explain") as session:
            if url.startswith("postgres"):
                import psycopg

                start(store)
                cursor = psycopg.RawCursor(session.raw)  # type: ignore[attr-defined]
                cursor.execute("set local enable_seqscan = off")
                cursor.execute("set local enable_sort = off")
                plan = "\n".join(row[0] for row in cursor.execute(f"explain {found.text}".encode(), [str(values[p]) for p in found.params]))
                assert "Sort" not in plan
                assert "Index Scan using halfway_record_ready" in plan
            else:
                raw = session.raw  # type: ignore[attr-defined]
                plan = str([row[3] for row in raw.execute(f"explain query plan {found.text}", [values[p] for p in found.params])])
                assert "TEMP B-TREE" not in plan


# ── starts that are put off ──


def test_a_start_that_is_put_off_is_one_run_that_begins_later(store: Store, url: str) -> None:
    put_off = Debounce("k", MINUTE)
    first = start(store, debounce=put_off, input="1")
    store.advance_clock(MINUTE // 2)
    assert start(store, debounce=put_off, input="2") == Started(first.run_id, False)
    other = start(store, debounce=put_off._replace(key="l"))
    assert (first.created, other.created) == (True, True)
    detail = store.reading.detail(first.run_id)
    assert (detail.input, detail.run.revision) == ("2", 2)
    assert [line.name for line in store.reading.journal(first.run_id)] == ["workflow.started", "workflow.postponed", "workflow.postponed"]
    store.advance_clock(MINUTE * 3 // 4)
    with store.runs.change() as turn:
        assert turn.ready(ROUTE, 10) == []
    store.advance_clock(MINUTE // 2)
    with store.runs.change() as turn:
        assert {one.run_id for one in turn.ready(ROUTE, 10)} == {first.run_id, other.run_id}
    apply(store, first.run_id, TWO, Claimed(FIRST, begin(store)))
    with store.runs.change() as turn:
        turn.flow.tidy()
    assert execute(url, "select key from halfway_debounce") == [("l",)]
    assert start(store, debounce=put_off).created


def test_a_start_of_another_release_takes_the_place_of_the_one_that_is_put_off(store: Store) -> None:
    put_off = Debounce("k", MINUTE, 2 * MINUTE)
    former = start(store, debounce=put_off)
    store.advance_clock(MINUTE * 3 // 2)
    newer = start(store, replace(TWO, version=2), debounce=put_off)
    assert newer.created
    assert (read(store, former.run_id).run.status, read(store, newer.run_id).run.status) == ("CANCELLED", "PENDING")
    ready_at = read(store, newer.run_id).records[FIRST].ready_at
    assert ready_at is not None
    assert ready_at - store.now() <= MINUTE // 2  # the longest delay counts from the first start
