"""Ids of runs: time-ordered UUIDs (version 7), so that new rows go to one end of every index."""

from __future__ import annotations

import os
import time


def new_id() -> str:
    """A fresh id; ids made later sort later, to the millisecond."""
    milliseconds = time.time_ns() // 1_000_000
    text = (milliseconds.to_bytes(6) + os.urandom(10)).hex()
    variant = "89ab"[int(text[16], 16) & 3]
    return f"{text[:8]}-{text[8:12]}-7{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"
