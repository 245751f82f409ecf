"""The clock by which a process judges how long it stood still."""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def uptime() -> float:
    """Seconds since the machine was started; unlike `time.monotonic` it goes on while the machine sleeps."""
    return time.clock_gettime(_CLOCK)
