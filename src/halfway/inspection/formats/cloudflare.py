"""Reads Cloudflare Workflows: classes in TypeScript, also in the fences of a page, and what their instances tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halfway.inspection.formats import Given, Reader
from halfway.inspection.formats.cloudflare_instances import instances
from halfway.inspection.formats.cloudflare_run import Walk, walked
from halfway.inspection.formats.shell import secrets
from halfway.inspection.formats.ts_actions import Reading
from halfway.inspection.formats.typescript import (
    Program,
    arguments,
    callee,
    dotted,
    entry,
    member,
    names_in,
    parameters,
    parsed,
    text,
    texts,
    walk,
)
from halfway.inspection.model import Fact, Flow, Repeater, Repeating, RunLog, Span, Starting, Step, Trigger
from halfway.inspection.source import Source, Unreadable

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

NAME = "cloudflare"
_CLASS = re.compile(r"\bextends\s+(?:WorkflowEntrypoint|AgentWorkflow)\b")
_STEPS = re.compile(r"\bstep\s*\.\s*(?:do|waitForEvent)\s*[<(]")
_QUEUED = "queue without an id"
_HANDLERS = {"fetch": Starting.EVENT, "scheduled": Starting.SCHEDULE, "queue": Starting.EVENT, "email": Starting.EVENT}


class Cloudflare:
    """The reader of Workflows."""

    name = NAME

    def takes(self, source: Source, /) -> bool:
        return _CLASS.search(source.text) is not None or _STEPS.search(source.text) is not None or bool(instances(source))

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        try:
            found = [
                flow for text_ in texts(source) if _STEPS.search(text_.text) or _CLASS.search(text_.text) for flow in _flows(text_, given)
            ]
        except RecursionError as error:
            raise Unreadable("it is nested too deeply") from error
        yield from found

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        yield from instances(source)


@dataclass(frozen=True)
class _File:
    """What is the same for each class of a file."""

    triggers: tuple[Trigger, ...]
    secrets: tuple[Fact, ...]


def _flows(source: Source, given: Given) -> Iterator[Flow]:
    program = parsed(source)
    file = _File(tuple(_triggers(program)), tuple(secrets(source)))
    found = False
    for node in walk(program.root):
        if node.type in ("class_declaration", "class", "abstract_class_declaration") and _extends(node):
            name = text(node.child_by_field_name("name")) or "Workflow"
            run = program.methods.get((name, "run"))
            if run is not None:
                found = True
                given_names = [next(iter(names_in(one)), "") for one in parameters(run)]
                step = given_names[1] if len(given_names) > 1 else "step"
                yield _flow(Reading(program, given, name), run.child_by_field_name("body"), step, program.span(node), file)
    if not found and not _CLASS.search(source.text):
        yield _flow(Reading(program, given, ""), program.root, "step", program.span(program.root), file)


def _extends(node: Syntax) -> bool:
    heritage = next((one for one in node.named_children if one.type == "class_heritage"), None)
    return heritage is not None and _CLASS.search(text(heritage)) is not None


def _flow(reading: Reading, body: Syntax | None, step: str, span: Span, file: _File) -> Flow:
    program, name = reading.program, reading.of_class
    span = replace(span, at=name)
    way = walked(reading, body, step, span) if body is not None else Walk(reading, step, span)
    steps = tuple(_redelivered(way.finished(), file.triggers))
    source = program.source
    return Flow(
        id=name or source.path.rpartition("/")[2],
        name=name or source.path.rpartition("/")[2],
        format=NAME,
        file=source.path,
        span=span,
        steps=steps,
        edges=tuple(way.edges),
        triggers=file.triggers,
        notice_expected=False,
        undoes=True,
        unread=tuple(step.opaque for step in steps if step.opaque is not None),
        secrets=file.secrets,
    )


def _redelivered(steps: tuple[Step, ...], triggers: tuple[Trigger, ...]) -> Iterator[Step]:
    """Steps of an instance that a message starts, which may come twice, under an id that is new each time."""
    repeaters = tuple(
        Repeater(Repeating.REDELIVERY, True, None, one.span) for one in triggers if one.kind is Starting.EVENT and _QUEUED in one.span.at
    )
    yield from (replace(step, repeaters=(*step.repeaters, *repeaters)) for step in steps)


def _triggers(program: Program) -> Iterator[Trigger]:
    """What creates instances in the same file; the input that the instance gets is told."""
    for node in walk(program.root):
        if node.type != "call_expression" or member(callee(node))[1] not in ("create", "createBatch"):
            continue
        handler = _handler(node)
        if handler and re.search(r"\benv\.\w+\.create", dotted(program, callee(node))):
            given = arguments(node)
            inputs = entry(given[0], "params") if given else None
            names = (
                [text(one.child_by_field_name("key")) for one in inputs.named_children if one.type == "pair"] if inputs is not None else []
            )
            own_id = bool(given) and entry(given[0], "id") is not None
            span = replace(program.span(node), at=_QUEUED if handler == "queue" and not own_id else handler)
            yield Trigger(_HANDLERS[handler], span, program.source.fact(span).quote, tuple(names))


def _handler(node: Syntax) -> str:
    current = node.parent
    while current is not None:
        if current.type == "method_definition" and text(current.child_by_field_name("name")) in _HANDLERS:
            return text(current.child_by_field_name("name"))
        current = current.parent
    return ""


READER: Reader = Cloudflare()
