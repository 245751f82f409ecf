"""Many workers, one queue: nobody takes more than asked, and nothing is taken twice (B06)."""

from __future__ import annotations

import threading
from collections import Counter

import psycopg
import pytest

from halfway.domain.decide import decide
from halfway.domain.draft import Change
from halfway.domain.facts import Claimed, Move, SetRun, StartAttempt
from halfway.domain.lifecycle import RecordStatus, RunStatus, Trigger
from halfway.domain.run import Key, Snapshot
from halfway.domain.spec import MINUTE, Sort
from halfway.ports import GuardFailed
from halfway.store import Store, open_store
from tests.store.world import ROUTE, TWO, begin, changed, due, event, ids, new_run, receive, waits

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


HOT = [
    "ready", "load_records", "load_open_attempts", "lock_runs", "left_running", "left_lost", "due", "overlooked",
    "own_waits", "waits_in_line", "events_in_line", "waiting_for", "take_events", "outcomes", "ended_under_key",
    "wake_for_event", "wake_for_wait", "wake_next", "use_event", "close_wait", "close_event_wait", "close_other_wait",
    "forget_wakes", "task_for_event", "due_messages", "due_tasks", "release_hold", "holders", "next_batch_items",
    "ready_beside", "epoch_and_flow", "open_queue", "slots", "give_back_slot", "may_still_run", "claims", "waited_for", "put_off_before",
    "newest_under_key", "past_under_key", "old_runs", "count_old_runs", "lock_old_runs", "needed_runs", "last_words", "last_inputs",
    "delete_runs", "delete_wakes", "left_runs", "empty_events_of", "delete_records", "delete_attempts", "delete_journal",
    "delete_evidence", "delete_waits", "delete_inputs", "delete_messages", "delete_artifacts_of", "set_cleared", "old_pasts", "lock_keys",
    "keys_beside", "delete_key", "delete_pasts", "old_events", "lock_events", "needed_events", "empty_events", "old_event_ids",
    "delete_events", "old_batches", "delete_batch_items", "delete_batch", "old_artifacts", "delete_artifacts", "named_artifacts",
    "old_audit", "delete_audit", "delete_children", "old_ticks", "delete_ticks", "count_missed", "delete_missed",
    "ready_of_run", "ready_beside_of_run",
]  # fmt: skip
VALUES: dict[str, object] = {
    "now": 1, "limit": 10, "since": 1, "round": 1, "opened_since": 1, "until": 1, "unused_until": 1, "after_at": 1, "n": 1,
    "first_at": 1, "last_at": 1,
}  # fmt: skip


UP_TO_A_LIMIT = (
    "SCAN halfway_wake USING INDEX halfway_wake_by_time",
    "SCAN halfway_passed USING COVERING INDEX sqlite_autoindex_halfway_passed_1",
)


@pytest.mark.parametrize("statement", HOT)
def test_hot_statements_go_by_an_index(store: Store, url: str, statement: str) -> None:
    """B47: finished rows are not looked at, nor all that wait."""
    from halfway.store.statements import statements

    postgres = url.startswith("postgres")
    found = statements(postgres=postgres)[statement]
    listed = ["a"] if postgres else '["a"]'
    with store._database.transaction("explain") as session:
        given = [listed if name in found.lists else VALUES.get(name, "x") for name in found.params]
        raw = session.raw
        if postgres:
            texts = [str(value) if isinstance(value, int) else value for value in given]
            if found.columns:  # the values of all rows at once
                texts = [["x"] if is_text else ["1"] for is_text in found.columns]
            plan = "\n".join(row[0] for row in psycopg.RawCursor(raw).execute(f"explain {found.text}".encode(), texts))
            assert "Seq Scan" not in plan
        else:
            steps = [row[3] for row in raw.execute(f"explain query plan {found.text}", given)]
            scans = [step for step in steps if step.startswith("SCAN halfway")]
            assert [step for step in scans if step not in UP_TO_A_LIMIT] == []


def test_of_ten_thousand_waits_and_events_only_those_that_belong_together_are_due(store: Store) -> None:
    run_ids = ids(store.runs.create([new_run() for _ in range(10_000)]))
    with store.runs.change() as turn:
        loaded = turn.load(run_ids)
        turn.write([quiet(loaded[run_id].snapshot, turn.now, number) for number, run_id in enumerate(run_ids)])
    receive(store, *(event("nobody", f"k-{number}") for number in range(10_000)))
    assert due(store) == due(store, repair=1) == []
    receive(store, event(key="k-77"))
    assert due(store) == [run_ids[77]]


def quiet(snapshot: Snapshot, now: int, number: int) -> Change:
    """A run that waits, for an event or another run."""
    record = snapshot.records[Key("first")]._replace(status=RecordStatus.WAITING, ready_at=now + MINUTE)
    run = snapshot.run._replace(status=RunStatus.WAITING, revision=snapshot.run.revision + 1)
    wait = waits(key=f"k-{number}") if number % 2 else waits("none", f"k-{number}", sort=Sort.RUN)
    return changed(snapshot, Move(record, Trigger.BECAME_READY), wait, SetRun(run))
