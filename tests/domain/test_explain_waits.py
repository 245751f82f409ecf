"""What is told about runs that wait: for an event, for another run, for a time, for a person, or for a business record."""

from __future__ import annotations

from typing import Any

import pytest

from halfway.domain.explain import Explanation, explain
from halfway.domain.facts import Approved, CancelAsked, Claimed, LookAgain, MarkedSuccess, ProbeAsked, Rejected, RetryAsked, SkipAsked
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Report
from halfway.domain.spec import MINUTE, SECOND, Effect, RetrySpec, Risk, Sort, StepSpec, Then, UndoSpec, WaitSpec
from tests.domain.test_explain_walks import Wide
from tests.domain.world import PROBE, T0, step, workflow

UNTIL = "1970-01-01T00:17:40Z"


def waiting(sort: Sort, then: Then = Then.FAIL, *, before: StepSpec | None = None, **options: Any) -> Wide:
    """A run whose step W waits for a minute."""
    given = {name: options.pop(name) for name in ("quorum", "four_eyes", "on_reject") if name in options}
    wait = WaitSpec(name="PAID", timeout=None if sort is Sort.TIME else MINUTE, on_timeout=then, role="boss", value="1", **given)
    steps = [] if before is None else [before]
    steps.append(StepSpec(name="W", sort=sort, wait=wait, after=tuple(one.name for one in steps), **options))
    run = Wide(workflow(*steps))
    for one in steps[:-1]:
        run.ok(one.name)
    run.start("W")
    run.end("W", Report(Ended.SUCCESS, waits="k", until=T0 + MINUTE if sort is Sort.TIME else None))
    return run


def told(run: Wide) -> Explanation:
    return explain(run.spec, run.snapshot, run.now, workers=1)


def reasons(run: Wide) -> list[str]:
    return [str(reason) for reason in told(run).reasons]


def orders(run: Wide) -> list[object]:
    return [one.order for one in told(run).next if one.order is not None]


@pytest.mark.parametrize(
    ("sort", "reason"),
    [
        (Sort.EVENT, f"Step W waits for the event PAID, until {UNTIL}."),
        (Sort.RUN, f"Step W waits for the end of a run of PAID, until {UNTIL}."),
        (Sort.TIME, f"Step W waits until {UNTIL}."),
        (Sort.APPROVAL, f"Step W waits for the approval of boss, until {UNTIL}."),
    ],
)
def test_a_wait_says_for_what_and_until_when(sort: Sort, reason: str) -> None:
    run = waiting(sort)
    assert run.status is RunStatus.WAITING
    assert reasons(run) == [reason]
    assert told(run).current == ("W",)
    assert orders(run)[-1] == CancelAsked()


@pytest.mark.parametrize(
    ("then", "text"),
    [
        (Then.FAIL, "it fails."),
        (Then.CANCEL, "the run stops; what is done stays done."),
        (Then.MANUAL, "owner decides how it goes on."),
        (Then.PROBE, "its probe is asked."),
        (Then.RETRY, "it waits anew."),
        (Then.VALUE, "it goes on with the value given beforehand."),
    ],
)
def test_the_end_of_a_wait_is_told_beforehand(then: Then, text: str) -> None:
    run = waiting(Sort.EVENT, then, probe=PROBE if then is Then.PROBE else None)
    assert [(str(one.sentence), one.at) for one in told(run).coming] == [(f"If W still waits at {UNTIL}, {text}", T0 + MINUTE)]


def test_the_last_wait_anew_and_a_failure_follow_the_step() -> None:
    run = waiting(Sort.EVENT, Then.RETRY, retry=RetrySpec(attempts=1), on_failure=Then.COMPENSATE)
    assert str(told(run).coming[0].sentence) == f"If W still waits at {UNTIL}, what is done is undone."
    assert str(told(waiting(Sort.TIME)).coming[0].sentence) == f"Step W goes on at {UNTIL}."


def test_an_event_can_be_sent_by_hand_and_asked_for() -> None:
    run = waiting(Sort.EVENT, probe=PROBE)
    first, send, probe = told(run).next[:3]
    assert str(first.sentence) == "Nothing: it goes on by itself when what it waits for is here."
    assert send.command == "halfway event send PAID --key '…' --id '…' --payload '…'"
    assert (send.order, send.plan) == (None, None)
    assert probe.order == ProbeAsked("W")
    assert probe.command == "halfway probe r W --reason '…'"
    run.take(ProbeAsked("W"))
    assert reasons(run) == [f"Step W waits for the event PAID, until {UNTIL}."]


def test_a_wait_whose_time_is_over_says_that_its_probe_is_asked() -> None:
    run = waiting(Sort.EVENT, Then.PROBE, probe=PROBE)
    run.advance(60)
    run.take(LookAgain())
    assert reasons(run) == ["Step W waits for PAID; its probe is asked whether it has happened."]


def test_what_has_not_come_in_time_asks_a_person_and_may_still_come() -> None:
    undone = step("A", Effect.CREATE, evidence="log", undo=UndoSpec(risk=Risk.LOW, effect=Effect.CREATE))
    run = waiting(Sort.EVENT, Then.MANUAL, before=undone)
    run.now += 2 * MINUTE
    run.take(LookAgain())
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert reasons(run) == ["What step W waits for has not come in time; it may still come. owner decides."]
    assert orders(run) == [MarkedSuccess("W"), RetryAsked("W"), SkipAsked("W"), CancelAsked(), CancelAsked(undo=True)]
    again = next(one for one in told(run).next if one.order == RetryAsked("W"))
    assert again.plan is not None
    assert (again.plan.again, again.plan.kept) == (("W",), ("A",))


