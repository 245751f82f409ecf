"""Parts of a definition in JSON: their quotes, their texts, the secrets in them. A file in one line is quoted as well as a printed one."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from math import isnan
from typing import Any

from halfway.inspection.formats.nodes.provenance import FILLED
from halfway.inspection.formats.wording import only_looks
from halfway.inspection.model import Effect, Fact, Kind, Repeat, Reversible, Span, Step
from halfway.inspection.quoting import holds_secret, quoted
from halfway.inspection.source import Node, Unreadable

CODE_UNREAD = "the code of {what} calls something outside, and what cannot be told from the file"
MOST_SECRETS = 50
MOST_DRAWN = 500
_DEEPEST_QUOTE = 3
_LOOKS_UP = re.compile(
    r"(?i)^(?:translate|resolve|extract|buscar|consultar|obtener|obter|rechercher)\b"
    r"|\b(?:laden|abfragen|abrufen|auslesen|suchen)$"
    r"|\b(?:id|key|code)s? to (?:\w+ )?(?:name|e-?mail|id|key|code|label|title|url|address)s?$"
)
_GUESTS = re.compile(r"(?i)^(?:attendee|guest|invitee|participant|e-?mail)s?$")
_ID = re.compile(r"(?:^id|I[dD]|_id|URL)$")
_SCHEME = re.compile(r"(?i)^(?:bearer|basic|token)\b\s*")
_SECRET_BEGINS = 400  # what follows is a text, not a key


@cache
def read_table(name: str) -> Mapping[str, Any]:
    """What an engine does where a definition says nothing."""
    return tomllib.loads((files("halfway.inspection.formats.nodes") / f"{name}.toml").read_text("utf-8"))


def only_reads(effect: Effect | None) -> bool:
    """Whether an action looks and changes nothing."""
    return effect is not None and effect.kinds == frozenset({Kind.READ})


def makes_anew(effect: Effect | None) -> bool:
    """Whether a second time may be another one, so that a look before it counts."""
    return effect is not None and effect.outward and effect.repeat not in (Repeat.SAFE, Repeat.MERGES)


def entry(node: Node, key: str) -> str:
    """An entry of a mapping as it would stand in a line, safe to show."""
    return quoted(f"{_word(key)}: {_short(node.get(key), 0)}")


def entries(node: Node, *keys: str) -> str:
    """The entries of those keys that are there, in one line."""
    return quoted(", ".join(entry(node, key) for key in keys if node.get(key).there))


def fact(node: Node, key: str) -> Fact:
    """The entry of a mapping with its place."""
    return Fact(node.get(key).span, entry(node, key))


def _word(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(node: Node, depth: int) -> str:
    """A value as JSON, what is deep in it left out."""
    if isinstance(node.value, (dict, list)) and depth >= _DEEPEST_QUOTE:
        return "{…}" if isinstance(node.value, dict) else "[…]"
    if isinstance(node.value, dict):
        return "{" + ", ".join(f"{_word(key)}: {_short(one, depth + 1)}" for key, one in node.items()) + "}"
    if isinstance(node.value, list):
        return "[" + ", ".join(_short(one, depth + 1) for one in node.each()) + "]"
    return _word(node.value)


def leaves(node: Node) -> Iterator[tuple[str, Node]]:
    """All scalars below a value with the key that each has; what a list holds has the key of the list."""
    waiting = [("", node)]
    while waiting:
        key, one = waiting.pop()
        if isinstance(one.value, dict):
            waiting.extend(reversed(list(one.items())))
        elif isinstance(one.value, list):
            waiting.extend((key, member) for member in reversed(one.value))
        elif one.there:
            yield key, one


def texts(node: Node) -> str:
    """All that is written below a value, a line for each scalar."""
    return "\n".join(one.text for _, one in leaves(node) if one.text)


def secrets(node: Node) -> Iterator[Fact]:
    """Places of literal secrets below a value, also in pairs of `name` and `value`; the quotes have them taken out."""
    found = 0
    waiting = [node]
    while waiting and found < MOST_SECRETS:
        one = waiting.pop()
        for key, inner in one.items():
            label = one.get("name").text if key == "value" and one.get("name").text else key
            if isinstance(inner.value, str) and _is_secret(label, inner.value):
                found += 1
                yield Fact(inner.span, quoted(f'"{label}": "{inner.value.removeprefix("=")}"'))
        inside = [inner for _, inner in one.items()] if isinstance(one.value, dict) else list(one.each())
        waiting.extend(inner for inner in reversed(inside) if isinstance(inner.value, (dict, list)))


def _is_secret(label: str, value: str) -> bool:
    """A value that is filled in when it runs is none, whatever scheme stands before it."""
    literal = _SCHEME.sub("", FILLED.sub("", value[:_SECRET_BEGINS]).removeprefix("=").strip())
    return len(literal) >= 6 and holds_secret(f"{label}: {value.removeprefix('=')}"[:_SECRET_BEGINS])


def unknown_effect(told: str) -> Effect:
    """Of an action of which nobody knows what it does outside."""
    return Effect("", frozenset({Kind.UNKNOWN}), Repeat.UNKNOWN, Reversible.UNKNOWN, told, certain=False)


def reading(told: str) -> Effect:
    """Of an action whose name says that it only looks."""
    return Effect("", frozenset({Kind.READ}), Repeat.SAFE, Reversible.YES, told, certain=False)


def looks_up(name: str) -> bool:
    """Whether the name of a part says that one thing is looked up by another: `Get Price`, `Customer ID to Email`."""
    return only_looks(name) or _LOOKS_UP.search(name) is not None


def by_verb(verb: str, told: str, looks: Iterable[str]) -> Effect:
    """What the name of an operation says of itself where the base has no row: a look, or something outside."""
    return reading(told) if verb.lower().startswith(tuple(looks)) else unknown_effect(told)


def settled(effect: Effect, verb: str, given: Node) -> Effect:
    """The effect where only the name tells it: what one thing that is named is set to, it is set to a second time, and gone it stays."""
    names_one = verb == "upsert" or any(_ID.search(key) and _text_of(value) for key, value in given.items())
    if effect.action or effect.certain or effect.repeat is not Repeat.UNKNOWN or not names_one:
        return effect
    if effect.kinds == frozenset({Kind.DELETE}):
        return replace(effect, repeat=Repeat.SAFE)
    sets = verb.lower().startswith(("update", "upsert")) and effect.kinds == frozenset({Kind.UNKNOWN})
    return replace(effect, repeat=Repeat.MERGES) if sets else effect


def without_guests(effect: Effect, given: Node) -> Effect:
    """The effect of an entry in a calendar: where nobody is invited, nobody is told."""
    if effect.action != "calendar.event" or any(_GUESTS.search(key) and one.text for key, one in leaves(given)):
        return effect
    return replace(effect, kinds=effect.kinds - {Kind.NOTIFY}) if effect.kinds > {Kind.NOTIFY} else effect


def waited_for(steps: Iterable[Step]) -> dict[str, str]:
    """Whether somebody waits for the answer of every effect of a flow."""
    outward = [one for one in steps if one.effect is not None and one.effect.outward]
    return {"waited_for": "true"} if outward and all("waited_for" in one.extra for one in outward) else {}


def answered(steps: Iterable[Step], where: Callable[[str], Span | None]) -> Span | None:
    """Where the one who waits is answered when an effect fails, if that is so of every effect."""
    outward = [one for one in steps if one.effect is not None and one.effect.outward]
    return where(outward[0].id) if outward and all("failure_answered" in one.extra for one in outward) else None


def _text_of(value: Node) -> str:
    return value.text or value.get("value").text


def whole(node: Node, default: float, least: int, most: int) -> int:
    """A whole number within bounds, whatever the file says."""
    said = node.number
    return int(min(max(default if said is None or isnan(said) else said, least), most))


def bounded(names: Sequence[object], what: str, line: int) -> None:
    """Refuses a flow that is larger than any person draws."""
    if len(names) > MOST_DRAWN:
        raise Unreadable(f"line {line}: {what} has more than {MOST_DRAWN:,} nodes")
