"""Time that never goes backwards in a process, whatever the clock of the database does."""

from __future__ import annotations

import threading

from halfway.store.forks import watch


class Clock:
    """The latest time that was seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest = 0
        watch(self)

    def see(self, now: int) -> int:
        """The time now, or the latest one seen if that was later."""
        with self._lock:
            self._latest = max(self._latest, now)
            return self._latest

    def forked(self) -> None:
        self._lock = threading.Lock()
