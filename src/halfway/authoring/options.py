"""The options that the decorators of a step share, and how a workflow's defaults fill them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Generic, TypedDict, TypeVar, cast

from halfway.authoring.definition import StepDefinition
from halfway.authoring.loops import Rewind
from halfway.authoring.policy import LONGEST, Budget, Errors, Queue, Retry
from halfway.authoring.schemas import Misshapen
from halfway.authoring.step import Step
from halfway.authoring.tools import HandOver, Tools, check_tools
from halfway.domain.spec import WAITS, Effect, FanSpec, OnFailure, Sort, Then

I = TypeVar("I")

TIMEOUT = timedelta(minutes=5)


class Place(TypedDict, Generic[I], total=False):
    """Where a step stands in the graph, and what its end means for the run."""

    name: str  # default: the function's name in capitals
    after: Sequence[StepDefinition[I, object]]  # default: the step declared just before; []: at once
    on_failure: OnFailure  # default: the workflow's; if it says nothing, what the steps before allow
    at_least: int  # so many of the optional steps in `after` must have succeeded
    rewind: Rewind[I]  # a loop: when this step fails so, go back to an earlier one
    per_round: bool  # in a loop: each round is an effect, or a wait, of its own
    once: bool  # in a loop: what the first round did is kept


class Work(Place[I], Generic[I], total=False):
    """How a step is executed, and its contract."""

    retry: Retry
    timeout: timedelta
    queue: Queue
    errors: Errors
    idempotent: bool | timedelta  # the receiver drops a repeat with the same step.key; for how long
    irreversible: bool
    approver: str  # the role that decides when a machine must not
    evidence: str  # what proves that it ran, where no probe can look
    accept_unknown: str  # why no probe is possible; silences the recommendation, never the rule
    effect_key: Callable[[Step[I]], str]  # a business key instead of run and step, so that two runs meet at the receiver
    record: Callable[[Step[I]], str]  # what a CHANGE changes; held for every run while the outcome is unknown
    requires_approval: bool  # the approver is asked before every attempt, the first included
    stays: str  # why it may stay when the run is undone
    budget: Budget  # what it may spend, over all attempts and rounds
    tools: Tools  # the tools that it may call, each with its effect
    hand_over: HandOver  # why a person must take over before a call


class Fan(TypedDict, total=False):
    """How many results are enough: SUCCESS only if all; else PARTIAL_SUCCESS, a person, or FAILED."""

    concurrency: int  # so many at once
    partial_from: float  # this share of successes makes it a partial success
    failed_below: float  # less than this share makes it a failure; between the two a person decides


class ItemWork(Work[I], Fan, Generic[I], total=False):
    """The options of a step that does the same for each item of a list."""


class ChildWork(Place[I], Fan, Generic[I], total=False):
    """The options of a step that starts runs of another workflow."""

    detached: bool  # they go on when this run is cancelled or undone


def fan_of(options: Mapping[str, object]) -> tuple[FanSpec, dict[str, object]]:
    """How many are enough, and the other options; raises Misshapen for what cannot be."""
    rest = {name: value for name, value in options.items() if name not in Fan.__annotations__}
    concurrency = options.get("concurrency")
    if concurrency is not None and (not isinstance(concurrency, int) or isinstance(concurrency, bool) or concurrency < 1):
        raise Misshapen(f"concurrency is {concurrency!r}.", "Give a whole number of at least 1.")
    partial_from = _share("partial_from", options.get("partial_from", 1.0))
    failed_below = _share("failed_below", options.get("failed_below", partial_from))
    if failed_below > partial_from:
        problem = f"failed_below ({failed_below}) is more than partial_from ({partial_from})."
        raise Misshapen(problem, "What is a partial success cannot be a failure too.")
    return FanSpec(concurrency=concurrency, partial_from=partial_from, failed_below=failed_below), rest


def _share(name: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise Misshapen(f"{name} is {value!r}.", "Give a share from 0 to 1, as 0.95.")
    return float(value)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A step's options, complete and checked."""

    after: tuple[str, ...]
    on_failure: OnFailure | None  # None: nobody said
    at_least: int | None
    rewind: Rewind[Any] | None
    per_round: bool
    once: bool
    retry: Retry
    timeout: timedelta
    queue: Queue
    errors: Errors
    idempotent: bool
    idempotent_for: timedelta | None
    irreversible: bool
    approver: str
    evidence: str
    accept_unknown: str
    effect_key: Callable[[Step[Any]], str] | None
    record: Callable[[Step[Any]], str] | None
    requires_approval: bool
    stays: str
    budget: Budget | None
    tools: Tools
    hand_over: HandOver | None


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """What a workflow gives to all its steps."""

    on_failure: OnFailure | None
    retry: Retry
    errors: Errors
    queue: Queue


_KINDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "name": (str, "a text"),
    "after": ((list, tuple), "a list of steps"),
    "on_failure": (Then, "a member of Then"),
    "at_least": (int, "a whole number"),
    "rewind": (Rewind, "a Rewind"),
    "per_round": (bool, "True or False"),
    "once": (bool, "True or False"),
    "retry": (Retry, "a Retry"),
    "timeout": (timedelta, "a timedelta"),
    "queue": (Queue, "a Queue"),
    "errors": (Errors, "an Errors"),
    "idempotent": ((bool, timedelta), "True, False or a timedelta"),
    "irreversible": (bool, "True or False"),
    "approver": (str, "the name of a role"),
    "evidence": (str, "a text"),
    "accept_unknown": (str, "the reason"),
    "effect_key": (Callable, "a function of the step"),  # type: ignore[dict-item]
    "record": (Callable, "a function of the step"),  # type: ignore[dict-item]
    "requires_approval": (bool, "True or False"),
    "stays": (str, "the reason"),
    "budget": (Budget, "a Budget"),
    "tools": (Mapping, "a mapping of functions to effects"),
    "hand_over": (Callable, "a function of the call"),  # type: ignore[dict-item]
}
_NEEDS_EFFECT = ("tools", "hand_over", "idempotent", "accept_unknown", "effect_key", "record")
_OF_A_WAIT = tuple(Place.__annotations__)


def settle_options(
    options: Mapping[str, object], *, sort: Sort, effect: Effect | None, after: tuple[str, ...], defaults: Defaults
) -> Settings:
    """The options of one step with the workflow's defaults; raises Misshapen for one that cannot work."""
    for name, value in options.items():
        _check_kind(name, value)
        if sort is Sort.TRANSACTION and name in _NEEDS_EFFECT:
            raise Misshapen(f"{name}= means nothing in a transaction.", "A transaction's answer cannot be lost; remove the option.")
        if (sort in WAITS or sort is Sort.CHILDREN) and name not in _OF_A_WAIT:
            problem = f"{name}= means nothing in a wait."
            raise Misshapen(problem, f"A wait sends nothing; its options are {', '.join(_OF_A_WAIT)} and those of its decorator.")
    if "record" in options and effect is not Effect.CHANGE:
        raise Misshapen(f"record= means nothing in a {effect}.", "Only what an Effect.CHANGE changes is held; remove the option.")
    given = cast("Work[Any]", options)
    _check_at_least(given.get("at_least"), after)
    if given.get("per_round") and given.get("once"):
        raise Misshapen("it says per_round=True and once=True.", "Keep one.")
    tools = MappingProxyType(dict(given.get("tools", {})))
    check_tools(tools, effect)
    timeout = positive("timeout", given.get("timeout", TIMEOUT))
    idempotent = given.get("idempotent", False)
    if isinstance(idempotent, timedelta) and positive("idempotent", idempotent) <= timeout:
        problem = f"the receiver knows the key for {idempotent}, not longer than the timeout of {timeout}."
        raise Misshapen(problem, "Shorten timeout=, or leave idempotent= out and give a probe.")
    return Settings(
        after=after,
        on_failure=checked_on_failure(given.get("on_failure", defaults.on_failure)),
        at_least=given.get("at_least"),
        rewind=given.get("rewind"),
        per_round=given.get("per_round", False),
        once=given.get("once", False),
        retry=given.get("retry", defaults.retry),
        timeout=timeout,
        queue=given.get("queue", defaults.queue),
        errors=given.get("errors", defaults.errors),
        idempotent=bool(idempotent),
        idempotent_for=idempotent if isinstance(idempotent, timedelta) else None,
        irreversible=given.get("irreversible", False),
        approver=_text(given, "approver"),
        evidence=_text(given, "evidence"),
        accept_unknown=_text(given, "accept_unknown"),
        effect_key=given.get("effect_key"),
        record=given.get("record"),
        requires_approval=given.get("requires_approval", False),
        stays=_text(given, "stays"),
        budget=given.get("budget"),
        tools=tools,
        hand_over=given.get("hand_over"),
    )


def _check_at_least(number: int | None, after: tuple[str, ...]) -> None:
    if number is not None and (isinstance(number, bool) or not 1 <= number <= len(after)):
        raise Misshapen(f"at_least is {number!r}.", f"Give a whole number from 1 to the {len(after)} steps in after=.")


def positive(name: str, time: timedelta) -> timedelta:
    """The time, if it is more than nothing and can be kept."""
    if not timedelta(0) < time <= LONGEST:
        raise Misshapen(f"{name} is {time}.", f"Give a time of more than 0 and at most {LONGEST.days} days.")
    return time


def check_then(name: str, then: object, allowed: tuple[Then, ...]) -> None:
    """Refuses what happens next, if it is none of those that make sense there."""
    if not isinstance(then, Then) or then not in allowed:
        *first, last = (f"Then.{one}" for one in allowed)
        raise Misshapen(f"{name} is {then}.", f"Give {', '.join(first)} or {last}.")


def checked_on_failure(then: OnFailure | None) -> OnFailure | None:
    """What follows a final failure; None if nobody said."""
    if then is not None:
        check_then("on_failure", then, (Then.FAIL, Then.COMPENSATE, Then.MANUAL))
    return then


def _check_kind(name: str, value: object) -> None:
    if name not in _KINDS:
        raise Misshapen(f"there is no option {name}=.", f"The options are {', '.join(_KINDS)}.")
    kind, told = _KINDS[name]
    if not isinstance(value, kind):
        raise Misshapen(f"{name} is {value!r}.", f"Give {told}.")


def _text(given: Work[Any], name: str) -> str:
    text = cast(str, given.get(name, ""))
    if name in given and not text.strip():
        raise Misshapen(f"{name} is empty.", f"Say it, or leave {name}= out.")
    return text.strip()
