"""A transaction step: the author's writes and the end of the attempt commit together, or not at all."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable

import psycopg
import pytest

from halfway.domain.decide import decide
from halfway.domain.draft import Change, Payload
from halfway.domain.facts import CancelAsked, Finished
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Ended, Happened, Key, Report
from halfway.errors import DefinitionError
from halfway.ports import Evidence, GuardFailed, Loaded, Local
from halfway.store import Store, open_store
from tests.store.world import BOOKED, apply, begin, claim, read, start

FIRST = Key("first")


@pytest.fixture
def kind(url: str) -> type:
    return sqlite3.Connection if url.startswith("sqlite") else psycopg.Connection


@pytest.fixture
def run_id(store: Store) -> str:
    started = start(store, BOOKED, input='{"seat":7}').run_id
    claim(store, started, begin(store), BOOKED)
    with store.runs.change(name="table") as turn:
        turn._session.raw.execute("create table bookings (seat bigint primary key)")
    return started


def finish(loaded: Loaded, now: int) -> Change:
    commands = decide(BOOKED, loaded.snapshot, Finished(FIRST, 1, Report(Ended.SUCCESS)), now)
    return Change(loaded.snapshot, commands, {FIRST: Payload('{"booked":true}')})


def book(store: Store, kind: type, run_id: str, then: Callable[[Local], object]) -> None:
    """A body that books, and what happens then."""
    with store.runs.transaction(kind, run_id, FIRST, 1) as local:
        local.connection.execute("insert into bookings (seat) values (7)")
        then(local)


def bookings(store: Store) -> int:
    with store.runs.change() as turn:
        return int(turn._session.raw.execute("select count(*) from bookings").fetchone()[0])


def test_writes_evidence_output_and_end_commit_together(store: Store, kind: type, run_id: str) -> None:
    with store.runs.transaction(kind, run_id, FIRST, 1) as local:
        assert isinstance(local.connection, kind)
        local.connection.execute("insert into bookings (seat) values (7)")
        local.keep([Evidence(run_id, FIRST, 1, '{"seat":7}')])
        snapshot = local.finish(finish)
    assert snapshot == read(store, run_id)
    assert snapshot.run.status is RunStatus.SUCCESS
    assert snapshot.records[FIRST].effect is Happened.HAPPENED
    detail = store.reading.detail(run_id)
    assert (bookings(store), detail.records[0].output, len(detail.evidence)) == (1, '{"booked":true}', 1)


def test_leaving_without_an_end_undoes_everything(store: Store, kind: type, run_id: str) -> None:
    with store.runs.transaction(kind, run_id, FIRST, 1) as local:
        local.connection.execute("insert into bookings (seat) values (7)")
    with pytest.raises(ZeroDivisionError):
        book(store, kind, run_id, lambda _: 1 // 0)
    assert bookings(store) == 0
    assert read(store, run_id).records[FIRST].status is RecordStatus.RUNNING


def test_the_authors_own_errors_stay_theirs(store: Store, kind: type, run_id: str) -> None:
    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.UniqueViolation)):
        book(store, kind, run_id, lambda local: local.connection.execute("insert into bookings (seat) values (7)"))


def test_an_attempt_that_has_ended_commits_nothing(store: Store, kind: type, run_id: str) -> None:
    apply(store, run_id, BOOKED, Finished(FIRST, 1, Report(Ended.LOST)))
    with pytest.raises(GuardFailed):
        book(store, kind, run_id, lambda local: local.finish(finish))
    with pytest.raises(GuardFailed), store.runs.transaction(kind, run_id, FIRST, 1) as local:
        local.keep([Evidence(run_id, FIRST, 1, "{}")])
    assert bookings(store) == 0


def test_a_decision_that_does_not_end_the_attempt_commits_nothing(store: Store, kind: type, run_id: str) -> None:
    with pytest.raises(GuardFailed):
        book(store, kind, run_id, lambda local: local.finish(lambda loaded, _: Change(loaded.snapshot, ())))
    assert bookings(store) == 0


def test_the_author_can_neither_commit_nor_roll_back(store: Store, kind: type, run_id: str) -> None:
    with store.runs.transaction(kind, run_id, FIRST, 1) as local:
        local.connection.execute("insert into bookings (seat) values (7)")
        with pytest.raises(RuntimeError):
            local.connection.commit()
        with pytest.raises(RuntimeError):
            local.connection.rollback()
    assert bookings(store) == 0


def test_a_connection_of_another_kind_is_refused(store: Store, kind: type, run_id: str) -> None:
    other = psycopg.Connection if kind is sqlite3.Connection else sqlite3.Connection
    with pytest.raises(DefinitionError, match="does not give"), store.runs.transaction(other, run_id, FIRST, 1):
        pytest.fail("it was given")


def test_the_end_waits_for_whoever_holds_the_run_and_sees_what_it_did(postgres_url: str) -> None:
    store = open_store(postgres_url)
    run_id = start(store, BOOKED).run_id
    claim(store, run_id, begin(store), BOOKED)
    holding, go_on = threading.Event(), threading.Event()

    def cancel() -> None:
        with store.runs.change() as turn:
            turn.lock([run_id])
            snapshot = turn.load([run_id])[run_id].snapshot
            holding.set()
            turn.write([Change(snapshot, decide(BOOKED, snapshot, CancelAsked(), turn.now))])
            go_on.wait()

    thread = threading.Thread(target=cancel)
    thread.start()
    holding.wait()
    with store.runs.transaction(psycopg.Connection, run_id, FIRST, 1) as local:
        waiting = threading.Thread(target=go_on.set)
        waiting.start()
        snapshot = local.finish(finish)
    thread.join()
    waiting.join()
    assert snapshot.run.intent is not None
    assert snapshot == read(store, run_id)
    store.close()


def test_two_attempts_never_both_commit(store: Store, kind: type, run_id: str) -> None:
    """Both bodies run to their end; the guard of the attempt lets one of them through."""
    answers: list[str] = []
    barrier = threading.Barrier(2)

    def body() -> None:
        try:
            with store.runs.transaction(kind, run_id, FIRST, 1) as local:
                if kind is psycopg.Connection:
                    barrier.wait()
                local.finish(finish)
            answers.append("committed")
        except GuardFailed:
            answers.append("refused")

    threads = [threading.Thread(target=body) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["committed", "refused"]
