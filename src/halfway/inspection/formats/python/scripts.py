"""Scripts as a whole, functions that retry themselves, handlers of events, and jobs of a schedule inside the process."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from halfway.inspection.formats.python.building import Plan, flow
from halfway.inspection.formats.python.frames import Frame, dotted, keyword, number, text
from halfway.inspection.formats.python.names import Function, Module, Program
from halfway.inspection.formats.python.retrying import decorators
from halfway.inspection.formats.python.starting import by_person, decorated, head, period, scheduled, trigger, walked
from halfway.inspection.formats.python.walk import Around, Walk
from halfway.inspection.model import Flow, Repeater, Repeating, Starting, Step, Trigger

_EVENT_PARAMETERS = ("event", "context")
_HOOK = re.compile(r"(?i)(webhook|hook|callback|event|notification)")
_ROUTE = re.compile(r"(^|\.)(route|post|put)$")
_UNITS = {
    "second": 1,
    "seconds": 1,
    "minute": 60,
    "minutes": 60,
    "hour": 3_600,
    "hours": 3_600,
    "day": 86_400,
    "days": 86_400,
    "week": 604_800,
    "weeks": 604_800,
}


def flows(module: Module, program: Program, taken: frozenset[str]) -> Iterator[Flow]:
    """The script itself, then what of the file starts in another way; `taken` are functions that an engine has."""
    reached: set[str] = set()
    whole = _script(module, program, taken)
    if whole is not None:
        reached = {one.span.at for one in whole.steps}
        yield whole
    jobs = _jobs(module)
    for name in module.functions:
        if name in taken or name in reached:
            continue
        made = _function(name, module, program, jobs.get(name))
        if made is not None and any(_matters(step) for step in made.steps):
            yield made


def _matters(step: Step) -> bool:
    return step.opaque is not None or (step.effect is not None and step.effect.outward)


def _main(module: Module) -> ast.If | None:
    return next((one for one in module.tree.body if isinstance(one, ast.If) and "__name__" in ast.unparse(one.test)), None)


@dataclass(frozen=True)
class _Apart:
    """Leaves to the engines what is theirs: their functions are flows of their own."""

    module: Module
    taken: frozenset[str]

    def call(self, walk: Walk, call: ast.Call, name: str, around: Around) -> bool:
        del name
        target = walk.target(call.func, around.frame)
        return target is not None and target[0] is self.module and target[1] in self.taken


def _script(module: Module, program: Program, taken: frozenset[str]) -> Flow | None:
    main = _main(module)
    start = main or next((one for one in module.tree.body if _does(one)), None)
    if start is None:
        return None
    frame = Frame(module, repeaters=(by_person(module.span(start)),))
    walk = walked(program, frame, "script", body=module.tree.body, engine=_Apart(module, taken))
    name = module.source.path.rpartition("/")[2]
    plan = Plan(
        engine="script", name=name, module=module, span=module.source.span(1, len(module.source.lines)),
        triggers=(_started(module, start),),
        extra={"purpose": "test data"} if _makes_test_data(module) else {},
    )  # fmt: skip
    made = flow(plan, walk)
    runs = main is not None or module.source.text.startswith("#!")
    return made if runs or any(_matters(step) for step in made.steps) else None


_TEST_DATA = re.compile(
    r"(?i)\b(?:generat|creat|mak|seed|fill|populat|insert|load)\w*\b[^.!?]{0,40}\b(?:test|fake|dummy|sample|demo)\b\W{0,3}(?:data|rows|records|users|orders)\b"
)


def _makes_test_data(module: Module) -> bool:
    """Whether the head of the script says that it is there to make data for tests."""
    first = module.tree.body[0].lineno if module.tree.body else 1
    comments = [line.strip("# \t") for line in module.source.lines[: first - 1] if line.startswith("#")]
    return _TEST_DATA.search(" ".join([*comments, ast.get_docstring(module.tree) or ""])) is not None


def _does(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return isinstance(node, (ast.For, ast.While, ast.With, ast.Try, ast.If, ast.Assign))


def _started(module: Module, start: ast.stmt) -> Trigger:
    span = module.source.span(start.lineno)
    return Trigger(Starting.MANUAL, span, module.source.fact(span).quote, inputs=tuple(_inputs(module)))


def _inputs(module: Module) -> Iterator[str]:
    """The arguments that the script takes."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument" and node.args:
            yield text(node.args[-1], Frame(module)).lstrip("-")


