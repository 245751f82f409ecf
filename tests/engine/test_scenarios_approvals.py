"""People who decide: approval steps, attempts that are approved before they begin, and undos that show what they are about to do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from halfway import Absent, Approval, Effect, Found, Halfway, Mark, Retry, RetryLater, Risk, RunStatus, Step, StepFailed, Then, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.errors import Conflict, InvalidInput
from tests.engine.harness import FAST, Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, UNDO, audits, execute, reach, told, waits, work

SOON = Retry(3, wait=timedelta(milliseconds=10))


def asking(calls: Calls, **options: Any) -> Workflow[Order]:
    """A booking that can be undone, an approval, and what follows it. A step that fails ends the run, unless it says otherwise."""
    wf = flow(on_failure=Then.FAIL)

    @wf.step(Effect.CREATE, evidence="the ledger")
    def book(step: Step[Order]) -> str:
        return "seat 7"

    @book.compensate(Risk.LOW)
    def free(step: Step[Order], seat: str) -> None:
        calls.add("FREE", seat)

    @wf.approval("boss", **{"expires": DAY, "on_expiry": Then.FAIL, **options})
    def agree(step: Step[Order]) -> dict[str, str]:
        return {"seat": step.output(book)}

    @wf.step(Effect.READ)
    def go(step: Step[Order]) -> Approval:
        calls.add("GO")
        return step.output(agree)

    wf.go = go  # type: ignore[attr-defined]
    return wf


def asked(h: Harness, wf: Workflow[Order], status: RunStatus = RunStatus.WAITING, **options: Any) -> Any:
    run = h.start(wf, Order(), **options)
    work(h, run, status)
    return run


def test_an_approval_goes_on_with_who_said_yes_and_why(harness: type[Harness]) -> None:
    calls = Calls()
    wf = asking(calls)
    h = harness(wf)
    run = asked(h, wf)
    [line] = h.app.control.inbox(role="boss")
    assert (line.step, line.asked, line.role, line.shown) == ("AGREE", "APPROVAL", "boss", {"seat": "seat 7"})
    assert told(h, run, "APPROVAL_ASKED") == [("AGREE", "")]
    with pytest.raises(Conflict, match="not what you saw"):
        h.app.control.approve(run.id, "AGREE", actor="kim", reason="fine", seen="something else")
    h.app.control.approve(run.id, "AGREE", actor="kim", reason="fine", seen=line.shown_hash)
    said = work(h, run, RunStatus.SUCCESS).output(wf.go)  # type: ignore[attr-defined]
    assert (said.by, said.reason, said.approvers) == ("kim", "fine", ("kim",))
    with pytest.raises(Conflict, match="already decided"):
        h.app.control.reject(run.id, "AGREE", actor="lee", reason="no")
    assert audits(h, run) == [("kim", "approve")]
    given = [one for one in h.app.control.audit_log(run=run.id) if not one["refused"]]
    assert [one["evidence"] for one in given] == [f"shown {line.shown_hash}"]
    assert calls.count("GO") == 1


@pytest.mark.parametrize("why", ["expiry", "rejection"])
@pytest.mark.parametrize(
    ("then", "status"),
    [
        (Then.FAIL, RunStatus.FAILED),
        (Then.CANCEL, RunStatus.CANCELLED),
        (Then.COMPENSATE, RunStatus.COMPENSATED),
        (Then.MANUAL, RunStatus.MANUAL_REQUIRED),
    ],
)
def test_silence_and_no_follow_their_policies_and_never_mean_yes(harness: type[Harness], why: str, then: Any, status: RunStatus) -> None:
    calls = Calls()
    wf = asking(calls, **({"on_expiry": then} if why == "expiry" else {"on_reject": then}))
    h = harness(wf)
    run = asked(h, wf)
    if why == "expiry":
        h.advance(2 * 86_400)
        with pytest.raises(Conflict, match="is over"):  # also before anybody has noticed
            h.app.control.approve(run.id, "AGREE", actor="kim", reason="sorry, late")
    else:
        h.app.control.reject(run.id, "AGREE", actor="kim", reason="too expensive")
    work(h, run, status)
    assert calls.made == ([("FREE", "seat 7")] if then is Then.COMPENSATE else [])
    assert h.record(run, "AGREE").code == ("TIMED_OUT" if why == "expiry" else "REJECTED")
    with pytest.raises(Conflict):
        h.app.control.approve(run.id, "AGREE", actor="kim", reason="now")
    assert h.status(run) is status
    assert calls.count("GO") == 0


def test_a_quorum_needs_different_persons(harness: type[Harness]) -> None:
    calls = Calls()
    wf = asking(calls, quorum=2)
    h = harness(wf)
    run = asked(h, wf)
    h.app.control.approve(run.id, "AGREE", actor="kim", reason="fine")
    assert h.status(run) is RunStatus.WAITING
    with pytest.raises(Conflict, match="kim has approved"):
        h.app.control.approve(run.id, "AGREE", actor="kim", reason="still fine")
    work(h, run, RunStatus.WAITING)  # a worker changes nothing about that
    h.app.control.approve(run.id, "AGREE", actor="lee", reason="me too")
    said = work(h, run, RunStatus.SUCCESS).output(wf.go)  # type: ignore[attr-defined]
    assert (said.by, said.approvers) == ("lee", ("kim", "lee"))
    assert calls.count("GO") == 1


def test_one_no_ends_a_quorum(harness: type[Harness]) -> None:
    wf = asking(Calls(), quorum=2)
    h = harness(wf)
    run = asked(h, wf)
    h.app.control.approve(run.id, "AGREE", actor="kim", reason="fine")
    h.app.control.reject(run.id, "AGREE", actor="lee", reason="no")
    assert h.status(run) is RunStatus.CANCELLED


def test_four_eyes_keep_out_whoever_asked_for_the_run(harness: type[Harness]) -> None:
    wf = asking(Calls(), four_eyes=True)
    h = harness(wf)
    run = asked(h, wf, actor="kim")
    for order in (h.app.control.approve, h.app.control.reject):
        with pytest.raises(Conflict, match="kim has asked for this run"):
            order(run.id, "AGREE", actor="kim", reason="fine")
    h.app.control.approve(run.id, "AGREE", actor="lee", reason="fine")
    work(h, run, RunStatus.SUCCESS)


def test_four_eyes_accept_nobody_while_nobody_knows_who_asked_for_the_run(harness: type[Harness]) -> None:
    wf = asking(Calls(), four_eyes=True)
    h = harness(wf)
    run = asked(h, wf)
    with pytest.raises(Conflict, match="nobody knows who"):
        h.app.control.approve(run.id, "AGREE", actor="lee", reason="fine")
    assert h.status(run) is RunStatus.WAITING


# ── attempts that are approved before they begin ──


def guarded(calls: Calls, first: Exception | None, *, inside: bool = True, found: bool = False) -> Workflow[Order]:
    """A step that a person approves before each attempt; its first one ends like this."""
    wf = flow()

    @wf.step(Effect.CREATE, requires_approval=True, approver="boss", retry=SOON)
    def send(step: Step[Order], mark: Mark) -> int:
        n = calls.add("SEND")
        if n == 1 and first is not None and not inside:
            raise first
        with mark:
            if n == 1 and first is not None:
                raise first
        return n

    @send.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[int] | Absent:
        calls.add("LOOK")
        return Found(99) if found else Absent()

    return wf


def say_yes(h: Harness, run: Any, step: str = "SEND", actor: str = "kim") -> None:
    h.app.control.approve(run.id, step, actor=actor, reason="go")


def test_an_attempt_that_needs_approval_does_not_begin_without_it(harness: type[Harness]) -> None:
    calls = Calls()
    wf = guarded(calls, None)
    h = harness(wf)
    run = asked(h, wf)
    assert calls.made == []
    [line] = h.app.control.inbox()
    assert (line.asked, line.role, line.shown) == ("APPROVAL", "boss", {"input": {"id": "o1"}, "output": None})
    say_yes(h, run)
    work(h, run, RunStatus.SUCCESS)
    assert calls.count("SEND") == 1


def test_a_rejected_attempt_fails_its_step(harness: type[Harness]) -> None:
    calls = Calls()
    wf = guarded(calls, None)
    h = harness(wf)
    run = asked(h, wf)
    h.app.control.reject(run.id, "SEND", actor="kim", reason="no")
    work(h, run, RunStatus.FAILED)
    assert h.record(run, "SEND").code == "REJECTED"
    assert calls.made == []
    h.app.control.resume(run.id, actor="lee", reason="ask again")
    work(h, run, RunStatus.WAITING)


@pytest.mark.parametrize(
    ("error", "inside"), [(RetryLater("busy"), False), (RetryLater("busy"), True), (ConnectionRefusedError("closed"), True)]
)
def test_an_attempt_that_provably_did_nothing_is_repeated_under_the_same_approval(
    harness: type[Harness], error: Exception, inside: bool
) -> None:
    calls = Calls()
    wf = guarded(calls, error, inside=inside)
    h = harness(wf)
    run = asked(h, wf)
    say_yes(h, run)
    work(h, run, RunStatus.SUCCESS)
    assert calls.count("SEND") == 2
    assert h.journal(run).count("step.approval_asked") == 1


def test_after_a_lost_answer_the_next_attempt_is_asked_about_again(harness: type[Harness]) -> None:
    calls = Calls()
    wf = guarded(calls, TimeoutError("no answer"))
    h = harness(wf)
    run = asked(h, wf)
    say_yes(h, run)
    work(h, run, RunStatus.WAITING)
    assert calls.made == [("SEND", None), ("LOOK", None)]
    assert h.journal(run).count("step.approval_asked") == 2
    say_yes(h, run)
    work(h, run, RunStatus.SUCCESS)
    assert calls.count("SEND") == 2


def test_a_lost_answer_that_is_found_needs_no_further_approval(harness: type[Harness]) -> None:
    calls = Calls()
    wf = guarded(calls, TimeoutError("no answer"), found=True)
    h = harness(wf)
    run = asked(h, wf)
    say_yes(h, run)
    work(h, run, RunStatus.SUCCESS)
    assert calls.count("SEND") == 1


def test_an_approval_that_is_not_used_within_a_day_is_asked_for_again(harness: type[Harness]) -> None:
    calls = Calls()
    wf = guarded(calls, None)
    h = harness(wf)
    run = asked(h, wf)
    say_yes(h, run)
    h.advance(2 * 86_400)  # no worker was there
    work(h, run, RunStatus.WAITING)
    assert calls.made == []


# ── undos that a person approves ──


def risky(calls: Calls, *, draft: bool = False, lost: bool = False) -> Workflow[Order]:
    wf = flow(on_failure=Then.COMPENSATE)
    wf.amount = "12"  # type: ignore[attr-defined]

    @wf.step(Effect.CREATE, evidence="the ledger")
    def charge(step: Step[Order]) -> str:
        return "charge-1"

    def letter(step: Step[Order], charged: str) -> dict[str, str]:
        calls.add("DRAFT")
        return {"to": step.input.id, "about": charged, "amount": wf.amount}  # type: ignore[attr-defined]

    @charge.compensate(Risk.HIGH, approver="boss", draft=letter if draft else None, evidence="the statement")
    def refund(step: Step[Order], charged: str, mark: Mark) -> None:
        n = calls.add("REFUND", step.draft)
        with mark:
            if lost and n == 1:
                raise TimeoutError("no answer")

    @wf.step(Effect.READ)
    def check(step: Step[Order]) -> None:
        raise StepFailed("no", code="NO")

    return wf


def test_a_high_undo_waits_for_its_approver(harness: type[Harness]) -> None:
    calls = Calls()
    wf = risky(calls)
    h = harness(wf)
    run = asked(h, wf, RunStatus.MANUAL_REQUIRED)
    assert calls.made == []
    [line] = h.app.control.inbox()
    assert (line.step, line.kind, line.asked, line.role) == ("CHARGE", "COMPENSATION", "APPROVAL", "boss")
    say_yes(h, run, "CHARGE")
    work(h, run, RunStatus.COMPENSATED)
    assert calls.made == [("REFUND", None)]


def test_a_rejected_undo_waits_for_somebody_who_says_what_becomes_of_it(harness: type[Harness]) -> None:
    calls = Calls()
    wf = risky(calls)
    h = harness(wf)
    run = asked(h, wf, RunStatus.MANUAL_REQUIRED)
    h.app.control.reject(run.id, "CHARGE", actor="kim", reason="they keep it")
    record = h.record(run, "CHARGE", UNDO)
    assert (record.status, record.code, record.asks) == (RecordStatus.FAILED, "REJECTED", "boss")
    assert h.status(run) is RunStatus.MANUAL_REQUIRED
    h.app.control.skip(run.id, "CHARGE", actor="lee", reason="agreed with the customer")
    assert h.status(run) is RunStatus.COMPENSATED
    assert calls.made == []


def test_a_lost_answer_takes_the_approval_of_an_undo_with_it(harness: type[Harness]) -> None:
    calls = Calls()
    wf = risky(calls, lost=True)
    h = harness(wf)
    run = asked(h, wf, RunStatus.MANUAL_REQUIRED)
    say_yes(h, run, "CHARGE")
    with h.worker():
        until(lambda: h.record(run, "CHARGE", UNDO).status is RecordStatus.UNKNOWN and h.record(run, "CHARGE", UNDO).asks)
    with pytest.raises(Conflict):
        say_yes(h, run, "CHARGE")
    h.app.control.retry(run.id, "CHARGE", actor="kim", reason="no refund", not_happened=True, evidence="the statement")
    assert h.record(run, "CHARGE", UNDO).status is RecordStatus.WAITING
    work(h, run, RunStatus.MANUAL_REQUIRED)
    assert calls.count("REFUND") == 1
    say_yes(h, run, "CHARGE", "lee")
    work(h, run, RunStatus.COMPENSATED)
    assert calls.count("REFUND") == 2


def test_the_approver_of_an_undo_sees_its_draft_and_the_undo_reads_just_that(harness: type[Harness]) -> None:
    calls = Calls()
    wf = risky(calls, draft=True)
    h = harness(wf)
    run = asked(h, wf, RunStatus.MANUAL_REQUIRED)
    [line] = h.app.control.inbox()
    draft = {"to": "o1", "about": "charge-1", "amount": "12"}
    assert line.shown == draft
    wf.amount = "13"  # type: ignore[attr-defined]
    h.app.control.approve(run.id, "CHARGE", actor="kim", reason="go", seen=line.shown_hash)
    work(h, run, RunStatus.COMPENSATED)
    assert calls.made == [("DRAFT", None), ("REFUND", draft)]


def test_two_drafts_of_two_undos_are_approved_one_after_the_other(harness: type[Harness], url: str) -> None:
    """The undo of the earlier step waits for that of the later one, its draft and its approval too."""
    calls = Calls()
    wf = flow(on_failure=Then.COMPENSATE)
    for name in ("ONE", "TWO"):

        @wf.step(Effect.CREATE, name=name, evidence="the ledger")
        def make(step: Step[Order]) -> str:
            return "made"

        def draft(step: Step[Order], made: str, name: str = name) -> str:
            return f"undo {name}"

        @make.compensate(Risk.CRITICAL, draft=draft, evidence="the ledger")
        def unmake(step: Step[Order], made: str) -> None:
            calls.add("UNDO", step.draft)

    @wf.step(Effect.READ)
    def check(step: Step[Order]) -> None:
        raise StepFailed("no")

    h = harness(wf)
    run = asked(h, wf, RunStatus.MANUAL_REQUIRED)
    assert [line.step for line in h.app.control.inbox()] == ["TWO"]
    say_yes(h, run, "TWO")
    with h.worker():
        until(lambda: [line.step for line in h.app.control.inbox()] == ["ONE"])
        say_yes(h, run, "ONE")
        reach(h, run, RunStatus.COMPENSATED)
    assert calls.made == [("UNDO", "undo TWO"), ("UNDO", "undo ONE")]
    assert waits(h, run) == []
    assert execute(url, "select count(*) from halfway_lease") == [(0,)]


def test_a_person_is_one_person_however_the_name_is_spaced_and_no_name_is_nobody(harness: type[Harness]) -> None:
    """A quorum counts persons, and four eyes are not the same two with a space behind them."""
    wf = asking(Calls(), four_eyes=True, quorum=2)
    h = harness(wf)
    run = asked(h, wf, actor="kim ")
    h.app.control.approve(run.id, "AGREE", actor="lee", reason="fine")
    for actor, problem in ((" kim", "kim has asked for this run"), ("lee ", "lee"), ("  ", "actor")):
        with pytest.raises((Conflict, InvalidInput), match=problem):
            h.app.control.approve(run.id, "AGREE", actor=actor, reason="fine")
    assert h.status(run) is RunStatus.WAITING


def test_whoever_comes_too_late_hears_that_it_is_decided_and_not_that_he_may_not(harness: type[Harness]) -> None:
    wf = asking(Calls())
    h = harness(wf)
    h.app = Halfway(h.url, workflows=[wf], settings=FAST, roles={"boss": ["lee", "mo"], "owner": ["kim"]})
    run = asked(h, wf)
    h.app.control.approve(run.id, "AGREE", actor="lee", reason="fine")
    with pytest.raises(Conflict, match="AGREE is already decided"):
        h.app.control.approve(run.id, "AGREE", actor="mo", reason="fine too")
    h.close()
