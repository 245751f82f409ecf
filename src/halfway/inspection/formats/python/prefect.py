"""Flows of Prefect: a task is a unit; when the flow is retried, tasks whose result is not kept run once more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from halfway.inspection.formats.python.building import Plan, flow
from halfway.inspection.formats.python.frames import Frame, calls, dotted, keyword, number, truth
from halfway.inspection.formats.python.names import Function, Module, Program
from halfway.inspection.formats.python.said import is_by_hand
from halfway.inspection.formats.python.starting import by_person, decorated, head, trigger, walked
from halfway.inspection.formats.python.walk import Around, Found, Walk
from halfway.inspection.model import Flow, Gate, Mark, Repeater, Repeating, Span, Starting, Step, Undo

_PAUSES = {"pause_flow_run", "suspend_flow_run", "wait_for_flow_run_input"}
PAUSE = 3_600.0  # seconds that a pause lasts at most when nothing is said


def _marked(function: Function, frame: Frame, mark: str) -> ast.expr | None:
    for name, decorator in decorated(function, frame):
        if name.startswith("prefect") and name.rpartition(".")[2] == mark:
            return decorator
    return None


def flows(module: Module, program: Program) -> Iterator[Flow]:
    """One flow for each function that is marked as one."""
    for name, function in module.functions.items():
        decorator = _marked(function, Frame(module), "flow")
        if decorator is not None:
            yield _flow(name, function, decorator, module, program)


def _flow(name: str, function: Function, decorator: ast.expr, module: Module, program: Program) -> Flow:
    top = Frame(module)
    call = decorator if isinstance(decorator, ast.Call) else None
    repeaters = (*_retries(decorator, top), by_person(module.span(decorator)))
    frame = Frame(module, function, name.rpartition(".")[0], entry=True, repeaters=repeaters)
    limit = number(keyword(call, "timeout_seconds"), top) if call else None
    walk = walked(program, frame, name, engine=_Prefect(), timeout=limit)
    start = Starting.MANUAL if is_by_hand(module, function) else Starting.CALL
    hook = keyword(call, "on_failure", "on_crashed") if call else None
    plan = Plan(
        engine="prefect", name=name, module=module, span=head(function, module), undoes=True, notice_expected=True,
        failure_notice=module.span(hook) if hook is not None else None, triggers=(trigger(start, module, decorator),),
    )  # fmt: skip
    made = flow(plan, walk)
    backs = _rollbacks(program)
    inside = _in_transaction(function, module)
    return replace(made, steps=tuple(_with_undo(one, backs, inside) for one in made.steps))


def _retries(decorator: ast.expr, frame: Frame) -> tuple[Repeater, ...]:
    call = decorator if isinstance(decorator, ast.Call) else None
    given = keyword(call, "retries") if call else None
    value = number(given, frame)
    if given is None or value == 0:
        return ()
    return (
        Repeater(Repeating.STEP_RETRY, automatic=True, bound=int(value) + 1 if value is not None else None, span=frame.module.span(given)),
    )


@dataclass(eq=False)
class _Prefect:
    """Takes the calls of tasks and the pauses for people."""

    def call(self, walk: Walk, call: ast.Call, name: str, around: Around) -> bool:
        last = name.rpartition(".")[2]
        if name.startswith("prefect") and last in _PAUSES:
            self._pause(walk, call, around)
            return True
        func = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in ("submit", "map", "delay") else call.func
        target = walk.target(func, around.frame)
        if target is None or (decorator := _marked(target[0].functions[target[1]], Frame(target[0]), "task")) is None:
            return name.startswith("prefect.") and "." not in name[8:]
        own = Frame(target[0])
        given = decorator if isinstance(decorator, ast.Call) else None
        frame = around.frame
        if given is not None and (truth(keyword(given, "persist_result")) or keyword(given, "cache_policy") is not None):
            frame = replace(frame, repeaters=tuple(one for one in frame.repeaters if one.kind is not Repeating.STEP_RETRY))
        limit = number(keyword(given, "timeout_seconds"), own) if given is not None else None
        inner = replace(around, frame=frame).within(*_retries(decorator, own))
        inner = replace(inner, unit=target[1], scope=target[1], timeout=limit if limit is not None else around.timeout)
        return walk.follow(*target, call, inner, around.frame)

    def _pause(self, walk: Walk, call: ast.Call, around: Around) -> None:
        given = keyword(call, "timeout")
        limit = number(given, around.frame) if given is not None else PAUSE
        span = around.frame.module.span(call)
        inner = replace(around, timeout=limit, timeout_known=limit is not None)
        kind = "approval" if keyword(call, "wait_for_input") is not None else "wait"
        walk.add(
            Found(node=call, statement=walk.statement, around=inner, name="pause", gate=Gate(kind, span), marks=frozenset({Mark.WAIT}))
        )


def _rollbacks(program: Program) -> dict[str, tuple[str, Span]]:
    """By task, what its `on_rollback` does."""
    found: dict[str, tuple[str, Span]] = {}
    for module in program.modules("on_rollback"):
        for name, function in module.functions.items():
            for decorator in function.decorator_list:
                if isinstance(decorator, ast.Attribute) and decorator.attr == "on_rollback":
                    found[dotted(decorator.value, Frame(module)).rpartition(".")[2]] = (name, module.span(decorator))
    return found


def _in_transaction(function: Function, module: Module) -> frozenset[str]:
    """The tasks that are called within a transaction; only these are rolled back."""
    frame = Frame(module, function)
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.With, ast.AsyncWith)) and any("transaction" in ast.unparse(item.context_expr) for item in node.items):
            found |= {dotted(call.func, frame).partition(".submit")[0].rpartition(".")[2] for one in node.body for call in calls(one)}
    return frozenset(found)


def _with_undo(step: Step, backs: dict[str, tuple[str, Span]], inside: frozenset[str]) -> Step:
    if step.undo is not None or step.effect is None or not step.effect.outward or step.unit not in backs:
        return step
    name, span = backs[step.unit]
    return replace(step, undo=Undo(name, span, reached=step.unit in inside, retried=False))
