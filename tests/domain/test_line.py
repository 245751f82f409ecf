"""Who is next, and how many at once: ranks, slots and rates, as pure numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from halfway.domain.line import MOST_POINTS, POINT, Limits, attempt_of, free_slots, holder_of, may_start, may_start_at, rank, with_starts
from halfway.domain.run import Key, Kind
from halfway.domain.spec import MINUTE, SECOND

HOUR = 60 * MINUTE


def test_a_point_of_priority_is_worth_a_minute_and_no_priority_more_than_a_day() -> None:
    assert rank(0, HOUR) == HOUR
    assert rank(10, HOUR) == HOUR - 10 * MINUTE
    assert rank(-10, HOUR) == HOUR + 10 * MINUTE
    assert rank(10**9, HOUR) == HOUR - MOST_POINTS * POINT
    assert rank(-(10**9), HOUR) == HOUR + MOST_POINTS * POINT


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.integers(0, 10**12))
def test_whoever_has_waited_two_days_is_overtaken_by_nobody_who_comes_now(old: int, new: int, ready_at: int) -> None:
    assert rank(old, ready_at) < rank(new, ready_at + 48 * HOUR + 1)


@given(st.text(), st.text(min_size=1), st.integers(1, 99), st.sampled_from(list(Kind)), st.integers(1, 10**9))
def test_a_holder_names_its_attempt_whatever_its_item_is_called(item: str, step: str, round: int, kind: Kind, n: int) -> None:
    key = Key(step.replace(":", "_"), round, item, kind)
    assert attempt_of(holder_of("01a2-run", key, n)) == ("01a2-run", key, n)


@given(st.integers(0, 20), st.sets(st.integers(0, 30)))
def test_as_many_slots_are_free_as_the_limit_leaves(limit: int, taken: set[int]) -> None:
    free = free_slots(limit, taken)
    assert len(free) == max(limit - len(taken), 0)
    assert not set(free) & taken
    assert all(0 <= slot < limit for slot in free)


@given(st.integers(1, 20), st.lists(st.tuples(st.integers(0, 40 * SECOND), st.integers(1, 8)), max_size=60))
def test_in_no_minute_do_more_begin_than_allowed_and_what_is_allowed_is_given_soon(per_minute: int, asks: list[tuple[int, int]]) -> None:
    limits, starts, now, began = Limits(None, per_minute), (), 10**12, list[int]()
    for later, wanted in asks:
        now += later
        room = may_start(limits, starts, now)
        assert room is not None
        if room == 0:
            at = may_start_at(starts, now)
            assert at is not None
            assert now < at <= now + MINUTE + SECOND
            assert (may_start(limits, starts, at) or 0) > 0
        got = min(room, wanted)
        if got:
            starts = with_starts(starts, got, now)
            began += [now] * got
        assert len(starts) <= 62
    assert all(sum(at <= other < at + MINUTE for other in began) <= per_minute for at in began)


def test_a_queue_without_a_rate_may_always_start() -> None:
    assert may_start(Limits(3, None), (), 0) is None
    assert may_start_at((), 0) is None


def test_transactions_that_cross_count_for_the_later_one() -> None:
    starts = with_starts(with_starts((), 2, 11 * SECOND), 1, 10 * SECOND)
    assert starts == ((11, 3),)
    assert may_start(Limits(None, 3), starts, 71 * SECOND) == 0
    assert may_start(Limits(None, 3), starts, 72 * SECOND) == 3
