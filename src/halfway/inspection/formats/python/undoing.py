"""Which handler takes back which effect: by the value that it uses, by the thing that both name, or because there is no other."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from halfway.inspection.formats.python.frames import Frame, dotted
from halfway.inspection.formats.python.kept import results
from halfway.inspection.formats.python.marks import takes_back
from halfway.inspection.formats.python.names import Function
from halfway.inspection.formats.python.walk import Found
from halfway.inspection.model import Repeating, Undo

_STACKS = re.compile(r"(?i)(undo|compensat|rollback|cleanup|saga|revert)")
_VERBS = re.compile(
    r"(?i)^(create|make|book|reserve|charge|capture|send|place|add|open|start|provision|register|post|do|execute|activity)_?|_?(create|activity)$"
)


class Undoing:
    """The handlers of one automation; for which effects each is there is found out once."""

    def __init__(self, every: Sequence[Found], named: Mapping[int, str]) -> None:
        self._named = named
        self._backs = [one for one in every if one.around.handles and takes_back(one.name)]
        self._tried: dict[int, list[Found]] = {}  # by try block, the effects in its body
        for one in every:
            for block in one.around.tries if one.seen and one.seen.effect.outward else ():
                self._tried.setdefault(block, []).append(one)
        self._given = {
            id(one): frozenset(results(one.node, one.statement, one.around.frame.module)) for tried in self._tried.values() for one in tried
        }
        self._nouns = {id(one): _noun(one.name) for tried in self._tried.values() for one in tried}
        self._paired: dict[int, frozenset[int]] = {}
        self._unwound: dict[tuple[Function | None, str], bool] = {}
        self._pushed: dict[Function | None, tuple[list[ast.Call], list[int]]] = {}

    def of(self, found: Found) -> Undo | None:
        """What takes the effect back; None if nothing does."""
        for back in self._backs:
            if back.around.handles in found.around.tries and id(found) in self._pairs(back):
                return _made(found, back, self._named[id(back)])
        return self._stacked(found)

    def _pairs(self, back: Found) -> frozenset[int]:
        if id(back) not in self._paired:
            rivals = self._tried.get(back.around.handles, [])
            used, noun = _names(back), _noun(back.name)
            pairs = [one for one in rivals if used & self._given[id(one)]] or [one for one in rivals if noun & self._nouns[id(one)]]
            self._paired[id(back)] = frozenset(id(one) for one in pairs or (rivals if len(rivals) == 1 else ()))
        return self._paired[id(back)]

    def _stacked(self, found: Found) -> Undo | None:
        """`undos.append(cancel)` beside the effect, and a loop over them; without the loop it is never reached."""
        frame = found.around.frame
        nodes = frame.module.inside(frame.function)
        if frame.function not in self._pushed:
            pushes = [node for node in nodes if isinstance(node, ast.Call) and _pushes(node)]
            self._pushed[frame.function] = pushes, _lines_of_awaits(nodes) if pushes else []
        pushes, lines = self._pushed[frame.function]
        effects = sorted({found.statement.lineno, *lines})
        for push in pushes:
            nearest = _nearest(effects, push.lineno)
            if nearest == found.statement.lineno and push.args:
                name = _pushed(push.args[0], frame)
                return Undo(name, frame.module.span(push), reached=self._is_unwound(push, nodes, frame))
        return None

    def _is_unwound(self, push: ast.Call, nodes: Sequence[ast.AST], frame: Frame) -> bool:
        assert isinstance(push.func, ast.Attribute)
        stack = ast.unparse(push.func.value)
        if (frame.function, stack) not in self._unwound:
            self._unwound[frame.function, stack] = _unwound(stack, nodes, frame)
        return self._unwound[frame.function, stack]


def _noun(name: str) -> set[str]:
    parts = {part.lower() for one in name.split(".") for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", one)}
    return {part for part in parts if len(part) > 3 and not _VERBS.match(part) and not takes_back(part)} - {
        "client",
        "self",
        "requests",
        "activity",
        "objects",
    }


def _names(found: Found) -> set[str]:
    return {one.id for one in ast.walk(found.node) if isinstance(one, ast.Name)}


def _made(found: Found, back: Found, name: str) -> Undo:
    retried = any(one.kind is Repeating.STEP_RETRY and one.automatic for one in back.around.frame.repeaters)
    return Undo(name, back.around.frame.module.span(back.node), tolerant=_tolerant(found, back), retried=retried)


def _tolerant(found: Found, back: Found) -> bool:
    """Without the answer of the effect the undo still works: it does not use it, or asks first whether there is one."""
    used = _names(back) & set(results(found.node, found.statement, found.around.frame.module))
    return all(re.search(rf"\b{re.escape(name)}\b", back.around.condition) is not None for name in used)


# ── lists of undos ──


def _nearest(lines: Sequence[int], to: int) -> int:
    """Of the sorted lines the nearest, of two the earlier one."""
    place = bisect_right(lines, to)
    return min(lines[max(0, place - 1) : place + 1], key=lambda line: (abs(line - to), line))


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


def _unwound(stack: str, nodes: Sequence[ast.AST], frame: Frame) -> bool:
    for node in nodes:
        if isinstance(node, (ast.For, ast.AsyncFor)) and stack in ast.unparse(node.iter):
            return True
        if isinstance(node, ast.Call) and not _pushes(node) and stack in ast.unparse(node) and takes_back(dotted(node.func, frame)):
            return True
        if isinstance(node, ast.While) and stack in ast.unparse(node.test):
            return True
    return False
