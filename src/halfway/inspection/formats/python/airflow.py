"""Graphs of Airflow: a task is a unit, `default_args` hit every one of them, and the arrows are the edges."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from halfway.inspection.formats.python import operators
from halfway.inspection.formats.python.building import Plan, flow
from halfway.inspection.formats.python.frames import Frame, calls, dotted, entries, keyword, number, text
from halfway.inspection.formats.python.names import Function, Module, Program, is_operator, statements
from halfway.inspection.formats.python.said import docs_of, ignores_failures, marked
from halfway.inspection.formats.python.starting import by_person, decorated, period, scheduled, trigger
from halfway.inspection.formats.python.walk import Around, Walk
from halfway.inspection.model import Edge, Fact, Flow, Guard, Mark, Repeater, Repeating, Span, Starting, Step, Trigger, When

_UNSCHEDULED = ("None", "@once", "")
_MAPPING = ("override", "expand", "expand_kwargs", "partial")
_TRIGGER_RULES = {
    "all_done": When.ALWAYS,
    "always": When.ALWAYS,
    "one_failed": When.ERROR,
    "all_failed": When.ERROR,
    "none_skipped": When.ALWAYS,
}


@dataclass(frozen=True)
class Task:
    """One task of a graph."""

    id: str
    call: ast.Call  # of the operator, or of the function
    variable: str
    function: Function | None = None  # of a task that is a function
    decorator: ast.Call | None = None

    def option(self, name: str) -> ast.expr | None:
        source = self.decorator if self.function is not None else self.call
        return keyword(source, name) if source is not None else None


@dataclass(frozen=True, eq=False)
class Dag:
    """One graph: where it is declared, and the statements that make its tasks."""

    name: str
    call: ast.Call
    module: Module
    frame: Frame
    body: list[ast.stmt]
    defaults: Mapping[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    unread: bool = False  # whether there are defaults, or arguments of the graph itself, that cannot be seen
    handed: bool = False  # whether there are such arguments of the graph itself
    owners: Mapping[int, int] = field(default_factory=dict[int, int])  # of the calls of the file the line of the graph they say they are of

    def option(self, task: Task, name: str) -> ast.expr | None:
        """An option of a task; one that it does not have itself is that of all."""
        own = task.option(name)
        return own if own is not None else self.defaults.get(name)


def flows(module: Module, program: Program) -> Iterator[Flow]:
    """One flow for each graph."""
    owners: Mapping[int, int] | None = None
    for dag in dags(module):
        owners = _owners(module) if owners is None else owners
        yield _flow(replace(dag, owners=owners), program)


def dags(module: Module) -> Iterator[Dag]:
    """The graphs of a file: `with DAG(…)`, `dag = DAG(…)`, and functions with `@dag`."""
    top = Frame(module)
    for node in statements(module.tree.body):
        if isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.context_expr, ast.Call) and _is_dag(item.context_expr, top):
                    yield _dag(item.context_expr, top, node.body, "")
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_dag(node.value, top):
            yield _dag(node.value, top, module.tree.body, "")
    for name, function in module.functions.items():
        for called, decorator in decorated(function, top):
            if called.startswith("airflow") and called.rpartition(".")[2] == "dag":
                call = (
                    decorator
                    if isinstance(decorator, ast.Call)
                    else ast.copy_location(ast.Call(func=decorator, args=[], keywords=[]), decorator)
                )
                yield _dag(call, Frame(module, function), function.body, name)


def _is_dag(call: ast.Call, frame: Frame) -> bool:
    name = dotted(call.func, frame)
    return name.startswith("airflow") and name.rpartition(".")[2] == "DAG"


def _dag(call: ast.Call, frame: Frame, body: list[ast.stmt], named: str) -> Dag:
    spread = [one.value for one in call.keywords if one.arg is None]
    handed = any(_is_elsewhere(one, frame) for one in spread)
    call = _with_all(call, spread, frame)
    id = keyword(call, "dag_id") or (call.args[0] if call.args else None)
    name = text(id, frame) if id is not None else named or "dag"
    shared = keyword(call, "default_args")
    return Dag(name, call, frame.module, frame, body, dict(entries(shared, frame)), handed or _is_elsewhere(shared, frame), handed)


def _with_all(call: ast.Call, spread: list[ast.expr], frame: Frame) -> ast.Call:
    """The call with what `**shared` hands over as arguments of its own, as far as it is written down."""
    more = [ast.keyword(arg=key, value=value) for one in spread for key, value in entries(one, frame)]
    return ast.copy_location(ast.Call(func=call.func, args=call.args, keywords=[*call.keywords, *more]), call) if more else call


def _is_elsewhere(shared: ast.expr | None, frame: Frame, hops: int = 2) -> bool:
    """Whether some of the defaults stand in a file that was not given, or are worked out."""
    match shared:
        case None:
            return False
        case ast.Name(id=name) if hops and (bound := frame.bound(name, shared.lineno)):
            return _is_elsewhere(bound[0].value, bound[1], hops - 1)
        case ast.Dict(keys=keys, values=values):
            return any(key is None and _is_elsewhere(value, frame, hops) for key, value in zip(keys, values, strict=True))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_elsewhere(left, frame, hops) or _is_elsewhere(right, frame, hops)
        case ast.Call(func=ast.Name(id="dict"), args=[]):
            return any(one.arg is None and _is_elsewhere(one.value, frame, hops) for one in shared.keywords)
        case _:
            return not any(True for _ in entries(shared, frame))


def _flow(dag: Dag, program: Program) -> Flow:
    plan, again = _starting(dag)
    tasks = list(tasks_of(dag))
    rerun = by_person(dag.module.span(dag.call))
    walk = Walk(program, program.given.knowledge)
    docs = docs_of(dag.call, dag.frame)
    for task in tasks:
        walk.tips, start = frozenset(), len(walk.found)
        _task(task, dag, (*again, rerun), walk)
        told = f"{docs}\n{docs_of(task.call, dag.frame)}"
        ends = (("limit", "whole"),) if _limit(task, dag)[1] else ()
        made_here = (marked(one, told, task.call, dag.frame) for one in walk.found[start:])
        walk.found[start:] = [replace(one, extra=(*one.extra, *ends)) for one in made_here]
    callback = next(
        (one for one in (keyword(dag.call, "on_failure_callback"), dag.defaults.get("on_failure_callback")) if one is not None), None
    )
    if callback is not None:
        _called_back(callback, dag, walk)
    made = flow(
        Plan(
            engine="airflow", name=dag.name, module=dag.module, span=dag.module.span(dag.call), triggers=plan, guards=tuple(_guards(dag)),
            failure_notice=_notice(dag, callback), notice_expected=not dag.unread and not ignores_failures(docs),
            extra={"guards": "elsewhere"} if _may_be_guarded(dag) else {},
        ),
        walk,
    )  # fmt: skip
    notice = made.failure_notice or _notice_of_tasks(dag, tasks, made)
    return replace(made, failure_notice=notice, edges=(*made.edges, *_arrows(dag, tasks, made)))


def _starting(dag: Dag) -> tuple[tuple[Trigger, ...], tuple[Repeater, ...]]:
    given = keyword(dag.call, "schedule", "schedule_interval", "timetable")
    if given is None or text(given, dag.frame) in _UNSCHEDULED:
        return (trigger(Starting.MANUAL, dag.module, dag.call),), ()
    seconds = number(given, dag.frame)
    plan, again = scheduled(dag.module, given, seconds if seconds is not None else period(text(given, dag.frame)))
    return (plan,), (again,)


def _guards(dag: Dag) -> Iterator[Guard]:
    given = keyword(dag.call, "max_active_runs")
    if given is not None and number(given, dag.frame) == 1:
        yield Guard(dag.module.span(given), group=dag.name)


def _may_be_guarded(dag: Dag) -> bool:
    """Whether it cannot be seen how many runs of the graph there may be at a time."""
    given = keyword(dag.call, "max_active_runs")
    return dag.handed if given is None else number(given, dag.frame) is None


# ── tasks ──


def tasks_of(dag: Dag) -> Iterator[Task]:
    """The tasks in the order in which the file makes them."""
    taken = {call for call, line in dag.owners.items() if line != dag.call.lineno}
    for node in statements(dag.body):
        if not isinstance(node, (ast.Assign, ast.Expr, ast.Return)) or node.value is None:
            continue
        variable = _variable(node)
        for call in calls(node):
            if id(call) in taken:
                continue
            taken.add(id(call))
            found = _as_task(call, variable, dag)
            if found is not None:
                yield found


def _variable(node: ast.AST) -> str:
    return node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else ""


def _owners(module: Module) -> Mapping[int, int]:
    """Of the calls of a file the line of the graph that they say they are of: by `dag=…`, or else within a `with`."""
    every, top = list(statements(module.tree.body)), Frame(module)
    graphs = {node.lineno for node in every if isinstance(node, ast.Call) and _is_dag(node, top)}
    if len(graphs) == 1:
        return {}
    held: dict[str, list[int]] = {}  # by the names that hold them, in the order of the file
    for node in every:
        pairs = [(node.targets[0], node.value)] if isinstance(node, ast.Assign) else []
        pairs += [(one.optional_vars, one.context_expr) for one in node.items if one.optional_vars] if isinstance(node, ast.With) else []
        for name, made in pairs:
            if isinstance(name, ast.Name) and made.lineno in graphs:
                held.setdefault(name.id, []).append(made.lineno)

    def graph_of(given: ast.expr | None) -> int:
        """The line of the graph that is made or named there; 0: none."""
        if isinstance(given, ast.Call) and given.lineno in graphs:
            return given.lineno
        lines = held.get(given.id, ()) if isinstance(given, ast.Name) else ()
        return max((line for line in lines if given is not None and line <= given.lineno), default=0)

    return {call: line for call, line in _owned(module.tree.body, 0, graph_of) if line}


def _owned(body: Iterable[ast.AST], around: int, graph_of: Callable[[ast.expr | None], int]) -> Iterator[tuple[int, int]]:
    """Each call with the line of the graph that it says it is of, or that the innermost `with` names."""
    for node in body:
        within = around
        if isinstance(node, ast.With):
            within = next((line for item in node.items if (line := graph_of(item.context_expr))), around)
        elif isinstance(node, ast.Call):
            yield id(node), graph_of(keyword(node, "dag")) or around
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _owned(ast.iter_child_nodes(node), within, graph_of)


def _as_task(call: ast.Call, variable: str, dag: Dag) -> Task | None:
    name = dotted(_made_by(call.func), dag.frame)
    id = keyword(call, "task_id")
    if id is not None and is_operator(name):
        return Task(text(id, dag.frame), call, variable)
    function = dag.module.functions.get(name)
    decorator = (
        next((one for mark, one in decorated(function, Frame(dag.module)) if _is_task(mark)), None) if function is not None else None
    )
    if function is None or decorator is None:
        return None
    given = decorator if isinstance(decorator, ast.Call) else None
    named = keyword(given, "task_id") if given is not None else None
    return Task(text(named, dag.frame) if named is not None else function.name, call, variable, function, given)


def _made_by(func: ast.expr) -> ast.expr:
    """The operator or the function behind `.partial(…)`, `.expand(…)` and their like."""
    while isinstance(func, ast.Call) or (isinstance(func, ast.Attribute) and func.attr in _MAPPING):
        func = func.func if isinstance(func, ast.Call) else func.value
    return func


def _is_task(mark: str) -> bool:
    return mark.startswith("airflow") and ("task" in mark.split(".")) and not mark.endswith(("task_group",))


def _task(task: Task, dag: Dag, again: tuple[Repeater, ...], walk: Walk) -> None:
    repeaters = (*again, *_retries(task, dag))
    given, _ = _limit(task, dag)
    limit = number(given, dag.frame)
    # Who is late is told of by Airflow itself, if an `sla` is set.
    known = limit is not None or (given is None and not dag.unread and dag.option(task, "sla") is None)
    frame = replace(dag.frame, repeaters=repeaters)
    rule = task.option("trigger_rule")
    fact = (dag.module.fact(rule),) if rule is not None else ()
    around = Around(
        frame=frame, unit=task.id, scope=task.id, timeout=limit, timeout_known=known, facts=fact, condition=_when(rule, dag.frame)
    )
    walk.statement = ast.copy_location(ast.Expr(value=task.call), task.call)
    if task.function is not None:
        walk.follow(dag.module, dag.module.qualified[id(task.function)], task.call, around)
    else:
        operators.operator(task.call, dotted(_made_by(task.call.func), dag.frame), task.id, around, walk)


def _limit(task: Task, dag: Dag) -> tuple[ast.expr | None, bool]:
    """The limit of time of a task, else that of a whole run of the graph, which ends what is under way with it; and whether it is this."""
    own, whole = dag.option(task, "execution_timeout"), keyword(dag.call, "dagrun_timeout")
    return (own, False) if own is not None or whole is None else (whole, True)


def _when(rule: ast.expr | None, frame: Frame) -> str:
    return f"trigger_rule={text(rule, frame)}" if rule is not None else ""


def _retries(task: Task, dag: Dag) -> Iterator[Repeater]:
    given = dag.option(task, "retries")
    value = number(given, dag.frame)
    if given is None or value == 0:
        return
    yield Repeater(Repeating.STEP_RETRY, automatic=True, bound=int(value) + 1 if value is not None else None, span=dag.module.span(given))


def _notice(dag: Dag, callback: ast.expr | None) -> Span | None:
    """Where somebody is named who hears of a failure: a callback, or the addresses to which Airflow writes by itself."""
    if callback is not None:
        return dag.module.span(callback)
    address, said = dag.defaults.get("email"), dag.defaults.get("email_on_failure")
    written = address is not None and not (isinstance(said, ast.Constant) and said.value is False)
    return dag.module.span(address) if address is not None and written else None


def _notice_of_tasks(dag: Dag, tasks: list[Task], made: Flow) -> Span | None:
    """The first such place where each task that does something names somebody itself."""
    acting = {one.unit for one in made.steps if one.opaque is not None or (one.effect is not None and one.effect.outward)}
    told = [_notice_of(task, dag) for task in tasks if task.id in acting]
    return told[0] if told and all(told) else None


def _notice_of(task: Task, dag: Dag) -> Span | None:
    callback, address, said = task.option("on_failure_callback"), task.option("email"), dag.option(task, "email_on_failure")
    silent = isinstance(said, ast.Constant) and said.value is False
    own = callback if callback is not None else address if not silent else None
    return dag.module.span(own) if own is not None else None


def _called_back(callback: ast.expr, dag: Dag, walk: Walk) -> None:
    """What is done when a task has failed for good."""
    target = walk.target(callback, dag.frame)
    if target is None:
        return
    walk.tips = frozenset((index, When.ERROR) for index in range(len(walk.found)))
    name = target[1]
    fact: tuple[Fact, ...] = (dag.module.fact(callback),)
    frame = replace(dag.frame, repeaters=())
    walk.follow(
        *target, None, Around(frame=frame, unit=name, scope=name, marks=frozenset({Mark.FAILURE_NOTICE}), facts=fact, timeout_known=False)
    )


# ── arrows ──


def _arrows(dag: Dag, tasks: list[Task], made: Flow) -> Iterator[Edge]:
    """From the last step of a task to the first one of the next."""
    by_unit: dict[str, list[Step]] = {}
    for step in made.steps:
        by_unit.setdefault(step.unit, []).append(step)
    rules = {task.id: _TRIGGER_RULES.get(text(task.option("trigger_rule"), dag.frame), When.SUCCESS) for task in tasks}
    for before, after in dict.fromkeys(_pairs(dag, tasks)):
        if before in by_unit and after in by_unit:
            yield Edge(by_unit[before][-1].id, by_unit[after][0].id, rules[after])


def _pairs(dag: Dag, tasks: list[Task]) -> Iterator[tuple[str, str]]:
    names = {task.variable: task.id for task in tasks if task.variable}
    for task in tasks:  # the output of one is the input of another
        if task.function is not None:
            for node in ast.walk(task.call):
                if isinstance(node, ast.Name) and node.id in names and names[node.id] != task.id:
                    yield names[node.id], task.id
                elif isinstance(node, ast.Call) and node is not task.call:
                    yield from ((one.id, task.id) for one in tasks if one.call is node)
    yield from _drawn(dag, names, tasks)


def _drawn(dag: Dag, names: Mapping[str, str], tasks: list[Task]) -> Iterator[tuple[str, str]]:
    """The arrows that are written as such."""
    for node in statements(dag.body):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.RShift, ast.LShift)):
            left, right = _ends(node.left, names, tasks, last=True), _ends(node.right, names, tasks, last=False)
            for one in left:
                for two in right:
                    yield (one, two) if isinstance(node.op, ast.RShift) else (two, one)
        elif isinstance(node, ast.Call):
            yield from _called(node, names, tasks, dag.frame)


def _ends(expr: ast.expr, names: Mapping[str, str], tasks: list[Task], *, last: bool) -> list[str]:
    """The tasks that an arrow begins or ends at; a chain of arrows begins the next one at its last task."""
    match expr:
        case ast.Name(id=name):
            return [names[name]] if name in names else []
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return [one for part in elts for one in _ends(part, names, tasks, last=last)]
        case ast.BinOp(left=left, right=right):
            return _ends(right if last else left, names, tasks, last=last)
        case ast.Call():
            return [task.id for task in tasks if task.call is expr]
        case _:
            return []


def _called(call: ast.Call, names: Mapping[str, str], tasks: list[Task], frame: Frame) -> Iterator[tuple[str, str]]:
    """`chain(a, b)`, `a.set_downstream(b)`, `b.set_upstream(a)`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("set_downstream", "set_upstream") and call.args:
        for one in _ends(call.func.value, names, tasks, last=True):
            for two in _ends(call.args[0], names, tasks, last=False):
                yield (one, two) if call.func.attr == "set_downstream" else (two, one)
    elif dotted(call.func, frame).rpartition(".")[2] == "chain":
        for before, after in zip(call.args, call.args[1:], strict=False):
            for one in _ends(before, names, tasks, last=True):
                for two in _ends(after, names, tasks, last=False):
                    yield one, two
