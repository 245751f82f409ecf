"""What an SQL statement in a string does, and what a second one like it would do."""

from __future__ import annotations

import re

from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Effect, Kind, Repeat, Reversible
from halfway.inspection.quoting import quoted

_VERB = re.compile(
    r"(?is)^\s*(?:/\*.*?\*/\s*|--[^\n]*\n\s*)*(?:with\b.*?\)\s*(?=insert|update|delete|select))?(insert|update|delete|merge|replace|select|truncate|upsert)\b"
)
_SHAPING = re.compile(r"(?is)^\s*(?:--[^\n]*\n\s*)*(create|alter|drop)\s+(?:or replace\s+)?(?:table|index|view|schema|sequence)\b")
_TABLE = re.compile(r"(?is)\b(?:into|update|from|table)\s+(?:only\s+)?[\"`\[]?([\w.]+)")
_COUNTED = re.compile(r"(?is)\b(?:\w+\.)?(\w+)\s*=\s*(?:\w+\.)?\1\s*[-+]")
_ROW = {"insert": "db.insert", "update": "db.update", "delete": "db.delete", "truncate": "db.delete"}


def statement(sql: str, knowledge: Knowledge) -> Effect | None:
    """The effect of a statement; None if the text is none, or one that changes only the shape of the database."""
    found = _VERB.match(sql)
    if found is None:
        return None
    verb = found[1].lower()
    table = _TABLE.search(sql)
    told = quoted(f"{verb.upper()} {table[1] if table else ''}".strip())
    if verb == "select":
        return Effect("", frozenset({Kind.READ}), Repeat.SAFE, Reversible.YES, told)
    kinds = frozenset({Kind.DELETE if verb in ("delete", "truncate") else Kind.RECORD})
    repeat = _repeat(verb, sql)
    row = {Repeat.MERGES: "db.upsert", Repeat.DUPLICATES: "db.add"}.get(repeat, _ROW.get(verb, ""))
    return Effect(known(row, knowledge), kinds, repeat, Reversible.WINDOW, told)


def shaping(sql: str) -> Effect | None:
    """The effect of a statement that changes the shape of the database; None if the text is none."""
    found = _SHAPING.match(sql)
    if found is None:
        return None
    verb, asks = found[1].lower(), re.search(r"(?i)\bif (?:not )?exists\b|\bor replace\b", sql) is not None
    kind = Kind.DELETE if verb == "drop" else Kind.UNKNOWN
    repeat = Repeat.SAFE if asks else Repeat.REJECTS
    return Effect("", frozenset({kind}), repeat, Reversible.WINDOW, quoted(" ".join(found[0].split()).upper()))


def _repeat(verb: str, sql: str) -> Repeat:
    low = sql.lower()
    if _COUNTED.search(sql):
        return Repeat.DUPLICATES
    if verb in ("delete", "truncate", "update"):
        return Repeat.SAFE
    if verb in ("merge", "replace", "upsert") or "do update" in low or "on duplicate key" in low or "insert or replace" in low:
        return Repeat.MERGES
    if "do nothing" in low or "insert or ignore" in low or "insert ignore" in low or "not exists" in low:
        return Repeat.SAFE
    return Repeat.UNKNOWN  # a unique key would refuse it; whether there is one is not said here


def known(id: str, knowledge: Knowledge) -> str:
    """The id of a row, empty if the base has none."""
    try:
        return knowledge.action(id).id if id else ""
    except (KeyError, NotImplementedError):
        return ""


def table(sql: str) -> str:
    """The table that a statement is about."""
    found = _TABLE.search(sql)
    return found[1] if found else ""
