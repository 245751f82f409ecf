"""Time that never goes backwards in a process, whatever the clock of the database does, and never stands still either."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from halfway.store.forks import watch


class Clock:
    """The time of the database; after it was put back, the last time that was seen and what has passed since."""

    def __init__(self, passed: Callable[[], float] = monotonic) -> None:
        self._passed = passed
        self._lock = threading.Lock()
        self._latest = 0
        self._seen_at = 0.0
        watch(self)

    def see(self, now: int) -> int:
        """The time now, or what would be the time if the clock had gone on as it was."""
        with self._lock:
            passed = self._passed()
            if now >= self._latest:
                self._latest, self._seen_at = now, passed
                return now
            return self._latest + int((passed - self._seen_at) * 1_000_000)

    def forked(self) -> None:
        self._lock = threading.Lock()
