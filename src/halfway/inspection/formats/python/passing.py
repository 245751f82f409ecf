"""Where the program goes on after a failure that a handler has passed over: what is done then, and whether it ends as if nothing were."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

State = Mapping[int, frozenset[str]]
"""What has failed on some way that leads here, each with the names that tell of it."""

NOTHING: State = {}


def joined(*states: State) -> State:
    """What is so on one of several ways."""
    found: dict[int, frozenset[str]] = {}
    for one, names in (each for state in states for each in state.items()):
        found[one] = found.get(one, frozenset()) | names
    return found


@dataclass(eq=False)
class Passing:
    """The failures that were passed over, kept along with a walk."""

    now: State = field(default_factory=dict[int, frozenset[str]])
    returned: State = field(default_factory=dict[int, frozenset[str]])
    left: State = field(default_factory=dict[int, frozenset[str]])  # by a `break` of the loop that is walked
    turned: State = field(default_factory=dict[int, frozenset[str]])  # by a `continue` of it
    reached: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    caught: set[int] = field(default_factory=set[int])  # whose handler is known; no other one hears of it
    endless: set[int] = field(default_factory=set[int])  # those that leave a loop running that goes on until it is stopped

    def comes_to(self, index: int) -> None:
        """Something more is done."""
        for one in self.now:
            self.reached.setdefault(one, set()).add(index)

    def is_missed(self, one: int) -> bool:
        """Whether the whole goes on, or ends, as if it had not failed, and nothing has asked."""
        return one in self.now or one in self.endless

    def asked(self, *tests: ast.AST) -> None:
        """A test tells the ways apart: who asks for what tells of a failure does not pass it over."""
        if not self.now:
            return
        said = {ast.unparse(one) for test in tests for one in ast.walk(test) if isinstance(one, (ast.Name, ast.Attribute))}
        self.now = {one: names for one, names in self.now.items() if names.isdisjoint(said)}

    def simple(self, node: ast.stmt) -> None:
        """A statement without statements of its own: what it asks by the way, and whether it leads elsewhere."""
        if self.now:
            self.asked(*_conditions(node))
        match node:
            case ast.Return():
                self.returned, self.now = joined(self.returned, self.now), {}
            case ast.Break():
                self.left, self.now = joined(self.left, self.now), {}
            case ast.Continue():
                self.turned, self.now = joined(self.turned, self.now), {}
            case ast.Raise():
                self.now = {}
            case _:
                return


def _conditions(node: ast.stmt) -> Iterator[ast.AST]:
    """`a if ok else b`, `ok and a`, `assert ok`, `[a for a in many if ok]`."""
    for one in ast.walk(node):
        match one:
            case ast.IfExp(test=test) | ast.Assert(test=test):
                yield test
            case ast.BoolOp():
                yield one
            case ast.comprehension(ifs=ifs):
                yield from ifs
            case _:
                continue


def telling(tried: Sequence[ast.stmt], handler: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that are something else after a failure: what was not given a value any more, and what the handler writes down."""
    return frozenset((*_given_value(tried), *_given_value(handler), *_added_to(handler)))


def _given_value(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in (one for part in body for one in ast.walk(part)):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield ast.unparse(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield ast.unparse(node.value)


def _added_to(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in (one for part in body for one in ast.walk(part)):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="append" | "add" | "extend" | "update")):
                yield ast.unparse(value)
            case _:
                continue