def test_what_did_not_come_stops_the_run_as_its_definition_says() -> None:
    run = waiting(Sort.EVENT, Then.CANCEL)
    run.now += 2 * MINUTE
    run.take(LookAgain())
    assert run.status is RunStatus.CANCELLED
    assert reasons(run) == ["What step W waited for did not come in time.", "By its definition that stops the run."]


def test_an_approval_offers_both_answers_with_what_follows() -> None:
    run = waiting(Sort.APPROVAL, on_reject=Then.CANCEL)
    approve, reject = told(run).next[:2]
    assert (approve.order, approve.command) == (Approved("W", ""), "halfway approve r W --reason '…'")
    assert (reject.order, reject.command) == (Rejected("W", ""), "halfway reject r W --reason '…'")
    assert approve.plan is not None
    assert reject.plan is not None
    assert (approve.plan.after, reject.plan.after) == (RunStatus.SUCCESS, RunStatus.CANCELLED)


def test_a_quorum_says_who_has_approved() -> None:
    run = waiting(Sort.APPROVAL, quorum=2)
    assert reasons(run)[1:] == ["W needs 2 different people; nobody has approved it yet."]
    run.take(Approved("W", "kim"))
    assert reasons(run)[1:] == ["W needs 2 different people; so far it was approved by kim."]


def test_four_eyes_say_whose_they_may_not_be() -> None:
    run = waiting(Sort.APPROVAL, four_eyes=True)
    assert reasons(run)[1].startswith("Nobody can decide about W")
    assert orders(run) == [CancelAsked()]
    run.snapshot = run.snapshot._replace(run=run.snapshot.run._replace(actor="kim"))
    assert reasons(run)[1:] == ["W needs another person than kim, who has asked for this run."]
    assert Approved("W", "") in orders(run)


def test_a_no_and_no_answer_are_told_apart() -> None:
    refused = waiting(Sort.APPROVAL, Then.MANUAL, on_reject=Then.MANUAL)
    late = waiting(Sort.APPROVAL, Then.MANUAL)
    refused.take(Rejected("W", "kim"))
    late.now += 2 * MINUTE
    late.take(LookAgain())
    assert reasons(refused) == ["W was rejected.", "owner decides how it goes on."]
    assert reasons(late) == ["Nobody decided about W in time.", "owner decides how it goes on."]
    for run in (refused, late):
        assert not {MarkedSuccess("W"), SkipAsked("W")} & set(orders(run)), "an approval is neither marked nor left out"


def test_an_attempt_that_needs_approval_waits_before_it() -> None:
    run = Wide(workflow(step("A", Effect.CHANGE, evidence="log", requires_approval=True, approver="bank")))
    assert run.status is RunStatus.WAITING
    assert reasons(run) == ["Before its next attempt, step A waits for the approval of bank."]
    assert str(told(run).progress) == "0 of 1 steps are done; it stands at A."
    assert orders(run) == [Approved("A", ""), Rejected("A", ""), CancelAsked()]
    run.take(Rejected("A", "kim"))
    assert reasons(run) == ["A was rejected."]


def test_a_business_record_that_is_held_is_named_as_the_reason() -> None:
    run = Wide(workflow(step("A", Effect.CHANGE, evidence="log", holds=True)))
    run.start("A")
    run.end("A", Report(Ended.HANDED_BACK, code="RECORD_HELD", retry_after=10 * SECOND))
    assert reasons(run)[0].startswith("Step A waits: another step holds the business record")
    assert str(told(run).coming[0].sentence) == "At 1970-01-01T00:16:50Z step A looks whether its business record is free."
    assert told(run).effects[0].happened is Happened.NOT


def test_a_step_in_doubt_may_release_what_it_holds_and_be_looked_for_again() -> None:
    run = Wide(workflow(step("A", Effect.CHANGE, evidence="log", holds=True, probe=PROBE)))
    run.lose("A")
    run.advance(10)
    run.probe("A", Answer.CANNOT_TELL)
    commands = [one.command for one in told(run).next]
    assert "halfway release r A --evidence '…' --reason '…'" in commands
    assert "halfway probe r A --reason '…'" in commands


def test_a_restored_database_leaves_doubt_about_what_may_be_missing() -> None:
    run = Wide(workflow(step("A", Effect.NOTIFY, evidence="log"), step("B", Effect.CREATE, evidence="log", after=("A",))))
    restored = run.snapshot.run._replace(restored_at=T0 + SECOND)
    run.snapshot = run.snapshot._replace(run=restored)
    run.now += 2 * SECOND
    assert reasons(run)[0].startswith("The database was restored at 1970-01-01T00:16:41Z")
    assert reasons(run)[0].endswith("is looked for before it is done: A, B.")
    assert [effect.happened for effect in told(run).effects] == [Happened.UNKNOWN, Happened.UNKNOWN]
    run.take(Claimed(Key("A"), "e1"))
    run.advance(600)
    assert run.record("A").status is RecordStatus.UNKNOWN
    assert told(run).effects[0].sentence.code == "MAY_BE_FORGOTTEN"
    assert [one.code for one in told(run).reasons] == ["RESTORED", "IN_DOUBT_RESTORED"]


def test_what_a_person_left_out_is_told_at_the_end() -> None:
    run = waiting(Sort.EVENT, Then.MANUAL, before=step("A"))
    run.now += 2 * MINUTE
    run.take(LookAgain())
    run.take(SkipAsked("W"))
    assert run.status is RunStatus.PARTIAL_SUCCESS
    assert str(told(run).progress) == "1 of 2 steps are done; left out: W."
    assert reasons(run) == ["Step W was left out, as a person has decided."]
    assert run.snapshot.records[Key("W")].status is RecordStatus.SKIPPED
