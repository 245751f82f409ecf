"""The one verb: lock, load, write. Every write is guarded, and a lost race leaves nothing behind."""

from __future__ import annotations

import threading

import pytest

from halfway.domain.decide import decide, evolve
from halfway.domain.draft import Audit, Change, Payload
from halfway.domain.facts import CancelAsked, Claimed, EndAttempt, Finished, Gone, Late, LookAgain, RetryAsked, SetRun
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Kind, Report
from halfway.domain.spec import MINUTE, Effect, ProbeSpec
from halfway.errors import Conflict
from halfway.ports import EpochOver, Evidence, Granted, GuardFailed, Mark, Saved
from halfway.store import Store, open_store
from tests.store.world import (
    MARKED,
    ROUTE,
    TWO,
    apply,
    begin,
    claim,
    ids,
    new_run,
    order,
    read,
    spec_of,
    start,
    step,
    succeed,
    until_somebody_waits,
)

FIRST = Key("first")
PROBED = spec_of(step("first", takes_mark=True, probe=ProbeSpec(settle=0)), type="probed")
READS = spec_of(step("first", Effect.READ), type="reads")
LOST = Report(Ended.LOST, code="TIMEOUT", gone=False)


def test_what_is_written_is_what_evolves(store: Store) -> None:
    epoch = begin(store)
    run_id = start(store).run_id
    assert claim(store, run_id, epoch) == read(store, run_id)
    assert succeed(store, run_id) == read(store, run_id)
    assert claim(store, run_id, epoch, name="second") == read(store, run_id)
    assert read(store, run_id).records[Key("second")].running is not None
    assert apply(store, run_id, TWO, Finished(Key("second"), 1, Report(Ended.SUCCESS))) == read(store, run_id)
    assert read(store, run_id).run.status is RunStatus.SUCCESS


def test_a_run_is_loaded_with_its_input_and_the_outputs_of_its_steps(store: Store) -> None:
    run_id = start(store, input='{"a":1}').run_id
    claim(store, run_id, begin(store))
    succeed(store, run_id, output='{"id":"c_1"}')
    with store.runs.change() as turn:
        loaded = turn.load([run_id])[run_id]
    assert (loaded.input, loaded.outputs) == ('{"a":1}', {"first": '{"id":"c_1"}'})


def test_a_stale_decision_changes_nothing(store: Store) -> None:
    epoch = begin(store)
    run_id, other = ids(store.runs.create([new_run(), new_run()]))
    stale = read(store, run_id)
    claim(store, run_id, epoch)
    fresh = read(store, other)
    changes = [Change(fresh, decide(TWO, fresh, Claimed(FIRST, epoch), 1)), Change(stale, decide(TWO, stale, CancelAsked(), 1))]
    with pytest.raises(GuardFailed), store.runs.change() as turn:
        turn.write(changes)
    assert read(store, other) == fresh
    assert [line.name for line in store.reading.journal(other)] == ["workflow.started"]
    assert read(store, run_id).run.intent is None


def test_an_attempt_ends_once(store: Store) -> None:
    run_id = start(store).run_id
    claim(store, run_id, begin(store))
    after = succeed(store, run_id)
    with pytest.raises(GuardFailed), store.runs.change() as turn:
        turn.write([Change(after, (EndAttempt(FIRST, 1, Ended.NOTHING, "", 1),))])
    assert store.reading.detail(run_id).records[0].attempts[0].ended is Ended.SUCCESS


def test_no_run_ends_over_a_record_that_runs_or_is_in_doubt(store: Store) -> None:
    run_id = start(store).run_id
    snapshot = claim(store, run_id, begin(store))
    forced = SetRun(snapshot.run._replace(status=RunStatus.FAILED, revision=snapshot.run.revision + 1, ended_at=1), ended=True)
    with pytest.raises(GuardFailed), store.runs.change() as turn:
        turn.write([Change(snapshot, (forced,))])
    assert read(store, run_id) == snapshot


def test_several_moves_of_a_record_are_stored_as_the_last_one(store: Store) -> None:
    """A refused attempt that may start again at once: ended, pending, and started in one change."""
    epoch = begin(store)
    run_id = start(store).run_id
    snapshot = claim(store, run_id, epoch)
    with store.runs.change() as turn:
        commands = decide(TWO, snapshot, Finished(FIRST, 1, Report(Ended.HANDED_BACK)), turn.now)
        between = evolve(snapshot, commands)
        again = decide(TWO, between, Claimed(FIRST, epoch), turn.now)
        rest = [command for command in commands if not isinstance(command, SetRun)]
        turn.write([Change(snapshot, (*rest, *again))])
    record = read(store, run_id).records[FIRST]
    assert (record.status, record.attempts) == (RecordStatus.RUNNING, 2)
    assert [attempt.ended for attempt in store.reading.detail(run_id).records[0].attempts] == [Ended.HANDED_BACK, None]


