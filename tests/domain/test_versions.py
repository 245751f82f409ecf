"""What the code at hand means for a run: which steps it lacks, what has changed, and whether a later version takes the run over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Key, Kind, Record, Snapshot
from halfway.domain.spec import Effect, FanSpec, ProbeSpec, RewindSpec, Risk, Sort, StepSpec, UndoSpec, WorkflowSpec
from halfway.domain.versions import NOTES, Affected, Code, Gap, Standing, judge
from tests.domain.test_moving import DONE, OLD, S, later, record, run, step, wait


def coded(spec: WorkflowSpec, **codes: str) -> WorkflowSpec:
    """With a fingerprint for each step; by default its name."""
    return replace(spec, steps=tuple(replace(one, code=codes.get(one.name, one.name)) for one in spec.steps))


RUN = coded(OLD)


def of(snapshot: Snapshot, *specs: WorkflowSpec, spec: WorkflowSpec = RUN) -> Affected:
    return judge(spec, snapshot, Code(specs))


def test_a_run_goes_on_where_all_that_is_ahead_has_its_code() -> None:
    assert of(run(DONE), coded(OLD, A="other")) == Affected(standing=Standing.COMPATIBLE)
    found = of(run(DONE), coded(OLD, C="other"))
    assert (found.standing, [one.step for one in found.lacking]) == (Standing.BLOCKED, ["C"])


def test_a_later_version_that_takes_it_over_is_named_with_what_is_to_be_settled() -> None:
    heir = coded(later(), B="b2", C="c2")
    found = of(run(DONE), heir)
    assert (found.standing, found.to, found.settle) == (Standing.MOVE, 2, ())
    doubtful = of(run(DONE, record("B", S.UNKNOWN, asks="o")), heir)
    assert (doubtful.standing, [one.code for one in doubtful.settle]) == (Standing.MOVE, ["IS_UNKNOWN"])
    refused = of(run(DONE), coded(later(step("A2"), step("C", "A2")), C="c2"))
    assert (refused.standing, [one.code for one in refused.refused]) == (Standing.BLOCKED, ["HAPPENED"])


UNDO = UndoSpec(risk=Risk.LOW, effect=Effect.CREATE)


@pytest.mark.parametrize(
    ("former", "now", "gap", "told"),
    [
        ({}, {"sort": Sort.CHILDREN, "effect": None}, Gap.SORT, "it was STEP and is CHILDREN"),
        ({}, {"effect": Effect.NOTIFY}, Gap.EFFECT, "its effect was CREATE and is NOTIFY"),
        ({}, {"output_schema": "number"}, Gap.OUTPUT, "its output has another shape"),
        ({}, {"idempotent": True}, Gap.IDEMPOTENT, "idempotent= was changed"),
        ({}, {"business_key": True}, Gap.KEY, "effect_key= was added or removed"),
        ({}, {"holds": True}, Gap.RECORD, "record= was added or removed"),
        ({"undo": UNDO}, {}, Gap.UNDO, "its compensation was changed"),
        ({"undo": UNDO}, {"undo": replace(UNDO, probe=ProbeSpec())}, Gap.UNDO, "its compensation was changed"),
        ({}, {"condition": "rich"}, Gap.CONDITION, "its condition was added or removed"),
        ({}, {"rewind": RewindSpec(to="A", max=1, on=("*",))}, Gap.LOOP, "its loop was added or removed"),
        ({}, {"fan": FanSpec(items="A")}, Gap.ITEMS, "what it is done for was changed"),
        ({}, {"reads": ("A",)}, Gap.READS, "it reads A, which is not what this run has"),
        ({}, {}, Gap.ITEMS, "what it is done for was changed"),
    ],
)
def test_what_has_changed_about_a_step_is_said(former: dict[str, Any], now: dict[str, Any], gap: Gap, told: str) -> None:
    spec = replace(RUN, steps=(*RUN.steps[:2], replace(RUN.steps[2], **former)))
    here = replace(RUN, steps=(*RUN.steps[:2], replace(RUN.steps[2], code="other", **now)))
    [lacking] = of(run(DONE, record("B", S.SUCCESS)), here, spec=spec).lacking
    assert (lacking.step, [one.gap for one in lacking.differences], str(lacking.differences[0])) == ("C", [gap], told)


def test_a_step_that_is_gone_was_removed_or_renamed() -> None:
    def gaps(*specs: WorkflowSpec) -> list[str]:
        return [str(told) for one in of(run(DONE, record("B", S.SUCCESS)), *specs).lacking for told in one.differences]

    two = RUN.steps[:2]
    assert gaps(replace(RUN, steps=two)) == ["it was removed"]
    assert gaps(replace(RUN, steps=(*two, StepSpec(name="D", effect=Effect.CREATE, output_schema="text")))) == [
        "it was removed, or renamed to D"
    ]
    assert gaps(replace(RUN, steps=(*two, step("D"), step("E")))) == ["it was removed"]
    assert gaps(replace(RUN, type="OTHER", steps=two)) == ["the workflow is not here"]
    assert gaps(coded(replace(RUN, input_schema="new"), C="c2")) == ["the workflow's input has another shape"]
    waits = coded(replace(OLD, steps=(wait("W"),)))
    [lacking] = of(run(), coded(replace(OLD, steps=(wait("W", event="SENT"),)), W="w2"), spec=waits).lacking
    assert [told.gap for told in lacking.differences] == [Gap.WAIT]


def test_a_queue_that_nobody_serves_strands_a_run_too() -> None:
    slow = replace(RUN, steps=(*RUN.steps[:2], replace(RUN.steps[2], queue="slow")))
    [lacking] = of(run(DONE, record("B", S.SUCCESS)), RUN, spec=slow).lacking
    assert [str(told) for told in lacking.differences] == ["its queue slow is served by no step here"]


def test_what_only_waits_needs_no_code_before_it_goes_on() -> None:
    waits = coded(replace(OLD, steps=(wait("W"), step("B", "W"))))
    waiting = run(record("W", S.WAITING, ready_at=9), status=RunStatus.WAITING)
    assert of(waiting, coded(replace(OLD, steps=(step("B"),))), spec=waits).standing is Standing.COMPATIBLE
    assert of(run(), coded(replace(OLD, steps=(step("B"),))), spec=waits).standing is Standing.BLOCKED


def test_of_a_run_that_is_undone_only_what_is_to_be_undone_counts() -> None:
    spec = replace(RUN, steps=(replace(RUN.steps[0], undo=UNDO), *RUN.steps[1:]))
    without_a = replace(RUN, steps=RUN.steps[1:])
    undone = run(DONE, record("B", S.FAILED), undo="*", status=RunStatus.COMPENSATING)
    assert [one.step for one in of(undone, without_a, spec=spec).lacking] == ["A"]
    through = Record(Key("A", kind=Kind.COMPENSATION), RecordStatus.SUCCESS)
    done = Snapshot(undone.run, {**undone.records, through.key: through})
    assert of(done, without_a, spec=spec).standing is Standing.COMPATIBLE
    still_going = of(run(DONE), without_a, spec=spec)
    assert (still_going.standing, still_going.undo_only) == (Standing.COMPATIBLE, ("A",))


def test_every_change_has_its_words() -> None:
    assert set(NOTES) == {gap.value for gap in Gap}
