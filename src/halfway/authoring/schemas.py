"""What pydantic knows about an annotated type: whether it can be kept, what it mentions, and its fingerprint."""

from __future__ import annotations

import hashlib
import json
import typing
from collections.abc import Coroutine, Iterator
from typing import Any, cast

from pydantic import TypeAdapter

_PROSE = ("title", "description", "examples")
_NAMED = ("properties", "$defs", "patternProperties")  # here the keys are the author's names, not JSON Schema's


class Misshapen(Exception):
    """Why a function or a type cannot be used; the caller knows where it stands."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem, self.remedy = problem, remedy


def adapter_for(annotation: Any) -> TypeAdapter[Any]:
    """The pydantic adapter of a type; refuses a type whose values cannot be kept."""
    if typing.get_origin(annotation) in (Coroutine, typing.Awaitable):
        raise Misshapen("the annotation is a coroutine.", "Write the function with 'async def' and annotate what it returns.")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise Misshapen(f"pydantic cannot handle {annotation!r}: {reason}.", "Use a model, a dataclass or a plain type.") from error
    if mentions(adapter, kind="generator"):
        raise Misshapen(f"{annotation!r} can be read only once.", "Use list[…].")
    if mentions(adapter, kind="callable"):
        raise Misshapen(f"{annotation!r} holds a function, which is not data.", "Use a model, a dataclass or a plain type.")
    return adapter


def mentions(adapter: TypeAdapter[Any], *, kind: str | None = None, cls: type | None = None) -> bool:
    """Whether the type contains, at any depth, a part of this kind of pydantic or this class."""
    for node in _nodes(adapter.core_schema):
        if (kind is not None and node.get("type") == kind) or (cls is not None and node.get("cls") is cls):
            return True
    return False


def holds_anything(adapter: TypeAdapter[Any]) -> bool:
    """Whether some part of the type is `Any`, so that JSON alone decides what comes back."""
    return any(_is_open(node) for node in _nodes(adapter.core_schema))


def fingerprint(adapter: TypeAdapter[Any]) -> str:
    """A short hash of the type's shape; a changed docstring or title does not change it."""
    try:
        shape: object = _without_prose(adapter.json_schema(mode="validation"))
    except Exception:  # a type that pydantic can read but not describe
        shape = repr(adapter)
    return short_hash(json.dumps(shape, sort_keys=True, default=str))


def short_hash(*parts: str) -> str:
    """The first 16 hex digits of the SHA-256 of all parts."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def _is_open(node: dict[str, object]) -> bool:
    match node.get("type"):
        case "any":
            return True
        case "list" | "set" | "frozenset":
            return "items_schema" not in node
        case "dict":
            return "keys_schema" not in node or "values_schema" not in node
        case _:
            return False


def _nodes(part: object) -> Iterator[dict[str, object]]:
    if isinstance(part, dict):
        node = cast("dict[str, object]", part)
        yield node
        for key, inner in node.items():
            if key not in ("metadata", "config"):
                yield from _nodes(inner)
    elif isinstance(part, list | tuple):
        for inner in cast("list[object]", part):
            yield from _nodes(inner)


def _without_prose(part: object, *, named: bool = False) -> object:
    if isinstance(part, dict):
        return {
            key: _without_prose(inner, named=not named and key in _NAMED)
            for key, inner in cast("dict[str, object]", part).items()
            if named or key not in _PROSE
        }
    if isinstance(part, list):
        return [_without_prose(inner) for inner in cast("list[object]", part)]
    return part
