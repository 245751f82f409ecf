"""The lost-answer table, row by row, and what settles a doubt."""

from __future__ import annotations

import pytest

from halfway.domain.contract import Ending, Place, Word, judge
from halfway.domain.facts import (
    CancelAsked,
    Claimed,
    Finished,
    Gone,
    Late,
    LookAgain,
    MarkedSuccess,
    ResumeAsked,
    RetryAsked,
    SettleAttempt,
)
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Kind, Report
from halfway.domain.spec import SECOND, Effect, ProbeSpec, RetrySpec, Then
from halfway.errors import Conflict
from tests.domain.world import PROBE, Run, step, workflow

LOST = Report(Ended.LOST, code="READ_TIMEOUT", effect=Happened.UNKNOWN)
LOSSY = [Effect.CREATE, Effect.NOTIFY, Effect.CHANGE, Effect.DELEGATE]


def doubtful(effect: Effect, **options: object) -> Run:
    run = Run(workflow(step("S", effect, evidence="log", **options)))
    run.lose("S")
    return run


@pytest.mark.parametrize("effect", [None, Effect.READ])
def test_what_cannot_be_lost_is_retried_up_to_the_limit_and_then_fails(effect: Effect | None) -> None:
    run = Run(workflow(step("S", effect)))
    for _ in range(3):
        run.advance(10)
        run.start("S")
        run.end("S", Report(Ended.NOTHING, code="BOOM"))
    assert run.status is RunStatus.FAILED
    assert run.record("S").code == "BOOM"


@pytest.mark.parametrize("effect", [Effect.CREATE, Effect.NOTIFY, Effect.CHANGE])
def test_found_settles_every_effect_but_that_of_an_agent(effect: Effect) -> None:
    run = doubtful(effect, probe=PROBE)
    assert run.record("S").status is RecordStatus.UNKNOWN
    run.probe("S", Answer.FOUND)
    assert run.status is RunStatus.SUCCESS
    assert run.record("S").effect is Happened.HAPPENED


def test_what_an_agent_did_is_kept_apart_until_a_person_has_looked() -> None:
    run = doubtful(Effect.DELEGATE, probe=PROBE)
    run.probe("S", Answer.FOUND)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert run.record("S").asks == "owner"


def test_an_absent_create_is_repeated_but_not_before_it_counts() -> None:
    run = doubtful(Effect.CREATE, probe=PROBE)
    run.probe("S", Answer.ABSENT)  # too early: the receiver may not show it yet
    assert run.record("S").status is RecordStatus.UNKNOWN
    run.advance(6)
    run.probe("S", Answer.ABSENT)
    assert run.record("S").status is RecordStatus.PENDING
    assert run.record("S").effect is Happened.NOT
    run.advance(10)
    run.ok("S")
    assert run.status is RunStatus.SUCCESS


def test_an_absent_counts_only_if_the_probe_began_late_enough_not_if_it_answered_late() -> None:
    run = doubtful(Effect.CREATE, probe=PROBE)
    run.start("S", Kind.PROBE)
    run.advance(60)
    run.end("S", Report(Ended.SUCCESS, answer=Answer.ABSENT), Kind.PROBE)
    assert run.record("S").status is RecordStatus.UNKNOWN


@pytest.mark.parametrize("effect", [Effect.NOTIFY, Effect.CHANGE, Effect.DELEGATE])
def test_an_absent_elsewhere_is_for_a_person(effect: Effect) -> None:
    run = doubtful(effect, probe=PROBE, approver="support")
    run.advance(6)
    run.probe("S", Answer.ABSENT)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert run.record("S").asks == "support"


@pytest.mark.parametrize("effect", LOSSY)
def test_without_a_probe_the_approver_is_asked_and_nothing_is_repeated(effect: Effect) -> None:
    run = doubtful(effect)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert run.record("S").asks == "owner"
    assert run.due() == []


