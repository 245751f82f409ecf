"""R-E1, R-E2: parallel steps, optional and conditional ones, and joins that say how many are enough."""

from __future__ import annotations

import json
from typing import Any

import pytest

from halfway import Effect, Part, Retry, RunStatus, Step, StepFailed
from halfway.errors import DefinitionError
from tests.engine.harness import Calls, Harness, Order, flow, until


class Down(StepFailed):
    """A source does not answer."""


def analysis(calls: Calls, *, metrics: bool = True, incidents: bool = True, at_least: int = 1) -> Any:
    wf = flow(key=False)

    @wf.step(Effect.READ, after=[])
    def commits(step: Step[Order]) -> int:
        return calls.add("COMMITS")

    @wf.optional.step(Effect.READ, after=[], retry=Retry(1))
    def figures(step: Step[Order]) -> float:
        calls.add("FIGURES")
        if not metrics:
            raise Down("metrics are away")
        return 1.5

    @wf.optional.step(Effect.READ, after=[], retry=Retry(1))
    async def events(step: Step[Order]) -> list[str]:
        calls.add("EVENTS")
        if not incidents:
            raise Down("incidents are away")
        return ["one"]

    @wf.step(Effect.READ, after=[commits, figures, events], at_least=at_least)
    def merge(step: Step[Order]) -> str:
        calls.add("MERGE")
        found = step.output(figures)
        told = f"metrics missing: {step.missing(figures)}" if found is None else f"p99 {found}"
        assert step.missing(commits) is None
        return f"{step.output(commits)} commits, {told}, {step.output(events)}"

    return wf, merge


def test_a_join_sees_everything_when_all_branches_succeed(harness: type[Harness]) -> None:
    wf, merge = analysis(Calls())
    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert run.output(merge) == "1 commits, p99 1.5, ['one']"


def test_a_failed_optional_branch_is_visible_to_the_join_and_the_run_is_partly_successful(harness: type[Harness]) -> None:
    wf, merge = analysis(Calls(), metrics=False)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.PARTIAL_SUCCESS
    assert run.output(merge) == "1 commits, metrics missing: DOWN: metrics are away, ['one']"
    assert h.record(run, "FIGURES").status == "FAILED"
    assert not h.record(run, "FIGURES").asks


def test_a_join_that_needs_more_than_came_through_fails_without_being_run(harness: type[Harness]) -> None:
    calls = Calls()
    wf, _ = analysis(calls, metrics=False, incidents=False)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    assert h.record(run, "MERGE").code == "TOO_FEW_SUCCEEDED"
    assert not [name for name, _ in calls.made if name == "MERGE"]


def test_a_resume_tries_the_optional_branches_that_a_join_needs_and_goes_on(harness: type[Harness]) -> None:
    calls, wf, away = Calls(), flow(key=False), [True]

    @wf.optional.step(Effect.READ, after=[], retry=Retry(1))
    def source(step: Step[Order]) -> int:
        if away[0]:
            raise Down("away")
        return calls.add("SOURCE")

    @wf.step(Effect.READ, after=[source], at_least=1)
    def join(step: Step[Order]) -> int | None:
        return step.output(source)

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    away[0] = False
    h.app.control.resume(run.id, actor="kim", reason="it is back")
    run = h.drain(run)
    assert run.status is RunStatus.SUCCESS
    assert run.output(join) == 1


def test_an_optional_step_can_be_tried_again_after_the_run_has_ended(harness: type[Harness]) -> None:
    wf, away = flow(key=False), [True]

    @wf.optional.step(Effect.READ, retry=Retry(1))
    def extra(step: Step[Order]) -> int:
        if away[0]:
            raise Down("away")
        return 1

    @wf.step(Effect.READ)
    def last(step: Step[Order]) -> int | None:
        return step.output(extra)

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.PARTIAL_SUCCESS
    away[0] = False
    h.app.control.retry(run.id, "EXTRA", actor="kim", reason="it is back")
    run = h.drain(run)
    assert run.status is RunStatus.SUCCESS
    assert h.record(run, "LAST").attempts == 1


@pytest.mark.parametrize("wanted", [True, False])
def test_a_conditional_step_runs_or_is_skipped_with_the_reason_kept(harness: type[Harness], wanted: bool) -> None:
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> bool:
        return wanted

    def is_wanted(step: Step[Order]) -> bool:
        calls.add("CONDITION")
        return step.output(look)

    @wf.when(is_wanted).step(Effect.CREATE, evidence="the ledger")
    def act(step: Step[Order]) -> str:
        return f"acted {calls.add('ACT')}"

    @wf.step(Effect.READ)
    def last(step: Step[Order]) -> str:
        return step.output(act) or f"not: {step.missing(act)}"

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert run.output(last) == ("acted 1" if wanted else "not: CONDITION_NOT_MET")
    assert [name for name, _ in calls.made] == (["CONDITION", "ACT"] if wanted else ["CONDITION"])
    skipped = [entry for entry in h.app.store.reading.journal(run.id, limit=100) if entry.name == "step.skipped"]
    assert [json.loads(entry.data or "") for entry in skipped] == (
        [] if wanted else [{"code": "CONDITION_NOT_MET", "condition": "is_wanted"}]
    )


