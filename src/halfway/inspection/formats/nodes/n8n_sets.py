"""Requests of n8n that set one thing which they name: a second one sets it to the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from halfway.inspection.formats.nodes.n8n_effects import address_of, method_of
from halfway.inspection.formats.nodes.provenance import Root
from halfway.inspection.model import Effect, Repeat
from halfway.inspection.source import Node

_OPERATION = re.compile(r"(?i)[\"']?\b(?:operation|action)[\"']?\s*:\s*[\"'](?:update|upsert)[\"']")
_ID = re.compile(r"(?i)[\"']_?id[\"']\s*:")
_ONE = re.compile(r"\}\}/?$|=eq\.(?:\{\{|[\w-])")
_VALUE = r"(?i)[\"']{thing}_?id[\"']\s*:\s*[\"']?=?\s*(\{{\{{.{{1,200}}?\}}\}})"


def with_named(node: Node, effect: Effect | None, follow: Callable[[str], frozenset[Root]]) -> Effect | None:
    """The effect of a request: where it names the one thing that is set, it brings up to date what is there."""
    if effect is None or not effect.outward or not address_of(node):
        return effect
    method, body = method_of(node), node.get("parameters", "jsonBody").text
    unknown = effect.repeat is Repeat.UNKNOWN
    if unknown and method in ("PUT", "PATCH") and _ONE.search(address_of(node)):
        return replace(effect, repeat=Repeat.MERGES)
    if unknown and method == "POST" and _OPERATION.search(body) and _ID.search(body):
        return replace(effect, repeat=Repeat.MERGES)
    return replace(effect, repeat=Repeat.MERGES) if method == "POST" and _holds_its_id(node, body, follow) else effect


def _holds_its_id(node: Node, body: str, follow: Callable[[str], frozenset[Root]]) -> bool:
    """Whether the body carries the id of a thing of the very sort that the address names, as somebody has kept it."""
    last = re.sub(r"\W+", "", address_of(node).split("?")[0].rstrip("/").rsplit("/", 1)[-1]).removesuffix("s")
    found = re.search(_VALUE.format(thing=re.escape(last)), body) if last else None
    return found is not None and follow(f"={found[1]}") == frozenset({Root.STORE})
