"""A blueprint of Make as it is drawn: its modules by id, routes, branches and error handlers as lines, where mapped values come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.graph import Graph, Link
from halfway.inspection.formats.nodes.parts import read_table
from halfway.inspection.formats.nodes.provenance import FILLED, Reference, Root, Tracer
from halfway.inspection.model import Span, Starting, When
from halfway.inspection.source import Node

_REFERENCE = re.compile(r"""(?<![\w.`])(\d+)\.`?([\w \[\]-]*)""")
_HANDLER = re.compile(r"^builtin:(Resume|Ignore|Commit|Break|Rollback)$")


def table() -> Mapping[str, Any]:
    """What Make's own modules are."""
    return read_table("make")


@dataclass(frozen=True)
class Placed:
    """A module, with the one whose failure it handles."""

    node: Node
    handles: str = ""
    route: str = ""  # which of the routes of a router it is on


@dataclass(frozen=True)
class _Walked:
    modules: Mapping[str, Placed]
    links: Sequence[Link]


class _Walk:
    """Goes through a blueprint once; what is nested too deep was refused when the text was read."""

    def __init__(self, root: Node) -> None:
        self.modules: dict[str, Placed] = {}
        self.links: list[Link] = []
        self._flow(root.get("flow"), [], Placed(root))

    def _flow(self, flow: Node, before: list[Link], around: Placed) -> list[Link]:
        """Goes along one sequence; before are the ends that lead to its first module, after are those that lead out of it."""
        for module in (one for one in flow.each() if ":" in one.get("module").text):
            name = self._name(module)
            self.modules[name] = Placed(module, around.handles, around.route)
            self.links += [Link(one.before, name, one.when, one.output) for one in before]
            before = self._handled(module, name, self._out_of(module, name, around), around)
        return before

    def _name(self, module: Node) -> str:
        """The id; of two with one id the second has its place in its name."""
        id = module.get("id").text or module.span.at
        return id if id not in self.modules else module.span.at

    def _out_of(self, module: Node, name: str, around: Placed) -> list[Link]:
        """Where it goes on: after a router nothing does, after branches all that merge do."""
        routes, branches = list(module.get("routes").each()), list(module.get("branches").each())
        if not routes and not branches:
            return [Link(name, "")]
        ends: list[Link] = []
        for number, route in enumerate(routes or branches):
            label = f"{name}: {number + 1}/{len(routes or branches)}"
            ends += self._flow(route.get("flow"), [Link(name, "", output=number)], Placed(route, around.handles, label))
        return ends if branches else []

    def _handled(self, module: Node, name: str, ends: list[Link], around: Placed) -> list[Link]:
        """Adds the way of a failure; where the handler resumes, it comes back."""
        handlers = list(module.get("onerror").each())
        if not handlers:
            return ends
        back = self._flow(module.get("onerror"), [Link(name, "", When.ERROR)], Placed(module, name, around.route))
        if directive(module) == "Resume":
            return [*ends, *(Link(one.before, "", When.ERROR if one.before == name else one.when) for one in back)]
        return ends


@dataclass(frozen=True)
class Blueprint:
    """One scenario."""

    root: Node

    @cached_property
    def _walked(self) -> _Walked:
        walk = _Walk(self.root)
        return _Walked(walk.modules, walk.links)

    @property
    def modules(self) -> Mapping[str, Placed]:
        """The modules by id, those of error handlers among them."""
        return self._walked.modules

    @cached_property
    def graph(self) -> Graph:
        return Graph(tuple(self.modules), self._walked.links)

    @cached_property
    def first(self) -> str:
        """The id of the module that begins."""
        return next(iter(self.modules), "")

    @property
    def scenario(self) -> Node:
        """The settings of the scenario."""
        return self.root.get("metadata", "scenario")

    def kind(self, name: str) -> str:
        return self.modules[name].node.get("module").text if name in self.modules else ""

    def role(self, name: str, role: str) -> bool:
        return self.kind(name) in table()["modules"][role]

    def passes(self, name: str) -> bool:
        """Whether a module only reshapes, routes, or handles."""
        return self.kind(name).split(":")[0] in table()["modules"]["passing"]

    @cached_property
    def started(self) -> Starting | None:
        """What sort of start the first module is; None: it is an action of its own, and a timetable starts it."""
        verb = self.kind(self.first).split(":")[-1].lower()
        if self.role(self.first, "hooks") or (
            self.root.get("metadata", "instant").value is True and verb.startswith(tuple(table()["modules"]["watching"]))
        ):
            return Starting.EVENT
        if self.role(self.first, "called"):
            return Starting.CALL
        return Starting.POLL if verb.startswith(tuple(table()["modules"]["watching"])) else None

    def references(self, text: str, name: str) -> list[Reference] | None:
        """Of which modules a text speaks."""
        del name
        return [(id, field.strip(" `")) for id, field in _REFERENCE.findall(moving(text))]

    def reads_of(self, name: str) -> Iterator[str]:
        """What of the answer of a module is used anywhere in the scenario, each as its whole path."""
        path = re.compile(rf"(?<![\w.`]){re.escape(name)}\.([\w.`\[\]-]+)")
        for placed in self.modules.values():
            for part in ("mapper", "filter"):
                yield from path.findall(moving(parts.texts(placed.node.get(part))))

    def tracer(self, roots: Mapping[str, Root]) -> Tracer:
        """Follows mapped values; a module that only reshapes hands on what is mapped into it."""
        return Tracer(self.references, moving, roots, self._assigned)

    def _assigned(self, name: str, field: str) -> str | None:
        del field
        if name not in self.modules or not self.passes(name):
            return None
        return parts.texts(self.modules[name].node.get("mapper"))


def moving(text: str) -> str:
    """The parts of a text that are filled in."""
    return "\n".join(FILLED.findall(text[:20_000]))


def directive(module: Node) -> str:
    """What the handler of a module ends with: Resume, Ignore, Commit, Break or Rollback; empty where it has none."""
    return next((match[1] for one in _handlers(module) if (match := _HANDLER.match(one.get("module").text))), "")


def handler(module: Node) -> Node | None:
    """The module of the handler that says how it ends."""
    return next((one for one in _handlers(module) if _HANDLER.match(one.get("module").text)), None)


def _handlers(module: Node) -> Iterator[Node]:
    """The modules of the handler, those of its routes too."""
    waiting = list(module.get("onerror").each())
    while waiting:
        one = waiting.pop(0)
        yield one
        for route in one.get("routes").each():
            waiting.extend(route.get("flow").each())


def title(node: Node) -> str:
    """What the module is called in the editor, else its own name."""
    return node.get("metadata", "designer", "name").text or node.get("name").text or node.get("module").text


def place(node: Node) -> Span:
    """Where a module stands, from the line of its name."""
    line = (node.get("module") if node.get("module").there else node).span.line
    return Span(node.span.file, line, max(line, node.span.end), node.span.at)


def asks(node: Node) -> str:
    """What the filter before a module asks."""
    rules = [
        " ".join(one.get(key).text for key in ("a", "o", "b") if one.get(key).text)
        for group in node.get("filter", "conditions").each()
        for one in group.each()
    ]
    name = node.get("filter", "name").text
    return ": ".join(one for one in (name, "; ".join(rules)) if one)
