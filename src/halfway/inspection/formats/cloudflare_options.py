"""What is written at a step of a Cloudflare Workflow: retries, timeout, function and roll-back, with the engine's defaults."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfway.inspection.formats.durations import seconds
from halfway.inspection.formats.typescript import (
    Program,
    arguments,
    bare,
    callee,
    entry,
    is_function,
    literal,
    member,
    parameters,
    text,
    walk,
)
from halfway.inspection.model import Fact, Span

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

ATTEMPTS, TIMEOUT = 5, 600.0  # cloudflare/workerd, workflows-shared/context.ts


@dataclass(frozen=True)
class Options:
    """The options of one step."""

    attempts: int | None = ATTEMPTS  # None: no end
    retries: Span | None = None  # where they are said
    timeout: float | None = TIMEOUT
    timeout_said: bool = False
    event: str = ""
    body: Syntax | None = None
    rollback: Syntax | None = None
    back_attempts: int | None = ATTEMPTS
    back_retries: Span | None = None
    facts: tuple[Fact, ...] = ()


def options_of(program: Program, of_class: str, call: Syntax) -> Options:
    """The options of a call of `step.do` or of a wait."""
    config: Syntax | None = None
    body: Syntax | None = None
    rollback: Syntax | None = None
    for one in arguments(call)[1:]:
        found = _resolved(program, of_class, one)
        if found is None:
            continue
        if found.type == "object" and (entry(found, "rollback") is not None or entry(found, "rollbackConfig") is not None):
            rollback = found
        elif found.type == "object":
            config = found
        elif body is None:
            body = found
    attempts, retries = _attempts(program, config)
    timeout, timeout_span = _timeout(program, config)
    undone = _resolved(program, of_class, entry(rollback, "rollback"))
    back_attempts, back_retries = _attempts(program, _resolved(program, of_class, entry(rollback, "rollbackConfig")))
    return Options(
        attempts=attempts,
        retries=retries,
        timeout=timeout,
        timeout_said=timeout_span is not None,
        event=literal(program, entry(config, "type")),
        body=body.child_by_field_name("body") if body is not None else None,
        rollback=undone if is_function(undone) else None,
        back_attempts=back_attempts,
        back_retries=back_retries,
        facts=tuple(program.source.fact(span) for span in (retries, timeout_span) if span is not None),
    )


def _resolved(program: Program, of_class: str, node: Syntax | None) -> Syntax | None:
    """An object or a function, also one that is only named."""
    found = bare(node)
    if found is None or found.type == "object" or is_function(found):
        return found
    if found.type == "call_expression" and member(callee(found))[1] == "bind":
        found = member(callee(found))[0]
    owner, name = member(found)
    if owner is not None and owner.type == "this":
        return program.methods.get((of_class, name))
    if found is None or found.type not in ("identifier", "shorthand_property_identifier"):
        return None
    return program.functions.get(text(found)) or program.declaration(text(found), found)


def _attempts(program: Program, config: Syntax | None) -> tuple[int | None, Span | None]:
    retries = bare(entry(config, "retries"))
    limit = entry(retries, "limit")
    if retries is not None and retries.type == "identifier":
        limit = entry(program.declaration(text(retries), retries), "limit")
    if limit is None:
        return ATTEMPTS, None
    number = _number(program, limit)
    if number is None:  # computed: it has some end, which cannot be read
        return ATTEMPTS, program.span(limit)
    return (None if math.isinf(number) else max(1, int(number))), program.span(limit)


def _number(program: Program, node: Syntax, hops: int = 3) -> float | None:
    said = text(bare(node)).replace("_", "")
    if said == "Infinity":
        return math.inf
    if re.fullmatch(r"\d{1,12}(?:\.\d+)?(?:\s*\*\s*\d{1,12}(?:\.\d+)?)*", said):
        return math.prod(float(part) for part in said.split("*"))
    made = program.declaration(said, node) if hops else None
    return _number(program, made, hops - 1) if made is not None else None


def _timeout(program: Program, config: Syntax | None) -> tuple[float | None, Span | None]:
    said = entry(config, "timeout")
    if said is None:
        return TIMEOUT, None
    milliseconds = _number(program, said)
    found = milliseconds / 1000 if milliseconds is not None else seconds(literal(program, said))
    return (found if found is not None else TIMEOUT), program.span(said)


def rollback_is_tolerant(handler: Syntax) -> bool:
    """Whether a roll-back works without the output of its step, which a lost answer does not give."""
    given = parameters(handler)
    output = _output(given[0]) if given else None
    if output is None:
        return True
    if output.type in ("object_pattern", "array_pattern"):
        return False
    name, body = re.escape(text(output)), text(handler.child_by_field_name("body"))
    checked = rf"\(\s*!?{name}\s*[)&|]|!{name}\b|\b{name}\s*(?:&&|\|\||\?\?|\?(?!\.|\s*:)|[!=]==?)|\b{name}\?\."
    if re.search(checked, body):
        return True
    return not any(_is_dereferenced(node, text(output)) for node in walk(handler))


def _output(pattern: Syntax) -> Syntax | None:
    """The name, or the pattern, by which a handler knows the output."""
    if pattern.type == "identifier":
        return None  # `ctx.output.id` is looked at by its own name
    for one in _own_parts(pattern):
        if one.type == "pair_pattern" and text(one.child_by_field_name("key")) == "output":
            value = one.child_by_field_name("value")
            return None if value is not None and value.type == "assignment_pattern" else value
        if one.type == "shorthand_property_identifier_pattern" and text(one) == "output":
            return one
    return None


def _own_parts(pattern: Syntax) -> Iterator[Syntax]:
    yield from pattern.named_children


def _is_dereferenced(node: Syntax, name: str) -> bool:
    owner, _ = member(node)
    if owner is not None and text(owner) == name:
        return True
    if node.type != "variable_declarator":
        return False
    pattern, value = node.child_by_field_name("name"), bare(node.child_by_field_name("value"))
    return pattern is not None and pattern.type == "object_pattern" and text(value) == name
