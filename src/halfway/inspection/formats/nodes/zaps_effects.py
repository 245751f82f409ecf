"""What a step of a Zap does outside: by its API and action, for the export calls nearly everything a write."""

from __future__ import annotations

import re
from dataclasses import dataclass

from halfway.inspection.formats import Given
from halfway.inspection.formats.nodes import parts, zaps
from halfway.inspection.formats.nodes.zaps import Zap
from halfway.inspection.model import Effect, Kind, Repeat, Reversible, Unread
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

SUB_UNREAD = "the Sub-Zap {what} is called and is not in the export"
AGENT_UNREAD = "what the agent of {what} may do is set outside the export"
_REACHES_OUT = re.compile(r"(?i)\bfetch\(|axios|https?\.request|require\(|\brequests\.|urllib|\bimport\s+\w|XMLHttpRequest|StoreClient")
_METHODS = {"get": "GET", "post": "POST", "put": "PUT", "patch": "PATCH", "delete": "DELETE"}


@dataclass(frozen=True)
class Done:
    """What a step does, and what of it could not be read."""

    effect: Effect | None
    opaque: Unread | None = None


def done_by(zap: Zap, name: str, given: Given) -> Done:
    """What a step does outside; nothing for one that filters, branches, reshapes or waits."""
    node = zap.nodes[name]
    if zap.role(name, "passing") or zap.role(name, "filtering") or node.get("type_of").text == "filter":
        return Done(None)
    if zap.role(name, "code"):
        return _code(node)
    if zap.role(name, "sub"):
        return Done(parts.unknown_effect(told(node)), Unread(quoted(zaps.title(node)), SUB_UNREAD, node.span))
    if zap.role(name, "web"):
        return Done(_request(node, given))
    if zap.role(name, "agent"):
        agent = Effect("", frozenset({Kind.AGENT}), Repeat.UNKNOWN, Reversible.UNKNOWN, told(node))
        return Done(agent, Unread(quoted(zaps.title(node)), AGENT_UNREAD, node.span))
    known = given.knowledge.node("zapier", zaps.api(node), "", zaps.action(node))
    if zap.role(name, "model") and (known is None or known.kinds <= {Kind.AGENT, Kind.READ, Kind.UNKNOWN}):
        return Done(parts.reading(told(node)))
    if known is not None:
        return Done(known)
    return Done(parts.reading(told(node)) if node.get("type_of").text in ("search", "read") else _by_action(node))


def told(node: Node) -> str:
    return quoted(f"{zaps.api(node)} {zaps.action(node)}".strip())


def _by_action(node: Node) -> Effect:
    return parts.by_verb(zaps.action(node), told(node), zaps.table()["parameters"]["looks"])


def _code(node: Node) -> Done:
    if not _REACHES_OUT.search(node.get("params", "code").text):
        return Done(None)
    return Done(parts.unknown_effect(told(node)), Unread(quoted(zaps.title(node)), parts.CODE_UNREAD, node.span))


def _request(node: Node, given: Given) -> Effect | None:
    """A request whose method is the name of the action, or a parameter."""
    asked = node.get("params")
    named = next((method for word, method in _METHODS.items() if zaps.action(node).lower().startswith(word)), "")
    method = asked.get("method").text.upper() or named
    return given.knowledge.http(method, asked.get("url").text) if method else parts.unknown_effect(told(node))
