"""What an exception says, as a code and a text that can always be stored (B29)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from pydantic import ValidationError

from halfway.authoring.redaction import redact
from halfway.errors import HalfwayError, Outcome, code_of

MESSAGE_LIMIT = 2_000
_CAUSES = 3  # so many causes are told; the chain may be endless
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NOT_A_CODE = re.compile(r"[^A-Z0-9_]+")


def bounded(text: str, limit: int) -> str:
    """The text at most `limit` characters long, without NUL and lone surrogates."""
    if len(text) > limit:
        text = text[: max(limit - 1, 0)] + "…"
    return _UNSTORABLE.sub("\ufffd", text)


def describe(error: BaseException) -> tuple[str, str]:
    """The code and the message of an exception. Never raises, whatever the exception does."""
    try:
        return _code(error), _message(error)
    except Exception:
        return "UNKNOWN_ERROR", "The error could not be described."


def named(error: BaseException, limit: int = 500) -> str:
    """An exception in one line that can be stored: our code or its class, and what it says. Never raises."""
    name = error.code if isinstance(error, HalfwayError) else type(error).__name__
    return bounded(f"{name}: {' '.join(describe(error)[1].split())}", limit)


def problems(error: ValidationError) -> str:
    """What is wrong and where, without the value itself."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{_path(one['loc'])}: {one['msg']}" for one in found[:3]]
    if len(found) > len(told):
        told.append(f"and {len(found) - len(told)} more")
    return bounded(redact("; ".join(told)), MESSAGE_LIMIT) + "."


def name_in_path(key: object) -> str:
    """The piece of a path that leads to a field or a key."""
    text = bounded(str(key), 64)
    return f".{text}" if text.isidentifier() else f"[{text!r}]"


def _code(error: BaseException) -> str:
    given: object = getattr(error, "code", None) if isinstance(error, HalfwayError | Outcome) else None
    text = given if isinstance(given, str) else code_of(type(error))
    return _NOT_A_CODE.sub("_", text[:200].upper()).strip("_")[:64] or "ERROR"


def _message(error: BaseException) -> str:
    lines = [_text(error)]
    for cause in _causes(error):
        lines.append(f"caused by {type(cause).__name__}: {_text(cause)}")
    return bounded(redact("\n".join(lines)), MESSAGE_LIMIT)


def _text(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        return problems(error)  # its own text quotes the value
    try:
        text = str.__str__(str(error))
    except BaseException as broken:  # an author's __str__ may raise anything
        return f"{type(error).__name__} (its text cannot be read: {type(broken).__name__})"
    inner = _inner(error)
    if inner:
        first = type(inner[0]).__name__ if _inner(inner[0]) else f"{type(inner[0]).__name__}: {_text(inner[0])}"
        text = f"{text[:MESSAGE_LIMIT]}; the first is {first}"
    return bounded(text, 2 * MESSAGE_LIMIT) or type(error).__name__


def _path(loc: tuple[int | str, ...]) -> str:
    return "$" + "".join(f"[{key}]" if isinstance(key, int) else name_in_path(key) for key in loc)


def _inner(error: BaseException) -> tuple[BaseException, ...]:
    if not isinstance(error, BaseExceptionGroup):
        return ()
    return cast(tuple[BaseException, ...], error.exceptions)  # pyright: ignore[reportUnknownMemberType]


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen = {id(error)}
    current = error.__cause__
    while current is not None and id(current) not in seen and len(seen) <= _CAUSES:
        seen.add(id(current))
        yield current
        current = current.__cause__
