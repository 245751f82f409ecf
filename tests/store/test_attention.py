"""What needs a person, across runs; the audit log, refused orders, corrected inputs and restored databases."""

from __future__ import annotations

import psycopg
import pytest

from halfway.domain.draft import Audit
from halfway.domain.facts import CancelAsked, EditInput, LookAgain, Move, OpenWait, SetRun
from halfway.domain.lifecycle import RecordStatus, RunStatus, Trigger
from halfway.domain.run import ALL_BACK, Key
from halfway.domain.spec import DAY, Sort
from halfway.errors import Conflict, KeyConflict, UnstorableValue
from halfway.ports import GuardFailed, Started
from halfway.store import Store, open_store
from tests.store.world import TWO, apply, begin, changed, claim, event, order, put, read, receive, start, waiting_run

FIRST = Key("first")


def asks(store: Store, role: str, status: RecordStatus = RecordStatus.UNKNOWN, wait: OpenWait | None = None) -> str:
    run_id = start(store, key=f"for-{role}-{status}").run_id
    snapshot = claim(store, run_id, begin(store))
    record = snapshot.records[FIRST]._replace(status=status, asks=role, open=())
    put(store, run_id, Move(record, Trigger.PERSON_NEEDED), *(() if wait is None else (wait,)))
    return run_id


def test_records_that_ask_somebody_are_shown_the_oldest_first(store: Store) -> None:
    one, other = asks(store, "lead"), asks(store, "finance")
    wait = OpenWait(FIRST, 1, Sort.APPROVAL, "", "hash", 0)
    two = asks(store, "lead", RecordStatus.WAITING, wait)
    rows = store.attention.asking()
    assert [row.run.id for row in rows] == [one, other, two]
    assert [row.run.id for row in store.attention.asking(role="lead", limit=1)] == [one]
    first, _, last = rows
    assert (first.run_key, first.shown_hash, first.record.asks, first.run.actor) == ("for-lead-UNKNOWN", None, "lead", "tester")
    assert (last.shown_hash, last.record.status, last.since) == ("hash", RecordStatus.WAITING, store.attention.waits(two)[0].opened_at)
    assert store.attention.asking(role="nobody") == store.attention.asking(role="\0") == []


def test_runs_that_have_stopped_without_a_question_are_found(store: Store) -> None:
    asks(store, "lead")
    snapshot = read(store, start(store, key="stopped").run_id)
    stopped = snapshot.run._replace(status=RunStatus.MANUAL_REQUIRED, revision=snapshot.run.revision + 1)
    put(store, stopped.id, SetRun(stopped))
    [row] = store.attention.stopped()
    assert (row.run.id, row.run_key, row.record) == (stopped.id, "stopped", None)
    assert store.attention.stopped(limit=0) == []


def test_runs_are_counted_by_state(store: Store) -> None:
    assert store.attention.counts() == {}
    start(store)
    snapshot = read(store, start(store).run_id)
    failed = snapshot.run._replace(status=RunStatus.FAILED, revision=snapshot.run.revision + 1, ended_at=1)
    put(store, snapshot.run.id, SetRun(failed, ended=True))
    apply(store, start(store).run_id, TWO, CancelAsked())
    assert store.attention.counts() == {"PENDING": 1, "FAILED": 1}


def test_messages_are_chosen_by_name_key_and_use(store: Store) -> None:
    waiting_run(store)
    one, two = event(), event("refunded", "order-2")
    receive(store, one, two)
    assert [row.event.id for row in store.attention.events()] == [two.id, one.id]
    assert [row.event.id for row in store.attention.events(name="paid", key="order-1", unused=True)] == [one.id]
    assert store.attention.events(key="\0") == store.attention.events(name="nothing") == []
    assert store.attention.waits("a\0") == []


# ── orders ──


def test_a_refused_order_is_kept_and_may_be_given_again(store: Store) -> None:
    """R-D8."""
    run_id = start(store).run_id
    audit = Audit("a-1", "kim", "cancel", "not needed")
    for why in ("ILLEGAL", "NOT_ALLOWED"):
        store.runs.refuse(run_id, audit._replace(refused=why))
    order(store, run_id, CancelAsked(), audit)
    refused, again, done = store.reading.audit(run_id)
    assert (refused.audit.refused, refused.before, refused.after) == ("ILLEGAL", RunStatus.PENDING, RunStatus.PENDING)
    assert (again.audit.refused, done.audit, done.after) == ("NOT_ALLOWED", audit, RunStatus.CANCELLED)
    assert refused.audit.action_id.endswith(":a-1")
    with pytest.raises(Conflict, match="already carried out"):
        store.runs.refuse(run_id, audit)
    with pytest.raises(UnstorableValue):
        store.runs.refuse(run_id, audit._replace(reason="\0"))


