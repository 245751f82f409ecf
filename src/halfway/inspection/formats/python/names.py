"""Modules as they were given: their functions, what their names stand for, and which other given file an import means."""

from __future__ import annotations

import ast
import posixpath
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from halfway.inspection.formats import Given
from halfway.inspection.model import Fact, Span
from halfway.inspection.source import Source, Unreadable

LONGEST = 2**19  # characters of a file
MOST_NODES = 200_000  # of its tree
HOPS = 4  # from a name to what it was made of

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parsed(text: str) -> ast.Module:
    """The text as Python; raises Unreadable. Nothing of it is executed."""
    if len(text) > LONGEST:
        raise Unreadable("it is Python of more than 512 KiB")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the author of the text is warned of is no warning of ours
            tree = _tree(text)
    except SyntaxError as error:
        raise Unreadable(f"line {error.lineno or 1}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable("it is nested too deeply" if isinstance(error, RecursionError) else "it cannot be parsed") from error
    if len(text) > MOST_NODES and any(number > MOST_NODES for number, _ in enumerate(ast.walk(tree))):
        raise Unreadable(f"it has more than {MOST_NODES:,} parts")
    return tree


_BARE = re.compile(r"(?m)^([ \t]*except\*?[ \t]+)([\w.]+(?:[ \t]*,[ \t]*[\w.]+)+)([ \t]*:)")


def _tree(text: str) -> ast.Module:
    """The tree; `except A, B:`, which newer versions allow, is read as `except (A, B):`."""
    try:
        return ast.parse(text)
    except SyntaxError as error:
        if "must be parenthesized" not in error.msg:
            raise
        return ast.parse(_BARE.sub(r"\1(\2)\3", text))


@dataclass(frozen=True)
class Bound:
    """One place that gives a name its value."""

    line: int
    value: ast.expr
    how: str  # `=`, `+=`, `for`, `with`


@dataclass(frozen=True, eq=False)
class Module:
    """One file."""

    source: Source
    tree: ast.Module
    _inside: dict[Function | None, tuple[ast.AST, ...]] = field(default_factory=dict[Any, Any])
    _entries: dict[Function | None, dict[str, list[tuple[str, ast.expr]]]] = field(default_factory=dict[Any, Any])
    _above: dict[ast.stmt, dict[ast.AST, ast.AST]] = field(default_factory=dict[Any, Any])
    _with: dict[Function | None, dict[str, list[ast.stmt]]] = field(default_factory=dict[Any, Any])

    def inside(self, function: Function | None) -> tuple[ast.AST, ...]:
        """All nodes of a function, or of what stands in none, but those of functions and classes within; kept, because each step asks."""
        if function not in self._inside:
            self._inside[function] = tuple(statements(self.tree.body if function is None else function.body))
        return self._inside[function]

    def statements_with(self, name: str, function: Function | None) -> Sequence[ast.stmt]:
        """The statements of those in which the name stands, in their order."""
        if function not in self._with:
            found = self._with[function] = dict[str, list[ast.stmt]]()
            for one in self.inside(function):
                if isinstance(one, ast.stmt):
                    for used in {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}:
                        found.setdefault(used, []).append(one)
        return self._with[function].get(name, ())

    def set_later(self, name: str, function: Function | None) -> Sequence[tuple[str, ast.expr]]:
        """The entries of `headers["X"] = …`."""
        if function not in self._entries:
            found = self._entries[function] = dict[str, list[tuple[str, ast.expr]]]()
            for node in ast.walk(ast.Module(body=self.tree.body if function is None else function.body, type_ignores=[])):
                match node:
                    case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=one), slice=ast.Constant(value=str() as key))], value=value):
                        found.setdefault(one, []).append((key, value))
                    case _:
                        continue
        return self._entries[function].get(name, ())

    def above(self, statement: ast.stmt) -> Mapping[ast.AST, ast.AST]:
        """For each node of a statement the one that it is part of."""
        if statement not in self._above:
            self._above[statement] = {part: node for node in ast.walk(statement) for part in ast.iter_child_nodes(node)}
        return self._above[statement]

    @cached_property
    def package(self) -> tuple[str, ...]:
        return tuple(part for part in posixpath.dirname(self.source.path).split("/") if part not in ("", ".", ".."))

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """What imported names mean, wherever in the file they are imported; relative ones from the folder of the file."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    found[name.asname or name.name.partition(".")[0]] = name.name if name.asname else name.name.partition(".")[0]
            elif isinstance(node, ast.ImportFrom):
                base = self._base(node)
                for name in node.names:
                    found[name.asname or name.name] = f"{base}.{name.name}" if base else name.name
        return found

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        above = self.package[: len(self.package) - node.level + 1]
        return ".".join((*above, *([node.module] if node.module else [])))

    @cached_property
    def relative(self) -> frozenset[str]:
        """The names that come from beside this file, so from the same project."""
        return frozenset(
            name.asname or name.name
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.level
            for name in node.names
        )

    @cached_property
    def _beside(self) -> Mapping[str, str]:
        """What comes from beside this file, by its whole name, as the import calls it."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = self._base(node)
                for name in node.names:
                    found[f"{base}.{name.name}"] = f"{node.module}.{name.name}" if node.module else name.name
        return found

    def shown(self, dotted: str) -> str:
        """A dotted name as the file has it: the folders in which the file lies here are no part of it."""
        whole = next((one for one in self._beside if f"{dotted}.".startswith(f"{one}.")), "")
        return self._beside[whole] + dotted[len(whole) :] if whole else dotted

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """All functions at the top and in classes, by `name` and `Class.name`; those within functions by their bare name."""
        found: dict[str, Function] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                for one in node.body:
                    if isinstance(one, Function):
                        found.setdefault(f"{node.name}.{one.name}", one)
        within = {id(one) for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef) for one in node.body}
        for node in ast.walk(self.tree):
            if isinstance(node, Function) and id(node) not in within:
                found.setdefault(node.name, node)
        return found

    @cached_property
    def qualified(self) -> Mapping[int, str]:
        return {id(function): name for name, function in self.functions.items()}

    @cached_property
    def globals(self) -> Mapping[str, list[Bound]]:
        return bindings(self.tree.body)

    @cached_property
    def attributes(self) -> Mapping[str, ast.expr]:
        """What `self.x` was set to in a class, as `Class.x`."""
        found: dict[str, ast.expr] = {}
        for node in (one for one in ast.walk(self.tree) if isinstance(one, ast.ClassDef)):
            for one in ast.walk(node):
                target = one.targets[0] if isinstance(one, ast.Assign) else one.target if isinstance(one, ast.AnnAssign) else None
                value = one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None
                if target is not None and value is not None and (name := _own(target)):
                    found.setdefault(f"{node.name}.{name}", value)
        return found

    def locals(self, function: Function | None) -> Mapping[str, list[Bound]]:
        if function is None:
            return self.globals
        if id(function) not in self._locals:
            self._locals[id(function)] = bindings(function.body)
        return self._locals[id(function)]

    @cached_property
    def _locals(self) -> dict[int, Mapping[str, list[Bound]]]:
        return {}

    def span(self, node: ast.AST, at: str = "") -> Span:
        line = getattr(node, "lineno", 1)
        end = getattr(node, "end_lineno", None) or line
        return self.source.span(line, end if end != line else 0, at)

    def fact(self, node: ast.AST) -> Fact:
        return self.source.fact(self.span(node))


