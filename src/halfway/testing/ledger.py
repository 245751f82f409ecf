"""The ledger of the world: what really happened outside, kept by no engine and surviving every kill."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path


class Ledger:
    """An append-only file. A line is written with one write, so that a kill leaves whole lines only."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def write(self, event: str, **facts: object) -> None:
        line = json.dumps({"event": event, **facts}) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)

    def lines(self) -> list[dict[str, object]]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines() if line]

    def count(self, **facts: object) -> int:
        """How many lines have these facts."""
        return sum(1 for line in self.lines() if all(line.get(name) == value for name, value in facts.items()))

    def tally(self, fact: str = "event") -> Counter[object]:
        """How many lines there are for each value of a fact."""
        return Counter(line.get(fact) for line in self.lines())
