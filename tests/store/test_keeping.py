"""Deleting what is old: all of a run goes but what stays known of it, and nothing that is still needed (R-F6)."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from halfway.authoring.retention import Retention
from halfway.control.cleaning import Policy, Report, cleanup
from halfway.domain.draft import Audit
from halfway.domain.facts import EditInput
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Key
from halfway.domain.spec import DAY, Sort
from halfway.errors import Conflict, KeyConflict, NotFound
from halfway.ports import Cut, Evidence, NewBatch, Old, Place, Saved, Swept
from halfway.store import Store, new_id, open_store
from halfway.store.forgetting import ROWS, RUNS
from tests.store.world import arrived, begin, claim, event, put, receive, spec_of, start, step, succeed, take, waiting_run, waits

ONE = spec_of(step("first"), type="ones")
MONTH, YEAR = timedelta(days=30), timedelta(days=365)
POLICY = Policy(default=Retention(history=MONTH, keys=YEAR), by_type={"ones": Retention(history=MONTH, keys=YEAR)})


def ended(store: Store, **options: Any) -> str:
    """A run that has ended well."""
    run_id = start(store, ONE, **options).run_id
    claim(store, run_id, begin(store), ONE)
    succeed(store, run_id, ONE)
    return run_id


def clean(store: Store, policy: Policy = POLICY, **options: Any) -> Report:
    return cleanup(store.keeping, policy, rest=lambda seconds: None, **options)


def sql(store: Store, text: str, *values: object) -> list[tuple[Any, ...]]:
    """What no port does: a row as somebody else would have left it."""
    with store._database.transaction("test") as session:
        if store.url.startswith("sqlite"):
            return list(session.raw.execute(text, values).fetchall())
        cursor = session.raw.execute(text.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description else []


def tables(store: Store) -> dict[str, str]:
    """Every table that has rows of runs, with the column that names the run."""
    if store.url.startswith("sqlite"):
        found = [
            (table, column)
            for (table,) in sql(store, "select name from sqlite_master where type = 'table'")
            for _, column, *_ in sql(store, f"select * from pragma_table_info('{table}')")
        ]
    else:
        found = sql(store, "select table_name::text, column_name::text from information_schema.columns where table_schema = 'public'")
    named = {table: column for table, column in found if column == "run_id" and table.startswith("halfway_")}
    return named | {"halfway_run": "id", "halfway_lease": "holder"}


def rows_of(store: Store, run_id: str) -> set[str]:
    return {table for table, column in tables(store).items() if sql(store, f"select 1 from {table} where {column} = ?", run_id)}


# ── what goes, and what stays ──


def test_all_of_an_old_run_goes_but_its_key_its_audit_and_how_it_ended(store: Store) -> None:
    run_id = start(store, ONE, key="k-1").run_id
    claim(store, run_id, begin(store), ONE)
    with store.runs.change() as turn:
        turn.keep([Evidence(run_id, Key("first"), 1, "{}"), Saved(run_id, Key("first"), 1, "a-1", "n", "0" * 64, 1)])
    put(store, run_id, waits(key="p"))
    paid = event(key="p")
    receive(store, paid)
    assert take(store, run_id) == [paid.id]
    succeed(store, run_id, ONE)
    store.runs.refuse(run_id, Audit("a", "kim", "resume", "why", refused="no"))
    assert rows_of(store, run_id) >= {"halfway_record", "halfway_attempt", "halfway_journal", "halfway_evidence", "halfway_wait"}
    assert clean(store).deleted == {}
    store.advance_clock(31 * DAY)
    report = clean(store)
    assert report.deleted | {"journal": 0} == {
        "runs": 1, "records": 1, "attempts": 1, "evidence": 1, "waits": 1, "artifacts": 1, "journal": 0,
    }  # fmt: skip
    assert report.kept == {}
    assert rows_of(store, run_id) == {"halfway_past", "halfway_key", "halfway_audit", "halfway_event"}
    assert [line.audit.actor for line in store.reading.audit(run_id)] == ["kim"]
    assert [line.run_id for line in store.attention.audit_log(run=run_id)] == [run_id]
    past = store.keeping.past(run_id)
    assert past is not None
    assert (past.type, past.status, past.key) == ("ones", RunStatus.SUCCESS, "k-1")
    assert clean(store).deleted == {}


def test_a_run_that_is_gone_says_how_it_ended_wherever_it_is_looked_for(store: Store) -> None:
    run_id = ended(store, key="k-1")
    store.advance_clock(31 * DAY)
    clean(store)
    for text in (run_id, "k-1", run_id[-8:]):
        assert store.reading.find(text) == run_id
    with pytest.raises(NotFound, match=r"ended SUCCESS at .* its history was deleted") as caught:
        store.reading.detail(run_id)
    assert caught.value.code == "RUN_GONE"
    assert store.reading.runs() == []
    assert (store.keeping.past("nobody"), store.keeping.past("a\0b")) == (None, None)


def test_what_goes_on_and_what_is_young_is_not_touched(store: Store) -> None:
    waiting_run(store, spec=ONE)
    store.advance_clock(31 * DAY)
    ended(store)
    assert clean(store) == Report(deleted={}, kept={})
    assert len(store.reading.runs()) == 2


def test_a_workflow_that_nobody_names_is_not_touched_unless_it_is_asked_for(store: Store) -> None:
    run_id = ended(store)
    store.advance_clock(31 * DAY)
    policy = Policy(default=POLICY.default)
    assert clean(store, policy).deleted == {}
    assert clean(store, policy, types=["ones"], dry_run=True).deleted == {"runs": 1}
    assert store.reading.detail(run_id).run.status is RunStatus.SUCCESS
    assert clean(store, policy, types=["ones"]).deleted["runs"] == 1


NEEDS: dict[str, list[str]] = {
    "attempt": ["update halfway_attempt set ended = 'LOST' where run_id = 'RUN_ID'"],
    "record": ["update halfway_record set asks = 'owner', status = 'FAILED' where run_id = 'RUN_ID'"],
    "undo": ["update halfway_record set kind = 'COMPENSATION', status = 'FAILED' where run_id = 'RUN_ID'"],
    "resource": ["insert into halfway_lease values ('resource:r', 0, 'RUN_ID')"],
    "hold": ["insert into halfway_lease values ('record:r', 0, 'RUN_ID:first')"],
    "message": [
        "insert into halfway_outbox (id, at, what, run_id, role, code, tries, next_at) values ('m', 1, 'INCIDENT', 'RUN_ID', '', '', 0, 1)"
    ],
    "task": [
        "insert into halfway_task (id, type, kind, name, key, run_id, next_at, tries) values ('t', 'x', 'RUN', 'n', '', 'RUN_ID', 1, 0)"
    ],
}


@pytest.mark.parametrize("why", NEEDS)
def test_a_run_stays_as_long_as_something_of_it_is_open(store: Store, why: str) -> None:
    run_id, other = ended(store, key="k-1"), ended(store)
    for text in NEEDS[why]:
        sql(store, text.replace("RUN_ID", run_id))
    store.advance_clock(31 * DAY)
    for dry_run in (True, False):
        report = clean(store, dry_run=dry_run)
        assert (report.deleted["runs"], report.kept) == (1, {why: 1})
    assert store.reading.detail(run_id).run.id == run_id
    with pytest.raises(NotFound):
        store.reading.detail(other)


def test_a_run_stays_as_long_as_another_waits_for_it(store: Store) -> None:
    run_id = ended(store, key="k-1")
    waiting = waiting_run(store, waits("ones", "k-1", sort=Sort.RUN))
    store.advance_clock(31 * DAY)
    assert clean(store).kept == {"wait": 1}
    (arrival,) = arrived(store, waiting)
    assert json.loads(arrival.payload)["outputs"] == {"first": "{}"}
    assert take(store, waiting) == [run_id]
    assert clean(store).deleted["runs"] == 1


def test_a_run_stays_as_long_as_a_batch_that_names_it_has_not_ended(store: Store) -> None:
    run_id = ended(store)
    store.batches.create(NewBatch("b-1", "kim", "resume", "why", "{}", "{}"), [(run_id, None)])
    store.advance_clock(31 * DAY)
    assert clean(store).kept == {"batch": 1}
    store.batches.set_state("b-1", "READY", "STOPPED")
    assert clean(store).deleted["runs"] == 1
    assert [item.run_id for item in store.batches.items("b-1")] == [run_id]
    store.advance_clock(31 * DAY)
    assert clean(store).deleted == {"batches": 1}
    assert store.batches.get("b-1") is None


def test_a_run_that_somebody_is_changing_is_left_out(postgres_url: str) -> None:
    store = open_store(postgres_url)
    run_id = ended(store)
    store.advance_clock(31 * DAY)
    with store.runs.change() as turn:
        turn.lock([run_id])
        assert clean(store).kept == {"busy": 1}
    assert clean(store).deleted["runs"] == 1
    store.close()


def test_a_page_of_runs_goes_on_behind_one_that_was_deleted_meanwhile(store: Store) -> None:
    first, second, third = (ended(store) for _ in range(3))
    sql(store, "update halfway_run set ended_at = created_at - ? where id = ?", 31 * DAY, second)
    assert [row.run.id for row in store.reading.runs(limit=2)] == [third, second]
    clean(store)
    assert [row.run.id for row in store.reading.runs(before=second)] == [first]


# ── keys ──


def test_a_key_that_is_kept_answers_the_run_that_stood_there(store: Store) -> None:
    run_id = ended(store, key="k-1", input='{"n":1}')
    store.advance_clock(31 * DAY)
    clean(store)
    again = start(store, ONE, key="k-1", input='{"n":1}')
    assert (again.run_id, again.created) == (run_id, False)
    with pytest.raises(KeyConflict):
        start(store, ONE, key="k-1", input='{"n":2}')
    second = start(store, ONE, key="k-1", input='{"n":2}', again="once more")
    assert (second.created, second.key) == (True, "k-1#2")
    with pytest.raises(Conflict, match="not final"):
        start(store, ONE, key="k-1", input='{"n":2}', again="and once more")
    assert store.reading.find("k-1") == second.run_id


def test_an_input_that_was_corrected_is_still_known(store: Store) -> None:
    run_id = start(store, ONE, key="k-1", input='{"n":1}').run_id
    put(store, run_id, EditInput(), new_input='{"n":2}')
    claim(store, run_id, begin(store), ONE)
    succeed(store, run_id, ONE)
    store.advance_clock(31 * DAY)
    assert clean(store).deleted["inputs"] == 1
    for text in ('{"n":1}', '{"n":2}'):
        assert start(store, ONE, key="k-1", input=text).run_id == run_id


def test_a_key_gets_old_itself_and_may_then_be_taken_anew(store: Store) -> None:
    run_id = ended(store, key="k-1")
    nameless = ended(store)
    store.advance_clock(31 * DAY)
    clean(store)
    store.advance_clock(340 * DAY)
    assert clean(store).deleted == {"keys": 2}
    assert rows_of(store, run_id) == rows_of(store, nameless) == set()
    started = start(store, ONE, key="k-1")
    assert (started.created, started.key) == (True, "k-1")
    with pytest.raises(NotFound) as caught:
        store.reading.find(run_id)
    assert caught.value.code == "RUN_UNKNOWN"


def test_a_key_stays_as_long_as_a_younger_run_stands_under_it(store: Store) -> None:
    ended(store, key="k-1")
    store.advance_clock(31 * DAY)
    clean(store)
    second = start(store, ONE, key="k-1", again="once more").run_id
    store.advance_clock(340 * DAY)
    assert clean(store).kept == {"key": 1}
    assert start(store, ONE, key="k-1").run_id == second
    claim(store, second, begin(store), ONE)
    succeed(store, second, ONE)
    store.advance_clock(366 * DAY)
    clean(store)
    assert clean(store).deleted == {}
    assert sql(store, "select count(*) from halfway_key") == sql(store, "select count(*) from halfway_past") == [(0,)]


def test_a_start_that_meets_the_end_of_its_key_starts_once(store: Store) -> None:
    """Both orders are right: the old run is found, or the key is new. Never are there two runs, and never none."""
    rounds = 25
    barrier = threading.Barrier(3)
    answers: list[list[tuple[str, bool]]] = [[] for _ in range(rounds)]
    for number in range(rounds):
        ended(store, key=f"k-{number}")
    sql(store, "update halfway_run set ended_at = created_at - ?", 400 * DAY)
    for what in (Old.RUNS, Old.REST):
        swept(store, what, Cut(store.now(), "ones"))

    def begin_again() -> None:
        for number in range(rounds):
            barrier.wait()
            started = start(store, ONE, key=f"k-{number}")
            answers[number].append((started.run_id, started.created))

    def forget() -> None:
        for _ in range(rounds):
            barrier.wait()
            clean(store)

    together(begin_again, begin_again, forget)
    for number, found in enumerate(answers):
        assert sum(created for _, created in found) <= 1
        stands = start(store, ONE, key=f"k-{number}").run_id
        assert all(run_id == stands for run_id, created in found if created)


def together(*works: Callable[[], None]) -> None:
    errors: list[BaseException] = []

    def caught(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=caught, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def swept(store: Store, what: Old, cut: Cut) -> list[Swept]:
    """Every batch."""
    found: list[Swept] = []
    place: Place | None = Place()
    while place is not None:
        found.append(store.keeping.sweep(what, cut, place, delete=True))
        place = found[-1].after
    return found


# ── small batches, many at once ──


def many(store: Store, count: int) -> None:
    for _ in range(count):
        ended(store)
    store.advance_clock(31 * DAY)


def test_whoever_is_stopped_leaves_the_rest_to_the_next(store: Store) -> None:
    many(store, RUNS + 10)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 1

    report = clean(store, stop=stop)
    assert (report.stopped, report.deleted) == (True, {"runs": RUNS})
    assert len(store.reading.runs(limit=100)) == 10
    assert sql(store, "select count(*) from halfway_record") == [(RUNS + 10,)]
    rest = clean(store)
    assert (rest.stopped, rest.deleted["runs"], rest.deleted["records"]) == (False, 10, RUNS + 10)


def test_a_run_with_very_many_rows_goes_in_several_batches(store: Store) -> None:
    run_id = ended(store)
    sql(
        store,
        "insert into halfway_journal (run_id, seq, at, name) select ?, 1000 + n, 1, 'noted' from (with recursive t(n) as "
        "(select 1 union all select n + 1 from t where n < 1200) select n from t) as numbers", run_id,
    )  # fmt: skip
    store.advance_clock(31 * DAY)
    swept(store, Old.RUNS, Cut(store.now() - 30 * DAY, "ones"))
    batches = swept(store, Old.REST, Cut())
    assert [batch.deleted.get("journal", 0) >= ROWS for batch in batches] == [True, True, False, False]
    assert rows_of(store, run_id) == {"halfway_past"}


def test_many_sweep_at_once_and_nothing_is_deleted_or_counted_twice(store: Store) -> None:
    many(store, 150)
    ended(store, key="young")
    reports: list[Report] = []
    together(*[lambda: reports.append(clean(store)) for _ in range(4)], lambda: [ended(store) for _ in range(10)] and None)
    reports.append(clean(store))  # what one had locked the others have left out
    total: Counter[str] = Counter()
    for report in reports:
        total.update(report.deleted)
    assert (total["runs"], total["records"], total["attempts"]) == (150, 150, 150)
    assert len(store.reading.runs(limit=100)) == 11
    assert sql(store, "select count(*) from halfway_past where cleared_at is not null") == [(150,)]


def test_a_wake_for_a_run_that_is_gone_troubles_nobody(store: Store) -> None:
    run_id = ended(store)
    sql(store, "insert into halfway_wake values (?, 1)", run_id)
    store.advance_clock(31 * DAY)
    clean(store)
    with store.runs.change() as turn:
        assert list(turn.due(10)) == []


# ── events ──


def test_an_event_loses_its_payload_with_its_run_and_a_repeat_still_changes_nothing(store: Store) -> None:
    run_id = start(store, ONE).run_id
    put(store, run_id, waits(key="p"))
    paid = event(key="p", payload='{"card":"1234"}')
    receive(store, paid)
    take(store, run_id)
    claim(store, run_id, begin(store), ONE)
    succeed(store, run_id, ONE)
    store.advance_clock(31 * DAY)
    clean(store)
    (kept,) = store.attention.events()
    assert (kept.event.payload, kept.run_id) == ("null", run_id)
    (repeat,) = receive(store, paid._replace(id=new_id()))
    assert (repeat.created, repeat.used_by) == (False, run_id)
    store.advance_clock(366 * DAY)
    assert clean(store).deleted["eventIds"] == 1
    assert receive(store, paid._replace(id=new_id()))[0].created


def test_an_event_that_nobody_has_used_stays_while_a_wait_may_take_it(store: Store) -> None:
    receive(store, event(key="awaited"), event(key="nobody"))
    waiting_run(store, waits(key="awaited", since=store.now() - DAY))
    store.advance_clock(31 * DAY)
    looking_back = Policy(default=POLICY.default, by_type={}, look_back=timedelta(days=60))
    assert clean(store, looking_back).kept == {"event": 2}
    report = clean(store)
    assert (report.deleted, report.kept) == ({"events": 1}, {"event": 1})
    assert [row.event.key for row in store.attention.events(unused=True)] == ["awaited"]


@pytest.mark.parametrize(
    "text",
    [
        "insert into halfway_task (id, type, kind, name, key, event_id, next_at, tries) values ('t', 'x', 'EVENT', 'n', '', 'EVT', 1, 0)",
        "insert into halfway_outbox (id, at, what, run_id, role, code, event_id, tries, next_at) "
        "values ('m', 1, 'EVENT', 'r', '', '', 'EVT', 0, 1)",
        "update halfway_event set run_id = (select min(id) from halfway_run), processed_at = 1",
    ],
)
def test_an_event_keeps_its_payload_as_long_as_something_needs_it(store: Store, text: str) -> None:
    waiting_run(store)
    sent = event("other")
    receive(store, sent)
    sql(store, text.replace("EVT", sent.id))
    store.advance_clock(31 * DAY)
    assert clean(store).kept == {"event": 1}
    assert store.attention.events()[0].event.payload == "{}"


# ── artifacts and the audit log ──


def saved(store: Store, id: str) -> str:
    run_id = start(store, ONE).run_id
    claim(store, run_id, begin(store), ONE)
    sha256, size = store.artifacts.put(id.encode())
    with store.runs.change() as turn:
        turn.keep([Saved(run_id, Key("first"), 1, id, "n", sha256, size)])
    return run_id


def test_artifacts_may_go_before_the_history(store: Store) -> None:
    done, open_one = saved(store, "a-1"), saved(store, "a-2")
    succeed(store, done, ONE)
    policy = Policy(by_type={"ones": Retention(history=MONTH, artifacts=timedelta(days=7))})
    store.advance_clock(8 * DAY)
    assert clean(store, policy, dry_run=True).deleted == clean(store, policy).deleted == {"artifacts": 1}
    assert store.reading.artifact(done, "a-1") is None
    assert store.reading.artifact(open_one, "a-2") is not None
    assert store.reading.detail(done).run.status is RunStatus.SUCCESS


def test_artifacts_may_stay_after_the_history(store: Store) -> None:
    done = saved(store, "a-1")
    succeed(store, done, ONE)
    policy = Policy(by_type={"ones": Retention(history=MONTH, artifacts=timedelta(days=60))})
    store.advance_clock(31 * DAY)
    assert clean(store, policy).deleted["runs"] == 1
    assert store.reading.artifact(done, "a-1") is not None
    store.advance_clock(31 * DAY)
    assert clean(store, policy).deleted == {"artifacts": 1}


def test_the_artifacts_of_a_run_that_is_needed_stay(store: Store) -> None:
    done = saved(store, "a-1")
    succeed(store, done, ONE)
    sql(store, "insert into halfway_lease values ('record:r', 0, ?)", f"{done}:first")
    store.advance_clock(31 * DAY)
    policy = Policy(by_type={"ones": Retention(artifacts=MONTH)})
    assert clean(store, policy).kept == {"hold": 1}
    assert store.reading.artifact(done, "a-1") is not None


def test_the_audit_log_has_a_time_of_its_own(store: Store) -> None:
    done, open_one = ended(store), waiting_run(store, spec=ONE)
    for number, run_id in enumerate((done, open_one)):
        store.runs.refuse(run_id, Audit(f"a-{number}", "kim", "resume", "why", refused="no"))
    store.keeping.note(Audit("n-1", "kim", "cleanup", "retention"))
    policy = Policy(default=Retention(audit=YEAR), by_type={"ones": Retention(history=MONTH, audit=YEAR)})
    store.advance_clock(31 * DAY)
    clean(store, policy)
    assert len(store.attention.audit_log()) == 3
    store.advance_clock(366 * DAY)
    report = clean(store, policy)
    assert (report.deleted, report.kept) == ({"audit": 2}, {"audit": 1})
    assert [line.run_id for line in store.attention.audit_log()] == [open_one]


def test_an_order_about_no_single_run_is_in_the_log(store: Store) -> None:
    store.keeping.note(Audit("n-1", "kim", "cleanup", "retention", evidence="{}"))
    (line,) = store.attention.audit_log()
    assert (line.run_id, line.before, line.after, line.audit.actor) == ("", None, None, "kim")


# ── long readers ──


def test_a_transaction_that_is_open_for_long_is_seen(postgres_url: str) -> None:
    """B47: what is deleted is not gone as long as somebody may look at it."""
    store, reader = open_store(postgres_url), open_store(postgres_url)
    with reader._database.reading() as session:
        session.rows("count_runs")
        assert store.keeping.snapshots(5 * 60 * 1_000_000) == ()
        store.advance_clock(DAY)
        (found,) = store.keeping.snapshots(5 * 60 * 1_000_000)
        assert found.pid > 0
    assert store.keeping.snapshots(0) == ()
    reader.close()
    store.close()


def test_an_old_run_that_is_resumed_first_is_not_deleted(store: Store) -> None:
    """A run is locked before anything of it is deleted, and its end is looked at again then."""
    run_id = ended(store)
    store.advance_clock(31 * DAY)
    sql(store, "update halfway_run set ended_at = null where id = ?", run_id)
    assert store.keeping.sweep(Old.RUNS, Cut(store.now(), "ones"), Place(), delete=True) == Swept({}, {}, None)


def test_what_was_cleared_is_not_looked_at_again(store: Store) -> None:
    """B47: a held snapshot keeps the entries of what was cleared in the index, so each batch begins behind the one before."""
    many(store, RUNS + 10)
    swept(store, Old.RUNS, Cut(store.now() - 30 * DAY, "ones"))
    first = store.keeping.sweep(Old.REST, Cut(), Place(), delete=True)
    assert first.after is not None
    assert sql(store, "select max(run_id) from halfway_past where cleared_at is not null") == [(first.after.id,)]
    sql(store, "update halfway_past set cleared_at = null where run_id = ?", first.after.id)
    second = store.keeping.sweep(Old.REST, Cut(), first.after, delete=True)
    assert second.deleted["records"] == 10
    assert sql(store, "select run_id from halfway_past where cleared_at is null") == [(first.after.id,)]
