"""What the pump and a cycle of it share: what was handed in, what is known, and the worker's side of a cycle."""

from __future__ import annotations

from concurrent.futures import Future
from typing import NamedTuple, Protocol

from halfway.domain.contract import unstorable
from halfway.domain.draft import Payload
from halfway.domain.run import Ended, Key, Kind, Report, Snapshot
from halfway.engine.attempt import Desk, Grant, Running
from halfway.engine.catalog import Catalog
from halfway.engine.settings import Settings
from halfway.ports import Kept, Mark


class Done(NamedTuple):
    """A body has handed in, or an attempt was ended without it (`returned` is False)."""

    running: Running
    report: Report
    payload: Payload
    returned: bool = False
    again: bool = False  # it was handed in before, and the answer of that commit was lost
    tries: int = 0

    def without_payload(self, error: Exception) -> Done:
        """The minimal form, when the whole could not be stored: that the body ran."""
        report = unstorable(self.running.spec) if self.report.ended is Ended.SUCCESS else self.report
        message = f"the body ran, but its result could not be stored: {type(error).__name__}"
        return self._replace(report=report, payload=Payload(error=message), again=True, tries=self.tries + 1)


class Asked(NamedTuple):
    """A body waits for something to be committed."""

    what: Mark | Kept
    future: Future[Grant]

    def answer(self, answer: Grant | Exception) -> None:
        """Tells the body, unless it has given up waiting."""
        if not self.future.set_running_or_notify_cancel():
            return
        if isinstance(answer, Exception):
            self.future.set_exception(answer)
        else:
            self.future.set_result(answer)


class Known(NamedTuple):
    """A run as this worker last stored it; good only if its revision still stands."""

    snapshot: Snapshot
    input: str
    outputs: dict[str, str]


class Free(Protocol):
    free: int


class Floor(Desk, Protocol):
    """The worker's side of a cycle."""

    catalog: Catalog
    settings: Settings
    epoch: str
    routes: frozenset[str]
    only: str  # the one run that is worked on; empty: all
    hot: set[str]
    live: dict[object, Running]
    known: dict[str, Known]
    launched: set[object]  # attempts whose bodies were begun here and have not been stored as returned
    apart: set[str]  # runs whose facts are decided one in a cycle, since deciding them together went wrong
    parked: list[Done]
    stopping: bool

    def claimable(self) -> list[str]: ...
    def pool(self, route: str, kind: Kind) -> Free: ...

    @property
    def loop(self) -> Free: ...
    @property
    def threads(self) -> Free: ...


class Place(NamedTuple):
    """A record's place in the line for a slot."""

    order: tuple[int, str]
    run_id: str
    key: Key
    route: str
