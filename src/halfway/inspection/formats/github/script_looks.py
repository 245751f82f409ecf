"""How the calls of a script for GitHub's own interface are reached: on which branches, and whether a thing is looked for first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from halfway.inspection.formats.sequence import Branch
from halfway.inspection.formats.typescript import HOPS, Program, callee, is_function, parsed, text, walk
from halfway.inspection.source import Source, Unreadable, replaced

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_LOOKS = {
    "issues.create": ("issues.listForRepo", "search.issuesAndPullRequests"),
    "issues.createComment": ("issues.listComments",),
    "pulls.create": ("pulls.list", "search.issuesAndPullRequests"),
    "pulls.createReview": ("pulls.listReviews",),
    "repos.createRelease": ("repos.getReleaseByTag", "repos.listReleases"),
    "git.createRef": ("git.getRef", "git.listMatchingRefs", "repos.getBranch", "repos.listTags"),
}
"""What asks for the very kind of thing that a call makes."""
_LEAVING = frozenset({"return_statement", "throw_statement", "continue_statement"})
MOST_ASKED = 20  # conditions in front of a call that are looked at
_LOOPS = frozenset({"for_in_statement", "for_statement", "while_statement", "do_statement"})


@dataclass(frozen=True)
class Look:
    """The line of a script that asks, and whether what was just made may not be found yet."""

    line: int
    lags: bool


def look_before(script: str, line: int, made: str) -> Look | None:
    """The look that decides whether a call is made; it stands in a line of the script, both counted from one."""
    act = made.removeprefix("github.rest.")
    if act not in _LOOKS:
        return None
    read = _read(script)
    call = read.call(line, act) if read is not None else None
    if read is None or call is None:
        return None
    asked = re.compile(r"\b(?:" + "|".join(re.escape(name) for name in _LOOKS[act]) + r")\b")
    for part in read.deciding(call):
        for source in _sources(read.program, part):
            if found := asked.search(text(source)):
                return Look(source.start_point.row + 1 + text(source).count("\n", 0, found.start()), found[0].startswith("search."))
    return None


def branch_of(script: str, line: int, made: str, name: str) -> Branch:
    """Where in the branches of a script, which has a name, a call stands."""
    read = _read(script)
    node = read.call(line, made.removeprefix("github.rest.")) if read is not None else None
    ways: list[tuple[int, int]] = []
    leaves = -1  # the innermost of them that leaves the script, counted from the call
    while node is not None and node.parent is not None:
        parent = node.parent
        if parent.type in _LOOPS or is_function(parent):
            ways, leaves = [], -1  # another turn, or another call, may take the other way
        elif parent.type == "if_statement" and node.type in ("statement_block", "else_clause"):
            ways.append((parent.start_byte, int(node.type == "else_clause")))
            if leaves < 0 and node.named_children and node.named_children[-1].type in ("return_statement", "throw_statement"):
                leaves = len(ways) - 1
        node = parent
    return Branch(name, tuple(reversed(ways)), len(ways) - leaves if leaves >= 0 else 0)


@lru_cache(maxsize=4)
def _read(script: str) -> _Script | None:
    """A script, read once for all of its calls."""
    try:
        program = parsed(Source("script.js", replaced(script, lambda gap: "0" + "\n" * gap.count("\n"))))
    except Unreadable:
        return None
    calls: dict[int, list[Syntax]] = {}
    leaving: dict[int, list[Syntax]] = {}
    for node in walk(program.root):
        if node.type == "call_expression":
            calls.setdefault(node.start_point.row + 1, []).append(node)
        elif node.type in ("statement_block", "program"):
            leaving[node.id] = [condition for one in node.named_children if (condition := _leaves(one)) is not None]
    return _Script(program, calls, leaving)


def _leaves(statement: Syntax) -> Syntax | None:
    """The condition under which a statement leaves what it stands in; of a loop that looks through something, the loop."""
    body = statement.child_by_field_name("consequence" if statement.type == "if_statement" else "body")
    if body is None or statement.type not in ("if_statement", *_LOOPS):
        return None
    inner = [body, *(body.named_children[:MOST_ASKED])]
    inner += [part for one in inner[1:] if one.type == "if_statement" for part in _parts(one.child_by_field_name("consequence"))]
    if not any(part.type in _LEAVING for part in inner):
        return None
    return statement.child_by_field_name("condition") if statement.type == "if_statement" else statement


def _parts(body: Syntax | None) -> list[Syntax]:
    return [body, *body.named_children[:MOST_ASKED]] if body is not None else []


@dataclass(frozen=True)
class _Script:
    program: Program
    calls: Mapping[int, Sequence[Syntax]]  # by line
    leaving: Mapping[int, Sequence[Syntax]]  # by block, what decides in it whether the rest is done

    def call(self, line: int, act: str) -> Syntax | None:
        """The call of that name which begins in a line."""
        return next((node for node in self.calls.get(line, ()) if re.sub(r"\s", "", text(callee(node))).endswith(act)), None)

    def deciding(self, call: Syntax) -> Iterator[Syntax]:
        """What decides whether a call is made: the conditions around it, and the last ones before it that leave."""
        node = call
        while node.parent is not None:
            parent = node.parent
            if parent.type == "if_statement":
                condition = parent.child_by_field_name("condition")
                if condition is not None and condition.id != node.id:
                    yield condition
            elif parent.type == "try_statement" and node.type == "catch_clause":
                yield parent.named_children[0]  # it is made where the look has found nothing
            elif parent.id in self.leaving:
                yield from [one for one in self.leaving[parent.id] if one.end_byte <= node.start_byte][-MOST_ASKED:]
            node = parent


def _sources(program: Program, part: Syntax) -> Iterator[Syntax]:
    """An expression, and what the names in it were given, over a few hops."""
    left, seen = [(part, HOPS)], {part.id}
    while left:
        node, hops = left.pop(0)
        yield node
        for name in walk(node) if hops else ():
            value = program.declaration(text(name), part) if name.type == "identifier" else None
            if value is not None and value.id not in seen:
                seen.add(value.id)
                left.append((value, hops - 1))
