"""The times of a worker, in seconds. The defaults suit a small team; tests shorten them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NoReturn

from halfway.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How often a worker looks, beats and sweeps, and how long it is patient."""

    beat: float = 2.0
    lease: float = 10.0  # a worker unseen for so long, by an observer that never blinked, is dead
    sweep: float = 5.0
    stall: float = 60.0  # a pump without a tick for so long is killed by its parent
    poll: float = 0.5
    grace: float = 30.0  # what a stopping worker gives to the attempts that run
    settle: float = 60.0  # what a killed worker may still have on the wire
    hung: float = 300.0  # how long after its timeout a thread may hang before its worker restarts

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in ("grace", "settle") else 0.001
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
                self._refuse(field.name, f"it is {value!r}.", "Give a number of seconds, at least a thousandth.")
        if self.lease <= self.beat:
            self._refuse("lease", f"{self.lease} s is no longer than a beat, {self.beat} s.", "Make it several beats long.")

    def _refuse(self, name: str, problem: str, remedy: str) -> NoReturn:
        raise InvalidInput("CONFIG_INVALID", source=f"Settings.{name}", problem=problem, remedy=remedy)
