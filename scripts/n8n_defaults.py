"""Writes the table of what a node of n8n does when its export does not say it, from nodes.json of the package n8n-nodes-base."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HEAD = """# What a node of n8n does when its export does not say it: an export leaves out what equals the default.
# Written by scripts/n8n_defaults.py from dist/types/nodes.json of n8n-nodes-base {version}; not edited by hand.
n8n_nodes_base = "{version}"

[n8n]
"""


def main() -> None:
    """Takes nodes.json, the version of the package and the file to write."""
    nodes: list[dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    found: dict[str, str] = {}
    for node in sorted(nodes, key=lambda one: (str(one["name"]), newest(one))):
        line = defaults(node)
        if line:
            found[str(node["name"]).rsplit(".", 1)[-1]] = line
    lines = "".join(f"{json.dumps(name)} = {{ {found[name]} }}\n" for name in sorted(found))
    Path(sys.argv[3]).write_text(HEAD.format(version=sys.argv[2]) + lines, "utf-8")


def newest(node: dict[str, Any]) -> float:
    version = node.get("version", 1)
    return max(version) if isinstance(version, list) else float(version)


def defaults(node: dict[str, Any]) -> str:
    """The default resource, and the default operation of each resource, as a line of TOML."""
    resource, plain, by_resource = "", "", dict[str, str]()
    for one in node.get("properties", []):
        value = one.get("default")
        if one.get("name") == "resource" and isinstance(value, str):
            resource = value
        elif one.get("name") == "operation" and isinstance(value, str) and value:
            shown = one.get("displayOptions", {}).get("show", {}).get("resource", [])
            by_resource |= {str(of): value for of in shown if isinstance(of, str)}
            plain = plain if shown else value
    parts = [f'resource = "{resource}"'] if resource else []
    parts += [f'operation = "{plain}"'] if plain else []
    told = ", ".join(f"{json.dumps(of)} = {json.dumps(value)}" for of, value in sorted(by_resource.items()))
    return ", ".join([*parts, *([f"operations = {{ {told} }}"] if told else [])])


if __name__ == "__main__":
    main()
