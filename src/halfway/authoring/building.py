"""From declarations to the Spec and the Handlers; the checks that need the whole workflow."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, get_origin

import typing_extensions
from pydantic import BaseModel, TypeAdapter

from halfway.authoring.definition import StepDefinition
from halfway.authoring.drafts import Draft, Helper
from halfway.authoring.events import is_name
from halfway.authoring.items import streamed_adapter
from halfway.authoring.keys import key_of
from halfway.authoring.options import check_then, checked_on_failure, positive
from halfway.authoring.policy import HIGHEST_LIMIT, Budget, microseconds
from halfway.authoring.schemas import Misshapen, adapter_for, fingerprint
from halfway.authoring.step import Step
from halfway.authoring.steps import Handler
from halfway.domain.check import check
from halfway.domain.spec import OnFailure, PastDeadline, Sort, StepSpec, Then, WorkflowSpec
from halfway.domain.strategy import default_on_failure
from halfway.errors import DefinitionError, UnsafeStep, code_of

I = TypeVar("I")

Runbook: TypeAlias = Mapping[type[Exception] | str | None, str]  # by error class or code; None: every other error

_SEVERITIES = ("LOW", "NORMAL", "HIGH", "CRITICAL")


@dataclass(frozen=True, kw_only=True)
class Built:
    """A workflow that is complete: what is decided with, and what is run."""

    spec: WorkflowSpec
    handlers: Mapping[str, Handler]


def check_workflow(
    name: str,
    *,
    version: int,
    owner: str,
    severity: str,
    on_failure: OnFailure | None,
    past_deadline: PastDeadline,
    runbook: Runbook,
    timeout: timedelta | None,
    stuck_after: timedelta | None,
    keyed: bool,
    locked: bool,
    budget: Budget | None,
    concurrency: int | None,
    concurrency_per_key: int | None,
) -> WorkflowSpec:
    """The workflow's own options as a Spec without steps; raises Misshapen for one that cannot work."""
    if not is_name(name):
        raise Misshapen(f"{name!r} is no name for a workflow.", "Use A-Z, 0-9 and '_', at most 64.")
    if not _is_whole(version) or version < 1:
        raise Misshapen(f"version is {version!r}.", "Give a whole number of at least 1, and raise it when runs must not mix.")
    if not _is_told(owner):
        raise Misshapen("nobody owns it.", "Give owner='…', the role that decides where a step names no approver.")
    if severity not in _SEVERITIES:
        raise Misshapen(f"severity is {severity!r}.", f"Give one of {', '.join(_SEVERITIES)}.")
    check_then("past_deadline", past_deadline, (Then.EXPIRE, Then.COMPENSATE, Then.MANUAL))
    return WorkflowSpec(
        type=name,
        version=version,
        owner=owner.strip(),
        steps=(),
        severity=severity,
        on_failure=checked_on_failure(on_failure) or Then.FAIL,
        past_deadline=past_deadline,
        timeout=None if timeout is None else microseconds(positive("timeout", timeout)),
        stuck_after=None if stuck_after is None else microseconds(positive("stuck_after", stuck_after)),
        keyed=keyed,
        locked=locked,
        concurrency=_checked_limit("concurrency", concurrency),
        concurrency_per_key=_checked_limit("concurrency_per_key", concurrency_per_key),
        runbook=_runbook(runbook),
        budget=None if budget is None else budget.to_spec(),
    )


def _checked_limit(name: str, limit: int | None) -> int | None:
    if limit is not None and not (_is_whole(limit) and 1 <= limit <= HIGHEST_LIMIT):
        raise Misshapen(f"{name} is {limit!r}.", f"Give a whole number of at least 1 and at most {HIGHEST_LIMIT}.")
    return limit


def _runbook(given: Runbook) -> tuple[tuple[str, str], ...]:
    """What to do about each error, by its code; a code that is no name would never be found."""
    found: dict[str, str] = {}
    for error, text in given.items():
        code = "" if error is None else error if isinstance(error, str) else code_of(error)
        if code in found:
            raise Misshapen(f"runbook names {code or 'every other error'} twice.", "Keep one.")
        if code and not is_name(code):
            raise Misshapen(f"runbook names {code!r}, which is no error code.", "Give an exception class, a code in capitals, or None.")
        if not _is_told(text):
            raise Misshapen(f"runbook says nothing about {code or 'every other error'}.", "Say what a person should do.")
        found[code] = text.strip()
    return tuple(sorted(found.items()))


def input_adapter(input: type[I]) -> TypeAdapter[I]:
    """The adapter of a workflow's input; it must be a type with named fields, so that it can grow."""
    kind: Any = get_origin(input) or input
    named = _is_model(kind) or dataclasses.is_dataclass(kind) or _is_typeddict(kind)
    if not named:
        raise Misshapen(f"its input {input!r} has no named fields.", "Use a pydantic model, a dataclass or a TypedDict.")
    return adapter_for(input)


def build(frame: WorkflowSpec, adapter: TypeAdapter[Any], steps: Mapping[str, tuple[StepDefinition[Any, Any], Draft]]) -> Built:
    """The finished workflow; seals its drafts. UnsafeStep if a lost answer would have no rule."""
    if not steps:
        raise DefinitionError("DEFINITION", workflow=frame.type, problem="it has no steps.", remedy="Declare at least one.")
    schema = fingerprint(adapter)
    spec = dataclasses.replace(frame, input_schema=schema, steps=tuple(draft.to_spec(schema) for _, draft in steps.values()))
    check_loops(spec)
    for step in spec.steps:
        if step.fan is not None and step.fan.items and step.fan.items not in spec.ancestors[step.name]:
            raise _misshapen(spec, step, f"is done for each of {step.fan.items}, and does not stand after it.", "Name it in after=[…].")
    spec = dataclasses.replace(spec, steps=tuple(_decided(step, spec, steps[step.name][1]) for step in spec.steps))
    for finding in check(spec):
        if finding.level == "error":
            raise UnsafeStep("UNSAFE_STEP", workflow=spec.type, step=finding.step, problem=finding.problem, remedy=finding.remedy)
    definitions = {name: definition for name, (definition, _) in steps.items()}
    handlers: dict[str, Handler] = {}
    for step in spec.steps:
        draft = steps[step.name][1]
        draft.sealed = True
        upstream = frozenset(definitions[name] for name in spec.ancestors[step.name])
        handlers[step.name] = _handler(step, draft, adapter, upstream, streams=_streams(steps, step))
    return Built(spec=spec, handlers=MappingProxyType(handlers))


