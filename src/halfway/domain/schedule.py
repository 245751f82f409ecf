"""Which ticks of a schedule are started, wait, or are left out, and why. A decision over frozen values, without a clock.

A tick that is due is accounted for first: it waits from then on, or it is left out. What waits is started, one after the other.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from halfway.domain.spec import MINUTE, CatchUp, Overlap, ScheduleSpec
from halfway.domain.ticks import count_ticks, newest_ticks, next_tick, ticks

FEW = 10  # so many missed ticks are kept one by one, more as a whole
MOST = 100_000  # more are not counted


class Reason(StrEnum):
    """Why a tick was left out."""

    MISSED = "MISSED"  # nobody could start it in time, and it is not caught up
    OVERLAP = "OVERLAP"  # the run of an earlier tick had not ended
    SUPERSEDED = "SUPERSEDED"  # it waited, and a newer one came
    DECLINED = "DECLINED"  # its function said that there is nothing to start
    RETIRED = "RETIRED"  # the workflow has no such schedule any more


class Waiting(NamedTuple):
    """A tick that is still to be started."""

    due: int
    next_at: int  # not before; later than now after its function has failed
    tries: int = 0


class Standing(NamedTuple):
    """How far a schedule has come."""

    accounted: int  # every tick up to here has started, waits, or was left out
    waiting: tuple[Waiting, ...] = ()
    open: bool = False  # the run of an earlier tick has not ended


class Skip(NamedTuple):
    """A tick that is left out."""

    due: int
    reason: Reason


class Missed(NamedTuple):
    """Many ticks that are left out, from the first to the last."""

    first: int
    last: int
    total: int


class Account(NamedTuple):
    """What becomes of the ticks that are due."""

    accounted: int
    next_at: int | None  # when the next one is due
    new: tuple[int, ...] = ()  # they wait from now on
    skipped: tuple[Skip, ...] = ()
    missed: Missed | None = None


def account(spec: ScheduleSpec, standing: Standing, now: int) -> Account:
    """Takes in what is due, as far as it is caught up; if more wait than may, the newest stay."""
    chosen = _caught_up(spec, standing.accounted, now)
    last = chosen[-1] if chosen else standing.accounted
    left, missed = _left_out(spec, standing.accounted, chosen, now)
    wait = sorted([*(one.due for one in standing.waiting), *chosen])
    too_many = frozenset(wait[: max(0, len(wait) - capacity(spec))] if chosen else ())
    skipped = [Skip(due, Reason.MISSED) for due in left] + [Skip(due, Reason.SUPERSEDED) for due in sorted(too_many)]
    if left or missed:
        last = max(last, left[-1] if left else 0, missed.last if missed else 0)
    new = tuple(due for due in chosen if due not in too_many)
    return Account(last, next_tick(spec, max(now, last)), new, tuple(skipped), missed)


def capacity(spec: ScheduleSpec) -> int:
    """How many ticks may wait."""
    return spec.limit if spec.catch_up is CatchUp.ALL else 1


def next_step(spec: ScheduleSpec, standing: Standing, now: int) -> int | Skip | None:
    """What is to be done about the ticks that wait: start this one, leave that one out, or nothing for now."""
    for one in standing.waiting:
        if one.next_at > now:
            continue
        if not standing.open or spec.overlap is Overlap.START:
            return one.due
        return Skip(one.due, Reason.OVERLAP) if spec.overlap is Overlap.SKIP else None
    return None


def is_on_time(spec: ScheduleSpec, due: int, now: int) -> bool:
    """Whether a tick counts as started in time: within a minute, and before half of the time to the next one has passed."""
    following = next_tick(spec, due)
    patience = MINUTE if following is None else min(MINUTE, (following - due) // 2)
    return now - due <= patience


def _caught_up(spec: ScheduleSpec, after: int, now: int) -> list[int]:
    """Those of the ticks that are due which shall be started."""
    found = newest_ticks(spec, after, now, capacity(spec))
    if spec.catch_up is CatchUp.SKIP:
        return [due for due in found if is_on_time(spec, due, now)]
    return found


def _left_out(spec: ScheduleSpec, after: int, chosen: list[int], now: int) -> tuple[list[int], Missed | None]:
    """Those that are due before the chosen ones: a few one by one, many as a whole."""
    until = chosen[0] - 1 if chosen else now
    first = next_tick(spec, after)
    if first is None or first > until:
        return [], None
    count = count_ticks(spec, after, until, MOST)
    if count <= FEW:
        return list(ticks(spec, after, until)), None
    return [], Missed(first, newest_ticks(spec, after, until, 1)[-1], count)
