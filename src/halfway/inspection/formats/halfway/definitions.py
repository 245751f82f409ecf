"""Reads workflows of halfway where they are declared in Python: by the syntax tree, nothing of it is imported or executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from halfway.domain.spec import BudgetSpec, Effect, FanSpec, ProbeSpec, RetrySpec, Risk, Sort, StepSpec, UndoSpec, WaitSpec, WorkflowSpec
from halfway.inspection.formats import Given
from halfway.inspection.formats.halfway.bodies import bearing, is_unwritten, mistakes_errors, outputs, seen
from halfway.inspection.formats.halfway.declared import FORMAT, SECOND, Definition, Told, flow_of
from halfway.inspection.formats.python.frames import Frame, dotted, keyword, number, text, truth
from halfway.inspection.formats.python.names import Function, Module, module_of, statements
from halfway.inspection.formats.python.starting import period
from halfway.inspection.model import Fact, Flow, RunLog, Starting, Trigger, Unread
from halfway.inspection.source import Source, Unreadable

ELSEWHERE = "the steps of {what} are declared elsewhere"
_IMPORT = re.compile(r"(?m)^[ \t]*(?:from|import) halfway\b")
_WAYS = {
    "step": Sort.STEP,
    "transaction": Sort.TRANSACTION,
    "each": Sort.EACH,
    "children": Sort.CHILDREN,
    "wait_for": Sort.EVENT,
    "wait_until": Sort.TIME,
    "approval": Sort.APPROVAL,
}
_STARTS = {"schedule": Starting.SCHEDULE, "starts_on": Starting.EVENT, "starts_after": Starting.CALL}


class HalfwayReader:
    """The reader of definitions."""

    name = FORMAT

    def takes(self, source: Source, /) -> bool:
        """Whether it declares a workflow, or a part of one."""
        if not _IMPORT.search(source.text):
            return False
        try:
            module = module_of(source)
        except Unreadable:
            return False
        return any(True for scope in _scopes(module) for _ in _homes(scope))

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        """The workflows, in the order of the file."""
        module = module_of(source)
        for scope in _scopes(module):
            homes = dict(_homes(scope))
            for name, call in homes.items():
                if _made(call, scope) == "Workflow":
                    yield flow_of(_Declaring(scope, homes, given).workflow(name, call))

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        """Definitions tell about no runs."""
        del source, given
        yield from ()


def _scopes(module: Module) -> Iterator[Frame]:
    """The file, and each of its functions: a definition may be made by one."""
    yield Frame(module)
    yield from (Frame(module, function) for function in module.functions.values())


def _body(scope: Frame) -> list[ast.stmt]:
    return scope.module.tree.body if scope.function is None else scope.function.body


def _homes(scope: Frame) -> Iterator[tuple[str, ast.Call]]:
    """The workflows and parts of a scope, by the name of their variable."""
    for node in statements(_body(scope)):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if isinstance(target, ast.Name) and isinstance(value, ast.Call) and _made(value, scope):
            yield target.id, value


def _made(call: ast.Call, scope: Frame) -> str:
    name = dotted(call.func, scope)
    root, _, last = name.rpartition(".")
    return last if root.startswith("halfway") and last in ("Workflow", "Part") else ""


UNWRITTEN = "the body of {what} is still to be written"


@dataclass(frozen=True)
class _Way:
    """A decorator that declares: `@flow.optional.when(f).step(…)`."""

    home: str
    way: str
    call: ast.Call
    optional: bool
    condition: str


def _way(decorator: ast.expr) -> _Way | None:
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Attribute):
        return None
    optional, condition, inner = False, "", decorator.func.value
    while not isinstance(inner, ast.Name):
        match inner:
            case ast.Attribute(value=value, attr="optional"):
                optional, inner = True, value
            case ast.Call(func=ast.Attribute(value=value, attr="when"), args=[given, *_]):
                condition, inner = ast.unparse(given), value
            case _:
                return None
    return _Way(inner.id, decorator.func.attr, decorator, optional, condition)


@dataclass
class _Step:
    """A step while its helpers are looked for."""

    spec: StepSpec
    told: Told


@dataclass(eq=False)
class _Declaring:
    """Goes over the statements of a scope in their order."""

    scope: Frame
    homes: Mapping[str, ast.Call]
    given: Given
    unread: list[Unread] = field(default_factory=list[Unread])
    by_function: dict[str, str] = field(default_factory=dict[str, str])

    def workflow(self, name: str, call: ast.Call) -> Definition:
        frame = self.scope
        steps = self._steps(name, seen=(name,))
        spec = WorkflowSpec(
            type=text(call.args[0], frame) if call.args else name.upper(), version=int(number(keyword(call, "version"), frame) or 1),
            owner=text(keyword(call, "owner"), frame), steps=self._placed(steps, call),
            keyed=_is_given(call, "key"), locked=_is_given(call, "resource"),
            budget=BudgetSpec() if keyword(call, "budget") is not None else None,
        )  # fmt: skip
        keys = {
            one: self._fact(value) for one in ("key", "resource", "concurrency") if (value := keyword(call, one)) and _is_given(call, one)
        }
        return Definition(
            spec=spec, whole=self._fact(call), steps={step.spec.name: step.told for step in steps}, keys=keys,
            starts=tuple(self._starts(name)), unread=tuple(self.unread),
        )  # fmt: skip

    def _placed(self, steps: list[_Step], call: ast.Call) -> tuple[StepSpec, ...]:
        """With what the workflow gives to all its steps, and no step after one that is not there."""
        retry, known, found = keyword(call, "retry"), set[str](), list[StepSpec]()
        for step in steps:
            tried = step.spec.retry if retry is None or "retry" in step.told.options else self._retry(retry)
            after = tuple(name for name in step.spec.after if name in known)
            found.append(replace(step.spec, after=after, reads=tuple(one for one in step.spec.reads if one in known), retry=tried))
            known.add(step.spec.name)
        return tuple(found)

    def _fact(self, node: ast.AST) -> Fact:
        return self.scope.module.fact(node)

    # ── the steps ──

    def _steps(self, home: str, seen: tuple[str, ...]) -> list[_Step]:
        found: dict[str, _Step] = {}
        for node in sorted(statements(_body(self.scope)), key=lambda one: getattr(one, "lineno", 0)):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(node, home, found)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=one), attr="include"), args=[part, *_]) if one == home:
                    self._include(part, seen, found)
                case _:
                    pass
        return list(found.values())

    def _include(self, part: ast.expr, seen: tuple[str, ...], found: dict[str, _Step]) -> None:
        if isinstance(part, ast.Name) and part.id in self.homes and part.id not in seen:
            first = True
            for step in self._steps(part.id, (*seen, part.id)):
                if first and not step.spec.after and found:
                    step.spec = replace(step.spec, after=(next(reversed(found.values())).spec.name,))
                first = False
                found[step.spec.name] = step
        else:
            self.unread.append(Unread(ast.unparse(part)[:80], ELSEWHERE, self.scope.module.span(part)))

    def _function(self, node: Function, home: str, found: dict[str, _Step]) -> None:
        for decorator in node.decorator_list:
            way = _way(decorator)
            if way is not None and way.home == home and way.way in _WAYS:
                step = self._step(node, way, found)
                found[step.spec.name] = step
                self.by_function[node.name] = step.spec.name
            else:
                self._helper(node, decorator, found)

    def _helper(self, node: Function, decorator: ast.expr, found: dict[str, _Step]) -> None:
        call = decorator if isinstance(decorator, ast.Call) else None
        function = call.func if call is not None else decorator
        if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
            return
        step = found.get(self.by_function.get(function.value.id, ""))
        if step is None or function.attr not in ("probe", "compensate"):
            return
        fact = self._fact(decorator)
        name = "probe" if function.attr == "probe" else "undo"
        step.told = replace(step.told, options={**step.told.options, name: fact.span}, facts=(*step.told.facts, fact))
        if name == "probe":
            settle = number(keyword(call, "settle"), self.scope) if call is not None else None
            step.spec = replace(step.spec, probe=ProbeSpec(settle=int((60 if settle is None else settle) * SECOND)))
            step.told = replace(step.told, trusted=not mistakes_errors(node) and not is_unwritten(node))
        elif not is_unwritten(node):
            risk = call.args[0] if call is not None and call.args else None
            named = risk.attr if isinstance(risk, ast.Attribute) and risk.attr in Risk.__members__ else Risk.HIGH
            step.spec = replace(step.spec, undo=UndoSpec(risk=Risk(named), effect=step.spec.effect))

    def _step(self, node: Function, way: _Way, found: dict[str, _Step]) -> _Step:
        call, frame, sort = way.call, self.scope, _WAYS[way.way]
        own = Frame(frame.module, node)
        idempotent = keyword(call, "idempotent")
        lifetime = number(idempotent, frame)
        within, outside = seen(node, own, self.given.knowledge)
        spec = StepSpec(
            name=text(keyword(call, "name"), frame) or node.name.upper(), sort=sort, effect=_effect(call), after=self._after(call, found),
            retry=self._retry(keyword(call, "retry")), timeout=int(_seconds(call, "timeout", frame, 300) * SECOND),
            idempotent=lifetime is not None or truth(idempotent) is True, evidence=text(keyword(call, "evidence"), frame),
            approver=text(keyword(call, "approver"), frame),
            irreversible=truth(keyword(call, "irreversible")) is True, stays=text(keyword(call, "stays"), frame),
            requires_approval=truth(keyword(call, "requires_approval")) is True, wait=_wait(call, way.way, frame),
            optional=way.optional, condition=way.condition, budget=BudgetSpec() if keyword(call, "budget") is not None else None,
            fan=FanSpec(workflow=ast.unparse(call.args[0]) if call.args else "") if sort in (Sort.EACH, Sort.CHILDREN) else None,
            reads=tuple(name for one in outputs(node) if (name := self.by_function.get(one))),
        )  # fmt: skip
        options = {one.arg: frame.module.span(one.value) for one in call.keywords if one.arg}
        if not spec.idempotent:
            options.pop("idempotent", None)
        unwritten = Unread(spec.name, UNWRITTEN, self._fact(node).span, at_hand=True) if is_unwritten(node) else None
        told = Told(
            fact=self._fact(node), options=options, bearing=bearing(node, own), seen=within, outside=outside,
            facts=(self._fact(way.call),), unwritten=unwritten,
        )  # fmt: skip
        return _Step(spec, told)

    def _after(self, call: ast.Call, found: Mapping[str, _Step]) -> tuple[str, ...]:
        given = keyword(call, "after")
        if isinstance(given, (ast.List, ast.Tuple)):
            return tuple(name for one in given.elts if isinstance(one, ast.Name) and (name := self.by_function.get(one.id)))
        return tuple(found)[-1:]

    def _retry(self, expr: ast.expr | None) -> RetrySpec:
        if isinstance(expr, ast.Name) and (bound := self.scope.bound(expr.id, expr.lineno)) is not None:
            expr = bound[0].value
        if not isinstance(expr, ast.Call):
            return RetrySpec()
        attempts = number(expr.args[0] if expr.args else keyword(expr, "attempts"), self.scope)
        return RetrySpec(attempts=int(attempts)) if attempts is not None else RetrySpec()

    # ── what starts it ──

    def _starts(self, home: str) -> Iterator[Trigger]:
        for node in statements(_body(self.scope)):
            for decorator in node.decorator_list if isinstance(node, Function) else ():
                way = _way(decorator)
                if way is not None and way.home == home and way.way in _STARTS:
                    fact = self._fact(decorator)
                    cron = text(way.call.args[0], self.scope) if way.call.args else ""
                    seconds = number(keyword(way.call, "every"), self.scope)
                    yield Trigger(_STARTS[way.way], fact.span, fact.quote, period=period(cron) if seconds is None else seconds)


def _is_given(call: ast.Call, name: str) -> bool:
    value = keyword(call, name)
    return value is not None and not (isinstance(value, ast.Constant) and value.value is None)


def _effect(call: ast.Call) -> Effect | None:
    given = call.args[0] if call.args else None
    return Effect(given.attr) if isinstance(given, ast.Attribute) and given.attr in Effect.__members__ else None


def _seconds(call: ast.Call, name: str, frame: Frame, otherwise: float) -> float:
    found = number(keyword(call, name), frame)
    return otherwise if found is None or not 0 < found < 10**9 else found


def _wait(call: ast.Call, way: str, frame: Frame) -> WaitSpec | None:
    if way == "approval":
        role = text(call.args[0], frame) if call.args else ""
        return WaitSpec(role=role, timeout=int(_seconds(call, "expires", frame, 86_400) * SECOND))
    if way == "wait_for":
        return WaitSpec(timeout=int(_seconds(call, "timeout", frame, 86_400) * SECOND))
    return WaitSpec() if way == "wait_until" else None
