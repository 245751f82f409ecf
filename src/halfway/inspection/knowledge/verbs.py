"""What the name of an operation lets infer, where no row knows it: reading for certain words, else a kind that is said to be inferred."""

from __future__ import annotations

import re

from halfway.inspection.model import Kind

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_STARTS = frozenset(("action", "make", "module", "an", "a", "the", "api", "v2", "new"))  # fillers of module ids
_KINDS: tuple[tuple[Kind, frozenset[str]], ...] = (
    (Kind.READ, frozenset("get getall find search list read lookup watch trigger download fetch retrieve count exists query view".split())),
    (Kind.NOTIFY, frozenset("send sms message mail email notify post reply invite call broadcast tweet share".split())),
    (Kind.DELETE, frozenset("delete remove destroy purge clear trash".split())),
    (Kind.CREATE, frozenset("create add append insert open submit book copy duplicate issue".split())),
    (Kind.PERMISSION, frozenset("grant revoke permit promote".split())),
    (Kind.UNKNOWN, frozenset("update upsert set edit change move merge archive close approve cancel run execute start stop upload".split())),
)  # fmt: skip


def inferred(name: str) -> Kind | None:
    """The kind that the first verb of a name lets infer; None if none of its words is a verb."""
    for word in (one.lower() for one in _WORD.findall(name)):
        for kind, words in _KINDS:
            if word in words and word not in _STARTS:
                return kind
    return None
