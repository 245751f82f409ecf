"""A stand-in for Notion on the local machine, which can lose its answers on purpose.

It speaks the calls that the report uses, as version 2026-03-11 of the API does, and it keeps what it was given: what was
stored before the answer was lost is there. `python -m halfway_report.standin --ledger pages.json` runs it.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType

import click

from halfway_report.processes import end_with
from halfway_report.standin_http import CALLS, COMMITTED, QUERY_ONLY, REFUSED, Server
from halfway_report.standin_ledger import DATA_SOURCE, Ledger
from halfway_report.standin_pages import Pages

TOKEN = "standin-token"


class Standin:
    """The server, in this process. `with Standin() as notion:` starts and stops it."""

    def __init__(self, *, port: int = 0, ledger: Path | None = None, token: str = TOKEN) -> None:
        self.pages = Pages(ledger)
        self.token = token
        self.closing = threading.Event()
        self._faults: Mapping[str, deque[str]] = {call: deque() for _, _, call in CALLS}
        self._meanwhile: dict[str, Callable[[], object]] = {}
        self._server = Server(("127.0.0.1", port), self)
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

    def fail(self, call: str, *faults: str) -> None:
        """The next requests of this kind meet these faults, one each: create, query, update, content, get, me, source, …"""
        known = COMMITTED + REFUSED + (QUERY_ONLY if call == "query" else ())
        for fault in faults:
            if fault not in known and not re.fullmatch(r"429(:\d+)?", fault):
                raise ValueError(f"unknown fault {fault!r} for {call}; known: {', '.join(known)}, 429:SECONDS")
        self._faults[call].extend(faults)

    def fail_create(self, *faults: str) -> None:
        """The next attempts to create a page meet these faults, one each."""
        self.fail("create", *faults)

    def fail_query(self, *faults: str) -> None:
        """The next queries meet these faults, one each; `lag` answers as an index that has not caught up."""
        self.fail("query", *faults)

    def meanwhile(self, call: str, action: Callable[[], object]) -> None:
        """Does this just before the next request of this kind is served, as somebody who is faster."""
        self._meanwhile[call] = action

    def next_fault(self, call: str) -> str | None:
        """Takes the fault that is due for a call; what was to happen meanwhile has happened then."""
        self._meanwhile.pop(call, lambda: None)()
        queue = self._faults[call]
        return queue.popleft() if queue else None


@click.command()
@click.option("--port", default=0, show_default=True, help="0 takes any free one; the first line of output names it.")
@click.option("--ledger", type=click.Path(dir_okay=False, path_type=Path), help="Where pages and requests are kept.")
@click.option("--fault", "faults", multiple=True, help="What the next creation of a page meets; may be repeated.")
@click.option("--query-fault", "query_faults", multiple=True, help="What the next query meets; may be repeated.")
@click.option("--lag", default=0.0, show_default=True, help="Seconds until a query shows a new page.")
@click.option("--end-with-stdin", is_flag=True, help="Stop when standard input is closed.")
def main(
    *, port: int, ledger: Path | None, faults: tuple[str, ...], query_faults: tuple[str, ...], lag: float, end_with_stdin: bool
) -> None:
    """Run a stand-in for Notion on 127.0.0.1."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    with Standin(port=port, ledger=ledger) as standin:
        standin.pages.lag = timedelta(seconds=lag)
        standin.fail_create(*faults)
        standin.fail_query(*query_faults)
        click.echo(standin.port)
        click.echo(f"data source {DATA_SOURCE}, token {TOKEN}, {standin.url}", err=True)
        if end_with_stdin:
            end_with(sys.stdin.fileno())
        stop.wait()


if __name__ == "__main__":
    main()
