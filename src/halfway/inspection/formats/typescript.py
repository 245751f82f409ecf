"""TypeScript as a tree of syntax, with what a reader looks up in it: functions, methods, imports, declarations. Nothing is evaluated."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfway.inspection.formats import Given
from halfway.inspection.model import Span
from halfway.inspection.source import Source, Unreadable

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*(?:ts|tsx|typescript|js|jsx|javascript)\b")
MOST_BLOCKS = 200
LONGEST = 2**19  # characters
_FENCED = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*(?:ts|tsx|typescript|js|jsx|javascript)\b", re.MULTILINE)
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "function_declaration", "method_definition", "generator_function"})
_WRAPPING = frozenset({"await_expression", "parenthesized_expression", "non_null_expression", "as_expression", "satisfies_expression"})
_ENDINGS = ("", ".ts", ".tsx", ".js", ".mts", "/index.ts")
HOPS = 3
DEEPEST = 2_000  # nodes below one another


@dataclass(frozen=True, eq=False)
class Program:
    """One text, and what is declared in it."""

    source: Source
    root: Syntax
    functions: Mapping[str, Syntax] = field(default_factory=dict[str, "Syntax"])
    methods: Mapping[tuple[str, str], Syntax] = field(default_factory=dict[tuple[str, str], "Syntax"])
    imports: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])  # by local name: module, name in it
    declared: Mapping[str, tuple[tuple[Syntax, Syntax], ...]] = field(default_factory=dict[str, tuple[tuple["Syntax", "Syntax"], ...]])

    def span(self, node: Syntax) -> Span:
        return self.source.span(node.start_point.row + 1, node.end_point.row + 1)

    def declaration(self, name: str, before: Syntax) -> Syntax | None:
        """The value that a name was given last before a place, else the first at all."""
        found = self.declared.get(name, ())
        earlier = [value for at, value in found if at.end_byte <= before.start_byte]
        return earlier[-1] if earlier else None


def texts(source: Source) -> Iterator[Source]:
    """The program texts of a file: itself, or the fences of a page, whose lines keep their numbers."""
    if not _FENCED.search(source.text):
        yield source
        return
    inside: list[str] | None = None
    mark = ""
    count = 0
    for number, line in enumerate(source.lines):
        opening = _FENCE.match(line)
        if inside is None and opening:
            inside, mark = [""] * (number + 1), opening[1]
        elif inside is not None and line.strip().startswith(mark):
            count += 1
            if count > MOST_BLOCKS:  # each is as long as the page above it
                raise Unreadable(f"line {number + 1}: the page has more than {MOST_BLOCKS} blocks of code")
            yield Source(source.path, "\n".join(inside))
            inside = None
        elif inside is not None:
            inside.append(line)


def parsed(source: Source) -> Program:
    """The tree of a text; what is no TypeScript gives a tree with errors, in which less is found."""
    from tree_sitter import Language, Parser  # noqa: PLC0415
    from tree_sitter_typescript import language_tsx, language_typescript  # noqa: PLC0415

    if len(source.text) > LONGEST:
        raise Unreadable("it is TypeScript of more than 512 KiB")
    has_tags = source.path.endswith((".tsx", ".jsx"))
    parser = Parser(Language(language_tsx() if has_tags else language_typescript()))
    root = parser.parse(source.text.encode("utf-8", "replace")).root_node
    functions: dict[str, Syntax] = {}
    methods: dict[tuple[str, str], Syntax] = {}
    imports: dict[str, tuple[str, str]] = {}
    declared: dict[str, list[tuple[Syntax, Syntax]]] = {}
    for node in _shallow(root):
        if node.type == "function_declaration":
            functions.setdefault(text(node.child_by_field_name("name")), node)
        elif node.type == "method_definition":
            methods.setdefault((_class_of(node), text(node.child_by_field_name("name"))), node)
        elif node.type == "import_statement":
            imports.update(_imported(node))
        elif node.type == "variable_declarator":
            _declare(node, functions, declared)
        elif node.type == "assignment_expression" and text(node.child_by_field_name("left")).startswith("this."):
            _keep(node, text(node.child_by_field_name("left")), node.child_by_field_name("right"), declared)
        elif node.type == "public_field_definition":
            _keep(node, "this." + text(node.child_by_field_name("name")), node.child_by_field_name("value"), declared)
    return Program(source, root, functions, methods, imports, {name: tuple(found) for name, found in declared.items()})


def imported(program: Program, module: str, given: Given) -> Program | None:
    """The program of a relative import, if it was given."""
    if not module.startswith("."):
        return None
    plain = re.sub(r"\.[mc]?js$", "", module)
    for ending in _ENDINGS:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(program.source.path), plain + ending))
        if path in given.sources:
            return parsed(given.sources[path])
    return None


# ── nodes ──


def walk(node: Syntax) -> Iterator[Syntax]:
    """A node and all below it in the order of the text."""
    left = [node]
    while left:
        one = left.pop()
        yield one
        left += reversed(one.named_children)


def _shallow(root: Syntax) -> Iterator[Syntax]:
    """The same of a whole text, which nobody has written by hand where it is nested too deeply."""
    left = [(root, 0)]
    while left:
        one, depth = left.pop()
        if depth > DEEPEST:
            raise Unreadable(f"line {one.start_point.row + 1}: the program is nested too deeply")
        yield one
        left += [(child, depth + 1) for child in reversed(one.named_children)]


def text(node: Syntax | None) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def bare(node: Syntax | None) -> Syntax | None:
    """A node without `await`, parentheses and types around it."""
    while node is not None and node.type in _WRAPPING and node.named_children:
        node = node.named_children[0]
    return node


def is_function(node: Syntax | None) -> bool:
    return node is not None and node.type in _FUNCTIONS


def arguments(call: Syntax) -> list[Syntax]:
    """The arguments of a call."""
    given = call.child_by_field_name("arguments")
    return [one for one in given.named_children if one.type != "comment"] if given is not None else []


def callee(call: Syntax) -> Syntax | None:
    """What is called."""
    return bare(call.child_by_field_name("function") or call.child_by_field_name("constructor"))


def member(node: Syntax | None) -> tuple[Syntax | None, str]:
    """The object and the name of a member; no object for anything else."""
    if node is None or node.type != "member_expression":
        return None, ""
    return bare(node.child_by_field_name("object")), text(node.child_by_field_name("property"))


def entry(node: Syntax | None, name: str) -> Syntax | None:
    """The value of a key of an object; of a method its definition."""
    if node is None or node.type != "object":
        return None
    for one in node.named_children:
        if one.type == "pair" and text(one.child_by_field_name("key")).strip("'\"") == name:
            return one.child_by_field_name("value")
        if one.type == "method_definition" and text(one.child_by_field_name("name")) == name:
            return one
        if one.type == "shorthand_property_identifier" and text(one) == name:
            return one
    return None


def literal(program: Program, node: Syntax | None, hops: int = HOPS) -> str:
    """The text that an expression is made of; its unknown parts as `${…}`."""
    node = bare(node)
    if node is None:
        return ""
    if node.type == "string":
        return text(node)[1:-1]
    if node.type == "template_string":
        parts = [text(one) if one.type != "template_substitution" else _substituted(program, one, hops) for one in node.named_children]
        return "".join(parts)
    if node.type == "binary_expression":
        return literal(program, node.child_by_field_name("left"), hops) + literal(program, node.child_by_field_name("right"), hops)
    if node.type == "new_expression" and arguments(node):
        return literal(program, arguments(node)[0], hops)
    if node.type == "identifier" and hops:
        value = program.declaration(text(node), node)
        if value is not None and value.type in ("string", "template_string", "binary_expression"):
            return literal(program, value, hops - 1)
    return "${" + text(node) + "}"


def _substituted(program: Program, node: Syntax, hops: int) -> str:
    inner = node.named_children[0] if node.named_children else None
    return literal(program, inner, hops) if inner is not None else ""


def names_in(pattern: Syntax | None) -> Iterator[str]:
    """The names that a pattern declares."""
    if pattern is None:
        return
    for node in walk(pattern):
        if node.type in ("identifier", "shorthand_property_identifier_pattern") and (
            node.parent is None or node.parent.type != "type_annotation"
        ):
            yield text(node)


def parameters(function: Syntax) -> list[Syntax]:
    """The patterns of the parameters of a function."""
    single = function.child_by_field_name("parameter")
    if single is not None:
        return [single]
    given = function.child_by_field_name("parameters")
    found = given.named_children if given is not None else []
    return [pattern for one in found if (pattern := one.child_by_field_name("pattern")) is not None]


def dotted(program: Program, node: Syntax | None, hops: int = HOPS) -> str:
    """The name of what is called, through imports, `new` and declarations: `stripe.paymentIntents.create`; empty for what has none."""
    node = bare(node)
    if node is None:
        return ""
    if node.type == "member_expression":
        whole = text(node)
        value = program.declaration(whole, node) if whole.startswith("this.") and hops else None
        if value is not None:
            return dotted(program, value, hops - 1)
        owner, name = member(node)
        before = dotted(program, owner, hops)
        return f"{before}.{name}" if before else ""
    if node.type == "this":
        return "this"
    if node.type in ("call_expression", "new_expression"):
        required = _required(node)
        name = required or dotted(program, callee(node), hops)
        return name if node.type == "new_expression" or required or not name else name + "()"
    return _name(program, node, hops) if node.type == "identifier" else ""


def _name(program: Program, node: Syntax, hops: int) -> str:
    name = text(node)
    if name in program.imports:
        module, inner = program.imports[name]
        return module if inner in ("default", "*") else f"{module}.{inner}"
    value = bare(program.declaration(name, node)) if hops else None
    if value is not None and value.type in ("new_expression", "call_expression", "identifier", "member_expression"):
        return dotted(program, value, hops - 1)
    return name


def _required(node: Syntax) -> str:
    """The module of `require("stripe")`, also of `require("stripe")(key)`."""
    match = re.match(r"(?:new\s+\(?)?require\(['\"]([^'\"]+)['\"]\)", text(node))
    return match[1] if match else ""


def _class_of(node: Syntax) -> str:
    current = node.parent
    while current is not None and current.type not in ("class_declaration", "class", "abstract_class_declaration"):
        current = current.parent
    return text(current.child_by_field_name("name")) if current is not None else ""


def _imported(node: Syntax) -> Iterator[tuple[str, tuple[str, str]]]:
    module = text(node.child_by_field_name("source"))[1:-1]
    for one in walk(node):
        if one.type == "import_specifier":
            name, alias = one.child_by_field_name("name"), one.child_by_field_name("alias")
            yield text(alias or name), (module, text(name))
        elif one.type == "namespace_import":
            yield text(one.named_children[0]), (module, "*")
        elif one.type == "identifier" and one.parent is not None and one.parent.type == "import_clause":
            yield text(one), (module, "default")


def _declare(node: Syntax, functions: dict[str, Syntax], declared: dict[str, list[tuple[Syntax, Syntax]]]) -> None:
    name, value = node.child_by_field_name("name"), bare(node.child_by_field_name("value"))
    if value is None:
        return
    if is_function(value):
        functions.setdefault(text(name), value)
        return
    for one in names_in(name):
        _keep(node, one, value, declared)


def _keep(node: Syntax, name: str, value: Syntax | None, declared: dict[str, list[tuple[Syntax, Syntax]]]) -> None:
    if value is not None:
        declared.setdefault(name, []).append((node, bare(value) or value))


def swallows(catcher: Syntax | None) -> bool:
    """Whether a failure ends in a catch block."""
    return catcher is not None and not any(one.type == "throw_statement" and _is_own(one, catcher) for one in walk(catcher))


def _is_own(node: Syntax, catcher: Syntax) -> bool:
    current = node.parent
    while current is not None and current.id != catcher.id:
        if is_function(current):
            return False
        current = current.parent
    return True
