"""Who waits for the answer of a run of n8n, and therefore sees that something went wrong: a caller, somebody in a chat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_triggers import kind_of
from halfway.inspection.model import OnError, Span, Starting, When

_ERROR = re.compile(r"\berror\b")
_BY_NODE = ("responseNode", "responseNodes")


@dataclass(frozen=True)
class Waiting:
    """The answers of one workflow; some of its messages are answers to the one who has written."""

    drawing: Drawing
    answering: frozenset[str]

    def waits(self, name: str) -> bool:
        """Whether whatever starts a node by itself leaves somebody waiting until the node has ended."""
        starts = [*self._starts(name), *self._starts_of_callers(name)]
        return bool(starts) and all(self._left_waiting(start, at) for start, at in starts)

    def hears_of_failure(self, name: str) -> bool:
        """Whether the one who waits is answered when the node fails."""
        return self.answer_to_failure(name) is not None

    def answer_to_failure(self, name: str) -> Span | None:
        """The node that answers the one who waits when another one fails."""
        ends = self._ends_for_caller(name) or self._callers(name)
        if ends:
            return drawn.place(self.drawing.nodes[ends[0]])
        if drawn.on_error(self.drawing.nodes[name]) is not OnError.ROUTE or not all(
            self._by_node(start) for start, _ in self._starts(name)
        ):
            return None
        firsts = [link.after for link in self.drawing.graph.after.get(name, ()) if link.when is When.ERROR]
        found = (one for one in [*firsts, *self.drawing.graph.downstream(firsts)] if self._is_answer(one))
        return next((drawn.place(self.drawing.nodes[one]) for one in found), None)

    def _callers(self, name: str) -> list[str]:
        """The starts by calls, where nothing else starts the node and its failure ends the run: the call then fails where it was made."""
        starts = [one for one in self.drawing.triggers if name in self.drawing.graph.downstream([one])]
        return starts if set(starts) <= {*self.drawing.own_starts} and drawn.on_error(self.drawing.nodes[name]) is OnError.STOP else []

    def _ends_for_caller(self, name: str) -> list[str]:
        """The last nodes, where only another workflow starts this one and all that it gets in the end says what went wrong."""
        graph = self.drawing.graph
        starts = [one for one in self.drawing.triggers if name in graph.downstream([one])]
        if drawn.on_error(self.drawing.nodes[name]) is not OnError.CONTINUE or not starts or not set(starts) <= {*self.drawing.own_starts}:
            return []
        ends = [one for one in self.drawing.nodes if one in graph.downstream([name]) and not graph.after.get(one)]
        return ends if all(self._says_what_went_wrong(one) for one in ends) else []

    def _says_what_went_wrong(self, name: str) -> bool:
        node = self.drawing.nodes[name]
        made = self.drawing.role(name, "code") or drawn.short(node) == "set"
        return made and name not in self.drawing.disabled and _ERROR.search(parts.texts(node.get("parameters"))) is not None

    def _starts(self, name: str) -> Iterator[tuple[str, str]]:
        """What starts a node without a person of the team; a caller is another workflow, which is read for itself."""
        for start in self.drawing.triggers:
            by_itself = kind_of(self.drawing.nodes[start]) not in (Starting.MANUAL, Starting.CALL)
            if by_itself and name in self.drawing.graph.downstream([start]):
                yield start, name

    def _starts_of_callers(self, name: str) -> Iterator[tuple[str, str]]:
        """What starts the agents that have the part of the workflow with the node for a tool, and wait for it."""
        if name in self.drawing.graph.downstream(self.drawing.own_starts):
            for agent, tools in self.drawing.parts.items():
                if agent in self.drawing.nodes and any(self.drawing.calls_itself(tool) for tool in tools):
                    yield from self._starts(agent)

    def _left_waiting(self, start: str, name: str) -> bool:
        node, later = self.drawing.nodes[start], {name} | self.drawing.graph.downstream([name])
        if self._by_node(start):
            return any(self._is_answer(one) for one in later)
        if self._mode(start) == "lastNode" or (drawn.short(node) == "chattrigger" and not self._mode(start)):
            return True
        chat = drawn.short(node) in drawn.table()["writers"]["chat"]
        return chat and bool(self.answering & later)

    def _mode(self, start: str) -> str:
        given = self.drawing.nodes[start].get("parameters")
        return given.get("responseMode").text or given.get("options", "responseMode").text

    def _by_node(self, start: str) -> bool:
        return self._mode(start) in _BY_NODE

    def _is_answer(self, name: str) -> bool:
        return self.drawing.role(name, "answering") and name not in self.drawing.disabled
