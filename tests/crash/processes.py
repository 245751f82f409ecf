"""Programs in processes of their own, which a test may kill, freeze and stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.crash.launcher import Forked

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # a generous limit, so that a broken test ends


class Program:
    """`python -m MODULE ARGUMENTS…`; leaving the block kills it."""

    def __init__(self, module: str, *arguments: object, **environment: str) -> None:
        self._errors = tempfile.TemporaryFile()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HALFWAY_")}
        self.process = self._begin(module, [*map(str, arguments)], inherited | environment)

    def _begin(self, module: str, arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[str] | Forked:
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def told(self) -> str:
        """The next line it prints; fails if it ends without one."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it ended without a word ({self.wait()}):\n{self.errors()}"
        return line.rstrip("\n")

    def wait(self, patience: float = PATIENCE) -> int:
        """Its exit code; negative for a signal."""
        return self.process.wait(patience)

    def finish(self, patience: float = PATIENCE) -> str:
        """What it prints until it ends well."""
        out, _ = self.process.communicate(timeout=patience)
        assert self.process.returncode == 0, f"exit code {self.process.returncode}:\n{self.errors()}"
        return out

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-4000:]

    def kill(self) -> None:
        self._send(signal.SIGKILL)
        self.wait()

    def freeze(self) -> None:
        """Returns when it stands still, or has ended before."""
        self._send(signal.SIGSTOP)
        if isinstance(self.process, Forked):
            self.process.await_stop()
        elif self.running:
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        if self.running:
            self.process.send_signal(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self.close()

    def close(self) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout, self._errors):
            if pipe is not None:
                pipe.close()


class Worker(Program):
    """A worker process for the workflows that `module:function` answers, see `tests.crash.worker`. It works when this returns.

    Options in capitals are its environment. ready=False: it may die before it has said a word.
    """

    def __init__(self, flows: str, url: str, ledger: object, *, kill_at: str = "", ready: bool = True, **options: Any) -> None:
        environment = {name: str(value) for name, value in options.items() if name.isupper()} | {"HALFWAY_KILL_AT": kill_at}
        given = [
            f"--{name}" if value is True else f"--{name}={value}"
            for name, value in options.items()
            if not name.isupper() and value is not False
        ]
        super().__init__("tests.crash.worker", flows, url, ledger, *given, **environment)
        self.epoch = self.told() if ready else ""

    def _begin(self, module: str, arguments: list[str], environment: dict[str, str]) -> Forked:
        return Forked(module, arguments, environment, self._errors)
