"""Starting runs: keys, second runs under a key, resources, and the caller's own transaction."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace

import psycopg
import pytest

from halfway.domain.facts import SetRun, Unblocked
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Key, Kind
from halfway.errors import Conflict, InvalidInput, KeyConflict
from halfway.ports import Started
from halfway.store import Store, open_store
from tests.engine.recovery import execute
from tests.store.world import LOCKED, MARKED, ROUTE, TWO, apply, begin, claim, new_run, put, read, start, succeed


def end(store: Store, run_id: str) -> None:
    epoch = begin(store)
    for name in ("first", "second"):
        claim(store, run_id, epoch, name=name)
        succeed(store, run_id, name=name)


def test_a_run_begins_with_its_first_record_and_its_journal(store: Store) -> None:
    started = start(store, input='{"order":1}', correlation_id="c-1", priority=3)
    assert started == Started(started.run_id, True, (ROUTE,))
    detail = store.reading.detail(started.run_id)
    assert (detail.input, detail.actor, detail.run.correlation_id, detail.run.priority) == ('{"order":1}', "tester", "c-1", 3)
    assert [(one.record.key.step, one.record.status) for one in detail.records] == [("first", RecordStatus.PENDING)]
    assert [line.name for line in store.reading.journal(started.run_id)] == ["workflow.started"]
    assert (detail.run.revision, detail.run.seq, detail.run.status) == (1, 1, RunStatus.PENDING)


def test_a_taken_key_answers_the_run_that_stands_in_any_state(store: Store) -> None:
    first = start(store, key="order-1")
    assert start(store, key="order-1") == Started(first.run_id, False)
    end(store, first.run_id)
    assert start(store, key="order-1") == Started(first.run_id, False)
    assert start(store, spec=replace(TWO, type="other"), key="order-1").created


def test_another_input_under_a_key_is_a_conflict_and_starts_nothing(store: Store) -> None:
    first = start(store, key="order-1", input='{"n":1}')
    with pytest.raises(KeyConflict) as caught:
        store.runs.create([new_run(key="order-2"), new_run(key="order-1", input='{"n":2}')])
    assert caught.value.params["run"] == first.run_id
    assert [row.run.id for row in store.reading.runs()] == [first.run_id]


def test_one_batch_may_name_a_key_twice(store: Store) -> None:
    one, other, same = store.runs.create([new_run(key="a"), new_run(key="b"), new_run(key="a")])
    assert (one.created, other.created, same) == (True, True, Started(one.run_id, False))
    with pytest.raises(KeyConflict):
        store.runs.create([new_run(key="c"), new_run(key="c", input="[]")])


def test_again_waits_for_the_end_of_the_newest_run_and_is_audited(store: Store) -> None:
    first = start(store, key="order-1")
    with pytest.raises(Conflict) as caught:
        start(store, key="order-1", again="the customer paid twice")
    assert caught.value.code == "AGAIN_REFUSED"
    end(store, first.run_id)
    second = start(store, key="order-1", input='{"n":2}', again="the customer paid twice")
    assert second.created
    assert store.reading.detail(second.run_id).key == "order-1#2"
    (line,) = store.reading.audit(second.run_id)
    assert (line.audit.action, line.audit.actor, line.audit.reason) == ("start-again", "tester", "the customer paid twice")
    assert start(store, key="order-1", input='{"n":2}') == Started(second.run_id, False)
    with pytest.raises(KeyConflict):
        start(store, key="order-1", input="{}")


def test_starting_at_the_same_moment_gives_one_run(store: Store, url: str) -> None:
    barrier = threading.Barrier(8)
    answers: list[Started] = []

    def run() -> None:
        barrier.wait()
        answers.append(start(store, key="order-1"))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.run_id for answer in answers}) == 1
    assert sum(answer.created for answer in answers) == 1


def test_only_one_run_holds_a_resource_and_the_others_follow_in_order(store: Store) -> None:
    one, two, three = store.runs.create([new_run(LOCKED, resource="order:1") for _ in range(3)])
    other = start(store, LOCKED, resource="order:2")
    assert one.ready == other.ready == (ROUTE,)
    assert two.ready == three.ready == ()
    assert [read(store, run.run_id).run.blocked for run in (one, two, three, other)] == [False, True, True, False]
    epoch = begin(store)
    claim(store, one.run_id, epoch, LOCKED)
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == []
        assert turn.flow.take([two.run_id]) == frozenset()
    succeed(store, one.run_id, LOCKED)
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == [two.run_id, three.run_id]
        assert turn.flow.take([two.run_id, three.run_id]) == {two.run_id}
        assert turn.flow.take([two.run_id]) == {two.run_id}
    snapshot = apply(store, two.run_id, LOCKED, Unblocked())
    assert (snapshot.run.blocked, snapshot.records[Key("first")].status) == (False, RecordStatus.PENDING)
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == []


def test_a_run_that_was_cancelled_while_it_waited_stands_in_no_line(store: Store, url: str) -> None:
    """B39: between being found and being locked it may have ended; a resource given to it would never come back."""
    one, two = start(store, LOCKED, key="one", resource="r"), start(store, LOCKED, key="two", resource="r")
    for run_id in (two.run_id, one.run_id):
        run = read(store, run_id).run
        ended = run._replace(status=RunStatus.CANCELLED, revision=run.revision + 1, ended_at=1)
        put(store, run_id, SetRun(ended, ended=True))
    assert [row[:3] for row in execute(url, "select run_id, slots, waits_from from halfway_claim order by run_id")] == [
        (one.run_id, 1, None), (two.run_id, 1, None),
    ]  # fmt: skip
    assert execute(url, "select count(*) from halfway_lease") == [(0,)]
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == []


def test_a_new_run_does_not_overtake_those_that_wait(store: Store) -> None:
    one, two = store.runs.create([new_run(LOCKED, resource="order:1") for _ in range(2)])
    claim(store, one.run_id, begin(store), LOCKED)
    succeed(store, one.run_id, LOCKED)
    three = start(store, LOCKED, resource="order:1")
    assert three.ready == ()
    with store.runs.change() as turn:
        assert turn.flow.in_line(10) == [two.run_id, three.run_id]


def test_a_run_whose_deadline_has_passed_ends_at_once_and_holds_nothing(store: Store) -> None:
    started = start(store, LOCKED, resource="order:1", deadline_at=1)
    assert read(store, started.run_id).run.status is RunStatus.EXPIRED
    assert start(store, LOCKED, resource="order:1").ready == (ROUTE,)


def test_the_definition_comes_with_the_run(url: str) -> None:
    one, other = open_store(url), open_store(url)
    started = start(one, MARKED)
    assert other.runs.spec(MARKED.hash) == MARKED
    assert read(other, started.run_id).records.keys() == {Key("first", 1, "", Kind.STEP)}
    one.close()
    other.close()


# ── within the caller's transaction ──


class Wrapped:
    """As frameworks hold a connection."""

    def __init__(self, connection: object) -> None:
        self.connection = connection


@pytest.fixture
def callers(url: str, store: Store) -> sqlite3.Connection | psycopg.Connection:
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.row_factory = sqlite3.Row
        return connection
    return psycopg.connect(url, row_factory=psycopg.rows.dict_row)


def test_a_run_started_within_a_transaction_lives_and_dies_with_it(store: Store, callers: sqlite3.Connection | psycopg.Connection) -> None:
    callers.execute("create table orders (id bigint)")
    callers.execute("insert into orders (id) values (1)")
    new = new_run(key="order-1")
    assert store.runs.create([new], within=callers)[0].created
    assert callers.execute("select count(*) as n from orders").fetchone() is not None
    callers.rollback()
    assert store.reading.runs() == []
    callers.execute("begin")
    assert store.runs.create([new], within=Wrapped(callers))[0].created
    callers.commit()
    assert [row.run.id for row in store.reading.runs()] == [new.id]
    callers.close()


def test_a_refusal_within_a_transaction_leaves_the_callers_writes(store: Store, callers: sqlite3.Connection | psycopg.Connection) -> None:
    start(store, key="order-1", input="1")
    callers.execute("create table orders (id bigint)")
    callers.execute("insert into orders (id) values (1)")
    with pytest.raises(KeyConflict):
        store.runs.create([new_run(key="order-0"), new_run(key="order-1", input="2")], within=callers)
    callers.commit()
    assert callers.execute("select count(*) as n from orders").fetchone() is not None
    assert len(store.reading.runs()) == 1
    callers.close()


def test_a_connection_of_another_database_is_refused(store: Store, url: str) -> None:
    foreign = sqlite3.connect(":memory:")
    foreign.execute("begin")
    for given in (foreign, object(), Wrapped(foreign)):
        with pytest.raises(InvalidInput) as caught:
            store.runs.create([new_run()], within=given)
        assert caught.value.code == "CONNECTION_REFUSED_WITHIN"
    foreign.close()


def test_another_database_of_the_same_server_is_refused(postgres_url: str, postgres_server: str) -> None:
    store = open_store(postgres_url)
    with psycopg.connect(postgres_server) as foreign, pytest.raises(InvalidInput):
        store.runs.create([new_run()], within=foreign)
    store.close()


def test_a_connection_that_commits_by_itself_is_refused(store: Store, url: str) -> None:
    if url.startswith("sqlite"):
        connection: sqlite3.Connection | psycopg.Connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    else:
        connection = psycopg.connect(url, autocommit=True)
    with pytest.raises(InvalidInput, match="transaction"):
        store.runs.create([new_run()], within=connection)
    connection.close()
