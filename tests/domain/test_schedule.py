"""Which ticks are started, wait, or are left out: overlap, catching up, and what waits because it has failed."""

from __future__ import annotations

import random

import pytest

from halfway.domain.schedule import FEW, Account, Missed, Reason, Skip, Standing, Waiting, account, is_on_time, next_step
from halfway.domain.spec import DAY, MINUTE, SECOND, CatchUp, Overlap, ScheduleSpec
from halfway.domain.ticks import ticks

TEN = 10 * SECOND
NOON = 1_780_000_000 * SECOND


def spec(every: int = TEN, **options: object) -> ScheduleSpec:
    return ScheduleSpec(name="X", zone="UTC", every=every, **options)  # type: ignore[arg-type]


def waiting(*due: int) -> tuple[Waiting, ...]:
    return tuple(Waiting(one, one) for one in due)


def test_a_tick_that_is_due_waits_to_be_started() -> None:
    for catch_up in CatchUp:
        found = account(spec(catch_up=catch_up), Standing(NOON - TEN), NOON + 1)
        assert found == Account(NOON, NOON + TEN, (NOON,))


def test_nothing_is_due_before_its_time() -> None:
    assert account(spec(), Standing(NOON), NOON + TEN - 1) == Account(NOON, NOON + TEN)


# ── after an outage: 78 minutes of every ten seconds ──

OUTAGE = 78 * MINUTE
LATE = NOON + 6 * SECOND  # more than half of the time to the next tick


@pytest.mark.parametrize(
    ("catch_up", "started", "first_left", "left"),
    [(CatchUp.SKIP, 0, 1, 468), (CatchUp.ONE, 1, 1, 467), (CatchUp.ALL, 20, 1, 448)],
)
def test_after_an_outage_so_many_are_caught_up_and_the_others_are_one_row(
    catch_up: CatchUp, started: int, first_left: int, left: int
) -> None:
    """B19."""
    found = account(spec(catch_up=catch_up, limit=20), Standing(NOON - OUTAGE), LATE)
    assert list(found.new) == [NOON - n * TEN for n in reversed(range(started))]
    assert found.missed == Missed(NOON - OUTAGE + TEN, NOON - started * TEN, left)
    assert (found.accounted, found.next_at, found.skipped) == (NOON, NOON + TEN, ())


def test_a_few_are_kept_one_by_one() -> None:
    found = account(spec(), Standing(NOON - 4 * TEN), LATE)
    assert found.skipped == tuple(Skip(NOON - n * TEN, Reason.MISSED) for n in (3, 2, 1))
    assert found.missed is None
    many = account(spec(), Standing(NOON - (FEW + 2) * TEN), LATE)
    assert many.missed == Missed(NOON - (FEW + 1) * TEN, NOON - TEN, FEW + 1)


def test_with_skip_a_tick_is_started_as_long_as_it_is_on_time() -> None:
    for late, started in ((SECOND, (NOON,)), (5 * SECOND, (NOON,)), (6 * SECOND, ())):
        assert account(spec(catch_up=CatchUp.SKIP), Standing(NOON - TEN), NOON + late).new == started
    daily = spec(DAY, catch_up=CatchUp.SKIP)
    due = next(ticks(daily, NOON, NOON + DAY))
    assert is_on_time(daily, due, due + MINUTE)
    assert not is_on_time(daily, due, due + MINUTE + 1)


def test_a_moment_that_has_passed_is_caught_up_and_never_due_again() -> None:
    once = ScheduleSpec(name="X", zone="UTC", at=NOON)
    assert account(once, Standing(NOON - DAY), NOON + DAY) == Account(NOON, None, (NOON,))
    assert account(once, Standing(NOON), NOON + DAY) == Account(NOON, None)


# ── while others wait ──


def test_a_newer_tick_takes_the_place_of_one_that_waits() -> None:
    found = account(spec(), Standing(NOON - TEN, waiting(NOON - TEN)), NOON)
    assert (found.new, found.skipped) == ((NOON,), (Skip(NOON - TEN, Reason.SUPERSEDED),))


def test_with_all_as_many_wait_as_are_caught_up() -> None:
    standing = Standing(NOON - TEN, waiting(NOON - 3 * TEN, NOON - 2 * TEN, NOON - TEN))
    assert account(spec(catch_up=CatchUp.ALL, limit=4), standing, NOON).skipped == ()
    assert account(spec(catch_up=CatchUp.ALL, limit=3), standing, NOON).skipped == (Skip(NOON - 3 * TEN, Reason.SUPERSEDED),)


def test_the_oldest_that_waits_is_started_first() -> None:
    standing = Standing(NOON, waiting(NOON - TEN, NOON))
    assert next_step(spec(), standing, NOON) == NOON - TEN
    assert next_step(spec(), Standing(NOON), NOON) is None


@pytest.mark.parametrize(("overlap", "step"), [(Overlap.START, NOON), (Overlap.SKIP, Skip(NOON, Reason.OVERLAP)), (Overlap.WAIT, None)])
def test_while_an_earlier_run_goes_on(overlap: Overlap, step: object) -> None:
    assert next_step(spec(overlap=overlap), Standing(NOON, waiting(NOON), open=True), NOON) == step
    assert next_step(spec(overlap=overlap), Standing(NOON, waiting(NOON)), NOON) == NOON


def test_one_that_has_failed_is_passed_over_until_its_time() -> None:
    standing = Standing(NOON, (Waiting(NOON - TEN, NOON + MINUTE, 3), Waiting(NOON, NOON)))
    assert next_step(spec(), standing, NOON) == NOON
    assert next_step(spec(), standing, NOON + MINUTE) == NOON - TEN


# ── nothing is forgotten, nothing is counted twice ──


@pytest.mark.parametrize("catch_up", CatchUp)
def test_however_often_one_looks_each_tick_is_accounted_for_once(catch_up: CatchUp) -> None:
    """Whatever the pauses between two looks: every tick is new, was left out by itself, or is inside one row."""
    dice = random.Random(19)
    for cron in ("", "*/7 * * * *", "30 1 * * *"):
        one = ScheduleSpec(
            name="X", zone="America/New_York", cron=cron, every=None if cron else 97 * SECOND, catch_up=catch_up, limit=5
        )  # fmt: skip
        start = now = NOON
        standing = Standing(NOON)
        seen: list[int] = []
        for _ in range(200):
            now += dice.choice((SECOND, MINUTE, 10 * MINUTE, 3 * 60 * MINUTE, 2 * DAY)) * dice.randrange(1, 4)
            found = account(one, standing, now)
            seen += found.new
            seen += [skip.due for skip in found.skipped if skip.reason is Reason.MISSED]
            if found.missed is not None:
                inside = list(ticks(one, found.missed.first - 1, found.missed.last))
                assert len(inside) == found.missed.total > FEW
                seen += inside
            assert found.next_at is not None
            assert found.next_at > now
            standing = Standing(found.accounted)
        assert sorted(seen) == list(ticks(one, start, standing.accounted))
