"""Who looks before something is made, and who must agree: searches with a condition behind them, waits for the answer of a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_effects import Done, address_of, asked
from halfway.inspection.formats.nodes.n8n_rows import Rows, is_blank
from halfway.inspection.formats.nodes.n8n_statements import of_other_tables
from halfway.inspection.formats.nodes.n8n_triggers import kind_of, period_of
from halfway.inspection.formats.wording import is_decision
from halfway.inspection.model import Gate, Starting, Step
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

_TABLE = ("documentId", "sheetName", "sheetId", "base", "table", "tableId", "databaseId")
_OWN_TABLES = ("sheets", "airtable", "postgres", "mysql", "nocodb", "baserow", "supabase", "datatable")
_SETTING = re.compile(r"=\s*\{\{\s*\$(?:env|vars)\.\w+\s*\}\}\s*")
_PARTS = frozenset({"issuecomment", "comment"})  # read at the thing itself, not searched for
_WRITER = re.compile(r"(?i)\b(?:from|sender|chat|author|user|wa_?id|phone|number)(?:_?id|\b)")
_LONG = 3600  # seconds; a run is over long before the next one begins
_WORD = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True)
class Guards:
    """The conditions of one workflow."""

    drawing: Drawing
    done: Mapping[str, Done]
    _parted: dict[tuple[str, bool], tuple[list[set[str]], set[str]]] = field(default_factory=dict[Any, Any], compare=False)

    def guarded(self, step: Step, name: str) -> Step:
        """The step with the look before it, the person before it, and the condition that it runs under."""
        makes = parts.makes_anew(step.effect)
        look, proof = self._guard(name) if makes else (None, True)
        known = self._known_by(name) if makes and look is None else None
        proof = proof if known is None else self._is_at_rest(known, name)
        guard, by = (None if one is None else drawn.place(self.drawing.nodes[one]) for one in (look, known))
        return replace(step, guard=guard, known_by=by, guard_is_proof=proof, gate=self._gate(name), condition=self._condition(name))

    def _known_by(self, name: str) -> str | None:
        """The look behind which nothing comes to a node once that is done: what it asks for is written after it, or another state set."""
        graph = self.drawing.graph
        for look in self._looks:
            behind = graph.downstream([look])
            if name not in behind or self._is_reached_around(look, name):
                continue
            later = [one for one in behind if one in graph.downstream([name]) or name in graph.downstream([one])]
            if self._keeps_away(look, name) and any(self.rows.moves_on(one, look) for one in later):
                return look
            if self._asks_about(look, name) and any(self._writes_to(one, look) for one in later):
                return look
        return None

    @cached_property
    def rows(self) -> Rows:
        """The rows of the workflow."""
        return Rows(self.drawing, self.done)

    @cached_property
    def _looks(self) -> tuple[str, ...]:
        return tuple(one for one, done in self.done.items() if parts.only_reads(done.effect) and not self._is_model(one))

    def _is_model(self, name: str) -> bool:
        """Whether a model is asked, which thinks and does not look for what is there."""
        kind = self.drawing.nodes[name].get("type").text
        return kind.startswith("@n8n/") and "vectorstore" not in kind.lower()

    def _is_reached_around(self, look: str, name: str) -> bool:
        """Whether a run that nobody starts by hand comes to a node without the look."""
        graph = self.drawing.graph
        starts = [one for one in self.drawing.triggers if kind_of(self.drawing.nodes[one]) is not Starting.MANUAL and one != look]
        return name in graph.downstream(starts, around=[look])

    def _keeps_away(self, look: str, name: str) -> bool:
        """Whether nothing comes further where a look finds nothing: no record does, unless the node says so."""
        return self.drawing.nodes[look].get("alwaysOutputData").value is not True or self._asks_about(look, name)

    def _asks_about(self, look: str, name: str) -> bool:
        """Whether a condition about what a look finds keeps a node from running."""
        return any(look in self._asked_about(branch) and self._only_behind(branch, name) for branch in self.drawing.branches)

    def _writes_to(self, later: str, look: str) -> bool:
        effect = self.done[later].effect if later in self.done else None
        return effect is not None and effect.outward and self.rows.only_adds(later) and self.rows.same_table(later, look)

    def _condition(self, name: str) -> str:
        """What the nearest condition before a node asks."""
        graph = self.drawing.graph
        for link in graph.before.get(name, ()):
            seen: set[str] = set()
            one, output = link.before, link.output
            while one not in seen and one not in self.drawing.branches and self.drawing.passes(one) and len(graph.before.get(one, ())) == 1:
                seen.add(one)
                one, output = graph.before[one][0].before, graph.before[one][0].output
            if one in self.drawing.branches:
                return quoted(f"{one} [{output}]: {_said(self.drawing.nodes[one])}")
        return ""

    def _only_behind(self, branch: str, name: str, *, again: bool = False) -> bool:
        """Whether one output of a condition leads to the node, and no other does, unless what comes round is asked again."""
        behind, around = self._parted_by(branch, again=again)
        return name not in around and sum(name in one for one in behind) == 1

    def _parted_by(self, branch: str, *, again: bool) -> tuple[list[set[str]], set[str]]:
        """What each output of a condition leads to, and what a trigger comes to without it; asked for each node, so it is kept."""
        if (branch, again) not in self._parted:
            graph = self.drawing.graph
            behind = graph.ways_out(branch, around=[branch] if again else [])
            around = graph.downstream(self.drawing.triggers, around=[branch]) if self.drawing.triggers else set[str]()
            self._parted[branch, again] = behind, around
        return self._parted[branch, again]

    def _guard(self, name: str) -> tuple[str | None, bool]:
        """Where the same sort of thing is looked for, with a condition behind it that keeps the node from running; whether it is proof."""
        for one in self._sorting:
            if name in self.drawing.graph.downstream([one]):
                return one, True  # it remembers a record as it asks for it
        for branch in self.drawing.branches:
            if not self._only_behind(branch, name):
                continue
            for look in self._asked_about(branch):
                if look in self._looks and self._same_thing(look, name) and not self._is_reached_around(look, name):
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
        if any(is_blank(table) for table in _tables(other)):
            return False  # which one it will be is not known
        return bool(_vendor(one) & _vendor(other)) and bool(_thing(other) & _thing(one, whole=True) or _thing(other) == set())

    def _gate(self, name: str) -> Gate | None:
        """The person who must answer before the node runs."""
        return next((gate for one, gate in self._gates.items() if one != name and self._is_behind(one, name)), None)

    def _is_behind(self, gate: str, name: str) -> bool:
        """Whether the gate comes before the node, and no circle leads to the node first."""
        graph, starts = self.drawing.graph, self.drawing.triggers
        if name not in graph.downstream([gate]):
            return False
        circle = gate in graph.downstream([name])
        return not (circle and name in graph.downstream(starts, around=[gate]))

    def let_pass_by(self, name: str) -> str | None:
        """The node that asks a person, where a condition on the answer keeps another one from running."""
        for branch in self.drawing.branches:
            if self._only_behind(branch, name, again=True):
                asking = (one for one in self._asked_about(branch) if one in self._gates and self._gates[one].kind == "approval")
                found = next(asking, None)
                if found is not None:
                    return found
        return None

    def is_ordered(self, name: str) -> bool:
        """Whether a node runs on the decision that somebody has written whose number or address is asked for by the file."""
        if not any(self._is_written_to(start) for start in self.drawing.triggers):
            return False
        before = [branch for branch in self.drawing.branches if self._only_behind(branch, name)]
        return any(self._asks_who(one) for one in before) and any(self._asks_for_decision(one) for one in before)

    def _is_written_to(self, start: str) -> bool:
        return any(drawn.short(self.drawing.nodes[start]) in kinds for kinds in drawn.table()["writers"].values())

    def _asks_who(self, branch: str) -> bool:
        """Whether a condition compares who has written with what is the same in every run."""
        given = self.drawing.nodes[branch].get("parameters", "conditions", "conditions")
        same = [one for one in given.each() if one.get("operator", "operation").text == "equals" and _is_fixed(one.get("rightValue"))]
        return any(_WRITER.search(one.get("leftValue").text) for one in same)

    def _asks_for_decision(self, branch: str) -> bool:
        leaves = parts.leaves(self.drawing.nodes[branch].get("parameters"))
        return any(key in ("rightValue", "value2") and is_decision(leaf.text) for key, leaf in leaves)

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


def _is_fixed(value: Node) -> bool:
    return bool(value.text) and (not value.text.startswith("=") or _SETTING.fullmatch(value.text) is not None)


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
    last = path.split("?")[0].rsplit("/", 1)[-1]
    if not whole and "_" in last:
        return {_single(word) for word in _WORD.findall(last)[-1:]}  # of `shop_orders` it is the orders
    return {_single(word) for word in _WORD.findall(path if whole else last)}


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