def test_an_output_is_kept_only_by_success_and_an_error_as_long_as_its_code(store: Store) -> None:
    epoch = begin(store)
    run_id = start(store).run_id
    claim(store, run_id, epoch)
    refused = Finished(FIRST, 1, Report(Ended.NOTHING, code="HTTP_429"))
    apply(store, run_id, TWO, refused, payloads={FIRST: Payload(output='"no"', error="slow down")})
    detail = store.reading.detail(run_id).records[0]
    assert (detail.output, detail.error, detail.record.status) == (None, "slow down", RecordStatus.PENDING)
    store.advance_clock(10 * MINUTE)
    claim(store, run_id, epoch)
    succeed(store, run_id, n=2, output='"yes"')
    detail = store.reading.detail(run_id).records[0]
    assert (detail.output, detail.error) == ('"yes"', None)


def test_a_lost_answer_stays_open_until_it_is_settled(store: Store) -> None:
    epoch = begin(store)
    run_id = start(store, MARKED).run_id
    claim(store, run_id, epoch, MARKED)
    mark_it(store, run_id)
    snapshot = apply(store, run_id, MARKED, Finished(FIRST, 1, LOST))
    assert read(store, run_id) == snapshot
    assert snapshot.records[FIRST].unsettled[0].gone_at is None
    with store.runs.change() as turn:
        assert [left.run_id for left in turn.left(epoch, lost=True)] == [run_id]
        assert turn.left(epoch) == []
    snapshot = apply(store, run_id, MARKED, Gone(FIRST, 1, 5))
    assert read(store, run_id) == snapshot
    assert snapshot.records[FIRST].unsettled[0].gone_at == 5
    with store.runs.change() as turn:
        assert turn.left(epoch, lost=True) == []
    answer = Late(FIRST, 1, Report(Ended.SUCCESS))
    snapshot = apply(store, run_id, MARKED, answer, payloads={FIRST: Payload('"late"')})
    assert (snapshot.records[FIRST].status, snapshot.records[FIRST].open) == (RecordStatus.SUCCESS, ())
    assert read(store, run_id) == snapshot
    assert store.reading.detail(run_id).records[0].attempts[0].settled == "LATE_ANSWER"


def mark_it(store: Store, run_id: str) -> None:
    with store.runs.change() as turn:
        assert turn.mark([Mark(run_id, FIRST, 1, True)]).marks


def test_a_lost_read_leaves_nothing_open(store: Store) -> None:
    run_id = start(store, READS).run_id
    claim(store, run_id, begin(store), READS)
    snapshot = apply(store, run_id, READS, Finished(FIRST, 1, LOST))
    assert snapshot.records[FIRST].open == ()
    assert read(store, run_id) == snapshot


def test_what_a_probe_found_becomes_the_output_of_its_step(store: Store) -> None:
    epoch = begin(store)
    probe = Key("first", kind=Kind.PROBE)
    run_id = start(store, PROBED).run_id
    claim(store, run_id, epoch, PROBED)
    mark_it(store, run_id)
    apply(store, run_id, PROBED, Finished(FIRST, 1, LOST))
    with store.runs.change() as turn:
        assert {ready.key for ready in turn.ready(ROUTE, 10)} == {probe}
    apply(store, run_id, PROBED, Claimed(probe, epoch))
    found = Finished(probe, 1, Report(Ended.SUCCESS, answer=Answer.FOUND))
    snapshot = apply(store, run_id, PROBED, found, payloads={FIRST: Payload('"found"')})
    assert snapshot.run.status is RunStatus.SUCCESS
    assert read(store, run_id) == snapshot
    assert {one.record.key.kind: one.output for one in store.reading.detail(run_id).records} == {Kind.STEP: '"found"', Kind.PROBE: None}


# ── locks ──


def test_runs_that_are_locked_elsewhere_are_left_out(postgres_url: str) -> None:
    store = open_store(postgres_url)
    one, two = sorted(ids(store.runs.create([new_run(), new_run()])))
    with store.runs.change() as turn:
        assert turn.lock([one]) == {one: 1}
        with store.runs.change() as other:
            assert other.lock([one, two]) == {two: 1}
    store.close()


