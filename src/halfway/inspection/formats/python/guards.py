"""Whether a thing is looked for before it is made; such a look is credited, with what it proves."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from halfway.inspection.formats.python.effects import reads, recognised
from halfway.inspection.formats.python.frames import Frame, calls, dotted
from halfway.inspection.formats.python.kept import results
from halfway.inspection.formats.python.retrying import leaves
from halfway.inspection.formats.wording import words
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Span

Look = tuple[Span, bool]  # where, and whether what it finds is proof
_LAGGING = re.compile(r"(?i)(search|query|list|find|filter|index)")
_LISTS = re.compile(r"^(?:get|list|iter|fetch|query|all|filter)(?:_\w+)?$")
_STATES = frozenset({"status", "state", "phase", "stage"})
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


_TRANSACTION = re.compile(r"(?i)atomic|transaction|\.tm\b|\.begin\b|\.begin_nested\b")
_SETS = frozenset({"update", "set", "mark", "change", "save"})


def is_transaction(expr: ast.expr) -> bool:
    """Whether what stands in it is stored only at its end, or not at all."""
    return _TRANSACTION.search(ast.unparse(expr)) is not None


def settled(before: Sequence[ast.stmt], node: ast.stmt, frame: Frame) -> Look | None:
    """A state that was asked for and is stored as another one right here: what comes after is not reached a second time."""
    call = node.value.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Await) else getattr(node, "value", None)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if frame.function is not None and any(is_transaction(one) for one in frame.function.decorator_list):
        return None
    at = _asked_by(before, _stored(call, before)) or _taken_out(call, frame)
    return (frame.module.span(at), True) if at is not None else None


def _stored(call: ast.Call, before: Sequence[ast.stmt]) -> frozenset[str]:
    """The words of the states that a call stores: `update_status(…)`, `rows.update(state=…)`, `order.status = …; order.save()`."""
    assert isinstance(call.func, ast.Attribute)
    done = words(call.func.attr)
    if not done & _SETS:
        return frozenset()
    kept = [one.arg for one in call.keywords if one.arg] if call.func.attr == "update" else []
    if call.func.attr == "save":
        owner = ast.unparse(call.func.value)
        targets = [target for one in before if isinstance(one, ast.Assign) for target in one.targets]
        kept = [one.attr for one in targets if isinstance(one, ast.Attribute) and ast.unparse(one.value) == owner]
    return frozenset(done | {word for one in kept for word in words(one)}) & _STATES


def _asked_by(before: Sequence[ast.stmt], stored: frozenset[str]) -> ast.stmt | None:
    """The `if` that leaves where such a state is not the one that is wanted."""
    for one in before if stored else ():
        if isinstance(one, ast.If) and leaves(one.body):
            compared = [left for test in ast.walk(one.test) if isinstance(test, ast.Compare) for left in ast.walk(test.left)]
            if any(isinstance(left, ast.Attribute) and words(left.attr) & stored for left in compared):
                return one
    return None


def _taken_out(call: ast.Call, frame: Frame) -> ast.stmt | None:
    """The search by a flag whose finds this call gives the other one: `rows = find(done=False); find(id__in=rows).update(done=True)`."""
    assert isinstance(call.func, ast.Attribute)
    flags = {one.arg: one.value.value for one in call.keywords if one.arg and isinstance(one.value, ast.Constant)}
    if call.func.attr != "update" or not flags:
        return None
    used = {one.id for one in ast.walk(call) if isinstance(one, ast.Name)}
    for one in frame.module.inside(frame.function):
        if isinstance(one, ast.Assign) and one.lineno < call.lineno and used & {ast.unparse(target) for target in one.targets}:
            asked = [(part.arg, part.value.value) for made in calls(one) for part in made.keywords if isinstance(part.value, ast.Constant)]
            if any(key in flags and value != flags[key] for key, value in asked):
                return one
    return None


_CONFLICT, _INVALID = 409, 422


def refusal_heeded(call: ast.Call, statement: ast.stmt, frame: Frame, *, rejects: bool) -> Look | None:
    """Where the answer that it is there already is asked for and is no failure; 422 says so only of a receiver that is known to refuse."""
    codes = {_CONFLICT, _INVALID} if rejects else {_CONFLICT}
    names = set(results(call, statement, frame.module))
    for one in frame.module.inside(frame.function) if names else ():
        if isinstance(one, ast.If) and one.lineno >= call.lineno:
            for compare in (part for part in ast.walk(one.test) if isinstance(part, ast.Compare)):
                if _is_status(compare.left, names) and _heeds(compare, one, codes):
                    return frame.module.span(compare), True
    return None


def _is_status(expr: ast.expr, names: set[str]) -> bool:
    """`response.status_code` of one of these."""
    match expr:
        case ast.Attribute(value=ast.Name(id=name), attr="status_code" | "status"):
            return name in names
        case _:
            return False


def _heeds(compare: ast.Compare, test: ast.If, codes: set[int]) -> bool:
    """Whether the code leads past the failure: `if status == 409: return`, `if status not in (201, 409): raise`."""
    told = {one.value for one in ast.walk(compare.comparators[0]) if isinstance(one, ast.Constant)}
    fails = any(isinstance(one, ast.Raise) or _exits_with_error(one) for one in test.body)
    unlike = isinstance(compare.ops[0], (ast.NotEq, ast.NotIn))
    return not codes.isdisjoint(told) and isinstance(compare.ops[0], (ast.Eq, ast.In, ast.NotEq, ast.NotIn)) and fails is unlike


def _exits_with_error(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and leaves([node])


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
    call = reads(test, frame, knowledge) or _found_by(test, frame, knowledge)
    if call is not None:
        return _told(call, frame)
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and (found := frame.bound(node.id, node.lineno)) is not None and found[0].how in ("=", "with"):
            call = _found_by(found[0].value, found[1], knowledge)
            if call is not None:
                return _told(call, found[1])
        if isinstance(node, (ast.Attribute, ast.Subscript)) and _is_state(node, test):
            return frame.module.span(node), False
    return None


def _found_by(value: ast.expr, frame: Frame, knowledge: Knowledge, hops: int = 1) -> ast.Call | None:
    """The call that looks for what a value was made of: itself, a question to the same cursor before, one in a function of the file."""
    call = reads(value, frame, knowledge)
    if call is not None or not isinstance(value, ast.Call):
        return call
    if isinstance(value.func, ast.Attribute) and value.func.attr.startswith("fetch"):
        return _asked_before(value, value.func.value, frame, knowledge)
    function = frame.module.functions.get(dotted(value.func, frame)) if hops else None
    return _answered_by(value, Frame(frame.module, function), knowledge) if function is not None else None


def _asked_before(value: ast.Call, cursor: ast.expr, frame: Frame, knowledge: Knowledge) -> ast.Call | None:
    """`cursor.execute("SELECT …")` above `cursor.fetchone()`."""
    owner = f"{ast.unparse(cursor)}.execute"
    made = (one for one in frame.module.inside(frame.function) if isinstance(one, ast.Call) and one.lineno <= value.lineno)
    asked = (one for one in made if ast.unparse(one.func) == owner)
    last = max(asked, key=lambda one: one.lineno, default=None)
    return reads(last, frame, knowledge) if last is not None else None


def _answered_by(value: ast.Call, inner: Frame, knowledge: Knowledge) -> ast.Call | None:
    """The call itself, if the function that it calls returns what it has found and changes nothing."""
    assert inner.function is not None
    acts = any(seen.effect.outward for one in calls(ast.Module(inner.function.body, [])) for seen in recognised(one, inner, knowledge))
    returned = [one.value for one in inner.module.inside(inner.function) if isinstance(one, ast.Return) and one.value is not None]
    names = [(one, inner.bound(one.id, one.lineno)) for one in returned if isinstance(one, ast.Name)]
    values = [one for one in returned if not isinstance(one, ast.Name)] + [bound[0].value for _, bound in names if bound is not None]
    found = any(_found_by(one, inner, knowledge, 0) is not None for one in values)
    return value if found and not acts else None


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
