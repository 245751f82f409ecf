"""What a module of Make does outside: requests by method and address, everything else by the name of the module."""

from __future__ import annotations

import re
from dataclasses import dataclass

from halfway.inspection.formats import Given
from halfway.inspection.formats.nodes import blueprints, parts
from halfway.inspection.formats.nodes.asking import asks_model, keys_in, only_infers, reads_generated
from halfway.inspection.formats.nodes.blueprints import Blueprint
from halfway.inspection.model import Effect, Kind, Unread
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

_TAKEN = re.compile(r"\{\{(\d+)\.[\w`]+\}\}")
SUB_UNREAD = "the scenario {what} is called and was not given"


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
        effect = given.knowledge.http(_method(node), node.get("mapper", "url").text)
        unknown = effect is not None and effect.kinds == frozenset({Kind.UNKNOWN})
        return Done(parts.reading(told(node)) if unknown and _asks_model(scenario, name) else effect)
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


def _asks_model(scenario: Blueprint, name: str) -> bool:
    """Whether a request asks a model, by its body, also where a module before it makes that, or by what is read of the answer."""
    body, read = _fields_of_body(scenario, name), list(scenario.reads_of(name))
    at_all = asks_model(body) or reads_generated(read)
    return at_all or (only_infers(body) and bool(read) and all(one == "data" for one in read))


def _fields_of_body(scenario: Blueprint, name: str) -> set[str]:
    """The names of the fields that a request carries."""
    body = scenario.modules[name].node.get("mapper", "data")
    made = _TAKEN.fullmatch(body.text.strip())
    if made is None or made[1] not in scenario.modules or not scenario.passes(made[1]):
        return keys_in(parts.texts(body))
    given = scenario.modules[made[1]].node.get("mapper")
    top = {key for key, _ in given.items()}
    return top if scenario.kind(made[1]) == "json:CreateJSON" else keys_in(parts.texts(given))
