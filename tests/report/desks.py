"""What an attempt offers to a generator, without an engine."""

from __future__ import annotations

from datetime import timedelta


class Stop(Exception):
    """Somebody has asked for it."""


class Desk:
    """Keeps everything in memory; has a hand on the stop."""

    def __init__(self, *, seconds: float = 30, stop_after: int | None = None) -> None:
        self.left = timedelta(seconds=seconds)
        self.stop_after = stop_after
        self.beats: list[int] = []
        self.stored: dict[str, str] = {}

    def remaining(self) -> timedelta:
        return self.left

    def beat(self, received: int) -> None:
        self.beats.append(received)
        if self.stop_after is not None and len(self.beats) >= self.stop_after:
            raise Stop

    def keep(self, name: str, content: str) -> None:
        self.stored[name] = content

    def kept(self, name: str) -> str | None:
        return self.stored.get(name)
