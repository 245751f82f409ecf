"""How the stand-in for Notion answers: which call a request is, which versions there are, and how an answer is lost."""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Mapping
from typing import Any, Protocol

from halfway_report.standin_ledger import LedgerRequest
from halfway_report.standin_pages import VERSION, Asked, Pages, Refusal
from halfway_report.standin_server import Handler

COMMITTED = ("commit_hang", "commit_rst", "commit_409", "commit_502", "commit_504", "commit_half")
REFUSED = ("rst_before", "529", "409", "500", "502", "503", "504", "400", "401", "403", "404", "413")
QUERY_ONLY = ("lag", "incomplete")
CALLS = (
    ("POST", r"/v1/pages", "create"),
    ("POST", r"/v1/data_sources/([^/]+)/query", "query"),
    ("GET", r"/v1/data_sources/([^/]+)", "source"),
    ("GET", r"/v1/databases/([^/]+)", "database"),
    ("GET", r"/v1/pages/([^/]+)", "get"),
    ("PATCH", r"/v1/pages/([^/]+)", "update"),
    ("GET", r"/v1/pages/([^/]+)/markdown", "read"),
    ("PATCH", r"/v1/pages/([^/]+)/markdown", "content"),
    ("GET", r"/v1/users/me", "me"),
    ("POST", r"/v1/search", "search"),
)
_OLDER = ("2022-06-28", "2025-09-03")  # the first of them does not know data sources
_CODES: Mapping[str, str] = {
    "400": "validation_error",
    "401": "unauthorized",
    "403": "restricted_resource",
    "404": "object_not_found",
    "409": "conflict_error",
    "413": "validation_error",
    "429": "rate_limited",
    "500": "internal_server_error",
    "503": "service_unavailable",
    "504": "gateway_timeout",
    "529": "service_overload",
}


class Vendor(Protocol):
    """What the server needs of the stand-in behind it."""

    pages: Pages
    token: str
    closing: threading.Event

    def next_fault(self, call: str) -> str | None:
        """Takes the fault that is due for a call; what was to happen meanwhile has happened then."""
        ...


class Conversation(Handler):
    """One connection to the stand-in."""

    def __init__(self, vendor: Vendor, *given: Any) -> None:
        self.vendor = vendor
        super().__init__(*given)  # which serves the connection

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def _answer(self) -> None:
        raw = self.body()
        path = self.path.partition("?")[0]
        try:
            version = self._version()
            call, target = self._call(path, version)
            fault = self.vendor.next_fault(call)
            request = LedgerRequest(
                method=self.command, path=path, fault=fault, page_id=target if call not in {"create", "query"} else None
            )
            if fault is not None and fault not in COMMITTED + QUERY_ONLY:
                self.vendor.pages.note(request)
                self._refuse(fault)
            else:
                answer = self.vendor.pages.serve(Asked(call=call, target=target, raw=raw, version=version, request=request))
                self._deliver(answer, fault)
        except Refusal as no:
            self._error(no.status, no.code, no.message)

    def _version(self) -> str:
        if self.headers.get("Authorization") != f"Bearer {self.vendor.token}":
            raise Refusal(401, "unauthorized", "API token is invalid.")
        version = self.headers.get("Notion-Version")
        if version is None:
            raise Refusal(400, "missing_version", "Notion-Version header should be defined, instead was `undefined`.")
        if version not in (*_OLDER, VERSION):
            raise Refusal(400, "validation_error", f"Notion-Version header failed validation: it was `{version}`.")
        return version

    def _call(self, path: str, version: str) -> tuple[str, str]:
        for method, pattern, call in CALLS:
            match = re.fullmatch(pattern, path)
            if match and method == self.command and not (call in {"query", "source"} and version == _OLDER[0]):
                return call, "".join(match.groups())
        raise Refusal(400, "invalid_request_url", "Invalid request URL.")

    def _deliver(self, answer: Mapping[str, object], fault: str | None) -> None:
        match fault:
            case "commit_hang":
                self.close_connection = True
                self.vendor.closing.wait()
            case "commit_rst":
                self.reset()
            case "commit_half":
                self._json(200, answer, keep=0.5)
            case "commit_409" | "commit_502" | "commit_504":
                self._refuse(fault.removeprefix("commit_"))
            case _:
                self._json(200, answer)

    def _refuse(self, fault: str) -> None:
        status, _, seconds = fault.partition(":")
        if status == "rst_before":
            self.reset()
        elif status == "502":
            # This one comes from the edge, which speaks HTML.
            self.send(502, b"<html><head><title>502</title></head><body><h1>502</h1><hr>cloudflare</body></html>", "text/html")
        else:
            wait = {"Retry-After": seconds or "1"} if status in {"429", "529"} else {}
            self._error(int(status), _CODES[status], f"The stand-in was told to answer {status}.", wait)

    def _error(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        body = {"object": "error", "status": status, "code": code, "message": message, "request_id": str(uuid.uuid4())}
        self._json(status, body, headers=headers)

    def _json(self, status: int, body: Mapping[str, object], *, headers: Mapping[str, str] | None = None, keep: float = 1.0) -> None:
        self.send(status, json.dumps(body).encode(), "application/json", headers=headers, keep=keep)
