"""R-E1 to R-E5: single decisions about graphs that random walks have shown to be easy to get wrong."""

from __future__ import annotations

from dataclasses import replace

from halfway.domain.facts import AtRest, CancelAsked, Claimed, Finished, MarkedSuccess, Move, PassDown, ResumeAsked, StopItems, UndoItems
from halfway.domain.lifecycle import RecordStatus as S
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Kind, Record, Report, Snapshot, Tally
from halfway.domain.spec import SECOND, Effect, FanSpec, RetrySpec, RewindSpec, Risk, Sort, StepSpec, Then
from tests.domain.world import PROBE, Run, step, workflow
from tests.domain.world_undo import undo

FAILED = Report(Ended.FAILED, code="BACK", final=True, rewinds=True)
OTHER = Report(Ended.FAILED, code="FAIL", final=True)
BACK = ("BACK",)


def many(name: str, **options: object) -> StepSpec:
    enough = float(str(options.pop("partial_from", 1.0)))
    return replace(step(name, Effect.READ, **options), sort=Sort.EACH, fan=FanSpec(partial_from=enough, failed_below=0.0))


class ManyRun(Run):
    """What wakes it are its items, which are not here."""

    def _check(self) -> None:
        pass


def tally(total: int, succeeded: int) -> Tally:
    return Tally(total, succeeded, 0, total - succeeded, 0, 0, 0, 0)


def list_items(run: Run, name: str, total: int) -> None:
    run.start(name)
    run.end(name, Report(Ended.SUCCESS, total=total))


def at_round(run: Run, name: str, round: int) -> Record | None:
    return run.snapshot.records.get(Key(name, round))


def go_back(run: Run, name: str) -> None:
    run.start(name)
    run.end(name, FAILED)


def test_what_stands_behind_a_step_that_is_kept_waits_for_what_is_done_anew() -> None:
    wf = workflow(
        step("A"), step("KEPT", Effect.CREATE, after=("A",), once=True), step("B", after=("KEPT",)),
        step("LAST", after=("B",), rewind=RewindSpec(to="A", max=2, on=BACK)),
    )  # fmt: skip
    run = Run(wf)
    for name in ("A", "KEPT", "B"):
        run.ok(name)
    go_back(run, "LAST")
    assert run.due() == [Key("A", 2)]


def test_a_join_for_which_too_few_came_through_stops_everything_else_in_the_same_decision() -> None:
    asked = step("LATER", after=("SOURCE",), condition="asks", optional=True)
    run = Run(workflow(step("SOURCE", optional=True), asked, step("JOIN", after=("SOURCE",), at_least=1)))
    run.start("SOURCE")
    run.end("SOURCE", OTHER)
    assert run.record("JOIN").code == "TOO_FEW_SUCCEEDED"
    assert run.status is RunStatus.FAILED
    assert run.record("LATER", Kind.CONDITION).status is S.SKIPPED


def test_a_join_for_which_too_few_came_through_begins_the_undo_that_its_policy_asks_for() -> None:
    join = step("JOIN", after=("SOURCE",), at_least=1, on_failure=Then.COMPENSATE)
    run = Run(workflow(step("DONE", Effect.CREATE, undo=undo()), step("SOURCE", optional=True), join))
    run.ok("DONE")
    run.start("SOURCE")
    run.end("SOURCE", OTHER)
    assert run.due() == [Key("DONE", kind=Kind.COMPENSATION)]


def test_a_condition_is_not_asked_in_a_run_that_stops_and_one_that_raised_asks_nobody() -> None:
    once = RetrySpec(attempts=1)
    run = Run(workflow(step("ACT", condition="asks", on_failure=Then.MANUAL, retry=once)))
    run.take(Claimed(Key("ACT", kind=Kind.CONDITION), "e1"))
    run.take(CancelAsked())
    run.end("ACT", Report(Ended.NOTHING, code="VALUE_ERROR"), Kind.CONDITION)
    assert run.status is RunStatus.CANCELLED
    assert not run.record("ACT", Kind.CONDITION).asks


def test_a_loop_that_is_used_up_says_what_follows_also_if_another_step_has_failed() -> None:
    last = step("LAST", after=("A",), rewind=RewindSpec(to="A", max=1, on=BACK, then=Then.FAIL), on_failure=Then.COMPENSATE)
    run = Run(workflow(step("A"), last, step("OTHER")))
    run.start("OTHER")
    run.ok("A")
    go_back(run, "LAST")
    for name in ("A", "LAST"):
        run.take(Claimed(Key(name, 2), "e1"))
        if name == "A":
            run.take(Finished(Key(name, 2), 1, Report(Ended.SUCCESS)))
    run.end("OTHER", OTHER)
    run.take(Finished(Key("LAST", 2), 1, FAILED))
    assert (run.status, run.snapshot.run.undo) == (RunStatus.FAILED, None)


