"""Which handler takes back which effect: by the value that it uses, by the thing that both name, or because there is no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from halfway.inspection.formats.python.frames import Frame, dotted
from halfway.inspection.formats.python.kept import results
from halfway.inspection.formats.python.marks import takes_back
from halfway.inspection.formats.python.walk import Found
from halfway.inspection.model import Repeating, Undo

_STACKS = re.compile(r"(?i)(undo|compensat|rollback|cleanup|saga|revert)")
_VERBS = re.compile(
    r"(?i)^(create|make|book|reserve|charge|capture|send|place|add|open|start|provision|register|post|do|execute|activity)_?|_?(create|activity)$"
)


def undo(found: Found, every: Sequence[Found], named: dict[int, str]) -> Undo | None:
    """What takes the effect back; None if nothing does."""
    for back in every:
        if back.around.handles in found.around.tries and takes_back(back.name) and _pairs(found, back, every):
            return _made(found, back, named[id(back)])
    return _stacked(found)


def _pairs(found: Found, back: Found, every: Sequence[Found]) -> bool:
    rivals = [one for one in every if one.seen and one.seen.effect.outward and back.around.handles in one.around.tries]
    users = [one for one in rivals if _uses(back, one)]
    if users:
        return found in users
    alike = [one for one in rivals if _noun(one.name) & _noun(back.name)]
    return found in alike if alike else len(rivals) == 1


def _noun(name: str) -> set[str]:
    parts = {part.lower() for one in name.split(".") for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", one)}
    return {part for part in parts if len(part) > 3 and not _VERBS.match(part) and not takes_back(part)} - {
        "client",
        "self",
        "requests",
        "activity",
        "objects",
    }


def _uses(back: Found, forward: Found) -> bool:
    names = {one.id for one in ast.walk(back.node) if isinstance(one, ast.Name)}
    return bool(names & set(results(forward.node, forward.statement)))


def _made(found: Found, back: Found, name: str) -> Undo:
    retried = any(one.kind is Repeating.STEP_RETRY and one.automatic for one in back.around.frame.repeaters)
    return Undo(name, back.around.frame.module.span(back.node), tolerant=_tolerant(found, back), retried=retried)


def _tolerant(found: Found, back: Found) -> bool:
    """Without the answer of the effect the undo still works: it does not use it, or asks first whether there is one."""
    used = {one.id for one in ast.walk(back.node) if isinstance(one, ast.Name)} & set(results(found.node, found.statement))
    return all(re.search(rf"\b{re.escape(name)}\b", back.around.condition) is not None for name in used)


# ── lists of undos ──


def _stacked(found: Found) -> Undo | None:
    """`undos.append(cancel)` beside the effect, and a loop over them; without the loop it is never reached."""
    frame = found.around.frame
    nodes = frame.module.inside(frame.function)
    pushes = [node for node in nodes if isinstance(node, ast.Call) and _pushes(node)]
    if not pushes:
        return None
    effects = sorted({found.statement.lineno, *(_lines_of_awaits(nodes))})
    for push in pushes:
        nearest = min(effects, key=lambda line: (abs(line - push.lineno), line))
        if nearest == found.statement.lineno and push.args:
            name = _pushed(push.args[0], frame)
            return Undo(name, frame.module.span(push), reached=_unwound(push, nodes, frame))
    return None


def _lines_of_awaits(nodes: Sequence[ast.AST]) -> list[int]:
    """The statements that do something, so that a push belongs to the nearest of them."""
    found: list[int] = []
    for node in nodes:
        if isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, (ast.Await, ast.Call)):
            call = node.value.value if isinstance(node.value, ast.Await) else node.value
            if isinstance(call, ast.Call) and not _pushes(call):
                found.append(node.lineno)
    return found


def _pushes(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr="append" | "push" | "callback" | "add_compensation" | "insert"):
            return _STACKS.search(name) is not None
        case ast.Attribute(value=ast.Attribute(attr=name), attr="append" | "push" | "add_compensation"):
            return _STACKS.search(name) is not None
        case ast.Attribute(attr="add_compensation"):
            return True
        case _:
            return False


def _pushed(expr: ast.expr, frame: Frame) -> str:
    if isinstance(expr, (ast.Tuple, ast.List)) and expr.elts:
        return _pushed(expr.elts[0], frame)
    if isinstance(expr, ast.Lambda) and isinstance(expr.body, ast.Call):
        return _pushed(expr.body.func, frame)
    if isinstance(expr, ast.Call) and expr.args:
        return _pushed(expr.args[0], frame)
    return dotted(expr, frame).rpartition(".")[2] or "undo"


def _unwound(push: ast.Call, nodes: Sequence[ast.AST], frame: Frame) -> bool:
    assert isinstance(push.func, ast.Attribute)
    stack = ast.unparse(push.func.value)
    for node in nodes:
        if isinstance(node, (ast.For, ast.AsyncFor)) and stack in ast.unparse(node.iter):
            return True
        if isinstance(node, ast.Call) and not _pushes(node) and stack in ast.unparse(node) and takes_back(dotted(node.func, frame)):
            return True
        if isinstance(node, ast.While) and stack in ast.unparse(node.test):
            return True
    return False
