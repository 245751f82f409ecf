"""What a message of n8n cannot be about: what is done on one way out of a condition while the same is told on the other way as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_noting import says_the_same, text_of

_MOST_HOPS = 12


@dataclass(frozen=True)
class Telling:
    """The messages of one workflow beside the conditions before them."""

    drawing: Drawing

    def untold(self, name: str) -> set[str]:
        """The nodes before a message without which it, or one that says the same, is sent on another way."""
        before = self.drawing.graph.upstream(name)
        alike = {name, *(one for one in self._others(name) if self._is_the_same(name, one))}
        return {one for done, other in self._forks if alike & other for one in (done - other) & before}

    def told_or_not(self, name: str) -> set[str]:
        """The nodes behind a message to which it comes as well on a way on which nothing is told."""
        later = self.drawing.graph.downstream([name])
        return {one for told, other in self._forks if name in told - other for one in told & other & later}

    @cached_property
    def _forks(self) -> tuple[tuple[set[str], set[str]], ...]:
        """Of each two ways out of a condition what is behind the one and what is behind the other."""
        graph = self.drawing.graph
        found: list[tuple[set[str], set[str]]] = []
        for branch in self.drawing.branches:
            behind = graph.ways_out(branch, around=[branch])
            found += [(one, other) for one in behind for other in behind if one is not other]
        return tuple(found)

    def _others(self, name: str) -> Iterator[str]:
        kind = self.drawing.nodes[name].get("type").text
        return (one for one, node in self.drawing.nodes.items() if one != name and node.get("type").text == kind)

    def _is_the_same(self, name: str, other: str) -> bool:
        if says_the_same(self.drawing.nodes[name], self.drawing.nodes[other]):
            return True
        made = self._maker(name)
        return made is not None and made == self._maker(other)

    def _maker(self, name: str) -> tuple[str, str] | None:
        """The node and the field that the text of a message is as a whole."""
        text = text_of(self.drawing.nodes[name]).strip()
        found = self.drawing.references(text, name) if text.startswith("={{") and text.count("{{") == 1 and text.endswith("}}") else None
        for _ in range(_MOST_HOPS):
            if found is None or len(found) != 1:
                return None
            giver, field = found[0]
            if not self.drawing.hands_on(giver) or self.drawing.assigned(giver, field) is not None:
                return giver, field
            found = [(link.before, field) for link in self.drawing.graph.before.get(giver, ())]
        return None
