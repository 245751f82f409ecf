"""Who plays in the demonstration: real processes that can really be killed, and a repository to report about."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from halfway_report.standin import TOKEN

TOKEN_ENV = "HALFWAY_DEMO_NOTION_TOKEN"
PATIENCE = timedelta(seconds=30)
_GRACE = timedelta(seconds=5)
_SAMPLE: Mapping[str, str] = {
    "cart.py": "Keep the cart across a login",
    "prices.py": "Round prices once, at the end",
    "README.md": "Say how to start",
}
_T = TypeVar("_T")


class DemoFailed(Exception):
    """The demonstration did not go as it should; the message says where it stopped."""


class Child:
    """A Python program as a process of its own; it ends when this one does, whatever happens here."""

    def __init__(self, module: str, *arguments: str, log: Path) -> None:
        self.log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                # A proxy for the outside world must not come between processes of one machine.
                env={**os.environ, TOKEN_ENV: TOKEN, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
            )

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self._process.terminate()
        try:
            self._process.wait(_GRACE.total_seconds())
        except subprocess.TimeoutExpired:
            self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def first_line(self) -> str:
        """The first line of its output; waits for it."""
        if self._process.stdout is None or not (line := self._process.stdout.readline()):
            raise DemoFailed(f"{self._process.args!r} said nothing: {self.log.read_text(errors='replace')[-2000:]}")
        return line.decode().strip()

    def kill(self) -> None:
        """SIGKILL: the process gets no chance to do anything more."""
        self._process.kill()
        self._process.wait()


def wait_for(what: str, look: Callable[[], _T | None], *, while_alive: Child) -> _T:
    """Looks until there is something to see; gives up when the process that should bring it about has ended, or after 30 s."""
    end = time.monotonic() + PATIENCE.total_seconds()
    while (seen := look()) is None:
        if not while_alive.alive:
            raise DemoFailed(f"{what}: the process ended early: {while_alive.log.read_text(errors='replace')[-2000:]}")
        if time.monotonic() > end:
            raise DemoFailed(f"{what}: nothing after {PATIENCE.total_seconds():.0f} s")
        time.sleep(0.02)
    return seen


def sample_repository(path: Path) -> None:
    """Writes a small repository, for a place that has none."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(path),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    identity = ("-c", "user.name=Sample", "-c", "user.email=sample@shop.example")

    def git(*arguments: str) -> None:
        subprocess.run(["git", *identity, *arguments], cwd=path, env=environment, check=True, capture_output=True)

    path.mkdir()
    try:
        git("init", "--quiet")
        for name, subject in _SAMPLE.items():
            (path / name).write_text(f"{subject}\n")
            git("add", "--all")
            git("commit", "--quiet", "-m", subject)
    except (OSError, subprocess.CalledProcessError) as error:
        raise DemoFailed(f"git could not write a sample repository: {error}") from error
