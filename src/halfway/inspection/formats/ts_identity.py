"""Which key a call carries, where its answer is kept, and who is told: what follows from the flow of data inside one file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from halfway.inspection.formats.typescript import HOPS, Program, arguments, callee, member, names_in, text, walk
from halfway.inspection.formats.wording import is_minted
from halfway.inspection.model import Bearing, Identity, Receiver, Span
from halfway.inspection.quoting import quoted

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

KEY = re.compile(
    r"(?i)^['\"]?(?:(?:x-)?idempotency[-_]?key|x-nc-api-idempotency-key|paypal-request-id|cko-idempotency-key|requestid|request_id|"
    r"client_?(?:request_?)?token|message_?deduplication_?id|dedup_?key|idempotency_token)['\"]?$"
)
_STABLE = re.compile(r"\bevent\b|\binstanceId\b|\bpayload\b|\bparams\b")
_STATUS = frozenset({"ok", "status", "statusText", "headers", "redirected", "type"})
_TO = re.compile(
    r"(?i)(?:\b(?:to|recipients?|phone|channel|email|toaddresses|chat_id)['\"]?\s*:|setRecipient\(|setTo\()\s*\[?\s*([^,)}\]\n]+)"
)
_ADDRESS = re.compile(r"(?i)\b(?!(?:this\.)?env\b)[\w.]+\.(?:e?mail|phone|phone_?number)\b")
_HOOK = re.compile(r"(?i)^(?:this\.)?env\.\w*hook\w*$")
Bindings = Mapping[str, "Syntax"]
"""What the parameters of a function that is followed were given."""


def identity(program: Program, call: Syntax, body: Syntax, bindings: Bindings, names: re.Pattern[str] = KEY) -> Identity:
    """The key of a call, NONE if it has none."""
    value = _key(call, body, names)
    if value is None:
        return Identity(Bearing.NONE, "", program.span(call))
    return Identity(_bearing(program, value, bindings), quoted(text(value)), program.span(value))


def _key(call: Syntax, body: Syntax, names: re.Pattern[str]) -> Syntax | None:
    for node in walk(call):
        if node.type == "pair" and names.match(text(node.child_by_field_name("key"))):
            return node.child_by_field_name("value")
        if node.type == "shorthand_property_identifier" and names.match(text(node)):
            return node
    for node in walk(body):
        given = arguments(node) if node.type == "call_expression" else []
        if len(given) == 2 and member(callee(node))[1] in ("set", "append") and names.match(text(given[0])):
            return given[1]
    return None


def _bearing(program: Program, value: Syntax, bindings: Bindings) -> Bearing:
    """What the parts of a key come from; what a step gave back is kept, however it was made."""
    found = set[Bearing]()
    for part in _traced(program, value, bindings, through=lambda node: not _of_step(node)):
        if _of_step(part):
            found.add(Bearing.STABLE)
        elif is_minted(text(part)):
            found.add(Bearing.MINTED)
        elif _STABLE.search(text(part)):
            found.add(Bearing.STABLE)
    if Bearing.MINTED in found:
        return Bearing.MINTED
    return Bearing.STABLE if found else Bearing.UNKNOWN


def _traced(program: Program, value: Syntax, bindings: Bindings, through: Callable[[Syntax], bool]) -> Iterator[Syntax]:
    """An expression, and the values of the names in it, over a few hops."""
    seen = {value.id}
    left = [(value, HOPS)]
    while left:
        node, hops = left.pop(0)
        yield node
        if not hops or not through(node):
            continue
        for one in walk(node):
            if one.type in ("identifier", "shorthand_property_identifier"):
                made = program.declaration(text(one), one) or bindings.get(text(one))
                if made is not None and made.id not in seen:
                    seen.add(made.id)
                    left.append((made, hops - 1))


def _of_step(value: Syntax) -> bool:
    return value.type == "call_expression" and member(callee(value))[1] in ("do", "waitForEvent", "waitForApproval")


# ── what is kept ──


def kept(program: Program, call: Syntax, body: Syntax) -> tuple[tuple[Span, ...], bool]:
    """Where the answer of a call is returned, logged or stored, and whether it is returned."""
    statement, names = _statement(call, body)
    if statement is body or statement.type == "return_statement":
        return (program.span(statement if statement is not body else call),), True
    names |= _declared(statement)
    for _ in range(HOPS):
        for node in walk(body):
            if node.type == "variable_declarator" and _mentions(node.child_by_field_name("value"), names):
                names |= set(names_in(node.child_by_field_name("name")))
    found: list[Span] = []
    returned = False
    for node in walk(body):
        if node.type == "return_statement" and _mentions(node, names):
            found.append(program.span(node))
            returned = True
        elif node.type == "call_expression" and _keeps(node) and any(_mentions(one, names) for one in arguments(node)):
            found.append(program.span(node))
    return tuple(found), returned


def _statement(call: Syntax, body: Syntax) -> tuple[Syntax, set[str]]:
    """The statement that a call is part of, and names that it is assigned to."""
    names = set[str]()
    current = call
    while current.parent is not None and current.id != body.id and not current.type.endswith(("_statement", "_declaration")):
        if current.type == "assignment_expression":
            names.add(text(current.child_by_field_name("left")))
        current = current.parent
    return (body if current.id == body.id else current), names


def _declared(statement: Syntax) -> set[str]:
    found = set[str]()
    for one in statement.named_children:
        if one.type == "variable_declarator":
            found |= set(names_in(one.child_by_field_name("name")))
    return found


def _mentions(node: Syntax | None, names: set[str]) -> bool:
    """Whether a name is used, and not only to ask whether all went well."""
    if node is None or not names:
        return False
    for one in walk(node):
        if one.type not in ("identifier", "shorthand_property_identifier") or text(one) not in names:
            continue
        around = one.parent
        if around is not None and member(around)[1] in _STATUS and around.child_by_field_name("object") == one:
            continue
        return True
    return False


def _keeps(call: Syntax) -> bool:
    name = text(callee(call))
    return bool(re.match(r"(?:console|logger|log)\.\w+$", name) or re.search(r"\.(?:put|bind|insert|set|setState|save|upsert)$", name))


# ── who is told ──


def receiver(program: Program, call: Syntax, bindings: Bindings) -> Receiver:
    """Who gets a message: a customer where the address comes from data, the team where it is written down."""
    parts = [text(part) for part in _traced(program, call, bindings, through=lambda node: not _of_step(node))]
    said = " ".join(parts)
    address = _TO.search(said)
    if address is not None:
        value = address[1].strip()
        if value[:1] in "'\"" or re.match(r"(?:this\.)?env\.", value):
            return Receiver.TEAM
        return Receiver.CUSTOMER if re.match(r"[\w.$?`{!]+$", value) and "." in value else Receiver.UNKNOWN
    if _ADDRESS.search(said):
        return Receiver.CUSTOMER
    return Receiver.TEAM if any(_HOOK.match(part) for part in parts) else Receiver.UNKNOWN  # one setting for all runs
