"""Goes through the `run` of a Cloudflare Workflow in its order: what each step does, on which ways, and what a roll-back takes back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from halfway.inspection.formats.cloudflare_options import Options, options_of, rollback_is_tolerant
from halfway.inspection.formats.ts_actions import Action, Reading
from halfway.inspection.formats.typescript import arguments, bare, callee, is_function, literal, member, parameters, swallows, text
from halfway.inspection.formats.wording import is_approval, is_back, is_failure, is_notice, takes_back
from halfway.inspection.model import (
    Edge,
    Gate,
    Kind,
    Mark,
    OnError,
    Repeater,
    Repeating,
    Span,
    Step,
    Undo,
    When,
)
from halfway.inspection.quoting import quoted

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_DO, _WAITS, _SLEEPS = "do", frozenset({"waitForEvent", "waitForApproval"}), frozenset({"sleep", "sleepUntil"})
_LOOPS = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
_MAPPED = re.compile(r"\b(?:map|forEach|flatMap)$")
_WAITED = 86_400.0  # of waitForEvent without a timeout
_DEEPEST = 4
Front = tuple[tuple[str, When], ...]


@dataclass(frozen=True)
class _Around:
    """What stands around a place of the code."""

    catcher: Syntax | None = None
    in_loop: bool = False
    endless: Syntax | None = None
    condition: str = ""
    failing: bool = False
    depth: int = 0


@dataclass
class Walk:
    """The steps that were found so far, and where one is."""

    reading: Reading
    step_name: str
    span: Span
    steps: list[Step] = field(default_factory=list[Step])
    backs: list[Step] = field(default_factory=list[Step])
    edges: dict[Edge, None] = field(default_factory=dict[Edge, None])
    front: Front = ()
    catchers: dict[str, Syntax] = field(default_factory=dict[str, "Syntax"])
    thrown: int = -1  # the number of steps before the last `throw` that ends the instance
    taken: dict[str, int] = field(default_factory=dict[str, int])

    # ── statements ──

    def block(self, node: Syntax | None, around: _Around) -> None:
        """The statements below a node, one after the other."""
        for one in node.named_children if node is not None else ():
            self.statement(one, around)

    def statement(self, node: Syntax, around: _Around) -> None:
        """One statement; what follows it comes after all ways through it."""
        match node.type:
            case "if_statement":
                self._if(node, around)
            case "switch_statement":
                self._switch(node, around)
            case "try_statement":
                self._try(node, around)
            case "statement_block" | "else_clause" | "finally_clause" | "labeled_statement":
                self.block(node, around)
            case kind if kind in _LOOPS:
                self._loop(node, around)
            case "return_statement" | "throw_statement":
                self._expression(node, around)
                if node.type == "throw_statement" and not swallows(around.catcher):
                    self.thrown = len(self.steps)
                self.front = ()
            case "function_declaration" | "class_declaration":
                pass
            case _:
                self._expression(node, around)

    def _if(self, node: Syntax, around: _Around) -> None:
        condition = node.child_by_field_name("condition")
        if condition is not None:
            self._expression(condition, around)
        before = self.front
        said = quoted(text(condition).removeprefix("(").removesuffix(")"))
        self._branch(node.child_by_field_name("consequence"), replace(around, condition=said, failing=around.failing or is_failure(said)))
        after = self.front
        self.front = before
        self._branch(node.child_by_field_name("alternative"), replace(around, condition=quoted(f"!({said})")))
        self.front = _joined(after, self.front)

    def _branch(self, node: Syntax | None, around: _Around) -> None:
        if node is not None:
            self.statement(node, around)

    def _switch(self, node: Syntax, around: _Around) -> None:
        value, before = text(node.child_by_field_name("value")), self.front
        after: Front = before
        for case in _children(node.child_by_field_name("body")):
            said = quoted(f"{value} = {text(case.child_by_field_name('value'))}")
            self.front = before
            self.block(case, replace(around, condition=said))
            after = _joined(after, self.front)
        self.front = after

    def _loop(self, node: Syntax, around: _Around) -> None:
        before = self.front
        endless = node.type in ("while_statement", "do_statement") or (node.type == "for_statement" and _has_no_end(node))
        inner = replace(around, in_loop=True, endless=node if endless else around.endless)
        for name in ("initializer", "condition", "right"):
            head = node.child_by_field_name(name)
            if head is not None:
                self._expression(head, inner)
        self._branch(node.child_by_field_name("body"), inner)
        self.front = _joined(self.front, before)

    def _try(self, node: Syntax, around: _Around) -> None:
        handler, first = node.child_by_field_name("handler"), len(self.steps)
        catcher = handler if handler is not None else around.catcher
        self._branch(node.child_by_field_name("body"), replace(around, catcher=catcher))
        tried = [step.id for step in self.steps[first:]]
        after = self.front
        if handler is not None:
            self.front = tuple((one, When.ERROR) for one in tried)
            count = len(self.steps)
            self._branch(handler.child_by_field_name("body"), replace(around, failing=True, catcher=around.catcher))
            self._caught(first, count, handler)
            after = _joined(after, self.front)
        self.front = after
        self._branch(node.child_by_field_name("finalizer"), around)

    def _caught(self, first: int, count: int, handler: Syntax) -> None:
        """What becomes of a failure of the steps of a try block."""
        leads_on = len(self.steps) > count
        for number in range(first, count):
            step = self.steps[number]
            if self.catchers.get(step.id) != handler or step.on_error is OnError.SWALLOW:
                continue
            if leads_on:
                ending = OnError.ROUTE
            elif not swallows(handler):
                ending = OnError.STOP
            else:
                ending = OnError.CONTINUE if re.search(r"\b(?:console|logger|log)\.", text(handler)) else OnError.SWALLOW
            self.steps[number] = replace(step, on_error=ending)

    # ── expressions ──

    def _expression(self, node: Syntax, around: _Around) -> None:
        # Each with the body that it stands in; asked for only where there is a call, for it takes as long as the way up.
        left: list[tuple[Syntax, Syntax | None]] = [(node, None)]
        first: Syntax | None = None
        while left:
            one, home = left.pop()
            if one.type == "call_expression":
                home = home or (first := first or _enclosing(node))
                if self._call(one, home, around):
                    continue
            inner = around
            if one.type == "call_expression" and _MAPPED.search(text(callee(one))):
                inner = replace(around, in_loop=True)
            if inner is not around:
                self._mapped(one, inner)
                continue
            left += [(child, _body_of(one, child) or home) for child in reversed(one.named_children)]

    def _mapped(self, call: Syntax, around: _Around) -> None:
        for one in arguments(call):
            body = one.child_by_field_name("body") if is_function(one) else None
            if body is not None and body.type == "statement_block":
                self.block(body, around)
            else:
                self._expression(body if body is not None else one, around)

    def _call(self, call: Syntax, home: Syntax, around: _Around) -> bool:
        """Whether a call was taken up as a whole."""
        owner, name = member(callee(call))
        of_step = text(owner) == self.step_name
        if of_step and name == _DO:
            self._do(call, around)
        elif (of_step or text(owner) == "this") and name in _WAITS:
            self._wait(call, name, around)
        elif of_step:
            return True
        elif any(text(one) == self.step_name for one in arguments(call)):
            self._helper(call, around)
        else:
            found = list(self.reading.of_call(call, home))
            actions = [action for action in found if action.effect.outward and (action.effect.certain or action.effect.action)]
            self._outside(call, actions, around)
            return bool(actions)
        return True

    def _helper(self, call: Syntax, around: _Around) -> None:
        """A function that is given the steps goes on with the same run."""
        function = self._function(call)
        if function is None or around.depth >= _DEEPEST:
            return
        place = next(number for number, one in enumerate(arguments(call)) if text(one) == self.step_name)
        names = [text(one) for one in parameters(function)]
        own, self.step_name = self.step_name, names[place] if place < len(names) else self.step_name
        self.block(function.child_by_field_name("body"), replace(around, depth=around.depth + 1))
        self.step_name = own

    def _function(self, call: Syntax) -> Syntax | None:
        owner, name = member(callee(call))
        program = self.reading.program
        if owner is not None and owner.type == "this":
            return program.methods.get((self.reading.of_class, name))
        return program.functions.get(text(callee(call)))

    # ── steps ──

    def _do(self, call: Syntax, around: _Around) -> None:
        program = self.reading.program
        given = options_of(program, self.reading.of_class, call)
        name = self._named(quoted(literal(program, arguments(call)[0]) if arguments(call) else "?", 80))
        reading = replace(self.reading, name=name)
        actions = list(reading.inside(given.body)) if given.body is not None else []
        shown = [action for action in actions if action.effect.outward or action.opaque] or actions[:1]
        first = len(self.steps)
        repeaters = self._repeaters(call, given, around)
        if shown and all(action.caught for action in shown):  # no failure gets to the engine, which would try again
            repeaters = tuple(one for one in repeaters if one.kind is not Repeating.STEP_RETRY)
        for number, action in enumerate(shown or [None]):
            step = self._step(name, number, call, around, action)
            step = replace(step, unit=name, scope=name, repeaters=repeaters, timeout=given.timeout, timeout_known=True)
            if action is not None:
                own = {"at": action.at, "leaves": action.leaves, "caught": int(action.caught)}
                step = replace(step, extra={**step.extra, **{name: str(value) for name, value in own.items() if value}})
            if _is_dropped(call):
                step = replace(step, extra={**step.extra, "not_awaited": "true"}, on_error=OnError.SWALLOW)
            self._add(replace(step, facts=given.facts), around)
        if given.rollback is not None:
            self._back(name, given, [step.id for step in self.steps[first:]], reading)

    def _step(self, name: str, number: int, call: Syntax, around: _Around, action: Action | None) -> Step:
        span = action.span if action is not None and action.span.file == self.span.file else self.reading.program.span(call)
        marks = set[Mark]()
        if around.in_loop or (action is not None and action.in_loop):
            marks.add(Mark.IN_LOOP)
        if around.failing and is_back(name):
            marks.add(Mark.RECOVERY)
        if around.failing and action is not None and Kind.NOTIFY in action.effect.kinds:
            marks.add(Mark.FAILURE_NOTICE)
        elif action is not None and is_notice(action.effect):
            marks.add(Mark.SUCCESS_NOTICE)
        return Step(
            id=name if not number else f"{name}/{number + 1}",
            name=name,
            unit=name,
            scope=name,
            order=len(self.steps),
            span=span,
            quote=self.reading.program.source.fact(span).quote,
            effect=action.effect if action is not None else None,
            identity=action.identity if action is not None else None,
            kept=action.kept if action is not None else (),
            opaque=action.opaque if action is not None else None,
            condition=around.condition,
            marks=frozenset(marks),
        )

    def _add(self, step: Step, around: _Around) -> None:
        self.edges.update(dict.fromkeys(Edge(before, step.id, when) for before, when in self.front))
        self.front = ((step.id, When.SUCCESS),)
        self.steps.append(step)
        if around.catcher is not None:
            self.catchers[step.id] = around.catcher

    def _repeaters(self, call: Syntax, given: Options, around: _Around) -> tuple[Repeater, ...]:
        found: list[Repeater] = []
        if given.attempts is None or given.attempts > 1:
            span = given.retries if given.retries is not None else self.reading.program.span(call)
            found.append(Repeater(Repeating.STEP_RETRY, True, given.attempts, span, default=given.retries is None))
        if around.endless is not None:
            found.append(Repeater(Repeating.LOOP, True, None, self.reading.program.span(around.endless)))
        # A person may restart an instance, from its beginning or from a step.
        found.append(Repeater(Repeating.UNIT_RERUN, False, None, self.span, default=True))
        return tuple(found)

    def _wait(self, call: Syntax, kind: str, around: _Around) -> None:
        program = self.reading.program
        given = options_of(program, self.reading.of_class, call)
        first = arguments(call)[0] if arguments(call) else None
        name = self._named(quoted(literal(program, first), 80) if kind == "waitForEvent" else kind)
        approval = kind == "waitForApproval" or is_approval(f"{name} {given.event}")
        # The types of an error tell an answer from silence; who does not look takes one for the other.
        answers = around.catcher is not None and swallows(around.catcher) and not _looks(around.catcher)
        gate = Gate("approval" if approval else "wait", program.span(call), timeout_answers=answers)
        timeout = given.timeout if given.timeout_said else _WAITED if kind == "waitForEvent" else None
        step = self._step(name, 0, call, around, None)
        facts = (*given.facts, *((program.source.fact(program.span(around.catcher)),) if around.catcher is not None else ()))
        known = given.timeout_said or kind == "waitForEvent"
        marks = step.marks | {Mark.WAIT}
        self._add(replace(step, gate=gate, timeout=timeout, timeout_known=known, marks=marks, facts=facts), around)

    def _outside(self, call: Syntax, actions: Iterable[Action], around: _Around) -> None:
        """What is done outside of every step is done again whenever the instance wakes up."""
        for action in actions:
            name = self._named(quoted(action.effect.told, 80))
            step = self._step(name, 0, call, around, action)
            replay = Repeater(Repeating.REPLAY, True, None, step.span, default=True)
            rerun = Repeater(Repeating.UNIT_RERUN, False, None, self.span, default=True)
            self._add(replace(step, unit="run", scope="run", repeaters=(replay, rerun)), around)

    def _back(self, name: str, given: Options, forward: list[str], reading: Reading) -> None:
        """The roll-back of a step: a step of its own on the way of a failure."""
        assert given.rollback is not None
        program = reading.program
        back = f"{name} (rollback)"
        body = given.rollback.child_by_field_name("body")
        actions = [action for action in reading.inside(body) if action.effect.outward or action.opaque]
        retried = given.back_attempts is None or given.back_attempts > 1
        repeater = Repeater(
            Repeating.STEP_RETRY, True, given.back_attempts, program.span(given.rollback), default=given.back_retries is None
        )
        undo = Undo(back, program.span(given.rollback), tolerant=rollback_is_tolerant(given.rollback), retried=retried)
        around = _Around(failing=True)
        for number, action in enumerate(actions or [None]):
            step = self._step(back, number, given.rollback, around, action)
            marks = (step.marks | {Mark.RECOVERY}) - {Mark.SUCCESS_NOTICE}
            self.backs.append(replace(step, marks=marks, repeaters=(repeater,) if retried else ()))
        for number, step in enumerate(self.steps):
            if step.id in forward:
                self.steps[number] = replace(step, undo=undo, facts=(*step.facts, program.source.fact(undo.span)))
        self.edges.update(dict.fromkeys(Edge(one, back, When.ERROR) for one in forward))

    def _named(self, name: str) -> str:
        """A name that no other step has."""
        self.taken[name] = self.taken.get(name, 0) + 1
        return name if self.taken[name] == 1 else f"{name} #{self.taken[name]}"

    # ── at the end ──

    def finished(self) -> tuple[Step, ...]:
        """All steps; the roll-backs come last, those of later steps first."""
        ends = [number for number, step in enumerate(self.steps) if step.fallible and not swallows(self.catchers.get(step.id))]
        last = max([*ends, self.thrown - 1])
        recovering = [step for step in self.steps if Mark.RECOVERY in step.marks]
        steps = [
            replace(step, undo=replace(step.undo, reached=number <= last)) if step.undo is not None else _paired(step, recovering)
            for number, step in enumerate(self.steps)
        ]
        backs = [replace(step, order=len(steps) + number) for number, step in enumerate(reversed(self.backs))]
        return (*steps, *backs)


def _paired(step: Step, recovering: list[Step]) -> Step:
    """A step with the one in a catch block whose name says that it takes it back."""
    if step.effect is None or Mark.RECOVERY in step.marks:
        return step
    back = next((one for one in recovering if takes_back(one.name, step.name)), None)
    if back is None:
        return step
    retried = any(repeater.kind is Repeating.STEP_RETRY for repeater in back.repeaters)
    return replace(step, undo=Undo(back.name, back.span, retried=retried))


def walked(reading: Reading, run: Syntax, step_name: str, span: Span) -> Walk:
    """The way through the body of `run`."""
    walk_ = Walk(reading, step_name, span)
    walk_.block(run, _Around())
    return walk_


def _joined(one: Front, other: Front) -> Front:
    return tuple(dict.fromkeys((*one, *other)))


def _children(node: Syntax | None) -> Iterator[Syntax]:
    yield from node.named_children if node is not None else ()


def _has_no_end(loop: Syntax) -> bool:
    condition = loop.child_by_field_name("condition")
    return condition is None or text(condition).strip() in ("", ";", "true")


def _looks(catcher: Syntax) -> bool:
    """Whether a catch block asks what went wrong."""
    name = text(catcher.child_by_field_name("parameter"))
    return (
        bool(name) and re.search(rf"\b{re.escape(name)}\b\s*(?:instanceof|\??\.\w+)", text(catcher.child_by_field_name("body"))) is not None
    )


def _is_dropped(call: Syntax) -> bool:
    """Whether nobody waits for the step."""
    return call.parent is not None and call.parent.type == "expression_statement"


def _enclosing(call: Syntax) -> Syntax:
    current = call
    while current.parent is not None:
        if (body := _body_of(current.parent, current)) is not None:
            return body
        current = current.parent
    return bare(current) or current


def _body_of(parent: Syntax, node: Syntax) -> Syntax | None:
    """The node, if it is the body of a function."""
    return (bare(node) or node) if node.type == "statement_block" and is_function(parent) else None