@pytest.mark.parametrize("effect", LOSSY)
def test_an_idempotent_step_is_repeated_with_its_key(effect: Effect) -> None:
    run = doubtful(effect, idempotent=True)
    assert run.record("S").status is RecordStatus.PENDING
    run.advance(10)
    run.ok("S")
    assert run.status is RunStatus.SUCCESS
    assert any(isinstance(command, SettleAttempt) and command.how == "REPEATED" for command in run.log)


def test_an_idempotent_step_stays_in_doubt_when_its_last_repeat_proves_only_itself() -> None:
    run = doubtful(Effect.CREATE, idempotent=True)
    for _ in range(2):
        run.advance(10)
        run.start("S")
        run.end("S", Report(Ended.FAILED, code="HTTP_400", effect=Happened.NOT, final=True))
        if run.record("S").status is RecordStatus.UNKNOWN:
            break
    assert run.record("S").status is RecordStatus.UNKNOWN
    assert run.record("S").effect is Happened.UNKNOWN


def test_an_idempotent_step_is_not_repeated_after_its_key_is_forgotten() -> None:
    run = Run(workflow(step("S", Effect.CREATE, idempotent=True, idempotent_for=30 * SECOND, timeout=10 * SECOND)))
    run.start("S")
    run.advance(25)
    run.end("S", LOST)
    assert run.record("S").status is RecordStatus.UNKNOWN


def test_a_probe_that_raises_has_not_said_absent() -> None:
    run = doubtful(Effect.CREATE, probe=PROBE)
    run.advance(6)
    for _ in range(2):
        run.advance(5)
        run.start("S", Kind.PROBE)
        run.end("S", Report(Ended.NOTHING, code="BOOM"), Kind.PROBE)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert run.record("S").status is RecordStatus.UNKNOWN


def test_an_absent_waits_for_an_attempt_that_is_not_known_to_be_gone() -> None:
    run = Run(workflow(step("S", Effect.CREATE, probe=PROBE)))
    run.lose("S", gone=False)
    run.advance(30)
    run.probe("S", Answer.ABSENT)
    assert run.record("S").status is RecordStatus.UNKNOWN
    run.take(Gone(Key("S"), 1, run.now))
    run.advance(6)
    while run.record("S").status is RecordStatus.UNKNOWN:
        run.advance(1)
        if run.due():
            run.probe("S", Answer.ABSENT)
    assert run.record("S").status is RecordStatus.PENDING


def test_a_late_success_settles_the_doubt_about_its_own_attempt() -> None:
    run = Run(workflow(step("S", Effect.NOTIFY, evidence="log")))
    run.lose("S", gone=False)
    run.take(Late(Key("S"), 1, Report(Ended.SUCCESS)))
    assert run.status is RunStatus.SUCCESS


def test_a_late_success_after_a_persons_no_is_an_incident() -> None:
    run = doubtful(Effect.NOTIFY)
    run.take(RetryAsked("S", not_happened=True))
    run.take(Late(Key("S"), 1, Report(Ended.SUCCESS)))
    assert "incident.may_have_happened_twice" in run.notes()


def test_a_persons_retry_is_refused_while_the_attempt_may_still_run() -> None:
    run = Run(workflow(step("S", Effect.NOTIFY, evidence="log")))
    run.lose("S", gone=False)
    run.advance(400)
    assert run.status is RunStatus.MANUAL_REQUIRED
    with pytest.raises(Conflict, match="may still be running"):
        run.take(RetryAsked("S", not_happened=True))
    run.take(RetryAsked("S", not_happened=True, gone=True))
    assert run.record("S").status is RecordStatus.PENDING


def test_resume_and_retry_refuse_a_doubt_and_say_how_to_settle_it() -> None:
    run = doubtful(Effect.NOTIFY)
    for order in (ResumeAsked(), RetryAsked("S")):
        with pytest.raises(Conflict, match="mark-success"):
            run.take(order)
    run.take(MarkedSuccess("S"))
    assert run.status is RunStatus.SUCCESS


