"""Finds the row of a node of n8n, a step of Zapier, a module of Make: by its type, resource and operation, with the format's defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from halfway.inspection.knowledge.rows import Row


class Nodes:
    """The rows by format, type, resource and operation; the rule that says more is preferred."""

    def __init__(self, rows: Iterable[Row], defaults: Mapping[str, Any]) -> None:
        self._defaults: Mapping[str, Mapping[str, Any]] = defaults["n8n"]
        found: list[tuple[int, str, tuple[tuple[str, ...], ...], str]] = []
        for row in rows:
            for rule in row.node:
                format, _, rest = rule.partition(" ")
                parts = tuple(tuple(part.lower().split("|")) for part in rest.split("/"))
                found.append((-_weight(parts), format, parts, row.action.id))
        self._rules = sorted(found, key=lambda rule: (rule[0], rule[3]))

    def find(self, format: str, names: tuple[str, ...]) -> str | None:
        """The id of the row of a node; the names as `n8n_names` and the like make them."""
        lower = tuple(name.lower() for name in names)
        for _, of, parts, id in self._rules:
            if of == format and len(parts) <= len(lower) and all(_fits(part, name) for part, name in zip(parts, lower, strict=False)):
                return id
        return None

    def n8n_names(self, type: str, resource: str, operation: str) -> tuple[str, str, str]:
        """The short type, the resource and the operation of a node; an export leaves out what equals the default."""
        short = type.rsplit(".", 1)[-1]
        known = self._defaults.get(short) or self._defaults.get(short.removesuffix("Tool"), {})
        short = short if short in self._defaults else short.removesuffix("Tool") if known else short
        resource = resource or str(known.get("resource", ""))
        operations = known.get("operations", {})
        return short, resource, operation or str(operations.get(resource) or known.get("operation", ""))


def _weight(parts: tuple[tuple[str, ...], ...]) -> int:
    """How much a rule says; what a node does says more of it than which node it is: `getAll` of a messenger only reads."""
    said = [(place, one) for place, part in enumerate(parts) for one in part[:1] if one != "*"]
    return sum((3 if place == 2 else 2) if "*" not in one else 1 for place, one in said)


def _fits(part: tuple[str, ...], name: str) -> bool:
    return any(fnmatchcase(name, one) for one in part)
