"""Approvals, rule by rule: who may say yes, how many must, what a yes is worth, and what never counts as one."""

from __future__ import annotations

import pytest

from halfway.domain.facts import (
    Approved,
    CancelAsked,
    Claimed,
    CloseWait,
    EditInput,
    Late,
    LookAgain,
    MarkedSuccess,
    Rejected,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
    Tell,
    Told,
)
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Kind, Report
from halfway.domain.spec import DAY, SECOND, Effect, RetrySpec, Sort, StepSpec, Then
from halfway.errors import Conflict
from tests.domain.world import PROBE, step, workflow
from tests.domain.world_undo import UndoRun, undo, wait

SHOWN = Report(Ended.SUCCESS, waits="hash of what is shown")
OK = Report(Ended.SUCCESS)
NO = Report(Ended.FAILED, code="HTTP_400", effect=Happened.NOT, final=True)


def asked(**options: object) -> UndoRun:
    """A run that waits for the approval of A; B comes after it."""
    run = UndoRun(workflow(wait("A", Sort.APPROVAL, **options), step("B", after=("A",))))
    run.start("A")
    run.end("A", SHOWN)
    assert run.status is RunStatus.WAITING
    return run


def gated(effect: Effect = Effect.CHANGE, **options: object) -> UndoRun:
    """A run whose only effect needs an approval before every attempt."""
    options.setdefault("evidence", "log")
    return UndoRun(workflow(step("A", effect, requires_approval=True, approver="finance", **options)))


# ── what stands for no approval ──


@pytest.mark.parametrize("order", [MarkedSuccess("A"), SkipAsked("A")])
def test_no_other_order_stands_for_an_approval(order: MarkedSuccess | SkipAsked) -> None:
    run = asked(quorum=2, four_eyes=True)
    with pytest.raises(Conflict, match=r"is an approval.*halfway approve RUN A"):
        run.take(order)
    run.advance(31)
    assert run.record("A").status is RecordStatus.FAILED
    with pytest.raises(Conflict, match=r"is an approval.*Ask again: halfway retry RUN A"):
        run.take(order)


# ── what an approval is worth ──


def test_every_attempt_needs_an_approval_the_first_included() -> None:
    run = gated()
    assert (run.status, run.due(), run.record("A").asks) == (RunStatus.WAITING, [], "finance")
    assert Tell(Told.APPROVAL_ASKED, Key("A"), "finance", "APPROVAL") in run.log
    run.take(Approved("A", "bob"))
    run.ok("A")
    assert run.status is RunStatus.SUCCESS


def test_an_approval_holds_for_retries_after_proof_that_nothing_happened() -> None:
    run = gated()
    run.take(Approved("A", "bob"))
    run.start("A")
    run.end("A", Report(Ended.NOTHING, code="CONNECT_ERROR", effect=Happened.NOT))
    run.advance(10)
    run.ok("A")
    assert run.status is RunStatus.SUCCESS


def test_an_approved_attempt_that_does_not_start_in_time_is_asked_about_again() -> None:
    run = gated()
    run.take(Approved("A", "bob"))
    run.advance(DAY / SECOND)
    run.take(Claimed(Key("A"), "e"))
    assert (run.status, run.record("A").attempts, run.record("A").asks) == (RunStatus.WAITING, 0, "finance")


def test_a_lost_answer_takes_the_approval_away() -> None:
    run = gated()
    run.take(Approved("A", "bob"))
    run.lose("A")
    run.take(RetryAsked("A", not_happened=True))
    assert (run.status, run.due()) == (RunStatus.WAITING, [])


def test_a_lost_answer_takes_the_approval_away_also_if_a_late_one_proves_that_nothing_happened() -> None:
    run = gated(idempotent=True)
    run.take(Approved("A", "bob"))
    run.lose("A", gone=False)
    assert run.record("A").status is RecordStatus.PENDING  # the repeat with the same key needs nobody
    run.take(Late(Key("A"), 1, Report(Ended.NOTHING, code="CONNECT_ERROR", effect=Happened.NOT)))
    run.advance(10)
    run.take(Claimed(Key("A"), "e"))
    assert (run.record("A").attempts, run.record("A").asks) == (1, "finance")


def test_a_result_that_is_made_again_needs_another_approval() -> None:
    a = step("A", Effect.CREATE, idempotent=True, verifies=True, requires_approval=True)
    run = UndoRun(workflow(a, step("B", after=("A",))))
    run.take(Approved("A", "bob"))
    run.ok("A")
    run.start("B")
    run.end("B", NO)
    run.take(ResumeAsked())
    run.start("A", Kind.CHECK)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.BROKEN), Kind.CHECK)
    assert (run.status, run.record("A").asks) == (RunStatus.WAITING, "owner")


