"""What starts runs at certain times: a cron line, an interval, or one moment (R-E7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Generic, Literal, TypeAlias, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from halfway.authoring.events import is_name
from halfway.authoring.graph import written
from halfway.authoring.options import Defaults, positive
from halfway.authoring.policy import microseconds
from halfway.authoring.schemas import Misshapen
from halfway.authoring.shape import called, is_coroutine, parameters
from halfway.authoring.triggers import Triggered
from halfway.domain.spec import CatchUp, Overlap, ScheduleSpec
from halfway.domain.ticks import told_in, why_not

I = TypeVar("I")

OverlapName: TypeAlias = Literal["START", "SKIP", "WAIT"]
CatchUpName: TypeAlias = Literal["SKIP", "ONE", "ALL"]

SHORTEST = timedelta(seconds=1)
MOST = 1000  # ticks that are caught up at once


@dataclass(frozen=True, kw_only=True, eq=False)
class Schedule(Generic[I]):
    """A schedule with the author's function."""

    spec: ScheduleSpec
    function: Callable[[datetime], I | None]

    def input_for(self, tick: int) -> I | None:
        """The input of the run that is due at this time; None if there is nothing to start."""
        return self.function(told_in(self.spec.zone, tick))


class Scheduled(Triggered[I], Generic[I]):
    """The ways to declare a schedule."""

    def __init__(self, name: str, input: type[I], defaults: Defaults) -> None:
        super().__init__(name, input, defaults)
        self._schedules: dict[str, Schedule[I]] = {}

    @written("@workflow.schedule('0 18 * * *', tz='Europe/Berlin')")
    def schedule(
        self, cron: str | None = None, /, *, every: timedelta | None = None, at: datetime | None = None, tz: str = "UTC",
        name: str | None = None, overlap: OverlapName = "START", catch_up: CatchUpName = "ONE", limit: int = 100,
    ) -> Callable[[Callable[[datetime], I | None]], Callable[[datetime], I | None]]:  # fmt: skip
        """Declares when runs start by themselves; the function makes the input from the time, which is in `tz`, or says None: no run.

        cron: five fields, read in `tz`. every: multiples of this time, counted from a Monday's midnight in `tz`; at: once; one of the
        three is given. name: by default that of the function, in capitals. overlap: if the run of an earlier tick has not ended,
        another is started, the tick is skipped, or it waits. catch_up: which ticks are made up for after an outage or a pause: none, the
        newest, or as many of the newest as `limit` says.
        """

        if callable(cron):  # without its parentheses it would declare nothing
            raise self._refusal("schedule does not say when it is due.", "Write it as in @workflow.schedule('0 18 * * *').")

        def declare(function: Callable[[datetime], I | None]) -> Callable[[datetime], I | None]:
            called_so = called(function).upper() if name is None else name
            self._graph.check_open(f"schedule {called_so} is declared")
            if not is_name(called_so):
                raise self._refusal(f"{called_so!r} is no name for a schedule.", "Use A-Z, 0-9 and '_', at most 64; give name='…'.")
            if called_so in self._schedules:
                raise self._refusal(f"two schedules are called {called_so}.", "Rename one, or give it name='…'.")
            try:
                check_function(function)
                spec = schedule_spec(called_so, cron, every, at, tz=tz, overlap=overlap, catch_up=catch_up, limit=limit)
            except Misshapen as bad:
                raise self._refusal(f"schedule {called_so}: {bad.problem}", bad.remedy) from None
            self._schedules[called_so] = Schedule(spec=spec, function=function)
            return function

        return declare

    @property
    def schedule_functions(self) -> Mapping[str, Schedule[I]]:
        """By the name of each schedule what makes the input of a run that is due."""
        return MappingProxyType(self._schedules)


def schedule_spec(
    name: str, cron: str | None, every: timedelta | None, at: datetime | None, *, tz: str, overlap: str, catch_up: str,
    limit: object,
) -> ScheduleSpec:  # fmt: skip
    """The schedule as data; raises Misshapen for one that cannot work."""
    if sum(given is not None for given in (cron, every, at)) != 1:
        raise Misshapen("nobody can say when it is due.", "Give one of these: a cron line, every=, at=.")
    if overlap not in tuple(Overlap):
        raise Misshapen(f"overlap is {overlap!r}.", f"Give one of {', '.join(Overlap)}.")
    if catch_up not in tuple(CatchUp):
        raise Misshapen(f"catch_up is {catch_up!r}.", f"Give one of {', '.join(CatchUp)}.")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise Misshapen(f"limit is {limit!r}.", f"Give a whole number between 1 and {MOST}.")
    return ScheduleSpec(
        name=name,
        zone=_zone(tz),
        cron="" if cron is None else _cron(cron),
        every=None if every is None else _interval(every),
        at=None if at is None else _moment(at),
        overlap=Overlap(overlap),
        catch_up=CatchUp(catch_up),
        limit=limit,
    )


def check_function(function: Callable[..., object]) -> None:
    """Refuses what cannot make an input from a time."""
    if is_coroutine(function):
        raise Misshapen(f"{called(function)} is 'async def', but it only makes an input.", "Write it with 'def'.")
    found = len(parameters(function))
    if found != 1:
        raise Misshapen(f"{called(function)} takes {found} arguments.", "Take the time at which it is due.")


def _zone(tz: str) -> str:
    try:
        return ZoneInfo(tz).key
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError, AttributeError):
        raise Misshapen(f"tz is {tz!r}, which is no time zone.", "Name one as in tz='Europe/Berlin'.") from None


def _cron(cron: object) -> str:
    if not isinstance(cron, str):
        raise Misshapen(f"the cron line is {cron!r}.", "Give a text as '0 18 * * 1-5'.")
    problem = why_not(cron)
    if problem:
        remedy = "Write minute, hour, day, month and day of the week, as in '0 18 * * 1-5'; for seconds give every=."
        raise Misshapen(f"the cron line {cron!r} cannot be used: {problem}.", remedy)
    return " ".join(cron.split())


def _interval(every: object) -> int:
    if not isinstance(every, timedelta):
        raise Misshapen(f"every is {every!r}.", "Give a timedelta.")
    if positive("every", every) < SHORTEST:
        raise Misshapen(f"every is {every}.", "Give at least a second.")
    return microseconds(every)


def _moment(at: object) -> int:
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise Misshapen(f"at is {at!r}, which has no time zone.", "Give a datetime with tzinfo.")
    return microseconds(at - datetime(1970, 1, 1, tzinfo=UTC))
