"""The business day: which instants belong to a calendar date in a project's zone, and which dates are worked on. Knows no clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from holidays import HolidayBase

DayName: TypeAlias = Literal["today", "yesterday", "last-working-day"]
DAY_NAMES: tuple[DayName, ...] = get_args(DayName)
FIRST, LAST = date(1970, 1, 2), date(2099, 12, 30)  # what git has a time for, and a day on each side
_LONGEST_BREAK = 31


@dataclass(frozen=True, kw_only=True)
class Window:
    """A half-open span of epoch seconds: `starts` belongs to it, `ends` to the next one."""

    starts: int
    ends: int

    def __contains__(self, second: int) -> bool:
        return self.starts <= second < self.ends


def business_day(day: date, zone: str) -> Window:
    """The instants of a date in a zone; neighbouring days share their border, also when a clock is moved."""
    return Window(starts=_midnight(day, zone), ends=_midnight(day + timedelta(days=1), zone))


def date_at(second: int, zone: str) -> date:
    """The calendar date in a zone at an epoch second."""
    return datetime.fromtimestamp(second, UTC).astimezone(ZoneInfo(zone)).date()


def is_working_day(day: date, calendar: str | None = None) -> bool:
    """Whether a date is worked on in a country or a part of it (`KR`, `US-NY`); without a calendar, Monday to Friday are."""
    if calendar is None:
        return day.weekday() < 5
    return _holidays(calendar, day.year).is_working_day(day)


def last_working_day(today: date, calendar: str | None = None) -> date:
    """The newest date before today that is worked on."""
    for back in range(1, _LONGEST_BREAK):
        if is_working_day(day := today - timedelta(days=back), calendar):
            return day
    raise ValueError(f"no working day within {_LONGEST_BREAK} days before {today} in the calendar {calendar}")


def named_day(name: DayName, moment: datetime, calendar: str | None = None) -> date:
    """The day that is meant at a moment, in the zone of the moment."""
    today = moment.date()
    match name:
        case "today":
            return today
        case "yesterday":
            return today - timedelta(days=1)
        case "last-working-day":
            return last_working_day(today, calendar)


def days_between(first: date, last: date) -> tuple[date, ...]:
    """Both of them and all that lie between, the earliest first."""
    return tuple(first + timedelta(days=days) for days in range((last - first).days + 1))


class CalendarUnknown(ValueError):
    """Nobody knows the holidays of this calendar. Name a country, or a country and a part of it, as in KR or US-NY."""


def known_calendar(calendar: str) -> str:
    """The calendar itself; raises CalendarUnknown for one of which no holidays are known."""
    _holidays(calendar, 2026)
    return calendar


@cache
def _holidays(calendar: str, year: int) -> HolidayBase:
    # Loading it takes longer than everything else here, and most projects name no calendar.
    try:
        from holidays import country_holidays  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise CalendarUnknown(f"the holidays of {calendar} are in the package holidays: pip install 'halfway[report]'") from error
    country, _, part = calendar.partition("-")
    try:
        return country_holidays(country, subdiv=part or None, years=range(year - 1, year + 2))
    except NotImplementedError as error:
        raise CalendarUnknown(f"no holidays are known for {calendar}") from error


def _midnight(day: date, zone: str) -> int:
    # A midnight that a clock change skips resolves with the old offset, which is the instant of the change itself.
    return int(datetime.combine(day, time(), ZoneInfo(zone)).timestamp())
