"""A workflow of n8n as it is drawn: its nodes by name, their lines, their roles, where the values in their expressions come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from halfway.inspection.formats.nodes.graph import Graph, Link
from halfway.inspection.formats.nodes.parts import read_table
from halfway.inspection.formats.nodes.provenance import FILLED, Reference, Root, Tracer
from halfway.inspection.model import OnError, Span, When
from halfway.inspection.source import Node, Source

_LONGEST = 20_000
_NAMED = re.compile(
    r"""\$(?:\(\s*|node\[\s*|items\(\s*|node\.)(?:(["'`])(?P<quoted>[^\n]{1,200}?)\1|(?P<plain>\w+))\s*[\])]?(?P<rest>[\w.\[\]"'()?$ -]*)"""
)
_OWN = re.compile(r"""\$(?:json|input|binary|data)\b(?P<rest>[\w.\[\]"'()?$ -]*)|\bitems?\[?\d*\]?\.json(?P<item>[\w.\[\]"']*)""")
_OUTSIDE = re.compile(r"\$(?:env|vars|secrets|getWorkflowStaticData|fromAI|parameter)\b")
_FIELD = re.compile(r"""(?:\[\s*["'])([^"']+)["']\s*\]|\.(?P<name>\w+)""")
_ITSELF = re.compile(r"^=\s*\{\{\s*\$workflow\.id\s*\}\}$")
_HULLS = frozenset({"item", "json", "first", "last", "all", "context", "binary", "params", "data", "itemMatching", "pairedItem"})


def table() -> Mapping[str, Any]:
    """What n8n does where an export says nothing."""
    return read_table("n8n")


@dataclass(frozen=True)
class Drawing:
    """One workflow."""

    source: Source
    root: Node

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by name; notes are none, and of two with one name the first counts."""
        found: dict[str, Node] = {}
        for node in self.root.get("nodes").each():
            if node.get("type").text and short(node) not in table()["roles"]["ignored"]:
                found.setdefault(node.get("name").text or node.get("id").text or node.span.at, node)
        return found

    @cached_property
    def graph(self) -> Graph:
        """The lines that records take. Lines of a kind `ai_…` give an agent its parts and carry no records."""
        return Graph(tuple(self.nodes), tuple(self._links()))

    @cached_property
    def forward(self) -> Graph:
        """The lines without those that close a circle: in it the items are those that came in, not those that have gone round."""
        closing = {name for name in self.nodes if self.role(name, "circling")}
        return Graph(tuple(self.nodes), [one for one in self.graph.links if not (one.after in closing and self._closes(one))])

    def _closes(self, link: Link) -> bool:
        return link.before in self.graph.downstream([link.after])

    def _links(self) -> Iterator[Link]:
        for before, kinds in self.root.get("connections").items():
            if before not in self.nodes:
                continue
            outputs = list(kinds.get("main").each())
            for number, output in enumerate(outputs):
                for one in output.each():
                    after = one.get("node").text
                    if after in self.nodes and not self._is_no_output(before, number):
                        yield Link(before, after, self._when(before, number, len(outputs)), number)
        calling = (name for name in self.nodes if self.role(name, "sub") and self.calls_itself(name))
        yield from (Link(before, after) for before in calling for after in self.own_starts)

    def _is_no_output(self, name: str, output: int) -> bool:
        """Whether a line leaves an output that the node does not have: code has one, and a second for failures only if it says so."""
        return output > 0 and self.role(name, "code") and on_error(self.nodes[name]) is not OnError.ROUTE

    @cached_property
    def own_starts(self) -> tuple[str, ...]:
        """The nodes with which the workflow begins when another one, or it itself, calls it."""
        return tuple(name for name in self.nodes if self.role(name, "called") and name not in self.disabled)

    def calls_itself(self, name: str) -> bool:
        """Whether a node calls this very workflow, which then goes on behind its own start."""
        return bool(self.own_starts) and self.names_itself(name)

    def names_itself(self, name: str) -> bool:
        """Whether the workflow that a node names is this one."""
        node = self.nodes[name]
        if not (self.role(name, "sub") or short(node) == "toolworkflow") or name in self.disabled:
            return False
        wanted, own = plain(node.get("parameters", "workflowId")), self.root.get("id").text
        return _ITSELF.search(wanted) is not None or (bool(own) and wanted == own)

    def _when(self, name: str, output: int, outputs: int) -> When:
        node = self.nodes[name]
        way = on_error(node)
        if way is OnError.CONTINUE:
            return When.ALWAYS
        if way is not OnError.ROUTE:
            return When.SUCCESS
        regular = {"if": 2, "splitinbatches": 2, "switch": max(1, outputs - 1)}.get(short(node), 1)
        return When.ERROR if output >= regular else When.SUCCESS

    @cached_property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the nodes that are parts of another one: models, memories, tools; by the name of the other."""
        found: dict[str, tuple[str, ...]] = {}
        for before, kinds in self.root.get("connections").items():
            for kind, outputs in kinds.items():
                if kind == "main" or before not in self.nodes:
                    continue
                for one in (one for output in outputs.each() for one in output.each()):
                    found[one.get("node").text] = (*found.get(one.get("node").text, ()), before)
        return found

    @cached_property
    def inner(self) -> frozenset[str]:
        """The nodes that are only parts of others."""
        return frozenset(one for names in self.parts.values() for one in names) - {link.before for link in self.graph.links}

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """The nodes that start the workflow."""
        return tuple(name for name, node in self.nodes.items() if is_trigger(node) and node.get("disabled").value is not True)

    @cached_property
    def disabled(self) -> frozenset[str]:
        """The nodes that hand on what they get."""
        return frozenset(name for name, node in self.nodes.items() if node.get("disabled").value is True)

    @cached_property
    def branches(self) -> tuple[str, ...]:
        """The conditions that are asked."""
        return tuple(name for name in self.nodes if self.role(name, "branching") and name not in self.disabled)

    def role(self, name: str, role: str) -> bool:
        return name in self.nodes and short(self.nodes[name]) in table()["roles"][role]

    def passes(self, name: str) -> bool:
        """Whether a node has no effect of its own and hands on what it gets."""
        return name in self.disabled or self.role(name, "passing")

    def hands_on(self, name: str) -> bool:
        """Whether what comes out of a node is what came into it."""
        return self.passes(name) or self.role(name, "classifying")

    def tracer(self, roots: Mapping[str, Root]) -> Tracer:
        """Follows the values of this workflow; the roots tell what its other nodes give."""
        passing = {name: [link.before for link in self.graph.before.get(name, ())] for name in self.nodes if self.hands_on(name)}
        return Tracer(self.references, moving, roots, self.assigned, passing)

    def references(self, text: str, name: str) -> list[Reference] | None:
        """Of whom an expression at a node speaks, each with the field; None: of something outside the file."""
        if not text.startswith("="):
            return []
        inside = moving(text)
        if _OUTSIDE.search(inside):
            return None
        found = [(match["quoted"] or match["plain"], _field(match["rest"])) for match in _NAMED.finditer(inside)]
        own = [_field(match["rest"] or match["item"] or "") for match in _OWN.finditer(_NAMED.sub("", inside))]
        before = [link.before for link in self.graph.before.get(name, ())]
        found += [(one, field) for field in own for one in before]
        return None if own and not before else found

    def assigned(self, name: str, field: str) -> str | None:
        """The expression that a Set node gives a field."""
        if name not in self.nodes or short(self.nodes[name]) != "set":
            return "={{ randomUUID() }}" if self._draws(name) else None
        given = self.nodes[name].get("parameters")
        groups: list[Node] = [*given.get("assignments", "assignments").each(), *given.get("fields", "values").each()]
        for _, group in given.get("values").items():
            groups.extend(group.each())
        for one in groups:
            if one.get("name").text == field:
                values = [one.get("value"), *(value for key, value in one.items() if key.endswith("Value"))]
                return next((value.text for value in values if value.there), "")
        return None

    def _draws(self, name: str) -> bool:
        """Whether a node makes a value by chance."""
        if name not in self.nodes or short(self.nodes[name]) != "crypto":
            return False
        return self.nodes[name].get("parameters", "action").text == "generate"


def moving(text: str) -> str:
    """The part of a text that is computed."""
    return "\n".join(FILLED.findall(text[:_LONGEST])) if text.startswith("=") else ""


def short(node: Node) -> str:
    """The type of a node without its package, in small letters."""
    return node.get("type").text.rsplit(".", 1)[-1].lower()


def place(node: Node) -> Span:
    """Where a node stands, from the line of its name, which tells more than the brace before it."""
    line = (node.get("name") if node.get("name").there else node.get("type")).span.line
    return Span(node.span.file, line, max(line, node.span.end), node.span.at)


def is_trigger(node: Node) -> bool:
    """Whether a node starts workflows."""
    triggers = table()["triggers"]
    return short(node).endswith("trigger") or any(short(node) in triggers[kind] for kind in ("manual", "schedule", "event"))


def on_error(node: Node) -> OnError:
    """What a node does when it fails; an old export says `continueOnFail`."""
    match node.get("onError").text:
        case "continueErrorOutput":
            return OnError.ROUTE
        case "continueRegularOutput":
            return OnError.CONTINUE
        case "stopWorkflow":
            return OnError.STOP
        case _:
            return OnError.CONTINUE if node.get("continueOnFail").value is True else OnError.STOP


def plain(node: Node) -> str:
    """The value of a parameter, also of one that is chosen from a list."""
    return node.get("value").text if node.get("__rl").there else node.text


def parameters_of(node: Node, names: Sequence[str]) -> Iterator[tuple[str, Node]]:
    """The parameters of those names wherever they stand, in the order of the names."""
    given = node.get("parameters")
    places = [given, given.get("options"), given.get("additionalFields")]
    for name in names:
        for place in places:
            if place.get(name):
                yield name, place.get(name)


def _field(rest: str) -> str:
    names = [match[1] or match["name"] for match in _FIELD.finditer(rest)]
    return next((name for name in names if name not in _HULLS), "")