def test_an_approved_step_waits_for_what_is_made_again_before_it() -> None:
    gate = step("B", Effect.CREATE, after=("A",), requires_approval=True, evidence="log")
    sibling = step("C", after=(), retry=RetrySpec(attempts=1), on_failure=Then.MANUAL)
    run = UndoRun(workflow(step("A", after=(), verifies=True), gate, sibling))
    run.ok("A")
    run.start("C")
    run.end("C", NO)
    run.take(ResumeAsked())
    run.start("A", Kind.CHECK)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.BROKEN), Kind.CHECK)
    run.take(Approved("B", "bob"))
    assert Key("B") not in run.due()
    run.ok("A")
    assert Key("B") in run.due()


# ── a corrected input ──


def failed_after_approval(*others: StepSpec) -> UndoRun:
    approval = wait("A", Sort.APPROVAL)
    run = UndoRun(workflow(approval, step("B", after=("A",), retry=RetrySpec(attempts=1), on_failure=Then.MANUAL), *others))
    run.start("A")
    run.end("A", SHOWN)
    run.take(Approved("A", "bob"))
    run.start("B")
    run.end("B", NO)
    return run


def test_what_was_approved_for_the_former_input_is_asked_about_again() -> None:
    run = failed_after_approval()
    commands = run.take(RetryAsked("B", new_input=True))
    assert EditInput() in commands
    assert run.due() == [Key("A")]
    run.start("A")
    run.end("A", SHOWN)
    run.take(Approved("A", "cy"))
    assert run.due() == [Key("B")]


def test_what_a_person_is_shown_about_the_former_input_is_shown_anew() -> None:
    run = failed_after_approval(wait("W", Sort.APPROVAL, after=(), quorum=2))
    run.start("W")
    run.end("W", SHOWN)
    run.take(Approved("W", "bob"))
    run.take(RetryAsked("B", new_input=True))
    assert CloseWait(Key("W"), "AGAIN") in run.log
    run.start("W")
    run.end("W", SHOWN)
    assert run.record("W").approved_by == ()


def test_an_attempt_that_was_approved_for_the_former_input_does_not_start() -> None:
    run = failed_after_approval(step("G", Effect.CREATE, after=(), requires_approval=True, evidence="log"))
    run.take(Approved("G", "bob"))
    assert run.due() == [Key("G")]
    run.take(RetryAsked("B", new_input=True))
    assert (run.record("G").asks, Key("G") in run.due()) == ("owner", False)


def test_the_input_is_not_taken_away_from_an_attempt_that_has_begun() -> None:
    run = failed_after_approval(step("R", Effect.CREATE, after=(), evidence="log"))
    run.start("R")
    with pytest.raises(Conflict, match="step R has begun with the present input, and is RUNNING"):
        run.take(RetryAsked("B", new_input=True))
    run.end("R", Report(Ended.LOST, code="READ_TIMEOUT", effect=Happened.UNKNOWN))
    with pytest.raises(Conflict, match="step R has begun with the present input, and is UNKNOWN"):
        run.take(RetryAsked("B", new_input=True))


@pytest.mark.parametrize("answer", [Answer.FOUND, Answer.ABSENT, Answer.CANNOT_TELL])
def test_a_probe_that_answers_when_its_doubt_is_over_decides_nothing_about_the_next_attempt(answer: Answer) -> None:
    run = gated(Effect.CREATE, probe=PROBE)
    run.take(Approved("A", "bob"))
    run.lose("A", gone=False)
    run.start("A", Kind.PROBE)
    run.take(Late(Key("A"), 1, Report(Ended.NOTHING, code="CONNECT_ERROR", effect=Happened.NOT)))
    run.advance(10)
    run.take(Claimed(Key("A"), "e"))
    assert run.record("A").asks == "finance"
    run.end("A", Report(Ended.SUCCESS, answer=answer), Kind.PROBE)
    assert (run.record("A").status, run.record("A").asks) == (RecordStatus.WAITING, "finance")


# ── who says yes ──


def test_a_yes_of_one_person_is_enough_unless_the_step_says_otherwise() -> None:
    run = asked()
    run.take(Approved("A", "bob"))
    assert (run.record("A").status, run.due()) == (RecordStatus.SUCCESS, [Key("B")])


def test_a_quorum_is_one_of_different_persons() -> None:
    run = asked(quorum=2)
    run.take(Approved("A", "bob"))
    assert (run.status, run.due()) == (RunStatus.WAITING, [])
    with pytest.raises(Conflict, match="bob has approved A already"):
        run.take(Approved("A", "bob"))
    run.take(Approved("A", "cy"))
    assert run.due() == [Key("B")]


@pytest.mark.parametrize("order", [Approved("A", "ann"), Rejected("A", "ann")])
def test_four_eyes_are_those_of_another_person_than_the_requester(order: Approved | Rejected) -> None:
    run = asked(four_eyes=True)
    with pytest.raises(Conflict, match="ann has asked for this run"):
        run.take(order)
    run.take(Approved("A", "bob"))
    assert run.due() == [Key("B")]


