"""What identity a repeat of a call carries: the key that it gives, and where that key was made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from halfway.inspection.formats.python.frames import Frame, dotted, entries, keyword, text
from halfway.inspection.formats.python.names import Bound, is_operator, worded
from halfway.inspection.model import Bearing, Identity, Repeater, Repeating
from halfway.inspection.quoting import quoted

HOPS = 3
_KEYWORDS = re.compile(
    r"(?i)^(idem(?:potency)?_?key|idempotency_?token|client_?request_?token|client_?token|request_?id|dedup(e|lication)?_?key"
    r"|message_?deduplication_?id|nonce|external_?id|requestid|sender_batch_id|workflow_id|job_id|task_id|identifier)$"
)
_HEADERS = re.compile(r"(?i)^(x-)?([a-z-]*idempotency-key|paypal-request-id|request-id|x-nc-api-idempotency-key)$")
_IN_BODY = re.compile(r"(?i)^(idem(?:potency)?_?key|request_?id|requestid|external_?id|dedup_key|nonce|sender_batch_id|client_?token)$")
_MINTING = re.compile(
    r"(^|\.)(uuid\.uuid[14]|uuid[14]|random\.\w+|secrets\.\w+|os\.urandom|time\.(time|time_ns|monotonic|perf_counter)|nanoid\.generate|shortuuid\.uuid"
    r"|ulid\.\w+|datetime\.(now|utcnow|today)|date\.today|timezone\.now|ObjectId)$"
)
_COUNTING = re.compile(r"(?i)(^|[._])(retries|try_number|attempt|attempts|attempt_number|run_attempt)$")
_STABLE = re.compile(
    r"(?i)(^|\.)(request\.(id|root_id|correlation_id)|workflow_id|activity_id|task_token|run_id|dag_run\.\w+|logical_date|execution_date|ds|ds_nodash|flow_run\.\w+"
    r"|task_run\.\w+|workflow\.(uuid4|now)|message_id|aws_request_id)$"
)
_MESSAGE = re.compile(r"(^|\.)request\.(get_json|json|form)$")
"""What a web hook was sent: whoever sends it again sends the same."""
_IDLIKE = re.compile(r"(?i)(^|_)(id|pk|key|uuid|guid|number|no|sku|email|ref|reference|slug|code|sha|digest|version|tag)s?$|Id$")
_NAMING = ("tag_name", "tag", "version", "name", "title", "ref", "branch", "head", "number", "id", "key", "Key", "Name", "TagName")
_COUNTED = re.compile(r"(?i)(version|patch|minor|major|number|build|tag)")
_NEWEST = re.compile(r"\bgit (tag|describe|rev-list|ls-remote)\b|\bgh release (list|view)\b")
_SUMMING = worded(
    "str hash int format join hexdigest digest encode decode sha256 sha1 md5 blake2b uuid5 uuid3",
    "UUID strip lower upper replace dumps f sorted isoformat hex quote b64encode dict tuple list",
)
_OUTER = frozenset({Repeating.LOOP, Repeating.SCHEDULE, Repeating.UNIT_RERUN, Repeating.MANUAL})


def identity(call: ast.Call, frame: Frame) -> Identity:
    """The key that a call carries, else the name that it makes from what is newest, else none."""
    key = next(keys(call, frame), None)
    if key is not None:
        return Identity(_softened(bearing(key, frame), key, frame), quoted(ast.unparse(key)), frame.module.span(key))
    for value in names(call, frame):
        if bearing(value, frame) is Bearing.MUTABLE:
            return Identity(Bearing.MUTABLE, quoted(ast.unparse(value)), frame.module.span(value))
    return Identity(Bearing.NONE, "", frame.module.span(call))


def keys(call: ast.Call, frame: Frame) -> Iterator[ast.expr]:
    """What stands for a key in the arguments, the headers and the body of a call."""
    for one in call.keywords:
        # How a task of a graph is called reaches nobody outside.
        if one.arg and _KEYWORDS.match(one.arg) and not (one.arg == "task_id" and is_operator(ast.unparse(call.func))):
            yield one.value
    for name, pattern in (
        ("headers", _HEADERS),
        ("json", _IN_BODY),
        ("data", _IN_BODY),
        ("params", _IN_BODY),
        ("options", _KEYWORDS),
        ("body", _IN_BODY),
    ):
        for key, value in entries(keyword(call, name), frame):
            if pattern.match(key):
                yield value


def names(call: ast.Call, frame: Frame) -> Iterator[ast.expr]:
    """What the call calls the thing that it makes; such a name is only as good as where it comes from."""
    for one in call.keywords:
        if one.arg in _NAMING:
            yield one.value
    for name in ("json", "data", "body"):
        yield from (value for key, value in entries(keyword(call, name), frame) if key in _NAMING)
    for words in call.args:
        yield from words.elts if isinstance(words, (ast.List, ast.Tuple)) else ()


def _softened(found: Bearing, key: ast.expr, frame: Frame) -> Bearing:
    """A key that is minted outside all that repeats by itself stays the same for each attempt of the inner repeater."""
    if found is not Bearing.MINTED or not automatic(frame.repeaters):
        return found
    home, line = origin(key, frame)
    around = [one for one in home.repeaters if one not in home.loops or one.span.line <= line <= (one.span.end or one.span.line)]
    return found if automatic(around) else Bearing.STABLE


def automatic(repeaters: Iterable[Repeater]) -> bool:
    """Whether somebody but a person does the same again."""
    return any(one.automatic and one.kind not in _OUTER for one in repeaters)


def origin(expr: ast.expr, frame: Frame, hops: int = HOPS) -> tuple[Frame, int]:
    """The function and the line in which a value was made, through parameters."""
    if isinstance(expr, ast.Call) and len(expr.args) == 1 and dotted(expr.func, frame) == "str":
        return origin(expr.args[0], frame, hops)
    if isinstance(expr, ast.Name) and hops:
        found = frame.bound(expr.id, expr.lineno)
        if found is not None:
            return origin(found[0].value, found[1], hops - 1)
        if expr.id in frame.given:
            return origin(*frame.given[expr.id], hops - 1)
    return frame, expr.lineno


def bearing(expr: ast.expr, frame: Frame, hops: int = HOPS) -> Bearing:
    """Where the value comes from, over at most three hops; what is behind that is unknown."""
    match expr:
        case ast.Constant():
            return Bearing.NATURAL
        case ast.Name():
            return _of_name(expr, frame, hops)
        case ast.Call():
            return _of_call(expr, frame, hops)
        case ast.Attribute() | ast.Subscript():
            return _of_part(expr, frame, hops)
        case ast.BinOp(op=ast.Add(), left=ast.Call(func=ast.Name(id="max" | "len"))):
            return Bearing.MUTABLE
        case ast.Await(value=value) | ast.NamedExpr(value=value) | ast.FormattedValue(value=value):
            return bearing(value, frame, hops)
        case _:
            parts = _parts(expr)
            return joined(bearing(one, frame, hops) for one in parts) if parts is not None else Bearing.UNKNOWN


def _parts(expr: ast.expr) -> list[ast.expr] | None:
    """What an expression is put together from; None if it is not put together."""
    match expr:
        case ast.JoinedStr(values=values):
            return [one.value for one in values if isinstance(one, ast.FormattedValue)]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
            return values
        case ast.IfExp(body=body, orelse=other):
            return [body, other]
        case _:
            return None


_WORST = (Bearing.MINTED, Bearing.MUTABLE, Bearing.UNKNOWN, Bearing.STABLE, Bearing.NATURAL)


def joined(parts: Iterable[Bearing]) -> Bearing:
    """What is put together is as bad as its worst part."""
    found = set(parts)
    return next((one for one in _WORST if one in found), Bearing.NATURAL)


def _of_name(expr: ast.Name, frame: Frame, hops: int) -> Bearing:
    found = frame.bound(expr.id, expr.lineno)
    if found is not None:
        if found[0].how == "+=":
            return Bearing.MUTABLE if _COUNTED.search(expr.id) else Bearing.UNKNOWN
        return _of_bound(found[0], found[1], hops, _IDLIKE.search(expr.id) is not None)
    if expr.id in frame.given:
        return bearing(*frame.given[expr.id], hops - 1) if hops else Bearing.UNKNOWN
    if expr.id in frame.parameters and frame.entry:
        return Bearing.STABLE
    return Bearing.UNKNOWN


def _of_bound(bound: Bound, where: Frame, hops: int, idlike: bool) -> Bearing:
    if not hops:
        return Bearing.UNKNOWN
    if bound.how == "for":
        return Bearing.STABLE if idlike or bearing(bound.value, where, hops - 1) is Bearing.STABLE else Bearing.UNKNOWN
    return bearing(bound.value, where, hops - 1)


def _of_call(expr: ast.Call, frame: Frame, hops: int) -> Bearing:
    name = dotted(expr.func, frame)
    last = name.rpartition(".")[2]
    if _STABLE.search(name) or _MESSAGE.search(name) or name in ("input", "os.getenv", "os.environ.get") or "parse_args" in name:
        return Bearing.STABLE
    if _MINTING.search(name):
        return Bearing.MINTED
    if name.startswith("subprocess.") or last in ("run_command", "check_output"):
        words = " ".join(text(one, frame) for arg in expr.args for one in (arg.elts if isinstance(arg, ast.List) else [arg]))
        return Bearing.MUTABLE if _NEWEST.search(words) else Bearing.UNKNOWN
    if last in _SUMMING or (isinstance(expr.func, ast.Attribute) and last == "get"):
        inner = (
            [expr.func.value]
            if isinstance(expr.func, ast.Attribute) and last not in ("sha256", "sha1", "md5", "uuid5", "quote", "dumps")
            else []
        )
        return joined(bearing(one, frame, hops) for one in [*inner, *expr.args])
    return Bearing.UNKNOWN


def _of_part(expr: ast.Attribute | ast.Subscript, frame: Frame, hops: int) -> Bearing:
    """A part of a thing: of the input it is as stable as that, of a row that was read the id is."""
    name = dotted(expr, frame)
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant) and isinstance(expr.slice.value, str):
        name += f".{expr.slice.value}"
    if _COUNTING.search(name):
        return Bearing.MINTED
    if _STABLE.search(name) or _MESSAGE.search(name) or name.startswith(("os.environ", "sys.argv")):
        return Bearing.STABLE
    base = bearing(expr.value, frame, hops)
    if base is Bearing.UNKNOWN and hops and _IDLIKE.search(name.rpartition(".")[2]) and _read_by_input(expr.value, frame, hops):
        return Bearing.STABLE
    return base


def _read_by_input(expr: ast.expr, frame: Frame, hops: int) -> bool:
    """Whether a thing is one that was read with an argument that is stable, or one of a loop over such things."""
    if isinstance(expr, ast.Name) and (found := frame.bound(expr.id, expr.lineno)) is not None:
        bound, where = found
        if bound.how == "for":
            return True  # the id of a row is the row's own, however the rows were found
        value = bound.value.value if isinstance(bound.value, ast.Await) else bound.value
        if isinstance(value, ast.Call) and not _MINTING.search(dotted(value.func, where)):
            every = [*value.args, *(one.value for one in value.keywords)]
            return any(bearing(one, where, hops - 1) is Bearing.STABLE for one in every)
    if isinstance(expr, ast.Name) and expr.id in frame.given and hops:
        return _read_by_input(*frame.given[expr.id], hops - 1)
    return False
