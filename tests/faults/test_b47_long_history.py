"""B47: a claim does not get slower by runs that have ended, and is not held up by their deletion. The long form is `make soak`."""

from __future__ import annotations

import threading
from datetime import timedelta

import psycopg
import pytest

from bench.history import ROUTE, SPEC, fill
from halfway import Retention
from halfway.control.cleaning import Policy, Progress, cleanup
from halfway.ports import Cut, Old, Place
from halfway.store import Store, open_store
from halfway.store.forgetting import RUNS, forget_runs
from halfway.store.statements import statements

ENDED, RUNNABLE, WAITING = 20_000, 1000, 2000
OLD = Policy(by_type={SPEC.type: Retention(history=timedelta(milliseconds=1))})
# What finds work, and what finds what is old: each by an index that holds nothing else.
WAYS = {
    "ready": "halfway_record_ready",
    "due": "halfway_record_waiting",
    "old_runs": "halfway_run_ended",
    "count_old_runs": "halfway_run_ended",
    "left_runs": "halfway_past_left",
    "old_pasts": "halfway_past_by_age",
    "old_events": "halfway_event_full",
    "old_event_ids": "halfway_event_emptied",
}


@pytest.fixture
def long(store: Store) -> Store:
    """A store with a history of which no statistics are kept."""
    fill(store, ended=ENDED, runnable=RUNNABLE, waiting=WAITING)
    return store


def plan(store: Store, statement: str) -> str:
    found = statements(postgres=store.url.startswith("postgres"))[statement]
    values: dict[str, object] = {
        "now": store.now(), "until": store.now(), "limit": 10, "route": ROUTE, "type": SPEC.type, "after_at": 0, "after_id": "",
    }  # fmt: skip
    given = [values[name] for name in found.params]
    with store._database.transaction("explain") as session:
        if store.url.startswith("sqlite"):
            return "\n".join(str(row[3]) for row in session.raw.execute(f"explain query plan {found.text}", given))
        texts = [str(value) for value in given]
        return "\n".join(row[0] for row in psycopg.RawCursor(session.raw).execute(f"explain {found.text}".encode(), texts))


@pytest.mark.parametrize("statement", WAYS)
def test_b47_what_is_looked_for_is_found_without_a_look_at_the_rest(long: Store, statement: str) -> None:
    found = plan(long, statement)
    assert WAYS[statement] in found
    assert "Seq Scan" not in found
    assert "SCAN halfway_run" not in found
    assert "SCAN halfway_record" not in found


def test_b47_what_is_old_is_deleted_in_small_batches_and_work_goes_on_between_them(long: Store) -> None:
    claimed: list[int] = []
    batches: list[Progress] = []

    def between(seconds: float) -> None:
        with long.runs.change() as turn:
            claimed.append(len(turn.lock([one.run_id for one in turn.ready(ROUTE, 5)])))

    seen = 40 * RUNS
    report = cleanup(long.keeping, OLD, told=batches.append, rest=between, stop=lambda: bool(batches) and batches[-1].done >= seen)
    assert (report.deleted["runs"], report.stopped) == (seen, True)
    assert len(batches) == 40
    assert set(claimed) == {5}


def test_b47_a_claim_does_not_wait_for_a_deletion_that_is_under_way(postgres_url: str) -> None:
    """The transaction of a batch is held open; whoever claims has a lock timeout of a few seconds, and needs none of it."""
    store, other = open_store(postgres_url), open_store(postgres_url)
    fill(store, ended=200, runnable=20, waiting=0)
    with store._database.transaction("held") as session:
        assert forget_runs(session, Cut(store.now(), SPEC.type), Place(), delete=True).deleted == {"runs": RUNS}
        with other.runs.change() as turn:
            assert len(turn.lock([one.run_id for one in turn.ready(ROUTE, 20)])) == 20
        assert other.keeping.sweep(Old.RUNS, Cut(store.now(), SPEC.type), Place(), delete=True).kept == {"busy": RUNS}
    store.close()
    other.close()


def test_b47_a_held_snapshot_keeps_nobody_from_deleting(postgres_url: str) -> None:
    store = open_store(postgres_url)
    fill(store, ended=200, runnable=0, waiting=0)
    with psycopg.connect(postgres_url) as reader:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        before = reader.execute("select count(*) from halfway_run").fetchone()
        assert cleanup(store.keeping, OLD, rest=lambda seconds: None).deleted["runs"] == 200
        assert reader.execute("select count(*) from halfway_run").fetchone() == before == (200,)
        assert [one.pid for one in store.keeping.snapshots(0)] == [reader.info.backend_pid]
    store.close()


def test_b47_many_that_delete_and_many_that_claim_get_through_together(long: Store) -> None:
    errors: list[BaseException] = []
    counts: list[int] = []

    def guarded(work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except BaseException as error:
            errors.append(error)

    def delete() -> None:
        seen: list[Progress] = []
        report = cleanup(long.keeping, OLD, told=seen.append, rest=lambda seconds: None, stop=lambda: len(seen) >= 30)
        counts.append(report.deleted.get("runs", 0))

    def claim() -> None:
        for _ in range(50):
            with long.runs.change() as turn:
                turn.lock([one.run_id for one in turn.ready(ROUTE, 5)])

    threads = [threading.Thread(target=guarded, args=(work,)) for work in (delete, delete, claim, claim)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with long._database.reading() as session:
        (left,) = session.rows("count_old_runs", type=SPEC.type, until=long.now())[0]
    assert left == ENDED - sum(counts)
