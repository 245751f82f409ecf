"""A stand-in for Notion on the local machine, which can lose its answers on purpose.

It speaks the calls that the report uses, as version 2026-03-11 of the API does, and it keeps what it was given: what was
stored before the answer was lost is there. `python -m halfway_report.standin --ledger pages.json` runs it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import click

from halfway_report.standin_http import CALLS, COMMITTED, QUERY_ONLY, REFUSED, Conversation
from halfway_report.standin_ledger import DATA_SOURCE, Ledger
from halfway_report.standin_pages import Pages
from halfway_report.standin_server import Local

TOKEN = "standin-token"


class Standin(Local):
    """The server, in this process. `with Standin() as notion:` starts and stops it."""

    def __init__(self, *, port: int = 0, ledger: Path | None = None, token: str = TOKEN) -> None:
        super().__init__(partial(Conversation, self), port=port)
        self.pages = Pages(ledger)
        self.token = token
        self._faults: Mapping[str, deque[str]] = {call: deque() for _, _, call in CALLS}
        self._meanwhile: dict[str, Callable[[], object]] = {}

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
    standin = Standin(port=port, ledger=ledger)
    standin.pages.lag = timedelta(seconds=lag)
    standin.fail_create(*faults)
    standin.fail_query(*query_faults)
    standin.run(f"data source {DATA_SOURCE}, token {TOKEN}", end_with_stdin=end_with_stdin)


if __name__ == "__main__":
    main()
