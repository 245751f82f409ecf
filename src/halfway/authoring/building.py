"""From declarations to the Spec and the Handlers; the checks that need the whole workflow."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, TypeVar, get_origin

import typing_extensions
from pydantic import BaseModel, TypeAdapter

from halfway.authoring.definition import StepDefinition
from halfway.authoring.options import checked_on_failure, positive
from halfway.authoring.policy import microseconds
from halfway.authoring.schemas import fingerprint
from halfway.authoring.shape import Misshapen, adapter_for
from halfway.authoring.steps import Draft, Handler, Helper
from halfway.domain.check import check
from halfway.domain.spec import OnFailure, PastDeadline, StepSpec, Then, WorkflowSpec
from halfway.errors import DefinitionError, UnsafeStep

I = TypeVar("I")

_NAME = re.compile(r"[A-Z0-9_]{1,64}")
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
    on_failure: OnFailure,
    past_deadline: PastDeadline,
    timeout: timedelta | None,
    stuck_after: timedelta | None,
    keyed: bool,
    locked: bool,
) -> WorkflowSpec:
    """The workflow's own options as a Spec without steps; raises Misshapen for one that cannot work."""
    if not _is_name(name):
        raise Misshapen(f"{name!r} is no name for a workflow.", "Use A-Z, 0-9 and '_', at most 64.")
    if not _is_whole(version) or version < 1:
        raise Misshapen(f"version is {version!r}.", "Give a whole number of at least 1, and raise it when runs must not mix.")
    if not _is_told(owner):
        raise Misshapen("nobody owns it.", "Give owner='…', the role that decides where a step names no approver.")
    if severity not in _SEVERITIES:
        raise Misshapen(f"severity is {severity!r}.", f"Give one of {', '.join(_SEVERITIES)}.")
    if past_deadline not in (Then.EXPIRE, Then.MANUAL):
        raise Misshapen(f"past_deadline is {past_deadline}.", "Give Then.EXPIRE or Then.MANUAL.")
    return WorkflowSpec(
        type=name,
        version=version,
        owner=owner.strip(),
        steps=(),
        severity=severity,
        on_failure=checked_on_failure(on_failure),
        past_deadline=past_deadline,
        timeout=None if timeout is None else microseconds(positive("timeout", timeout)),
        stuck_after=None if stuck_after is None else microseconds(positive("stuck_after", stuck_after)),
        keyed=keyed,
        locked=locked,
    )


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
    for finding in check(spec):
        if finding.level == "error":
            raise UnsafeStep("UNSAFE_STEP", workflow=spec.type, step=finding.step, problem=finding.problem, remedy=finding.remedy)
    definitions = {name: definition for name, (definition, _) in steps.items()}
    handlers: dict[str, Handler] = {}
    for step in spec.steps:
        draft = steps[step.name][1]
        draft.sealed = True
        upstream = frozenset(definitions[name] for name in spec.ancestors[step.name])
        handlers[step.name] = _handler(step, draft, adapter, upstream)
    return Built(spec=spec, handlers=MappingProxyType(handlers))


def _handler(step: StepSpec, draft: Draft, adapter: TypeAdapter[Any], upstream: frozenset[StepDefinition[Any, object]]) -> Handler:
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
        output_adapter=draft.shape.output,
        errors=draft.settings.errors,
        effect_key=draft.settings.effect_key,
        probe=_function(draft.probe),
        probe_is_async=draft.probe is not None and draft.probe.is_async,
        verify=_function(draft.verify),
        verify_is_async=draft.verify is not None and draft.verify.is_async,
        upstream=upstream,
    )


def _function(helper: Helper | None) -> Any:
    return None if helper is None else helper.function


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _is_typeddict(kind: object) -> bool:
    return typing.is_typeddict(kind) or typing_extensions.is_typeddict(kind)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _is_told(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())
