"""What persons may order about waits, skipped steps and single records, what follows, and what is refused."""

from __future__ import annotations

import pytest

from halfway.domain.facts import (
    Approved,
    CompensateAsked,
    EditInput,
    ProbeAsked,
    Rejected,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
)
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.plan import plan
from halfway.domain.run import Answer, Ended, Happened, Key, Kind, Report
from halfway.domain.spec import Effect, RetrySpec, Risk, Sort, Then
from halfway.errors import Conflict, NotFound
from tests.domain.world import PROBE, step, workflow
from tests.domain.world_undo import UndoRun, undo, wait

UNDO = Kind.COMPENSATION
NO = Report(Ended.FAILED, code="NO", final=True)
MANUAL = {"retry": RetrySpec(attempts=1), "on_failure": Then.MANUAL}


def failed(*others: object, **options: object) -> UndoRun:
    """A run in which A is done and B has failed for a person."""
    run = UndoRun(workflow(step("A"), step("B", after=("A",), **MANUAL | options), *others))  # type: ignore[arg-type]
    run.ok("A")
    run.start("B")
    run.end("B", NO)
    return run


# ── skip ──


def test_a_run_whose_only_step_is_skipped_before_it_starts_ends() -> None:
    run = UndoRun(workflow(step("A")))
    run.take(SkipAsked("A"))
    assert run.status is RunStatus.PARTIAL_SUCCESS


# ── plans ──


def test_a_plan_says_what_runs_again_what_is_kept_and_who_is_asked() -> None:
    approval = wait("C", Sort.APPROVAL, after=("B",))
    run = failed(approval)
    made = plan(run.spec, run.snapshot, ResumeAsked(), run.now)
    assert (made.before, made.after) == (RunStatus.MANUAL_REQUIRED, RunStatus.RUNNING)
    assert (made.again, made.kept, made.ahead, made.dropped) == (("B",), ("A",), ("C",), ())
    assert made.approvals == (("C", "lead"),)


def test_a_plan_names_the_approvals_of_what_waits_for_its_checks() -> None:
    b = step("B", Effect.CREATE, after=("A",), requires_approval=True, evidence="log", **MANUAL)
    run = UndoRun(workflow(step("A", verifies=True), b))
    run.ok("A")
    run.take(Approved("B", "bob"))
    run.start("B")
    run.end("B", NO._replace(effect=Happened.NOT))
    made = plan(run.spec, run.snapshot, ResumeAsked(), run.now)
    assert (made.again, made.checked, made.approvals) == (("B",), ("A",), (("B", "owner"),))


def test_a_plan_and_its_hash_do_not_hang_on_the_order_in_which_the_records_were_read() -> None:
    run = UndoRun(workflow(step("ZEBRA", Effect.CREATE, evidence="log", undo=undo()), step("APE", verifies=True), step("B")))
    for name in ("ZEBRA", "APE", "B"):
        run.ok(name)
    backwards = run.snapshot._replace(records=dict(reversed(run.snapshot.records.items())))
    assert plan(run.spec, backwards, CompensateAsked(), run.now) == plan(run.spec, run.snapshot, CompensateAsked(), run.now)


def test_a_plan_counts_a_skipped_step_among_nothing_that_runs() -> None:
    run = failed(step("C", after=("B",)))
    made = plan(run.spec, run.snapshot, SkipAsked("B"), run.now)
    assert (made.again, made.ahead, made.kept, made.dropped) == ((), ("C",), ("A",), ())
    gated = UndoRun(workflow(step("G", requires_approval=True), step("H", after=("G",))))
    assert plan(gated.spec, gated.snapshot, SkipAsked("G"), gated.now).ahead == ("H",)


def test_a_plan_says_what_becomes_of_each_effect() -> None:
    steps = [
        step("LOW", Effect.CREATE, evidence="log", undo=undo()),
        step("HIGH", Effect.CREATE, evidence="log", undo=undo(risk=Risk.HIGH, approver="finance")),
        step("NONE", Effect.CREATE, evidence="log"),
        step("STAYS", Effect.CREATE, evidence="log", stays="it harms nobody"),
    ]
    run = UndoRun(workflow(*steps))
    for one in steps:
        run.ok(one.name)
    made = plan(run.spec, run.snapshot, CompensateAsked(), run.now)
    assert {one.step: one.fate for one in made.undone} == {"LOW": "UNDONE", "HIGH": "APPROVAL", "NONE": "NO_UNDO", "STAYS": "STAYS"}
    assert set(made.approvals) == {("HIGH", "finance"), ("NONE", "owner")}
    run.take(CompensateAsked())
    said = {order: plan(run.spec, run.snapshot, order("HIGH", "bob"), run.now) for order in (Approved, Rejected)}
    assert {order: {one.step: one.fate for one in made.undone}["HIGH"] for order, made in said.items()} == {
        Approved: "UNDONE", Rejected: "NO_UNDO",
    }  # fmt: skip
    assert [("HIGH", "finance") in made.approvals for made in said.values()] == [False, True]
    while run.record("NONE", UNDO).asks:
        run.take(SkipAsked("NONE"))
    run.take(Approved("HIGH", "bob"))
    run.start("HIGH", UNDO)
    run.end("HIGH", Report(Ended.SUCCESS), UNDO)
    made = plan(run.spec, run.snapshot, SkipAsked("LOW"), run.now)
    assert {one.step: one.fate for one in made.undone} == {"LOW": "WAIVED", "HIGH": "DONE", "NONE": "WAIVED", "STAYS": "STAYS"}


