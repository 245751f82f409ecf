"""Keys by which a receiver knows a repeat: where requests carry them, and what bearing they have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from halfway.inspection.formats.nodes.provenance import Root, bearing
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Bearing, Effect, Identity, Repeat, Span
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

_PLACES = re.compile(r"\b(?:header|fields?|query) ([\w.-]+\b)(?: (?:or|and) ([\w.-]+\b))?")
_USUAL = (
    "idempotency-key", "x-idempotency-key", "paypal-request-id", "cko-idempotency-key", "x-nc-api-idempotency-key", "requestid",
    "idempotency_key", "idempotencykey",
)  # fmt: skip


def key_names(effect: Effect, knowledge: Knowledge) -> tuple[str, ...]:
    """The names, in small letters, under which the receiver of an effect takes a key; the usual ones where the base has no row."""
    if not effect.action:
        return _USUAL
    try:
        key = knowledge.action(effect.action).key
    except (KeyError, NotImplementedError):
        return _USUAL
    return tuple(name.lower() for found in _PLACES.findall(key.where) for name in found if name) if key is not None else ()


def pairs(node: Node) -> Iterator[tuple[str, Node]]:
    """All named values below a node: entries of mappings, and members of lists that say `name` or `key`, and `value`."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        name = one.get("name").text or one.get("key").text
        if name and one.get("value").there:
            yield name, one.get("value")
        yield from one.items()
        inside = [inner for _, inner in one.items()] if isinstance(one.value, dict) else list(one.each())
        waiting.extend(inner for inner in inside if isinstance(inner.value, (dict, list)))


def given_key(given: Node, names: tuple[str, ...]) -> Node | None:
    """The value that stands under one of those names, in a header, a query or a field."""
    return next((value for key, value in pairs(given) if key.lower() in names and value.text), None)


def identity_of(effect: Effect, place: Span, key: Node | None, roots: Callable[[str], frozenset[Root]], natural: Node | None) -> Identity:
    """What a repeat of an effect carries: a key that was given, else what it merges by, else nothing."""
    if key is not None:
        return Identity(bearing(roots(key.text)), quoted(key.text), key.span)
    if natural is not None and effect.repeat in (Repeat.MERGES, Repeat.SAFE, Repeat.REJECTS):
        return Identity(Bearing.NATURAL, quoted(natural.text or natural.span.at), natural.span)
    return Identity(Bearing.NONE, "", place)
