"""Whether a workflow of n8n that goes on after a failure asks for it: by the field `error` of the record that then comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_effects import Done
from halfway.inspection.model import Effect, OnError, Repeat
from halfway.inspection.source import Node

# `result.error` is looked at; `console.error(…)` and `x.error = …` are not.
_ERROR = re.compile(r"""(?i)[\w)\]}]\s*\??(?:\.\s*error|\.?\[\s*["']error["']\s*\])\b(?!\s*\(|\s*=[^=])""")
# What was made has an id; code that asks whether there is one asks whether it was made.
_MADE = re.compile(r"if\s*\([^)\n]{0,80}\.(?:id|\w+I[dD]|\w+_id)\b\s*(?:\)|&&|\|\|)")
_CONSOLE = re.compile(r"\b(?:console|logger|log)\.error\b")
_KNOWN = re.compile(r"(?i)\bduplicate (?:key|entry|record)|already exists|unique constraint|\b23505\b")
_MOST_NODES = 100


@dataclass(frozen=True)
class Failures:
    """The failures that one workflow passes over."""

    drawing: Drawing
    done: Mapping[str, Done]

    def is_asked_for(self, name: str) -> bool:
        """Whether each way on from a node whose failure is passed over leads through something that asks for the failure first."""
        if drawn.on_error(self.drawing.nodes[name]) is not OnError.CONTINUE:
            return False
        asking = {one for one in self.drawing.graph.downstream([name]) if one != name and self._asks(one, name)}
        if not asking:
            return False
        unasked = self.drawing.graph.downstream([name], around=asking)
        return not any((effect := self.done[one].effect) is not None and effect.outward for one in unasked if one in self.done)

    def _asks(self, later: str, name: str) -> bool:
        node = self.drawing.nodes[later]
        if self.drawing.role(later, "code"):
            code = _CONSOLE.sub("", parts.texts(node.get("parameters")))
            right_behind = self._is_right_behind(later, name)
            if _ERROR.search(code) is None:
                return right_behind and _MADE.search(code) is not None
            return right_behind or _names(code, name)
        leaves = (expression(key, leaf) for key, leaf in parts.leaves(node.get("parameters")))
        return any(_ERROR.search(text) and name in self._givers(text, later) for text in leaves)

    def _givers(self, text: str, later: str) -> set[str]:
        return {one for giver, _ in self.drawing.references(text, later) or () for one in (giver, *self._before(giver))}

    def _is_right_behind(self, later: str, name: str) -> bool:
        return any(name in (link.before, *self._before(link.before)) for link in self.drawing.graph.before.get(later, ()))

    def _before(self, name: str) -> Iterator[str]:
        """The nodes whose records come out of one that only hands on."""
        waiting, seen = [name], set[str]()
        while waiting and len(seen) < _MOST_NODES:
            one = waiting.pop()
            if one not in seen and self.drawing.hands_on(one):
                seen.add(one)
                before = [link.before for link in self.drawing.graph.before.get(one, ())]
                waiting.extend(before)
                yield from before

    def with_refusal(self, name: str, effect: Effect | None) -> Effect | None:
        """The effect, of which the workflow knows that the receiver refuses a second one where it asks for that right behind it."""
        if effect is None or not effect.outward or effect.repeat is not Repeat.UNKNOWN:
            return effect
        behind = (link.after for link in self.drawing.graph.after.get(name, ()))
        refused = any(
            (self.drawing.role(one, "branching") or self.drawing.role(one, "code"))
            and _KNOWN.search(parts.texts(self.drawing.nodes[one].get("parameters")))
            for one in behind
        )
        return replace(effect, repeat=Repeat.REJECTS) if refused else effect


def expression(key: str, leaf: Node) -> str:
    """The text of a parameter as an expression, also of one without the sign: a statement for a database, a mapping kept as a text."""
    filled = (key == "query" and "{{" in leaf.text) or '"={{' in leaf.text
    return f"={leaf.text}" if filled and not leaf.text.startswith("=") else leaf.text


def _names(code: str, name: str) -> bool:
    return any(f"{quote}{name}{quote}" in code for quote in "\"'`")
