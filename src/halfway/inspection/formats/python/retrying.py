"""Who does a function again: decorators of tenacity, backoff and their like, and loops that try until it works."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from halfway.inspection.formats.python.frames import Frame, dotted, keyword, number, text
from halfway.inspection.formats.python.names import Function, is_own, is_standard
from halfway.inspection.model import Repeater, Repeating

MANY = 1_000  # it ends, but the file does not say after how many attempts
_BOUNDS = (
    "attempts",
    "tries",
    "max_tries",
    "max_attempts",
    "stop_max_attempt_number",
    "max_retries",
    "retries",
    "times",
    "n",
    "num_retries",
)
_LIBRARIES = {"tenacity", "backoff", "retry", "retrying", "stamina", "retrying_async", "opnieuw", "retry_decorator", "retry2"}
_ANY_NAME = re.compile(r"(?i)(^|_)(retry|retries|retrying|retryable|with_retry|on_exception)(_|$)|^retry")
# Errors of one's own that are called so may stand for a call that went wrong on its way.
_ON_THE_WAY = re.compile(
    r"(?i)time|connect|network|request|response|http|api|unavailable|transient|temporar|retr|service|client|remote|socket|gateway|server"
    r"|database|operational|external|upstream"
)
# Errors that say that nothing was sent, or that the call itself was wrong: the answer cannot have been lost.
_BEFORE = re.compile(
    r"(^|\.)(ValueError|TypeError|KeyError|AttributeError|ImportError|ModuleNotFoundError|FileNotFoundError|JSONDecodeError|ValidationError"
    r"|ConnectTimeout|ConnectionRefusedError|ConnectError|ObjectDoesNotExist|DoesNotExist|RateLimitError|NotFoundError)$"
)


def may_follow_timeout(errors: ast.expr | None, frame: Frame) -> bool:
    """Whether the errors that are retried may also mean that the answer was lost; unknown ones may."""
    if errors is None:
        return True
    parts = errors.elts if isinstance(errors, (ast.Tuple, ast.List)) else [errors]
    names = [dotted(one, frame) for one in parts]
    return not names or any(not _BEFORE.search(name) and not _is_own(name, frame) for name in names)


def libraries(errors: ast.expr, frame: Frame) -> tuple[str, ...]:
    """The libraries whose errors alone are retried; none if one of them is the project's own or Python's."""
    parts = errors.elts if isinstance(errors, (ast.Tuple, ast.List)) else [errors]
    names = [dotted(one, frame) for one in parts]
    if not all("." in name and not is_own(name, frame.module) and not is_standard(name) for name in names):
        return ()
    return tuple(sorted({name.partition(".")[0] for name in names}))


def _is_own(name: str, frame: Frame) -> bool:
    """Whether an error is the project's own, and none that is called after a call that went wrong on its way."""
    here = any(isinstance(one, ast.ClassDef) and one.name == name for one in frame.module.tree.body)
    own = here or is_own(name, frame.module)
    return own and _ON_THE_WAY.search(name.rpartition(".")[2]) is None


def names_any_error(errors: ast.expr) -> bool:
    """Whether every error is retried, not only some that are named."""
    parts = errors.elts if isinstance(errors, (ast.Tuple, ast.List)) else [errors]
    return any(not isinstance(one, (ast.Name, ast.Attribute)) or ast.unparse(one) in ("Exception", "BaseException") for one in parts)


def decorators(function: Function, frame: Frame) -> tuple[Repeater, ...]:
    """The repeaters of a function that its decorators make."""
    found = [_decorator(one, frame) for one in function.decorator_list]
    return tuple(one for one in found if one is not None)


def _decorator(decorator: ast.expr, frame: Frame) -> Repeater | None:
    call = decorator if isinstance(decorator, ast.Call) else None
    name = dotted(call.func if call is not None else decorator, frame)
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    if root == "backoff" and last == "on_predicate":
        return None  # it looks at what came back, as a poll does
    if not (root in _LIBRARIES or _ANY_NAME.search(last)):
        return None
    errors = (keyword(call, "exception", "exceptions", "on", "retry_on") or _second(call, root)) if call else None
    if call is not None and root == "tenacity" and (condition := keyword(call, "retry")) is not None:
        errors = (
            condition.args[0]
            if isinstance(condition, ast.Call) and condition.args and "exception_type" in dotted(condition, frame)
            else None
        )
    bound = _bound(call, root, frame) if root in _LIBRARIES or call is None else _named_bound(call, frame) or MANY
    return Repeater(
        Repeating.STEP_RETRY, automatic=True, bound=bound if call or root in _LIBRARIES else MANY, span=frame.module.span(decorator),
        after_timeout=may_follow_timeout(errors, frame), guessed=root not in _LIBRARIES,
    )  # fmt: skip


def _second(call: ast.Call, root: str) -> ast.expr | None:
    if root == "backoff" and len(call.args) > 1:
        return call.args[1]
    return call.args[0] if root == "retry" and call.args else None


def _bound(call: ast.Call | None, root: str, frame: Frame) -> int | None:
    if call is None:
        return 10 if root == "stamina" else None
    if root == "tenacity":
        return stopping(keyword(call, "stop"), frame)
    named = _named_bound(call, frame)
    if named is not None and named >= 0:
        return named
    if keyword(call, "max_time", "stop_max_delay", "timeout") is not None:
        return MANY
    return 10 if root == "stamina" else None


