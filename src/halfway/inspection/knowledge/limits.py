"""How long a tool goes on at most by itself, where nothing in the file says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from halfway.inspection.knowledge.rows import table


@dataclass(frozen=True)
class Limit:
    """After how many seconds it ends by itself, and the options that say otherwise; of each request, or of all that it does."""

    seconds: float
    options: tuple[str, ...] = ()
    request: bool = False


def of_command(words: Sequence[str]) -> Limit | None:
    """Of a command by its first words, the program without its folder."""
    return next((limit for first, limit in _limits("commands").items() if (*words[: len(first)],) == first), None)


def of_use(action: str) -> Limit | None:
    """Of an action of GitHub Actions, as it is in that version or in all."""
    name = action.lower()
    return _limits("uses").get((name,)) or _limits("uses").get((name.partition("@")[0],))


@cache
def _limits(of: str) -> Mapping[tuple[str, ...], Limit]:
    told: Mapping[str, Mapping[str, Any]] = table("limits")[of]
    return {
        tuple(name.lower().split()): Limit(float(one["seconds"]), tuple(one.get("options", ())), bool(one.get("request")))
        for name, one in told.items()
    }