def test_a_plan_of_what_is_refused_is_refused_in_the_same_words() -> None:
    run = failed()
    for order in (RetryAsked("A"), ProbeAsked("B"), Approved("B", "bob")):
        with pytest.raises(Conflict) as planned:
            plan(run.spec, run.snapshot, order, run.now)
        with pytest.raises(Conflict) as given:
            run.take(order)
        assert str(planned.value) == str(given.value)


def test_a_skipped_step_lets_the_others_go_on_and_the_run_ends_as_partly_done() -> None:
    run = failed(step("C", after=("B",)))
    run.take(SkipAsked("B"))
    assert (run.record("B").code, run.due()) == ("WAIVED", [Key("C")])
    run.ok("C")
    assert run.status is RunStatus.PARTIAL_SUCCESS


def test_a_join_takes_a_skipped_step_for_done() -> None:
    run = failed(step("P", after=()), step("J", after=("B", "P")))
    run.take(SkipAsked("B"))
    assert Key("J") not in run.snapshot.records
    run.ok("P")
    assert run.due() == [Key("J")]


def test_a_skipped_step_stays_skipped_through_a_resume() -> None:
    run = failed(step("C", after=("B",), retry=RetrySpec(attempts=1)))
    run.take(SkipAsked("B"))
    run.start("C")
    run.end("C", NO)
    run.take(ResumeAsked())
    assert (run.record("B").status, run.due()) == (RecordStatus.SKIPPED, [Key("C")])
    with pytest.raises(Conflict, match="step B is SKIPPED"):
        run.take(RetryAsked("B"))


def test_a_doubt_is_not_skipped() -> None:
    run = UndoRun(workflow(step("A", Effect.CREATE, evidence="log")))
    run.lose("A")
    with pytest.raises(Conflict, match="nobody knows whether step A happened"):
        run.take(SkipAsked("A"))


def test_what_runs_or_is_done_is_not_skipped() -> None:
    run = UndoRun(workflow(step("A")))
    run.start("A")
    with pytest.raises(Conflict, match="step A is RUNNING"):
        run.take(SkipAsked("A"))
    run.end("A", Report(Ended.SUCCESS))
    with pytest.raises(Conflict, match="step A is SUCCESS"):
        run.take(SkipAsked("A"))


# ── probe ──


def test_a_person_may_have_the_world_asked_again() -> None:
    run = UndoRun(workflow(step("A", Effect.NOTIFY, probe=PROBE)))
    run.lose("A")
    run.advance(6)
    run.probe("A", Answer.CANNOT_TELL)
    assert run.status is RunStatus.MANUAL_REQUIRED
    run.take(ProbeAsked("A"))
    assert (run.status, run.record("A").asks) == (RunStatus.RUNNING, "")
    run.start("A", Kind.PROBE)
    with pytest.raises(Conflict, match="is looking already"):
        run.take(ProbeAsked("A"))
    run.end("A", Report(Ended.SUCCESS, answer=Answer.FOUND), Kind.PROBE)
    assert run.status is RunStatus.SUCCESS


def test_a_probe_that_would_look_later_looks_now() -> None:
    run = UndoRun(workflow(step("A", Effect.CREATE, probe=PROBE)))
    run.lose("A")
    run.start("A", Kind.PROBE)
    run.end("A", Report(Ended.NOTHING, code="BOOM"), Kind.PROBE)
    assert run.due() == []
    run.take(ProbeAsked("A"))
    assert run.due() == [Key("A", kind=Kind.PROBE)]


@pytest.mark.parametrize(("options", "words"), [({"evidence": "log"}, "has no probe"), ({"probe": PROBE}, "step A is PENDING")])
def test_only_a_doubt_with_a_probe_is_looked_for(options: dict[str, object], words: str) -> None:
    run = UndoRun(workflow(step("A", Effect.CREATE, **options)))
    with pytest.raises(Conflict, match=words):
        run.take(ProbeAsked("A"))


# ── which record is meant ──


def test_an_order_about_a_step_means_its_undo_while_that_is_open() -> None:
    run = UndoRun(workflow(step("A", Effect.CREATE, evidence="log", undo=undo()), step("B", after=("A",), on_failure=Then.COMPENSATE)))
    run.ok("A")
    run.start("B")
    run.end("B", NO)
    with pytest.raises(Conflict, match="the compensation of A is PENDING"):
        run.take(RetryAsked("A"))
    run.start("A", UNDO)
    run.end("A", NO._replace(effect=Happened.NOT), UNDO)
    run.take(RetryAsked("A"))
    assert run.due() == [Key("A", kind=UNDO)]


def test_a_step_that_does_not_exist_or_has_not_begun_is_told_apart() -> None:
    run = UndoRun(workflow(step("A"), step("B", after=("A",))))
    with pytest.raises(NotFound, match="X"):
        run.take(RetryAsked("X"))
    with pytest.raises(Conflict, match="step B has not been started"):
        run.take(SkipAsked("B"))


def test_a_retry_with_a_corrected_input_is_of_a_failed_step_only() -> None:
    run = failed()
    assert EditInput() in run.take(RetryAsked("B", new_input=True))
    assert run.due() == [Key("B")]
    with pytest.raises(Conflict, match="step A is SUCCESS"):
        run.take(RetryAsked("A", new_input=True))
