"""What a module of Make does outside: requests by method and address, everything else by the name of the module."""

from __future__ import annotations

from dataclasses import dataclass

from halfway.inspection.formats import Given
from halfway.inspection.formats.nodes import blueprints, parts
from halfway.inspection.formats.nodes.blueprints import Blueprint
from halfway.inspection.model import Effect, Unread
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

SUB_UNREAD = "The scenario {what} is called and was not given."


@dataclass(frozen=True)
class Done:
    """What a module does, and what of it could not be read."""

    effect: Effect | None
    opaque: Unread | None = None


def done_by(scenario: Blueprint, name: str, given: Given) -> Done:
    """What a module does outside; nothing for one that routes, handles, reshapes or answers."""
    node = scenario.modules[name].node
    if scenario.passes(name) or scenario.role(name, "answers") or (name == scenario.first and scenario.started is not None):
        return Done(None)
    if scenario.role(name, "sub"):
        shown = node.get("mapper", "scenarioId").text or node.get("parameters", "scenarioId").text or blueprints.title(node)
        return Done(parts.unknown_effect(told(node)), Unread(quoted(shown), SUB_UNREAD, node.span))
    kind = node.get("module").text
    if is_request(node):
        return Done(given.knowledge.http(_method(node), node.get("mapper", "url").text))
    if node.get("mapper", "method").text.upper() == "GET" and node.get("mapper", "url"):
        return Done(parts.reading(told(node)))  # any request to one vendor, which says that it reads
    verb = kind.split(":")[-1].removeprefix("Action").removeprefix("action")
    known = given.knowledge.node("make", kind)
    if known is not None:
        return Done(parts.settled(parts.without_guests(known, node.get("mapper")), verb, node.get("mapper")))
    return Done(parts.by_verb(verb, told(node), blueprints.table()["parameters"]["looks"]))


def told(node: Node) -> str:
    """The name of the module; of a request what it asks."""
    return quoted(f"{_method(node)} {node.get('mapper', 'url').text}" if is_request(node) else node.get("module").text)


def is_request(node: Node) -> bool:
    return node.get("module").text.startswith("http:") and bool(node.get("mapper", "url"))


def _method(node: Node) -> str:
    return node.get("mapper", "method").text.upper() or "GET"