def check_loops(spec: WorkflowSpec) -> None:
    """Refuses loops whose range has more than one way in or out, or in which an effect does not say what a second round means."""
    for step in spec.steps:
        if step.rewind is None:
            continue
        if step.rewind.to not in spec.ancestors[step.name]:
            raise _misshapen(spec, step, f"goes back to {step.rewind.to}, which does not stand before it.", "Name an earlier step.")
        _check_range(spec, step, frozenset(spec.loops[step.name]))
    inside = {name for names in spec.loops.values() for name in names}
    for step in spec.steps:
        if step.name not in inside and (step.per_round or step.once):
            raise _misshapen(spec, step, "says what a second round means, but stands in no loop.", "Remove per_round= and once=.")
        if step.name in inside and _repeats(step) and not (step.per_round or step.once):
            remedy = "Say per_round=True (each round is one of its own) or once=True (what the first round did is kept)."
            raise _misshapen(spec, step, "stands in a loop and does not say what a second round means.", remedy)


def _repeats(step: StepSpec) -> bool:
    """Whether a second round of it would be a second effect, or would take a second message."""
    step = step.of_item if step.fan is not None else step
    return step.sort in (Sort.TRANSACTION, Sort.EVENT, Sort.RUN) or step.can_be_lost


def _check_range(spec: WorkflowSpec, last: StepSpec, inside: frozenset[str]) -> None:
    assert last.rewind is not None
    first = last.rewind.to
    for step in spec.steps:
        outside = [name for name in step.after if name in inside and name != last.name]
        if step.name not in inside and outside:
            problem = f"stands after {outside[0]}, in the middle of the loop from {last.name} back to {first}."
            raise _misshapen(spec, step, problem, f"Let it stand after {last.name}, the way out of the loop.")


def _misshapen(spec: WorkflowSpec, step: StepSpec, problem: str, remedy: str) -> DefinitionError:
    return DefinitionError("DEFINITION", workflow=spec.type, problem=f"step {step.name} {problem}", remedy=remedy)


def _decided(step: StepSpec, spec: WorkflowSpec, draft: Draft) -> StepSpec:
    """The step with what its final failure means, also where nobody said it: only a finished graph can tell (R-D5)."""
    if draft.settings.on_failure is not None:
        return step
    return dataclasses.replace(step, on_failure=default_on_failure(step, spec))


def _handler(
    step: StepSpec, draft: Draft, adapter: TypeAdapter[Any], upstream: frozenset[StepDefinition[Any, object]], *, streams: bool
) -> Handler:
    undo = draft.undo
    probe, verify = draft.probe, draft.verify
    undo_probe, shown = (None, None) if undo is None else (undo.probe, undo.draft)
    return Handler(
        name=step.name,
        code=step.code,
        sort=step.sort,
        effect=step.effect,
        connection=draft.connection,
        body=draft.body,
        is_async=draft.shape.is_async,
        takes_mark=draft.shape.takes_mark,
        input_adapter=adapter,
        output_adapter=streamed_adapter() if draft.shape.streams else draft.shape.output,
        body_adapter=draft.shape.returns,
        errors=draft.settings.errors,
        effect_key=draft.settings.effect_key,
        probe=_function(probe),
        probe_is_async=_is_async(probe),
        verify=_function(verify),
        verify_is_async=_is_async(verify),
        upstream=upstream,
        wait=step.wait,
        condition=draft.standing.condition,
        streams=draft.shape.streams,
        item_adapter=draft.shape.item,
        item_key=draft.item_key or str,
        tools=draft.settings.tools,
        hand_over=draft.settings.hand_over,
        list_streams=streams,
        child=draft.child,
        rewind_on=() if draft.settings.rewind is None else draft.settings.rewind.kinds,
        record=_record(step.name, draft.settings.record),
        undo=None if undo is None else undo.body.function,
        undo_is_async=undo is not None and undo.body.is_async,
        undo_takes_mark=undo is not None and undo.takes_mark,
        undo_probe=_function(undo_probe),
        undo_probe_is_async=_is_async(undo_probe),
        draft=_function(shown),
        draft_is_async=_is_async(shown),
        draft_adapter=None if undo is None else undo.draft_returns,
    )


def _streams(steps: Mapping[str, tuple[StepDefinition[Any, Any], Draft]], step: StepSpec) -> bool:
    """Whether the list of its items is one that is kept line by line."""
    return step.fan is not None and bool(step.fan.items) and steps[step.fan.items][1].shape.streams


def _record(name: str, record: Callable[[Step[Any]], str] | None) -> Callable[[Step[Any]], str] | None:
    return None if record is None else lambda step: key_of(f"record of {name}", record, step)


def _function(helper: Helper | None) -> Any:
    return None if helper is None else helper.function


def _is_async(helper: Helper | None) -> bool:
    return helper is not None and helper.is_async


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _is_typeddict(kind: object) -> bool:
    return typing.is_typeddict(kind) or typing_extensions.is_typeddict(kind)


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _is_told(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())
