"""The steps that made a run take as long as it did."""

from __future__ import annotations

from halfway.domain.critical_path import Leg, critical_path
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Key, Kind, Record
from halfway.domain.spec import RewindSpec
from tests.domain.world import step, workflow


def done(name: str, started: int | None, ended: int | None, *, round: int = 1, item: str = "", kind: Kind = Kind.STEP) -> Record:
    return Record(Key(name, round, item=item, kind=kind), RecordStatus.SUCCESS, started_at=started, ended_at=ended)


FORK = workflow(step("A"), step("SLOW", after=("A",)), step("FAST", after=("A",)), step("LAST", after=("FAST", "SLOW")))


def test_of_two_branches_the_one_that_ended_last_is_on_it() -> None:
    ran = [done("A", 10, 30), done("SLOW", 35, 90), done("FAST", 30, 60), done("LAST", 95, 100)]
    assert critical_path(FORK, ran, 5) == (Leg("A", 1, 5, 20), Leg("SLOW", 1, 5, 55), Leg("LAST", 1, 5, 5))


def test_a_branch_that_was_left_out_leads_to_what_stands_before_it() -> None:
    ran = [done("A", 10, 30), done("SLOW", None, 31), done("FAST", None, 31), done("LAST", 40, 50)]
    assert critical_path(FORK, ran, 10) == (Leg("A", 1, 0, 20), Leg("LAST", 1, 10, 10))


def test_rounds_are_legs_of_their_own() -> None:
    wf = workflow(step("DRAFT"), step("JUDGE", after=("DRAFT",), rewind=RewindSpec(to="DRAFT", max=2, on=("BAD",))))
    ran = [done("DRAFT", 0, 10), done("JUDGE", 10, 15), done("DRAFT", 16, 30, round=2), done("JUDGE", 30, 33, round=2)]
    assert critical_path(wf, ran, 0) == (Leg("DRAFT", 1, 0, 10), Leg("JUDGE", 1, 0, 5), Leg("DRAFT", 2, 1, 14), Leg("JUDGE", 2, 0, 3))


def test_moments_that_are_all_the_same_come_to_an_end() -> None:
    wf = workflow(step("DRAFT"), step("JUDGE", after=("DRAFT",), rewind=RewindSpec(to="DRAFT", max=2, on=("BAD",))))
    ran = [done(name, 7, 7, round=round) for name in ("DRAFT", "JUDGE") for round in (1, 2)]
    assert {(leg.step, leg.round) for leg in critical_path(wf, ran, 7)} == {("DRAFT", 1), ("DRAFT", 2), ("JUDGE", 1), ("JUDGE", 2)}


def test_items_probes_and_what_never_ran_are_not_on_it() -> None:
    ran = [done("A", 10, 30), done("A", 10, 90, item="x"), done("A", 10, 95, kind=Kind.PROBE), done("SLOW", 40, None)]
    assert critical_path(FORK, ran, 10) == (Leg("A", 1, 0, 20),)
    assert critical_path(FORK, [], 10) == ()
