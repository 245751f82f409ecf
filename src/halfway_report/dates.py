"""Which business day is meant by a word, seen from a moment. Pure; knows no clock."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Literal, TypeAlias, get_args

DayName: TypeAlias = Literal["today", "yesterday", "last-working-day"]
DAY_NAMES: tuple[DayName, ...] = get_args(DayName)
_SATURDAY = 5


def named_day(name: DayName, moment: datetime) -> date:
    """The day that is meant at a moment, in the zone of the moment."""
    today = moment.date()
    match name:
        case "today":
            return today
        case "yesterday":
            return today - timedelta(days=1)
        case "last-working-day":
            return next(day for days in range(1, 8) if is_working_day(day := today - timedelta(days=days)))


def is_working_day(day: date) -> bool:
    """Monday to Friday."""
    return day.weekday() < _SATURDAY


def days_between(first: date, last: date) -> tuple[date, ...]:
    """Both of them and all that lie between, the earliest first."""
    return tuple(first + timedelta(days=days) for days in range((last - first).days + 1))
