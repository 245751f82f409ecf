"""Expressions where they stand: the dotted name of what is called, texts with gaps, numbers, and what an argument was given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from halfway.inspection.formats.python.names import HOPS, Bound, Function, Module
from halfway.inspection.model import Repeater
from halfway.inspection.source import finite

GAP = "{…}"
_FILLED = re.compile(r"%(?:\(\w+\))?[-+#0]*[\d.]*[sdrifxg]")  # the places of a text that `%` fills


@dataclass(frozen=True, eq=False)
class Frame:
    """A function that is walked, with what its caller gave it; `function` None is the top of the file."""

    module: Module
    function: Function | None = None
    owner: str = ""  # the class whose method it is
    given: Mapping[str, tuple[ast.expr, Frame]] = field(default_factory=dict[str, "tuple[ast.expr, Frame]"])
    entry: bool = False  # its parameters are the input of the automation
    depth: int = 0
    repeaters: tuple[Repeater, ...] = ()  # all that are around, its own included
    loops: tuple[Repeater, ...] = ()  # those of them that are loops within it

    @property
    def name(self) -> str:
        return self.module.qualified.get(id(self.function), "") if self.function else ""

    @property
    def parameters(self) -> tuple[str, ...]:
        if self.function is None:
            return ()
        args = self.function.args
        every = [
            *args.posonlyargs,
            *args.args,
            *args.kwonlyargs,
            *([args.vararg] if args.vararg else []),
            *([args.kwarg] if args.kwarg else []),
        ]
        return tuple(one.arg for one in every)

    def bound(self, name: str, before: int = 0) -> tuple[Bound, Frame] | None:
        """What gave the name its value last before a line, in the function or else in the file."""
        every = self.module.locals(self.function).get(name, [])
        here = [one for one in every if not _is_making(one, before)]  # `ship = Operator(ship)`: what stands in it is made before it is
        earlier = [one for one in here if not before or one.line <= before] or here
        if earlier:
            return earlier[-1], self
        if every and self.function is None:
            return None
        if name in self.parameters or self.function is None:
            return None
        top = self.module.globals.get(name, [])
        return (top[-1], Frame(self.module)) if top else None


def _is_making(bound: Bound, line: int) -> bool:
    """Whether the line is one of several on which the name is still being given its value."""
    last = bound.value.end_lineno or bound.line
    return bound.how == "=" and bound.line < last and bound.value.lineno <= line <= last


def dotted(expr: ast.expr, frame: Frame, hops: int = HOPS) -> str:
    """The dotted name with aliases resolved and objects named by what made them: `slack_sdk.WebClient.chat_postMessage`."""
    match expr:
        case ast.Await(value=value) | ast.Subscript(value=value):
            return dotted(value, frame, hops)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr) if frame.owner:
            made = frame.module.attributes.get(f"{frame.owner}.{attr}")
            named = _made(made, frame, hops) if made is not None else ""
            return named or f"self.{attr}"
        case ast.Attribute(value=value, attr=attr):
            inner = dotted(value, frame, hops)
            return f"{inner}.{attr}" if inner else attr
        case ast.Call(func=func):
            return service(expr, frame) or dotted(func, frame, hops)
        case ast.Name(id=name):
            return _name(name, expr.lineno, frame, hops)
        case _:
            return ""


def _name(name: str, line: int, frame: Frame, hops: int) -> str:
    found = frame.bound(name, line)
    if found is not None:
        value, where = found[0].value, found[1]
        return (
            _made(value, where, hops) if (found[0].how in ("=", "with") and value.lineno <= max(line, 1)) or where is not frame else ""
        ) or name
    if name in frame.given and hops:
        passed, caller = frame.given[name]
        return _made(passed, caller, hops) or name
    return frame.module.aliases.get(name, name)


def _made(value: ast.expr, frame: Frame, hops: int) -> str:
    """The name of what made a value, if that leads to an import."""
    if not hops or not isinstance(value, (ast.Call, ast.Attribute, ast.Name, ast.Await)):
        return ""
    name = dotted(value, frame, hops - 1)
    root = name.partition(".")[0]
    known = {one.partition(".")[0] for one in frame.module.aliases.values()}
    return name if root in known else ""


def service(call: ast.Call, frame: Frame) -> str:
    """The service of `boto3.client("sqs")` or of a session's client, as `boto3.sqs`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("client", "resource") and call.args:
        root = dotted(call.func.value, frame, 2).partition(".")[0]
        if root in ("boto3", "aioboto3", "aiobotocore"):
            return f"boto3.{text(call.args[0], frame)}"
    return ""


