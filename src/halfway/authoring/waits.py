"""Waits: steps that wait for an event, another run, a time or a person. They occupy no worker, and none is endless (R-C1, R-C3)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, Generic, Literal, Never, TypeAlias, TypeVar, overload

from pydantic import AwareDatetime, TypeAdapter
from typing_extensions import Unpack

from halfway.authoring.definition import StepDefinition
from halfway.authoring.drafts import Draft, first_line
from halfway.authoring.events import Event
from halfway.authoring.graph import Declaring, WorkflowDefinition, written
from halfway.authoring.keys import key_adapter
from halfway.authoring.options import Place, check_then, positive
from halfway.authoring.policy import THREE_TIMES, microseconds
from halfway.authoring.run import Run, run_adapter
from halfway.authoring.schemas import Misshapen
from halfway.authoring.shape import Shape, read_wait, returned
from halfway.authoring.step import Step
from halfway.authoring.steps import Look
from halfway.authoring.undo import Maybe
from halfway.domain.spec import ProbeSpec, Sort, Then, WaitSpec
from halfway.errors import HalfwayError

I = TypeVar("I")
O = TypeVar("O")
M = TypeVar("M")
ChildT = TypeVar("ChildT")

Key: TypeAlias = Callable[[Step[I]], Maybe[str]]
OnDecision: TypeAlias = Literal[Then.FAIL, Then.CANCEL, Then.COMPENSATE, Then.MANUAL]

LOOK_BACK = timedelta(days=7)
_NOTHING = object()
_AFTER_EVENT = (Then.PROBE, Then.RETRY, Then.FAIL, Then.CANCEL, Then.MANUAL, Then.VALUE)
_AFTER_RUN = (Then.FAIL, Then.CANCEL, Then.MANUAL)
_AFTER_PERSON = (Then.FAIL, Then.CANCEL, Then.COMPENSATE, Then.MANUAL)


@dataclass(frozen=True)
class Approval:
    """The output of an approval step. A rejection never gets this far."""

    by: str  # the last of them, if several had to approve
    reason: str
    at: datetime
    approvers: tuple[str, ...] = ()


class WaitStep(StepDefinition[I, O | M], Generic[I, O, M]):
    """A step that waits for something, and sends nothing."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(workflow=draft.workflow, name=draft.name, adapter=draft.shape.output, may_lack=draft.standing.may_lack)
        self._draft = draft

    def probe(self, look: Look[I, O], /) -> Look[I, O]:
        """Declares the function that asks the outside world when the event has not come in time."""
        draft = self._draft
        if draft.sort is not Sort.EVENT:
            raise draft.refusal("it has a probe, but only a wait for an event can ask the world.", "Remove the probe.")
        draft.probe = draft.attach("probe", look, 1, draft.probe)
        draft.probe_spec = ProbeSpec(settle=0, retry=THREE_TIMES.to_spec(), shows=first_line(look))
        return look

    def compensate(self, *given: Never, **options: Never) -> Callable[[Any], Any]:
        """Refused: a wait has done nothing that could be undone."""
        raise self._draft.refusal("it has an undo, but a wait does nothing that could be undone.", "Remove the undo.")


