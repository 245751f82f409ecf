"""Whether a script for GitHub's own interface looks for a thing before it makes it: what the conditions around the call were read from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfway.inspection.formats.typescript import HOPS, Program, callee, parsed, text, walk
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
_LOOPS = frozenset({"for_in_statement", "for_statement"})


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
    try:
        program = parsed(Source("script.js", replaced(script, lambda gap: "0" + "\n" * gap.count("\n"))))
    except Unreadable:
        return None
    calls = (node for node in walk(program.root) if node.type == "call_expression" and node.start_point.row + 1 == line)
    call = next((node for node in calls if re.sub(r"\s", "", text(callee(node))).endswith(act)), None)
    if call is None:
        return None
    asked = re.compile(r"\b(?:" + "|".join(re.escape(name) for name in _LOOKS[act]) + r")\b")
    for part in _deciding(call):
        for source in _sources(program, part):
            if found := asked.search(text(source)):
                return Look(source.start_point.row + 1 + text(source).count("\n", 0, found.start()), found[0].startswith("search."))
    return None


def _deciding(call: Syntax) -> Iterator[Syntax]:
    """What decides whether a call is made: the conditions around it, and those before it that leave."""
    node = call
    while node.parent is not None:
        parent = node.parent
        if parent.type == "if_statement":
            condition = parent.child_by_field_name("condition")
            if condition is not None and condition.id != node.id:
                yield condition
        elif parent.type == "try_statement" and node.type == "catch_clause":
            yield parent.named_children[0]  # it is made where the look has found nothing
        elif parent.type in ("statement_block", "program"):
            yield from _leaving_before(parent, node)
        node = parent


def _leaving_before(block: Syntax, node: Syntax) -> Iterator[Syntax]:
    for before in block.named_children:
        if before.end_byte > node.start_byte:
            return
        if before.type in ("if_statement", *_LOOPS) and any(part.type in _LEAVING for part in walk(before)):
            condition = before.child_by_field_name("condition") if before.type == "if_statement" else before
            if condition is not None:
                yield condition


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