def text(expr: ast.expr | None, frame: Frame, hops: int = HOPS) -> str:
    """The text of an expression as far as the file tells it; what it does not tell is a gap."""
    match expr:
        case None:
            return ""
        case ast.Constant(value=value):
            return str(value)
        case ast.JoinedStr(values=values):
            return "".join(text(one.value, frame, hops - 1) if isinstance(one, ast.FormattedValue) else text(one, frame) for one in values)
        case ast.BinOp() if hops > 0:
            return _joined(expr, frame, hops - 1)
        case ast.Call(func=ast.Attribute(value=value, attr="format" | "strip" | "rstrip" | "lower" | "encode" as attr)) if hops > 0:
            told = text(value, frame, hops - 1)
            return _formatted(expr, told, frame, hops - 1) if attr == "format" else told
        case (
            ast.Call(func=ast.Name(id="text" | "dedent" | "str" | "SQL"), args=[one, *_])
            | ast.Call(func=ast.Attribute(attr="text" | "dedent" | "SQL" | "escape"), args=[one, *_])
        ) if hops > 0:
            return text(one, frame, hops - 1)
        case ast.Name(id=name) if hops > 0:
            return _text_of(name, expr.lineno, frame, hops - 1)
        case _:
            return GAP


_PLACE = re.compile(r"\{(\w*)\}")  # of a text that `format` fills


def _formatted(call: ast.Call, told: str, frame: Frame, hops: int) -> str:
    """A text with what `format` fills in, as far as that is written down."""
    given = {one.arg: text(one.value, frame, hops) for one in call.keywords if one.arg}
    given |= {str(place): text(one, frame, hops) for place, one in enumerate(call.args)}
    places = map(str, range(len(call.args) + told.count("{}")))
    return _PLACE.sub(lambda found: given.get(found[1] or next(places), GAP), told)


def _joined(expr: ast.BinOp, frame: Frame, hops: int) -> str:
    """Two texts as one, the parts of a path, or a text that `%` fills."""
    match expr.op:
        case ast.Add() | ast.Div():
            join = "/" if isinstance(expr.op, ast.Div) else ""
            return text(expr.left, frame, hops) + join + text(expr.right, frame, hops)
        case ast.Mod():
            return _FILLED.sub(GAP, text(expr.left, frame, hops))
        case _:
            return GAP


def _text_of(name: str, line: int, frame: Frame, hops: int) -> str:
    found = frame.bound(name, line)
    if found is not None:
        return text(found[0].value, found[1], hops) if found[0].how == "=" and found[0].line != line else GAP
    if name in frame.given:
        return text(frame.given[name][0], frame.given[name][1], hops)
    return GAP


def number(expr: ast.expr | None, frame: Frame, hops: int = HOPS) -> float | None:
    """A number, or the seconds of a timedelta or of a duration of pendulum, if it is written down."""
    if hops < 0:
        return None
    match expr:
        case ast.Constant(value=bool() | None):
            return None
        case ast.Constant(value=int() | float() as value):
            return finite(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found = number(operand, frame, hops - 1)
            return -found if found is not None else None
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, two = number(left, frame, hops - 1), number(right, frame, hops - 1)
            return finite(one * two) if one is not None and two is not None else None
        case ast.Name(id=name):
            bound = frame.bound(name, expr.lineno)
            return number(bound[0].value, bound[1], hops - 1) if bound and bound[0].how == "=" else None
        case ast.Call() if dotted(expr.func, frame).rpartition(".")[2] in ("timedelta", "duration"):
            return _seconds(expr, frame, hops - 1)
        case _:
            return None


_UNITS = {"days": 86_400, "seconds": 1, "microseconds": 1e-6, "milliseconds": 1e-3, "minutes": 60, "hours": 3_600, "weeks": 604_800}


def _seconds(call: ast.Call, frame: Frame, hops: int) -> float | None:
    parts = [(key, value) for key, value in zip(_UNITS, call.args, strict=False)] + [(one.arg or "", one.value) for one in call.keywords]
    values = [(number(value, frame, hops), _UNITS.get(key)) for key, value in parts]
    if any(value is None or unit is None for value, unit in values):
        return None
    return sum((value or 0) * (unit or 0) for value, unit in values)


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """The argument of the first of these names that the call has."""
    for name in names:
        for one in call.keywords:
            if one.arg == name:
                return one.value
    return None


def truth(expr: ast.expr | None) -> bool | None:
    return expr.value if isinstance(expr, ast.Constant) and isinstance(expr.value, bool) else None


def calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of an expression in the order in which they are done; those in nested functions are not done here."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from calls(child)
    if isinstance(node, ast.Call):
        yield node


def entries(expr: ast.expr | None, frame: Frame, hops: int = 2) -> Iterator[tuple[str, ast.expr]]:
    """The entries of a mapping that is written down, here or where its name was given its value."""
    match expr:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    yield str(key.value), value
                elif key is None and hops:
                    yield from entries(value, frame, hops - 1)
        case ast.Call(func=ast.Name(id="dict")) | ast.Call(func=ast.Attribute(attr="dumps"), args=[]):
            for one in expr.keywords:
                yield one.arg or "", one.value
        case ast.Call(func=ast.Attribute(attr="dumps"), args=[one, *_]) if hops:
            yield from entries(one, frame, hops - 1)
        case ast.Name(id=name) if hops and (bound := frame.bound(name, expr.lineno)):
            yield from entries(bound[0].value, bound[1], hops - 1)
            yield from frame.module.set_later(name, frame.function)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from entries(left, frame, hops)
            yield from entries(right, frame, hops)
        case _:
            return
