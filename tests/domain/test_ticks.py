"""B20: when a schedule is due, across the days on which the clock is changed; compared with what zoneinfo alone says."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from halfway.domain.spec import DAY, SECOND, ScheduleSpec
from halfway.domain.ticks import count_ticks, newest_ticks, next_tick, ticks, told_in, why_not

ZONES = ("Europe/Berlin", "America/New_York", "Asia/Seoul", "Australia/Lord_Howe", "America/Santiago")
Shows = Callable[[datetime], bool]
STEP = timedelta(minutes=5)


def at(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * SECOND  # type: ignore[arg-type,misc]


def line(cron: str, zone: str) -> ScheduleSpec:
    return ScheduleSpec(name="X", zone=zone, cron=cron)


def first(spec: ScheduleSpec, after: int, count: int) -> list[str]:
    found = islice(ticks(spec, after, after + 4000 * DAY), count)
    return [datetime.fromtimestamp(tick / SECOND, UTC).strftime("%Y-%m-%dT%H:%MZ") for tick in found]


# ── the values of the case ──


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        ("30 2 * * *", "America/New_York", at(2026, 3, 7, 5), ["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"]),
        ("30 1 * * *", "America/New_York", at(2026, 10, 31, 5), ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"]),
        (
            "30 * * * *",
            "America/New_York",
            at(2026, 11, 1, 4),
            ["2026-11-01T04:30Z", "2026-11-01T05:30Z", "2026-11-01T06:30Z", "2026-11-01T07:30Z"],
        ),
        (
            "*/30 * * * *",
            "America/New_York",
            at(2026, 11, 1, 5, 15),
            ["2026-11-01T05:30Z", "2026-11-01T06:00Z", "2026-11-01T06:30Z", "2026-11-01T07:00Z"],
        ),
        ("*/30 1 * * *", "America/New_York", at(2026, 11, 1, 4), ["2026-11-01T05:00Z", "2026-11-01T05:30Z", "2026-11-02T06:00Z"]),
        (
            "0 0 * * 0",
            "America/Santiago",
            at(2026, 8, 23, 0),
            [
                "2026-08-23T04:00Z", "2026-08-30T04:00Z", "2026-09-06T04:00Z", "2026-09-13T03:00Z", "2026-09-20T03:00Z",
                "2026-09-27T03:00Z", "2026-10-04T03:00Z", "2026-10-11T03:00Z", "2026-10-18T03:00Z", "2026-10-25T03:00Z",
            ],
        ),
        ("0 0 * * MON-FRI", "America/Chicago", at(2021, 3, 12, 6, 0, 1), ["2021-03-15T05:00Z"]),
        ("0 12 * * 0", "Europe/Berlin", at(2022, 3, 24), ["2022-03-27T10:00Z"]),
        ("15 2 * * *", "Australia/Lord_Howe", at(2026, 10, 3), ["2026-10-03T15:30Z", "2026-10-04T15:15Z"]),
        ("0 0 29 2 *", "Asia/Seoul", at(2026, 1, 1), ["2028-02-28T15:00Z", "2032-02-28T15:00Z"]),
    ],
)  # fmt: skip
def test_the_times_of_the_case(cron: str, zone: str, after: int, expected: list[str]) -> None:
    """B20."""
    assert first(line(cron, zone), after, len(expected)) == expected


# ── whole years, beside zoneinfo ──


@cache
def moments(zone: str) -> list[tuple[int, datetime]]:
    """Every fifth minute of 2026 as time passes, and what the clock of the zone shows."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    passing = [start + n * STEP for n in range(365 * DAY // (300 * SECOND))]
    return [(int(one.timestamp()) * SECOND, one.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)) for one in passing]


def by_passing(zone: str, shows: Shows) -> list[int]:
    return [tick for tick, wall in moments(zone) if shows(wall)]


