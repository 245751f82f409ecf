"""Transaction steps and `within=`: what the own database does commits together with the course of the run, or not at all."""

from __future__ import annotations

import sqlite3
import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from halfway import Effect, Retry, RunStatus, Step, StepFailed, Workflow
from halfway.domain.facts import Finished
from halfway.domain.run import Ended, Key, Report
from halfway.errors import HalfwayError
from halfway.testing import FailAt
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.test_races import lost_connection

SOON = Retry(4, wait=timedelta(milliseconds=10))


def connect(url: str) -> Any:
    return psycopg.connect(url) if url.startswith("postgres") else sqlite3.connect(url.removeprefix("sqlite:///"))


def table(url: str) -> type:
    """Makes the application's own table and answers the type of its connection."""
    connection = connect(url)
    connection.execute("create table orders (id text primary key, changes integer not null)")
    connection.execute("insert into orders values ('o1', 0)")
    connection.commit()
    connection.close()
    return psycopg.Connection if url.startswith("postgres") else sqlite3.Connection


def changes(url: str) -> int:
    connection = connect(url)
    try:
        return int(connection.execute("select changes from orders where id = 'o1'").fetchone()[0])
    finally:
        connection.close()


def changing(url: str, calls: Calls, body: Any = None) -> Workflow[Order]:
    kind = table(url)
    wf = flow()

    @wf.transaction(kind, retry=SOON)
    def change(step: Step[Order], db: kind) -> int:  # type: ignore[valid-type]
        n = calls.add("CHANGE")
        db.execute("update orders set changes = changes + 1 where id = 'o1'")  # type: ignore[attr-defined]
        step.evidence(n=n)
        if body is not None:
            body(n)
        return n

    @wf.step(Effect.READ)
    def after(step: Step[Order]) -> int:
        return step.output(change)

    wf.after = after  # type: ignore[attr-defined]
    return wf


def test_the_checkpoint_commits_with_what_the_body_wrote(harness: type[Harness], url: str) -> None:
    calls = Calls()
    wf = changing(url, calls)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.output(wf.after) == 1  # type: ignore[attr-defined]
    assert changes(url) == 1
    assert len(h.app.store.reading.detail(run.id).evidence) == 1


def test_a_body_that_raises_is_rolled_back_and_tried_again(harness: type[Harness], url: str) -> None:
    calls = Calls()

    def fail_twice(n: int) -> None:
        if n <= 2:
            raise RuntimeError("deadlock")

    wf = changing(url, calls, fail_twice)
    h = harness(wf)
    assert h.run(wf, Order()).status is RunStatus.SUCCESS
    assert calls.count("CHANGE") == 3
    assert changes(url) == 1


def test_a_failure_on_purpose_leaves_nothing(harness: type[Harness], url: str) -> None:
    def fail(n: int) -> None:
        raise StepFailed("no")

    wf = changing(url, Calls(), fail)
    h = harness(wf)
    assert h.run(wf, Order()).status is RunStatus.FAILED
    assert changes(url) == 0


@pytest.mark.parametrize("point", ["transaction.before_commit", "transaction.after_commit"])
def test_a_commit_whose_answer_is_lost_happens_exactly_once(harness: type[Harness], url: str, point: str) -> None:
    wf = changing(url, Calls())
    h = harness(wf, points=FailAt(point, lost_connection()))
    assert h.run(wf, Order()).status is RunStatus.SUCCESS
    assert changes(url) == 1


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_body_whose_attempt_was_ended_cannot_commit(harness: type[Harness], url: str) -> None:
    """The zombie: its attempt was taken from it while it worked. On SQLite that cannot be: it holds the lock of all writes."""
    inside, go_on = threading.Event(), threading.Event()

    def wait(n: int) -> None:
        if n == 1:
            inside.set()
            go_on.wait(20)

    calls = Calls()
    wf = changing(url, calls, wait)
    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        assert inside.wait(20)
        with h.app.store.runs.change(name="test") as tx:
            tx.lock([run.id], wait=True)
            one = tx.load([run.id])[run.id]
            from halfway.domain.draft import Draft

            draft = Draft(wf.spec, one.snapshot, tx.now, input=one.input, outputs=dict(one.outputs))
            draft.take(Finished(Key("CHANGE"), 1, Report(Ended.NOTHING, code="TAKEN_AWAY")))
            change = draft.change()
            assert change is not None
            tx.write([change])
        until(lambda: h.record(run, "CHANGE").attempts >= 1)
        go_on.set()
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    assert changes(url) == 1


def test_a_run_started_within_the_callers_transaction_stands_or_falls_with_it(harness: type[Harness], url: str) -> None:
    table(url)
    wf = flow()

    @wf.step(Effect.READ)
    def only(step: Step[Order]) -> None: ...

    h = harness(wf)
    h.app.store  # noqa: B018  (opens and migrates)
    connection = connect(url)
    connection.execute("update orders set changes = 7 where id = 'o1'")
    run = h.start(wf, Order(id="kept"), within=connection)
    connection.commit()
    connection.execute("update orders set changes = 8 where id = 'o1'")
    dropped = h.start(wf, Order(id="dropped"), within=connection)
    connection.rollback()
    connection.close()
    assert h.drain(run).status is RunStatus.SUCCESS
    with pytest.raises(HalfwayError, match=dropped.id):
        h.get(dropped)
    assert changes(url) == 7


def test_a_connection_of_another_database_is_refused(harness: type[Harness]) -> None:
    wf = flow()

    @wf.step(Effect.READ)
    def only(step: Step[Order]) -> None: ...

    h = harness(wf)
    with sqlite3.connect(":memory:") as other:
        other.execute("begin")
        with pytest.raises(HalfwayError, match="within="):
            h.start(wf, Order(), within=other)
    other.close()
