"""Which nodes of n8n only write down that something is done: when it was sent, that it is published."""

from __future__ import annotations

import re
from collections.abc import Mapping

from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_effects import Done, address_of
from halfway.inspection.formats.nodes.n8n_statements import statement_at
from halfway.inspection.formats.nodes.provenance import FILLED
from halfway.inspection.model import Kind
from halfway.inspection.source import Node

_LONGEST = 5_000
_DONE = "sent|published|posted|notified|emailed|mailed|announced|tweeted|contacted|replied|invited|reminded"
_WHEN = re.compile(rf"(?i)(?<![a-z])(?:{_DONE})[_ ]?(?:at|on|date)(?![a-z])")
_STATE = re.compile(rf"(?i)(?:status|state)[\"']?\s*[:=]\s*[\"'=]*\s*\w*(?:{_DONE})(?![a-z])")
_SPACE = re.compile(r"\s+")
_STORES = frozenset({Kind.RECORD, Kind.CREATE})
_MESSAGES = ("html", "text", "message", "body", "content")
_BEGINNING = 60  # letters of a message that tell it from another one


def notes_that_done(drawing: Drawing, done: Mapping[str, Done], name: str) -> bool:
    """Whether a node writes a row, or posts a record that was looked for before, which says that something was sent or published."""
    node, effect = drawing.nodes[name], done[name].effect
    if effect is None or not (effect.kinds & _STORES or _was_looked_for(drawing, done, name)):
        return False
    said = "\n".join([statement_at(drawing, name), *(f"{key}: {leaf.text}" for key, leaf in parts.leaves(node.get("parameters")))])[
        :_LONGEST
    ]
    return _WHEN.search(said) is not None or _STATE.search(said) is not None


def _was_looked_for(drawing: Drawing, done: Mapping[str, Done], name: str) -> bool:
    """Whether a node before it asks at the very address to which it posts."""
    address = address_of(drawing.nodes[name])
    before = drawing.graph.upstream(name) if address else ()
    return any(address_of(drawing.nodes[one]) == address and parts.only_reads(done[one].effect) for one in before)


def says_the_same(one: Node, other: Node) -> bool:
    """Whether two messages begin with the same words, so that the one tells nothing that the other does not."""
    first, second = _words(one), _words(other)
    return len(first) >= _BEGINNING // 2 and first == second


def text_of(node: Node) -> str:
    """What a message says, as it is written."""
    return next((found for key in _MESSAGES if (found := node.get("parameters", key).text)), "")


def _words(node: Node) -> str:
    return _SPACE.sub(" ", FILLED.sub("", text_of(node)[:_LONGEST]))[:_BEGINNING]