def by_clock(zone: str, shows: Shows) -> list[int]:
    """Each wall time once: its first pass, or the first moment at which the clock shows something later."""
    found: list[int] = []
    latest = moments(zone)[0][1] - STEP
    for tick, wall in moments(zone):
        passed = [latest + n * STEP for n in range(1, (wall - latest) // STEP + 1)]
        if any(map(shows, passed)):
            found.append(tick)
        latest = max(latest, wall)
    return found


LINES: list[tuple[str, Shows, bool]] = [
    ("30 2 * * *", lambda shown: (shown.hour, shown.minute) == (2, 30), False),
    ("0 0 * * *", lambda shown: (shown.hour, shown.minute) == (0, 0), False),
    ("15,45 1-2 * * *", lambda shown: shown.hour in (1, 2) and shown.minute in (15, 45), False),
    ("*/20 0,1,2,3 * * *", lambda shown: shown.hour in (0, 1, 2, 3) and shown.minute % 20 == 0, False),
    ("0 */2 * * *", lambda shown: shown.hour % 2 == 0 and shown.minute == 0, False),
    ("30 * * * *", lambda shown: shown.minute == 30, True),
    ("*/20 * * * *", lambda shown: shown.minute % 20 == 0, True),
    ("0 0-23 * * *", lambda shown: shown.minute == 0, True),
]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("cron", "shows", "passing"), LINES, ids=[cron for cron, _, _ in LINES])
def test_a_year_of_ticks_is_what_zoneinfo_says(zone: str, cron: str, shows: Shows, passing: bool) -> None:
    """B20: strictly increasing; each time of the day once, at the first moment after a gap; an hourly line in both passes."""
    expected = (by_passing if passing else by_clock)(zone, shows)
    found = list(ticks(line(cron, zone), expected[0] - 1, at(2027, 1, 1) - 1))
    assert found == expected
    assert all(a < b for a, b in pairwise(found))


@pytest.mark.parametrize("zone", ZONES)
def test_a_daily_line_is_due_once_on_each_local_day(zone: str) -> None:
    """B20: at any time of the day that there may or may not be."""
    for minute in range(0, 24 * 60, 45):
        spec = line(f"{minute % 60} {minute // 60} * * *", zone)
        days = [told_in(zone, tick).date() for tick in ticks(spec, at(2026, 1, 1, 12), at(2026, 12, 31, 12))]
        assert days == [days[0] + timedelta(days=n) for n in range(len(days))]
        assert len(days) in (364, 365)


@pytest.mark.parametrize("zone", ZONES)
def test_it_does_not_matter_from_where_one_looks(zone: str) -> None:
    """B20: whoever starts again inside the repeated hour, or anywhere, finds the same next tick."""
    dice = random.Random(20)
    for cron in ("30 1 * * *", "30 2 * * *", "0 0 * * 0", "30 * * * *", "*/20 1-2 * * *"):
        spec = line(cron, zone)
        known = list(ticks(spec, at(2026, 1, 1), at(2027, 1, 8)))
        for _ in range(300):
            after = dice.randrange(at(2026, 1, 1), at(2026, 12, 31))
            assert next_tick(spec, after) == next(tick for tick in known if tick > after)


def test_no_answer_takes_long() -> None:
    """B20: the worst of them, in processor time of this process."""
    for cron in ("0 0 29 2 *", "* * 29 2 *", "30 1 * * *", "0 0 * * MON#5", "59 23 31 12 *"):
        for zone in ZONES:
            next_tick(line(cron, zone), at(2026, 1, 1))
            began = time.process_time()
            for _ in range(20):
                next_tick(line(cron, zone), at(2096, 3, 1))
            assert (time.process_time() - began) / 20 < 0.05


# ── intervals, moments, and what else is asked ──


def test_an_interval_keeps_its_rhythm_whenever_one_looks() -> None:
    spec = ScheduleSpec(name="X", zone="UTC", every=600 * SECOND)
    assert next_tick(spec, at(2026, 5, 1, 10, 7)) == at(2026, 5, 1, 10, 10)
    assert next_tick(spec, at(2026, 5, 1, 10, 10)) == at(2026, 5, 1, 10, 20)
    assert next_tick(spec, at(1999, 5, 1, 10, 9)) == at(1999, 5, 1, 10, 10)
    weekly = ScheduleSpec(name="X", zone="Asia/Seoul", every=7 * DAY)
    found = next_tick(weekly, at(2026, 5, 1))
    assert found is not None
    assert (told_in("Asia/Seoul", found).weekday(), told_in("Asia/Seoul", found).hour) == (0, 0)


def test_a_moment_is_due_once() -> None:
    spec = ScheduleSpec(name="X", zone="UTC", at=at(2026, 5, 1))
    assert next_tick(spec, at(2026, 5, 1) - 1) == at(2026, 5, 1)
    assert next_tick(spec, at(2026, 5, 1)) is None


@pytest.mark.parametrize("spec", [line("*/5 * * * *", "Europe/Berlin"), ScheduleSpec(name="X", zone="UTC", every=7 * SECOND)])
def test_counting_and_the_newest_agree_with_walking(spec: ScheduleSpec) -> None:
    start, end = at(2026, 3, 28), at(2026, 3, 30, 0, 0, 3)
    walked = list(ticks(spec, start, end))
    assert count_ticks(spec, start, end, 10**9) == len(walked)
    assert newest_ticks(spec, start, end, 25) == walked[-25:]
    assert newest_ticks(spec, start, end, 10**6) == walked
    assert newest_ticks(spec, end, end, 5) == []


def test_a_line_that_names_no_day_is_told_so() -> None:
    assert why_not("0 0 * * *") == ""
    assert why_not("0 0 31 2,4 *") == "Bad day-of-month"
