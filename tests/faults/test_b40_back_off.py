"""B40: the time until the next attempt is finite, within its cap, spread, and the receiver's wish counts up to an hour."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from halfway import Effect, Retry, RetryLater, RunStatus, Step
from halfway.domain.backoff import LONGEST_ASKED, delay
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.spec import SECOND, RetrySpec
from halfway.errors import DefinitionError
from tests.engine.harness import Harness, Order, flow, until
from tests.faults.checks import all_is_well

HOUR = 3600 * SECOND
USUAL = RetrySpec(attempts=10, wait=SECOND, factor=2.0, max_wait=HOUR)


@pytest.mark.parametrize("failures", [0, 1, 2, 12, 13, 46, 47, 63, 64, 1023, 1024, 100_000])
@pytest.mark.parametrize("factor", [1.0, 1.0000001, 1.5, 2.0, 10.0, 1e308])
@pytest.mark.parametrize("wait", [0, 1, SECOND, HOUR])
def test_a_delay_is_finite_and_within_its_cap(failures: int, factor: float, wait: int) -> None:
    """B40."""
    found = delay(RetrySpec(wait=wait, factor=factor, max_wait=HOUR), failures, "seed")
    assert isinstance(found, int)
    assert 0 <= found <= HOUR
    assert found >= wait // 2


def test_delays_grow_until_they_reach_the_cap() -> None:
    """B40: between half of the exponential time and the whole of it."""
    for failures in range(1, 200):
        whole = min(SECOND * 2 ** (failures - 1), HOUR)
        for seed in ("a", "b", "c"):
            assert whole // 2 <= delay(USUAL, failures, seed) <= whole


@pytest.mark.parametrize("factor", [0, 0.5, -1, float("nan"), float("inf"), "2", True])
def test_a_factor_that_cannot_work_is_refused_when_it_is_written(factor: Any) -> None:
    """B40."""
    with pytest.raises(DefinitionError):
        Retry(3, factor=factor)


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"attempts": -1},
        {"attempts": 1.5},
        {"attempts": True},
        {"wait": timedelta(seconds=-1)},
        {"wait": timedelta(days=4000)},
        {"wait": timedelta(hours=1), "max_wait": timedelta(minutes=1)},
        {"wait": 5},
    ],
)
def test_other_settings_that_cannot_work_are_refused_when_they_are_written(options: dict[str, Any]) -> None:
    """B40."""
    with pytest.raises(DefinitionError):
        Retry(**({"attempts": 3} | options))


def test_the_largest_settings_work() -> None:
    """B40: nothing overflows behind them."""
    spec = Retry(2**31, wait=timedelta(days=3650), factor=1e300, max_wait=timedelta(days=3650)).to_spec()
    assert delay(spec, 2**31, "seed") <= 3650 * 24 * HOUR < 2**63


def test_jitter_spreads_evenly_and_is_the_same_for_the_same_facts() -> None:
    """B40: ten thousand draws."""
    drawn = [delay(USUAL, 20, f"run {n}:STEP:") for n in range(10_000)]
    assert drawn == [delay(USUAL, 20, f"run {n}:STEP:") for n in range(10_000)]
    tenths = Counter((value - HOUR // 2) * 20 // HOUR for value in drawn)
    assert set(tenths) <= set(range(11))
    assert all(800 < tenths[tenth] < 1200 for tenth in range(10))
    assert len(set(drawn)) > 9_900


def test_two_hundred_that_fail_at_once_do_not_come_back_at_once() -> None:
    """B40: with a cap of a minute."""
    minute = RetrySpec(wait=60 * SECOND, max_wait=60 * SECOND)
    due = sorted(delay(minute, 1, f"run {n}:STEP:") for n in range(200))
    seconds = Counter(value // SECOND for value in due)
    assert max(seconds.values()) < 20
    assert len(seconds) >= 25
    assert max(later - earlier for earlier, later in pairwise(due)) < 3 * SECOND


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [(None, SECOND // 2, SECOND), (0, SECOND // 2, SECOND), (-5 * SECOND, SECOND // 2, SECOND), (30 * SECOND, 30 * SECOND, 30 * SECOND),
     (87_600 * HOUR, LONGEST_ASKED, LONGEST_ASKED)],
)  # fmt: skip
def test_what_the_receiver_asks_for_counts_up_to_an_hour(asked: int | None, least: int, most: int) -> None:
    """B40."""
    assert least <= delay(USUAL, 1, "seed", asked) <= most


AFTER: list[Any] = [
    None,
    timedelta(0),
    timedelta(seconds=-5),
    timedelta(days=3650),
    timedelta.max,
    "Wed, 21 Oct 2026 07:28:00 GMT",
    10**400,
]


@pytest.mark.parametrize("after", AFTER, ids=["none", "0", "-5 s", "10 years", "for ever", "an HTTP date", "a huge number"])
def test_a_wish_of_any_kind_leads_to_a_retry_that_is_due_within_an_hour(harness: type[Harness], after: Any) -> None:
    """B40: through the whole engine."""
    wf = flow(retry=Retry(2, wait=timedelta(milliseconds=10)))

    @wf.step(Effect.READ)
    def ask(step: Step[Order]) -> int:
        if step.attempt == 1:
            raise RetryLater("busy", after=after)
        return step.attempt

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: (record := h.record(run, "ASK")) is not None and record.failures == 1, "it has failed once")
        if (record := h.record(run, "ASK")).status is RecordStatus.PENDING:
            assert record.ready_at <= record.ended_at + LONGEST_ASKED
            h.advance(3700)
        until(lambda: h.status(run) is RunStatus.SUCCESS, "it is tried again")
    all_is_well(h, run)
