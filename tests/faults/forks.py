"""What a test does in a process of its own, that may die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable


def in_child(work: Callable[[], object], patience: float = 30.0) -> int:
    """The exit code of a forked process; negative for a signal. One that hangs is killed, and that is a failure."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    over = time.monotonic() + patience
    while time.monotonic() < over:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 99
