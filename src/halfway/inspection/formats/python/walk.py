"""Goes over the statements of an automation in the order in which they are done, into functions that were given as well."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from halfway.inspection.formats.python import retrying
from halfway.inspection.formats.python.effects import Seen, command_words, is_command, recognised
from halfway.inspection.formats.python.frames import GAP, Frame, calls, dotted, keyword
from halfway.inspection.formats.python.guards import guarded, is_transaction, lookup, refusal_heeded, settled
from halfway.inspection.formats.python.kept import results
from halfway.inspection.formats.python.marks import claim, harmless
from halfway.inspection.formats.python.names import Function, Module, Program, is_own
from halfway.inspection.formats.python.passing import NOTHING, Passing, State, joined, telling
from halfway.inspection.formats.python.replacing import emptied, filled
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Fact, Gate, Mark, OnError, Repeat, Repeater, Repeating, Span, Unread, When

DEEPEST = 5  # calls into calls
MOST = 2_000  # things found in one automation
MOST_EDGES = 4_000  # beyond these, only what was found last leads on
NEAREST = 15
Tips = frozenset[tuple[int, When]]


@dataclass(frozen=True, kw_only=True)
class Around:
    """What encloses a statement."""

    frame: Frame
    unit: str
    scope: str
    on_error: OnError = OnError.STOP
    condition: str = ""
    marks: frozenset[Mark] = frozenset()
    facts: tuple[Fact, ...] = ()
    timeout: float | None = None
    timeout_known: bool = False
    ends_after: float | None = None
    guard: tuple[Span, bool] | None = None  # where it is looked for, and whether the look proves it
    atomic: bool = False  # what is stored here is stored only at the end of a transaction
    heeded: int = 0  # how many of the repeaters stand outside a try that takes the failure, and so never hear of it
    tries: tuple[int, ...] = ()  # the try blocks in whose bodies it stands
    handles: int = 0  # the try block whose handler it is part of
    stack: tuple[int, ...] = ()

    def within(self, *repeaters: Repeater, loop: bool = False) -> Around:
        """The same with more repeaters around."""
        inner = (*self.frame.loops, *repeaters) if loop else self.frame.loops
        return replace(self, frame=replace(self.frame, repeaters=(*self.frame.repeaters, *repeaters), loops=inner))


@dataclass(frozen=True, kw_only=True)
class Found:
    """Something that becomes a step, or part of one."""

    node: ast.expr | ast.stmt
    statement: ast.stmt
    around: Around
    name: str
    seen: Seen | None = None
    opaque: Unread | None = None
    gate: Gate | None = None
    marks: frozenset[Mark] = frozenset()
    extra: tuple[tuple[str, str], ...] = ()


class Engine(Protocol):
    """What an engine does with calls of its own."""

    def call(self, walk: Walk, call: ast.Call, name: str, around: Around, /) -> bool:
        """Takes the call, or leaves it to the walk."""
        ...


class Plain:
    """No engine."""

    def call(self, walk: Walk, call: ast.Call, name: str, around: Around, /) -> bool:
        del walk, call, name, around
        return False


@dataclass(eq=False)
class Walk:
    """One walk; `found` and `edges` are what it saw."""

    program: Program
    knowledge: Knowledge
    engine: Engine = field(default_factory=Plain)
    found: list[Found] = field(default_factory=list[Found])
    edges: dict[tuple[int, int], When] = field(default_factory=dict[tuple[int, int], When])
    tips: Tips = frozenset()
    statement: ast.stmt = field(default_factory=ast.Pass)
    passing: Passing = field(default_factory=Passing)
    _emptied: dict[str, Around] = field(default_factory=dict[str, Around])  # tables, with where their rows are deleted
    _returned: set[tuple[int, When]] = field(default_factory=set[tuple[int, When]])
    _tries: int = 0
    _entered: int = 0

    # ── statements ──

    def body(self, statements: Sequence[ast.stmt], around: Around) -> None:
        for place, one in enumerate(statements):
            self.statement = one
            self._statement(one, around)
            look = guarded(one, around.frame, self.knowledge)
            if look is None and not around.atomic:
                look = settled(statements[:place], one, around.frame)
            if look is not None:
                around = replace(around, guard=look)

    def _statement(self, node: ast.stmt, around: Around) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                return
            case ast.If():
                self._if(node, around)
            case ast.For() | ast.AsyncFor() | ast.While():
                self._loop(node, around)
            case ast.Try() | ast.TryStar():
                self._try(node, around)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.expression(item.context_expr, around)
                atomic = around.atomic or any(is_transaction(item.context_expr) for item in node.items)
                self.body(node.body, replace(around, atomic=atomic))
            case ast.Match(subject=subject, cases=cases):
                self.expression(subject, around)
                self._branches([case.body for case in cases], around)
            case _:
                self._simple(node, around)

    def _simple(self, node: ast.stmt, around: Around) -> None:
        self.expression(node, around)
        marks = claim(node, around.frame)
        if marks:
            self.add(Found(node=node, statement=node, around=around, name=_shown(node), marks=marks))
        self.passing.simple(node)
        if retrying.exits(node):
            self.passing.now = {}
        if isinstance(node, (ast.Return, ast.Raise)):
            if isinstance(node, ast.Return):
                self._returned |= self.tips
            self.tips = frozenset()

    def _if(self, node: ast.If, around: Around) -> None:
        self._test(node.test, around)
        test = ast.unparse(node.test)
        if "TYPE_CHECKING" in test:
            return
        if "__name__" in test:
            self.body(node.body, around)
            return
        look = lookup(node.test, around.frame, self.knowledge)
        found, missing = look if look else (None, None)
        yes = replace(around, condition=_and(around.condition, test), guard=missing or around.guard)
        no = replace(around, condition=_and(around.condition, f"not ({test})"), guard=found or around.guard)
        before, passing = self.tips, self.passing.now
        self.body(node.body, yes)
        after, self.tips = self.tips, before
        passed, self.passing.now = self.passing.now, passing
        self.body(node.orelse, no)
        self.tips |= after
        self.passing.now = joined(passed, self.passing.now)

    def _test(self, test: ast.expr, around: Around) -> None:
        """What a condition does; what it asks, and what a function answers that is called in it, is not passed over."""
        before = self.passing.now
        self.expression(test, around)
        self.passing.now = {one: names for one, names in self.passing.now.items() if one in before}
        self.passing.asked(test)

    def _branches(self, bodies: Iterable[Sequence[ast.stmt]], around: Around) -> None:
        before, after = self.tips, self.tips
        passing, passed = self.passing.now, self.passing.now
        for body in bodies:
            self.tips, self.passing.now = before, passing
            self.body(body, around)
            after |= self.tips
            passed = joined(passed, self.passing.now)
        self.tips, self.passing.now = after, passed

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, around: Around) -> None:
        if isinstance(node, ast.While):
            self._test(node.test, around)
        else:
            self.expression(node.iter, around)
        before = self.tips
        repeater = retrying.loop(node, around.frame)
        fact = around.frame.module.fact(node)
        if repeater is None and retrying.goes_round_once(node):
            inner = around
        elif repeater is not None:
            scope = f"{around.scope}/retry@{_count(around.scope, self.found)}"
            inner = replace(around.within(repeater, loop=True), scope=scope, facts=(*around.facts, fact))
        else:
            bound = retrying.times(node, around.frame)
            again = Repeater(Repeating.LOOP, automatic=True, bound=bound, span=around.frame.module.span(node), after_timeout=False)
            # What goes on until somebody stops it has no items.
            marks = around.marks if retrying.never_ends(node, around.frame) else around.marks | {Mark.IN_LOOP}
            inner = replace(around.within(again, loop=True), marks=marks, facts=(*around.facts, fact))
        left = self._turns(node, inner, gives_up=repeater is not None)
        self.tips |= before
        self.body(node.orelse, around)
        self.passing.now = joined(self.passing.now, left)

    def _turns(self, node: ast.For | ast.AsyncFor | ast.While, inner: Around, *, gives_up: bool) -> State:
        """The body of a loop, and which failures are passed over behind a `break`; a retry that raises at last passes none over."""
        passing, before = self.passing, self.passing.now
        outer, passing.left, passing.turned = (passing.left, passing.turned), NOTHING, NOTHING
        self.body(node.body, inner)
        after = joined(passing.now, passing.turned)
        if retrying.never_ends(node, inner.frame):
            passing.endless |= after.keys()
        if gives_up and any(isinstance(one, ast.Raise) for part in node.body for one in ast.walk(part)):
            after = {one: names for one, names in after.items() if one in before}
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
        passing.now = {} if endless else joined(before, after)
        if isinstance(node, ast.While):
            passing.asked(node.test)
        ends = passing.left
        passing.left, passing.turned = outer
        return ends

    def _try(self, node: ast.Try | ast.TryStar, around: Around) -> None:
        self._tries += 1
        number, start, before = self._tries, len(self.found), self.tips
        on_error, passing = handling(node, around.frame, around.on_error), self.passing.now
        heeded = len(around.frame.repeaters) if on_error in TAKEN else around.heeded
        self.body(node.body, replace(around, on_error=on_error, heeded=heeded, tries=(*around.tries, number)))
        tried = range(start, len(self.found))
        self.body(node.orelse, around)  # an error in it does not lead to the handlers
        passed = self.passing.now
        catching, caught = self._caught(node, around.frame, tried)
        after, done = self.tips, range(start, len(self.found))
        failing = {(one, When.ERROR) for one in tried if self.found[one].marks.isdisjoint({Mark.RECOVERY})} or set(before)
        for handler in node.handlers:
            self.tips = frozenset(failing)
            self.passing.now = joined(passing, caught) if handler is catching else passing
            self.body(handler.body, replace(around, handles=number, condition=_and(around.condition, _excepted(handler))))
            after |= frozenset(tip for tip in self.tips if tip[1] is not When.ERROR)
            passed = joined(passed, self.passing.now)
        self.tips, self.passing.now = after, passed
        if node.finalbody:
            self.tips = frozenset((one, When.ALWAYS) for one, _ in after) | frozenset((one, When.ALWAYS) for one in done)
            self.body(node.finalbody, around)

    def _caught(self, node: ast.Try | ast.TryStar, frame: Frame, tried: range) -> tuple[ast.ExceptHandler | None, State]:
        """The handler that hears of what fails in the body, with what it passes over."""
        handler = catching(node, frame)
        if handler is None or (_of_handler(handler.body, frame) is OnError.STOP and not retrying.quits(handler.body)):
            return None, {}  # it goes on outside
        fresh = [one for one in tried if one not in self.passing.caught]
        self.passing.caught |= set(fresh)
        return handler, {one: telling(_from(self.found[one], node.body, frame), handler.body) for one in fresh}

    # ── expressions ──

    def expression(self, node: ast.AST, around: Around) -> None:
        for call in calls(node):
            self._call(call, around)

    def _call(self, call: ast.Call, around: Around) -> None:
        if len(self.found) >= MOST:
            return
        name = dotted(call.func, around.frame)
        if self.engine.call(self, call, name, around) or self._command(call, name, around):
            return
        target = self.target(call.func, around.frame)
        if target is not None and self.follow(*target, call, around):
            return
        seen = recognised(call, around.frame, self.knowledge)
        extra = self._replacing(call, name, around)
        for one in seen:
            opaque = None if one.effect.certain else _not_given(call, name, around.frame)
            known, short = self._heeding(call, one, around), _short(name, around.frame)
            self.add(Found(node=call, statement=self.statement, around=known, name=short, seen=one, opaque=opaque, extra=extra))
        if seen:
            return
        for handed in _handed(call, name):
            target = self.target(handed, around.frame)
            if target is not None and self.follow(*target, None, around):
                return
        if not harmless(call, name, around.frame):
            self.add(Found(node=call, statement=self.statement, around=around, name=_short(name, around.frame)))

    def _replacing(self, call: ast.Call, name: str, around: Around) -> tuple[tuple[str, str], ...]:
        """Whether the rows that a call makes were deleted before, by whoever does it again from the beginning as well."""
        gone, made = emptied(call, name, around.frame), filled(call, name, around.frame)
        if gone and not around.handles:
            self._emptied.setdefault(gone, around)
        before = self._emptied.get(made) if made else None
        if before is None or before.scope != around.scope or not around.condition.startswith(before.condition):
            return ()
        loops = before.frame.repeaters
        return (("replaced", "true"),) if around.frame.repeaters[: len(loops)] == loops else ()

    def _heeding(self, call: ast.Call, seen: Seen, around: Around) -> Around:
        """The same with a guard, where the receiver says that it is there already and the file goes on."""
        if around.guard is not None or not seen.effect.outward:
            return around
        look = refusal_heeded(call, self.statement, around.frame, rejects=seen.effect.repeat is Repeat.REJECTS)
        return replace(around, guard=look) if look is not None else around

    def _command(self, call: ast.Call, name: str, around: Around) -> bool:
        if not is_command(name) or all(GAP in word for words in command_words(call, around.frame) for word in words):
            return False
        seen = recognised(call, around.frame, self.knowledge)
        for one in seen:
            self.add(Found(node=call, statement=self.statement, around=around, name=one.effect.told, seen=one))
        if not seen:
            self.add(Found(node=call, statement=self.statement, around=around, name=_short(name, around.frame)))
        return True

    def add(self, found: Found) -> None:
        index = len(self.found)
        self.found.append(found)
        self.passing.comes_to(index)
        # What may be passed over leads to all that comes later, each to each.
        # Where both ways lead from one to the other, the way of its success tells.
        tips = sorted(self.tips, key=lambda tip: (tip[0], tip[1] is When.ERROR))
        for before, when in tips if len(self.edges) < MOST_EDGES else tips[-NEAREST:]:
            self.edges.setdefault((before, index), when)
        self.tips = frozenset({(index, When.SUCCESS)})

    # ── functions ──

    def target(self, expr: ast.expr, frame: Frame) -> tuple[Module, str] | None:
        """The given function that an expression names."""
        if isinstance(expr, ast.Attribute) and isinstance(expr.value, ast.Name) and expr.value.id in ("self", "cls") and frame.owner:
            name = f"{frame.owner}.{expr.attr}"
            return (frame.module, name) if name in frame.module.functions else None
        name = dotted(expr, frame)
        if name in frame.module.functions and not (isinstance(expr, ast.Name) and expr.id in frame.module.aliases):
            return frame.module, name
        return self.program.function(name, frame.module) if "." in name else None

    def follow(self, module: Module, name: str, call: ast.Call | None, around: Around, caller: Frame | None = None) -> bool:
        """Walks a function as called here; False if it is too deep or already being walked."""
        function = module.functions[name]
        if around.frame.depth >= DEEPEST or id(function) in around.stack or self._entered >= MOST:
            return False
        self._entered += 1
        owner = name.rpartition(".")[0]
        frame = Frame(module, function, owner, depth=around.frame.depth + 1, given=_given(function, call, caller or around.frame, owner))
        again = retrying.decorators(function, frame)
        frame = replace(frame, repeaters=(*around.frame.repeaters, *again))
        scope = f"{around.scope}/{name}" if again else around.scope
        facts = tuple(Fact(one.span, module.source.fact(one.span).quote) for one in again)
        before, self.passing.now = self.passing.now, dict.fromkeys(self.passing.now, frozenset[str]())
        self.enter(replace(around, frame=frame, scope=scope, facts=(*around.facts, *facts), stack=(*around.stack, id(function))))
        given = frozenset(results(call, self.statement, (caller or around.frame).module)) if call is not None else frozenset[str]()
        self.passing.now = {one: before.get(one, given) for one in self.passing.now}
        return True

    def enter(self, around: Around) -> None:
        """Walks the body of the function of the frame; what returns goes on after it."""
        if around.frame.function is None:
            self.body(around.frame.module.tree.body, around)
            return
        kept, self._returned, statement = self._returned, set(), self.statement
        outer, self.passing.returned = self.passing.returned, NOTHING
        self.body(around.frame.function.body, around)
        self.tips |= self._returned
        self.passing.now = joined(self.passing.now, self.passing.returned)
        self._returned, self.statement, self.passing.returned = kept, statement, outer


def _given(function: Function, call: ast.Call | None, caller: Frame, owner: str) -> dict[str, tuple[ast.expr, Frame]]:
    if call is None:
        return {}
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if owner and names and names[0] in ("self", "cls"):
        names = names[1:]
    found = {name: (value, caller) for name, value in zip(names, call.args, strict=False) if not isinstance(value, ast.Starred)}
    rest = call.args[len(names) :]
    if function.args.vararg is not None and not any(isinstance(one, ast.Starred) for one in call.args):
        found[function.args.vararg.arg] = (ast.copy_location(ast.Tuple(elts=rest, ctx=ast.Load()), call), caller)
    return found | {one.arg: (one.value, caller) for one in call.keywords if one.arg}


NOT_GIVEN = "the function {what} of the same project was not given"


def _not_given(call: ast.Call, name: str, frame: Frame) -> Unread | None:
    """What a call of the own project cannot be followed into."""
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in frame.module.aliases and is_own(frame.module.aliases[root.id], frame.module, root.id):
        return Unread(frame.module.shown(name), NOT_GIVEN, frame.module.span(call))
    return None


_HANDING = re.compile(
    r"(^|\.)(submit|map|imap|apply|apply_async|run_in_executor|to_thread|Thread|Process|partial|call_later|run_sync|create_task)$"
)


def _handed(call: ast.Call, name: str) -> list[ast.expr]:
    """Functions that are handed over to be called."""
    if not _HANDING.search(name):
        return []
    target = keyword(call, "target", "func")
    return [one for one in ([target] if target is not None else list(call.args[:2])) if isinstance(one, (ast.Name, ast.Attribute))]


def _short(name: str, frame: Frame) -> str:
    return ".".join(frame.module.shown(name).split(".")[-2:]) or "call"


def _shown(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[target, *_]):
            return ast.unparse(target).partition("[")[0]
        case _:
            return ast.unparse(node).partition("(")[0]


def _and(before: str, more: str) -> str:
    return f"{before} and {more}" if before else more


def _excepted(handler: ast.ExceptHandler) -> str:
    return f"except {ast.unparse(handler.type)}" if handler.type is not None else "except"


def _count(scope: str, found: Sequence[Found]) -> int:
    return len({one.around.scope for one in found if one.around.scope.startswith(f"{scope}/retry@")}) + 1


# ── errors ──

_NARROW = re.compile(
    r"(^|\.)(\w*Import\w*|ModuleNotFoundError|KeyError|ValueError|TypeError|AttributeError|IndexError|FileNotFoundError"
    r"|KeyboardInterrupt|StopIteration|JSONDecodeError)$"
)


def handling(node: ast.Try | ast.TryStar, frame: Frame, outer: OnError) -> OnError:
    """What follows an error in the body; an error that is raised again meets what is outside, an end of the program nothing."""
    handler = catching(node, frame)
    if handler is None:
        return outer
    found = _of_handler(handler.body, frame)
    return outer if found is OnError.STOP and not retrying.quits(handler.body) else found


def catching(node: ast.Try | ast.TryStar, frame: Frame) -> ast.ExceptHandler | None:
    """The handler of what goes wrong outside, past those of errors that are made here."""
    for handler in node.handlers:
        parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type] if handler.type is not None else []
        if not parts or not all(_NARROW.search(dotted(one, frame)) for one in parts):
            return handler
    return None


def _from(found: Found, body: Sequence[ast.stmt], frame: Frame) -> Sequence[ast.stmt]:
    """The statements of a body that are not done any more where this fails, its own included."""
    if found.around.frame.function is not frame.function:
        return body
    return [one for one in body if (one.end_lineno or one.lineno) >= found.node.lineno]


def _of_handler(body: Sequence[ast.stmt], frame: Frame) -> OnError:
    if any(isinstance(one, ast.Raise) for one in body) or retrying.leaves(
        [one for one in body if not isinstance(one, (ast.Return, ast.Break))]
    ):
        return OnError.STOP
    names = [dotted(call.func, frame) for one in body for call in calls(one)]
    if any(name.endswith(".retry") or name.endswith("Ignore") for name in names):
        return OnError.STOP
    if any(not _TELLING.search(name) for name in names):
        return OnError.ROUTE
    told = any(not name.endswith("print") for name in names)
    return OnError.CONTINUE if told or any(isinstance(one, (ast.Return, ast.Assign)) for one in body) else OnError.SWALLOW


TAKEN = (OnError.CONTINUE, OnError.SWALLOW)
_TELLING = re.compile(
    r"(^|\.)(print|debug|info|warning|warn|error|exception|critical|log|sleep|append|format|str|repr|print_exc|format_exc"
    r"|capture_exception|write)$"
)
