"""What every stand-in is: a server on this machine, in a thread of this process, whose answers can be lost on purpose."""

from __future__ import annotations

import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

import click

from halfway_report.processes import end_with


class Local:
    """Listens on 127.0.0.1. `with` starts and stops it; `closing` ends the answers that are held back."""

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler], *, port: int) -> None:
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """What to give to a client as the address."""
        return f"http://127.0.0.1:{self.port}"

    def run(self, told: str, *, end_with_stdin: bool) -> None:
        """Serves until the process is told to stop. The first line of output is the port."""
        heard: SimpleQueue[int] = SimpleQueue()  # its `put` may interrupt its `get`
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: heard.put(number))
        with self:
            click.echo(self.port)
            click.echo(f"{told}, {self.url}", err=True)
            if end_with_stdin:
                end_with(sys.stdin.fileno())
            heard.get()


class Handler(BaseHTTPRequestHandler):
    """The part of a conversation that is the same for every vendor."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: every stand-in keeps what it was asked."""

    def body(self) -> bytes:
        """All of what was sent."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, status: int, content: bytes, kind: str, *, headers: Mapping[str, str] | None = None, keep: float = 1.0) -> None:
        """Answers; keep: the share of the content that is really sent, after which the connection is closed."""
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: int(len(content) * keep)])
        self.close_connection = self.close_connection or keep < 1

    def reset(self) -> None:
        """Breaks the connection off."""
        # Lingering for 0 s turns the close into a reset.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: object) -> None:
        # A client that was killed in the middle of its request is what such a server is for.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)
