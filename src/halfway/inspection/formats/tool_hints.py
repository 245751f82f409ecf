"""The hints of an MCP server about its tools. They are hints: what is not said counts as the worst, and nothing as proof."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.formats.wording import told_kinds
from halfway.inspection.model import Effect, Kind, Repeat, Reversible
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

# The defaults of the protocol (@modelcontextprotocol/sdk, spec.types).
_DEFAULTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


def is_dump(root: Node) -> bool:
    """Whether it is a list of tools as a server gives it."""
    return any(True for _ in hints_of(root))


def hints_of(root: Node) -> Iterator[Node]:
    """The tools of a list."""
    tools = root.get("tools") if root.get("tools") else root.get("result", "tools")
    for tool in tools.each() if isinstance(tools.value, list) else ():
        if tool.get("name").text and (tool.get("inputSchema").there or tool.get("annotations").there):
            yield tool


def effect_of_tool(tool: Node) -> Effect:
    """The effect of a tool as its hints tell it."""
    name = tool.get("name").text
    told = quoted(f"MCP {name}", 80)
    if _hint(tool, "readOnlyHint"):
        return Effect("", frozenset({Kind.READ}), Repeat.SAFE, Reversible.YES, told, certain=False)
    kinds = frozenset({Kind.AGENT}) | told_kinds(name)
    if tool.get("annotations", "destructiveHint").value is True:
        kinds |= {Kind.DELETE}
    repeat = Repeat.SAFE if _hint(tool, "idempotentHint") else Repeat.UNKNOWN
    return Effect("", kinds, repeat, Reversible.UNKNOWN, told, certain=False)


def _hint(tool: Node, name: str) -> bool:
    said = tool.get("annotations", name).value
    return said if isinstance(said, bool) else _DEFAULTS[name]
