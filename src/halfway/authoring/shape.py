"""Reading an author's function: what it takes, what it returns, and why it cannot be a step."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import FunctionType
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter

from halfway.authoring.schemas import Misshapen, adapter_for
from halfway.authoring.step import AsyncMark, Mark


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a step's function looks like."""

    is_async: bool
    takes_mark: bool
    output: TypeAdapter[Any]  # what readers of the step get
    returns: TypeAdapter[Any]  # what the function itself returns; another thing only in a wait
    item: TypeAdapter[Any] | None = None  # of a step that is done for many: what it takes
    streams: bool = False  # a generator: what it yields is kept line by line, and `returns` is one line


def read_step(function: Callable[..., object], names: Mapping[str, Any]) -> Shape:
    """The shape of a step's function; `names` are the local names its annotations may use."""
    is_async = is_coroutine(function)
    taken = parameters(function, may_yield=True)
    if len(taken) not in (1, 2):
        raise Misshapen(f"{called(function)} takes {len(taken)} arguments.", "Take the step, and the mark if you want it.")
    if len(taken) == 2:
        _check_mark(annotation_of(function, taken[1], names), is_async)
    output = returned(function, names, yields=inspect.isgeneratorfunction(function))
    return Shape(
        is_async=is_async, takes_mark=len(taken) == 2, output=output, returns=output, streams=inspect.isgeneratorfunction(function)
    )


def read_item_step(function: Callable[..., object], names: Mapping[str, Any]) -> Shape:
    """The shape of a function that is called for each item."""
    is_async = is_coroutine(function)
    taken = parameters(function)
    if len(taken) not in (2, 3):
        raise Misshapen(f"{called(function)} takes {len(taken)} arguments.", "Take the step and the item, and the mark if you want it.")
    if len(taken) == 3:
        _check_mark(annotation_of(function, taken[2], names), is_async, which="third")
    item = annotation_of(function, taken[1], names)
    if item is inspect.Parameter.empty:
        raise Misshapen(f"{called(function)} does not say what an item is.", "Annotate its second argument.")
    output = returned(function, names)
    return Shape(is_async=is_async, takes_mark=len(taken) == 3, output=output, returns=output, item=adapter_for(item))


def read_children(function: Callable[..., object]) -> Shape:
    """The shape of the function that says which runs are started."""
    if is_coroutine(function):
        raise Misshapen(f"{called(function)} is 'async def', but it only makes inputs.", "Write it with 'def'.")
    found = len(parameters(function, may_yield=True))
    if found != 1:
        raise Misshapen(f"{called(function)} takes {found} arguments.", "Take the step.")
    nothing = adapter_for(None)
    return Shape(is_async=False, takes_mark=False, output=nothing, returns=nothing)


def read_transaction(function: Callable[..., object], names: Mapping[str, Any]) -> Shape:
    """The shape of a transaction's function."""
    if is_coroutine(function):
        raise Misshapen(f"{called(function)} is 'async def', but a transaction holds its connection while it runs.", "Write it with 'def'.")
    taken = parameters(function)
    if len(taken) != 2:
        raise Misshapen(f"{called(function)} takes {len(taken)} arguments.", "Take the step and the connection.")
    output = returned(function, names)
    return Shape(is_async=False, takes_mark=False, output=output, returns=output)


def read_wait(function: Callable[..., object], *, returns: TypeAdapter[Any], output: TypeAdapter[Any]) -> Shape:
    """The shape of the function of a wait, which says what it waits for."""
    found = len(parameters(function))
    if found != 1:
        raise Misshapen(f"{called(function)} takes {found} arguments.", "Take the step; a wait begins no effect, so it has no mark.")
    return Shape(is_async=is_coroutine(function), takes_mark=False, output=output, returns=returns)


def read_undo(function: Callable[..., object], names: Mapping[str, Any], *, item: bool = False) -> tuple[bool, bool]:
    """Whether an undo is `async def`, and whether it takes the mark; `item`: after the step it takes the item."""
    is_async = is_coroutine(function)
    taken = parameters(function)
    if item:
        if len(taken) != 3:
            problem = f"the undo {called(function)} takes {len(taken)} arguments."
            raise Misshapen(problem, "Take the step, the item and its output.")
        return is_async, False
    if len(taken) not in (2, 3):
        told = "Take the step and its output, and the mark if you want it."
        raise Misshapen(f"the undo {called(function)} takes {len(taken)} arguments.", told)
    if len(taken) == 3:
        _check_mark(annotation_of(function, taken[2], names), is_async, which="third", what="undo")
    return is_async, len(taken) == 3


