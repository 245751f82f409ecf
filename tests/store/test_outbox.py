"""Messages to those outside, runs that start by themselves, and orders for many runs."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from halfway.domain.facts import CancelAsked, Tell, Told
from halfway.domain.run import Key
from halfway.domain.spec import MINUTE, TriggerSpec
from halfway.engine.courier import Courier
from halfway.errors import KeyConflict, UnstorableValue
from halfway.ports import Message, NewBatch, Started
from halfway.store import Store, new_id, open_store
from tests.store.test_creating import end
from tests.store.world import TWO, apply, changed, event, new_run, put, receive, start

NEEDED = Tell(Told.PERSON_NEEDED, Key("first"), "lead", "TIMEOUT")
INCIDENT = Tell(Told.INCIDENT, None, "")
LATER = replace(TWO, type="later", triggers=(TriggerSpec(kind="EVENT", name="paid"), TriggerSpec(kind="RUN", name=TWO.type)))


# ── messages ──


def told(store: Store, *tells: Tell) -> str:
    run_id = start(store).run_id
    put(store, run_id, *tells)
    return run_id


def test_a_message_is_handed_over_once_it_was_taken(store: Store) -> None:
    run_id = told(store, NEEDED, INCIDENT)
    one, two = store.outbox.take(10, MINUTE)
    assert one == Message(one.id, one.at, "PERSON_NEEDED", run_id, "first", "lead", "TIMEOUT", 1)
    assert (two.what, two.step, two.role) == ("INCIDENT", None, "")
    assert store.outbox.take(10, MINUTE) == []
    store.outbox.delivered(one.id)
    store.advance_clock(MINUTE)
    (again,) = store.outbox.take(10, MINUTE)
    assert (again.id, again.tries) == (two.id, 2)  # nobody has heard of whoever took it
    store.outbox.failed(one.id, "too late", 0)
    assert [(row.message.id, row.error) for row in store.attention.messages(undelivered=True)] == [(two.id, None)]


def test_a_message_that_cannot_be_handed_over_is_tried_again(store: Store) -> None:
    told(store, NEEDED)
    (message,) = store.outbox.take(1, MINUTE)
    store.outbox.failed(message.id, "HTTP 503\0", message.at + 2 * MINUTE)
    assert store.outbox.take(1, MINUTE) == []
    store.advance_clock(2 * MINUTE)
    assert [one.id for one in store.outbox.take(1, MINUTE)] == [message.id]
    store.outbox.failed(message.id, "gone", message.at + 30 * MINUTE)
    (row,) = store.attention.messages(what="PERSON_NEEDED", undelivered=True)
    assert (row.message.tries, row.error, row.delivered_at) == (2, "gone", None)
    assert store.attention.messages(what="INCIDENT") == store.attention.messages(what="\0") == []


def test_two_couriers_take_different_messages(store: Store) -> None:
    told(store, *([NEEDED] * 40))
    barrier = threading.Barrier(4)
    taken: list[str] = []

    def carry() -> None:
        barrier.wait()
        while messages := store.outbox.take(3, MINUTE):
            taken.extend(message.id for message in messages)

    threads = [threading.Thread(target=carry) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 40


def test_a_courier_leaves_out_what_another_is_taking(postgres_url: str) -> None:
    store = open_store(postgres_url)
    told(store, NEEDED, INCIDENT)
    with store.runs._database.transaction("other") as session:
        assert len(session.rows("due_messages", now=session.now, limit=1)) == 1
        assert [message.what for message in store.outbox.take(10, MINUTE)] == ["INCIDENT"]
    assert [message.what for message in store.outbox.take(10, MINUTE)] == ["PERSON_NEEDED"]
    store.close()


def test_a_decision_that_is_rolled_back_has_told_nobody(store: Store) -> None:
    run_id = start(store).run_id

    def break_off() -> None:
        with store.runs.change() as turn:
            turn.write([changed(turn.load([run_id])[run_id].snapshot, NEEDED)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    assert store.attention.messages() == []


# ── runs that start by themselves ──


def test_an_event_starts_the_workflows_that_are_triggered_by_it(store: Store) -> None:
    store.runs.register([LATER])
    paid = event(payload='{"n":1}')
    receive(store, paid, event("other"))
    receive(store, paid._replace(id=new_id()))  # a duplicate starts nothing
    (task,) = store.triggers.due(["later", "another"], 10)
    assert (task.type, task.kind, task.name, task.key, task.payload, task.run_id) == ("later", "EVENT", "paid", "order-1", '{"n":1}', None)
    assert store.triggers.due(["another"], 10) == store.triggers.due([], 10) == []
    new = new_run(LATER, key="order-1", trigger=task.id)
    assert store.runs.create([new])[0].created
    assert store.triggers.due(["later"], 10) == []


def test_a_run_is_started_once_by_what_triggers_it(store: Store) -> None:
    store.runs.register([LATER])
    receive(store, event())
    (task,) = store.triggers.due(["later"], 10)
    barrier = threading.Barrier(4)
    started: list[Started] = []

    def create() -> None:
        barrier.wait()
        started.extend(store.runs.create([new_run(LATER), new_run(LATER, trigger=task.id)]))

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.reading.runs(type="later")) == 5  # those without a trigger, and one with it
    assert started.count(Started("", False)) == 3


def test_a_run_that_could_not_be_created_leaves_its_task(store: Store) -> None:
    store.runs.register([LATER])
    receive(store, event())
    start(store, LATER, key="order-1")
    (task,) = store.triggers.due(["later"], 10)
    with pytest.raises(KeyConflict):
        start(store, LATER, key="order-1", input="[1]", trigger=task.id)
    with store.runs.change() as turn:
        now = turn.now
    store.triggers.failed(task.id, "KEY_CONFLICT", now + MINUTE)
    assert store.triggers.due(["later"], 10) == []
    store.advance_clock(MINUTE)
    assert store.triggers.due(["later"], 10) == [task._replace(tries=1)]
    assert start(store, LATER, key="order-1", trigger=task.id).created is False  # it stands already, so the task is done
    assert store.triggers.due(["later"], 10) == []


def test_the_end_of_a_run_starts_the_workflows_that_are_triggered_by_it(store: Store) -> None:
    only = replace(LATER, type="only", triggers=(TriggerSpec(kind="RUN", name=TWO.type, statuses=("SUCCESS", "PARTIAL_SUCCESS")),))
    store.runs.register([LATER, only])
    cancelled, done = start(store, key="order-1").run_id, start(store).run_id
    apply(store, cancelled, TWO, CancelAsked())
    tasks = store.triggers.due(["later", "only"], 10)
    assert [(task.type, task.kind, task.name, task.key, task.run_id) for task in tasks] == [
        ("later", "RUN", TWO.type, "order-1", cancelled)
    ]
    assert json.loads(tasks[0].payload or "")["status"] == "CANCELLED"
    end(store, done)
    tasks = store.triggers.due(["later", "only"], 10)
    assert {(task.type, task.key, task.run_id) for task in tasks} == {
        ("later", "order-1", cancelled),
        ("later", "", done),
        ("only", "", done),
    }


def test_a_workflow_is_triggered_by_what_its_newest_version_says(store: Store, url: str) -> None:
    newer = replace(LATER, version=2, triggers=(TriggerSpec(kind="EVENT", name="refunded"),))
    store.runs.register([newer])
    store.runs.register([LATER])
    receive(store, event("paid"), event("refunded"))
    assert [task.name for task in store.triggers.due(["later"], 10)] == ["refunded"]
    other = open_store(url)
    other.runs.register([replace(newer, version=3, triggers=())])
    receive(store, event("refunded"))
    assert len(store.triggers.due(["later"], 10)) == 1
    other.close()


# ── orders for many runs ──


def batch(**options: object) -> NewBatch:
    return NewBatch(new_id(), "kim", "resume", "outage", '{"status":"FAILED"}', "{}", 60, 3)._replace(**options)


def test_an_order_for_many_is_kept_carried_out_and_counted(store: Store) -> None:
    order = batch()
    store.batches.create(order, [("r-1", None), ("r-2", "first"), ("r-3", None)])
    found = store.batches.get(order.id)
    assert found is not None
    assert (found.batch, found.state, found.ended_at, found.counts) == (order, "READY", None, {"WAITING": 3})
    assert store.batches.next(order.id, 10) == []
    assert store.batches.set_state(order.id, "READY", "RUNNING")
    assert not store.batches.set_state(order.id, "READY", "RUNNING")
    assert [row.batch.id for row in store.batches.running()] == [order.id]
    assert [(item.n, item.run_id, item.step) for item in store.batches.next(order.id, 2)] == [(1, "r-1", None), (2, "r-2", "first")]
    assert store.batches.finish(order.id, 1, "DONE")
    assert not store.batches.finish(order.id, 1, "FAILED")
    assert store.batches.finish(order.id, 2, "REFUSED", "it has ended\0")
    assert [item.n for item in store.batches.next(order.id, 10)] == [3]
    (refused,) = store.batches.items(order.id, state="REFUSED")
    assert (refused.detail, refused.at is None) == ("it has ended␀", False)
    assert [item.n for item in store.batches.items(order.id, after=1, limit=1)] == [2]
    assert store.batches.finish(order.id, 3, "SKIPPED")
    found = store.batches.get(order.id)
    assert found is not None
    assert (found.state, found.ended_at is None, found.counts) == ("DONE", False, {"DONE": 1, "REFUSED": 1, "SKIPPED": 1})
    assert store.batches.running() == []


def test_an_order_rests_and_stops(store: Store) -> None:
    one, two = batch(), batch(rate=None, stop_after=None)
    store.batches.create(one, [("r-1", None), ("r-2", None)])
    store.batches.create(two, [])
    assert [row.batch.id for row in store.batches.recent()] == [two.id, one.id]
    assert len(store.batches.recent(limit=1)) == 1
    store.batches.set_state(one.id, "READY", "RUNNING")
    store.batches.set_state(one.id, "RUNNING", "PAUSED")
    assert store.batches.next(one.id, 10) == []
    assert store.batches.finish(one.id, 1, "DONE")  # it was under way
    assert store.batches.set_state(one.id, "PAUSED", "STOPPED")
    found = store.batches.get(one.id)
    assert found is not None
    assert (found.state, found.ended_at is None) == ("STOPPED", False)
    assert store.batches.get("unknown") is None


def test_an_order_that_cannot_be_stored_is_refused(store: Store) -> None:
    with pytest.raises(UnstorableValue):
        store.batches.create(batch(reason="\0"), [])
    assert store.batches.recent() == []


def test_a_receiver_that_is_away_for_days_hears_of_it_when_it_is_back(store: Store) -> None:
    """J4: a person who must decide is told, however long the way was blocked."""
    told(store, NEEDED)
    heard: list[str] = []
    away = True

    def hand_over(message: Message) -> None:
        if away:
            raise ConnectionError("nobody there")
        heard.append(message.id)

    courier = Courier(store.outbox, store.triggers, hand_over=hand_over, start=lambda task: None, types=(), now=store.now)
    for _ in range(50):
        assert courier.pass_once()
        store.advance_clock(61 * MINUTE)
    away = False
    assert courier.pass_once()
    assert len(heard) == 1
    assert not courier.pass_once()
