"""Frozen values that an author passes to a workflow or a step: how often to repeat, what errors prove, where to run.

Bad settings are refused when the value is made, not when a run needs it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, cast

from halfway.domain.line import Limits
from halfway.domain.spec import BudgetSpec, RetrySpec
from halfway.errors import DefinitionError

ExceptionTypes: TypeAlias = type[Exception] | tuple[type[Exception], ...]

HIGHEST_LIMIT = 100_000
LONGEST = timedelta(days=3650)  # keeps every time within the integers of both databases
_MICROSECOND = timedelta(microseconds=1)
_QUEUE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def microseconds(time: timedelta) -> int:
    """The time as the databases keep it."""
    return time // _MICROSECOND


@dataclass(frozen=True)
class Retry:
    """How often a step is tried, and how long apart, after proof that nothing happened.

    `Retry(3)` waits 1 s, then 2 s. It never repeats what may have happened: that is the rule of the step's effect.
    """

    attempts: int
    wait: timedelta = timedelta(seconds=1)
    factor: float = 2.0
    max_wait: timedelta = timedelta(minutes=5)

    def __post_init__(self) -> None:
        _check_whole("attempts", self.attempts)
        if self.attempts < 1:
            raise _refused("Retry", f"attempts is {self.attempts}.", "Give at least 1: the first try counts.")
        _check_time("Retry", "wait", self.wait)
        _check_time("Retry", "max_wait", self.max_wait)
        if not _is_number(self.factor) or not math.isfinite(self.factor) or self.factor < 1:
            raise _refused("Retry", f"factor is {self.factor!r}.", "Give a finite number of at least 1.")
        if self.max_wait < self.wait:
            problem = f"max_wait ({self.max_wait}) is shorter than wait ({self.wait})."
            raise _refused("Retry", problem, "Give max_wait= at least as long as wait=.")

    def to_spec(self) -> RetrySpec:
        """The same policy as data."""
        return RetrySpec(
            attempts=self.attempts,
            wait=microseconds(self.wait),
            factor=float(self.factor),
            max_wait=microseconds(self.max_wait),
        )


@dataclass(frozen=True, kw_only=True)
class Errors:
    """What the exceptions of other libraries prove about a step that raises them."""

    retry: ExceptionTypes = ()  # nothing happened, and a repeat may help
    fail: ExceptionTypes = ()  # it will never work
    unknown: ExceptionTypes = ()  # it may have happened

    def __post_init__(self) -> None:
        seen: dict[type[Exception], str] = {}
        for name in ("retry", "fail", "unknown"):
            for kind in as_tuple(getattr(self, name)):
                if kind in seen:
                    problem = f"{kind.__name__} stands in {seen[kind]}= and in {name}=."
                    raise _refused("Errors", problem, "Keep it in one of them.")
                seen[kind] = name


@dataclass(frozen=True)
class Queue:
    """Where steps wait for a worker; a worker serves one or more queues.

    concurrency: so many of its attempts at once, over all workers. per_minute: so many attempts begin in any minute. A queue that is
    named without limits somewhere has those that are said elsewhere.
    """

    name: str
    concurrency: int | None = None
    per_minute: int | None = None

    @property
    def limits(self) -> Limits:
        """What it allows, as data."""
        return Limits(self.concurrency, self.per_minute)

    def __post_init__(self) -> None:
        for name in ("concurrency", "per_minute"):
            given: object = getattr(self, name)
            if given is not None and not (isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= HIGHEST_LIMIT):
                raise _refused("Queue", f"{name} is {given!r}.", f"Give a whole number of at least 1 and at most {HIGHEST_LIMIT}.")
        if not _is_text(self.name) or not _QUEUE_NAME.fullmatch(self.name):
            raise _refused("Queue", f"the name {self.name!r} is not allowed.", "Use a-z, 0-9, '-' and '_', at most 64.")


def as_tuple(kinds: ExceptionTypes) -> tuple[type[Exception], ...]:
    """One exception class or several, as a tuple of classes."""
    several = kinds if isinstance(kinds, tuple) else (kinds,)
    for kind in cast(tuple[object, ...], several):
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise _refused("Errors", f"{kind!r} is not an exception class.", "Give exception classes.")
    return several


def _refused(policy: str, problem: str, remedy: str) -> DefinitionError:
    return DefinitionError("POLICY_INVALID", policy=policy, problem=problem, remedy=remedy)


def _check_whole(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refused("Retry", f"{name} is {value!r}.", "Give a whole number.")


def _check_time(policy: str, name: str, value: object) -> None:
    if not isinstance(value, timedelta):
        raise _refused(policy, f"{name} is {value!r}.", "Give a timedelta.")
    if value < timedelta(0) or value > LONGEST:
        raise _refused(policy, f"{name} is {value}.", f"Give a time between 0 and {LONGEST.days} days.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What an AI task may spend before a person looks at it; the code is then AI_BUDGET_EXCEEDED.

    tokens and tool_calls are what `step.spend` and `step.call` count, over all attempts; steps: so many that begin, each round of a loop
    counted; a step that is done for many counts as one, in its attempts, too; duration: since the run began.
    Who lets the run go on grants the whole budget once more.
    """

    tokens: int | None = None
    tool_calls: int | None = None
    steps: int | None = None
    attempts: int | None = None
    duration: timedelta | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "tool_calls", "steps", "attempts"):
            number = getattr(self, name)
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
                raise _refused("Budget", f"{name} is {number!r}.", "Give a whole number of at least 1, or leave it out.")
        if self.duration is not None:
            _check_time("Budget", "duration", self.duration)

    def to_spec(self) -> BudgetSpec:
        """The same policy as data."""
        duration = None if self.duration is None else microseconds(self.duration)
        return BudgetSpec(tokens=self.tokens, tool_calls=self.tool_calls, steps=self.steps, attempts=self.attempts, duration=duration)


THREE_TIMES = Retry(3)
NO_ERRORS = Errors()
DEFAULT_QUEUE = Queue("default")
