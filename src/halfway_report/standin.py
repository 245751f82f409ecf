"""A stand-in for Notion on the local machine, which can lose its answers on purpose.

It speaks the few calls that the report uses, as version 2026-03-11 of the API does, and it keeps what it was given: a
page that was stored before the answer was lost is there. `python -m halfway_report.standin --ledger pages.json` runs it.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import struct
import sys
import threading
import uuid
from collections import deque
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

import click

from halfway_report.processes import end_with
from halfway_report.standin_pages import DATA_SOURCE, Ledger, LedgerRequest, Pages, Refusal

TOKEN = "standin-token"
VERSION = "2026-03-11"
_COMMITTED = ("commit_hang", "commit_rst", "commit_504", "commit_502", "commit_half")
_REFUSED = ("rst_before", "529", "409", "500", "502", "503", "504", "400", "401")
_QUERY_ONLY = ("lag", "incomplete")
_CODES: Mapping[str, str] = {
    "400": "validation_error", "401": "unauthorized", "409": "conflict_error", "429": "rate_limited", "500": "internal_server_error",
    "503": "service_unavailable", "504": "gateway_timeout", "529": "service_overload",
}  # fmt: skip


class Standin:
    """The server, in this process. `with Standin() as notion:` starts and stops it."""

    def __init__(self, *, port: int = 0, ledger: Path | None = None, token: str = TOKEN) -> None:
        self.pages = Pages(ledger)
        self.token = token
        self.closing = threading.Event()
        self._faults: Mapping[str, deque[str]] = {"create": deque(), "query": deque()}
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Standin:
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
        """What to give to a client as the address of Notion."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ledger(self) -> Ledger:
        """The pages and requests so far."""
        return self.pages.ledger

    def fail_create(self, *faults: str) -> None:
        """The next attempts to create a page meet these faults, one each."""
        self._queue("create", faults, _COMMITTED + _REFUSED)

    def fail_query(self, *faults: str) -> None:
        """The next queries meet these faults, one each; `lag` answers as an index that has not caught up."""
        self._queue("query", faults, _REFUSED + _QUERY_ONLY)

    def next_fault(self, call: str) -> str | None:
        """Takes the fault that is due for a call."""
        queue = self._faults.get(call)
        return queue.popleft() if queue else None

    def _queue(self, call: str, faults: tuple[str, ...], known: tuple[str, ...]) -> None:
        for fault in faults:
            if fault not in known and not re.fullmatch(r"429(:\d+)?", fault):
                raise ValueError(f"unknown fault {fault!r} for {call}; known: {', '.join(known)}, 429:SECONDS")
        self._faults[call].extend(faults)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], standin: Standin) -> None:
        super().__init__(address, _Handler)
        self.standin = standin

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        # A client that was killed in the middle of its request is what this server is for.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def standin(self) -> Standin:
        if not isinstance(self.server, _Server):
            raise TypeError("this handler belongs to the stand-in's own server")
        return self.server.standin

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the ledger is the log."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        try:
            self._check_headers()
            if self.command == "POST" and path == "/v1/pages":
                self._create(raw)
            elif self.command == "POST" and (match := re.fullmatch(r"/v1/data_sources/([^/]+)/query", path)):
                self._query(path, match[1], raw)
            elif match := re.fullmatch(r"/v1/pages/([^/]+)(/markdown)?", path):
                self._page(path, match[1], raw, as_markdown=match[2] is not None)
            else:
                raise Refusal(400, "invalid_request_url", "Invalid request URL.")
        except Refusal as no:
            self._error(no.status, no.code, no.message)

    def _check_headers(self) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.standin.token}":
            raise Refusal(401, "unauthorized", "API token is invalid.")
        if self.headers.get("Notion-Version") != VERSION:
            raise Refusal(400, "missing_version", f"Notion-Version header failed validation: it should be {VERSION}.")

    def _create(self, raw: bytes) -> None:
        fault = self.standin.next_fault("create")
        if fault is not None and fault not in _COMMITTED:
            self.standin.pages.note(LedgerRequest(method="POST", path="/v1/pages", fault=fault))
            self._refuse(fault)
            return
        page = self.standin.pages.create(raw, fault=fault)
        match fault:
            case "commit_hang":
                self.close_connection = True
                self.standin.closing.wait()
            case "commit_rst":
                self._reset()
            case "commit_half":
                self._json(200, page.as_json(), keep=0.5)
            case "commit_502" | "commit_504":
                self._refuse(fault.removeprefix("commit_"))
            case _:
                self._json(200, page.as_json())

    def _query(self, path: str, source: str, raw: bytes) -> None:
        fault = self.standin.next_fault("query")
        self.standin.pages.note(LedgerRequest(method="POST", path=path, fault=fault))
        if fault is not None and fault not in _QUERY_ONLY:
            return self._refuse(fault)
        pages = self.standin.pages.query(source, raw) if fault is None else []
        answer = {
            "object": "list",
            "results": [page.as_json() for page in pages],
            "next_cursor": None,
            "has_more": False,
            "type": "page_or_data_source",
            "request_status": {"type": "incomplete" if fault == "incomplete" else "complete"},
        }
        return self._json(200, answer)

    def _page(self, path: str, page_id: str, raw: bytes, *, as_markdown: bool) -> None:
        self.standin.pages.note(LedgerRequest(method=self.command, path=path, page_id=page_id))
        pages = self.standin.pages
        page = pages.trash(page_id, raw) if self.command == "PATCH" and not as_markdown else pages.get(page_id)
        if as_markdown:
            text = {"object": "page_markdown", "id": page.id, "markdown": page.markdown, "truncated": False}
            return self._json(200, text)
        return self._json(200, page.as_json())

    def _refuse(self, fault: str) -> None:
        status, _, seconds = fault.partition(":")
        if status == "rst_before":
            self._reset()
        elif status == "502":
            # This one comes from the edge, which speaks HTML.
            self._send(502, b"<html><head><title>502</title></head><body><h1>502</h1><hr>cloudflare</body></html>", "text/html")
        else:
            wait = {"Retry-After": seconds or "1"} if status in {"429", "529"} else {}
            self._error(int(status), _CODES[status], f"The stand-in was told to answer {status}.", wait)

    def _error(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        body = {"object": "error", "status": status, "code": code, "message": message, "request_id": str(uuid.uuid4())}
        self._json(status, body, headers=headers)

    def _json(self, status: int, body: Mapping[str, object], *, headers: Mapping[str, str] | None = None, keep: float = 1.0) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", headers=headers, keep=keep)

    def _send(self, status: int, content: bytes, kind: str, *, headers: Mapping[str, str] | None = None, keep: float = 1.0) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: int(len(content) * keep)])
        self.close_connection = self.close_connection or keep < 1

    def _reset(self) -> None:
        # Lingering for 0 s turns the close into a reset.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


@click.command()
@click.option("--port", default=0, show_default=True, help="0 takes any free one; the first line of output names it.")
@click.option("--ledger", type=click.Path(dir_okay=False, path_type=Path), help="Where pages and requests are kept.")
@click.option("--fault", "faults", multiple=True, help="What the next creation of a page meets; may be repeated.")
@click.option("--query-fault", "query_faults", multiple=True, help="What the next query meets; may be repeated.")
@click.option("--end-with-stdin", is_flag=True, help="Stop when standard input is closed.")
def main(port: int, ledger: Path | None, faults: tuple[str, ...], query_faults: tuple[str, ...], end_with_stdin: bool) -> None:
    """Run a stand-in for Notion on 127.0.0.1."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    with Standin(port=port, ledger=ledger) as standin:
        standin.fail_create(*faults)
        standin.fail_query(*query_faults)
        click.echo(standin.port)
        click.echo(f"data source {DATA_SOURCE}, token {TOKEN}, {standin.url}", err=True)
        if end_with_stdin:
            end_with(sys.stdin.fileno())
        stop.wait()


if __name__ == "__main__":
    main()
