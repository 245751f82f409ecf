"""What the readers of all engines share: decorators, the walk from an entry, schedules, and who may run it again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from halfway.inspection.formats.python.frames import Frame, dotted, text
from halfway.inspection.formats.python.names import Function, Module, Program
from halfway.inspection.formats.python.walk import Around, Engine, Plain, Walk
from halfway.inspection.model import Fact, Repeater, Repeating, Span, Starting, Trigger
from halfway.inspection.source import whole

_PRESETS = {
    "@hourly": 3_600.0,
    "@daily": 86_400.0,
    "@midnight": 86_400.0,
    "@weekly": 604_800.0,
    "@monthly": 2_592_000.0,
    "@yearly": 31_536_000.0,
}
_EVERY = re.compile(r"^\*/(\d+) \* \* \* \*$")
_HOURLY = re.compile(r"^\d+ \* \* \* \*$")
_DAILY = re.compile(r"^\d+ \d+ \* \* \*$")


def decorated(function: Function, frame: Frame) -> Iterator[tuple[str, ast.expr]]:
    """The decorators of a function with their dotted names."""
    for one in function.decorator_list:
        yield dotted(one.func if isinstance(one, ast.Call) else one, frame), one


def by_person(span: Span) -> Repeater:
    """Somebody runs the unit again from its beginning."""
    return Repeater(Repeating.UNIT_RERUN, automatic=False, bound=None, span=span)


def walked(
    program: Program,
    frame: Frame,
    unit: str,
    *,
    engine: Engine | None = None,
    timeout: float | None = None,
    timeout_known: bool = False,
    facts: tuple[Fact, ...] = (),
    body: list[ast.stmt] | None = None,
) -> Walk:
    """The walk of one entry."""
    walk = Walk(program, program.given.knowledge, engine or Plain())
    stack = (id(frame.function),) if frame.function is not None else ()
    around = Around(frame=frame, unit=unit, scope=unit, timeout=timeout, timeout_known=timeout_known, facts=facts, stack=stack)
    if body is not None:
        walk.body(body, around)
    else:
        walk.enter(around)
    return walk


def period(told: str) -> float | None:
    """The seconds between two starts of a preset or a simple cron expression."""
    if told in _PRESETS:
        return _PRESETS[told]
    if found := _EVERY.match(told):
        return (whole(found[1]) or 1) * 60.0
    return 3_600.0 if _HOURLY.match(told) else 86_400.0 if _DAILY.match(told) else None


def scheduled(module: Module, node: ast.AST, seconds: float | None) -> tuple[Trigger, Repeater]:
    """A schedule as a trigger, and as somebody who does it again."""
    span = module.span(node)
    trigger = Trigger(Starting.SCHEDULE, span, module.source.fact(span).quote, period=seconds)
    return trigger, Repeater(Repeating.SCHEDULE, automatic=True, bound=None, span=span, after_timeout=False)


def trigger(kind: Starting, module: Module, node: ast.AST) -> Trigger:
    """Something that starts a flow, at its line."""
    span = module.span(node)
    return Trigger(kind, span, module.source.fact(span).quote)


def head(function: Function, module: Module) -> Span:
    """The place of a function: the line of its `def`."""
    return module.source.span(function.lineno, function.end_lineno or function.lineno)


def wording(call: ast.Call, frame: Frame) -> str:
    """The first argument as a text."""
    return text(call.args[0], frame) if call.args else ""