def test_a_loop_does_not_go_back_in_a_run_that_stops() -> None:
    run = Run(workflow(step("A"), step("LAST", after=("A",), rewind=RewindSpec(to="A", max=2, on=BACK)), step("OTHER")))
    run.start("OTHER")
    run.ok("A")
    run.start("LAST")
    run.take(CancelAsked())
    run.end("LAST", FAILED)
    assert at_round(run, "A", 2) is None
    assert "workflow.rewound" not in run.notes()


def test_a_child_that_is_being_started_when_its_parent_stops_is_told_too() -> None:
    parent = replace(step("CHILDREN", None), sort=Sort.CHILDREN, fan=FanSpec())
    run, item = ManyRun(workflow(parent)), Key("CHILDREN", item="x")
    list_items(run, "CHILDREN", 1)
    run.snapshot = Snapshot(run.snapshot.run, {**run.snapshot.records, item: Record(item, S.PENDING, ready_at=run.now)})
    run.take(Claimed(item, "e1"))
    run.take(CancelAsked())
    commands = run.take(Finished(item, 1, Report(Ended.SUCCESS)))
    assert PassDown(item.whole) in commands
    assert StopItems(item.whole, "CANCELLED") in commands


def test_a_resume_that_goes_back_leaves_alone_what_is_done_anew_with_it() -> None:
    last = step("LAST", after=("MANY",), optional=True, rewind=RewindSpec(to="A", max=1, on=BACK, then=Then.FAIL))
    run = ManyRun(workflow(step("A"), many("MANY", after=("A",), partial_from=0.5), last))
    run.ok("A")
    list_items(run, "MANY", 2)
    run.take(AtRest(Key("MANY"), tally(2, 2)))
    go_back(run, "LAST")
    for key in (Key("A", 2), Key("MANY", 2)):
        run.take(Claimed(key, "e1"))
        run.take(Finished(key, 1, Report(Ended.SUCCESS, total=2)))
    run.take(AtRest(Key("MANY", 2), tally(2, 1)))
    run.take(Claimed(Key("LAST", 2), "e1"))
    run.take(Finished(Key("LAST", 2), 1, FAILED))
    assert run.status is RunStatus.PARTIAL_SUCCESS
    run.take(ResumeAsked())
    former, anew = at_round(run, "MANY", 2), at_round(run, "MANY", 3)
    assert former is not None
    assert anew is not None
    assert (former.status, anew.status) == (S.SUCCESS, S.PENDING)


def test_a_resume_goes_on_with_an_optional_step_that_only_the_cancel_has_ended() -> None:
    run = Run(workflow(step("A", Effect.CREATE, optional=True, probe=PROBE), step("B")))
    run.start("B")
    run.lose("A")
    run.take(CancelAsked())
    run.end("B", Report(Ended.SUCCESS))
    run.probe("A", Answer.ABSENT)
    run.advance(PROBE.settle / SECOND)
    run.probe("A", Answer.ABSENT)
    assert (run.status, run.record("A").code) == (RunStatus.CANCELLED, "NOT_HAPPENED")
    run.take(ResumeAsked())
    run.ok("A")
    assert run.status is RunStatus.SUCCESS


def test_the_undo_of_items_is_approved_once_for_all_of_them() -> None:
    made = replace(step("MANY", Effect.CREATE, undo=undo(risk=Risk.HIGH)), sort=Sort.EACH, fan=FanSpec())
    spec = workflow(made)
    whole, item = Key("MANY", kind=Kind.COMPENSATION), Key("MANY", item="x", kind=Kind.COMPENSATION)
    assert spec.unit(whole).requires_approval
    assert not spec.unit(item).requires_approval


def test_a_failure_that_is_marked_as_done_by_hand_is_undone_with_the_others() -> None:
    """The items of a step that a person has vouched for are still those that happened."""
    made = replace(step("MANY", Effect.CREATE, undo=undo()), sort=Sort.EACH, fan=FanSpec(), on_failure=Then.MANUAL)
    run = ManyRun(workflow(made, step("LAST", after=("MANY",), on_failure=Then.COMPENSATE)))
    list_items(run, "MANY", 2)
    run.take(AtRest(Key("MANY"), Tally(2, 1, 0, 1, 0, 0, 0, 1)))
    assert run.status is RunStatus.MANUAL_REQUIRED
    run.take(MarkedSuccess("MANY"))
    assert run.record("MANY").effect is Happened.HAPPENED
    run.start("LAST")
    commands = run.take(Finished(Key("LAST"), 1, OTHER))
    assert [command.key for command in commands if isinstance(command, UndoItems)] == [Key("MANY", kind=Kind.COMPENSATION)]
    assert [c.record.key for c in commands if isinstance(c, Move) and c.record.key.kind is Kind.COMPENSATION]
