"""Inputs and outputs as JSON text: what comes back is what was given, or the value is refused with its path (B27, B28).

Every value is encoded by its annotation, decoded again and compared, so nothing is changed silently.

| value | result |
|---|---|
| None, bool, int (up to 4,300 digits), finite float, str with any character | exact |
| `nan`, `inf`, `-inf`, `Decimal("nan")` | refused |
| lone surrogates | refused |
| list, dict, model, dataclass, TypedDict, Enum, UUID, Path, date, time, timedelta | exact, by annotation |
| datetime | exact instant and offset; the name of a time zone is not kept |
| Decimal | exact, `1.10` stays `1.10` |
| tuple, set, dict with keys that are not text | exact, by annotation; refused under `Any`, `object`, plain `list` |
| bytes | exact if they are UTF-8 or their model says base64; else refused: use `step.save()` |
| a subclass of the annotated model, excluded fields, a validator that changes its own result | refused |
| a float of numpy | the same float; every other scalar or array of numpy is refused |
| generator, open file, function, a value of another type than annotated | refused |
| what looks like a secret (a token, a private key, `password=…`) | stored as `[REDACTED:kind]`; later steps read that |
| a value that contains itself, nesting beyond about 200 levels, more than 256 KiB | refused |
"""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from halfway.authoring.failures import MESSAGE_LIMIT, bounded, describe, name_in_path, problems
from halfway.authoring.redaction import redact
from halfway.authoring.schemas import holds_anything
from halfway.errors import InvalidInput, UnstorableValue

__all__ = ["LIMIT", "MESSAGE_LIMIT", "bounded", "decode", "describe", "encode", "problems", "redact"]

T = TypeVar("T")

log = logging.getLogger("halfway.values")

LIMIT = 262_144  # bytes of UTF-8
_DEEPEST = 190  # what JSON readers accept, with a margin
_LONGEST_INT = 4_300 * 3_321_928 // 1_000_000  # bits of the longest integer that Python reads back


def encode(adapter: TypeAdapter[Any], value: object, *, what: str = "value") -> str:
    """The value as JSON text in ASCII; UnstorableValue if it would not come back as it is."""
    try:
        raw = adapter.serializer.to_json(value, warnings="error", ensure_ascii=True)
        again = adapter.validator.validate_json(raw)
        same = bool(again == value)
    except Exception:
        raise _refused(adapter, value, what) from None  # the cause may quote the value
    if not same:
        found = _difference(value, again, "$", exact=holds_anything(adapter))
        if found is not None:
            raise _refusal(*(next(_impossible(value, "$", []), None) or found), what)
    if len(raw) > LIMIT:
        _check_size(adapter, value, what)
    text = raw.decode("ascii")
    safe = redact(text)
    return text if safe is text else _without_secrets(adapter, safe, what)


def decode(adapter: TypeAdapter[T], text: str, *, what: str = "value") -> T:
    """The value of a JSON text; InvalidInput if the text does not fit the type."""
    try:
        return cast(T, adapter.validator.validate_json(text))
    except ValidationError as error:
        raise InvalidInput("VALUE_INVALID", what=what, problem=problems(error)) from None


def _without_secrets(adapter: TypeAdapter[Any], safe: str, what: str) -> str:
    """A value that held a secret is kept without it, if it then still is of its type (R-A10)."""
    try:
        adapter.validator.validate_json(safe)
    except ValidationError:
        raise _refusal("$", "it holds what looks like a secret", what) from None
    log.warning("the %s held what looks like a secret; it is stored as [REDACTED]", what)
    return safe


def _check_size(adapter: TypeAdapter[Any], value: object, what: str) -> None:
    size = len(adapter.serializer.to_json(value))
    if size > LIMIT:
        raise UnstorableValue(
            "VALUE_UNSTORABLE",
            path="$",
            problem=f"the {what} has {size:,} bytes, more than {LIMIT:,}.",
            remedy="Keep large content with step.save() and return the artifact.",
        )


# ── finding the part that cannot be kept; only after a failure, so it may be slow ──


def _refused(adapter: TypeAdapter[Any], value: object, what: str) -> UnstorableValue:
    bad = next(_impossible(value, "$", []), None) or _mismatch(adapter, value) or _unknown(value, "$")
    return _refusal(*(bad or ("$", f"{_kind(value)} does not come back from JSON as it was")), what)


