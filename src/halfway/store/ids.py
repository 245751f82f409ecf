"""Ids of runs: time-ordered UUIDs (version 7), so that new rows go to one end of every index and waiting runs keep their order."""

from __future__ import annotations

import os
import threading
import time

from halfway.store.forks import watch


class Ids:
    """Ids made later in one process always sort later; between processes, those made a quarter of a microsecond later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest = 0
        watch(self)

    def new(self) -> str:
        milliseconds, rest = divmod(time.time_ns(), 1_000_000)
        moment = milliseconds << 12 | (rest << 12) // 1_000_000
        with self._lock:
            moment = self._latest = max(moment, self._latest + 1)
        text = f"{moment >> 12:012x}7{moment & 0xFFF:03x}{os.urandom(8).hex()}"
        variant = "89ab"[int(text[16], 16) & 3]
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{variant}{text[17:20]}-{text[20:]}"

    def forked(self) -> None:
        self._lock = threading.Lock()


new_id = Ids().new
