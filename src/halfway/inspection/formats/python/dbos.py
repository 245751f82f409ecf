"""Workflows of DBOS: a step that has finished is not done again, one that had not is, also after the process died."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from halfway.inspection.formats.python.building import Plan, flow
from halfway.inspection.formats.python.frames import Frame, keyword, number, truth
from halfway.inspection.formats.python.names import Function, Module, Program
from halfway.inspection.formats.python.starting import by_person, decorated, head, scheduled, trigger, walked
from halfway.inspection.formats.python.walk import Around, Found, Walk
from halfway.inspection.model import Flow, Gate, Mark, Repeater, Repeating, Starting, Trigger

ATTEMPTS = 3  # of a step whose retries are allowed
RECOVERIES = 100  # of a workflow whose process died


def _marked(function: Function, frame: Frame, *marks: str) -> ast.expr | None:
    for name, decorator in decorated(function, frame):
        root, _, last = name.rpartition(".")
        if last in marks and (root.startswith("dbos") or root in ("DBOS", "dbos.DBOS")):
            return decorator
    return None


def flows(module: Module, program: Program) -> Iterator[Flow]:
    """One flow for each workflow; a step that no workflow of the file calls is none."""
    top = Frame(module)
    for name, function in module.functions.items():
        decorator = _marked(function, top, "workflow", "dbos_workflow")
        if decorator is not None:
            yield _flow(name, function, decorator, module, program)


def _flow(name: str, function: Function, decorator: ast.expr, module: Module, program: Program) -> Flow:
    top, span = Frame(module), module.span(decorator)
    call = decorator if isinstance(decorator, ast.Call) else None
    said = number(keyword(call, "max_recovery_attempts"), top) if call else None
    recovery = Repeater(
        Repeating.RESTART, automatic=True, bound=int(said) if said is not None else RECOVERIES, span=span, default=said is None
    )
    plan_, again = _starting(function, module)
    frame = Frame(module, function, name.rpartition(".")[0], entry=True, repeaters=(recovery, *again, by_person(span)))
    plan = Plan(engine="dbos", name=name, module=module, span=head(function, module), triggers=(plan_,))
    return flow(plan, walked(program, frame, name, engine=_Dbos()))


def _starting(function: Function, module: Module) -> tuple[Trigger, tuple[Repeater, ...]]:
    decorator = _marked(function, Frame(module), "scheduled")
    if decorator is None:
        return trigger(Starting.CALL, module, function), ()
    plan, again = scheduled(module, decorator, None)
    return plan, (again,)


@dataclass(eq=False)
class _Dbos:
    """Takes the calls of steps, of transactions, and the waits for messages."""

    def call(self, walk: Walk, call: ast.Call, name: str, around: Around) -> bool:
        last = name.rpartition(".")[2]
        if name.startswith(("dbos.DBOS.", "DBOS.")) and "sql_session" not in name:
            if last in ("recv", "recv_async"):
                self._wait(walk, call, around)
            if last in ("start_workflow", "start_workflow_async") and call.args and (child := walk.target(call.args[0], around.frame)):
                self._start(walk, call, child, around)
            return True
        target = walk.target(call.func, around.frame)
        if target is None:
            return False
        module, function = target[0], target[0].functions[target[1]]
        step = _marked(function, Frame(module), "step", "communicator")
        if step is not None:
            inner = replace(around.within(*_retry(step, module)), unit=target[1], scope=target[1])
            return walk.follow(*target, call, inner, around.frame)
        return self._transaction(walk, call, target, around)

    def _start(self, walk: Walk, call: ast.Call, child: tuple[Module, str], around: Around) -> None:
        """A workflow that is started is a unit of its own, under an id that stays; it is told at its own decorator."""
        module, name = child
        if _marked(module.functions[name], Frame(module), "workflow", "dbos_workflow") is None:
            walk.follow(*child, _rest(call), around)

    def _transaction(self, walk: Walk, call: ast.Call, target: tuple[Module, str], around: Around) -> bool:
        """What a transaction does is recorded together with that it was done, so nothing repeats it by itself."""
        module, name = target
        if _marked(module.functions[name], Frame(module), "transaction") is None:
            return False
        frame = replace(around.frame, repeaters=tuple(one for one in around.frame.repeaters if one.kind is not Repeating.RESTART))
        return walk.follow(module, name, call, replace(around, frame=frame, unit=name, scope=name), around.frame)

    def _wait(self, walk: Walk, call: ast.Call, around: Around) -> None:
        given = keyword(call, "timeout_seconds") or (call.args[1] if len(call.args) > 1 else None)
        limit = number(given, around.frame) if given is not None else 60.0
        told = ast.unparse(call)
        gate = Gate("approval", around.frame.module.span(call)) if "approv" in told.lower() else None
        inner = replace(around, timeout=limit, timeout_known=limit is not None)
        walk.add(Found(node=call, statement=walk.statement, around=inner, name="DBOS.recv", gate=gate, marks=frozenset({Mark.WAIT})))


def _rest(call: ast.Call) -> ast.Call:
    """The call that `start_workflow(f, a, b)` makes."""
    made = ast.Call(func=call.args[0], args=list(call.args[1:]), keywords=list(call.keywords))
    return ast.copy_location(made, call)


def _retry(decorator: ast.expr, module: Module) -> tuple[Repeater, ...]:
    call = decorator if isinstance(decorator, ast.Call) else None
    if call is None or not truth(keyword(call, "retries_allowed")):
        return ()
    said = number(keyword(call, "max_attempts"), Frame(module))
    return (Repeater(Repeating.STEP_RETRY, automatic=True, bound=int(said) if said is not None else ATTEMPTS, span=module.span(decorator)),)
