"""Writes the table of AWS operations that take an idempotency token, from the models of an installed botocore."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

HEAD = """# Operations of AWS whose input has a member with the trait `idempotencyToken`, by service.
# Written by scripts/aws_tokens.py from the models of botocore {version}; not edited by hand.
botocore = "{version}"

[operations]
"""


def main() -> None:
    """Takes the folder of botocore and the file to write."""
    botocore, target = Path(sys.argv[1]), Path(sys.argv[2])
    version = next(botocore.parent.glob("botocore-*.dist-info")).name.removeprefix("botocore-").removesuffix(".dist-info")
    lines: list[str] = []
    for service in sorted(one for one in (botocore / "data").iterdir() if one.is_dir()):
        models = sorted(service.glob("*/service-2.json*"))
        found = sorted(with_token(json.loads(opened(models[-1])))) if models else []
        if found:
            lines.append(f"{json.dumps(service.name)} = {json.dumps(found)}\n")
    target.write_text(HEAD.format(version=version) + "".join(lines), "utf-8")


def opened(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def with_token(model: dict[str, Any]) -> list[str]:
    """The operations of a service, a member of whose input is marked."""
    shapes = model["shapes"]
    inputs = ((name, operation.get("input", {}).get("shape")) for name, operation in model["operations"].items())
    return [
        name for name, shape in inputs if shape and any(one.get("idempotencyToken") for one in shapes[shape].get("members", {}).values())
    ]


if __name__ == "__main__":
    main()
