"""A run never waits for itself or for one that waits for it, also if both begin to at the same moment."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from halfway.domain.run import Key
from halfway.domain.spec import FanSpec, Sort
from halfway.errors import Conflict
from halfway.ports import Parent, Started
from halfway.store import Store, open_store
from halfway.testing.points import HoldAt
from tests.store.world import begin, claim, new_run, spec_of, start, step

FAMILY = spec_of(replace(step("first"), sort=Sort.CHILDREN, effect=None, fan=FanSpec(workflow="orders")), type="family")


def member(store: Store, key: str) -> str:
    """A run whose first step is about to start another."""
    run_id = start(store, FAMILY, key=key).run_id
    claim(store, run_id, begin(store), FAMILY)
    return run_id


def adopt(store: Store, parent: str, key: str) -> Started:
    """The step of a run asks for the run under a key."""
    return store.runs.create([new_run(FAMILY, key=key, parent=Parent(parent, Key("first"), 1))])[0]


def refused(store: Store, parent: str, key: str) -> None:
    with pytest.raises(Conflict) as caught:
        adopt(store, parent, key)
    assert (caught.value.code, caught.value.params["parent"]) == ("CHILD_IS_ABOVE", parent)
    assert store.runs.child(parent, Key("first")) is None


def test_a_run_is_not_its_own_child(store: Store) -> None:
    refused(store, member(store, "a"), "a")


def test_no_run_above_becomes_a_child_however_far_above(store: Store) -> None:
    keys = [f"{number:03}" for number in range(120)]
    runs = [member(store, key) for key in keys]
    for run, below in zip(runs, keys[1:], strict=False):
        assert not adopt(store, run, below).created
    refused(store, runs[-1], keys[0])
    refused(store, runs[-1], keys[60])


def test_a_run_that_stands_beside_may_be_waited_for_by_many(store: Store) -> None:
    one, other, below = (member(store, key) for key in "abc")
    assert adopt(store, one, "c") == adopt(store, other, "c") == Started(below, False)


def test_two_runs_that_become_each_others_children_at_the_same_moment(store: Store, url: str, tmp_path: Path) -> None:
    one, other = member(store, "a"), member(store, "b")
    hold = HoldAt("start.before_commit")
    slow = open_store(url, artifacts=str(tmp_path / "artifacts"), points=hold)
    try:
        first = threading.Thread(target=adopt, args=(slow, one, "b"))
        first.start()
        hold.wait()
        outcome: list[object] = []
        second = threading.Thread(target=lambda: outcome.append(_adopted(store, other, "a")))
        second.start()
        second.join(0.5)  # without a lock between them it has looked by now, and seen nothing
        hold.release()
        first.join()
        second.join()
    finally:
        slow.close()
    assert outcome == ["CHILD_IS_ABOVE"]
    assert store.runs.child(one, Key("first")) == other


def _adopted(store: Store, parent: str, key: str) -> object:
    try:
        return adopt(store, parent, key)
    except Conflict as error:
        return error.code
