"""What proves that a process is dead: a lock of the operating system that it held, or its identity on the same machine."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

from halfway.store.forks import watch

IDENTITY = re.compile(r"boot:(?P<boot>\S+) ns:(?P<ns>\d+) pid:(?P<pid>\d+) start:(?P<start>\d+)")
PROC = Path("/proc")


def identity(pid: int | None = None) -> str:
    """The identity of a process on its machine and in its container; empty where the system does not tell."""
    pid = os.getpid() if pid is None else pid
    start = started(pid)
    machine = _machine()
    return f"{machine} pid:{pid} start:{start}" if machine and start else ""


def proven_dead(known: str) -> bool:
    """Whether the process with this identity is dead; a process of another machine never is, as far as we know."""
    parts = IDENTITY.fullmatch(known)
    if parts is None or f"boot:{parts['boot']} ns:{parts['ns']}" != _machine():
        return False
    return started(int(parts["pid"])) != parts["start"]


def started(pid: int) -> str | None:
    """When a process was started, in ticks since the boot; None if there is none, or only its remains."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def _machine() -> str:
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"boot:{boot} ns:{(PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


class EpochLocks:
    """One locked file for each epoch of this process, in a folder beside the database."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "epochs"
        self._held: dict[str, int] = {}
        watch(self)

    def take(self, epoch: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path(epoch), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._held[epoch] = file

    def is_free(self, epoch: str) -> bool | None:
        """Whether nobody holds the lock any more; None if there is no such file."""
        try:
            file = os.open(self._path(epoch), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(file)
        return True

    def remove(self, epoch: str) -> None:
        """The epoch is over, and its row says so."""
        with suppress(FileNotFoundError):
            self._path(epoch).unlink()
        self._release(epoch)

    def close(self) -> None:
        for epoch in list(self._held):
            self._release(epoch)

    def forked(self) -> None:
        """The lock belongs to the open file, which parent and child share: it must be the parent's alone."""
        self.close()

    def _release(self, epoch: str) -> None:
        file = self._held.pop(epoch, None)
        if file is not None:
            os.close(file)

    def _path(self, epoch: str) -> Path:
        return self._folder / f"{epoch}.lock"