def test_no_final_state_over_a_doubt_not_even_by_cancel_or_deadline() -> None:
    run = Run(workflow(step("S", Effect.CREATE, probe=PROBE), step("T", after=("S",))), deadline_at=None)
    run.lose("S")
    run.take(CancelAsked())
    assert run.status is RunStatus.CANCEL_REQUESTED
    run.advance(6)
    run.probe("S", Answer.ABSENT)  # a probe runs past cancel; what did not happen is not repeated
    assert run.status is RunStatus.CANCELLED
    assert run.record("S").code == "NOT_HAPPENED"


def test_three_deaths_of_the_worker_are_poison_and_cost_no_retries() -> None:
    run = Run(workflow(step("S")))
    for _ in range(3):
        run.advance(60)
        run.start("S")
        run.end("S", Report(Ended.NOTHING, code="WORKER_LOST", death=True))
    assert run.status is RunStatus.FAILED
    assert run.record("S").failures == 0
    assert run.record("S").code == "WORKER_LOST"


def test_handed_back_attempts_count_for_nothing() -> None:
    run = Run(workflow(step("S")))
    for _ in range(20):
        run.start("S")
        run.end("S", Report(Ended.HANDED_BACK))
    assert run.record("S").status is RecordStatus.PENDING
    assert (run.record("S").failures, run.record("S").lost) == (0, 0)


def test_a_failure_whose_effect_happened_is_not_repeated_by_resume_or_retry() -> None:
    run = Run(workflow(step("S", Effect.CREATE, evidence="log")))
    run.start("S")
    run.end("S", Report(Ended.FAILED, code="OUTPUT_UNSTORABLE", effect=Happened.HAPPENED, final=True))
    for order in (ResumeAsked(), RetryAsked("S")):
        with pytest.raises(Conflict, match="would repeat it"):
            run.take(order)
    run.take(MarkedSuccess("S"))
    assert run.status is RunStatus.SUCCESS


def test_nothing_starts_past_the_deadline() -> None:
    run = Run(workflow(step("A"), step("B", after=("A",))), deadline_at=2_000 * SECOND)
    run.start("A")
    run.now = 2_001 * SECOND
    run.end("A", Report(Ended.SUCCESS))
    assert run.status is RunStatus.EXPIRED
    run.take(Claimed(Key("B"), "e"))
    assert Key("B") not in run.snapshot.records


def test_a_deadline_may_be_for_a_person() -> None:
    run = Run(workflow(step("A"), past_deadline=Then.MANUAL), deadline_at=2_000 * SECOND)
    run.now = 2_001 * SECOND
    run.take(LookAgain())
    assert run.status is RunStatus.MANUAL_REQUIRED
    run.take(CancelAsked())
    assert run.status is RunStatus.CANCELLED


def test_a_run_over_its_timeout_fails_and_can_be_resumed_with_a_new_one() -> None:
    run = Run(workflow(step("A"), step("B", after=("A",)), timeout=60 * SECOND))
    run.ok("A")
    run.advance(61)
    run.take(LookAgain())
    assert run.status is RunStatus.FAILED
    run.take(ResumeAsked())
    run.ok("B")
    assert run.status is RunStatus.SUCCESS


def test_a_join_starts_when_all_it_stands_after_has_succeeded_and_a_failure_stops_the_siblings() -> None:
    run = Run(workflow(step("A", after=()), step("B", after=()), step("J", after=("A", "B"))))
    run.ok("A")
    assert Key("J") not in run.snapshot.records
    run.start("B")
    run.end("B", Report(Ended.FAILED, code="NO", final=True))
    assert run.status is RunStatus.FAILED
    run.take(ResumeAsked())
    run.ok("B")
    run.ok("J")
    assert run.status is RunStatus.SUCCESS
    assert run.record("A").attempts == 1


