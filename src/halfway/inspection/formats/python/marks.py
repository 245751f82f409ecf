"""What a statement means to recovery: it writes down that something is done, or how far it is; or it cannot fail at all."""

from __future__ import annotations

import ast
import re

from halfway.inspection.formats.python.frames import Frame, dotted
from halfway.inspection.formats.python.names import worded
from halfway.inspection.formats.wording import words as words_of
from halfway.inspection.model import Effect, Kind, Mark, Receiver

_CLAIM = re.compile(r"(?i)(processed|(^|_)(sent|seen|done|handled|notified|delivered|claimed)(_|$)|dedup|status|idempot)")
_CURSOR = re.compile(r"(?i)(cursor|checkpoint|(?<![a-z])last_|lastrun|watermark|bookmark|high_water|resume_from|next_(page_)?token)")
_BACK = re.compile(
    r"(?i)(^|[._])(un(?=do)\w*|undo|refund|cancel|void|revert|rollback|roll_back|compensat\w*|delete|remove|reverse|release"
    r"|restore|archive|terminate|destroy|cleanup)"
)
_SUCCESS = re.compile(
    r"(?i)\b(success\w*|succeeded|complete[d]?|done|confirmed|finished|shipped|paid|released|deployed|thank)\b|완료|성공|발송"
)
_FAILURE = re.compile(r"(?i)\b(fail\w*|error|exception|alert|crash\w*)\b|실패|오류")
_PURE = worded(
    "print len str int float bool list dict set tuple range enumerate zip sorted min max sum abs any all isinstance",
    "issubclass getattr setattr hasattr repr format type super round reversed map filter iter next vars id bytes frozenset",
    "object input exit quit open hash cast field property callable dir ord chr slice divmod pow",
)
_PURE_METHODS = re.compile(
    r"(^|\.)(debug|info|warning|warn|error|exception|critical|log|append|extend|add|update|pop|get|items|keys|values|strip|rstrip|lstrip"
    r"|split|rsplit|splitlines|join|format|replace|startswith|endswith|lower|upper|title|encode|decode|sort|copy|setdefault|discard|clear"
    r"|insert|count|index|isoformat|strftime|hexdigest|digest|raise_for_status|json|sleep|now|utcnow|today|total_seconds|find|group|groups"
    r"|match|sub|partition|rpartition|isdigit|parse_args|add_argument|exit|getLogger|basicConfig|close|result|model_dump|dict|to_dict"
    r"|as_dict|text|read|write|flush|model_dump_json|bind|elapsed|timestamp|start|zfill)$"
)
_STORE = re.compile(r"(?i)(^|\.)(db|session|cursor|conn|connection|crm|client|api|store|repo|repository|table|collection)(\.|$)")
_OF_STORES = worded("update insert write read close start result find count remove get")
_PURE_ROOTS = worded(
    "logging json re os sys time datetime math uuid hashlib hmac base64 random secrets pathlib itertools functools",
    "collections dataclasses typing argparse textwrap string copy decimal urllib asyncio contextlib enum traceback operator",
    "threading queue signal warnings email shlex html structlog dotenv pydantic click rich tqdm concurrent smtplib boto3",
)


def harmless(call: ast.Call, name: str, frame: Frame) -> bool:
    """Whether a call cannot fail in a way that matters between two effects; making a client object is none either."""
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    if last in _OF_STORES and call.args and _STORE.search(name.rpartition(".")[0]) and root not in _PURE_ROOTS:
        return False
    if not name or name in _PURE or _PURE_METHODS.search(name) or root in _PURE_ROOTS:
        return True
    if last[:1].isupper():  # a class
        return True
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, (ast.Constant, ast.JoinedStr))


def claim(node: ast.stmt, frame: Frame) -> frozenset[Mark]:
    """CLAIM or CURSOR, if the statement writes a mark into something that outlives the function."""
    for target in _targets(node):
        if _local(target, frame) or _flag(target):
            continue
        name = _named(target)
        if _CURSOR.search(name):
            return frozenset({Mark.CURSOR})
        if _CLAIM.search(name):
            return frozenset({Mark.CLAIM})
    return frozenset()


def _flag(target: ast.expr) -> bool:
    """`self.done`: it does not outlive the object."""
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in ("self", "cls")


def _targets(node: ast.stmt) -> list[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            return [one for one in targets if isinstance(one, (ast.Subscript, ast.Attribute))]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=value, attr="add" | "append"))):
            return [value]
        case _:
            return []


def _local(target: ast.expr, frame: Frame) -> bool:
    """Whether it is written into something that the function itself has made from nothing."""
    base = target
    while isinstance(base, (ast.Subscript, ast.Attribute)):
        base = base.value
    if not isinstance(base, ast.Name):
        return True
    if base.id in ("self", "cls"):
        return False
    made = frame.module.locals(frame.function).get(base.id, []) if frame.function is not None else []
    return any(isinstance(one.value, (ast.Dict, ast.List, ast.Set, ast.ListComp, ast.DictComp)) or _fresh(one.value, frame) for one in made)


def _fresh(value: ast.expr, frame: Frame) -> bool:
    return isinstance(value, ast.Call) and dotted(value.func, frame) in (
        "dict",
        "list",
        "set",
        "collections.defaultdict",
        "collections.OrderedDict",
    )


def _named(target: ast.expr) -> str:
    match target:
        case ast.Subscript(value=value, slice=ast.Constant(value=str() as key)):
            return f"{_named(value)}.{key}"
        case ast.Subscript(value=value):
            return _named(value)
        case ast.Attribute(attr=attr):
            return attr
        case ast.Name(id=name):
            return name
        case _:
            return ""