def test_a_condition_that_raises_fails_its_step_and_is_asked_again_by_a_resume(harness: type[Harness]) -> None:
    wf, broken = flow(key=False), [True]

    def condition(step: Step[Order]) -> bool:
        if broken[0]:
            raise ValueError("no answer")
        return True

    @wf.when(condition).step(Effect.READ)
    def act(step: Step[Order]) -> int:
        return 1

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        for _ in range(3):
            h.advance(60)
        until(lambda: (h.advance(60), h.status(run) is RunStatus.FAILED)[1], "the condition is given up")
    assert h.record(run, "ACT").code == "VALUE_ERROR"
    shown = h.app.control.show(run.id)
    [reason] = shown.explanation.reasons
    assert str(reason) == "Step ACT has not begun: its condition 'condition' could not be answered (VALUE_ERROR: no answer)."
    assert (shown.steps[0].error_code, shown.steps[0].message, shown.steps[0].attempts) == ("VALUE_ERROR", "no answer", 0)
    [told] = [entry.data for entry in shown.journal if entry.name == "condition.failed"]
    assert told == {"code": "VALUE_ERROR", "condition": "condition", "message": "no answer"}
    broken[0] = False
    h.app.control.resume(run.id, actor="kim", reason="mended")
    assert h.drain(run).status is RunStatus.SUCCESS


def test_an_optional_step_whose_condition_cannot_be_answered_is_left_out_and_the_reason_is_read(harness: type[Harness]) -> None:
    wf = flow(key=False, retry=Retry(1))

    @wf.optional.when(lambda step: int("x") > 0).step(Effect.READ)
    def act(step: Step[Order]) -> int:
        return 1

    @wf.step(Effect.READ)
    def after(step: Step[Order]) -> str:
        return step.missing(act) or ""

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.PARTIAL_SUCCESS
    assert "invalid literal" in run.output(after)
    assert [str(one) for one in h.app.control.show(run.id).explanation.reasons] == [
        "Step ACT has not begun: its condition 'int('x') > 0' could not be answered "
        "(VALUE_ERROR: invalid literal for int() with base 10: 'x').",
        "Step ACT is optional, so the run goes on without it.",
    ]


def test_all_branches_skipped_by_condition_still_let_the_join_run(harness: type[Harness]) -> None:
    """B38, variant."""
    wf = flow(key=False)

    @wf.when(lambda step: False).step(Effect.READ, after=[])
    def left(step: Step[Order]) -> int:
        return 1

    @wf.when(lambda step: False).step(Effect.READ, after=[])
    def right(step: Step[Order]) -> int:
        return 2

    @wf.step(Effect.READ, after=[left, right])
    def join(step: Step[Order]) -> list[int | None]:
        return [step.output(left), step.output(right)]

    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert run.output(join) == [None, None]
    assert wf.spec.by_name["LEFT"].condition == "False"


def test_a_part_is_included_after_what_stands_before_and_takes_what_it_leaves_open_from_its_workflow(harness: type[Harness]) -> None:
    part = Part[Order]("COMMON")

    @part.step(Effect.READ)
    def check(step: Step[Order]) -> str:
        return f"checked {step.input.id}"

    @part.step(Effect.READ, retry=Retry(5))
    def note(step: Step[Order]) -> str:
        return step.output(check)

    one, other = flow("ONE", key=False, retry=Retry(7)), flow("OTHER", key=False)

    @one.step(Effect.READ)
    def first(step: Step[Order]) -> int:
        return 1

    one.include(part)

    @one.step(Effect.READ)
    def last(step: Step[Order]) -> str:
        return step.output(note)

    other.include(part)
    assert [step.after for step in one.spec.steps] == [(), ("FIRST",), ("CHECK",), ("NOTE",)]
    assert [step.retry.attempts for step in one.spec.steps] == [7, 7, 5, 7]
    assert other.spec.steps[0].after == ()
    h = harness(one, other)
    assert h.run(one, Order(id="a")).output(last) == "checked a"
    assert h.run(other, Order(id="b")).output(note) == "checked b"


def test_what_cannot_work_is_refused_at_its_declaration() -> None:
    from datetime import timedelta

    from halfway import Then

    wf = flow()
    with pytest.raises(DefinitionError, match="so a no would be passed over"):

        @wf.optional.approval("boss", expires=timedelta(days=1), on_expiry=Then.FAIL)
        def agree(step: Step[Order]) -> str:
            return "?"

    with pytest.raises(DefinitionError, match="optional and has on_failure"):

        @wf.optional.step(Effect.READ, on_failure=Then.MANUAL)
        def both(step: Step[Order]) -> int:
            return 1

    with pytest.raises(DefinitionError, match="twice"):
        wf.when(lambda step: True).when(lambda step: False)

    async def later(step: Step[Order]) -> bool:
        return True

    with pytest.raises(DefinitionError, match="async def"):
        wf.when(later)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="at_least"):

        @wf.step(Effect.READ, after=[], at_least=1)
        def join(step: Step[Order]) -> int:
            return 1
