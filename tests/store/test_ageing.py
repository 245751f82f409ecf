"""What gets old beside runs: payloads of events, artifacts, entries of the audit log (R-F6)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from halfway.authoring.retention import Retention
from halfway.control.cleaning import Policy, Progress
from halfway.domain.draft import Audit
from halfway.domain.lifecycle import RunStatus
from halfway.domain.spec import DAY
from halfway.ports import Old
from halfway.store import Store, new_id
from halfway.store.ageing import ROWS
from tests.store.keeping import MONTH, ONE, POLICY, YEAR, clean, ended, saved, sql
from tests.store.world import begin, claim, event, put, receive, start, succeed, take, waiting_run, waits

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
    assert (line.run_id, line.before, line.after, line.audit.actor) == ("", "", "", "kim")


# ── ticks ──


def a_tick(store: Store, name: str, due_at: int, outcome: str = "STARTED", run_id: str | None = None) -> None:
    sql(
        store, "insert into halfway_tick (type, name, due_at, outcome, run_id, at, origin, reason, tries) "
        "values ('ones', ?, ?, ?, ?, 1, 'SCHEDULE', '', 0)", name, due_at, outcome, run_id,
    )  # fmt: skip


def due(store: Store) -> list[tuple[str, int]]:
    return sql(store, "select name, due_at from halfway_tick order by name, due_at")


def test_what_became_of_a_tick_is_known_as_long_as_a_key(store: Store) -> None:
    """Also of those that were left out; what still waits, and what started a run that goes on, stays."""
    goes_on, over = start(store, ONE).run_id, ended(store)
    for n, (outcome, run_id) in enumerate(
        [("STARTED", over), ("SKIPPED", None), ("WAITING", None), ("STARTED", goes_on), ("STARTED", "gone")]
    ):
        a_tick(store, "BY_DAY", n, outcome, run_id)
    a_tick(store, "BY_NIGHT", 0)
    sql(store, "insert into halfway_missed (type, name, first_at, last_at, count, at) values ('ones', 'BY_DAY', 0, 9, 10, 9)")
    a_tick(store, "BY_DAY", store.now() + 300 * DAY)
    young = [("BY_DAY", due_at) for name, due_at in due(store) if due_at > 10]
    store.advance_clock(366 * DAY)
    assert clean(store, dry_run=True).deleted["ticks"] == 5
    assert len(due(store)) == 7
    assert clean(store).deleted["ticks"] == 5
    assert due(store) == [("BY_DAY", 2), ("BY_DAY", 3), *young]
    assert sql(store, "select * from halfway_missed") == []


def test_many_ticks_go_in_several_batches(store: Store) -> None:
    for name in ("A", "B"):
        for n in range(ROWS - 10):
            a_tick(store, name, n)
    store.advance_clock(366 * DAY)
    swept: list[Progress] = []
    assert clean(store, told=swept.append).deleted["ticks"] == 2 * (ROWS - 10)
    assert [one.what for one in swept].count(Old.TICKS) == 2
    assert due(store) == []