def module_of(source: Source) -> Module:
    """The file as Python, parsed once; raises Unreadable."""
    if "python" not in source.kept:
        try:
            source.kept["python"] = Module(source, parsed(source.text))
        except Unreadable as error:
            source.kept["python"] = error
    found = source.kept["python"]
    if isinstance(found, Unreadable):
        raise found
    assert isinstance(found, Module)
    return found


def _own(target: ast.expr) -> str:
    """The x of `self.x`."""
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"):
        return target.attr
    return ""


def bindings(body: list[ast.stmt]) -> Mapping[str, list[Bound]]:
    """Every name that the statements give a value, nested functions left out, in the order of the lines."""
    found: dict[str, list[Bound]] = {}
    for node in statements(body):
        for name, bound in _bound(node):
            found.setdefault(name, []).append(bound)
    return {name: sorted(many, key=lambda one: one.line) for name, many in found.items()}


def _bound(node: ast.AST) -> Iterator[tuple[str, Bound]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _names(target, Bound(node.lineno, value, "="))
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            yield from _names(target, Bound(node.lineno, value, "="))
        case ast.AugAssign(target=target, value=value):
            yield from _names(target, Bound(node.lineno, value, "+="))
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield from _names(target, Bound(node.lineno, value, "for"))
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            yield from _names(target, Bound(value.lineno, value, "with"))
        case _:
            return


def _names(target: ast.expr, bound: Bound) -> Iterator[tuple[str, Bound]]:
    if isinstance(target, ast.Name):
        yield target.id, bound
    elif isinstance(target, (ast.Tuple, ast.List)):
        for one in target.elts:
            yield from _names(one, bound)


def statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of the statements but those of functions and classes within them."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def is_operator(name: str) -> bool:
    """Whether a class makes a task of a graph."""
    return re.search(r"(Operator|Sensor|SensorAsync)$", name) is not None


@dataclass(eq=False)
class Program:
    """All Python files that were given; each is parsed once."""

    given: Given
    _modules: dict[str, Module | None] = field(default_factory=dict[str, "Module | None"])

    def module(self, source: Source) -> Module | None:
        if source.path not in self._modules:
            try:
                self._modules[source.path] = module_of(source)
            except Unreadable:
                self._modules[source.path] = None
        return self._modules[source.path]

    def modules(self, *words: str) -> Iterator[Module]:
        """The modules in which one of the words stands; the others need not be parsed."""
        for path, source in self.given.sources.items():
            if path.endswith(".py") and any(word in source.text for word in words) and (found := self.module(source)) is not None:
                yield found

    def function(self, dotted: str, asking: Module, hops: int = HOPS) -> tuple[Module, str] | None:
        """The function of another given file that a dotted name means."""
        parts = dotted.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            found = self._file("/".join(parts[:cut]), asking)
            name = ".".join(parts[cut:])
            if found is not None and name in found.functions:
                return found, name
            if found is not None and hops and name in found.aliases:
                return self.function(found.aliases[name], found, hops - 1)  # handed on by a package's __init__
        return None

    def value(self, dotted: str, asking: Module) -> tuple[Module, ast.expr] | None:
        """What another given file gives to a name that is imported from it."""
        path, _, name = dotted.rpartition(".")
        found = self._file(path.replace(".", "/"), asking) if path else None
        bound = found.globals.get(name, []) if found is not None else []
        return (found, bound[-1].value) if found is not None and bound and bound[-1].how == "=" else None

    def _file(self, path: str, asking: Module) -> Module | None:
        folder = posixpath.dirname(asking.source.path)
        ends = (f"{path}.py", f"{path}/__init__.py")
        fits = [
            one for one in self.given.modules.get(path.rpartition("/")[2], ()) if any(one == end or one.endswith("/" + end) for end in ends)
        ]
        fits.sort(key=lambda one: (-len(posixpath.commonprefix([one, folder])), len(one), one))
        return self.module(self.given.sources[fits[0]]) if fits else None


def worded(*lines: str) -> frozenset[str]:
    """A set of words that is written in lines."""
    return frozenset(word for line in lines for word in line.split())


def is_own(dotted: str, module: Module, name: str = "") -> bool:
    """Whether an import is of the same project: relative, or of a package in which the file lies."""
    root = dotted.partition(".")[0]
    return name in module.relative or root in module.package


def is_standard(dotted: str) -> bool:
    return dotted.partition(".")[0] in sys.stdlib_module_names
