"""Compensation, rule by rule: its lost answers, its failures, its approvals, and what is refused."""

from __future__ import annotations

import pytest

from halfway.domain.facts import (
    Approved,
    CancelAsked,
    CompensateAsked,
    LookAgain,
    MarkedSuccess,
    Rejected,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
    Tell,
    Told,
    Unblocked,
)
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Kind, Report
from halfway.domain.spec import SECOND, Effect, Risk, Then
from halfway.errors import Conflict
from tests.domain.undoing import LOST, OK, ONCE, REFUSED, UNDO, UNDO_PROBE, done, fail, fails, undoing, undone
from tests.domain.world import PROBE, T0, step, workflow
from tests.domain.world_undo import UndoRun, undo

# ── an undo has an effect, and a lost answer, of its own ──


def test_a_lost_undo_whose_receiver_knows_its_key_is_repeated() -> None:
    run = undoing(idempotent=True)
    run.start("A", UNDO)
    run.end("A", LOST, UNDO)
    assert run.record("A", UNDO).status is RecordStatus.PENDING
    run.advance(10)
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


def test_an_undo_that_was_not_found_is_repeated_if_it_creates() -> None:
    run = undoing(Effect.CREATE, probe=PROBE)
    run.start("A", UNDO)
    run.end("A", LOST, UNDO)
    run.advance(6)
    run.start("A", UNDO_PROBE)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.ABSENT), UNDO_PROBE)
    assert run.record("A", UNDO).status is RecordStatus.PENDING


@pytest.mark.parametrize("effect", [Effect.NOTIFY, Effect.CHANGE, Effect.DELEGATE])
def test_an_undo_that_was_not_found_is_for_a_person_if_it_notifies_or_changes(effect: Effect) -> None:
    run = undoing(effect, probe=PROBE, approver="finance")
    run.start("A", UNDO)
    run.end("A", LOST, UNDO)
    run.advance(6)
    run.start("A", UNDO_PROBE)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.ABSENT), UNDO_PROBE)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert (run.record("A", UNDO).status, run.record("A", UNDO).asks) == (RecordStatus.UNKNOWN, "finance")


def test_an_undo_without_a_probe_whose_answer_is_lost_is_for_a_person() -> None:
    run = undoing()
    run.start("A", UNDO)
    run.end("A", LOST, UNDO)
    assert run.status is RunStatus.MANUAL_REQUIRED
    with pytest.raises(Conflict, match="nobody knows whether the compensation of A happened"):
        run.take(RetryAsked("A"))
    run.take(RetryAsked("A", not_happened=True))
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED
    assert run.record("A", UNDO).attempts == 2


# ── what is undone stays undone ──


def test_a_run_that_was_undone_takes_no_order_any_more() -> None:
    run = undoing()
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED
    for order in (RetryAsked("B"), SkipAsked("B"), ResumeAsked(), CompensateAsked(), CompensateAsked("A"), CancelAsked()):
        with pytest.raises(Conflict, match=r"undone|already ended"):
            run.take(order)
    with pytest.raises(Conflict, match="the run has ended: COMPENSATED"):
        run.take(MarkedSuccess("B"))


# ── one run at a time per resource ──


def test_what_has_ended_is_undone_only_when_its_run_holds_its_resource_again() -> None:
    run = UndoRun(workflow(done("A", undo=undo()), locked=True), resource="order:1")
    run.ok("A")
    assert run.status is RunStatus.SUCCESS
    run.take(CompensateAsked())
    assert (run.status, run.due()) == (RunStatus.COMPENSATING, [])
    run.take(LookAgain())
    assert run.status is RunStatus.COMPENSATING
    run.take(Unblocked())
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


def test_a_run_that_waits_for_its_resource_does_not_get_it_by_another_resume() -> None:
    run = UndoRun(workflow(step("A", verifies=True), step("B", after=("A",), retry=ONCE), locked=True), resource="order:1")
    run.ok("A")
    run.start("B")
    run.end("B", Report(Ended.NOTHING, code="BOOM"))
    run.take(ResumeAsked())
    for _ in range(3):  # the check itself fails, and a person is asked
        run.advance(60)
        run.start("A", Kind.CHECK)
        run.end("A", Report(Ended.NOTHING, code="BOOM"), Kind.CHECK)
    assert run.status is RunStatus.MANUAL_REQUIRED
    run.take(ResumeAsked())
    run.start("A", Kind.CHECK)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.HOLDS), Kind.CHECK)
    assert run.due() == []
    run.take(Unblocked())
    assert run.due() == [Key("B")]


# ── an undo that fails ──


def test_an_undo_that_failed_after_it_had_happened_is_not_repeated() -> None:
    run = undoing()
    run.start("A", UNDO)
    run.end("A", Report(Ended.FAILED, code="OUTPUT_UNSTORABLE", effect=Happened.HAPPENED, final=True), UNDO)
    with pytest.raises(Conflict, match="the compensation of A failed after its effect had happened"):
        run.take(RetryAsked("A"))
    run.take(MarkedSuccess("A"))
    assert run.status is RunStatus.COMPENSATED


def test_an_undo_that_fails_raises_an_incident_and_leaves_the_others_going_on() -> None:
    run = UndoRun(workflow(done("A", undo=undo()), done("B", after=("A",), undo=undo()), fails("C", ("B",))))
    run.ok("A")
    run.ok("B")
    fail(run, "C")
    run.start("B", UNDO)
    run.end("B", REFUSED, UNDO)
    assert Tell(Told.INCIDENT, Key("B", kind=UNDO), "owner", "HTTP_400") in run.log
    assert run.due() == [Key("A", kind=UNDO)]
    undone(run, "A")
    assert run.status is RunStatus.MANUAL_REQUIRED
    with pytest.raises(Conflict, match="it is being undone"):
        run.take(CancelAsked())
    run.take(RetryAsked("B"))  # it alone
    undone(run, "B")
    assert run.status is RunStatus.COMPENSATED


