"""A step that changes a business record holds it for every run until its outcome is known (R-J2)."""

from __future__ import annotations

import threading

import pytest

from halfway.domain.facts import CancelAsked, ReleaseHold
from halfway.domain.run import Key, Kind
from halfway.ports import Granted, Mark
from halfway.store import Store, open_store
from tests.store.world import MARKED, apply, begin, claim, put, start, until_somebody_waits

FIRST = Key("first")


def running(store: Store, epoch: str) -> str:
    """A run whose step may take its mark."""
    run_id = start(store, MARKED).run_id
    claim(store, run_id, epoch, MARKED)
    return run_id


def wanted(run_id: str, hold: str = "customer:7", *, key: Key = FIRST, n: int = 1) -> Mark:
    return Mark(run_id, key, n, True, hold)


def mark(store: Store, *marks: Mark) -> Granted:
    with store.runs.change() as turn:
        return turn.mark(marks)


@pytest.fixture
def epoch(store: Store) -> str:
    return begin(store)


def test_a_record_that_is_free_is_taken_with_the_mark(store: Store, epoch: str) -> None:
    one = running(store, epoch)
    assert mark(store, wanted(one)) == Granted(frozenset({wanted(one)}))
    assert store.attention.holds() == store.attention.holds(one) == [("customer:7", f"{one}:first")]
    assert store.attention.holds("another") == store.attention.holds("a\0") == []


def test_a_record_that_another_step_holds_refuses_the_mark(store: Store, epoch: str) -> None:
    one, two, three = (running(store, epoch) for _ in range(3))
    mark(store, wanted(one))
    free = wanted(three, "customer:8")
    assert mark(store, wanted(two), free) == Granted(frozenset({free}), frozenset({wanted(two)}))
    put(store, one, ReleaseHold(FIRST))
    assert store.attention.holds() == [("customer:8", f"{three}:first")]
    assert mark(store, wanted(two)).marks == {wanted(two)}


def test_two_that_want_one_record_in_one_batch_do_not_both_get_it(store: Store, epoch: str) -> None:
    marks = [wanted(running(store, epoch)) for _ in range(2)]
    granted = mark(store, *marks)
    assert (len(granted.marks), len(granted.held)) == (1, 1)


def test_a_step_passes_its_own_hold_and_so_does_its_compensation(store: Store, epoch: str) -> None:
    one = running(store, epoch)
    mark(store, wanted(one))
    undo = wanted(one, key=FIRST._replace(kind=Kind.COMPENSATION))
    assert mark(store, wanted(one), undo) == Granted(frozenset())  # neither may be set, and neither is held up
    assert len(store.attention.holds(one)) == 1


def test_a_mark_that_may_not_be_set_takes_nothing(store: Store, epoch: str) -> None:
    one, two = running(store, epoch), running(store, epoch)
    apply(store, one, MARKED, CancelAsked())
    assert mark(store, wanted(one), wanted(two, n=7)) == Granted(frozenset(), frozenset({wanted(two, n=7)}))
    assert store.attention.holds() == []
    mark(store, wanted(two))
    assert mark(store, wanted(two)) == Granted(frozenset())
    assert len(store.attention.holds(two)) == 1  # it was taken before, for an effect that has begun


def test_the_end_of_a_run_frees_no_record(store: Store, epoch: str) -> None:
    one = running(store, epoch)
    mark(store, wanted(one))
    apply(store, one, MARKED, CancelAsked())
    put(store, one, ReleaseHold(Key("second")))
    assert len(store.attention.holds()) == 1


def test_two_workers_that_want_one_record_at_once_do_not_both_get_it(store: Store, epoch: str) -> None:
    holds = [f"customer:{number}" for number in range(10)]
    run_ids = [[running(store, epoch) for _ in holds] for _ in range(2)]
    barrier = threading.Barrier(2)
    granted: list[Granted] = []

    def work(mine: list[str], names: list[str]) -> None:
        barrier.wait()
        granted.append(mark(store, *(wanted(run_id, name) for run_id, name in zip(mine, names, strict=True))))

    threads = [threading.Thread(target=work, args=(mine, names)) for mine, names in zip(run_ids, (holds, holds[::-1]), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(len(one.marks) for one in granted) == sum(len(one.held) for one in granted) == 10
    assert len(store.attention.holds()) == 10


def test_a_hold_whose_taker_rolls_back_is_free(postgres_url: str) -> None:
    store = open_store(postgres_url)
    epoch = begin(store)
    one, two = running(store, epoch), running(store, epoch)
    granted: list[Granted] = []
    thread = threading.Thread(target=lambda: granted.append(mark(store, wanted(two))))

    def take_and_fail() -> None:
        with store.runs.change() as turn:
            assert turn.mark([wanted(one)]).marks
            thread.start()
            until_somebody_waits(postgres_url)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        take_and_fail()
    thread.join()
    assert granted == [Granted(frozenset({wanted(two)}))]
    store.close()
