"""Keys: texts that name a business case, a record, an event. Both databases can hold them, and a person can read them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, TypeVar

from pydantic import AfterValidator, TypeAdapter
from pydantic_core import PydanticCustomError

from halfway.errors import InvalidInput

T = TypeVar("T")

KEY_LIMIT = 512


def checked_key(what: str, key: object) -> str:
    """The key as a plain text; InvalidInput if it can name nothing."""
    problem = f"it gave {type(key).__name__}." if not isinstance(key, str) else _problem(key)
    if problem:
        raise InvalidInput("KEY_INVALID", what=what, problem=problem)
    return str(key)


def key_of(what: str, function: Callable[[T], object], subject: T) -> str:
    """What an author's function names the subject; InvalidInput if it raises or names nothing."""
    try:
        key = function(subject)
    except Exception as error:
        raise InvalidInput("KEY_INVALID", what=what, problem=f"its function raised {type(error).__name__}.") from error
    return checked_key(what, key)


@cache
def key_adapter() -> TypeAdapter[str]:
    """The adapter of what the function of a wait returns."""
    return TypeAdapter(Annotated[str, AfterValidator(_valid)])


def _valid(key: str) -> str:
    problem = _problem(key)
    if problem:
        raise PydanticCustomError("key", "{problem}", {"problem": f"as a key {problem}"})
    return key


def _problem(key: str) -> str:
    if not 0 < len(key) <= KEY_LIMIT or not key.strip():
        return f"it has {len(key.strip())} characters."
    return "" if key.isprintable() else "it has control characters or half of a surrogate pair."