def test_what_could_not_be_undone_may_be_accepted_as_it_is() -> None:
    run = undoing()
    run.start("A", UNDO)
    run.end("A", REFUSED, UNDO)
    run.take(SkipAsked("A"))
    assert (run.status, run.record("A", UNDO).code) == (RunStatus.COMPENSATED, "WAIVED")


# ── nobody decides whether a step of a run that is being undone goes on ──


def test_a_sibling_that_waited_for_a_decision_does_not_hold_up_the_end_of_the_undo() -> None:
    spec = workflow(done("A", undo=undo()), fails("M", (), Then.MANUAL), fails("C", ()))
    run = UndoRun(spec)
    run.ok("A")
    fail(run, "M")
    assert run.record("M").asks == "owner"
    fail(run, "C")
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


@pytest.mark.parametrize(("then", "status"), [(Then.EXPIRE, RunStatus.EXPIRED), (Then.COMPENSATE, RunStatus.COMPENSATED)])
def test_a_deadline_ends_a_run_that_waited_for_a_decision(then: Then, status: RunStatus) -> None:
    run = UndoRun(workflow(done("A", undo=undo()), fails("M", ("A",), Then.MANUAL), past_deadline=then), T0 + 60 * SECOND)
    run.ok("A")
    fail(run, "M")
    assert run.status is RunStatus.MANUAL_REQUIRED
    run.advance(61)
    if then is Then.COMPENSATE:
        undone(run, "A")
    assert run.status is status


def test_a_transaction_that_a_person_has_completed_by_hand_is_undone_too() -> None:
    run = UndoRun(workflow(step("A", None, undo=undo(None), retry=ONCE, on_failure=Then.MANUAL)))
    run.start("A")
    run.end("A", Report(Ended.NOTHING, code="BOOM"))
    run.take(MarkedSuccess("A"))
    assert run.record("A").effect is Happened.HAPPENED
    run.take(CompensateAsked())
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


# ── nothing to undo ──


def test_a_run_past_its_deadline_that_has_nothing_to_undo_ends() -> None:
    run = UndoRun(workflow(done("A", probe=PROBE), past_deadline=Then.MANUAL), T0 + 60 * SECOND)
    run.lose("A")
    run.advance(61)
    run.take(CompensateAsked())
    run.probe("A", Answer.ABSENT)
    assert run.status is RunStatus.EXPIRED


# ── approval of an undo ──


def test_an_undo_of_high_risk_waits_for_its_draft_and_then_for_its_approval() -> None:
    run = undoing(Effect.NOTIFY, Risk.HIGH, drafts=True, approver="support")
    assert run.due() == [Key("A", kind=Kind.DRAFT)]
    run.start("A", Kind.DRAFT)
    run.end("A", OK, Kind.DRAFT)
    assert (run.status, run.record("A", UNDO).asks) == (RunStatus.MANUAL_REQUIRED, "support")
    run.take(Approved("A", "bob"))
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


def test_an_undo_whose_draft_cannot_be_made_asks_a_person_and_a_retry_makes_the_draft_again() -> None:
    run = undoing(Effect.NOTIFY, Risk.HIGH, drafts=True)
    run.start("A", Kind.DRAFT)
    run.end("A", Report(Ended.NOTHING, code="BOOM", final=True), Kind.DRAFT)
    assert (run.record("A", UNDO).code, run.record("A", UNDO).asks) == ("DRAFT_FAILED", "owner")
    run.take(RetryAsked("A"))
    assert run.due() == [Key("A", kind=Kind.DRAFT)]
    run.start("A", Kind.DRAFT)
    run.end("A", OK, Kind.DRAFT)
    run.take(Approved("A", "bob"))
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


def test_a_rejected_undo_is_for_a_person_and_a_retry_asks_anew() -> None:
    run = undoing(risk=Risk.HIGH)
    run.take(Rejected("A", "bob"))
    assert (run.record("A", UNDO).code, run.record("A", UNDO).asks, run.due()) == ("REJECTED", "owner", [])
    run.take(RetryAsked("A"))
    assert run.due() == []
    run.take(Approved("A", "bob"))
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


def test_a_doubt_that_a_repeat_would_settle_is_something_to_undo() -> None:
    run = UndoRun(workflow(done("A", idempotent=True, probe=PROBE, undo=undo())))
    run.lose("A")
    assert run.record("A").status is RecordStatus.PENDING
    run.take(CompensateAsked())
    run.probe("A", Answer.FOUND)
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


def test_a_persons_no_about_the_last_attempt_takes_nothing_back_that_has_happened_before() -> None:
    run = UndoRun(workflow(done("A", idempotent=True, verifies=True, retry=ONCE, undo=undo()), fails("B", ("A",), Then.FAIL)))
    run.ok("A")
    fail(run, "B")
    run.take(ResumeAsked())
    run.start("A", Kind.CHECK)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.BROKEN), Kind.CHECK)
    run.lose("A")
    run.take(RetryAsked("A", not_happened=True))
    assert run.record("A").effect is Happened.HAPPENED


def test_an_undo_that_is_skipped_needs_no_draft() -> None:
    run = undoing(Effect.NOTIFY, Risk.HIGH, drafts=True)
    run.take(SkipAsked("A"))
    assert (run.status, run.due()) == (RunStatus.COMPENSATED, [])
