"""Named points of the engine, and what a test does there. Pass one as `Halfway(…, points=…)`.

The points are `<operation>.before_commit` and `<operation>.after_commit` for every transaction (start, pump, order, sweep, transaction,
begin, beat, declare_dead, …), and a few inside the engine (`sweep.judge`, `sweep.read`).
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter

PATIENCE = 30.0  # seconds that a held thread waits for its release, so that a broken test ends


class KillAt:
    """SIGKILL to the own process when a point is reached for the n-th time."""

    def __init__(self, point: str, times: int = 1) -> None:
        self._point, self._times = point, times
        self._count: Counter[str] = Counter()
        self._lock = threading.Lock()

    @staticmethod
    def from_env(name: str = "HALFWAY_KILL_AT") -> KillAt | None:
        """Reads `point` or `point:n` from the environment."""
        text = os.environ.get(name)
        if not text:
            return None
        point, _, times = text.partition(":")
        return KillAt(point, int(times or 1))

    def reached(self, name: str) -> None:
        if name != self._point:
            return
        with self._lock:
            self._count[name] += 1
            count = self._count[name]
        if count == self._times:
            os.kill(os.getpid(), signal.SIGKILL)


class RecordPoints:
    """Counts which points were reached, to list them all before each is tried in turn."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._lock = threading.Lock()

    def reached(self, name: str) -> None:
        with self._lock:
            self.seen.append(name)


class FailAt:
    """Raises an error at a point, a number of times."""

    def __init__(self, point: str, error: Exception, times: int = 1) -> None:
        self._point, self._error, self.left = point, error, times

    def reached(self, name: str) -> None:
        if name == self._point and self.left > 0:
            self.left -= 1
            raise self._error


class HoldAt:
    """Holds the thread that reaches a point until the test lets it go: a race that is forced, not hoped for."""

    def __init__(self, point: str, *, times: int = 1) -> None:
        self._point, self._left = point, times
        self._arrived, self._released = threading.Event(), threading.Event()

    def reached(self, name: str) -> None:
        if name != self._point or self._left <= 0:
            return
        self._left -= 1
        self._arrived.set()
        if not self._released.wait(PATIENCE):
            raise TimeoutError(f"nobody released the thread that is held at {name}")

    def wait(self) -> None:
        """Until a thread has arrived at the point."""
        if not self._arrived.wait(PATIENCE):
            raise TimeoutError(f"nothing has reached {self._point}")

    def release(self) -> None:
        self._released.set()
