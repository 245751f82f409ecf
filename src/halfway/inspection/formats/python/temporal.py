"""Workflows of Temporal: each activity is a unit that the engine retries without end unless a policy says otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from halfway.inspection.formats.python.building import Plan, flow
from halfway.inspection.formats.python.effects import Seen, unknown
from halfway.inspection.formats.python.frames import Frame, dotted, keyword, number
from halfway.inspection.formats.python.names import Function, Module, Program
from halfway.inspection.formats.python.said import looks
from halfway.inspection.formats.python.starting import by_person, decorated, head, trigger, walked
from halfway.inspection.formats.python.walk import Around, Found, Walk
from halfway.inspection.formats.wording import opaque_effect
from halfway.inspection.model import Effect, Flow, Gate, Kind, Mark, Repeat, Repeater, Repeating, Reversible, Starting, Unread
from halfway.inspection.quoting import quoted

MISSING = "the activity {what} was not given"
_ACTIVITIES = frozenset(
    f"{verb}_{kind}{form}" for verb in ("execute", "start") for kind in ("activity", "local_activity") for form in ("", "_method", "_class")
)
_ATTEMPT, _TOGETHER = "start_to_close_timeout", "schedule_to_close_timeout"
_NAMESPACE = re.compile(r"(?i)^(?:mcp|llm|agent|api|db|sql|http)_(?=[a-z])")  # where it looks, before the word for looking
_HANDLERS = ("workflow.update", "workflow.signal")


def _is(name: str, mark: str) -> bool:
    return name in (f"temporalio.{mark}", mark)


def workflows(module: Module) -> Iterator[tuple[ast.ClassDef, str, list[str]]]:
    """The classes that are workflows, with the method that runs and those that answer messages."""
    top = Frame(module)
    for node in (one for one in ast.walk(module.tree) if isinstance(one, ast.ClassDef)):
        marks = [dotted(one.func if isinstance(one, ast.Call) else one, top) for one in node.decorator_list]
        if not any(_is(mark, "workflow.defn") for mark in marks):
            continue
        methods = {name: function for name, function in module.functions.items() if name.startswith(f"{node.name}.")}
        runs = [name for name, function in methods.items() if any(_is(mark, "workflow.run") for mark, _ in decorated(function, top))]
        answers = [
            name for name, function in methods.items() if any(_is(mark, one) for mark, _ in decorated(function, top) for one in _HANDLERS)
        ]
        if runs:
            yield node, runs[0], answers


def flows(module: Module, program: Program) -> Iterator[Flow]:
    """One flow for each workflow, and one for each activity that no given workflow calls."""
    for node, run, answers in workflows(module):
        yield _flow(node, run, answers, module, program)
    called = _called(program)
    top = Frame(module)
    for name, function in module.functions.items():
        marks = [mark for mark, _ in decorated(function, top)]
        if any(_is(mark, "activity.defn") for mark in marks) and name.rpartition(".")[2] not in called:
            yield _alone(name, module, program)


def _flow(node: ast.ClassDef, run: str, answers: list[str], module: Module, program: Program) -> Flow:
    rerun = by_person(module.span(node))
    engine = _Temporal(program)
    walk: Walk | None = None
    for name in (run, *answers):
        frame = Frame(module, module.functions[name], node.name, entry=True, repeaters=(rerun,))
        if walk is None:
            walk = walked(program, frame, node.name, engine=engine)
        else:
            walk.tips = frozenset()
            walk.enter(Around(frame=frame, unit=node.name, scope=node.name, stack=(id(frame.function),)))
    assert walk is not None
    plan = Plan(
        engine="temporal", name=node.name, module=module, span=module.span(node), undoes=True,
        triggers=(trigger(Starting.CALL, module, module.functions[run]),),
    )  # fmt: skip
    return flow(plan, walk)


def _alone(name: str, module: Module, program: Program) -> Flow:
    """An activity whose workflow was not given: that it is retried is the engine's default, unless the caller says otherwise."""
    function = module.functions[name]
    again = Repeater(Repeating.STEP_RETRY, automatic=True, bound=None, span=head(function, module), default=True)
    frame = Frame(module, function, name.rpartition(".")[0], entry=True, repeaters=(again,))
    plan = Plan(
        engine="temporal", name=name, module=module, span=head(function, module), triggers=(trigger(Starting.CALL, module, function),)
    )
    return flow(plan, walked(program, frame, name))