def _named_bound(call: ast.Call, frame: Frame) -> int | None:
    for name in _BOUNDS:
        given = keyword(call, name)
        if given is not None:
            value = number(given, frame)
            if value is None:
                return None if isinstance(given, ast.Constant) else MANY
            return int(value) + (name in ("max_retries", "retries", "num_retries"))
    first = number(call.args[0], frame) if call.args else None
    return int(first) if first is not None else None


def stopping(stop: ast.expr | None, frame: Frame) -> int | None:
    """When tenacity gives up: without a stop, never."""
    match stop:
        case None:
            return None
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            both = [one for one in (stopping(left, frame), stopping(right, frame)) if one is not None]
            return min(both) if both else None
        case ast.Call(func=func, args=args, keywords=keywords):
            name = dotted(func, frame).rpartition(".")[2]
            if name == "stop_never":
                return None
            if name == "stop_any":
                both = [one for one in (stopping(part, frame) for part in args) if one is not None]
                return min(both) if both else None
            first = args[0] if args else keywords[0].value if keywords else None
            value = number(first, frame) if name == "stop_after_attempt" else None
            return int(value) if value is not None else MANY
        case ast.Name() | ast.Attribute():
            return None if dotted(stop, frame).endswith("stop_never") else MANY
        case _:
            return MANY


# ── loops ──


def loop(node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> Repeater | None:
    """The repeater of a loop that tries again after an error and leaves when it worked; None for any other loop."""
    if isinstance(node, (ast.For, ast.AsyncFor)) and (attempts := _attempts(node.iter, frame)) is not None:
        return attempts
    for one in node.body:
        tried = one.body[0] if isinstance(one, (ast.With, ast.AsyncWith)) else one
        if isinstance(tried, (ast.Try, ast.TryStar)) and _tries_again(tried, node.body):
            errors = next((handler.type for handler in tried.handlers if not leaves(handler.body)), None)
            return Repeater(
                Repeating.STEP_RETRY, automatic=True, bound=times(node, frame), span=frame.module.span(node),
                after_timeout=may_follow_timeout(errors, frame),
            )  # fmt: skip
    return None


def _attempts(expr: ast.expr, frame: Frame) -> Repeater | None:
    """`for attempt in Retrying(stop=…)` of tenacity, `stamina.retry_context`."""
    if not isinstance(expr, ast.Call):
        return None
    name = dotted(expr.func, frame)
    if name in ("tenacity.Retrying", "tenacity.AsyncRetrying"):
        return Repeater(Repeating.STEP_RETRY, automatic=True, bound=stopping(keyword(expr, "stop"), frame), span=frame.module.span(expr))
    if name == "stamina.retry_context":
        return Repeater(Repeating.STEP_RETRY, automatic=True, bound=_bound(expr, "stamina", frame), span=frame.module.span(expr))
    return None


def _tries_again(tried: ast.Try | ast.TryStar, body: Sequence[ast.stmt]) -> bool:
    """Some error leads back to the head of the loop, and a success out of it."""
    again = any(not leaves(handler.body) for handler in tried.handlers)
    after = list(body[body.index(tried) + 1 :]) if tried in body else []
    return again and any(leaves(part, only_out=True) for part in (tried.body, tried.orelse, after))


def leaves(body: Sequence[ast.stmt], *, only_out: bool = False) -> bool:
    """Whether the statements end the function or the loop for certain (`continue` does not leave)."""
    return any(isinstance(one, (ast.Return, ast.Break) if only_out else (ast.Return, ast.Break, ast.Raise)) or exits(one) for one in body)


def goes_round_once(node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether the body ends by leaving, whatever happens in it, so that there is no second turn."""
    turns = (one for part in node.body for one in ast.walk(part))
    return leaves(node.body[-1:]) and not any(isinstance(one, ast.Continue) for one in turns)


def _is_endless(node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> bool:
    """`while True`, `for one in itertools.cycle(…)`."""
    if isinstance(node, ast.While):
        return isinstance(node.test, ast.Constant)
    return isinstance(node.iter, ast.Call) and dotted(node.iter.func, frame) in ("itertools.cycle", "itertools.count")


def never_ends(node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> bool:
    """Whether nothing but an error leaves the loop."""
    if not _is_endless(node, frame):
        return False
    return not any(isinstance(one, (ast.Break, ast.Return)) or exits(one) for part in node.body for one in ast.walk(part))


def quits(body: Sequence[ast.stmt]) -> bool:
    """Whether the statements end the program."""
    return any(exits(one) for one in body)


def exits(node: ast.AST) -> bool:
    """Whether it ends the program."""
    match node:
        case (
            ast.Expr(value=ast.Call(func=ast.Name(id="exit" | "quit")))
            | ast.Expr(value=ast.Call(func=ast.Attribute(attr="exit" | "_exit" | "abort")))
        ):
            return True
        case _:
            return False


def times(node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> int | None:
    """How often the loop goes round at most; None: without end."""
    if isinstance(node, ast.While):
        return None if isinstance(node.test, ast.Constant) else MANY
    value: float | None
    match node.iter:
        case ast.Call(func=ast.Name(id="range"), args=[one]):
            value = number(one, frame)
        case ast.Call(func=ast.Name(id="range"), args=[first, last, *_]):
            low, high = number(first, frame), number(last, frame)
            value = high - low if low is not None and high is not None else None
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            value = float(len(elts))
        case ast.Call(func=func) if text(func, frame) and dotted(func, frame).endswith("itertools.count"):
            return None
        case _:
            value = None
    return int(value) if value is not None else MANY
