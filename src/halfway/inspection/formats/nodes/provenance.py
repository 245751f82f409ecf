"""Where a value comes from: followed backwards through the nodes that hand it on, three assignments deep and no further."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from halfway.inspection.model import Bearing, Receiver

MOST_HOPS = 3
_MOST_SEEN = 100
# What is filled in between double braces; one that does not end ends where the next begins.
FILLED = re.compile(r"\{\{((?:(?!\{\{|\}\}).)*)\}\}", re.DOTALL)
_MINTED = re.compile(
    r"(?i)zap_meta_|uuid|nanoid|random|\bnow\b|\$now|\$today|new Date\(|Date\.now|timestamp\b|\bexecution\.?id\b|\$runIndex"
)


class Root(StrEnum):
    """What a value is in the end."""

    EVENT = "event"  # what started the run says it
    STORE = "store"  # it was read somewhere
    LITERAL = "literal"
    MADE = "made"  # anew in every run: a clock, a random number, the id of the run
    ANSWER = "answer"  # what the receiver of an effect of this run answered
    UNKNOWN = "unknown"


Reference = tuple[str, str]  # a node, and the field of its record


@dataclass(frozen=True)
class Tracer:
    """Follows values through one flow."""

    references: Callable[[str, str], Sequence[Reference] | None]  # of an expression at a node; None: it cannot be read
    moving: Callable[[str], str]  # what of a text is no literal
    roots: Mapping[str, Root]  # nodes where a value begins
    assigned: Callable[[str, str], str | None]  # the expression that a node assigns to a field
    passing: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])  # from whom those nodes have what they hand on

    def follow(self, expression: str, node: str) -> frozenset[Root]:
        """All that an expression at a node is made of."""
        return self._expression(expression, node, 0, set()) or frozenset({Root.UNKNOWN})

    def _expression(self, text: str, node: str, hops: int, seen: set[Reference]) -> frozenset[Root]:
        references = self.references(text, node)
        if references is None:
            return frozenset({Root.UNKNOWN})
        found = frozenset[Root]()
        if _MINTED.search(_without_names(self.moving(text), references)):
            found = frozenset({Root.MADE})
        for one in references:
            found |= self._reference(one, hops, seen)
        return found if found or references else frozenset({Root.LITERAL})

    def _reference(self, reference: Reference, hops: int, seen: set[Reference]) -> frozenset[Root]:
        node, name = reference
        if reference in seen:
            return frozenset()
        if len(seen) > _MOST_SEEN:
            return frozenset({Root.UNKNOWN})
        seen.add(reference)
        if node in self.roots:
            return frozenset({self.roots[node]})
        text = self.assigned(node, name)
        if text is not None:
            return self._expression(text, node, hops + 1, seen) if hops < MOST_HOPS else frozenset({Root.UNKNOWN})
        found = frozenset[Root]() if self.passing.get(node) else frozenset({Root.UNKNOWN})
        for before in self.passing.get(node, ()):
            found |= self._reference((before, name), hops, seen)
        return found


def _without_names(text: str, references: Sequence[Reference]) -> str:
    """The text without what is named in it: a field `timestamp` of an event is no clock."""
    for node, name in references:
        for one in (node, *re.split(r"[.\[\]\"']+", name)):
            if one:
                text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(one)}(?![A-Za-z0-9])", "", text)
    return text


def bearing(roots: frozenset[Root]) -> Bearing:
    """What identity a key of such parts carries from one attempt to the next."""
    if Root.MADE in roots:
        return Bearing.MINTED
    return Bearing.UNKNOWN if roots & {Root.UNKNOWN, Root.ANSWER} else Bearing.STABLE


def confirms(address: frozenset[Root], said: frozenset[Root]) -> bool:
    """Whether a message goes to whom the event that started the run names, and says nothing that is not of it or written down."""
    return address == frozenset({Root.EVENT}) and said <= {Root.EVENT, Root.LITERAL, Root.MADE}


def receiver(roots: frozenset[Root]) -> Receiver:
    """Who is told at an address of such parts."""
    if roots & {Root.EVENT, Root.STORE}:
        return Receiver.CUSTOMER
    return Receiver.TEAM if roots == frozenset({Root.LITERAL}) else Receiver.UNKNOWN
