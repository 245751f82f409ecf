"""What is undone, in which order, and when; and the business record that is held meanwhile."""

from __future__ import annotations

import pytest

from halfway.domain.facts import (
    CancelAsked,
    CompensateAsked,
    MarkedSuccess,
    ReleaseAsked,
    ReleaseHold,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
)
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Kind, Report
from halfway.domain.spec import SECOND, Effect, ProbeSpec, Then
from halfway.errors import Conflict
from tests.domain.undoing import LOST, OK, ONCE, REFUSED, UNDO, done, fail, fails, undoing, undone
from tests.domain.world import PROBE, T0, step, workflow
from tests.domain.world_undo import UndoRun, undo

# ── what is undone, and in which order ──


def test_the_last_effect_is_undone_first_and_each_waits_for_the_one_after_it() -> None:
    run = UndoRun(workflow(done("A", undo=undo()), done("B", after=("A",), undo=undo()), fails("C", ("B",))))
    for name in ("A", "B"):
        run.ok(name)
        run.advance(1)
    fail(run, "C")
    assert (run.status, run.due()) == (RunStatus.COMPENSATING, [Key("B", kind=UNDO)])
    undone(run, "B")
    assert run.due() == [Key("A", kind=UNDO)]
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


def test_parallel_effects_are_undone_in_the_order_in_which_they_ended() -> None:
    run = UndoRun(workflow(done("A", undo=undo()), done("B", undo=undo()), fails("C", ("A", "B"))))
    run.ok("B")
    run.advance(1)
    run.ok("A")
    fail(run, "C")
    assert run.due() == [Key("A", kind=UNDO)]


def test_only_what_has_happened_is_undone() -> None:
    spec = workflow(step("R"), done("A", after=("R",), undo=undo()), done("B", after=("A",), undo=undo(), on_failure=Then.COMPENSATE))
    run = UndoRun(spec)
    run.ok("R")
    run.ok("A")
    run.start("B")
    run.end("B", REFUSED)
    assert run.due() == [Key("A", kind=UNDO)]
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED
    assert {key.step for key in run.snapshot.records if key.kind is UNDO} == {"A"}


def test_what_may_stay_stays_and_what_no_machine_can_undo_is_for_a_person() -> None:
    run = UndoRun(workflow(done("S", stays="it harms nobody"), done("N", after=("S",), approver="finance"), fails("C", ("N",))))
    run.ok("S")
    run.ok("N")
    fail(run, "C")
    assert (run.status, run.record("N", UNDO).asks, run.record("N", UNDO).code) == (RunStatus.MANUAL_REQUIRED, "finance", "NO_UNDO")
    with pytest.raises(Conflict, match=r"no machine can undo N.*accept it as it is: halfway skip"):
        run.take(RetryAsked("N"))
    run.take(MarkedSuccess("N"))
    assert (run.status, run.record("S", UNDO).code) == (RunStatus.COMPENSATED, "STAYS")


def test_a_failure_after_the_effect_is_undone_with_what_its_probe_finds() -> None:
    run = UndoRun(workflow(done("A", probe=PROBE, undo=undo(), on_failure=Then.COMPENSATE)))
    run.start("A")
    run.end("A", Report(Ended.FAILED, code="OUTPUT_UNSTORABLE", effect=Happened.HAPPENED, final=True))
    run.probe("A", Answer.FOUND)
    undone(run, "A")
    assert (run.status, run.record("A").status) == (RunStatus.COMPENSATED, RecordStatus.SUCCESS)


@pytest.mark.parametrize("probe", [None, PROBE])
def test_a_failure_after_the_effect_whose_output_nobody_knows_is_for_a_person(probe: ProbeSpec | None) -> None:
    run = UndoRun(workflow(done("A", probe=probe, undo=undo(), on_failure=Then.COMPENSATE)))
    run.start("A")
    run.end("A", Report(Ended.FAILED, code="OUTPUT_UNSTORABLE", effect=Happened.HAPPENED, final=True))
    if probe is not None:
        run.probe("A", Answer.CANNOT_TELL)
    assert (run.status, run.record("A", UNDO).code) == (RunStatus.MANUAL_REQUIRED, "OUTPUT_UNKNOWN")
    run.take(SkipAsked("A"))
    assert run.status is RunStatus.COMPENSATED


# ── nothing is undone over a doubt ──


@pytest.mark.parametrize("answer", [Answer.FOUND, Answer.ABSENT])
def test_a_cancel_over_a_doubt_settles_it_first_and_then_undoes(answer: Answer) -> None:
    run = UndoRun(workflow(done("A", undo=undo()), done("B", after=("A",), probe=PROBE, undo=undo())))
    run.ok("A")
    run.lose("B")
    run.take(CancelAsked(undo=True))
    assert run.due() == [Key("B", kind=Kind.PROBE)]
    run.advance(6)
    run.probe("B", answer)
    for name in ("B", "A") if answer is Answer.FOUND else ("A",):
        assert run.due() == [Key(name, kind=UNDO)]
        undone(run, name)
    assert run.status is RunStatus.COMPENSATED


