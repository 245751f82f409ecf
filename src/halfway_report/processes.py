"""Child processes that cannot outlive the one that started them."""

from __future__ import annotations

import os
import signal
import threading


def end_with(parent: int) -> None:
    """Ends this process as SIGTERM would when the other end of a pipe is closed, which a killed parent does too."""

    def watch() -> None:
        # Not through a file object: its lock would be held when the interpreter shuts down.
        while os.read(parent, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
