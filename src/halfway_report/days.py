"""The business day: which instants belong to a calendar date in a project's zone. Pure; knows no clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo


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


def _midnight(day: date, zone: str) -> int:
    # A midnight that a clock change skips resolves with the old offset, which is the instant of the change itself.
    return int(datetime.combine(day, time(), ZoneInfo(zone)).timestamp())
