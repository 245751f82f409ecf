"""Many workers, one queue: nobody takes more than asked, and nothing is taken twice (B06)."""

from __future__ import annotations

import threading
from collections import Counter

import psycopg
import pytest

from halfway.domain.decide import decide
from halfway.domain.draft import Change
from halfway.domain.facts import Claimed, StartAttempt
from halfway.ports import GuardFailed
from halfway.store import Store, open_store
from tests.store.world import ROUTE, TWO, begin, ids, new_run

RECORDS, WORKERS, BATCH = 2_000, 8, 10


def take(store: Store, epoch: str, limit: int) -> list[str]:
    """As the pump does it: what is ready is a proposal, the lock of the run decides."""
    with store.runs.change(epoch=epoch) as turn:
        ready = turn.ready(ROUTE, limit)
        locked = turn.lock([one.run_id for one in ready])
        loaded = turn.load(list(locked))
        changes: list[Change] = []
        for one in ready:
            if one.run_id in loaded:
                snapshot = loaded[one.run_id].snapshot
                changes.append(Change(snapshot, decide(TWO, snapshot, Claimed(one.key, epoch), turn.now)))
        turn.write(changes)
        return [change.before.run.id for change in changes if any(isinstance(one, StartAttempt) for one in change.commands)]


def test_eight_threads_claim_two_thousand_records_without_one_duplicate(store: Store) -> None:
    run_ids = ids(store.runs.create([new_run() for _ in range(RECORDS)]))
    barrier = threading.Barrier(WORKERS)
    taken: Counter[str] = Counter()
    lost: list[GuardFailed] = []
    most: list[int] = []

    def work() -> None:
        epoch = begin(store)
        barrier.wait()
        while sum(taken.values()) < RECORDS:
            try:
                claimed = take(store, epoch, BATCH)
            except GuardFailed as error:
                lost.append(error)
                continue
            most.append(len(claimed))
            taken.update(claimed)

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (set(taken), set(taken.values())) == (set(run_ids), {1})
    assert max(most) <= BATCH
    assert lost == []


def test_a_claim_takes_no_more_than_asked_whatever_the_plan(postgres_url: str) -> None:
    """B06: statistics of one row, fifty rows, and a planner without its usual joins."""
    store = open_store(postgres_url)
    epoch = begin(store)
    store.runs.create([new_run()])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("analyze")
        for method in ("hashjoin", "mergejoin", "material", "hashagg", "sort"):
            connection.execute(f"alter role current_user set enable_{method} = off".encode())
    store.runs.create([new_run() for _ in range(50)])
    try:
        fresh = open_store(postgres_url)
        assert len(take(fresh, epoch, 1)) == 1
        assert len(take(fresh, epoch, 5)) == 5
        fresh.close()
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("alter role current_user reset all")
    store.close()


@pytest.mark.parametrize("statement", ["ready", "load_records", "load_open_attempts", "lock_runs", "running", "lost"])
def test_hot_reads_go_by_an_index(store: Store, url: str, statement: str) -> None:
    """B47: finished rows are not looked at."""
    from halfway.store.statements import statements

    postgres = url.startswith("postgres")
    found = statements(postgres=postgres)[statement]
    values: dict[str, object] = {"ids": ["a"] if postgres else '["a"]', "route": "r", "now": 1, "limit": 10, "epoch": "e"}
    with store._database.transaction("explain") as session:
        given = [values[name] for name in found.params]
        raw = session.raw
        if postgres:
            plan = "\n".join(row[0] for row in psycopg.RawCursor(raw).execute(f"explain {found.text}".encode(), given))
            assert "Seq Scan" not in plan
        else:
            steps = [row[3] for row in raw.execute(f"explain query plan {found.text}", given)]
            assert [step for step in steps if step.startswith("SCAN halfway")] == []
