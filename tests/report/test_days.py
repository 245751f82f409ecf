import subprocess
import sys
from datetime import date, timedelta
from itertools import pairwise

import pytest

from halfway_report.days import CalendarUnknown, business_day, date_at, last_working_day


def hours(day: date, zone: str) -> float:
    window = business_day(day, zone)
    return (window.ends - window.starts) / 3600


def test_midnight_in_seoul_belongs_to_the_day_that_begins() -> None:
    midnight = 1_790_780_400  # 2026-10-01T00:00:00+09:00
    assert midnight in business_day(date(2026, 10, 1), "Asia/Seoul")
    assert midnight not in business_day(date(2026, 9, 30), "Asia/Seoul")
    assert midnight - 1 in business_day(date(2026, 9, 30), "Asia/Seoul")


@pytest.mark.parametrize(
    ("day", "zone", "length"),
    [
        (date(2026, 4, 24), "Africa/Cairo", 23),  # 00:00 does not exist
        (date(2026, 11, 1), "America/New_York", 25),
        (date(2026, 3, 8), "America/New_York", 23),
        (date(2026, 9, 30), "Asia/Seoul", 24),
    ],
)
def test_a_day_is_as_long_as_its_clock_says(day: date, zone: str, length: float) -> None:
    assert hours(day, zone) == length


@pytest.mark.parametrize("zone", ["Africa/Cairo", "America/New_York", "America/Havana", "Asia/Seoul", "Australia/Lord_Howe", "UTC"])
def test_the_days_of_a_year_tile_the_time_line(zone: str) -> None:
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(366)]
    windows = [business_day(day, zone) for day in days]
    assert all(before.ends == after.starts for before, after in pairwise(windows))
    for day, window in zip(days, windows, strict=True):
        assert date_at(window.starts, zone) == day
        assert date_at(window.ends - 1, zone) == day


@pytest.mark.parametrize(
    ("today", "calendar", "expected"),
    [
        (date(2026, 9, 28), "KR", date(2026, 9, 23)),  # Chuseok from 24 to 26
        (date(2026, 10, 6), "KR", date(2026, 10, 2)),  # 5 October stands in for a holiday on a Saturday
        (date(2026, 11, 27), "US-NY", date(2026, 11, 25)),  # Thanksgiving
        (date(2026, 1, 2), "KR", date(2025, 12, 31)),
        (date(2026, 9, 28), None, date(2026, 9, 25)),
        (date(2026, 9, 27), "SA", date(2026, 9, 24)),  # Friday and Saturday are the weekend
    ],
)
def test_case_6_the_last_working_day_knows_holidays(today: date, calendar: str | None, expected: date) -> None:
    assert last_working_day(today, calendar) == expected


def test_case_6_a_calendar_that_nobody_knows_is_named() -> None:
    with pytest.raises(CalendarUnknown, match="XX"):
        last_working_day(date(2026, 9, 28), "XX")


def test_the_package_of_holidays_is_loaded_only_when_a_calendar_is_asked() -> None:
    code = "import sys, datetime as d, halfway_report.days as x; x.last_working_day(d.date(2026, 9, 28)); print('holidays' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"