def test_the_audit_log_is_read_page_by_page(store: Store) -> None:
    run_id, other = start(store).run_id, start(store).run_id
    for number in range(4):
        store.runs.refuse(
            run_id if number % 2 else other, Audit(f"a-{number}", "kim" if number < 3 else "lee", "cancel", "why", refused="no")
        )
    log = store.attention.audit_log()
    assert [line.audit.action_id[-3:] for line in log] == ["a-3", "a-2", "a-1", "a-0"]
    assert store.attention.audit_log(limit=2) == log[:2]
    assert store.attention.audit_log(before=log[1].id) == log[2:]
    assert [line.run_id for line in store.attention.audit_log(run=run_id, actor="kim")] == [run_id]
    assert store.attention.audit_log(action="retry") == store.attention.audit_log(actor="\0") == []


def test_a_corrected_input_is_kept_beside_the_one_before(store: Store) -> None:
    run_id = start(store, key="order-1", input='{"n":1}').run_id
    put(store, run_id, EditInput(), new_input='{"n":2}')
    put(store, run_id, EditInput(), new_input='{"n":3}')
    assert store.reading.detail(run_id).input == '{"n":3}'
    with store.runs._database.reading() as session:
        assert session.rows("former_inputs", run_id=run_id) == [('{"n":1}',), ('{"n":2}',)]
    for same in ('{"n":1}', '{"n":3}'):  # whoever starts it once more with what it was started with means this run
        assert start(store, key="order-1", input=same) == Started(run_id, False)
    with pytest.raises(KeyConflict):
        start(store, key="order-1", input='{"n":4}')
    with pytest.raises(UnstorableValue):
        put(store, run_id, EditInput(), new_input="\0")


def test_a_correction_that_comes_too_late_changes_nothing(store: Store) -> None:
    run_id = start(store).run_id
    stale = read(store, run_id)
    apply(store, run_id, TWO, CancelAsked())
    with pytest.raises(GuardFailed), store.runs.change() as turn:
        turn.write([changed(stale, EditInput(), new_input="[]")])
    assert store.reading.detail(run_id).input == "{}"


def test_what_undoes_a_run_and_who_has_approved_come_back_as_they_were(store: Store) -> None:
    run_id = start(store).run_id
    snapshot = read(store, run_id)
    assert snapshot.run.actor == "tester"
    record = snapshot.records[FIRST]._replace(approved_until=7, approved_by=("kim", 'l"ee'))
    run = snapshot.run._replace(revision=2, undo=ALL_BACK, timeout_left=5, restored_at=3, status=RunStatus.COMPENSATING)
    put(store, run_id, Move(record, Trigger.BECAME_READY), SetRun(run))
    after = read(store, run_id)
    assert (after.run, after.records) == (run, {FIRST: record})
    assert store.reading.detail(run_id).run == run
    assert store.reading.runs()[0].run == run
    assert store.reading.runs()[0].records == (record,)


# ── after a restore ──


def test_every_open_run_is_told_that_the_database_was_restored(store: Store) -> None:
    one, two, ended = (start(store).run_id for _ in range(3))
    apply(store, ended, TWO, CancelAsked())
    stale = read(store, one)
    assert store.runs.restored() == 2
    with store.runs.change() as turn:
        now = turn.now
    for run_id in (one, two):
        run = read(store, run_id).run
        assert run.restored_at is not None
        assert run.restored_at <= now
        line = store.reading.journal(run_id)[-1]
        assert (line.name, line.seq, run.seq, run.revision) == ("workflow.restored", run.seq, stale.run.seq + 1, stale.run.revision + 1)
    assert read(store, ended).run.restored_at is None
    apply(store, one, TWO, LookAgain(), CancelAsked())
    assert read(store, one).run.restored_at == read(store, two).run.restored_at


def test_runs_of_the_seven_days_after_a_restore_are_told_so(store: Store) -> None:
    assert read(store, start(store).run_id).run.restored_at is None
    store.runs.restored()
    told = read(store, start(store).run_id).run.restored_at
    assert told is not None
    store.advance_clock(6 * DAY)
    assert read(store, start(store).run_id).run.restored_at == told
    store.advance_clock(DAY)
    assert read(store, start(store).run_id).run.restored_at is None


def test_another_history_is_seen_until_a_new_era_is_opened(store: Store, url: str) -> None:
    assert not store.lives.history_changed()
    assert not store.lives.history_changed()
    if url.startswith("sqlite"):
        return
    with psycopg.connect(url) as connection:
        connection.execute("update halfway_meta set value = '1/1' where name = 'history'")
    assert store.lives.history_changed()
    assert store.lives.history_changed()
    store.runs.restored()
    assert not store.lives.history_changed()


def test_a_server_that_does_not_tell_its_history_counts_as_unchanged(postgres_url: str) -> None:
    opened = open_store(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("revoke execute on function pg_control_system() from public")
        connection.execute("create role guest login")
        connection.execute("grant all on all tables in schema public to guest")
    guest = open_store(postgres_url.replace("postgres:@", "guest:@"))
    assert not guest.lives.history_changed()
    guest.close()
    opened.close()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("drop owned by guest")
        connection.execute("drop role guest")