def read_transaction_undo(function: Callable[..., object]) -> None:
    """Refuses what cannot be the undo of a transaction."""
    if is_coroutine(function):
        problem = f"the undo {called(function)} is 'async def', but a transaction holds its connection while it runs."
        raise Misshapen(problem, "Write it with 'def'.")
    found = len(parameters(function))
    if found != 3:
        raise Misshapen(f"the undo {called(function)} takes {found} arguments.", "Take the step, the connection and the output.")


def read_helper(function: Callable[..., object], *, takes: int, what: str) -> bool:
    """Whether a probe or a verify function is `async def`; refuses one that takes the wrong number of arguments."""
    found = len(parameters(function))
    if found != takes:
        told = "the step" if takes == 1 else "the step and its output"
        raise Misshapen(f"the {what} {called(function)} takes {found} arguments.", f"Take {told}.")
    return is_coroutine(function)


def read_condition(function: object) -> None:
    """Refuses what cannot say whether a step runs."""
    if not callable(function):
        raise Misshapen(f"when: {function!r} is not a function.", "Give a function of the step that answers True or False.")
    if is_coroutine(function):
        raise Misshapen(f"when: {called(function)} is 'async def'.", "A condition only looks at what is there: write it with 'def'.")
    found = len(parameters(function))
    if found != 1:
        raise Misshapen(f"when: {called(function)} takes {found} arguments.", "Take the step.")


def name_of_condition(function: Callable[..., object] | None) -> str:
    """How a condition is called where it is told: by its name, a lambda by its text; empty if there is none."""
    if function is None:
        return ""
    name = called(function)
    return name if name != "<lambda>" else _lambda_text(function) or name


def _lambda_text(function: Callable[..., object]) -> str:
    """What a lambda says; empty where its source is not at hand, or two lambdas stand in one place."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)).lstrip("@ "))
    except (OSError, TypeError, SyntaxError):
        return ""
    line = getattr(getattr(function, "__code__", None), "co_firstlineno", first) - first + 1
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and node.lineno == line]
    return ast.unparse(found[0].body)[:200] if len(found) == 1 else ""


def called(function: object) -> str:
    """The name of a function for messages."""
    return str(getattr(function, "__name__", type(function).__name__))


def is_coroutine(function: Callable[..., object]) -> bool:
    """Whether calling it gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def parameters(function: Callable[..., object], *, may_yield: bool = False) -> list[inspect.Parameter]:
    """The positional parameters that must be given."""
    if (inspect.isgeneratorfunction(function) and not may_yield) or inspect.isasyncgenfunction(function):
        raise Misshapen(f"{called(function)} is a generator.", "Return the output instead of yielding it.")
    found: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise Misshapen(f"{called(function)} takes {parameter}, which nobody gives.", "Give it a default, or remove it.")
        found.append(parameter)
    return found


def annotation_of(function: Callable[..., object], parameter: inspect.Parameter, names: Mapping[str, Any]) -> object:
    """The evaluated annotation of a parameter, or the empty annotation."""
    return _evaluated(function, parameter.annotation, names)


def _check_mark(annotation: object, is_async: bool, *, which: str = "second", what: str = "step") -> None:
    if annotation is inspect.Parameter.empty:
        return
    wanted = AsyncMark if is_async else Mark
    if annotation is not wanted:
        how = "async def" if is_async else "def"
        raise Misshapen(
            f"the {which} argument is annotated as {getattr(annotation, '__name__', annotation)}.",
            f"A '{how}' {what} takes 'mark: {wanted.__name__}' there, or nothing.",
        )


def returned(function: Callable[..., object], names: Mapping[str, Any], *, yields: bool = False) -> TypeAdapter[Any]:
    """The adapter of what a function says that it returns, or that it yields."""
    annotation = inspect.signature(function).return_annotation
    if annotation is inspect.Signature.empty:
        raise Misshapen(f"{called(function)} does not say what it returns.", "Annotate it, '-> None' if it returns nothing.")
    kind = _evaluated(function, annotation, names)
    if yields:
        if get_origin(kind) not in (Iterator, Iterable, Generator) or not get_args(kind):
            raise Misshapen(f"{called(function)} is a generator and does not say of what.", "Annotate it as Iterator[…].")
        kind = get_args(kind)[0]
    return adapter_for(kind)


def _evaluated(function: Callable[..., object], annotation: object, names: Mapping[str, Any]) -> object:
    if not isinstance(annotation, str):
        return annotation
    plain: Any = inspect.unwrap(getattr(function, "func", function))
    known: dict[str, Any] = {**names, **(_enclosed(plain) if inspect.isfunction(plain) else {})}
    try:
        return eval(annotation, getattr(plain, "__globals__", {}), known)
    except Exception as error:
        raise Misshapen(f"the annotation {annotation!r} cannot be resolved: {error}.", "Import or define that name.") from error


def _enclosed(function: FunctionType) -> dict[str, Any]:
    """What a function sees of the functions around it; a variable that has no value yet is no annotation."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            found[name] = cell.cell_contents
    return found
