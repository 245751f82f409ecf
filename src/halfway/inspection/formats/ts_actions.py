"""The actions of a body of TypeScript, in their order: requests, calls of SDKs and bindings, followed through functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from halfway.inspection.formats import Given
from halfway.inspection.formats.ts_identity import KEY, Bindings, identity, kept, receiver
from halfway.inspection.formats.typescript import (
    HOPS,
    Program,
    arguments,
    bare,
    callee,
    dotted,
    entry,
    imported,
    is_function,
    literal,
    member,
    parameters,
    swallows,
    text,
    walk,
)
from halfway.inspection.formats.wording import named, opaque_effect
from halfway.inspection.model import Bearing, Effect, Identity, Kind, Receiver, Repeat, Reversible, Span, Unread
from halfway.inspection.quoting import quoted

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_BINDING = re.compile(r"^(?:this\.)?env\.(\w+)\.(?:.*\.)?(\w+)$")
_MAIL = re.compile(r"(?i)mail")
_READING = frozenset(
    [
        "get",
        "list",
        "head",
        "match",
        "query",
        "first",
        "all",
        "raw",
        "describe",
        "status",
        "batch",
        "fetchAll",
        "getWithMetadata",
        "idFromName",
        "idFromString",
        "newUniqueId",
    ]
)
_FOLLOWED = re.compile(r"\b(?:map|forEach|reduce|flatMap)$")
_SQL = re.compile(r"(?is)^\s*(select|with|insert|update|delete|replace|create|alter|drop)\b")
_ID = re.compile(r"^['\"]?id['\"]?$")
_LOOPS = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})


_PAUSES = re.compile(r"(?i)(?:sleep|delay|wait|pause)(?:ms|for)?")

MOST_CALLS = 2000


@dataclass(frozen=True)
class Action:
    """One call that does something, or may."""

    span: Span
    effect: Effect
    identity: Identity | None = None
    kept: tuple[Span, ...] = ()
    returned: bool = False
    opaque: Unread | None = None
    in_loop: bool = False
    caught: bool = False  # its failure ends within the body, so that nothing around it is tried again
    at: int = 0  # the line of its call in the body
    leaves: int = 0  # the last line of the branch that it is in, where the body is left at the end of that; 0: of none


@dataclass(frozen=True)
class Reading:
    """Where calls are looked for, and how deep one is already."""

    program: Program
    given: Given
    of_class: str
    name: str = ""  # of the step, which may tell what an unknown receiver is for
    bindings: Bindings = field(default_factory=dict[str, "Syntax"])
    hops: int = HOPS
    left: list[int] = field(default_factory=lambda: [MOST_CALLS])  # calls that may still be followed
    others: dict[str, Program | None] = field(default_factory=dict[str, "Program | None"])  # by module, what was imported

    def inside(self, body: Syntax | None) -> Iterator[Action]:
        """The actions of a body."""
        for node in walk(body) if body is not None else ():
            if node.type == "call_expression" and body is not None:
                yield from self.of_call(node, body)

    def of_call(self, call: Syntax, body: Syntax) -> Iterator[Action]:
        """The actions of one call, of the functions that it calls too."""
        effect = self._effect(call)
        if effect is None:
            yield from self._followed(call, body)
            return
        spans, returned = kept(self.program, call, body)
        if Kind.NOTIFY in effect.kinds:
            effect = replace(effect, receiver=receiver(self.program, call, self.bindings))
        creates = Kind.ENQUEUE in effect.kinds and member(callee(call))[1] == "create"
        key = identity(self.program, call, body, self.bindings, _ID if creates else KEY) if effect.outward else None
        looped, caught = _in_loop(call, body), _is_caught(call, body)
        leaves = _leaves(self.program, call, body)
        span = self.program.span(call)
        yield Action(span, effect, key, spans, returned, in_loop=looped, caught=caught, at=span.line, leaves=leaves)

    def _effect(self, call: Syntax) -> Effect | None:
        program, given = self.program, arguments(call)
        name = dotted(program, callee(call))
        last = member(callee(call))[1] or name
        if name in ("fetch", "globalThis.fetch") or (last == "fetch" and "env." in name):
            return self._request(call)
        literals = {str(place): value for place, one in enumerate(given) if "${" not in (value := literal(program, one))}
        for candidate in _names(name, given, program):
            found = self.given.knowledge.call(candidate, literals)
            if found is not None:
                return found
        if last == "prepare" and given and _SQL.match(literal(program, given[0])):
            return self._statement(literal(program, given[0]))
        binding = _BINDING.match(name)
        return self._binding(binding[1], binding[2], call) if binding else None

    def _request(self, call: Syntax) -> Effect | None:
        given = arguments(call)
        first = bare(given[0]) if given else None
        if first is not None and first.type == "new_expression":  # new Request(url, …)
            given = [*arguments(first), *given[1:]]
        options = self._object(given[1]) if len(given) > 1 else None
        method = literal(self.program, entry(options, "method")) if options is not None else "GET" if len(given) < 2 else "?"
        url = literal(self.program, given[0]) if given else ""
        if method == "?" or "${" in method:
            return opaque_effect(quoted(f"fetch {url}"), self.name, url)
        return named(self.given.knowledge.http((method or "GET").upper(), url), self.name, url)

    def _object(self, node: Syntax | None) -> Syntax | None:
        node = bare(node)
        if node is not None and node.type == "identifier":
            node = self.program.declaration(text(node), node) or self.bindings.get(text(node))
        return node if node is not None and node.type == "object" else None

    def _statement(self, sql: str) -> Effect | None:
        found = self.given.knowledge.call("sqlite3.execute", {"0": sql})
        verb = sql.split(None, 1)[0].upper()
        if found is not None or verb in ("SELECT", "WITH"):
            return found if found is not None else _effect(Kind.READ, Repeat.SAFE, "SELECT")
        return _effect(Kind.RECORD, Repeat.UNKNOWN, verb, certain=False)

    def _binding(self, binding: str, verb: str, call: Syntax) -> Effect | None:
        """What is bound to a Worker, by the verb; nobody says here what a binding is, so most is inferred."""
        told = f"{binding}.{verb}"
        if verb in ("send", "sendBatch"):
            kind = Kind.NOTIFY if _MAIL.search(binding) else Kind.ENQUEUE
            return _effect(kind, Repeat.DUPLICATES, told, Reversible.NO, certain=False)
        if verb in ("create", "createBatch"):
            has_id = any(_ID.match(text(one.child_by_field_name("key"))) for one in walk(call) if one.type == "pair")
            return _effect(Kind.ENQUEUE, Repeat.REJECTS if has_id else Repeat.DUPLICATES, told, Reversible.WINDOW, certain=False)
        if verb in ("put", "delete"):
            return _effect(Kind.FILE if verb == "put" else Kind.DELETE, Repeat.SAFE, told, Reversible.WINDOW, certain=False)
        return None

    # ── calls of functions ──

    def _followed(self, call: Syntax, body: Syntax) -> Iterator[Action]:
        target = self._target(call)
        if target is None:
            unread = self._unread(call)
            if unread is not None:
                spans, returned = kept(self.program, call, body)
                effect = self._told(opaque_effect(unread.what, self.name, unread.what), call)
                key = identity(self.program, call, call, self.bindings)
                own = key if key.bearing is not Bearing.NONE else None
                looped, caught, leaves = _in_loop(call, body), _is_caught(call, body), _leaves(self.program, call, body)
                at = self.program.span(call).line
                yield Action(unread.span, effect, own, spans, returned, unread, looped, caught, at, leaves)
            return
        self.left[0] -= 1
        reading, function = target
        given = dict(zip((text(one) for one in parameters(function)), arguments(call), strict=False))
        spans, returned = kept(self.program, call, body)
        inner = replace(reading, bindings={**self.bindings, **given}, hops=self.hops - 1)
        for action in inner.inside(function.child_by_field_name("body")):
            # What a function gives back is kept if its caller keeps it.
            keeps = (action.kept if not action.returned else ()) + (spans if action.returned else ())
            looped, caught = action.in_loop or _in_loop(call, body), action.caught or _is_caught(call, body)
            leaves = _leaves(self.program, call, body)
            at, back = self.program.span(call).line, action.returned and returned
            yield replace(action, kept=keeps, returned=back, in_loop=looped, caught=caught, at=at, leaves=leaves)

    def _told(self, effect: Effect, call: Syntax) -> Effect:
        """The effect of a function that was not given; one called after a message that is handed the hook of the own people tells them."""
        if Kind.NOTIFY not in effect.kinds:
            return effect
        to = receiver(self.program, call, self.bindings)
        return replace(effect, receiver=to, kinds=effect.kinds - {Kind.UNKNOWN} if to is Receiver.TEAM else effect.kinds)

    def _target(self, call: Syntax) -> tuple[Reading, Syntax] | None:
        if not self.hops or self.left[0] <= 0:
            return None
        owner, name = member(callee(call))
        if owner is not None and owner.type == "this":
            method = self.program.methods.get((self.of_class, name))
            return (self, method) if method is not None else None
        name = text(callee(call))
        if name in self.program.functions:
            return self, self.program.functions[name]
        module, inner = self.program.imports.get(name, ("", ""))
        at = f"{self.program.source.path} {module}"
        if at not in self.others:
            self.others[at] = imported(self.program, module, self.given)
        other = self.others[at]
        function = other.functions.get(inner) if other is not None else None
        return (replace(self, program=other), function) if other is not None and function is not None else None

    def _unread(self, call: Syntax) -> Unread | None:
        """What is waited for and cannot be read: a function of a file that was not given, a service that is bound."""
        name = dotted(self.program, callee(call))
        binding = _BINDING.match(name)
        module = name.startswith(".")
        if not (module or (binding and binding[2] not in _READING and binding[1] not in ("AI",) and "()" not in name)):
            return None
        if not self.hops and module:
            return None
        if _only_waits(call, name):
            return None
        # Asked for last: it takes as long as the way up.
        if call.parent is None or call.parent.type not in ("await_expression", "return_statement"):
            return None
        return Unread(quoted(text(callee(call))), "what {what} does was not given", self.program.span(call))


def _names(name: str, given: Sequence[Syntax], program: Program) -> Iterator[str]:
    """How the knowledge base may call it: with the class of an SDK, without it, and a command of AWS by itself."""
    first = bare(given[0]) if given else None
    if name.endswith(".send") and first is not None and first.type == "new_expression":
        yield dotted(program, first)
    if not name or name.startswith(("this.", "env.")):
        return
    yield name
    parts = name.split(".")
    if len(parts) > 2 and parts[1][:1].isupper():
        yield ".".join((parts[0], *parts[2:]))


def _effect(kind: Kind, repeat: Repeat, told: str, reversible: Reversible = Reversible.UNKNOWN, *, certain: bool = True) -> Effect:
    return Effect("", frozenset({kind}), repeat, reversible, told, certain)


def _only_waits(call: Syntax, name: str) -> bool:
    """Whether a function is called after waiting, is given nothing but a time, and has no answer that is used."""
    around = call.parent.parent if call.parent is not None else None
    dropped = around is not None and around.type == "expression_statement"
    return dropped and len(arguments(call)) < 2 and _PAUSES.fullmatch(name.rpartition(".")[2]) is not None


def _leaves(program: Program, call: Syntax, body: Syntax) -> int:
    """The last line of the branch that a call is in, where that ends with a return: nothing below it in the body is done after the call."""
    node, left = call, 0
    while node.parent is not None and node.id != body.id:
        if is_function(node) or (node.type == "try_statement" and node.child_by_field_name("finalizer") is not None):
            return 0  # a return leaves no more than the function that it is in, and what stands in a `finally` is done all the same
        branch = node.parent.type == "if_statement" and node.type == "statement_block" and node.named_children
        if branch and not left and node.named_children[-1].type == "return_statement":
            left = program.span(node).end
        node = node.parent
    return left


def _is_caught(call: Syntax, body: Syntax) -> bool:
    """Whether a `try` between a call and the body that it stands in keeps its failure to itself."""
    current = call
    while current.parent is not None and current.id != body.id:
        around = current.parent
        tried = around.type == "try_statement" and around.child_by_field_name("body") == current
        if tried and swallows(around.child_by_field_name("handler")):
            return True
        current = around
    return False


def _in_loop(call: Syntax, body: Syntax) -> bool:
    current = call.parent
    while current is not None and current.id != body.id:
        if current.type in _LOOPS or (current.type == "call_expression" and _FOLLOWED.search(text(callee(current)))):
            return True
        current = current.parent
    return False
