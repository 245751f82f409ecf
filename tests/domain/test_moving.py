"""Whether a run can be moved, and what of it is kept: decided on two Specs and a snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.moving import NOTES, Move, close_waits, plan_move
from halfway.domain.run import Attempt, Happened, Intent, Key, Kind, Record, RunRow, Snapshot
from halfway.domain.spec import Effect, FanSpec, Sort, StepSpec, WaitSpec, WorkflowSpec
from halfway.domain.takeover import TakeoverSpec

S = RecordStatus
DAY = 24 * 3600 * 1_000_000


def step(name: str, after: str = "", effect: Effect | None = Effect.CREATE, **options: Any) -> StepSpec:
    return StepSpec(name=name, effect=effect, after=(after,) if after else (), output_schema=options.pop("output", "text"), **options)


def wait(name: str, after: str = "", sort: Sort = Sort.EVENT, event: str = "PAID") -> StepSpec:
    return step(name, after, None, sort=sort, wait=WaitSpec(name=event, timeout=DAY))


OLD = WorkflowSpec(type="T", version=1, owner="o", input_schema="old", steps=(step("A"), step("B", "A"), step("C", "B")))


def later(*steps: StepSpec, at: tuple[tuple[str, str], ...] = (), outputs: tuple[str, ...] = (), schema: str = "old") -> WorkflowSpec:
    rule = TakeoverSpec(version=1, input_schema=schema, at=at, outputs=outputs)
    return WorkflowSpec(type="T", version=2, owner="o", input_schema="new", steps=steps or OLD.steps, takes_over=(rule,))


def record(name: str, status: RecordStatus, **options: Any) -> Record:
    kind, round, item = options.pop("kind", Kind.STEP), options.pop("round", 1), options.pop("item", "")
    happened = Happened.HAPPENED if status is S.SUCCESS else Happened.NONE
    return Record(Key(name, round, item, kind), status, **{"attempts": 1, "effect": happened, **options})


def run(*records: Record, status: RunStatus = RunStatus.RUNNING, **options: Any) -> Snapshot:
    row = RunRow("r", "T", 1, "h", status, started_at=1, **options)
    return Snapshot(row, {one.key: one for one in records})


def codes(move: Move) -> list[tuple[str, str]]:
    return [(one.code, one.step) for one in move.problems]


DONE = record("A", S.SUCCESS)


def test_what_is_done_is_kept_and_the_rest_is_ahead() -> None:
    move = plan_move(OLD, later(), run(DONE, record("B", S.PENDING, attempts=0, ready_at=1)))
    assert (move.kept, move.unbegun, move.ahead, move.left, move.problems) == ((("A", "A"),), ("B",), ("B", "C"), (), ())
    assert move.possible


def test_two_plans_of_one_state_have_one_hash_and_another_input_gives_another() -> None:
    snapshot = run(DONE)
    assert plan_move(OLD, later(), snapshot, "1").hash == plan_move(OLD, later(), snapshot, "1").hash
    assert len({plan_move(OLD, later(), one, text).hash for one in (snapshot, run(DONE, revision=2)) for text in ("1", "2")}) == 4


ASKS = {"asks": "o"}


@pytest.mark.parametrize(
    ("records", "status", "code", "passes"),
    [
        ((record("B", S.RUNNING, open=(Attempt(1, "e", 1, True),)),), RunStatus.RUNNING, "IS_RUNNING", True),
        ((record("B", S.UNKNOWN, **ASKS),), RunStatus.MANUAL_REQUIRED, "IS_UNKNOWN", True),
        ((record("B", S.PENDING, ready_at=5, open=(Attempt(1, "e", 1, True, lost=True),)),), RunStatus.RUNNING, "IS_UNKNOWN", True),
        ((record("B", S.WAITING, code="APPROVAL", **ASKS),), RunStatus.WAITING, "IS_DECIDED", True),
        ((record("B", S.PENDING, attempts=0), record("B", S.RUNNING, kind=Kind.CONDITION)), RunStatus.RUNNING, "IS_RUNNING", True),
        ((record("B", S.SUCCESS), record("B", S.PENDING, round=2)), RunStatus.RUNNING, "IN_A_LOOP", True),
        ((record("B", S.SUCCESS), record("B", S.FAILED, kind=Kind.CHECK, **ASKS)), RunStatus.MANUAL_REQUIRED, "IS_DECIDED", True),
        ((record("B", S.FAILED, effect=Happened.HAPPENED),), RunStatus.FAILED, None, False),
        ((), RunStatus.SUCCESS, "HAS_ENDED", False),
        ((), RunStatus.COMPENSATED, "HAS_ENDED", False),
    ],
)
def test_what_is_under_way_is_settled_first(records: tuple[Record, ...], status: RunStatus, code: str | None, passes: bool) -> None:
    move = plan_move(OLD, later(), run(DONE, *records, status=status))
    assert [one.code for one in move.problems] == ([] if code is None else [code])
    assert all(one.passes is passes for one in move.problems)


def test_a_run_that_stops_or_is_undone_is_not_moved() -> None:
    assert codes(plan_move(OLD, later(), run(DONE, intent=Intent.CANCEL))) == [("IS_STOPPING", "")]
    assert codes(plan_move(OLD, later(), run(DONE, undo="*"))) == [("IS_UNDONE", "")]
    undone = run(DONE, record("A", S.SUCCESS, kind=Kind.COMPENSATION), status=RunStatus.FAILED)
    assert codes(plan_move(OLD, later(), undone)) == [("IS_UNDONE", "")]


def test_a_version_that_says_nothing_or_takes_another_input_takes_nothing_over() -> None:
    silent = replace(later(), takes_over=())
    assert codes(plan_move(OLD, silent, run())) == [("NOT_TAKEN_OVER", "")]
    assert codes(plan_move(OLD, later(schema="older"), run())) == [("OTHER_INPUT", "")]


A2 = step("A2")


@pytest.mark.parametrize(
    ("to", "kept", "left", "problems"),
    [
        (later(A2, at=(("A", "A2"),)), (("A", "A2"),), (), []),
        (later(A2), (), (), [("HAPPENED", "A")]),
        (later(A2, at=(("A", ""),)), (), ("A",), []),
        (later(step("A", output="number")), (), (), [("OTHER_OUTPUT", "A")]),
        (later(step("A", output="number"), outputs=("A",)), (("A", "A"),), (), []),
        (later(step("A", effect=Effect.NOTIFY)), (), (), [("OTHER_KIND", "A")]),
        (later(step("A", effect=Effect.NOTIFY), at=(("A", ""),)), (), ("A",), [("NAME_TAKEN", "A")]),
        (later(step("A", effect=Effect.READ), at=(("A", ""),)), (), ("A",), []),
        (later(step("B"), at=(("A", "B"),)), (("A", "B"),), (), []),
    ],
)
def test_what_has_happened_is_never_dropped_without_a_word(to: WorkflowSpec, kept: Any, left: Any, problems: Any) -> None:
    move = plan_move(OLD, to, run(DONE))
    assert (move.kept, move.left, codes(move)) == (kept, left, problems)


def test_no_other_step_counts_attempts_where_one_that_was_begun_has_counted_its() -> None:
    reads = replace(OLD, steps=(step("A", effect=Effect.READ), step("B", "A", effect=Effect.READ)))
    a = record("A", S.SUCCESS, effect=Happened.NONE)
    other = later(step("A2", effect=Effect.READ), step("A", effect=Effect.READ), at=(("A", "A2"),))
    assert codes(plan_move(reads, other, run(a))) == [("NAME_TAKEN", "A")]
    taken = later(step("A", effect=Effect.READ), at=(("A", ""), ("B", "A")))
    both = run(a, record("B", S.SUCCESS, effect=Happened.NONE))
    assert codes(plan_move(reads, taken, both)) == [("NAME_TAKEN", "A")]


def test_a_name_that_was_given_up_in_an_earlier_move_is_not_taken_again() -> None:
    to = later(step("A"), step("B", "A"), step("C", "B"), step("FORMER"))
    move = plan_move(OLD, to, run(DONE), given_up={"FORMER", "A"})
    assert codes(move) == [("NAME_TAKEN", "FORMER")]


def test_a_run_keeps_its_place_among_those_that_may_run_at_once() -> None:
    for former, now in ((OLD, replace(later(), concurrency=1)), (replace(OLD, concurrency=1), later())):
        assert codes(plan_move(former, now, run())) == [("OTHER_LIMITS", "")]
    limited = replace(OLD, concurrency=1), replace(later(), concurrency=1)
    assert codes(plan_move(*limited, run())) == []


def test_what_was_approved_for_another_version_is_approved_anew_unless_all_behind_it_is_done() -> None:
    asks = replace(step("A", effect=Effect.READ), sort=Sort.APPROVAL, effect=None)
    old, to = replace(OLD, steps=(asks, step("B", "A"))), later(asks, step("B", "A"))
    approved = record("A", S.SUCCESS, effect=Happened.NONE)
    assert plan_move(old, to, run(approved)).left == ("A",)
    assert plan_move(old, to, run(approved, record("B", S.SUCCESS))).kept == (("A", "A"), ("B", "B"))


def test_an_effect_that_may_be_repeated_keeps_the_name_that_is_its_key() -> None:
    pays = replace(step("A", effect=Effect.CHANGE), idempotent=True)
    old = replace(OLD, steps=(pays,))
    verified = later(replace(pays, name="A2", verifies=True), at=(("A", "A2"),))
    assert codes(plan_move(old, verified, run(record("A", S.SUCCESS)))) == [("KEY_LOST", "A")]
    assert codes(plan_move(old, later(replace(pays, name="A2"), at=(("A", "A2"),)), run(record("A", S.SUCCESS)))) == []


def test_two_steps_may_exchange_their_names() -> None:
    to = later(step("A"), step("B", "A"), at=(("A", "B"), ("B", "A")))
    move = plan_move(OLD, to, run(DONE, record("B", S.SUCCESS)))
    assert (move.kept, move.problems) == ((("A", "B"), ("B", "A")), ())


def test_what_only_looked_looks_again_where_its_output_has_another_shape() -> None:
    reads = replace(OLD, steps=(step("A", effect=Effect.READ),))
    move = plan_move(reads, later(step("A", effect=Effect.READ, output="number")), run(record("A", S.SUCCESS, effect=Happened.NONE)))
    assert (move.kept, move.left, move.ahead, move.problems) == ((), ("A",), ("A",), ())


def test_a_step_that_has_failed_goes_on_under_its_own_name_only() -> None:
    failed = record("A", S.FAILED, effect=Happened.NOT)
    assert plan_move(OLD, later(), run(failed, status=RunStatus.FAILED)).begun == (("A", "A"),)
    assert plan_move(OLD, later(A2, at=(("A", "A2"),)), run(failed, status=RunStatus.FAILED)).left == ("A",)
    after = record("A", S.FAILED, effect=Happened.HAPPENED)
    assert codes(plan_move(OLD, later(A2, at=(("A", "A2"),)), run(after, status=RunStatus.FAILED))) == [("BEGUN_ELSEWHERE", "A")]
    assert codes(plan_move(OLD, later(A2), run(failed._replace(asks="o")))) == [("IS_DECIDED", "A")]


def test_a_wait_begins_anew_and_nothing_that_was_ruled_out_comes_back() -> None:
    waits = replace(OLD, steps=(wait("W"), step("B", "W")))
    snapshot = run(record("W", S.WAITING, ready_at=DAY), record("B", S.SKIPPED, attempts=0, code="WAIVED"), status=RunStatus.WAITING)
    move = plan_move(waits, later(wait("W"), step("B", "W")), snapshot)
    assert (move.waits, move.begun) == ((("W", "W"),), (("B", "B"),))
    closed = close_waits(waits, snapshot, 5)
    assert [type(command).__name__ for command in closed[:2]] == ["CloseWait", "Move"]
    assert plan_move(waits, later(wait("W", event="SENT"), step("B", "W")), snapshot).left == ("W",)
    assert close_waits(waits, run(record("B", S.PENDING)), 5) == ()


def test_what_is_done_for_many_keeps_its_name_and_comes_to_rest_first() -> None:
    many = replace(OLD, steps=(step("M", fan=FanSpec(items="A"), sort=Sort.EACH),))
    under_way = run(record("M", S.WAITING, code="ITEMS"), status=RunStatus.RUNNING)
    to = later(step("M", fan=FanSpec(items="A"), sort=Sort.EACH))
    assert codes(plan_move(many, to, under_way)) == [("IN_FLIGHT", "M")]
    assert plan_move(many, to, run(record("M", S.SUCCESS))).kept == (("M", "M"),)
    renamed = later(step("N", fan=FanSpec(items="A"), sort=Sort.EACH), at=(("M", "N"),))
    assert codes(plan_move(many, renamed, run(record("M", S.SUCCESS)))) == [("MANY_RENAMED", "M")]


def test_every_reason_is_a_sentence() -> None:
    move = plan_move(OLD, later(A2), run(DONE))
    assert [str(one) for one in move.problems] == [
        "Step A has happened, and takes_over does not say which step of version 2 stands for it."
    ]
    assert all(text.endswith((".", "}")) for text in NOTES.values())
