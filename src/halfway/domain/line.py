"""Who is next, and how many at once: the order in which records start, and what limits them. Times are microseconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from halfway.domain.run import Key, Kind
from halfway.domain.spec import MINUTE, SECOND

POINT = MINUTE  # of waiting, that a point of priority is worth; the index of ready records says the same
MOST_POINTS = 1440  # no priority is worth more than a day, so whoever has waited that long is overtaken by nobody who comes later

Starts = tuple[tuple[int, int], ...]  # (second, how many attempts began in it), in order


class Limits(NamedTuple):
    """What a queue allows; None: as much as the workers can do."""

    concurrency: int | None = None  # attempts at once
    per_minute: int | None = None  # starts of attempts in any minute


NO_LIMITS = Limits()


class Claim(NamedTuple):
    """What a run must hold before it begins, and how many runs may hold it at once."""

    key: str
    slots: int = 1


class Full(NamedTuple):
    """Something of which others hold all there is."""

    key: str
    slots: int


class Traffic(NamedTuple):
    """What keeps a run from beginning, as far as others are concerned; of queues, by their names."""

    paused_type: bool = False
    paused_queues: frozenset[str] = frozenset()
    full: Mapping[str, int] = {}  # as many attempts run as are allowed
    more_at: Mapping[str, int] = {}  # as many have begun as are allowed in a minute; when more may
    line: tuple[Full, ...] = ()  # for what it stands in line


NO_TRAFFIC = Traffic()


def points(priority: int) -> int:
    """What a priority counts in the line."""
    return min(max(priority, -MOST_POINTS), MOST_POINTS)


def rank(priority: int, ready_at: int) -> int:
    """A record's place in the line; the smallest is first. It never changes, so an index can keep it."""
    return ready_at - points(priority) * POINT


# ── slots of a queue ──


def slot_key(queue: str) -> str:
    """The key of a queue's leases."""
    return f"queue:{queue}"


def holder_of(run_id: str, key: Key, n: int) -> str:
    """An attempt, as it stands in a lease; the item comes last, since it may hold anything."""
    step, round, item, kind = key
    return f"{run_id}:{step}:{round}:{kind.value}:{n}:{item}"


def attempt_of(holder: str) -> tuple[str, Key, int]:
    """The attempt that a lease names."""
    run_id, step, round, kind, n, item = holder.split(":", 5)
    return run_id, Key(step, int(round), item, Kind(kind)), int(n)


def free_slots(limit: int, taken: Iterable[int]) -> list[int]:
    """Numbers that are free, the lowest first; none while as many are taken as are allowed, whichever they are."""
    known = set(taken)
    return [slot for slot in range(limit) if slot not in known][: max(limit - len(known), 0)]


# ── starts in a minute ──


def counting(starts: Starts, now: int) -> Starts:
    """Those that began within the minute before now; a second counts until its last moment is a minute ago."""
    return tuple((second, count) for second, count in starts if (second + 1) * SECOND + MINUTE > now)


def may_start(limits: Limits, starts: Starts, now: int) -> int | None:
    """How many attempts may begin now without more than allowed in any minute; None: there is no limit."""
    if limits.per_minute is None:
        return None
    return max(limits.per_minute - sum(count for _, count in counting(starts, now)), 0)


def may_start_at(starts: Starts, now: int) -> int | None:
    """When more of them may begin; None if nothing is in the way by time."""
    still = counting(starts, now)
    return (still[0][0] + 1) * SECOND + MINUTE if still else None


def with_starts(starts: Starts, number: int, now: int) -> Starts:
    """So many more have begun now; of transactions that cross, the later time counts for both."""
    before = counting(starts, now)
    second = max(now // SECOND, before[-1][0] if before else 0)
    here = sum(count for at, count in before if at == second)
    return (*((at, count) for at, count in before if at != second), (second, here + number))
