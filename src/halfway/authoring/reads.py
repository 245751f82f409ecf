"""Which steps an author's functions speak of: what they may read is a part of what a worker must have to run them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any, TypeGuard

from halfway.authoring.definition import StepDefinition


def steps_in(functions: Iterable[Callable[..., Any] | None]) -> tuple[StepDefinition[Any, Any], ...]:
    """The declared steps that these functions name, also by way of other functions of their module; in order of their names."""
    seen: set[FunctionType] = set()
    found: dict[str, StepDefinition[Any, Any]] = {}
    left = [function for function in map(_plain, functions) if function is not None]
    while left:
        function = left.pop()
        if function in seen:
            continue
        seen.add(function)
        for value in _values(function):
            if _is_step(value):
                found[value.name] = value
            elif isinstance(value, FunctionType) and value.__module__ == function.__module__:
                left.append(value)
    return tuple(found[name] for name in sorted(found))


def _is_step(value: object) -> TypeGuard[StepDefinition[Any, Any]]:
    return isinstance(value, StepDefinition)


def _plain(function: Callable[..., Any] | None) -> FunctionType | None:
    plain = None if function is None else inspect.unwrap(function)
    return plain if isinstance(plain, FunctionType) else None


def _values(function: FunctionType) -> Iterator[object]:
    """What the names in a function stand for, as far as they are bound outside it."""
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # it is not bound yet
            yield cell.cell_contents


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