def test_a_resume_first_checks_what_it_builds_on() -> None:
    run = Run(workflow(step("A", verifies=True), step("B", after=("A",), retry=RetrySpec(attempts=1))))
    run.ok("A")
    run.start("B")
    run.end("B", Report(Ended.NOTHING, code="BOOM"))
    run.take(ResumeAsked())
    assert run.due() == [Key("A", kind=Kind.CHECK)]
    run.start("A", Kind.CHECK)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.BROKEN, code="ARTIFACT_DAMAGED"), Kind.CHECK)
    assert run.due() == [Key("A")]  # a READ may run again
    run.ok("A")
    run.ok("B")
    assert run.status is RunStatus.SUCCESS


def test_a_broken_effect_is_not_made_again_by_a_machine() -> None:
    run = Run(workflow(step("A", Effect.CREATE, evidence="log", verifies=True), step("B", after=("A",), retry=RetrySpec(attempts=1))))
    run.ok("A")
    run.start("B")
    run.end("B", Report(Ended.NOTHING, code="BOOM"))
    run.take(ResumeAsked())
    run.start("A", Kind.CHECK)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.BROKEN), Kind.CHECK)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert run.record("A").attempts == 1


def test_a_stale_end_of_another_attempt_changes_nothing() -> None:
    run = Run(workflow(step("S")))
    run.start("S")
    run.end("S", Report(Ended.HANDED_BACK))
    run.start("S")
    before = run.snapshot
    run.take(Finished(Key("S"), 1, Report(Ended.SUCCESS)))
    assert run.snapshot == before


def test_settle_may_be_nothing_where_the_receiver_shows_at_once() -> None:
    run = doubtful(Effect.CREATE, probe=ProbeSpec(settle=0))
    run.probe("S", Answer.ABSENT)
    assert run.record("S").status is RecordStatus.PENDING


FORGETFUL = {"idempotent": True, "idempotent_for": 600 * SECOND, "timeout": 60 * SECOND}
TEN_DAYS = 864_000


def test_a_repeat_that_would_start_after_the_key_is_forgotten_does_not() -> None:
    run = Run(workflow(step("S", Effect.CREATE, **FORGETFUL)))
    run.lose("S")
    assert run.record("S").status is RecordStatus.PENDING
    run.now += TEN_DAYS * SECOND  # no worker for ten days
    run.take(Claimed(Key("S"), "e"))
    assert run.record("S").status is RecordStatus.UNKNOWN
    assert run.record("S").attempts == 1


def test_an_absent_message_whose_key_is_forgotten_is_for_a_person() -> None:
    run = Run(workflow(step("S", Effect.NOTIFY, probe=PROBE, **FORGETFUL)))
    run.start("S")
    run.now += 700 * SECOND
    run.end("S", LOST)
    run.advance(10)
    run.probe("S", Answer.ABSENT)
    assert run.record("S").status is RecordStatus.UNKNOWN
    while not run.record("S").asks:
        run.advance(10)
        if run.due():
            run.probe("S", Answer.ABSENT)
    assert run.due() == []


def test_a_cancelled_run_whose_message_was_not_found_does_not_send_it_by_a_mere_resume() -> None:
    run = Run(workflow(step("S", Effect.NOTIFY, probe=PROBE)))
    run.lose("S")
    run.take(CancelAsked())
    run.advance(10)
    while run.status is not RunStatus.CANCELLED:
        run.probe("S", Answer.ABSENT)
        run.advance(10)
    run.take(ResumeAsked())
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert run.due() == []
    run.take(RetryAsked("S"))
    run.ok("S")
    assert run.status is RunStatus.SUCCESS


def test_a_cancel_is_not_undone_by_a_retry() -> None:
    run = Run(workflow(step("A", after=(), on_failure=Then.MANUAL), step("B", after=())))
    run.start("A")
    run.start("B")
    run.end("A", Report(Ended.FAILED, code="NO", final=True))
    run.take(CancelAsked())
    for order in (RetryAsked("A"), ResumeAsked()):
        with pytest.raises(Conflict, match="asked to stop"):
            run.take(order)
    run.end("B", Report(Ended.SUCCESS))
    assert run.status is RunStatus.CANCELLED


