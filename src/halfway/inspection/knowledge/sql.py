"""What a statement of SQL does to a table, as far as its own words tell it."""

from __future__ import annotations

import re

LONGEST = 5_000  # letters of a text that are read
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_RELATIVE = re.compile(r"\b(\w{1,64})\s*=\s*(?:\w{1,64}\.)?\1\s*[-+*|]")
_WRITES = re.compile(r"\b(insert|update|delete|truncate|merge|upsert|replace|create|alter|drop|copy|grant|revoke|call|do|exec|execute)\b")


def row_of(text: str) -> str | None:
    """The id of the row that the gravest statement of a text is about; None for one that is no SQL."""
    found = [id for one in _COMMENT.sub(" ", text[:LONGEST]).lower().split(";") if (id := _one(one.strip()))]
    return max(found, key=_GRAVER.index) if found else None


_GRAVER = ("read", "db.update", "db.upsert", "db.statement", "db.delete", "db.insert", "db.add", "db.migration", "db.permission")


def _one(text: str) -> str | None:
    match = re.match(r"(\w+)", text)
    first = match[1] if match else ""
    if first == "with":
        inner = _WRITES.search(text)
        first = inner[1] if inner else "select"
    match first:
        case "select" | "show" | "explain" | "values" | "table":
            return "read"
        case "insert" | "merge" | "upsert" | "replace" | "copy":
            merges = first != "insert" or "on conflict" in text or "on duplicate key" in text or "insert ignore" in text
            return "db.upsert" if merges and first != "copy" else "db.insert"
        case "update":
            return "db.add" if _RELATIVE.search(text.partition("set")[2]) else "db.update"
        case "delete" | "truncate":
            return "db.delete"
        case "create" | "alter" | "drop":
            return "db.permission" if re.match(r"\w+\s+(?:user|role)\b", text) else "db.migration"
        case "grant" | "revoke":
            return "db.permission"
        case "call" | "do" | "exec" | "execute":
            return "db.statement"
        case _:
            return None
