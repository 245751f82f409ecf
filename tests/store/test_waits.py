"""Events and what waits for them: stored first, matched from either side, and each used once (R-C2, B13, B14)."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from halfway.domain.draft import Emitted, Payload
from halfway.domain.facts import CancelAsked, CloseWait, Move, OpenWait, SetRun
from halfway.domain.lifecycle import RecordStatus, RunStatus, Trigger
from halfway.domain.run import Key, Kind
from halfway.domain.spec import MINUTE, Sort
from halfway.errors import InvalidInput, UnstorableValue
from halfway.ports import GuardFailed, Received
from halfway.store import Store, open_store
from tests.store.test_creating import end
from tests.store.world import (
    TWO,
    apply,
    arrived,
    begin,
    changed,
    claim,
    due,
    event,
    put,
    read,
    receive,
    start,
    succeed,
    take,
    until_somebody_waits,
    waiting_run,
    waits,
)

FIRST = Key("first")


# ── one event, one wait ──


def test_an_event_that_comes_after_the_wait_wakes_it(store: Store) -> None:
    run_id = waiting_run(store)
    assert due(store) == []
    paid = event(payload='{"amount":5}')
    assert receive(store, paid) == [Received(paid.id, True, None)]
    assert due(store) == [run_id]
    (arrival,) = arrived(store, run_id)
    assert (arrival.run_id, arrival.key, arrival.source, arrival.payload) == (run_id, FIRST, paid.id, '{"amount":5}')


def test_an_event_that_comes_before_the_wait_is_not_lost(store: Store) -> None:
    """B13."""
    paid = event()
    receive(store, paid)
    run_id = waiting_run(store)
    assert due(store) == [run_id]
    assert take(store, run_id) == [paid.id]


def test_what_was_looked_at_is_not_due_again(store: Store) -> None:
    run_id = waiting_run(store)
    receive(store, event(), event())
    assert len(arrived(store, run_id)) == 1
    assert due(store) == []
    assert due(store, repair=MINUTE) == [run_id]  # it has still not been used


def test_an_event_of_another_name_or_key_or_that_is_too_old_does_not_arrive(store: Store) -> None:
    receive(store, event(), event("refunded"), event(key="order-2"))
    with store.runs.change() as turn:
        now = turn.now
    run_id = waiting_run(store, waits(since=now + 1))
    assert (due(store, repair=MINUTE), arrived(store, run_id)) == ([], [])
    store.advance_clock(MINUTE)
    fresh = event()
    receive(store, fresh)
    assert take(store, run_id) == [fresh.id]


def test_a_duplicate_changes_nothing_and_says_who_has_used_the_first(store: Store) -> None:
    """B16."""
    paid = event(provider_id="p-1")
    again = event(provider_id="p-1", payload='{"other":true}')
    assert receive(store, paid, again) == [Received(paid.id, True, None), Received(paid.id, False, None)]
    assert receive(store, again) == [Received(paid.id, False, None)]
    run_id = waiting_run(store)
    assert take(store, run_id) == [paid.id]
    assert receive(store, again) == [Received(paid.id, False, run_id)]
    assert [(row.event, row.run_id) for row in store.attention.events()] == [(paid, run_id)]
    assert receive(store, event(source="bank", provider_id="p-1"))[0].created


def test_events_are_used_in_the_order_in_which_they_came(store: Store) -> None:
    events = [event() for _ in range(3)]
    receive(store, *events)
    run_id = start(store).run_id
    for number, one in enumerate(events, 1):
        put(store, run_id, waits(n=number))
        assert take(store, run_id) == [one.id]


def test_an_event_goes_to_the_one_who_has_waited_longest(store: Store) -> None:
    first, second, third = (waiting_run(store) for _ in range(3))
    one, two = event(), event()
    receive(store, one)
    assert arrived(store, second, third) == []
    assert [(one.run_id, one.source) for one in arrived(store, third, first)] == [(first, one.id)]
    receive(store, two)
    assert {(one.run_id, one.source) for one in arrived(store, first, second, third)} == {(first, one.id), (second, two.id)}
    assert arrived(store, third) == []


def test_who_is_served_or_gives_up_wakes_the_next(store: Store) -> None:
    first, second = waiting_run(store), waiting_run(store)
    receive(store, event(), event())
    assert len(arrived(store, first, second)) == 2
    assert due(store) == []
    assert len(take(store, first)) == 1
    assert due(store) == [second]
    assert len(take(store, second)) == 1

    first, second = waiting_run(store), waiting_run(store)
    receive(store, event())
    arrived(store, first, second)
    put(store, first, CloseWait(FIRST, "TIMED_OUT"))
    assert due(store) == [second]


def test_an_older_wait_for_which_an_event_is_too_old_leaves_it_to_the_next(store: Store) -> None:
    old = event()
    receive(store, old)
    store.advance_clock(MINUTE)
    with store.runs.change() as turn:
        now = turn.now
    picky, modest = waiting_run(store, waits(since=now)), waiting_run(store)
    assert [(one.run_id, one.source) for one in arrived(store, picky, modest)] == [(modest, old.id)]
    fresh = event()
    receive(store, fresh)
    assert {(one.run_id, one.source) for one in arrived(store, picky, modest)} == {(picky, fresh.id), (modest, old.id)}


def test_two_waits_of_one_run_take_two_events(store: Store) -> None:
    run_id = start(store).run_id
    put(store, run_id, waits(), waits(step="second"))
    receive(store, event(), event())
    assert len(set(take(store, run_id))) == 2


# ── each is used once ──


def test_an_event_is_used_once(store: Store) -> None:
    """B14: whoever comes second changes nothing."""
    one, two = waiting_run(store), waiting_run(store)
    paid = event()
    receive(store, paid)
    before = read(store, two)
    put(store, one, CloseWait(FIRST, "ARRIVED", paid.id))
    with pytest.raises(GuardFailed):
        put(store, two, CloseWait(FIRST, "ARRIVED", paid.id))
    assert read(store, two) == before
    assert [wait.closed_at for wait in store.attention.waits(two)] == [None]


def test_an_event_is_used_once_within_a_batch(store: Store) -> None:
    run_ids = [waiting_run(store), waiting_run(store)]
    paid = event()
    receive(store, paid)
    changes = [changed(read(store, id), CloseWait(FIRST, "ARRIVED", paid.id)) for id in run_ids]
    with pytest.raises(GuardFailed), store.runs.change() as turn:
        turn.write(changes)
    assert store.attention.events()[0].processed_at is None


def test_a_wait_ends_once(store: Store) -> None:
    run_id = waiting_run(store)
    one, two = event(), event()
    receive(store, one, two)
    put(store, run_id, CloseWait(FIRST, "ARRIVED", one.id))
    for source in (one.id, two.id, "nothing"):
        with pytest.raises(GuardFailed):
            put(store, run_id, CloseWait(FIRST, "ARRIVED", source))
    put(store, run_id, CloseWait(FIRST, "CLOSED"))
    (wait,) = store.attention.waits(run_id)
    assert (wait.how, wait.source) == ("ARRIVED", one.id)
    assert {row.event.id: row.run_id for row in store.attention.events()} == {one.id: run_id, two.id: None}


def test_an_event_after_the_one_that_was_used_is_kept_while_its_run_still_works(store: Store) -> None:
    """It may wait for the next one: only the end of the run, or a wait that was given up, makes an event come too late."""
    run_id = waiting_run(store)
    one, two = event(), event()
    receive(store, one)
    put(store, run_id, CloseWait(FIRST, "ARRIVED", one.id))
    [received] = receive(store, two)
    assert (received.used_by, received.resolved) == (None, None)
    run = read(store, run_id).run
    put(store, run_id, SetRun(run._replace(status=RunStatus.FAILED, revision=run.revision + 1, ended_at=1), ended=True))
    with store.runs.change() as turn:
        assert [one.resolved for one in turn.inbox.outcomes([two.id])] == [run_id]


def test_a_closed_wait_gets_nothing_and_its_wake_is_looked_at_once(store: Store) -> None:
    run_id = waiting_run(store)
    receive(store, event())
    put(store, run_id, CloseWait(FIRST, "CLOSED"))
    assert (due(store, repair=MINUTE), arrived(store, run_id)) == ([run_id], [])
    assert due(store, repair=MINUTE) == []


def test_a_record_that_is_asked_once_more_waits_anew(store: Store) -> None:
    run_id = waiting_run(store)
    put(store, run_id, CloseWait(FIRST, "CLOSED"))
    put(store, run_id, waits("refunded"))
    (wait,) = store.attention.waits(run_id)
    assert (wait.name, wait.closed_at, wait.how) == ("refunded", None, None)


# ── who waits, and what became of an event ──


def test_who_waits_is_told_by_event_and_never_more_than_there_are_events(store: Store) -> None:
    run_ids = [waiting_run(store) for _ in range(3)]
    other = waiting_run(store, waits(key="order-2"))
    one, two, unwanted = event(), event(key="order-2"), event("unwanted")
    receive(store, one, two, unwanted)
    with store.runs.change() as turn:
        assert turn.inbox.waiting([one.id]) == run_ids[:1]
        assert turn.inbox.waiting([one.id, two.id]) == sorted([*run_ids[:2], other])
        assert turn.inbox.waiting([unwanted.id]) == turn.inbox.waiting([]) == turn.inbox.waiting(["unknown"]) == []


def test_an_event_for_a_run_that_waits_no_longer_is_said_to_be_late(store: Store) -> None:
    """B13: never silently "ok"."""
    run_id = waiting_run(store)
    put(store, run_id, CloseWait(FIRST, "TIMED_OUT"))
    late, used, strange = event(), event(key="order-2"), event("strange")
    assert receive(store, late) == [Received(late.id, True, None, run_id)]
    other = waiting_run(store, waits(key="order-2"))
    receive(store, used, strange)
    take(store, other)
    with store.runs.change() as turn:
        assert turn.inbox.outcomes([strange.id, used.id, late.id]) == [
            Received(strange.id, False, None),
            Received(used.id, False, other),
            Received(late.id, False, None, run_id),
        ]
    waiting_run(store)
    with store.runs.change() as turn:
        assert turn.inbox.outcomes([late.id]) == [Received(late.id, False, None)]


def test_an_event_that_no_database_can_hold_is_refused(store: Store) -> None:
    for bad in (event("a\0"), event(key="\ud800"), event(payload="\0"), event(provider_id="\0")):
        with pytest.raises(UnstorableValue):
            receive(store, event(), bad)
    assert store.attention.events() == []


# ── races, forced ──


@pytest.mark.parametrize("event_first", [True, False])
def test_a_wait_and_an_event_that_do_not_see_each_other_are_found_by_the_repair(postgres_url: str, event_first: bool) -> None:
    """B13: between "wait decided" and "wait committed", in both orders."""
    store = open_store(postgres_url)
    run_id, paid = start(store).run_id, event(key=f"order-{event_first}")
    with store.runs.change() as outer, store.runs.change() as inner:  # the inner one is committed first
        sender, waiter = (outer, inner) if event_first else (inner, outer)
        if event_first:
            sender.inbox.receive([paid])
        waiter.lock([run_id])
        waiter.write([changed(waiter.load([run_id])[run_id].snapshot, waits(key=paid.key))])
        if not event_first:
            sender.inbox.receive([paid])
    assert due(store) == []  # neither has seen the other
    assert due(store, repair=MINUTE) == [run_id]
    with store.runs.change() as turn:
        assert turn.inbox.waiting([paid.id]) == [run_id]  # what the sender asks after its commit
    assert take(store, run_id) == [paid.id]
    store.close()


def test_a_wake_that_is_committed_while_one_looks_is_not_lost(postgres_url: str) -> None:
    store = open_store(postgres_url)
    run_id = waiting_run(store)
    with store.runs.change() as sender:
        sender.inbox.receive([event()])
        assert arrived(store, run_id) == []
    assert due(store) == [run_id]
    store.close()


def test_an_event_that_somebody_is_about_to_use_is_waited_for(postgres_url: str) -> None:
    store = open_store(postgres_url)
    run_id = waiting_run(store)
    paid = event()
    receive(store, paid)
    with psycopg.connect(postgres_url) as other:
        other.execute("select 1 from halfway_event for update")
        assert arrived(store, run_id) == []
        assert due(store) == [run_id]
    assert take(store, run_id) == [paid.id]
    store.close()


def test_two_that_take_one_event_at_once_do_not_both_get_it(postgres_url: str) -> None:
    store = open_store(postgres_url)
    one, two = waiting_run(store), waiting_run(store)
    paid = event()
    receive(store, paid)
    refused: list[GuardFailed] = []

    def second() -> None:
        try:
            put(store, two, CloseWait(FIRST, "ARRIVED", paid.id))
        except GuardFailed as error:
            refused.append(error)

    thread = threading.Thread(target=second)
    with store.runs.change() as turn:
        turn.write([changed(turn.load([one])[one].snapshot, CloseWait(FIRST, "ARRIVED", paid.id))])
        thread.start()
        until_somebody_waits(postgres_url)
    thread.join()
    assert len(refused) == 1
    assert store.attention.events()[0].run_id == one
    store.close()


def test_the_same_event_received_by_many_at_once_is_kept_once(store: Store) -> None:
    """B16."""
    barrier = threading.Barrier(8)
    answers: list[Received] = []

    def deliver() -> None:
        barrier.wait()
        answers.extend(receive(store, event(provider_id="p-2"), event(provider_id="p-1")))

    threads = [threading.Thread(target=deliver) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(answer.created for answer in answers) == 2
    assert len({answer.event_id for answer in answers}) == len(store.attention.events()) == 2


def test_many_waits_and_many_events_at_once_find_each_other_exactly_once(store: Store) -> None:
    """Two senders and two who look, all at the same time."""
    run_ids = [waiting_run(store) for _ in range(20)]
    events = [event() for _ in range(20)]
    works = [
        lambda: [receive(store, one) for one in events[::2]],
        lambda: [receive(store, one) for one in events[1::2]],
        lambda: [take(store, run_id) for run_id in run_ids[::2] * 3],
        lambda: [take(store, run_id) for run_id in run_ids[1::2] * 3],
    ]
    with ThreadPoolExecutor(len(works)) as pool:
        for future in [pool.submit(work) for work in works]:
            future.result()
    while left := due(store):  # nobody has to be repaired: every wake was kept
        for run_id in left:
            take(store, run_id)
    assert sorted(row.run_id or "" for row in store.attention.events()) == sorted(run_ids)


# ── within the caller's transaction ──


def test_an_event_sent_within_a_transaction_lives_and_dies_with_it(store: Store, url: str) -> None:
    run_id = waiting_run(store)
    paid = event()
    raw = psycopg.connect(url) if url.startswith("postgres") else __import__("sqlite3").connect(url.removeprefix("sqlite:///"))
    raw.execute("begin" if url.startswith("sqlite") else "select 1")
    assert store.runs.keep([paid], within=raw) == [Received(paid.id, True, None)]
    raw.rollback()
    assert (store.attention.events(), due(store)) == ([], [])
    raw.execute("begin" if url.startswith("sqlite") else "select 1")
    store.runs.keep([paid], within=raw)
    raw.commit()
    assert due(store) == [run_id]
    raw.close()
    with pytest.raises(InvalidInput):
        store.runs.keep([paid], within=object())


# ── events that steps send ──


def test_what_a_step_has_sent_is_kept_with_its_success_and_wakes_who_waits(store: Store) -> None:
    waiting = waiting_run(store)
    run_id = start(store).run_id
    snapshot = claim(store, run_id, begin(store))
    emitted = (Emitted("paid", "order-1", '{"n":1}'), Emitted("paid", "order-2", "{}"))
    failed = snapshot.records[FIRST]._replace(status=RecordStatus.FAILED)
    put(store, run_id, Move(failed, Trigger.FAILED, keep=True), payloads={FIRST: Payload(emitted=emitted)})
    assert store.attention.events() == []
    done = failed._replace(status=RecordStatus.SUCCESS)
    put(store, run_id, Move(done, Trigger.FOUND), payloads={FIRST: Payload(emitted=emitted)})
    assert store.attention.events() == []
    for _ in range(2):  # the same success once more sends nothing anew
        put(store, run_id, Move(done, Trigger.SUCCEEDED, keep=True), payloads={FIRST: Payload("{}", emitted=emitted)})
    two, one = store.attention.events()
    assert (one.event.source, one.event.name, one.event.key, one.event.payload) == ("halfway", "paid", "order-1", '{"n":1}')
    assert (one.event.provider_id, two.event.provider_id) == (f"{run_id}:first:1::STEP#0", f"{run_id}:first:1::STEP#1")
    assert waiting in due(store)
    assert take(store, waiting) == [one.event.id]
    messages = store.outbox.take(10, MINUTE)
    assert [(message.what, message.run_id, message.step, message.event) for message in messages] == [
        ("EVENT", run_id, "first", one.event),
        ("EVENT", run_id, "first", two.event),
    ]


# ── waits for runs, times and people ──


def test_the_end_of_a_run_wakes_who_waits_for_it_and_tells_what_became_of_it(store: Store) -> None:
    other = start(store, key="order-1", input='{"a":1}').run_id
    run_id = waiting_run(store, waits(TWO.type, sort=Sort.RUN))
    assert (due(store), arrived(store, run_id)) == ([], [])
    epoch = begin(store)
    claim(store, other, epoch)
    succeed(store, other, output='{"id":"c_1"}')
    assert due(store) == []
    claim(store, other, epoch, name="second")
    succeed(store, other, name="second", output='"x"')
    assert due(store) == [run_id]
    (arrival,) = arrived(store, run_id)
    assert (arrival.run_id, arrival.key, arrival.source) == (run_id, FIRST, other)
    assert json.loads(arrival.payload) == {
        "id": other,
        "type": TWO.type,
        "version": 1,
        "key": "order-1",
        "status": "SUCCESS",
        "input": '{"a":1}',
        "failure": None,
        "outputs": {"first": '{"id":"c_1"}', "second": '"x"'},
        "steps": {"first": "SUCCESS", "second": "SUCCESS"},
    }
    assert take(store, run_id) == [other]
    (wait,) = store.attention.waits(run_id)
    assert (wait.how, wait.source, wait.sort) == ("ARRIVED", other, "RUN")


def test_a_run_that_had_ended_before_is_found_at_once_and_two_may_wait_for_it(store: Store) -> None:
    other = start(store, key="order-1").run_id
    end(store, other)
    one, two = (waiting_run(store, waits(TWO.type, sort=Sort.RUN)) for _ in range(2))
    assert due(store) == [one, two]
    assert take(store, one) == take(store, two) == [other]


def test_a_failed_run_tells_why(store: Store) -> None:
    other = start(store, key="order-1").run_id
    snapshot = claim(store, other, begin(store))
    failed = snapshot.records[FIRST]._replace(status=RecordStatus.FAILED, code="DECLINED", ended_at=5, open=())
    run = snapshot.run._replace(status=RunStatus.FAILED, revision=snapshot.run.revision + 1, ended_at=5)
    put(store, other, Move(failed, Trigger.FAILED), SetRun(run, ended=True), payloads={FIRST: Payload(error="no money")})
    (arrival,) = arrived(store, waiting_run(store, waits(TWO.type, sort=Sort.RUN)))
    told = json.loads(arrival.payload)
    assert told["failure"] == {"step": "first", "code": "DECLINED", "message": "no money"}
    assert (told["status"], told["outputs"], told["steps"]) == ("FAILED", {}, {"first": "FAILED"})


def test_the_newest_run_under_a_key_is_the_one_that_is_waited_for(store: Store) -> None:
    first = start(store, key="order-1").run_id
    apply(store, first, TWO, CancelAsked())
    second = start(store, key="order-1", again="once more").run_id
    run_id = waiting_run(store, waits(TWO.type, sort=Sort.RUN))
    assert arrived(store, run_id) == []
    apply(store, second, TWO, CancelAsked())
    assert due(store) == [run_id]
    assert take(store, run_id) == [second]


def test_the_end_of_a_run_and_a_wait_for_it_that_do_not_see_each_other_are_found(postgres_url: str) -> None:
    store = open_store(postgres_url)
    other, run_id = start(store, key="order-1").run_id, start(store).run_id
    with store.runs.change() as waiter:
        waiter.lock([run_id])
        waiter.write([changed(waiter.load([run_id])[run_id].snapshot, waits(TWO.type, sort=Sort.RUN))])
        apply(store, other, TWO, CancelAsked())
    assert due(store) == []
    assert due(store, repair=MINUTE) == [run_id]
    store.close()


def test_a_run_whose_deadline_had_passed_before_it_began_wakes_who_waits_for_it(store: Store) -> None:
    run_id = waiting_run(store, waits(TWO.type, sort=Sort.RUN))
    start(store, key="order-1", deadline_at=1)
    assert due(store) == [run_id]


def test_a_waiting_record_is_due_when_its_time_has_come_and_never_looks_stuck(store: Store) -> None:
    run_id = start(store).run_id
    snapshot = claim(store, run_id, begin(store))
    with store.runs.change() as turn:
        later = turn.now + MINUTE
    waiting = snapshot.records[FIRST]._replace(status=RecordStatus.WAITING, ready_at=later, open=())
    put(store, run_id, Move(waiting, Trigger.BECAME_READY), OpenWait(FIRST, 1, Sort.TIME, "", "", 0))
    assert due(store, repair=MINUTE) == []
    assert store.reading.runs()[0].current == ("first",)
    store.advance_clock(MINUTE)
    assert due(store) == [run_id]


def test_what_is_to_be_approved_is_kept_with_the_wait_and_stays_the_output(store: Store) -> None:
    run_id = start(store).run_id
    snapshot = claim(store, run_id, begin(store))
    waiting = snapshot.records[FIRST]._replace(status=RecordStatus.WAITING, asks="lead")
    shown = Payload('{"price":5}')
    wait = OpenWait(FIRST, 1, Sort.APPROVAL, "", "hash", 0)
    put(store, run_id, Move(waiting, Trigger.BECAME_READY, keep=True), wait, payloads={FIRST: shown})
    assert store.attention.waits(run_id)[0].shown == '{"price":5}'
    done = waiting._replace(status=RecordStatus.SUCCESS, asks="")
    put(store, run_id, Move(done, Trigger.SUCCEEDED), CloseWait(FIRST, "ARRIVED"))
    assert store.reading.detail(run_id).records[0].output == '{"price":5}'
    put(store, run_id, Move(done, Trigger.SUCCEEDED, keep=True), payloads={FIRST: Payload('"approved"')})
    assert store.reading.detail(run_id).records[0].output == '"approved"'


def test_the_draft_of_a_compensation_is_what_its_approver_is_shown(store: Store) -> None:
    run_id = start(store).run_id
    undo, draft = FIRST._replace(kind=Kind.COMPENSATION), FIRST._replace(kind=Kind.DRAFT)
    put(store, run_id, waits(), OpenWait(undo, 1, Sort.APPROVAL, "", "hash", 0), payloads={draft: Payload('"sorry"')})
    assert {wait.key: wait.shown for wait in store.attention.waits(run_id)} == {FIRST: None, undo: '"sorry"'}
