"""What the functions of a workflow say beyond their declaration: whether the key is sent, and what a probe makes of an error."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from halfway.inspection.formats.python.effects import recognised
from halfway.inspection.formats.python.frames import Frame, calls
from halfway.inspection.formats.python.names import Function
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Bearing, Effect

MOST_EFFECTS = 10
_OWN = frozenset({"output", "missing", "evidence", "emit", "save", "read", "spend", "call"})


def bearing(function: Function, frame: Frame, hops: int = 2) -> Bearing:
    """Whether the calls of a body carry the key of its step; a function of the file that gets the whole step is followed."""
    step = next((one.arg for one in function.args.args), "")
    nodes = [node for line in function.body for node in ast.walk(line)]
    if any(isinstance(node, ast.Attribute) and node.attr == "key" and _names(node.value, step) for node in nodes):
        return Bearing.STABLE
    handed = [node for node in nodes if isinstance(node, ast.Call) and any(_names(one, step) for one in _given(node))]
    followed = [_followed(node, step, frame, hops) for node in handed]
    return Bearing.STABLE if Bearing.STABLE in followed else Bearing.UNKNOWN if Bearing.UNKNOWN in followed else Bearing.NONE


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from (*call.args, *(one.value for one in call.keywords))


def _followed(call: ast.Call, step: str, frame: Frame, hops: int) -> Bearing:
    target = frame.module.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
    first = call.args[:1]
    if target is None or not first or not _names(first[0], step) or not hops:
        return Bearing.UNKNOWN
    return bearing(target, frame, hops - 1)


def _names(expr: ast.expr, name: str) -> bool:
    return isinstance(expr, ast.Name) and expr.id == name


def seen(function: Function, frame: Frame, knowledge: Knowledge) -> tuple[tuple[Effect, ...], tuple[Effect, ...]]:
    """The outward effects that can be recognised in a body: those that its contract may be about, and those outside its mark."""
    step, mark = ([one.arg for one in function.args.args] + ["", ""])[:2]
    marked = [node for line in function.body for node in ast.walk(line) if _is_mark(node, mark)]
    inside = {id(call) for node in marked for call in calls(node)}
    within, outside = dict[str, Effect](), dict[str, Effect]()
    for line in function.body:
        for call in calls(line):
            own = isinstance(call.func, ast.Attribute) and call.func.attr in _OWN and _names(call.func.value, step)
            for one in () if own else recognised(call, frame, knowledge):
                if one.effect.outward and one.effect.certain:
                    place = outside if marked and id(call) not in inside else within
                    place.setdefault(one.effect.told, one.effect)
    return tuple(within.values())[:MOST_EFFECTS], tuple(outside.values())[:MOST_EFFECTS]


def _is_mark(node: ast.AST, mark: str) -> bool:
    return isinstance(node, (ast.With, ast.AsyncWith)) and any(_names(one.context_expr, mark) for one in node.items)


def is_unwritten(function: Function) -> bool:
    """Whether a body does nothing but say that it is still to be written."""
    body = [line for line in function.body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
    if len(body) == 1 and isinstance(body[0], (ast.With, ast.AsyncWith)):
        body = body[0].body
    match body:
        case [ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError")))]:
            return True
        case _:
            return False


def outputs(function: Function) -> Iterator[str]:
    """The functions whose output it reads: `step.output(charge)`."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="output"), args=[ast.Name(id=name)]):
                yield name
            case _:
                continue


def mistakes_errors(function: Function) -> bool:
    """Whether a probe takes an error for an absence: then what has happened is done again."""
    handlers = (node for node in ast.walk(function) if isinstance(node, ast.ExceptHandler))
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)) and ast.unparse(node.func).endswith("Absent")
        for handler in handlers
        for node in ast.walk(handler)
    )
