"""Starts worker processes fast: a process that has loaded what they need, and is forked for each of them.

A worker is then alive in a tenth of the time that a new interpreter takes, and is a process like any other: it is killed, frozen and cut
off from its parent as one that was started by hand. Requests come through a socket with the three files of the new process; the answers
are its id, and later how it ended.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
LONGEST = 65536
LOADED = (
    "halfway.store.dialects.postgres", "halfway.store.dialects.sqlite", "halfway.cli.orders", "halfway.cli.show", "halfway.cli.worker",
    "pytest", "tests.engine.harness", "tests.crash.worker",
)  # fmt: skip


# ── in the tests ──


class Launcher:
    """The side of the tests. It has no thread: whoever waits for a process reads what the other side has to say about all of them."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.crash.launcher", str(other.fileno())], cwd=ROOT, pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        self._codes: dict[int, int] = {}
        self._started: list[int] = []
        atexit.register(self.close)

    def start(self, module: str, arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int], folder: Path) -> int:
        """The id of a new process that calls `main(arguments)` of a module in a folder."""
        asked = {"module": module, "arguments": [*arguments], "environment": dict(environment), "folder": str(folder)}
        request = json.dumps(asked).encode()
        assert len(request) < LONGEST
        socket.send_fds(self._socket, [request], list(files))
        while not self._started:
            self._read(None)
        return self._started.pop()

    def code(self, pid: int, patience: float | None = 0) -> int | None:
        """How a process ended, negative for a signal; None if it has not within so many seconds."""
        until = None if patience is None else time.monotonic() + patience
        while pid not in self._codes:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not self._read(left):
                return self._codes.get(pid)
        return self._codes[pid]

    def _read(self, patience: float | None) -> bool:
        self._socket.settimeout(patience)
        try:
            answer = json.loads(self._socket.recv(LONGEST) or b"{}")
        except (TimeoutError, BlockingIOError):
            return False
        assert answer, f"the launcher has ended: {self._process.wait(10)}"
        if "code" in answer:
            self._codes[answer["pid"]] = answer["code"]
        else:
            self._started.append(answer["pid"])
        return True

    def close(self) -> None:
        self._socket.close()
        self._process.wait(30)


launcher = cache(Launcher)
"""One for all tests of a process; it is started when it is first needed."""


def completed(module: str, arguments: Sequence[str], environment: Mapping[str, str], *, folder: Path, patience: float) -> tuple[int, str]:
    """What a process ended with, and what it printed, errors last."""
    with tempfile.TemporaryFile() as errors:
        process = Forked(module, arguments, environment, errors, folder=folder)
        with process.stdin, process.stdout:
            told, _ = process.communicate(patience)
        errors.seek(0)
        return process.wait(patience), told + errors.read().decode()


class Forked:
    """A process of the launcher, with the methods of `subprocess.Popen` that tests use."""

    def __init__(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str], errors: IO[bytes], *, folder: Path = ROOT
    ) -> None:
        self._launcher = launcher()
        (into, stdin), (stdout, out) = os.pipe(), os.pipe()
        try:
            self.pid = self._launcher.start(module, arguments, environment, [into, out, errors.fileno()], folder)
        finally:
            os.close(into)
            os.close(out)
        self.stdin, self.stdout = os.fdopen(stdin, "w"), os.fdopen(stdout)

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def poll(self) -> int | None:
        return self._launcher.code(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        code = self._launcher.code(self.pid, timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        self.stdin.close()
        told = self.stdout.read()
        self.wait(timeout)
        return told, None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # its end is on its way here
                os.kill(self.pid, number)

    def await_stop(self) -> None:
        """Returns when it stands still, or has ended."""
        with suppress(FileNotFoundError, ProcessLookupError):
            while self.poll() is None and Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] not in "tTZ":
                time.sleep(0.001)


# ── the other side ──


def serve(connection: socket.socket) -> None:
    """Forks until the tests are gone. In a new process it returns what that process is to do, by leaving with its exit code."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not connection:
                    _tell_end(connection, int(key.data))
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    continue
                request, files, _, _ = socket.recv_fds(connection, LONGEST, 3)
                if not request:
                    return
                pid = os.fork()
                if pid == 0:
                    _become(json.loads(request), files, [*(one.fd for one in selector.get_map().values())])
                for file in files:
                    os.close(file)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
                connection.send(json.dumps({"pid": pid}).encode())


def _tell_end(connection: socket.socket, pid: int) -> None:
    _, status = os.waitpid(pid, 0)
    connection.send(json.dumps({"pid": pid, "code": os.waitstatus_to_exitcode(status)}).encode())


def _become(request: dict[str, object], files: Sequence[int], others: Sequence[int]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    for other in others:
        os.close(other)
    signal.set_wakeup_fd(-1)
    os.chdir(str(request["folder"]))
    sys.path[0] = str(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    raise Begin(str(request["module"]), list(request["arguments"]))  # type: ignore[call-overload]


class Begin(BaseException):
    """Leaves everything that belongs to the launcher."""

    def __init__(self, module: str, arguments: list[str]) -> None:
        super().__init__(module)
        self.module, self.arguments = module, arguments


def main() -> None:
    for name in LOADED:
        import_module(name)
    gc.freeze()  # what is loaded is shared with every fork
    try:
        serve(socket.socket(fileno=int(sys.argv[1])))
    except Begin as begin:
        module, arguments = begin.module, begin.arguments
    else:
        return
    gc.unfreeze()
    sys.argv = [module, *arguments]
    import_module(module).main(arguments)
    sys.stdout.flush()
    os._exit(0)  # a body that ignores its end must not keep the process


if __name__ == "__main__":
    main()