def test_waiting_for_a_lock_sees_what_its_holder_has_committed(postgres_url: str) -> None:
    store = open_store(postgres_url)
    run_id = start(store).run_id
    seen: list[int] = []

    def wait() -> None:
        with store.runs.change() as turn:
            seen.append(turn.lock([run_id], wait=True)[run_id])

    thread = threading.Thread(target=wait)
    with store.runs.change() as turn:
        turn.lock([run_id])
        thread.start()
        until_somebody_waits(postgres_url)
        snapshot = turn.load([run_id])[run_id].snapshot
        turn.write([Change(snapshot, decide(TWO, snapshot, CancelAsked(), turn.now))])
    thread.join()
    assert seen == [2]
    store.close()


def test_unknown_runs_are_neither_locked_nor_loaded(store: Store) -> None:
    with store.runs.change() as turn:
        assert turn.lock(["nobody"]) == {}
        assert turn.load(["nobody"]) == {}
        assert turn.lock([]) == {}


# ── what is ready, what is due ──


def test_ready_records_come_by_priority_then_age_and_never_more_than_asked(store: Store) -> None:
    low, high = start(store, priority=0).run_id, start(store, priority=5).run_id
    later = start(store, priority=5).run_id
    with store.runs.change() as turn:
        assert [ready.run_id for ready in turn.ready(ROUTE, 10)] == [high, later, low]
        assert [ready.run_id for ready in turn.ready(ROUTE, 2)] == [high, later]
        assert turn.ready("default/other", 10) == []


def test_a_retry_is_ready_when_its_time_has_come(store: Store) -> None:
    run_id = start(store).run_id
    claim(store, run_id, begin(store))
    apply(store, run_id, TWO, Finished(FIRST, 1, Report(Ended.NOTHING)))
    with store.runs.change() as turn:
        assert turn.ready(ROUTE, 10) == []
    store.advance_clock(10 * MINUTE)
    with store.runs.change() as turn:
        assert [ready.run_id for ready in turn.ready(ROUTE, 10)] == [run_id]


def test_deadlines_timeouts_and_doubts_are_due_when_their_time_has_come(store: Store) -> None:
    with store.runs.change() as turn:
        soon = turn.now + MINUTE
    epoch = begin(store)
    timed = spec_of(step("first"), type="timed", timeout=MINUTE)
    deadline, timeout = start(store, deadline_at=soon).run_id, start(store, timed).run_id
    doubtful, calm = start(store, MARKED).run_id, start(store).run_id
    claim(store, timeout, epoch, timed)
    claim(store, doubtful, epoch, MARKED)
    mark_it(store, doubtful)
    apply(store, doubtful, MARKED, Finished(FIRST, 1, LOST))
    with store.runs.change() as turn:
        assert turn.due(10) == []
    store.advance_clock(10 * MINUTE)
    with store.runs.change() as turn:
        assert set(turn.due(10)) == {deadline, timeout, doubtful}
        assert turn.due(0) == []
    apply(store, deadline, TWO, LookAgain())
    with store.runs.change() as turn:
        assert set(turn.due(10)) == {timeout, doubtful}
    assert read(store, deadline).run.status is RunStatus.EXPIRED
    assert read(store, calm).run.status is RunStatus.PENDING


def test_a_run_that_nothing_would_move_is_due(store: Store) -> None:
    run_id = start(store).run_id
    claim(store, run_id, begin(store))
    snapshot = read(store, run_id)
    with store.runs.change() as turn:
        commands = decide(TWO, snapshot, Finished(FIRST, 1, Report(Ended.SUCCESS)), turn.now)
        without_successor = tuple(one for one in commands if getattr(getattr(one, "record", None), "key", FIRST) == FIRST)
        turn.write([Change(snapshot, without_successor)])
    with store.runs.change() as turn:
        assert turn.due(10) == [run_id]
    assert Key("second") in apply(store, run_id, TWO, LookAgain()).records
    with store.runs.change() as turn:
        assert turn.due(10) == []


# ── marks, evidence, artifacts ──


def test_a_mark_is_set_once_and_only_while_its_attempt_runs(store: Store) -> None:
    epoch = begin(store)
    one, two = ids(store.runs.create([new_run(MARKED), new_run(MARKED)]))
    claim(store, one, epoch, MARKED)
    marks = [Mark(one, FIRST, 1, True), Mark(two, FIRST, 1, True), Mark(one, FIRST, 2, True)]
    with store.runs.change(epoch=epoch) as turn:
        assert turn.mark(marks) == Granted(frozenset({marks[0]}))
        assert turn.mark(marks) == Granted(frozenset())
        assert turn.mark([]) == Granted(frozenset())
    attempt = read(store, one).records[FIRST].running
    assert attempt is not None
    assert attempt.marked
    apply(store, one, MARKED, Finished(FIRST, 1, Report(Ended.NOTHING)))
    with store.runs.change() as turn:
        assert turn.mark(marks) == Granted(frozenset())


