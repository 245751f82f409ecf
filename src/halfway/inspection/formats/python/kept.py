"""Where the id that a receiver gave is kept: returned, stored, handed on, printed or logged."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from halfway.inspection.formats.python.frames import Frame
from halfway.inspection.formats.python.names import Module
from halfway.inspection.model import Span

HOPS = 3
_NO_ID = {"status_code", "ok", "reason", "elapsed", "raise_for_status", "returncode", "headers", "status", "check_returncode"}


def kept(call: ast.expr, statement: ast.stmt, frame: Frame) -> tuple[Span, ...]:
    """The places, the first of each line; none if the result is dropped or only asked whether it went well."""
    found = list(_kept_at_once(call, statement, frame))
    for name in results(call, statement, frame.module):
        found.extend(_uses(name, statement, frame, HOPS, set()))
    return tuple(dict.fromkeys(found))


def _kept_at_once(call: ast.expr, statement: ast.stmt, frame: Frame) -> Iterator[Span]:
    """`return create()`, `order.ref = create().id`, `save(create())`."""
    around = _around(call, statement, frame.module)
    if isinstance(statement, ast.Return) and _carries(statement, around, len(around)):
        yield frame.module.span(statement)
    if isinstance(statement, ast.Assign) and any(isinstance(one, (ast.Attribute, ast.Subscript)) for one in statement.targets):
        yield frame.module.span(statement)
    for place, node in reversed(list(enumerate(around))):
        if isinstance(node, ast.Call) and place and around[place - 1] is not node.func and _carries(node, around, place):
            yield frame.module.span(node)


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _around(call: ast.AST, statement: ast.stmt, module: Module) -> list[ast.AST]:
    """The call, what it is part of, and so on up to the statement."""
    above, found = module.above(statement), [call]
    while (outer := above.get(found[-1])) is not None:
        found.append(outer)
    return found


def _carries(outer: ast.AST, around: Sequence[ast.AST], place: int) -> bool:
    """Whether more than success or failure is taken from the result, as far as the part before this place."""
    if isinstance(outer, ast.Return) and isinstance(outer.value, ast.Compare):
        return False
    return not any(isinstance(one, ast.Attribute) and one.attr in _NO_ID for one in around[1:place])


def results(call: ast.AST, statement: ast.stmt, module: Module) -> list[str]:
    """The names that the result of a call is given."""
    around = _around(call, statement, module)
    match statement:
        case ast.Assign(targets=targets, value=value) if value in around:
            return [
                one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
            ]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.optional_vars.id for item in items if isinstance(item.optional_vars, ast.Name) and item.context_expr in around]
        case ast.If(test=test):
            return [one.target.id for one in ast.walk(test) if isinstance(one, ast.NamedExpr)]
        case _:
            return []


def _uses(name: str, after: ast.stmt, frame: Frame, hops: int, seen: set[tuple[str, ast.stmt, int]]) -> Iterator[Span]:
    """Where a name, or a name made from it, is kept later on; names that are made of each other are followed once."""
    if (name, after, hops) in seen:
        return
    seen.add((name, after, hops))
    for node in frame.module.statements_with(name, frame.function):
        if (
            node.lineno < after.lineno
            or node is after
            or isinstance(node, (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Raise))
            or not any(_means(one, name) for one in ast.walk(node))
        ):
            continue
        if _stores(node):
            yield frame.module.span(node)
        elif isinstance(node, ast.Assign) and hops:
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id != name:
                    yield from _uses(target.id, node, frame, hops - 1, seen)


def _means(node: ast.AST, name: str) -> bool:
    """A use of the name as it is, or of a part of it that may be an id."""
    match node:
        case ast.Attribute(value=ast.Name(id=one), attr=attr) if one == name:
            return attr not in _NO_ID
        case ast.Return(value=ast.Name(id=one)) | ast.Subscript(value=ast.Name(id=one)) | ast.FormattedValue(value=ast.Name(id=one)):
            return one == name
        case ast.Call():
            return any(isinstance(one, ast.Name) and one.id == name for one in _arguments(node))
        case ast.Dict(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
            return any(isinstance(one, ast.Name) and one.id == name for one in values)
        case ast.Assign(value=ast.Name(id=one)):
            return one == name
        case _:
            return False


def _stores(node: ast.stmt) -> bool:
    match node:
        case ast.Return():
            return not isinstance(node.value, ast.Compare)
        case ast.Assign(targets=targets):
            return any(isinstance(one, (ast.Attribute, ast.Subscript)) for one in targets)
        case ast.Expr(value=ast.Call() | ast.Await()):
            return True
        case _:
            return False