def test_a_doubt_that_only_a_person_can_settle_holds_up_the_undo() -> None:
    run = UndoRun(workflow(done("A", undo=undo()), done("B", after=("A",), undo=undo())))
    run.ok("A")
    run.lose("B")
    run.take(CompensateAsked())
    assert (run.status, run.due()) == (RunStatus.MANUAL_REQUIRED, [])
    run.take(RetryAsked("B", not_happened=True))
    assert (run.record("B").status, run.due()) == (RecordStatus.FAILED, [Key("A", kind=UNDO)])


def test_a_step_that_is_under_way_ends_before_anything_is_undone() -> None:
    run = UndoRun(workflow(done("A", undo=undo()), done("B", undo=undo())))
    run.ok("A")
    run.start("B")
    run.take(CancelAsked(undo=True))
    assert (run.status, run.due()) == (RunStatus.CANCEL_REQUESTED, [])
    run.advance(1)
    run.end("B", OK)
    assert run.due() == [Key("B", kind=UNDO)]


# ── orders ──


def test_what_was_done_after_the_step_from_which_is_undone_is_kept() -> None:
    run = UndoRun(workflow(*(done(name, after=after, undo=undo()) for name, after in (("A", ()), ("B", ("A",)), ("C", ("B",))))))
    for name in ("A", "B", "C"):
        run.ok(name)
        run.advance(1)
    run.take(CompensateAsked("B"))
    assert (run.record("C", UNDO).code, run.due()) == ("KEPT", [Key("B", kind=UNDO)])
    undone(run, "B")
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


def ended(status: RunStatus) -> UndoRun:
    """A run in which A has happened, and which has ended so."""
    spec = workflow(done("A", undo=undo()), step("B", after=("A",), retry=ONCE))
    run = UndoRun(spec, T0 + 60 * SECOND if status is RunStatus.EXPIRED else None)
    run.ok("A")
    if status is RunStatus.CANCELLED:
        run.take(CancelAsked())
    elif status is RunStatus.EXPIRED:
        run.advance(61)
    elif status is RunStatus.FAILED:
        fail(run, "B")
    else:
        run.ok("B")
    assert run.status is status
    return run


@pytest.mark.parametrize("status", [RunStatus.SUCCESS, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.EXPIRED])
def test_a_run_that_has_ended_can_still_be_undone(status: RunStatus) -> None:
    run = ended(status)
    run.take(CompensateAsked())
    assert run.status is RunStatus.COMPENSATING
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


def test_where_nothing_has_happened_nothing_is_undone() -> None:
    run = UndoRun(workflow(done("A", undo=undo())))
    with pytest.raises(Conflict, match=r"nothing has happened that could be undone.*halfway cancel"):
        run.take(CompensateAsked())
    run.ok("A")
    with pytest.raises(Conflict, match="has not been started"):
        UndoRun(workflow(step("A"), step("B", after=("A",)))).take(CompensateAsked("B"))


def test_a_run_that_is_being_undone_takes_neither_another_undo_nor_a_resume() -> None:
    run = undoing()
    for order, words in (
        (CompensateAsked(), "it is being undone already"),
        (CancelAsked(), "it is being undone"),
        (ResumeAsked(), "it is being undone"),
        (SkipAsked("B"), "it is being undone"),
        (RetryAsked("B"), "it is being undone"),
    ):
        with pytest.raises(Conflict, match=words):
            run.take(order)


def test_a_deadline_may_have_everything_undone() -> None:
    run = UndoRun(workflow(done("A", undo=undo()), step("B", after=("A",)), past_deadline=Then.COMPENSATE), T0 + 60 * SECOND)
    run.ok("A")
    run.advance(61)
    assert run.due() == [Key("A", kind=UNDO)]
    undone(run, "A")
    assert run.status is RunStatus.COMPENSATED


# ── the business record ──


def test_a_business_record_is_held_until_it_is_known_what_happened() -> None:
    run = UndoRun(workflow(done("A", Effect.CHANGE, holds=True)))
    run.lose("A")
    assert ReleaseHold(Key("A")) not in run.log
    run.take(MarkedSuccess("A"))
    assert run.log.count(ReleaseHold(Key("A"))) == 1


def test_its_owner_may_open_it_before() -> None:
    run = UndoRun(workflow(done("A", Effect.CHANGE, holds=True), done("B", Effect.CHANGE)))
    for name in ("A", "B"):
        run.lose(name)
    run.take(ReleaseAsked("A"))
    assert ReleaseHold(Key("A")) in run.log
    assert run.record("A").status is RecordStatus.UNKNOWN
    with pytest.raises(Conflict, match="step B holds no business record"):
        run.take(ReleaseAsked("B"))


def test_an_undo_that_changes_holds_the_record_too() -> None:
    run = UndoRun(workflow(done("A", Effect.CHANGE, holds=True, undo=undo(Effect.CHANGE)), fails("B", ("A",))))
    run.ok("A")
    fail(run, "B")
    run.start("A", UNDO)
    run.end("A", LOST, UNDO)
    assert ReleaseHold(Key("A", kind=UNDO)) not in run.log
    run.take(MarkedSuccess("A"))
    assert ReleaseHold(Key("A", kind=UNDO)) in run.log