def _called(program: Program) -> set[str]:
    """The names of all activities that given workflows call."""
    found: set[str] = set()
    for module in program.modules(*_ACTIVITIES):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ACTIVITIES and node.args:
                first = node.args[0]
                found.add(str(first.value) if isinstance(first, ast.Constant) else dotted(first, Frame(module)).rpartition(".")[2])
    return found


@dataclass(eq=False)
class _Temporal:
    """Takes the calls of activities, child workflows and waits."""

    program: Program

    def call(self, walk: Walk, call: ast.Call, name: str, around: Around) -> bool:
        _, _, last = name.rpartition(".")
        if "workflow." not in f".{name}":
            return False
        if last in _ACTIVITIES and call.args:
            self._activity(walk, call, around)
            return True
        if last in ("wait_condition", "sleep", "wait"):
            self._wait(walk, call, last, around)
            return True
        if last in ("execute_child_workflow", "start_child_workflow") and call.args:
            self._child(walk, call, around)
            return True
        return "workflow." in name and name.startswith("temporalio.")

    def _activity(self, walk: Walk, call: ast.Call, around: Around) -> None:
        frame = around.frame
        repeater = _retry(call, frame)
        limit, known = _limit(call, frame)
        name, target = self._target(call.args[0], walk, frame)
        inner = replace(around.within(repeater), unit=name, scope=name, timeout=limit, timeout_known=known)
        inner = replace(inner, facts=(*around.facts, frame.module.fact(call)))
        start, together = len(walk.found), _together(call)
        handed = call.args[1:2] or _args(call)
        carried = ast.Call(func=call.args[0], args=list(handed), keywords=[])
        ast.copy_location(carried, call)
        stands_for = target is not None and _stands_for(target[0].functions[target[1]])
        if target is None or stands_for or not walk.follow(*target, carried, inner, frame):
            opaque = None if stands_for else Unread(name, MISSING, frame.module.span(call))
            does = _NAMESPACE.sub("", name)
            effect = opaque_effect(name, does) if looks(does) else replace(unknown("", ""), told=name)
            seen = Seen(effect, limit, timeout_known=known)
            marks = frozenset({Mark.RECOVERY}) if around.handles else frozenset[Mark]()
            walk.add(Found(node=call, statement=walk.statement, around=inner, name=name, seen=seen, opaque=opaque, marks=marks))
        walk.found[start:] = [replace(one, extra=(*one.extra, *together)) for one in walk.found[start:]]

    def _target(self, expr: ast.expr, walk: Walk, frame: Frame) -> tuple[str, tuple[Module, str] | None]:
        if isinstance(expr, ast.Constant):
            name = str(expr.value)
            return name, next(
                ((one, key) for one in self.program.modules(name) for key in one.functions if key.rpartition(".")[2] == name), None
            )
        name = dotted(expr, frame).rpartition(".")[2] or "activity"
        target = walk.target(expr, frame)
        if target is None and isinstance(expr, ast.Attribute):
            whole = next(
                (
                    (one, key)
                    for one in self.program.modules(expr.attr)
                    for key in one.functions
                    if key == f"{_class(expr, frame)}.{expr.attr}"
                ),
                None,
            )
            return name, whole
        return name, target

    def _wait(self, walk: Walk, call: ast.Call, last: str, around: Around) -> None:
        limit = number(keyword(call, "timeout"), around.frame)
        told = ast.unparse(call)
        gate = Gate("approval", around.frame.module.span(call)) if "approv" in told.lower() else None
        known = last == "wait_condition"
        inner = replace(around, timeout=limit, timeout_known=known and (limit is not None or keyword(call, "timeout") is None))
        over_and_over = any(one.kind is Repeating.LOOP and one.bound is None for one in around.frame.repeaters)
        found = Found(node=call, statement=walk.statement, around=inner, name=f"workflow.{last}", gate=gate, marks=frozenset({Mark.WAIT}))
        walk.add(replace(found, extra=(("endless", "loop"),)) if over_and_over and gate is None else found)

    def _child(self, walk: Walk, call: ast.Call, around: Around) -> None:
        name = around.frame.module.shown(dotted(call.args[0], around.frame))
        target = walk.target(call.args[0], around.frame)
        if target is not None and any(run == target[1] for _, run, _ in workflows(target[0])):
            # It is a flow of its own, where its steps are judged; here it is only started.
            seen = Seen(Effect("", frozenset({Kind.ENQUEUE}), Repeat.DUPLICATES, Reversible.UNKNOWN, quoted(name)))
            walk.add(Found(node=call, statement=walk.statement, around=around, name=name, seen=seen))
            return
        opaque = Unread(name, MISSING, around.frame.module.span(call))
        walk.add(Found(node=call, statement=walk.statement, around=around, name=name, seen=Seen(unknown("", name)), opaque=opaque))