def test_cancel_and_deadline_bind_a_mark_only_if_it_is_bound(store: Store) -> None:
    epoch = begin(store)
    with store.runs.change() as turn:
        soon = turn.now + MINUTE
    cancelled, late, free = (start(store, MARKED, deadline_at=at).run_id for at in (None, soon, soon))
    for run_id in (cancelled, late, free):
        claim(store, run_id, epoch, MARKED)
    apply(store, cancelled, MARKED, CancelAsked())
    store.advance_clock(MINUTE)
    unbound = Mark(free, FIRST, 1, False)
    with store.runs.change() as turn:
        assert turn.mark([Mark(cancelled, FIRST, 1, True), Mark(late, FIRST, 1, True), unbound]).marks == {unbound}


def test_evidence_and_artifacts_are_kept_while_the_attempt_runs(store: Store) -> None:
    run_id = start(store).run_id
    claim(store, run_id, begin(store))
    rows: list[Evidence | Saved] = [
        Evidence(run_id, FIRST, 1, '{"seen":true}'),
        Saved(run_id, FIRST, 1, "a-1", "report.pdf", "0" * 64, 3),
        Evidence(run_id, FIRST, 2, "{}"),
        Saved(run_id, FIRST, 2, "a-2", "other.pdf", "0" * 64, 3),
    ]
    with store.runs.change() as turn:
        assert turn.keep(rows) == set(rows[:2])
        assert turn.keep([]) == frozenset()
    succeed(store, run_id)
    with store.runs.change() as turn:
        assert turn.keep([Evidence(run_id, FIRST, 1, "{}")]) == frozenset()
    detail = store.reading.detail(run_id)
    assert [(row.key, row.n, row.data) for row in detail.evidence] == [(FIRST, 1, '{"seen":true}')]
    assert [(row.id, row.name, row.size) for row in detail.artifacts] == [("a-1", "report.pdf", 3)]
    assert store.reading.artifact(run_id, "a-1") == detail.artifacts[0]
    assert store.reading.artifact("another run", "a-1") is None


# ── orders and epochs ──


def test_an_order_is_audited_with_the_states_before_and_after_and_only_once(store: Store) -> None:
    run_id = start(store).run_id
    audit = Audit("action-1", "kim", "cancel", "not needed any more", evidence="mail of Monday")
    order(store, run_id, CancelAsked(), audit)
    (line,) = store.reading.audit(run_id)
    assert (line.audit, line.before, line.after) == (audit, RunStatus.PENDING, RunStatus.CANCELLED)
    with pytest.raises(Conflict) as caught:
        order(store, run_id, LookAgain(), audit)
    assert caught.value.code == "ACTION_REPEATED"


def test_an_unknown_step_that_asks_a_person_is_settled_by_their_word(store: Store) -> None:
    run_id = start(store, MARKED).run_id
    claim(store, run_id, begin(store), MARKED)
    mark_it(store, run_id)
    gone = Report(Ended.LOST, code="TIMEOUT")
    snapshot = apply(store, run_id, MARKED, Finished(FIRST, 1, gone), LookAgain())
    assert snapshot.run.status is RunStatus.MANUAL_REQUIRED
    snapshot = apply(store, run_id, MARKED, RetryAsked("first", not_happened=True))
    assert read(store, run_id) == snapshot
    assert snapshot.records[FIRST].effect is Happened.NOT
    assert snapshot.records[FIRST].open == ()


def test_a_dead_epoch_changes_nothing(store: Store) -> None:
    epoch = begin(store)
    run_id = start(store).run_id
    with store.runs.change(epoch=epoch) as turn:
        assert turn.lock([run_id])
    store.lives.end(epoch)
    with pytest.raises(EpochOver), store.runs.change(epoch=epoch):
        pytest.fail("it was let in")
    with pytest.raises(EpochOver), store.runs.change(epoch="unknown"):
        pytest.fail("it was let in")


def test_an_exception_rolls_back_and_the_store_goes_on(store: Store) -> None:
    run_id = start(store).run_id
    snapshot = read(store, run_id)

    def break_off() -> None:
        with store.runs.change() as turn:
            turn.write([Change(snapshot, decide(TWO, snapshot, CancelAsked(), turn.now))])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    assert read(store, run_id) == snapshot


def test_time_never_goes_backwards(store: Store) -> None:
    with store.runs.change() as turn:
        first = turn.now
    store.advance_clock(MINUTE)
    with store.runs.change() as turn:
        moved = turn.now
    store.advance_clock(-2 * MINUTE)
    with store.runs.change() as turn:
        assert turn.now >= moved >= first + MINUTE
