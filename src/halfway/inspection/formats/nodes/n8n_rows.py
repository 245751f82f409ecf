"""The rows that a workflow of n8n writes: which only tell what happened, which are read again, and of which a state is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_effects import Done, address_of, asked, method_of
from halfway.inspection.formats.wording import words
from halfway.inspection.source import Node

_KEYS = ("documentId", "sheetName", "tableId", "tableName", "table", "collection", "index")
_ADDS = frozenset({"append", "create", "insert", "appendrow"})
_INTO = re.compile(r"(?i)^\W*insert\s+into\s+([\w.\"`]{1,200})")
_LOGS = frozenset({"log", "logs", "audit", "errors"})
# What a template has where everybody puts in their own: two of these are equal as text and not the same table.
_BLANK = re.compile(r"(?i)^=?\W*(?:replace|your|todo|changeme|placeholder|insert)(?:$|[\W_])|^<|^x{3,}$")
_COMPARED = re.compile(r"""\{([^{}]{1,80})\}\s*=\s*['"]([^'"]{0,80})['"]|\b(\w{1,80})\s*=\s*'([^']{0,80})'""")
_SET = re.compile(r"""["'](\w[\w ]{0,80})["']\s*:\s*("[^"]{0,300}"|[^,}]{0,300})""")


@dataclass(frozen=True)
class Rows:
    """The rows of one workflow."""

    drawing: Drawing
    done: Mapping[str, Done]

    def only_adds(self, name: str) -> bool:
        """Whether a node puts a row beside those that are there."""
        node = self.drawing.nodes[name]
        if address_of(node):
            return method_of(node) == "POST"
        return asked(node)[1].lower() in _ADDS or _INTO.match(_query(node)) is not None

    def is_log(self, name: str) -> bool:
        """Whether a node adds a row to what is called a log, which is read by people, and by them only."""
        effect, node = self.done[name].effect, self.drawing.nodes[name]
        if effect is None or not effect.outward or not self.only_adds(name) or not self._is_table(node):
            return False
        return bool(frozenset(word for one in _names(node) for word in words(one)) & _LOGS) or _first(name) == "log"

    def _is_table(self, node: Node) -> bool:
        return bool(_query(node)) or bool(address_of(node)) or any(drawn.plain(node.get("parameters", key)) for key in _KEYS)

    def is_asked_for(self, name: str) -> bool:
        """Whether something in the workflow reads the table that a node writes to."""
        return any(self.same_table(name, look) for look in self._looks)

    @cached_property
    def _looks(self) -> tuple[str, ...]:
        return tuple(one for one in self.drawing.nodes if one in self.done and parts.only_reads(self.done[one].effect))

    def same_table(self, name: str, look: str) -> bool:
        """Whether two nodes name one and the same table, or one and the same address."""
        first, second = self.drawing.nodes[name], self.drawing.nodes[look]
        if address_of(first):
            return address_of(first) == address_of(second)
        if drawn.short(first) != drawn.short(second):
            return False
        tables = [(drawn.plain(first.get("parameters", key)), drawn.plain(second.get("parameters", key))) for key in _KEYS]
        named = [(one, other) for one, other in tables if one or other]
        return bool(named) and all(one == other and not is_blank(one) for one, other in named)

    def moves_on(self, later: str, look: str) -> bool:
        """Whether a node sets the state by which another one finds its records to something else, so that it finds them no more."""
        effect, first, second = self.done[later].effect, self.drawing.nodes[later], self.drawing.nodes[look]
        if effect is None or not effect.outward or drawn.short(first) != drawn.short(second):
            return False
        wanted = dict(_asked(second))
        return any(key in wanted and value and wanted[key] not in value for key, value in _written(first))


def is_blank(text: str) -> bool:
    """Whether a value is there to be replaced by everybody who takes the workflow over."""
    return _BLANK.search(text) is not None


def _query(node: Node) -> str:
    return node.get("parameters", "query").text.removeprefix("=").strip()


def _names(node: Node) -> Iterator[str]:
    """What the table is called into which a node writes."""
    for key in ("sheetName", "table", "tableId", "collection"):
        value = node.get("parameters", key)
        yield from (one for one in (drawn.plain(value), value.get("cachedResultName").text) if one and not one.startswith("="))
    if "/rest/" in address_of(node):
        yield address_of(node).split("?")[0].rsplit("/", 1)[-1]
    found = _INTO.match(_query(node))
    if found is not None:
        yield found[1]


def _first(name: str) -> str:
    """The first word of what a node is called, behind what stands before a line or in brackets."""
    found = re.findall(r"[A-Za-z]+", name.rsplit("|", 1)[-1])
    return found[0].lower() if found else ""


def _asked(node: Node) -> Iterator[tuple[str, str]]:
    """The fields that a search compares with a literal, each with the literal."""
    given = node.get("parameters")
    for key, leaf in parts.leaves(given):
        if key in ("filterByFormula", "query", "filterString"):
            yield from ((one[0] or one[2], one[1] or one[3]) for one in _COMPARED.findall(leaf.text))
    for one in (*given.get("filtersUI", "values").each(), *given.get("filters", "conditions").each()):
        field, value = one.get("lookupColumn").text or one.get("keyName").text, one.get("lookupValue").text or one.get("keyValue").text
        if field and value and not value.startswith("="):
            yield field, value


def _written(node: Node) -> Iterator[tuple[str, str]]:
    """The fields that a node sets, each with what it is set to."""
    given = node.get("parameters")
    columns = given.get("columns", "value")
    yield from ((key, value.text) for key, value in columns.items())
    if columns.text:
        yield from ((key, value.strip('" ')) for key, value in _SET.findall(_unescaped(columns.text)))
    for one in given.get("fieldsUi", "fieldValues").each():
        yield one.get("fieldId").text, one.get("fieldValue").text
    before, _, after = _query(node).partition("SET") if re.match(r"(?i)\W*update\b", _query(node)) else ("", "", "")
    if before:
        yield from ((one[2], one[3]) for one in _COMPARED.findall(re.split(r"(?i)\bwhere\b", after)[0]) if one[2])


def _unescaped(text: str) -> str:
    """The text of a mapping that is kept as a text."""
    try:
        return json.dumps(json.loads(text.removeprefix("=")), ensure_ascii=False)
    except ValueError:
        return text