def of_effect(effect: Effect, shown: str, *, handling: bool, words: str) -> frozenset[Mark]:
    """The marks that an effect has by what it is and where it stands."""
    found: set[Mark] = set()
    if handling and takes_back(effect.told):
        found.add(Mark.RECOVERY)
    if Kind.NOTIFY in effect.kinds:
        found |= _notice(handling, words)
    elif handling and Mark.RECOVERY not in found and effect.outward and _FAILURE.search(words):
        found.add(Mark.FAILURE_NOTICE)
    if effect.kinds & {Kind.RECORD, Kind.FILE}:
        found |= {Mark.CURSOR} if _CURSOR.search(shown) else {Mark.CLAIM} if _CLAIM.search(shown) else set()
    return frozenset(found)


def _notice(handling: bool, words: str) -> set[Mark]:
    if handling:
        return {Mark.FAILURE_NOTICE}
    return {Mark.SUCCESS_NOTICE} if _SUCCESS.search(words) and not _FAILURE.search(words) else set()


_ERROR = re.compile(r"(?i)^(?:error|err|exception|traceback|failure|failed|cause)(?:_\w+)?$|_(?:error|exception|traceback)$")


def tells_of_failure(call: ast.Call, frame: Frame) -> bool:
    """Whether what a call sends is made of an error, whichever way led to it: `{"error_message": …, "failed_job": …}`."""
    return any(_is_of_error(one, frame, 3) for one in (*call.args, *(one.value for one in call.keywords)))


def _is_of_error(expr: ast.expr, frame: Frame, hops: int) -> bool:
    match expr:
        case ast.Dict(keys=keys):
            return any(isinstance(one, ast.Constant) and _ERROR.search(str(one.value)) for one in keys)
        case ast.Call(func=ast.Attribute(attr="dumps"), args=[one, *_]) if hops:
            return _is_of_error(one, frame, hops - 1)
        case ast.Name(id=name) if hops:
            made = frame.module.locals(frame.function).get(name, []) if frame.function is not None else []
            if not made and name in frame.given:
                return _is_of_error(*frame.given[name], hops - 1)
            return bool(made) and all(isinstance(one.value, ast.Dict) and _is_of_error(one.value, frame, 0) for one in made)
        case _:
            return False


def takes_back(name: str) -> bool:
    """Whether a name says that it takes something back."""
    return _BACK.search(name) is not None


# ── who is told ──

_TO = tuple(
    sorted(
        worded(
            "to to_emails recipients recipient recipient_list to_addrs to_addr to_email channel chat_id phone phone_number",
            "PhoneNumber Destination email user",
        )
    )
)


_OWN_PEOPLE = frozenset({"admin", "admins", "ops", "oncall", "staff", "operators", "maintainers"})


def recipient_names() -> tuple[str, ...]:
    """The names of arguments and keys that say who is told."""
    return _TO


def told_by(expr: ast.expr, frame: Frame, hops: int = 3) -> Receiver:
    """A literal is the team's own; what comes from the input or from a record is a customer's; the rest is not known."""
    match expr:
        case ast.Constant(value=str()):
            return Receiver.TEAM
        case ast.List(elts=[one, *_]) | ast.Tuple(elts=[one, *_]) | ast.Await(value=one):
            return told_by(one, frame, hops)
        case ast.Dict(values=[one, *_]):
            return told_by(one, frame, hops)
        case ast.Name(id=name):
            return _named_receiver(name, expr.lineno, frame, hops)
        case ast.Attribute() | ast.Subscript():
            root = dotted(expr, frame).partition(".")[0]
            if root in ("os", "settings", "config", "self", "sys") or root in frame.module.aliases.values():
                return Receiver.UNKNOWN
            return (
                Receiver.CUSTOMER
                if told_by(expr.value, frame, hops) is Receiver.CUSTOMER or _record(expr.value, frame)
                else Receiver.UNKNOWN
            )
        case ast.Call(func=ast.Attribute(value=value, attr="get")):
            return told_by(value, frame, hops)
        case _:
            return Receiver.UNKNOWN


def told_through(called: ast.expr, frame: Frame) -> Receiver:
    """Who is told by a call that names nobody: what it is called, or what its object was made of, may say that it is the own people."""
    made = called.value if isinstance(called, ast.Attribute) else None
    bound = frame.bound(made.id, made.lineno) if isinstance(made, ast.Name) else None
    said = ast.unparse(called) + (f" {ast.unparse(bound[0].value)}" if bound is not None else "")
    return Receiver.TEAM if words_of(said) & _OWN_PEOPLE else Receiver.UNKNOWN


def _named_receiver(name: str, line: int, frame: Frame, hops: int) -> Receiver:
    found = frame.bound(name, line)
    if found is not None and hops:
        if found[0].how == "for" and not isinstance(found[0].value, (ast.List, ast.Tuple)):
            return Receiver.CUSTOMER if found[1].function is not None else Receiver.UNKNOWN
        return told_by(found[0].value, found[1], hops - 1)
    if name in frame.given and hops:
        return told_by(*frame.given[name], hops - 1)
    return Receiver.CUSTOMER if name in frame.parameters and frame.entry else Receiver.UNKNOWN


def _record(expr: ast.expr, frame: Frame) -> bool:
    """Whether it is a row that was read."""
    if not isinstance(expr, ast.Name):
        return isinstance(expr, (ast.Attribute, ast.Subscript)) and _record(expr.value, frame)
    found = frame.bound(expr.id, expr.lineno)
    if found is not None:
        return found[0].how == "for" or (isinstance(found[0].value, (ast.Call, ast.Await)) and "environ" not in ast.unparse(found[0].value))
    if expr.id in frame.given:
        return _record(*frame.given[expr.id])
    return frame.entry and expr.id in frame.parameters
