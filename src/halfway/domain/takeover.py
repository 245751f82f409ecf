"""What a later version says about runs of an earlier one, as data of its definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class TakeoverSpec:
    """How runs of an earlier version are moved to this one: which of its steps stands for which of this one's (R-A2)."""

    version: int
    input_schema: str  # that the function takes
    at: tuple[tuple[str, str], ...] = ()  # (step of the earlier version, step of this one; empty: it is left behind)
    outputs: tuple[str, ...] = ()  # steps of this version whose outputs a function makes from the former ones


def takeover_of(data: dict[str, Any]) -> TakeoverSpec:
    """From its plain values."""
    at = tuple((former, step) for former, step in data["at"])
    return TakeoverSpec(version=data["version"], input_schema=data["input_schema"], at=at, outputs=tuple(data["outputs"]))
