"""Schedules and their ticks on both databases: one run for each tick, whoever looks, and whatever dies in between."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from halfway.domain.draft import Audit
from halfway.domain.schedule import Account, Missed, Reason, Skip, account
from halfway.domain.spec import DAY, MINUTE, SECOND, ScheduleSpec, WorkflowSpec
from halfway.errors import KeyConflict, UnstorableValue
from halfway.ports import Looked, Started
from halfway.store import Store, new_id, open_store
from tests.store.test_creating import end
from tests.store.world import TWO, new_run, start

TICK = ScheduleSpec(name="TICK", zone="UTC", every=MINUTE)
TIMED = replace(TWO, type="timed", schedules=(TICK,))

pytestmark = pytest.mark.usefixtures("begun_day")


def audit(action: str = "schedule-pause") -> Audit:
    return Audit(new_id(), "kim", action, "because", None, None)


def first(store: Store, spec: WorkflowSpec = TIMED) -> Looked:
    """The schedule, accounted for so far, with one tick that waits."""
    store.runs.register([spec])
    [looked] = store.schedules.due([spec.type])
    assert store.schedules.account(looked.row, account(looked.row.spec, looked.standing, looked.now))
    store.advance_clock(MINUTE)
    return settle(store, spec)


def settle(store: Store, spec: WorkflowSpec = TIMED) -> Looked:
    """Accounts for what is due, and answers the schedule with what waits."""
    [looked] = store.schedules.due([spec.type])
    assert store.schedules.account(looked.row, account(looked.row.spec, looked.standing, looked.now))
    [looked] = store.schedules.due([spec.type])
    return looked


def outcomes(store: Store, spec: WorkflowSpec = TIMED) -> list[tuple[str, str]]:
    return [(tick.outcome, tick.reason) for tick in store.schedules.ticks(spec.type, "TICK")]


# ── registering ──


def test_a_new_schedule_begins_now_and_never_in_the_past(store: Store) -> None:
    before = store.now()
    store.runs.register([TIMED])
    [detail] = store.schedules.schedules()
    assert (detail.row.type, detail.row.name, detail.row.version, detail.row.spec) == ("timed", "TICK", 1, TICK)
    assert before <= detail.row.accounted_at <= store.now()
    [looked] = store.schedules.due(["timed"])
    assert account(TICK, looked.standing, looked.now).new == ()


def test_a_changed_schedule_goes_on_from_the_last_tick(store: Store) -> None:
    looked = first(store)
    other = replace(TICK, every=2 * MINUTE)
    store.runs.register([replace(TIMED, version=2, schedules=(other,))])
    [detail] = store.schedules.schedules(type="timed", name="TICK")
    assert (detail.row.spec, detail.row.version, detail.row.accounted_at) == (other, 2, looked.row.accounted_at)


def test_registering_the_same_again_changes_nothing(store: Store, url: str) -> None:
    before = first(store).row
    other = open_store(url)
    other.runs.register([TIMED])
    other.close()
    assert store.schedules.schedules()[0].row == before


def test_the_newest_version_says_what_the_schedules_are(store: Store, url: str) -> None:
    newer = replace(TIMED, version=2, schedules=(replace(TICK, every=5 * MINUTE),))
    store.runs.register([newer])
    other = open_store(url)
    other.runs.register([TIMED])  # an older worker starts again
    other.close()
    assert [(one.row.version, one.row.spec.every) for one in store.schedules.schedules()] == [(2, 5 * MINUTE)]


def test_a_schedule_that_is_no_more_starts_nothing_and_begins_anew_when_it_comes_back(store: Store) -> None:
    first(store)
    store.runs.register([replace(TIMED, version=2, schedules=())])
    assert store.schedules.due(["timed"]) == []
    assert outcomes(store) == [("SKIPPED", "RETIRED")]
    store.advance_clock(DAY)
    store.runs.register([replace(TIMED, version=3)])
    [looked] = store.schedules.due(["timed"])
    assert looked.row.accounted_at > looked.now - MINUTE


# ── accounting ──


def test_a_tick_is_accounted_for_once_however_many_look(store: Store) -> None:
    store.runs.register([TIMED])
    [looked] = store.schedules.due(["timed"])
    made = account(looked.row.spec, looked.standing, looked.now + MINUTE)
    assert store.schedules.account(looked.row, made)
    assert not store.schedules.account(looked.row, made)
    assert outcomes(store) == [("WAITING", "")]


def test_what_is_left_out_is_kept_one_by_one_or_as_a_whole(store: Store) -> None:
    looked = first(store)
    now = looked.row.accounted_at
    kept = Account(now + DAY, None, (now + DAY,), (Skip(now, Reason.SUPERSEDED),), Missed(now + MINUTE, now + DAY - MINUTE, 1439))
    assert store.schedules.account(looked.row, kept)
    assert outcomes(store) == [("WAITING", ""), ("SKIPPED", "SUPERSEDED")]
    [missed] = store.schedules.missed("timed", "TICK")
    assert missed[:3] == (now + MINUTE, now + DAY - MINUTE, 1439)
    [detail] = store.schedules.schedules()
    assert (detail.row.next_at, detail.waiting) == (None, 1)


# ── starting ──


def test_a_tick_and_its_run_are_written_together(store: Store) -> None:
    looked = first(store)
    due = looked.standing.waiting[0].due
    run = new_run(TIMED)
    started = store.schedules.start(looked.row, due, run)
    assert started == Started(run.id, True, ("default/code",), None)
    [tick] = store.schedules.ticks("timed", "TICK")
    assert (tick.due, tick.outcome, tick.run_id, tick.status) == (due, "STARTED", run.id, "PENDING")
    assert store.schedules.start(looked.row, due, new_run(TIMED)) is None
    [again] = [*store.schedules.due(["timed"]), looked][:1]
    assert store.schedules.start(again.row, due, new_run(TIMED)) is None
    assert len(store.reading.runs(type="timed")) == 1


def test_a_tick_whose_run_cannot_be_created_still_waits(store: Store) -> None:
    start(store, TIMED, key="k", input='{"a":1}')
    looked = first(store)
    due = looked.standing.waiting[0].due
    with pytest.raises(KeyConflict):
        store.schedules.start(looked.row, due, new_run(TIMED, key="k"))
    assert outcomes(store) == [("WAITING", "")]
    store.schedules.failed(looked.row, due, "KeyConflict\0", looked.now + MINUTE)
    assert store.schedules.due(["timed"]) == []
    [detail] = store.schedules.schedules()
    assert (detail.waiting, detail.error) == (1, "KeyConflict␀")
    store.advance_clock(MINUTE)
    [again] = store.schedules.due(["timed"])
    assert [(one.due, one.tries) for one in again.standing.waiting] == [(due, 1)]


def test_a_tick_finds_the_run_that_stands_under_its_key(store: Store) -> None:
    standing = start(store, TIMED, key="k").run_id
    looked = first(store)
    started = store.schedules.start(looked.row, looked.standing.waiting[0].due, new_run(TIMED, key="k"))
    assert started is not None
    assert (started.run_id, started.created) == (standing, False)
    assert store.schedules.ticks("timed", "TICK")[0].run_id == standing


def test_whether_an_earlier_run_goes_on(store: Store) -> None:
    looked = first(store)
    assert not looked.standing.open
    started = store.schedules.start(looked.row, looked.standing.waiting[0].due, new_run(TIMED))
    assert started is not None
    store.advance_clock(MINUTE)
    assert settle(store).standing.open
    end(store, started.run_id)
    [again] = store.schedules.due(["timed"])
    assert not again.standing.open


def test_of_two_who_start_the_same_tick_one_does(store: Store, url: str) -> None:
    """B17: the key of the tick decides, not who leads."""
    looked = first(store)
    due = looked.standing.waiting[0].due
    others = [open_store(url) for _ in range(4)]
    barrier = threading.Barrier(4)
    answers: list[Started | None] = []

    def race(one: Store) -> None:
        barrier.wait()
        answers.append(one.schedules.start(looked.row, due, new_run(TIMED)))

    threads = [threading.Thread(target=race, args=(one,)) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in others:
        one.close()
    assert sum(answer is not None for answer in answers) == 1
    assert len(store.reading.runs(type="timed")) == 1


def test_a_tick_that_is_left_out_starts_nothing(store: Store) -> None:
    looked = first(store)
    due = looked.standing.waiting[0].due
    store.schedules.skip(looked.row, due, Reason.OVERLAP)
    assert outcomes(store) == [("SKIPPED", "OVERLAP")]
    [now] = store.schedules.schedules()
    assert store.schedules.start(now.row, due, new_run(TIMED)) is None


# ── orders ──


def test_a_paused_schedule_starts_nothing_and_goes_on_from_where_it_was(store: Store) -> None:
    looked = first(store)
    assert store.schedules.set_paused("timed", "TICK", paused=True, audit=audit())
    assert not store.schedules.set_paused("timed", "TICK", paused=True, audit=audit())
    assert store.schedules.start(looked.row, looked.standing.waiting[0].due, new_run(TIMED)) is None
    store.advance_clock(DAY)
    assert store.schedules.due(["timed"]) == []
    assert store.schedules.set_paused("timed", "TICK", paused=False, audit=audit("schedule-resume"))
    [again] = store.schedules.due(["timed"])
    assert again.row.accounted_at == looked.row.accounted_at
    assert not store.schedules.set_paused("timed", "NONE", paused=True, audit=audit())
    entries = store.attention.audit_log()
    assert [(row.run_id, row.audit.action, row.before, row.after) for row in entries] == [
        ("schedule:timed/TICK", "schedule-resume", "PAUSED", "ACTIVE"),
        ("schedule:timed/TICK", "schedule-pause", "ACTIVE", "PAUSED"),
    ]


def test_an_order_that_cannot_be_stored_changes_nothing(store: Store) -> None:
    first(store)
    with pytest.raises(UnstorableValue):
        store.schedules.set_paused("timed", "TICK", paused=True, audit=audit()._replace(reason="\0"))
    assert store.schedules.schedules()[0].row.paused_at is None


def test_a_person_has_a_run_started_for_a_time_that_has_none(store: Store) -> None:
    looked = first(store)
    due = looked.standing.waiting[0].due
    ordered = store.schedules.order("timed", "TICK", due, origin="BACKFILL", run=new_run(TIMED), audit=None)
    assert ordered is not None
    assert store.schedules.order("timed", "TICK", due, origin="BACKFILL", run=new_run(TIMED), audit=None) is None
    assert store.schedules.start(looked.row, due, new_run(TIMED)) is None
    assert store.schedules.order("timed", "NONE", due, origin="BACKFILL", run=new_run(TIMED), audit=None) is None
    assert store.schedules.started("timed", "TICK", due - 1, due) == {due}
    assert store.schedules.open("timed", "TICK") == 1
    triggered = store.schedules.order("timed", "TICK", due + 1, origin="TRIGGER", run=new_run(TIMED), audit=audit("schedule-trigger"))
    assert triggered is not None
    assert store.schedules.open("timed", "TICK") == 1
    assert [row.audit.evidence for row in store.attention.audit_log()] == [f"run {triggered.run_id}"]
    assert len(store.reading.runs(type="timed")) == 2


def test_a_tick_that_a_person_was_faster_with_is_no_error(store: Store) -> None:
    store.runs.register([TIMED])
    [looked] = store.schedules.due(["timed"])
    made = account(looked.row.spec, looked.standing, looked.now + MINUTE)
    assert store.schedules.account(looked.row, Account(looked.row.accounted_at, made.next_at))
    store.schedules.order("timed", "TICK", made.new[0], origin="BACKFILL", run=new_run(TIMED), audit=None)
    [detail] = store.schedules.schedules()
    assert store.schedules.account(detail.row, made)
    assert outcomes(store) == [("STARTED", "")]


# ── the engine's own upkeep ──


def test_upkeep_is_taken_by_one_worker_and_its_past_is_forgotten(store: Store, url: str) -> None:
    job = replace(TICK, name="cleanup")
    other = open_store(url)
    for one in (store, other):
        one.schedules.ensure("halfway", job)
    for _ in range(103):
        store.advance_clock(MINUTE)
        [looked] = store.schedules.due(["halfway"])
        made = account(job, looked.standing, looked.now)
        taken = [one.schedules.take(looked.row, made) for one in (store, other)]
        assert taken == [made.new[-1] if made.new else None, None]
    found = store.schedules.ticks("halfway", "cleanup", limit=1000)
    assert 95 <= len(found) <= 101
    store.schedules.undone(looked.row, found[0].due, "OSError: no")
    assert store.schedules.ticks("halfway", "cleanup")[0].error == "OSError: no"
    other.close()


def test_seconds_are_kept_exactly(store: Store) -> None:
    """What a schedule is written as comes back as it was, also with a time far away."""
    spec = replace(TIMED, schedules=(ScheduleSpec(name="TICK", zone="Asia/Seoul", at=4_102_444_800 * SECOND + 1),))
    store.runs.register([spec])
    assert store.schedules.schedules()[0].row.spec == spec.schedules[0]
