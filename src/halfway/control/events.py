"""Messages from outside: stored first, then given to what waits for them (R-C2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from halfway.control.actions import routes_of
from halfway.domain.draft import Draft, Payload
from halfway.domain.facts import Arrived
from halfway.ports import NewEvent, Received, RunStore, Turn

AT_ONCE = 500  # events in one transaction


class Sent(NamedTuple):
    """What became of a message. It is stored in every case, and a repeat of its id changes nothing."""

    event_id: str
    created: bool  # False: its source had sent it before
    run_id: str | None  # the run that has used it up
    closed_run: str | None  # not used, since this run waited for such a message and waits no longer

    @property
    def state(self) -> str:
        """DELIVERED; NOT_DELIVERABLE: what it was for is over; KEPT: nothing waits for it yet."""
        if self.run_id is not None:
            return "DELIVERED"
        return "KEPT" if self.closed_run is None else "NOT_DELIVERABLE"


class Events:
    """Takes messages in."""

    def __init__(self, runs: RunStore, wake: Callable[[tuple[str, ...]], None]) -> None:
        self._runs = runs
        self._wake = wake

    def send(self, events: Sequence[NewEvent], *, within: object = None) -> list[Sent]:
        """Stores messages, in order, and gives each to the run that has waited for it longest.

        within: the caller's connection; what waits hears after its commit.
        """
        if within is not None:
            return [_sent(received) for received in self._runs.keep(events, within=within)]
        sent: list[Sent] = []
        for first in range(0, len(events), AT_ONCE):
            sent.extend(self._send(events[first : first + AT_ONCE]))
        return sent

    def _send(self, events: Sequence[NewEvent]) -> Iterable[Sent]:
        with self._runs.change(name="event") as tx:
            received = tx.inbox.receive(events)
            unused = [one.event_id for one in received if one.used_by is None]
            routes = self._deliver(tx, tx.inbox.waiting(unused)) if unused else ()
            outcomes = tx.inbox.outcomes(unused) if unused else ()
        self._wake(tuple(routes))
        left = [one.event_id for one in outcomes if one.used_by is None]
        if left:  # a wait that was being opened meanwhile has not seen it, and was not seen
            outcomes = [*(one for one in outcomes if one.used_by is not None), *self._look_again(left)]
        now = {one.event_id: one for one in outcomes}
        return [_sent(now[one.event_id]._replace(created=one.created) if one.event_id in now else one) for one in received]

    def _look_again(self, left: Sequence[str]) -> Sequence[Received]:
        with self._runs.change(name="event_again") as tx:
            waiting = tx.inbox.waiting(left)
            routes = self._deliver(tx, waiting) if waiting else ()
            outcomes = tx.inbox.outcomes(left)
        self._wake(tuple(routes))
        return outcomes

    def _deliver(self, tx: Turn, runs: Sequence[str]) -> set[str]:
        """Gives what has come to the open waits of these runs; answers the routes that have work now."""
        locked = sorted(tx.lock(sorted(set(runs)), wait=True))
        if not locked:
            return set()
        drafts: dict[str, Draft] = {}
        for run_id, one in tx.load(locked).items():
            spec = self._runs.spec(one.snapshot.run.hash)
            drafts[run_id] = Draft(spec, one.snapshot, tx.now, input=one.input, outputs=dict(one.outputs))
        for arrival in tx.inbox.arrived(locked):
            draft = drafts[arrival.run_id]
            draft.payloads[arrival.key] = Payload(arrival.payload)
            draft.take(Arrived(arrival.key, arrival.source))
        changes = [change for draft in drafts.values() if (change := draft.change()) is not None]
        if changes:
            tx.write(changes)
        return {route for draft in drafts.values() for route in routes_of(draft)}


def _sent(received: Received) -> Sent:
    return Sent(received.event_id, received.created, received.used_by, received.resolved)