def _limit(call: ast.Call, frame: Frame) -> tuple[float | None, bool]:
    """The seconds that an activity has, and whether they are known; a limit that is not written down here is a limit all the same."""
    given = [one for one in (keyword(call, _ATTEMPT), keyword(call, _TOGETHER)) if not _is_none(one)]
    limit = next((one for one in (number(one, frame) for one in given) if one is not None), None)
    return limit, limit is not None or not given


def _together(call: ast.Call) -> tuple[tuple[str, str], ...]:
    """What ends all attempts together: the limit of the whole, or one beside the limit of each attempt."""
    if _is_none(keyword(call, _TOGETHER)):
        return ()
    return (("limit", "whole" if _is_none(keyword(call, _ATTEMPT)) else "attempts"),)


def _is_none(given: ast.expr | None) -> bool:
    return given is None or (isinstance(given, ast.Constant) and given.value is None)


def _stands_for(function: Function) -> bool:
    """Whether the body does nothing but wait: it stands for work that is not written here, and nobody knows what that does."""
    waits = False
    for one in function.body:
        match one:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Return(value=None | ast.Constant()):
                pass
            case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Raise(exc=ast.Name(id="NotImplementedError")):
                waits = True
            case ast.Expr(value=ast.Await(value=ast.Call(func=func))) | ast.Expr(value=ast.Call(func=func)):
                last = ast.unparse(func).rpartition(".")[2]
                if last not in ("sleep", "print", "info", "debug", "warning"):
                    return False
                waits = waits or last == "sleep"
            case _:
                return False
    return waits


def _args(call: ast.Call) -> list[ast.expr]:
    given = keyword(call, "args", "arg")
    return list(given.elts) if isinstance(given, ast.List) else [given] if given is not None else []


def _class(expr: ast.Attribute, frame: Frame) -> str:
    return dotted(expr.value, frame).rpartition(".")[2]


def _retry(call: ast.Call, frame: Frame) -> Repeater:
    """The policy of an activity; without one, or without maximum_attempts, it never gives up."""
    policy = keyword(call, "retry_policy")
    span = frame.module.span(policy if policy is not None else call)
    where = frame
    if isinstance(policy, ast.Name) and (found := frame.bound(policy.id, policy.lineno)) is not None:
        policy, where = found[0].value, found[1]
    elif isinstance(policy, ast.Attribute) and frame.owner:
        policy = frame.module.attributes.get(f"{frame.owner}.{policy.attr}", policy)
    if not isinstance(policy, ast.Call):
        return Repeater(Repeating.STEP_RETRY, automatic=True, bound=None, span=span, default=policy is None)
    attempts = number(keyword(policy, "maximum_attempts"), where)
    # Who writes down how it is tried again knows that it is, though not always that it never ends.
    said = bool(policy.keywords or policy.args)
    return Repeater(Repeating.STEP_RETRY, automatic=True, bound=int(attempts) if attempts else None, span=span, default=not said)
