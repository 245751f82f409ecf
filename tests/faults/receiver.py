"""A receiver on loopback that keeps what it was sent, writes it to the ledger of the world, and then fails in a chosen way."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

from halfway.testing import Ledger


class Receiver:
    """`POST /things` with a key makes a thing; `GET /things?key=` finds it. `mishaps` happen to POSTs, one each, and then none.

    close: keeps it and closes the socket without an answer. stall: keeps it and answers when released. 504: keeps it and says 504.
    swallow: closes the socket without having kept it.
    """

    def __init__(self, ledger: Ledger, *mishaps: str) -> None:
        self.ledger = ledger
        self.mishaps = deque(mishaps)
        self.finds = deque[int]()  # statuses that GETs answer instead of looking
        self.release = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.post(self)

            def do_GET(self) -> None:
                receiver.get(self)

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def post(self, request: BaseHTTPRequestHandler) -> None:
        thing = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        mishap = self.mishaps.popleft() if self.mishaps else ""
        self.ledger.write("ASKED", key=thing["key"])
        if mishap != "swallow":
            self.ledger.write("POST", key=thing["key"])
        if mishap in ("close", "swallow"):
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        if mishap == "stall":
            self.release.wait(30)
        self._answer(request, 504 if mishap == "504" else 201, {"id": self._id(thing["key"])})

    def get(self, request: BaseHTTPRequestHandler) -> None:
        key = parse_qs(urlsplit(request.path).query)["key"][0]
        self.ledger.write("GET", key=key)
        if self.finds:
            self._answer(request, self.finds.popleft(), {})
        elif self.ledger.count(event="POST", key=key):
            self._answer(request, 200, {"id": self._id(key)})
        else:
            self._answer(request, 404, {})

    def _id(self, key: str) -> str:
        return f"thing of {key.rpartition(':')[2]}"

    def _answer(self, request: BaseHTTPRequestHandler, status: int, body: dict[str, str]) -> None:
        content = json.dumps(body).encode()
        try:
            request.send_response(status)
            request.send_header("Content-Length", str(len(content)))
            request.end_headers()
            request.wfile.write(content)
        except OSError:
            pass  # whoever asked has left

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()


def nobody_listens() -> str:
    """An address that refuses connections."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"
