"""Parts of the tree of a shell text: its functions, the halves of a condition, the members of a list."""

from __future__ import annotations

from tree_sitter import Node


def functions(root: Node) -> dict[str, Node]:
    """The functions that are defined anywhere below, by name."""
    found, waiting = dict[str, Node](), [root]
    while waiting:
        node = waiting.pop()
        name = node.child_by_field_name("name") if node.type == "function_definition" else None
        if name is not None and name.text is not None:
            found[name.text.decode("utf-8", "replace")] = node
        waiting.extend(node.named_children)
    return found


def halves(node: Node) -> tuple[list[Node], list[Node]]:
    """What stands before `then`, and what stands after it."""
    at = next((place for place, child in enumerate(node.children) if child.type == "then"), len(node.children))
    return [child for child in node.children[:at] if child.is_named], [child for child in node.children[at:] if child.is_named]


def last_statement(body: list[Node]) -> Node | None:
    """The last statement of one way of an `if` or a `case`."""
    parts = ("else_clause", "elif_clause", "case_item")
    found = [child for part in body[-1:] for child in (part.named_children if part.type in parts else [part])]
    return found[-1] if found else None


def list_members(node: Node) -> list[tuple[str, Node]]:
    """The members of a list from left to right, each with the sign before it."""
    found: list[tuple[str, Node]] = []
    while node.type == "list" and len(node.children) >= 3:
        left, sign, right = node.children[0], node.children[1], node.children[-1]
        found.append((sign.type, right))
        node = left
    return [("", node), *reversed(found)]