def test_a_step_that_fails_in_a_run_that_stops_asks_nobody() -> None:
    run = Run(workflow(step("A", on_failure=Then.MANUAL)))
    run.start("A")
    run.take(CancelAsked())
    run.end("A", Report(Ended.FAILED, code="NO", final=True))
    assert run.status is RunStatus.CANCELLED


def test_a_broken_result_is_not_made_again_after_its_key_is_forgotten() -> None:
    run = Run(workflow(step("A", Effect.CREATE, verifies=True, **FORGETFUL), step("B", after=("A",))))
    run.ok("A")
    run.start("B")
    run.end("B", Report(Ended.FAILED, code="NO", final=True))
    run.now += TEN_DAYS * SECOND
    run.take(ResumeAsked())
    run.start("A", Kind.CHECK)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.BROKEN), Kind.CHECK)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert run.record("A").attempts == 1


def test_a_known_effect_is_not_repeated_by_a_resume_after_its_key_is_forgotten() -> None:
    run = Run(workflow(step("S", Effect.CHANGE, **FORGETFUL)))
    run.start("S")
    run.end("S", Report(Ended.FAILED, code="OUTPUT_UNSTORABLE", effect=Happened.HAPPENED, final=True))
    run.now += TEN_DAYS * SECOND
    with pytest.raises(Conflict, match="would repeat it"):
        run.take(ResumeAsked())


def test_the_time_that_a_person_takes_is_not_the_runs() -> None:
    run = Run(workflow(step("A", Effect.CREATE, evidence="log"), step("B", after=("A",)), timeout=3_600 * SECOND))
    run.lose("A")
    assert run.status is RunStatus.MANUAL_REQUIRED
    run.now += 7_200 * SECOND
    run.take(LookAgain())
    assert run.status is RunStatus.MANUAL_REQUIRED
    run.take(MarkedSuccess("A"))
    run.ok("B")
    assert run.status is RunStatus.SUCCESS


def test_a_person_may_vouch_for_a_result_or_have_it_made_again() -> None:
    def broken() -> Run:
        run = Run(workflow(step("A", Effect.CREATE, evidence="log", verifies=True), step("B", after=("A",), retry=RetrySpec(attempts=1))))
        run.ok("A")
        run.start("B")
        run.end("B", Report(Ended.NOTHING, code="BOOM"))
        run.take(ResumeAsked())
        run.start("A", Kind.CHECK)
        run.end("A", Report(Ended.SUCCESS, answer=Answer.BROKEN), Kind.CHECK)
        assert run.status is RunStatus.MANUAL_REQUIRED
        return run

    vouched = broken()
    vouched.take(MarkedSuccess("A"))
    vouched.ok("B")
    assert (vouched.status, vouched.record("A").attempts) == (RunStatus.SUCCESS, 1)
    again = broken()
    again.take(RetryAsked("A"))
    again.ok("A")
    again.ok("B")
    assert (again.status, again.record("A").attempts) == (RunStatus.SUCCESS, 2)


def test_a_failure_on_purpose_without_a_mark_says_nothing_about_the_effect() -> None:
    run = Run(workflow(step("S", Effect.CHANGE, evidence="log")))
    run.start("S")
    run.end("S", judge(run.spec.by_name["S"], Ending(Place.NO_MARK, "NO", Word.FAIL)))
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert run.record("S").status is RecordStatus.UNKNOWN
    run.take(RetryAsked("S", not_happened=True))
    run.ok("S")
    assert run.status is RunStatus.SUCCESS


@pytest.mark.parametrize(("place", "word", "idempotent"), [(Place.NO_MARK, Word.REFUSED, False), (Place.NO_MARK, Word.FAIL, True)])
def test_a_refusal_that_the_author_declared_and_a_harmless_repeat_are_believed(place: Place, word: Word, idempotent: bool) -> None:
    run = Run(workflow(step("S", Effect.CHANGE, evidence="log", idempotent=idempotent)))
    run.start("S")
    run.end("S", judge(run.spec.by_name["S"], Ending(place, "NO", word)))
    assert (run.status, run.record("S").effect) == (RunStatus.FAILED, Happened.NOT)