def _refusal(path: str, problem: str, what: str) -> UnstorableValue:
    return UnstorableValue(
        "VALUE_UNSTORABLE",
        path=path,
        problem=f"{problem} ({what}).",
        remedy="Return a value that JSON can hold under the annotated type, or keep it with step.save().",
    )


def _impossible(value: object, path: str, around: list[int]) -> Iterator[tuple[str, str]]:
    """The parts that no annotation could keep."""
    reason = _leaf_problem(value)
    if reason:
        yield path, reason
    elif id(value) in around:
        yield path, "it contains itself"
    elif len(around) > _DEEPEST:
        yield bounded(path, 80), f"it is nested deeper than {_DEEPEST} levels"
    else:
        around.append(id(value))
        for step, part in _parts(value):
            yield from _impossible(part, path + step, around)
        around.pop()


def _leaf_problem(value: object) -> str | None:
    match value:
        case float() | Decimal() if not math.isfinite(value):
            return "nan and infinity are not numbers in JSON"
        case str():
            return None if _is_text(value) else "it contains half of a surrogate pair"
        case bytes() | bytearray():
            return None if _is_utf8(value) else "these bytes are not UTF-8"
        case int():
            return "the number has more than 4,300 digits" if value.bit_length() > _LONGEST_INT else None
        case _ if callable(value) and not isinstance(value, type):
            return f"{_kind(value)} is not data"
        case _ if hasattr(value, "__next__") or hasattr(value, "fileno"):
            return f"{_kind(value)} can be read only once"
        case _:
            return None


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """The parts of a value with the piece of path that leads to each."""
    if isinstance(value, BaseModel):
        yield from ((name_in_path(key), part) for key, part in value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from ((name_in_path(field.name), getattr(value, field.name, None)) for field in dataclasses.fields(value))
    elif isinstance(value, Mapping):
        for key, part in cast(Mapping[object, object], value).items():
            if isinstance(key, str) and not _is_text(key):
                yield ".(key)", key
            else:
                yield name_in_path(key), part
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{number}]", part) for number, part in enumerate(cast("list[object]", value)))


def _mismatch(adapter: TypeAdapter[Any], value: object) -> tuple[str, str] | None:
    """Where the value is of another type than annotated, or where its JSON is."""
    try:
        adapter.validator.validate_python(value, strict=True)
        adapter.validator.validate_json(adapter.serializer.to_json(value, warnings=False))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path, part = "$", value
        for key in first["loc"]:  # skips what pydantic adds, as the members of a union
            parts = dict(_parts(part))
            step = f"[{key}]" if isinstance(key, int) and f"[{key}]" in parts else name_in_path(key)
            if step in parts:
                path, part = path + step, parts[step]
        return path, f"{_kind(part)} is not what the annotation says: {first['msg']}"
    except Exception:
        return None
    return None


def _unknown(value: object, path: str) -> tuple[str, str] | None:
    """The first part that JSON has no form for."""
    for step, part in _parts(value):
        found = _unknown(part, path + step)
        if found:
            return found
    try:
        to_json(value)
    except Exception:
        return path, f"JSON has no form for {_kind(value)}"
    return None


def _difference(value: object, again: object, path: str, *, exact: bool) -> tuple[str, str] | None:
    """The first part that comes back as something else."""
    before, after = dict(_parts(value)), dict(_parts(again))
    if _one_of(value, again, (Mapping,)) and _keys(value) != _keys(again):
        return path, "its keys would come back as something else"
    alike = type(value) is type(again) or (not exact and _one_of(value, again, (list, tuple), (set, frozenset), (Mapping,)))
    if alike and before.keys() == after.keys() and before and not _one_of(value, again, (set, frozenset)):
        found = (_difference(part, after[step], path + step, exact=exact) for step, part in before.items())
        return next((one for one in found if one is not None), None)
    if alike and (_equal(value, again) or type(value).__eq__ is object.__eq__):
        return None
    if type(value) is not type(again) and not _equal(value, again):
        return path, f"{_kind(value)} would come back as {_kind(again)}"
    return None if _equal(value, again) else (path, f"{_kind(value)} would come back changed")


def _keys(value: object) -> set[object]:
    return set(cast(Mapping[object, object], value))


def _one_of(value: object, again: object, *families: tuple[type, ...]) -> bool:
    """Whether both are of the same family."""
    return any(isinstance(value, family) and isinstance(again, family) for family in families)


def _equal(value: object, again: object) -> bool:
    try:
        return bool(value == again)
    except Exception:
        return False


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _is_utf8(raw: bytes | bytearray) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
