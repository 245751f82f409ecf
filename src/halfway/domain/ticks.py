"""When a schedule is due: by a cron line in a time zone, at fixed multiples of a time, or once. No clock.

Times are microseconds since 1970; the rules of a time zone are data. A cron line that names every hour follows the time that passes: it
is due in both passes of a repeated hour, and not in an hour that does not exist. Any other line names times of the day: each is due
once a day, at its first pass, and at the first moment after the gap if the clock leaves it out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from copy import copy
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from halfway.domain.spec import DAY, SECOND, ScheduleSpec

ANCHOR = datetime(2001, 1, 1)  # a Monday: multiples of a time are counted from its midnight in the schedule's zone
FIELDS = 5
LAST_YEAR = 9000  # nobody waits for what comes later
SECOND_LONG = timedelta(seconds=1)


def next_tick(spec: ScheduleSpec, after: int) -> int | None:
    """The first time after this one at which it is due; None if there is none."""
    if spec.at is not None:
        return spec.at if spec.at > after else None
    if spec.every is not None:
        anchor = _anchor(spec.zone)
        return anchor + ((after - anchor) // spec.every + 1) * spec.every
    found = _next_by_cron(spec.cron, ZoneInfo(spec.zone), after // SECOND)
    return None if found is None else found * SECOND


def ticks(spec: ScheduleSpec, after: int, until: int) -> Iterator[int]:
    """Every time at which it is due, after the one and up to the other."""
    tick = next_tick(spec, after)
    while tick is not None and tick <= until:
        yield tick
        tick = next_tick(spec, tick)


def newest_ticks(spec: ScheduleSpec, after: int, until: int, count: int) -> list[int]:
    """The last so many of them, in order; what lies far back is not looked at."""
    back = DAY
    while True:
        start = max(after, until - back)
        found = deque(ticks(spec, start, until), maxlen=count)
        if len(found) == count or start == after:
            return list(found)
        back *= 8


def count_ticks(spec: ScheduleSpec, after: int, until: int, most: int) -> int:
    """How many there are; at most so many are counted one by one."""
    if spec.every is not None:
        anchor = _anchor(spec.zone)
        return (until - anchor) // spec.every - (after - anchor) // spec.every
    return sum(1 for _ in islice(ticks(spec, after, until), most))


def told_in(zone: str, tick: int) -> datetime:
    """The time as the author's function is told it: in the schedule's zone."""
    return datetime.fromtimestamp(tick // SECOND, ZoneInfo(zone)).replace(microsecond=tick % SECOND)


def why_not(cron: str) -> str:
    """What is wrong with a cron line; empty if nothing is."""
    if len(cron.split()) != FIELDS:
        return f"it has {len(cron.split())} fields, not {FIELDS}"
    try:
        found = next(CronSim(cron, ANCHOR), None)
    except CronSimError as error:
        return str(error)
    return "" if found is not None else "it names no day that there is"


# ── cron lines ──


def _next_by_cron(cron: str, zone: ZoneInfo, after: int) -> int | None:
    if _wall(zone, after).year > LAST_YEAR:
        return None
    return _by_passing(cron, zone, after + 1) if _names_every_hour(cron) else _by_clock(cron, zone, after)


def _by_clock(cron: str, zone: ZoneInfo, after: int) -> int | None:
    """Times of the day: in the repeated hour some of those that follow on the clock have been there before."""
    for wall in _walls(cron, _wall(zone, after)):
        found = _first_pass(zone, wall)
        if found > after:
            return found
    return None


def _by_passing(cron: str, zone: ZoneInfo, start: int) -> int | None:
    """Every moment at which the clock shows such a time, from `start` on: between two changes of the clock they are found by it."""
    while True:
        wall = _wall(zone, start)
        shown = next(_walls(cron, wall - SECOND_LONG), None)
        if shown is None:
            return None
        found = start + int((shown - wall).total_seconds())
        change = _first_change(zone, start, found)
        if change is None:
            return found
        start = change


@cache
def _parsed(cron: str) -> CronSim:
    return CronSim(cron, ANCHOR)


def _names_every_hour(cron: str) -> bool:
    return len(_parsed(cron).hours) == 24


def _walls(cron: str, after: datetime) -> Iterator[datetime]:
    """Times of a clock that is never changed."""
    found = copy(_parsed(cron))
    found.dt = after
    return iter(found)


# ── the clock of a zone ──


@cache
def _anchor(zone: str) -> int:
    return int(ANCHOR.replace(tzinfo=ZoneInfo(zone)).timestamp()) * SECOND


def _wall(zone: ZoneInfo, moment: int) -> datetime:
    """What the clock shows."""
    return datetime.fromtimestamp(moment, zone).replace(tzinfo=None, fold=0)


def _offset(zone: ZoneInfo, moment: int) -> timedelta | None:
    return datetime.fromtimestamp(moment, UTC).astimezone(zone).utcoffset()


def _first_pass(zone: ZoneInfo, wall: datetime) -> int:
    """When the clock shows this time first, or the first moment after the gap in which it would have been."""
    found = int(wall.replace(tzinfo=zone).timestamp())
    if _wall(zone, found) == wall:
        return found
    before = int(wall.replace(tzinfo=zone, fold=1).timestamp())
    return _change_between(zone, before, found)


def _first_change(zone: ZoneInfo, start: int, end: int) -> int | None:
    """The first moment after `start`, at the latest `end`, at which the clock has been put forward or back."""
    day = DAY // SECOND
    offset = _offset(zone, start)
    while start < end:
        then = min(start + day, end)
        if _offset(zone, then) != offset:
            return _change_between(zone, start, then)
        start = then
    return None


def _change_between(zone: ZoneInfo, before: int, after: int) -> int:
    offset = _offset(zone, before)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(zone, middle) == offset:
            before = middle
        else:
            after = middle
    return after