def test_two_messages_that_were_not_found_can_both_be_settled() -> None:
    run = Run(workflow(step("A", Effect.NOTIFY, probe=PROBE, after=()), step("B", Effect.NOTIFY, probe=PROBE, after=())))
    run.lose("A")
    run.lose("B")
    run.take(CancelAsked())
    run.advance(10)
    while run.status is not RunStatus.CANCELLED:
        for key in run.due():
            run.probe(key.step, Answer.ABSENT)
        run.advance(10)
    run.take(ResumeAsked())
    run.take(RetryAsked("A"))
    run.take(MarkedSuccess("B"))
    run.ok("A")
    assert run.status is RunStatus.SUCCESS


def test_nothing_is_resumed_past_the_deadline() -> None:
    run = Run(workflow(step("A", retry=RetrySpec(attempts=1))), deadline_at=2_000 * SECOND)
    run.start("A")
    run.end("A", Report(Ended.NOTHING, code="BOOM"))
    run.now = 2_001 * SECOND
    for order in (ResumeAsked(), RetryAsked("A")):
        with pytest.raises(Conflict, match="deadline"):
            run.take(order)


def test_a_failure_on_purpose_inside_the_mark_says_that_the_receiver_refused() -> None:
    run = Run(workflow(step("S", Effect.CHANGE, evidence="log", takes_mark=True)))
    run.start("S")
    run.end("S", judge(run.spec.by_name["S"], Ending(Place.INSIDE, "DECLINED", Word.FAIL)))
    assert run.record("S").effect is Happened.NOT
    run.take(ResumeAsked())
    run.ok("S")
    assert run.status is RunStatus.SUCCESS


@pytest.mark.parametrize(
    "report",
    [Report(Ended.FAILED, code="CLOSED", effect=Happened.NOT, final=True), Report(Ended.NOTHING, code="BUSY", effect=Happened.NOT)],
)
def test_what_has_happened_stays_known_when_it_is_made_again_in_vain(report: Report) -> None:
    run = Run(workflow(step("A", Effect.CHANGE, idempotent=True, verifies=True, retry=RetrySpec(attempts=1)), step("B", after=("A",))))
    run.ok("A")
    run.start("B")
    run.end("B", Report(Ended.FAILED, code="NO", final=True))
    run.take(ResumeAsked())
    run.start("A", Kind.CHECK)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.BROKEN), Kind.CHECK)
    run.start("A")
    run.end("A", report)
    assert run.record("A").effect is Happened.HAPPENED


LATE_YES = Late(Key("S"), 1, Report(Ended.SUCCESS))
LATE_NO = Late(Key("S"), 1, Report(Ended.NOTHING, code="CONNECT_ERROR", effect=Happened.NOT))


def test_a_late_success_makes_the_repeat_needless() -> None:
    run = Run(workflow(step("S", Effect.CREATE, idempotent=True)))
    run.lose("S", gone=False)
    assert run.record("S").status is RecordStatus.PENDING
    run.take(LATE_YES)
    assert (run.status, run.record("S").attempts) == (RunStatus.SUCCESS, 1)


def test_a_late_success_is_not_forgotten_when_the_repeat_under_way_is_refused() -> None:
    run = Run(workflow(step("S", Effect.CREATE, idempotent=True, probe=PROBE)))
    run.lose("S", gone=False)
    run.advance(10)
    run.start("S")
    run.take(LATE_YES)
    run.end("S", Report(Ended.FAILED, code="HTTP_400", effect=Happened.NOT, final=True))
    assert run.record("S").status is RecordStatus.UNKNOWN
    run.probe("S", Answer.FOUND)
    assert run.status is RunStatus.SUCCESS


def test_a_late_proof_that_nothing_happened_is_known_before_the_repeat() -> None:
    run = Run(workflow(step("S", Effect.CREATE, idempotent=True)))
    run.lose("S", gone=False)
    run.take(LATE_NO)
    assert (run.record("S").status, run.record("S").effect) == (RecordStatus.PENDING, Happened.NOT)