def test_four_eyes_need_a_requester_who_is_known() -> None:
    run = UndoRun(workflow(wait("A", Sort.APPROVAL, four_eyes=True)), actor="")
    run.start("A")
    run.end("A", SHOWN)
    with pytest.raises(Conflict, match="nobody knows who that was"):
        run.take(Approved("A", "bob"))


# ── no, and silence ──


@pytest.mark.parametrize(
    ("then", "status"),
    [(Then.FAIL, RunStatus.FAILED), (Then.CANCEL, RunStatus.CANCELLED), (Then.MANUAL, RunStatus.MANUAL_REQUIRED)],
)
@pytest.mark.parametrize("silent", [False, True])
def test_no_and_silence_follow_their_own_policies_and_never_go_on(then: Then, status: RunStatus, silent: bool) -> None:
    run = asked(on_reject=then, on_timeout=then)
    if silent:
        run.advance(31)
    else:
        run.take(Rejected("A", "bob"))
    assert (run.status, run.record("A").code, run.due()) == (status, "TIMED_OUT" if silent else "REJECTED", [])
    with pytest.raises(Conflict, match=r"already decided|nobody is asked"):
        run.take(Approved("A", "cy"))


def test_a_yes_after_the_time_to_decide_is_refused_also_before_the_run_has_noticed() -> None:
    run = asked()
    run.now += 31 * SECOND
    for order in (Approved("A", "bob"), Rejected("A", "bob")):
        with pytest.raises(Conflict, match="the time to decide about A is over"):
            run.take(order)


@pytest.mark.parametrize("order", [ResumeAsked(), RetryAsked("A")])
def test_what_was_rejected_is_asked_anew_if_a_person_says_so(order: ResumeAsked | RetryAsked) -> None:
    run = asked(on_reject=Then.MANUAL, quorum=2)
    run.take(Approved("A", "cy"))
    run.take(Rejected("A", "bob"))
    run.take(order)
    run.start("A")
    run.end("A", SHOWN)
    assert (run.status, run.record("A").approved_by) == (RunStatus.WAITING, ())


def test_a_rejected_attempt_fails_as_its_step_says() -> None:
    run = gated(on_failure=Then.MANUAL)
    run.take(Rejected("A", "bob"))
    assert (run.status, run.record("A").code, run.record("A").attempts) == (RunStatus.MANUAL_REQUIRED, "REJECTED", 0)
    run.take(RetryAsked("A"))
    assert (run.status, run.due()) == (RunStatus.WAITING, [])


def test_a_run_that_is_cancelled_asks_nobody_any_more() -> None:
    run = asked()
    run.take(CancelAsked())
    assert (run.status, run.record("A").asks) == (RunStatus.CANCELLED, "")
    assert CloseWait(Key("A"), "CLOSED", None) in run.log


def test_a_run_over_its_deadline_asks_nobody_any_more() -> None:
    run = UndoRun(workflow(wait("A", Sort.APPROVAL, timeout=900 * SECOND)), 1_060 * SECOND)
    run.start("A")
    run.end("A", SHOWN)
    run.now += 61 * SECOND
    run.take(LookAgain())
    assert (run.status, run.record("A").asks) == (RunStatus.EXPIRED, "")


@pytest.mark.parametrize("order", [RetryAsked("A"), MarkedSuccess("A")])
def test_an_attempt_that_waits_for_its_approval_takes_no_other_order(order: RetryAsked | MarkedSuccess) -> None:
    run = gated()
    with pytest.raises(Conflict, match="halfway approve RUN A"):
        run.take(order)


def test_nobody_approves_what_nobody_has_asked_about() -> None:
    run = UndoRun(workflow(step("A")))
    with pytest.raises(Conflict, match="nobody is asked to approve A; it is PENDING"):
        run.take(Approved("A", "bob"))


@pytest.mark.parametrize("order", [Rejected("A", "ann"), LookAgain()])
def test_an_approval_says_itself_whether_what_is_done_is_undone(order: Rejected | LookAgain) -> None:
    """FAIL keeps what is done, also in a workflow whose failures are undone."""
    made = step("M", Effect.CREATE, idempotent=True, undo=undo(idempotent=True))
    asking = wait("A", Sort.APPROVAL, after=("M",), on_failure=Then.COMPENSATE, on_timeout=Then.FAIL, on_reject=Then.FAIL)
    run = UndoRun(workflow(made, asking))
    run.ok("M")
    run.start("A")
    run.end("A", SHOWN)
    run.now += 31 * SECOND if isinstance(order, LookAgain) else 0
    run.take(order)
    assert run.status is RunStatus.FAILED