def _function(name: str, module: Module, program: Program, job: ast.Call | None) -> Flow | None:
    top, function = Frame(module), module.functions[name]
    start = _job(function, module, job) or _handler(function, module)
    again = decorators(function, top)
    if start is None and not again:
        return None
    starting, more, engine = start or (trigger(Starting.CALL, module, function), (), "function")
    repeaters = (*more, *again, by_person(head(function, module)))
    frame = Frame(module, function, name.rpartition(".")[0], entry=True, repeaters=repeaters)
    plan = Plan(engine=engine, name=name, module=module, span=head(function, module), triggers=(starting,))
    return flow(plan, walked(program, frame, name))


Start = tuple[Trigger, tuple[Repeater, ...], str]


def _handler(function: Function, module: Module) -> Start | None:
    """A handler of a cloud function, or of a webhook: its sender may send the same twice."""
    names = tuple(one.arg for one in function.args.args)
    if names[:2] == _EVENT_PARAMETERS:
        return trigger(Starting.EVENT, module, function), (), "handler"
    for name, decorator in decorated(function, Frame(module)):
        path = text(decorator.args[0], Frame(module)) if isinstance(decorator, ast.Call) and decorator.args else ""
        if _ROUTE.search(name) and (_HOOK.search(path) or _HOOK.search(function.name)):
            again = Repeater(Repeating.REDELIVERY, automatic=True, bound=None, span=module.span(decorator))
            return trigger(Starting.EVENT, module, decorator), (again,), "webhook"
    return None


def _jobs(module: Module) -> dict[str, ast.Call]:
    """By function, where it is first made a job of APScheduler or of `schedule`."""
    top, found = Frame(module), dict[str, ast.Call]()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("add_job", "do") and node.args:
            found.setdefault(dotted(node.args[0], top), node)
    return found


def _job(function: Function, module: Module, made: ast.Call | None) -> Start | None:
    """A job of APScheduler or of `schedule`."""
    top = Frame(module)
    for called, decorator in decorated(function, top):
        if called.rpartition(".")[2] == "scheduled_job" and isinstance(decorator, ast.Call):
            plan, again = scheduled(module, decorator, _interval(decorator, top))
            return plan, (again,), "apscheduler"
    if made is None or not isinstance(made.func, ast.Attribute):
        return None
    added = made.func.attr == "add_job"
    plan, again = scheduled(module, made, _interval(made, top) if added else _every(made.func.value, top))
    return plan, (again,), "apscheduler" if added else "schedule"


def _interval(call: ast.Call, frame: Frame) -> float | None:
    parts = [(number(keyword(call, unit), frame), _UNITS[unit]) for unit in ("seconds", "minutes", "hours", "days", "weeks")]
    known = [value * size for value, size in parts if value is not None]
    if known:
        return sum(known)
    crontab = keyword(call, "trigger")
    return period(text(crontab.args[0], frame)) if isinstance(crontab, ast.Call) and crontab.args else None


def _every(expr: ast.expr, frame: Frame) -> float | None:
    """The seconds of `schedule.every(10).minutes`."""
    count, unit = 1.0, 0.0
    for node in ast.walk(expr):
        if isinstance(node, ast.Attribute) and node.attr in _UNITS:
            unit = float(_UNITS[node.attr])
        if isinstance(node, ast.Call) and dotted(node.func, frame).endswith("every"):
            count = (number(node.args[0], frame) if node.args else 1.0) or 1.0
    return count * unit or None
