"""A Zap as its export has it: its nodes by id in the order of their parents, and where the values in their texts come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.graph import Graph, Link
from halfway.inspection.formats.nodes.parts import read_table
from halfway.inspection.formats.nodes.provenance import FILLED, Reference, Root, Tracer
from halfway.inspection.model import Span, Starting
from halfway.inspection.quoting import safe
from halfway.inspection.source import Node

_LONGEST = 20_000
_GIVES = re.compile(r"""\{\{=?\s*gives\[\s*["']([^"'\]]+)["']\s*\]\s*\[\s*["']([^"'\]]*)["']""")
_SHORT = re.compile(r"\{\{\s*(\d+)__([^}]{0,200})\}\}")


def table() -> Mapping[str, Any]:
    """What Zapier's own steps are."""
    return read_table("zapier")


@dataclass(frozen=True)
class Zap:
    """One Zap."""

    root: Node

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by id."""
        return {node.get("id").text or key: node for key, node in self.root.get("nodes").items()}

    @cached_property
    def graph(self) -> Graph:
        """Each node follows its parent; where a branch ends nothing comes together again."""
        links = [Link(node.get("parent_id").text, name) for name, node in self.nodes.items() if node.get("parent_id").text in self.nodes]
        return Graph(tuple(self.nodes), tuple(links))

    @cached_property
    def starts(self) -> tuple[str, ...]:
        """The node without a parent."""
        return tuple(name for name, node in self.nodes.items() if node.get("parent_id").text not in self.nodes)

    def role(self, name: str, role: str) -> bool:
        return api(self.nodes[name]) in table()["apis"][role]

    def references(self, text: str, name: str) -> list[Reference] | None:
        """Of which nodes a text speaks."""
        del name
        text = text[:_LONGEST]
        return [(node, field) for node, field in (*_GIVES.findall(text), *_SHORT.findall(text))]

    def tracer(self, roots: Mapping[str, Root]) -> Tracer:
        """Follows the values of this Zap; a step that only reshapes hands on what its parameters say."""
        return Tracer(self.references, moving, roots, self._assigned)

    def _assigned(self, name: str, field: str) -> str | None:
        del field
        if name not in self.nodes or not self.role(name, "passing"):
            return None
        return parts.texts(self.nodes[name].get("params"))


def moving(text: str) -> str:
    """The parts of a text that are filled in."""
    return "\n".join(FILLED.findall(text[:_LONGEST]))


def api(node: Node) -> str:
    """The API of a node without its version."""
    return safe(node.get("selected_api").text).split("@")[0]


def action(node: Node) -> str:
    return node.get("action").text


def title(node: Node) -> str:
    """What the step is called in the editor, else what it does."""
    return node.get("meta", "stepTitle").text or node.get("title").text or f"{api(node)} {action(node)}".strip()


def place(node: Node) -> Span:
    """Where a node stands, from the line of its API."""
    line = (node.get("selected_api") if node.get("selected_api").there else node).span.line
    return Span(node.span.file, line, max(line, node.span.end), node.span.at)


def kind_of(node: Node) -> Starting:
    """What sort of start the first node is; a hook is sent, the rest is asked for every few minutes."""
    apis = table()["apis"]
    if api(node) in apis["schedule"]:
        return Starting.SCHEDULE
    if api(node) in apis["manual"]:
        return Starting.MANUAL
    return Starting.EVENT if api(node) in apis["web"] or "hook" in action(node) or "instant" in action(node) else Starting.POLL


def conditions(node: Node) -> Iterator[str]:
    """What a filter asks."""
    for one in node.get("params", "filter_criteria").each():
        yield " ".join(one.get(key).text for key in ("key", "match", "value") if one.get(key).text)
