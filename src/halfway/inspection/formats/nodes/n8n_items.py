"""What becomes of the items of a workflow of n8n: taken out of the set that they come from, replaced, left out when they are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_effects import Done, asked
from halfway.inspection.model import Kind
from halfway.inspection.source import Node

_OUT = frozenset({"move", "delete", "deleteFile", "trash", "archive"})
_TABLES = ("tableId", "tableName", "table", "collection", "index", "pineconeIndex", "qdrantCollection", "documentId", "calendar")
_KEYS = ("email", "externalId", "sku", "username")
_LAST = re.compile(r"""(?:json|item)((?:\.\w+|\[["'][^"']+["']\])+)""")
_FILTERS = ("query", "filterByFormula", "filters", "filtersUI", "filterString", "conditions", "where")
_SHEETS = ("documentId", "sheetName")


@dataclass(frozen=True)
class Items:
    """The items of one workflow."""

    drawing: Drawing
    done: Mapping[str, Done]

    def taken_out(self, name: str, circle: str | None) -> bool:
        """Whether each round ends with taking its item out of the folder or the list that the items come from."""
        if circle is None:
            return False
        graph = self.drawing.graph
        sources = {drawn.short(self.drawing.nodes[one]) for one in graph.upstream(circle) if parts.only_reads(self.done[one].effect)}
        # What is marked before it is out of the set already when it stops here.
        marked = {one for one in graph.upstream(name) if circle in graph.upstream(one) and one in graph.downstream([circle])}
        later = graph.downstream([name], around=[circle]) | marked
        if any(self._takes_out(one, circle) and drawn.short(self.drawing.nodes[one]) in sources for one in later):
            return True
        looks = [one for one in graph.upstream(circle) if parts.only_reads(self.done[one].effect)]
        return any(self.writes_to(one, look) and self._sets_what_is_asked(one, look) for one in later for look in looks)

    def _sets_what_is_asked(self, name: str, look: str) -> bool:
        """Whether a node sets a column by which another one chooses its records, so that they are not found again."""
        asked_for = "\n".join(parts.texts(self.drawing.nodes[look].get("parameters", key)) for key in _FILTERS)
        given = self.drawing.nodes[name].get("parameters")
        columns = [key for key, _ in given.get("columns", "value").items()]
        columns += [one.strip() for one in given.get("fields").text.split(",") if not given.get("fields").text.startswith("=")]
        keys = {given.get("updateKey").text, *(leaf.text for _, leaf in parts.leaves(given.get("columns", "matchingColumns")))}
        return any(one and one not in keys and re.search(rf"(?<!\w){re.escape(one)}(?!\w)", asked_for) for one in columns)

    def _takes_out(self, name: str, circle: str) -> bool:
        if asked(self.drawing.nodes[name])[1] not in _OUT:
            return False
        leaves = (leaf.text for _, leaf in parts.leaves(self.drawing.nodes[name].get("parameters")))
        return any(giver == circle for text in leaves for giver, _ in self.drawing.references(text, name) or ())

    def found_again(self, name: str, later: str) -> bool:
        """Whether what a node makes is looked up later by a value that it was made with, so that its own key finds it."""
        if not parts.only_reads(self.done[later].effect):
            return False
        made, look = self.drawing.nodes[name], self.drawing.nodes[later]
        if drawn.short(made) != drawn.short(look) or asked(made)[0] != asked(look)[0]:
            return False
        return any(self._says_the_same(key, name, later) for key in _KEYS)

    def _says_the_same(self, key: str, name: str, later: str) -> bool:
        first, second = (drawn.plain(self.drawing.nodes[one].get("parameters", key)) for one in (name, later))
        if not first or not second:
            return False
        return first == second or (_path(first) == _path(second) and self.drawing.references(second, later) != [])

    def replaced(self, name: str) -> str | None:
        """The node by which all that an earlier run has made of the same item is deleted right before it is made anew."""
        effect, graph = self.done[name].effect, self.drawing.graph
        if effect is None or not effect.outward or Kind.DELETE in effect.kinds:
            return None
        before = (one for one in self._clearing if self._same_table(one, name))
        return next((one for one in before if name in graph.downstream([one]) or self._runs_before(one, name)), None)

    def _runs_before(self, one: str, other: str) -> bool:
        """Whether of two ways out of one node the first is done, as it is drawn above, before the second is begun."""
        if self.drawing.root.get("settings", "executionOrder").text != "v1":
            return False
        graph = self.drawing.graph
        for fork in graph.upstream(one) & graph.upstream(other):
            ways = [link.after for link in graph.after[fork]]
            first, second = ([way for way in ways if name == way or name in graph.downstream([way])] for name in (one, other))
            if first and second and not {*first} & {*second}:
                return max(map(self._height, first)) < min(map(self._height, second))
        return False

    def _height(self, name: str) -> float:
        return self.drawing.nodes[name].get("position", 1).number or 0

    @cached_property
    def replacing(self) -> frozenset[str]:
        """The nodes that delete what is then made anew."""
        return frozenset(one for name in self.done if (one := self.replaced(name)) is not None)

    @cached_property
    def _clearing(self) -> tuple[str, ...]:
        """The nodes that delete what belongs to one item."""
        found = (one for one, done in self.done.items() if done.effect is not None and Kind.DELETE in done.effect.kinds)
        return tuple(one for one in found if "{{" in parts.texts(self.drawing.nodes[one].get("parameters")))

    def _same_table(self, one: str, other: str) -> bool:
        first, second = self.drawing.nodes[one], self.drawing.nodes[other]
        return _app(first) == _app(second) and bool(set(_tables(first)) & set(_tables(second)))

    def known_before(self, name: str) -> str | None:
        """The node that reads what was written down of earlier items, where those are left out and the new ones are written down there."""
        return next((look for join, look in self._kept_books if name in self._left_over(join)), None)

    def _left_over(self, join: str) -> set[str]:
        """The nodes that only what is new comes to."""
        graph = self.drawing.graph
        if not self.drawing.role(join, "comparing"):
            return graph.downstream([join])
        new, known = ([link.after for link in graph.after.get(join, ()) if (link.output == 0) is first] for first in (True, False))
        return ({*new} | graph.downstream(new, around=[join])) - ({*known} | graph.downstream(known, around=[join]))

    @cached_property
    def _kept_books(self) -> tuple[tuple[str, str], ...]:
        """The nodes that leave out what is known, each with the one that reads it from where it is written down afterwards."""
        found: list[tuple[str, str]] = []
        for join in self._leaving_out:
            later = self._left_over(join)
            looks = (look for link in self.drawing.graph.before.get(join, ()) for look in self._read_before(link.before))
            found += [(join, look) for look in looks if any(self.writes_to(one, look) for one in later)]
        return tuple(found)

    @cached_property
    def _leaving_out(self) -> tuple[str, ...]:
        kept = (
            one
            for one, node in self.drawing.nodes.items()
            if node.get("parameters", "joinMode").text == "keepNonMatches" or self.drawing.role(one, "comparing")
        )
        return tuple(one for one in kept if one not in self.drawing.disabled)

    def _read_before(self, name: str) -> Iterator[str]:
        """The nodes whose records a node hands on, as far as it only hands on."""
        waiting, seen = [name], set[str]()
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            if parts.only_reads(self.done[one].effect):
                yield one
            elif self.drawing.hands_on(one):
                waiting.extend(link.before for link in self.drawing.graph.before.get(one, ()))

    def writes_to(self, later: str, look: str) -> bool:
        """Whether a node writes into the table that another one reads."""
        effect, first, second = self.done[later].effect, self.drawing.nodes[later], self.drawing.nodes[look]
        if effect is None or not effect.outward or drawn.short(first) != drawn.short(second):
            return False
        tables = [(drawn.plain(first.get("parameters", key)), drawn.plain(second.get("parameters", key))) for key in (*_SHEETS, *_TABLES)]
        named = [(one, other) for one, other in tables if one or other]
        return bool(named) and all(one == other for one, other in named)


def at_once(node: Node) -> bool:
    """Whether a node sends all its records in one request, so that there is no half of them."""
    known = drawn.table()["at_once"].get(drawn.short(node))
    version = node.get("typeVersion").number or 1
    return known is not None and asked(node)[1] in known["operations"] and version >= known["since"]


def _path(expression: str) -> str:
    """Which field of a record an expression takes, whoever has it: `["fields"]["Email"]`."""
    found = _LAST.findall(drawn.moving(expression))
    return found[0] if len(found) == 1 else expression


def _app(node: Node) -> str:
    return drawn.short(node).removeprefix("vectorstore").removesuffix("tool")


def _tables(node: Node) -> Iterator[str]:
    for key in _TABLES:
        value = drawn.plain(node.get("parameters", key))
        if value and not value.startswith("="):
            yield value