class Waiting(Declaring[I, M], Generic[I, M]):
    """The ways to declare a wait."""

    @overload
    def wait_for(
        self,
        event: Event[O],
        /,
        *,
        timeout: timedelta,
        on_timeout: Literal[Then.PROBE, Then.RETRY, Then.FAIL, Then.CANCEL, Then.MANUAL],
        look_back: timedelta = ...,
        **options: Unpack[Place[I]],
    ) -> Callable[[Key[I]], WaitStep[I, O, M]]: ...
    @overload
    def wait_for(
        self,
        event: Event[O],
        /,
        *,
        timeout: timedelta,
        on_timeout: Literal[Then.VALUE],
        value: O,
        look_back: timedelta = ...,
        **options: Unpack[Place[I]],
    ) -> Callable[[Key[I]], WaitStep[I, O, M]]: ...
    @overload
    def wait_for(
        self,
        workflow: WorkflowDefinition[ChildT],
        /,
        *,
        timeout: timedelta,
        on_timeout: Literal[Then.FAIL, Then.CANCEL, Then.MANUAL],
        **options: Unpack[Place[I]],
    ) -> Callable[[Key[I]], WaitStep[I, Run[ChildT], M]]: ...
    @written("@workflow.wait_for(event, timeout=timedelta(days=1), on_timeout=Then.FAIL)")
    def wait_for(
        self,
        source: Event[Any] | WorkflowDefinition[Any],
        /,
        *,
        timeout: timedelta,
        on_timeout: Then,
        value: object = _NOTHING,
        look_back: timedelta | None = None,
        **options: Unpack[Place[I]],
    ) -> Callable[[Key[I]], WaitStep[I, Any, M]]:
        """Declares a wait for an event, or for the end of another workflow's run; the function says its key.

        look_back: an event that came before the wait began counts if it is not older; 7 days by default. `Then.PROBE` asks the probe
        when time is up, `Then.VALUE` goes on with `value`.
        """
        try:
            if isinstance(source, Event):
                wait = _for_event(source, timeout, on_timeout, value, LOOK_BACK if look_back is None else look_back)
                return self._waiting(wait, Sort.EVENT, options, key_adapter(), source.adapter)
            if not isinstance(source, WorkflowDefinition):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise Misshapen(f"{source!r} is nothing to wait for.", "Give an Event or a Workflow.")
            if value is not _NOTHING or look_back is not None:
                raise Misshapen("value= and look_back= mean nothing in a wait for a run.", "Remove them.")
            return self._waiting(_for_run(source, timeout, on_timeout), Sort.RUN, options, key_adapter(), run_of(source))
        except Misshapen as bad:
            raise self._refusal(f"wait_for: {bad.problem}", bad.remedy) from None

    @written("@workflow.wait_until()")
    def wait_until(self, **options: Unpack[Place[I]]) -> Callable[[Callable[[Step[I]], Maybe[datetime]]], WaitStep[I, datetime, M]]:
        """Declares a wait for a time; the function says which, with its time zone."""
        return self._waiting(WaitSpec(), Sort.TIME, options, _times(), _times())

    @written("@workflow.approval('role', expires=timedelta(days=1), on_expiry=Then.FAIL)")
    def approval(
        self,
        role: str,
        /,
        *,
        expires: timedelta,
        on_expiry: OnDecision,
        on_reject: OnDecision = Then.CANCEL,
        four_eyes: bool = False,
        quorum: int = 1,
        **options: Unpack[Place[I]],
    ) -> Callable[[Callable[[Step[I]], object]], WaitStep[I, Approval, M]]:
        """Declares a wait for a person of this role; the function returns what is shown, and the approval is bound to exactly that.

        four_eyes: whoever asked for the run may not approve. quorum: so many different persons.
        """
        try:
            check_then("on_expiry", on_expiry, _AFTER_PERSON)
            check_then("on_reject", on_reject, _AFTER_PERSON)
            wait = WaitSpec(
                timeout=_checked_time("expires", expires),
                on_timeout=on_expiry,
                role=_checked_role(role),
                on_reject=on_reject,
                four_eyes=bool(four_eyes),
                quorum=_checked_quorum(quorum),
            )
        except Misshapen as bad:
            raise self._refusal(f"approval: {bad.problem}", bad.remedy) from None
        return self._waiting(wait, Sort.APPROVAL, options, None, _approvals())

    def _waiting(
        self, wait: WaitSpec, sort: Sort, options: Mapping[str, object], returns: TypeAdapter[Any] | None, output: TypeAdapter[Any]
    ) -> Callable[[Callable[..., Any]], WaitStep[I, Any, M]]:
        """returns: of the function; None if it says so itself."""

        def declare(function: Callable[..., Any]) -> WaitStep[I, Any, M]:
            names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]
            draft = self._draft(function, options, partial(_read, names=names, returns=returns, output=output), sort=sort, wait=wait)
            return self._keep(WaitStep[I, Any, M](draft), draft)

        return declare


def run_of(workflow: WorkflowDefinition[ChildT]) -> TypeAdapter[Run[ChildT]]:
    """The adapter of a finished run of a workflow."""
    return run_adapter(workflow.input)


def _read(
    function: Callable[..., object], *, names: Mapping[str, Any], returns: TypeAdapter[Any] | None, output: TypeAdapter[Any]
) -> Shape:
    return read_wait(function, returns=returned(function, names) if returns is None else returns, output=output)


def _for_event(event: Event[Any], timeout: timedelta, on_timeout: Then, value: object, look_back: timedelta) -> WaitSpec:
    check_then("on_timeout", on_timeout, _AFTER_EVENT)
    if (value is _NOTHING) == (on_timeout is Then.VALUE):
        raise Misshapen("value= belongs to on_timeout=Then.VALUE.", "Give both, or neither.")
    try:
        stored = None if value is _NOTHING else event.encode(value)
    except HalfwayError as error:
        raise Misshapen(f"value is no payload of {event.name}: {error}", "Give what the event would have brought.") from None
    return WaitSpec(
        name=event.name,
        timeout=_checked_time("timeout", timeout),
        on_timeout=on_timeout,
        value=stored,
        look_back=_checked_time("look_back", look_back),
    )


def _for_run(workflow: WorkflowDefinition[Any], timeout: timedelta, on_timeout: Then) -> WaitSpec:
    check_then("on_timeout", on_timeout, _AFTER_RUN)
    return WaitSpec(name=workflow.name, timeout=_checked_time("timeout", timeout), on_timeout=on_timeout)


def _checked_role(role: object) -> str:
    if not isinstance(role, str) or not role.strip():
        raise Misshapen(f"the role is {role!r}.", "Name the role that may approve.")
    return role.strip()


def _checked_quorum(quorum: object) -> int:
    if not isinstance(quorum, int) or isinstance(quorum, bool) or quorum < 1:
        raise Misshapen(f"quorum is {quorum!r}.", "Give a whole number of at least 1.")
    return quorum


def _checked_time(name: str, time: timedelta) -> int:
    if not isinstance(time, timedelta):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Misshapen(f"{name} is {time!r}.", "Give a timedelta.")
    return microseconds(positive(name, time))


@cache
def _times() -> TypeAdapter[datetime]:
    return TypeAdapter(AwareDatetime)


@cache
def _approvals() -> TypeAdapter[Approval]:
    return TypeAdapter(Approval)
