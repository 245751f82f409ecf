"""Whether a thing is looked for before it is made; such a look is credited, with what it proves."""

from __future__ import annotations

import ast
import re

from halfway.inspection.formats.python.effects import reads
from halfway.inspection.formats.python.frames import Frame, calls, dotted
from halfway.inspection.formats.python.retrying import leaves
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Span

Look = tuple[Span, bool]  # where, and whether what it finds is proof
_LAGGING = re.compile(r"(?i)(search|query|list|find|filter|index)")
_LISTS = re.compile(r"^(?:get|list|iter|fetch|query|all|filter)(?:_\w+)?$")
_STATE = re.compile(r"(?i)(^|_)(already\w*|sent|processed|paid|charged|notified|completed|handled|delivered|refunded|done)(_at|_on)?$")
_STATE_WORD = re.compile(r"(?i)^(sent|processed|paid|charged|notified|completed|handled|delivered|refunded|done|success|succeeded)$")


def guarded(node: ast.stmt, frame: Frame, knowledge: Knowledge) -> Look | None:
    """The look that guards all that comes after: an `if` that leaves, or a loop that returns when it has come upon the thing."""
    if isinstance(node, ast.For):
        return _searched(node, frame, knowledge)
    if not isinstance(node, ast.If):
        return None
    look = lookup(node.test, frame, knowledge)
    if look is None or not _goes(node.body):
        return None
    return look[0]


def _searched(node: ast.For, frame: Frame, knowledge: Knowledge) -> Look | None:
    """`for one in issues(): if one.title == title: return`."""
    call = reads(node.iter, frame, knowledge) or next((one for one in calls(node.iter) if _LISTS.match(_last(one, frame))), None)
    each = {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
    tests = [one.test for one in node.body if isinstance(one, ast.If) and any(isinstance(last, ast.Return) for last in one.body)]
    compared = [one for test in tests for one in ast.walk(test) if isinstance(one, ast.Compare)]
    known = any(isinstance(one, ast.Name) and one.id in each for compare in compared for one in ast.walk(compare))
    return (frame.module.span(call), False) if call is not None and known else None


def _goes(body: list[ast.stmt]) -> bool:
    return leaves(body) or any(isinstance(one, ast.Continue) for one in body)


def lookup(test: ast.expr, frame: Frame, knowledge: Knowledge) -> tuple[Look | None, Look | None] | None:
    """The look in a test: first for the branch after it was found (the else), then for the one in which it was missing."""
    positive = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, positive = test.operand, not positive
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        positive = positive is not _says_missing(test)
    look = _look(test, frame, knowledge)
    if look is None:
        return None
    return (look, None) if positive else (None, look)


def _says_missing(test: ast.Compare) -> bool:
    match test.ops[0], test.comparators[0]:
        case (ast.Is() | ast.Eq(), ast.Constant(value=None | 404 | 0 | False)):
            return True
        case (ast.NotIn(), _) | (ast.NotEq(), ast.Constant(value=str() | 200)):
            return True
        case _:
            return False


def _look(test: ast.expr, frame: Frame, knowledge: Knowledge) -> Look | None:
    call = reads(test, frame, knowledge)
    if call is not None:
        return _told(call, frame)
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and (found := frame.bound(node.id, node.lineno)) is not None and found[0].how in ("=", "with"):
            call = reads(found[0].value, found[1], knowledge)
            if call is not None:
                return _told(call, found[1])
        if isinstance(node, (ast.Attribute, ast.Subscript)) and _is_state(node, test):
            return frame.module.span(node), False
    return None


def _told(call: ast.Call, frame: Frame) -> Look:
    return frame.module.span(call), not _LAGGING.search(_last(call, frame))


def _last(call: ast.Call, frame: Frame) -> str:
    return dotted(call.func, frame).rpartition(".")[2]


def _is_state(node: ast.Attribute | ast.Subscript, test: ast.expr) -> bool:
    """Whether a part of a row says that it is done: `order.sent_at`, `order.status == "paid"`."""
    name = node.attr if isinstance(node, ast.Attribute) else str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""
    if _STATE.search(name):
        return True
    words = [one.value for one in ast.walk(test) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    parts = [one.attr for one in ast.walk(test) if isinstance(one, ast.Attribute)]
    return name in ("status", "state") and any(_STATE_WORD.match(word) for word in (*words, *parts))
