"""The SQL text of a node of n8n, also where a node before it puts the text together and the node only takes it over."""

from __future__ import annotations

import re

from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.knowledge.sql import row_of

_MOST_SEEN = 60
_TAKEN = re.compile(r"^=?\s*\{\{[^{}]*\}\}\s*;?\s*$")
# A text in code, to its end; what is filled in between may hold no such sign itself.
_WHOLE = re.compile(r"""(?P<text>`[^`]*`|"[^"\\\n]*"|'[^'\\\n]*')(?:\s*\.trim\(\))?(?=\s*(?:;|,|\}|\)|\n|$))""")
_DELETED = re.compile(r"""\bdelete\s+from\s+["`]?([a-z_][\w.]*)""")
_PUT = re.compile(r"""\binsert\s+into\s+["`]?([a-z_][\w.]*)""")
_TABLE = re.compile(r"""\b(?:from|join|into|update|table)\s+["`]?([a-z_][\w.]*)""")


def statement_at(drawing: Drawing, name: str) -> str:
    """The statement that a node runs; empty where it is not written down."""
    written = drawing.nodes[name].get("parameters", "query").text
    references = drawing.references(written, name) if _TAKEN.match(written) else []
    if not references or len({field for _, field in references}) != 1:
        return written.removeprefix("=")
    found = [_made_by(drawing, giver, field, set()) for giver, field in references]
    return "" if None in found else ";\n".join(one for one in found if one)


def _made_by(drawing: Drawing, name: str, field: str, seen: set[str]) -> str | None:
    """The text that a node gives a field, or those before it that it has it from; None: it is not written down."""
    if name in seen or len(seen) > _MOST_SEEN:
        return ""
    seen.add(name)
    given = drawing.assigned(name, field)
    if given is not None and row_of(given.removeprefix("=")):
        return given.removeprefix("=")
    code = parts.texts(drawing.nodes[name].get("parameters")) if drawing.role(name, "code") else ""
    texts = _texts_of(code, field)
    if texts is None:
        return None
    if texts:
        return ";\n".join(texts)
    if not code and not drawing.hands_on(name):
        return None  # a trigger, or what somebody else has answered
    before = _before(drawing, name, code)
    found = [_made_by(drawing, one, field, seen) for one in before]
    return None if not found or None in found else ";\n".join(one for one in found if one) or None


def _before(drawing: Drawing, name: str, code: str) -> list[str]:
    """The nodes that code names, where it names some that are there, else those before it."""
    named = [one for one in drawing.nodes if one != name and any(f"{sign}{one}{sign}" in code for sign in "\"'`")] if code else []
    return named or [link.before for link in drawing.graph.before.get(name, ())]


def _texts_of(code: str, field: str) -> list[str] | None:
    """The statements that code gives a name; none where it only hands it on, None where one of them is put together otherwise."""
    gives = re.compile(rf"""(?<![\w.])["']?{re.escape(field)}["']?\s*(?:\+?=(?!=)|:)\s*""")
    handed_on = re.compile(rf"""null\b|''|""|(?:[\w$().\[\]"' ]*\.)?{re.escape(field)}\b(?=\s*(?:[;,}})]|\n|$|\|\||\?\?))""")
    texts: list[str] = []
    for one in gives.finditer(code):
        text = _WHOLE.match(code, one.end())
        if text is not None and row_of(text["text"][1:-1]):
            texts.append(text["text"][1:-1])
        elif "+" in one[0] or not handed_on.match(code, one.end()):
            return None
    return texts


def of_other_tables(drawing: Drawing, one: str, other: str) -> bool:
    """Whether two nodes run statements that name no table in common."""
    first, second = (frozenset(_TABLE.findall(statement_at(drawing, name).lower())) for name in (one, other))
    return bool(first and second) and not first & second


def makes_anew(drawing: Drawing, name: str) -> bool:
    """Whether one text of statements deletes from a table and puts rows into it again."""
    text = statement_at(drawing, name).lower()
    return bool(set(_DELETED.findall(text)) & set(_PUT.findall(text)))
