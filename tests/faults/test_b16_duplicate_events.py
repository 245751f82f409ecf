"""B16, inbox: a message that is delivered again changes nothing, and one whose first delivery failed is not lost for it."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from halfway import Effect, Event, RunStatus, Step, Then, Workflow
from halfway.errors import DatabaseError, InvalidInput
from halfway.testing import FailAt
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, Payment, connected, pay, reach, work
from tests.engine.test_races import lost_connection
from tests.faults.checks import all_is_well

PARALLEL = 20


def webhook(calls: Calls) -> Workflow[Order]:
    """Each message starts a run; the run waits for a second message."""
    wf = flow("HOOK", key=False)

    @wf.starts_on(PAID)
    def begin(payment: Payment) -> Order:
        return Order(id=f"p{payment.amount}")

    @wf.step(Effect.CREATE, evidence="the ledger")
    def book(step: Step[Order]) -> None:
        calls.add("BOOK", step.input.id)

    return wf


def receiving(calls: Calls) -> Workflow[Order]:
    wf = flow("RECEIVE")

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.CREATE, evidence="the ledger")
    def ship(step: Step[Order]) -> None:
        calls.add("SHIP", step.output(paid).amount)

    return wf


def hooks(h: Harness) -> list[Any]:
    return list(h.app.control.runs(type="HOOK", limit=500))


def started(h: Harness, count: int) -> None:
    """So many runs and no more: nothing is left that could start another."""
    until(lambda: len(hooks(h)) >= count and not h.app.store.triggers.due(["HOOK"], 100))
    until(lambda: all(line.status is RunStatus.SUCCESS for line in hooks(h)))
    assert len(hooks(h)) == count


def test_the_same_delivery_in_sequence_starts_one_run_and_wakes_one_wait(harness: type[Harness]) -> None:
    """B16: twice in sequence, after the run has ended, and after a restart; then a new id."""
    calls = Calls()
    h = harness(webhook(calls), wait := receiving(calls))
    with h.worker():
        run = h.start(wait, Order())
        reach(h, run, RunStatus.WAITING)
        first, second = pay(h, "o1", 1, id="d-1"), pay(h, "o1", 1, id="d-1")
        assert (first.created, second.created) == (True, False)
        assert first.event_id == second.event_id
        assert first.run_id == second.run_id == run.id
        reach(h, run, RunStatus.SUCCESS)
        started(h, 1)
        again = pay(h, "o1", 1, id="d-1")
        assert (again.created, again.state, again.run_id) == (False, "DELIVERED", run.id)
    restarted = harness(webhook(calls), receiving(calls))
    with restarted.worker():
        assert not pay(restarted, "o1", 1, id="d-1").created
        started(restarted, 1)
        assert pay(restarted, "o1", 1, id="d-2").created  # the same body under a new id is another message
        started(restarted, 2)
    assert sorted(calls.made) == [("BOOK", "p1"), ("BOOK", "p1"), ("SHIP", 1)]
    all_is_well(h, run, *hooks(h))


def test_the_same_delivery_in_parallel_is_stored_once(harness: type[Harness]) -> None:
    """B16: 20 at once through two applications."""
    calls = Calls()
    a = harness(webhook(calls), wait := receiving(calls))
    b = harness(*a.app.workflows.values())
    run = a.start(wait, Order())
    with a.worker(), b.worker(), ThreadPoolExecutor(PARALLEL) as pool:
        reach(a, run, RunStatus.WAITING)
        for n in range(5):
            sent = list(pool.map(lambda i, n=n: pay((a, b)[i % 2], "o1", n, id=f"d-{n}"), range(PARALLEL)))  # type: ignore[misc]
            assert [one.created for one in sent].count(True) == 1
            assert len({one.event_id for one in sent}) == 1
        reach(a, run, RunStatus.SUCCESS)
        started(a, 5)
    assert calls.count("SHIP") == 1
    assert calls.count("BOOK") == 5
    all_is_well(a, run, *hooks(a))


def test_one_id_of_two_sources_names_two_messages(harness: type[Harness]) -> None:
    """B16: ids are unique within their source."""
    calls = Calls()
    h = harness(webhook(calls))
    sent = [h.app.send(PAID, Payment(), key="k", id="1", source=source) for source in ("stripe", "adyen", "stripe")]
    assert [one.created for one in sent] == [True, True, False]
    with h.worker():
        started(h, 2)


@pytest.mark.parametrize("point", ["event.before_commit", "event.after_commit"])
def test_a_delivery_that_failed_does_not_burn_its_id(harness: type[Harness], point: str) -> None:
    """B16: the connection breaks around the commit, and the provider delivers again."""
    calls = Calls()
    h = harness(webhook(calls), wait := receiving(calls))
    broken = harness(*h.app.workflows.values(), points=FailAt(point, lost_connection()))
    run = h.start(wait, Order())
    work(h, run, RunStatus.WAITING)
    with pytest.raises(DatabaseError):
        pay(broken, "o1", 1, id="d-1")
    again = pay(broken, "o1", 1, id="d-1")
    assert again.created is (point == "event.before_commit")
    assert (again.state, again.run_id) == ("DELIVERED", run.id)
    with h.worker():
        reach(h, run, RunStatus.SUCCESS)
        started(h, 1)
    assert sorted(calls.made) == [("BOOK", "p1"), ("SHIP", 1)]
    all_is_well(h, run, *hooks(h))


@pytest.mark.parametrize("commit", [True, False])
def test_a_delivery_within_the_callers_transaction_stands_or_falls_with_it(harness: type[Harness], url: str, commit: bool) -> None:
    """B16: the application keeps its own row and the message in one transaction."""
    calls = Calls()
    h = harness(webhook(calls), wait := receiving(calls))
    run = h.start(wait, Order())
    work(h, run, RunStatus.WAITING)
    with connected(url) as connection:
        connection.execute("begin")
        assert h.app.send(PAID, Payment(), key="o1", id="d-1", within=connection).created
        connection.execute("commit" if commit else "rollback")
    if commit:
        assert not pay(h, "o1", 1, id="d-1").created
    with h.worker():
        if not commit:
            until(lambda: not h.app.store.triggers.due(["HOOK"], 100))
            assert h.status(run) is RunStatus.WAITING
            assert hooks(h) == []
            assert pay(h, "o1", 1, id="d-1").created
        reach(h, run, RunStatus.SUCCESS)
        started(h, 1)
    assert sorted(calls.made) == [("BOOK", "p1"), ("SHIP", 1)]
    all_is_well(h, run, *hooks(h))


@pytest.mark.parametrize("id", ["", "x" * 10_000, "a\0b"])
def test_a_delivery_without_a_usable_id_is_refused_before_anything_is_stored(harness: type[Harness], id: str) -> None:
    """B16: an id is asked for; without one nobody could tell a repeat."""
    h = harness(webhook(Calls()))
    with pytest.raises(InvalidInput):
        h.app.send(PAID, Payment(), key="k", id=id)
    assert h.app.control.events() == []


def test_a_batch_with_repeats_stores_each_message_once_and_answers_in_order(harness: type[Harness]) -> None:
    """B16: `send_many`."""
    other = Event("OTHER", Payment)
    h = harness(webhook(Calls()))
    pay(h, "k", 1, id="b")
    sent = h.app.send_many(PAID, [("k", id, Payment()) for id in ("c", "a", "b", "a", "d", "c")])
    assert [one.created for one in sent] == [True, True, False, False, True, False]
    assert sent[0].event_id == sent[5].event_id
    assert sent[1].event_id == sent[3].event_id
    assert h.app.send(other, Payment(), key="k", id="a").created  # the source is the event's name, unless one is given
    assert len(h.app.control.events()) == 5


def test_five_hundred_deliveries_of_a_hundred_messages_in_any_order_count_once_each(harness: type[Harness]) -> None:
    """B16: several senders deliver each message five times, shuffled, while the runs that wait are being worked."""
    calls = Calls()
    h = harness(wait := receiving(calls))
    deliveries = [n for n in range(100) for _ in range(5)]
    random.Random(16).shuffle(deliveries)
    runs = [h.start(wait, Order(id=str(n))) for n in range(100)]
    with h.worker(), ThreadPoolExecutor(8) as senders:
        sent = list(senders.map(lambda n: pay(h, str(n), n, id=f"d-{n}"), deliveries))
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert sum(one.created for one in sent) == 100
    assert sorted(calls.made) == sorted(("SHIP", n) for n in range(100))
    all_is_well(h, *runs[:3])
