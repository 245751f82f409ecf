"""What is told about runs that are undone: what has become of each effect, what cannot be undone and why, and what a person may order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from halfway.domain.effects import Undone
from halfway.domain.explain import EffectView, Explanation, explain
from halfway.domain.facts import Approved, CancelAsked, CompensateAsked, MarkedSuccess, ProbeAsked, Rejected, RetryAsked, SkipAsked
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Kind, Report
from halfway.domain.spec import Effect, RetrySpec, Risk, StepSpec, Then, UndoSpec
from tests.domain.test_explain_walks import Wide
from tests.domain.world import PROBE, step, workflow

ONCE = RetrySpec(attempts=1)


def undoable(name: str, risk: Risk = Risk.LOW, *, drafts: bool = False, **options: object) -> StepSpec:
    undo = UndoSpec(risk=risk, effect=Effect.CREATE, evidence="log", drafts=drafts, retry=ONCE, probe=options.pop("look", None))  # type: ignore[arg-type]
    return step(name, Effect.CREATE, evidence="log", undo=undo, **options)


def failed(*steps: StepSpec) -> Wide:
    """These have happened, and then a last step failed: all is undone."""
    chain = [one if not number else _after(one, steps[number - 1]) for number, one in enumerate(steps)]
    run = Wide(workflow(*chain, step("Z", after=(steps[-1].name,), retry=ONCE, on_failure=Then.COMPENSATE)))
    for one in steps:
        run.ok(one.name)
        run.now += 1_000_000
    run.start("Z")
    run.end("Z", Report(Ended.FAILED, code="NO", final=True))
    return run


def _after(one: StepSpec, before: StepSpec) -> StepSpec:
    return replace(one, after=(before.name,))


def told(run: Wide) -> Explanation:
    return explain(run.spec, run.snapshot, run.now, workers=1)


def effect(run: Wide, name: str) -> EffectView:
    return next(one for one in told(run).effects if one.step == name)


def undone(run: Wide, name: str) -> tuple[str, str]:
    one = effect(run, name)
    return one.undo, str(one.undone)


def orders(run: Wide) -> list[object]:
    return [one.order for one in told(run).next if one.order is not None]


def finish(run: Wide, name: str, report: Report | None = None, kind: Kind = Kind.COMPENSATION) -> None:
    run.start(name, kind)
    run.end(name, report or Report(Ended.SUCCESS), kind)


def test_while_nothing_is_undone_nothing_is_told_of_it() -> None:
    run = Wide(workflow(undoable("A"), step("Z", after=("A",))))
    run.ok("A")
    assert (effect(run, "A").undo, effect(run, "A").undone) == ("", None)


def test_what_is_undone_is_told_from_its_turn_to_its_end() -> None:
    run = failed(undoable("A"), undoable("B"))
    assert run.status is RunStatus.COMPENSATING
    assert undone(run, "A") == (Undone.PENDING, "It is undone after what was done later.")
    assert undone(run, "B") == (Undone.PENDING, "Its undo is ready and waits for a worker.")
    assert [str(one.sentence) for one in told(run).coming] == [
        "The undo of B is ready and waits for a worker.", "After that, what was done before is undone: A.",
    ]  # fmt: skip
    assert [one.code for one in told(run).reasons] == ["FAILED", "IS_UNDONE"]
    run.start("B", Kind.COMPENSATION)
    assert undone(run, "B") == (Undone.RUNNING, "It is being undone: attempt 1 is at it.")
    assert str(told(run).reasons[-1]) == "The first undo began at 1970-01-01T00:16:42Z."
    assert told(run).coming[0].sentence.code == "UNDO_RUNNING"
    assert [one.sentence.code for one in told(run).next] == ["GOES_ON"]
    run.end("B", Report(Ended.SUCCESS), Kind.COMPENSATION)
    finish(run, "A")
    assert run.status is RunStatus.COMPENSATED
    assert undone(run, "A") == undone(run, "B") == (Undone.DONE, "It was undone.")
    assert [one.code for one in told(run).reasons] == ["FAILED", "WAS_UNDONE"]
    assert [one.command for one in told(run).next] == ["", "halfway start W --input '…'"]


def test_a_risky_undo_waits_for_its_approver_who_may_say_both() -> None:
    run = failed(undoable("A", Risk.HIGH, approver="finance"))
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert undone(run, "A") == (Undone.PENDING, "Its undo waits for the approval of finance.")
    assert str(told(run).reasons[-1]) == "The undo of A waits for the approval of finance; its risk is HIGH."
    assert told(run).current == ("A",)
    assert orders(run) == [Approved("A", ""), Rejected("A", "")]
    run.take(Rejected("A", "kim"))
    assert undone(run, "A") == (Undone.MANUAL, "Its undo was rejected. finance says what becomes of it.")
    assert orders(run) == [MarkedSuccess("A"), SkipAsked("A"), RetryAsked("A")]
    run.take(MarkedSuccess("A"))
    assert undone(run, "A") == (Undone.DONE, "It was put right by hand.")


def test_a_draft_is_made_before_its_approver_is_asked() -> None:
    run = failed(undoable("A", Risk.HIGH, drafts=True))
    assert undone(run, "A") == (Undone.PENDING, "A draft of its undo is made first.")
    assert told(run).coming[0].sentence.code == "DRAFT_READY"
    run.start("A", Kind.DRAFT)
    assert told(run).coming[0].sentence.code == "DRAFT_RUNNING"
    run.end("A", Report(Ended.FAILED, code="NO", final=True), Kind.DRAFT)
    assert undone(run, "A") == (Undone.MANUAL, "It was not undone: the draft of its undo could not be made. owner decides.")
    assert told(run).reasons[-1].code == "UNDO_DRAFT_FAILED"


def test_an_undo_that_fails_may_be_tried_again_put_right_or_accepted() -> None:
    run = failed(undoable("A"))
    finish(run, "A", Report(Ended.FAILED, code="LOCKED", effect=Happened.NOT, final=True))
    assert undone(run, "A") == (Undone.FAILED, "Its undo failed (LOCKED). owner decides.")
    assert str(told(run).reasons[-1]) == "The undo of A failed with LOCKED; attempts in all: 1. owner decides how it goes on."
    assert orders(run) == [RetryAsked("A"), MarkedSuccess("A"), SkipAsked("A")]
    assert told(run).next[1].command == "halfway mark-success r A --evidence '…' --reason '…'"
    run.take(SkipAsked("A"))
    assert undone(run, "A") == (Undone.NOT_NEEDED, "It was accepted as it is.")
    assert run.status is RunStatus.COMPENSATED


def test_an_undo_in_doubt_is_settled_like_a_step() -> None:
    run = failed(undoable("A", look=PROBE))
    finish(run, "A", Report(Ended.LOST, code="TIMEOUT", effect=Happened.UNKNOWN))
    assert undone(run, "A") == (Undone.UNKNOWN, "Nobody knows whether it was undone: the answer of attempt 1 was lost (TIMEOUT).")
    assert told(run).coming[0].sentence.code == "UNDO_PROBE_READY"
    run.advance(10)
    finish(run, "A", Report(Ended.SUCCESS, answer=Answer.CANNOT_TELL), Kind.COMPENSATION_PROBE)
    assert told(run).reasons[-1].code == "UNDO_IN_DOUBT"
    assert orders(run) == [MarkedSuccess("A"), RetryAsked("A", not_happened=True), ProbeAsked("A")]


@pytest.mark.parametrize(
    ("done", "state", "text"),
    [
        (step("A", Effect.NOTIFY, evidence="log", stays="they have read it."), Undone.NOT_NEEDED, "It stays: they have read it."),
        (step("A", Effect.NOTIFY, evidence="log"), Undone.MANUAL,
         "It cannot be undone: its definition has no undo. owner puts it right by hand, or accepts it."),
    ],
    ids=["stays", "no undo"],
)  # fmt: skip
def test_what_cannot_be_undone_is_listed_with_its_reason(done: StepSpec, state: Undone, text: str) -> None:
    run = failed(undoable("B"), done)
    assert undone(run, "A") == (state, text)


def test_what_is_later_than_the_step_from_which_it_is_undone_stays() -> None:
    run = Wide(workflow(undoable("A"), undoable("B", after=("A",)), step("Z", after=("B",), retry=ONCE)))
    for name in ("A", "B"):
        run.ok(name)
        run.now += 1_000_000
    run.start("Z")
    run.end("Z", Report(Ended.FAILED, code="NO", final=True))
    assert CompensateAsked() in orders(run)
    run.take(CompensateAsked("A"))
    assert undone(run, "B") == (Undone.NOT_NEEDED, "It stays: it was done after the step from which the run is undone.")
    assert "IS_UNDONE_FROM" in [one.code for one in told(run).reasons]


def test_what_happened_and_then_failed_is_looked_for_before_it_is_undone() -> None:
    run = Wide(workflow(undoable("A", takes_mark=True, probe=PROBE, on_failure=Then.COMPENSATE)))
    run.start("A")
    run.end("A", Report(Ended.FAILED, code="BAD", effect=Happened.HAPPENED, final=True))
    assert undone(run, "A") == (Undone.PENDING, "Before it is undone, its probe looks for what it gave.")
    run.probe("A", Answer.ABSENT)
    assert undone(run, "A")[1].startswith("It cannot be undone: what it gave is not known.")
    assert RetryAsked("A") not in orders(run)


def test_nothing_is_undone_over_a_doubt() -> None:
    run = Wide(workflow(undoable("A"), undoable("B", after=("A",))))
    run.ok("A")
    run.lose("B")
    run.take(CancelAsked(undo=True))
    assert str(told(run).reasons[-1]) == "Nothing is undone before it is known what happened: B."
    assert undone(run, "A")[0] == Undone.PENDING
    assert run.snapshot.records.get(Key("A", kind=Kind.COMPENSATION)) is None


def test_giving_up_offers_both_ways_only_where_something_can_be_undone() -> None:
    run = Wide(workflow(undoable("A"), step("B", after=("A",), retry=ONCE, on_failure=Then.MANUAL)))
    run.ok("A")
    run.start("B")
    run.end("B", Report(Ended.FAILED, code="NO", final=True))
    assert orders(run)[-2:] == [CancelAsked(), CancelAsked(undo=True)]
    last = told(run).next[-1]
    assert last.command == "halfway cancel r --compensate --reason '…'"
    assert last.plan is not None
    assert [(one.step, one.fate) for one in last.plan.undone] == [("A", "UNDONE")]
