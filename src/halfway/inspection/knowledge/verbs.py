"""What the name of an operation lets infer, where no row knows it: reading for certain words, else a kind that is said to be inferred."""

from __future__ import annotations

import re

from halfway.inspection.model import Kind

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VERBS: tuple[tuple[Kind, str], ...] = (
    (Kind.READ, "get getall find search list read lookup watch trigger download fetch retrieve count exists query view"),
    (Kind.NOTIFY, "send sms message mail email notify post reply invite call broadcast tweet share"),
    (Kind.DELETE, "delete remove destroy purge clear trash"),
    (Kind.CREATE, "create add append insert open submit duplicate"),
    (Kind.PERMISSION, "grant revoke permit promote"),
    (Kind.UNKNOWN, "update upsert set edit change move merge archive close approve cancel run execute start stop upload copy"),
)
_FOR_MACHINES = frozenset(("status", "metric", "metrics", "telemetry", "heartbeat", "stats"))
_KINDS = {word: kind for kind, words in _VERBS for word in words.split()}


def inferred(name: str) -> Kind | None:
    """The kind that the first verb of a name lets infer; None if none of its words is a verb."""
    said = [one.lower() for one in _WORD.findall(name)]
    kind = next((_KINDS[word] for word in said if word in _KINDS), None)
    return Kind.UNKNOWN if kind is Kind.NOTIFY and _FOR_MACHINES & set(said) else kind


def acts(name: str) -> bool:
    """Whether any word of a name is a verb for more than reading."""
    return any(_KINDS.get(one.lower(), Kind.READ) is not Kind.READ for one in _WORD.findall(name))
