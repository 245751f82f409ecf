"""Who looks before something is made, and who must agree: searches with a condition behind them, waits for the answer of a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_effects import Done, address_of, asked
from halfway.inspection.formats.nodes.n8n_statements import of_other_tables
from halfway.inspection.formats.nodes.n8n_triggers import kind_of, period_of
from halfway.inspection.model import Gate, Starting, Step
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

_TABLE = ("documentId", "sheetName", "sheetId", "base", "table", "tableId", "databaseId")
_OWN_TABLES = ("sheets", "airtable", "postgres", "mysql", "nocodb", "baserow", "supabase", "datatable")
_PARTS = frozenset({"issuecomment", "comment"})  # read at the thing itself, not searched for
_LONG = 3600  # seconds; a run is over long before the next one begins
_WORD = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True)
class Guards:
    """The conditions of one workflow."""

    drawing: Drawing
    done: Mapping[str, Done]

    def guarded(self, step: Step, name: str) -> Step:
        """The step with the look before it, the person before it, and the condition that it runs under."""
        look, proof = self._guard(name) if parts.makes_anew(step.effect) else (None, True)
        guard = None if look is None else drawn.place(self.drawing.nodes[look])
        return replace(step, guard=guard, guard_is_proof=proof, gate=self._gate(name), condition=self._condition(name))

    @cached_property
    def _branches(self) -> tuple[str, ...]:
        return tuple(name for name in self.drawing.nodes if self.drawing.role(name, "branching") and name not in self.drawing.disabled)

    def _condition(self, name: str) -> str:
        """What the nearest condition before a node asks."""
        graph = self.drawing.graph
        for link in graph.before.get(name, ()):
            seen: set[str] = set()
            one, output = link.before, link.output
            while one not in seen and one not in self._branches and self.drawing.passes(one) and len(graph.before.get(one, ())) == 1:
                seen.add(one)
                one, output = graph.before[one][0].before, graph.before[one][0].output
            if one in self._branches:
                return quoted(f"{one} [{output}]: {_said(self.drawing.nodes[one])}")
        return ""

    def _only_behind(self, branch: str, name: str, *, again: bool = False) -> bool:
        """Whether one output of a condition leads to the node, and no other does, unless what comes round is asked again."""
        graph = self.drawing.graph
        outputs = {link.output for link in graph.after.get(branch, ())}
        leading = [
            output
            for output in outputs
            for ends in [[link.after for link in graph.after[branch] if link.output == output]]
            if name in ends or name in graph.downstream(ends, around=[branch] if again else [])
        ]
        around = graph.downstream(self.drawing.triggers, around=[branch]) if self.drawing.triggers else set[str]()
        return len(leading) == 1 and name not in around

    def _guard(self, name: str) -> tuple[str | None, bool]:
        """Where the same sort of thing is looked for, with a condition behind it that keeps the node from running; whether it is proof."""
        for one in self._sorting:
            if name in self.drawing.graph.downstream([one]):
                return one, True  # it remembers a record as it asks for it
        for branch in self._branches:
            if not self._only_behind(branch, name):
                continue
            for look in self._asked_about(branch):
                if parts.only_reads(self.done[look].effect) and self._same_thing(look, name):
                    return look, self._is_at_rest(look, name)
        return None, True

    def _is_at_rest(self, look: str, name: str) -> bool:
        """Whether nothing can have changed between look and effect: no index is searched, and runs begin one long after the other."""
        node = self.drawing.nodes[look]
        if not drawn.short(node).endswith(_OWN_TABLES) and asked(node)[0].lower() not in _PARTS:
            return False
        starts = [one for one in self.drawing.triggers if name in self.drawing.graph.downstream([one])]
        periods = [period_of(self.drawing.nodes[one]) for one in starts if kind_of(self.drawing.nodes[one]) is Starting.SCHEDULE]
        others = [one for one in starts if kind_of(self.drawing.nodes[one]) not in (Starting.SCHEDULE, Starting.MANUAL, Starting.CALL)]
        return bool(periods) and not others and all(one is not None and one >= _LONG for one in periods)

    @cached_property
    def _sorting(self) -> tuple[str, ...]:
        kept = "removeItemsSeenInPreviousExecutions"
        nodes = (one for one, node in self.drawing.nodes.items() if node.get("parameters", "operation").text == kept)
        return tuple(one for one in nodes if one not in self.drawing.disabled)

    def _asked_about(self, branch: str) -> set[str]:
        """The nodes whose records a condition looks at."""
        found: set[str] = set()
        for _, leaf in parts.leaves(self.drawing.nodes[branch].get("parameters")):
            for giver, _ in self.drawing.references(leaf.text, branch) or ():
                found |= self._through(giver, set())
        return found

    def _through(self, name: str, seen: set[str]) -> set[str]:
        """The node itself, or those before it whose records it hands on."""
        if name in seen or len(seen) > 100:
            return set()
        seen.add(name)
        if not self.drawing.passes(name) and not self._only_works_on(name):
            return {name} if name in self.done else set()
        return {one for link in self.drawing.graph.before.get(name, ()) for one in self._through(link.before, seen)}

    def _only_works_on(self, name: str) -> bool:
        """Whether it is code that does nothing outside: what it hands on it has from before."""
        done = self.done.get(name)
        return done is not None and done.effect is None and self.drawing.role(name, "code")

    def _same_thing(self, look: str, name: str) -> bool:
        """Whether two nodes speak of one sort of thing at one vendor."""
        one, other = self.drawing.nodes[look], self.drawing.nodes[name]
        if of_other_tables(self.drawing, look, name):
            return False
        if any(first and second and first != second for first, second in zip(_tables(one), _tables(other), strict=True)):
            return False
        return bool(_vendor(one) & _vendor(other)) and bool(_thing(other) & _thing(one, whole=True) or _thing(other) == set())

    def _gate(self, name: str) -> Gate | None:
        """The person who must answer before the node runs."""
        return next((gate for one, gate in self._gates.items() if one != name and name in self.drawing.graph.downstream([one])), None)

    def let_pass_by(self, name: str) -> str | None:
        """The node that asks a person, where a condition on the answer keeps another one from running."""
        for branch in self._branches:
            if self._only_behind(branch, name, again=True):
                asking = (one for one in self._asked_about(branch) if one in self._gates and self._gates[one].kind == "approval")
                found = next(asking, None)
                if found is not None:
                    return found
        return None

    @cached_property
    def _gates(self) -> Mapping[str, Gate]:
        """The nodes that wait for a person."""
        found: dict[str, Gate] = {}
        for one, node in self.drawing.nodes.items():
            asks = node.get("parameters", "operation").text == "sendAndWait"
            waits = drawn.short(node) == "wait" and node.get("parameters", "resume").text in ("webhook", "form")
            if (asks or waits) and one not in self.drawing.disabled:
                limit = node.get("parameters", "options", "limitWaitTime") if asks else node.get("parameters", "limitWaitTime")
                found[one] = Gate("approval" if asks else "wait", drawn.place(node), timeout_answers=bool(limit))
        return found


def _said(node: Node) -> str:
    """What a condition asks, in any version of the node; the last resort is all that is written in it."""
    given = node.get("parameters")
    asked = [*given.get("conditions", "conditions").each(), *(one for _, group in given.get("conditions").items() for one in group.each())]
    rules = [
        " ".join(word for word in (first, one.get("operator", "operation").text or one.get("operation").text, second) if word)
        for one in asked
        for first, second in [(one.get("leftValue").text or one.get("value1").text, one.get("rightValue").text or one.get("value2").text)]
        if first
    ]
    return "; ".join(dict.fromkeys(rules)) or parts.texts(given.get("rules")).replace("\n", " ")


def _tables(node: Node) -> tuple[str, ...]:
    """Which table of which document a node is about, as far as it says so."""
    return tuple(drawn.plain(node.get("parameters", key)) for key in _TABLE)


def _vendor(node: Node) -> set[str]:
    """The words of who is asked: the app, or the parts of the host."""
    if address_of(node):
        host = address_of(node).split("://")[-1].split("/")[0].lower()
        return {word for word in re.split(r"[^a-z0-9]+", host) if len(word) > 3} - {"https", "com", "sandbox"}
    return {drawn.short(node).removesuffix("tool")}


def _thing(node: Node, *, whole: bool = False) -> set[str]:
    """The words of what it is about: the resource, or the end of the address; of a look the whole of it."""
    address = address_of(node).lower()
    if not address:
        return {one.lower() for one in (node.get("parameters", "resource").text,) if one} | _words_of_table(node)
    path = address.split("://")[-1].partition("/")[2]
    return {_single(word) for word in _WORD.findall(path if whole else path.split("?")[0].rsplit("/", 1)[-1])}


def _words_of_table(node: Node) -> set[str]:
    """The table or list that a node works on."""
    given = node.get("parameters")
    return {
        value
        for key in ("table", "tableId", "documentId", "databaseId", "collection", "edge")
        if (value := drawn.plain(given.get(key)).lower())
    }


def _single(word: str) -> str:
    return word.removesuffix("s")
