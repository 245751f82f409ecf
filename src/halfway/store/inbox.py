"""Events and what waits for them: the port `Inbox`, on an open transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from halfway.domain.run import Key
from halfway.errors import DatabaseBusy
from halfway.ports import Arrival, NewEvent, Received
from halfway.store.database import Session, Work
from halfway.store.rows import to_key
from halfway.store.texts import require_storable

FEW = 5  # names and keys that are asked about one by one
MOST_IN_LINE = 500  # waits and events of one name and key that are matched in one go; whoever is served wakes the next


class Waiter(NamedTuple):
    """An open wait of a run, and the event that it would get if nobody else waited."""

    run_id: str
    key: Key
    sort: str
    name: str
    wait_key: str
    event_id: str | None
    shared: bool  # others wait for such events too


class StoreInbox:
    """What has come for those who wait; an event that waits for a slower one is left to the one that has waited longest."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._has_received = False

    def receive(self, events: Sequence[NewEvent]) -> Sequence[Received]:
        self._has_received = True
        return receive(self._session, events)

    def waiting(self, events: Sequence[str]) -> Sequence[str]:
        """Of many events that have just been received: whom they have woken, which one statement tells."""
        if not events:
            return []
        places = self._session.rows("event_names", ids=list(events))
        if self._has_received and len(places) > FEW:
            return [id for (id,) in self._session.rows("woken", now=self._session.now)]
        found: set[str] = set()
        for name, key in places:
            found.update(id for (id,) in self._session.rows("waiting_for", name=name, key=key, limit=len(events)))
        return sorted(found)

    def outcomes(self, events: Sequence[str]) -> Sequence[Received]:
        return outcomes(self._session, events)

    def arrived(self, runs: Sequence[str]) -> Sequence[Arrival]:
        """The wakes go first: one that is committed while this transaction looks is not lost."""
        if not runs:
            return []
        session = self._session
        session.run("forget_wakes", ids=list(runs))
        waiters = [
            Waiter(run_id, to_key(step, round, item, kind), sort, name, wait_key, event_id, shared == 1)
            for run_id, step, round, item, kind, sort, name, wait_key, event_id, shared in session.rows("own_waits", ids=list(runs))
        ]
        return [*self._from_events(waiters), *self._from_runs(waiters)]

    # ── events ──

    def _from_events(self, waiters: Sequence[Waiter]) -> list[Arrival]:
        served = self._in_line(waiters)
        found = {
            waiter: waiter.event_id if not waiter.shared else served.get((waiter.run_id, waiter.key))
            for waiter in waiters
            if waiter.event_id is not None
        }
        wanted = [event for event in found.values() if event is not None]
        payloads: dict[str, str] = dict(self._session.rows("take_events", ids=wanted)) if wanted else {}
        arrivals: list[Arrival] = []
        missed: set[str] = set()
        for waiter, event in found.items():
            if event in payloads:
                arrivals.append(Arrival(waiter.run_id, waiter.key, event, payloads[event]))
            elif event is not None:
                missed.add(waiter.run_id)
        if missed:  # somebody is about to use it, and may yet fail
            self._session.many([Work("wake", [(run_id, self._session.now) for run_id in sorted(missed)])])
        return arrivals

    def _in_line(self, waiters: Iterable[Waiter]) -> dict[tuple[str, Key], str]:
        """Which event each of those gets who wait for events of the same name and key: first come, first served."""
        served: dict[tuple[str, Key], str] = {}
        places = {(waiter.name, waiter.wait_key) for waiter in waiters if waiter.shared and waiter.event_id is not None}
        for name, key in sorted(places):
            # In this order: a wait that is closed in between leaves an event unused, but no event is given twice.
            line = self._session.rows("waits_in_line", name=name, key=key, limit=MOST_IN_LINE)
            events = self._session.rows("events_in_line", name=name, key=key, limit=MOST_IN_LINE)
            for run_id, step, round, item, kind, since in line:
                event = next((event for event in events if event[1] >= since), None)
                if event is not None:
                    events.remove(event)
                    served[run_id, to_key(step, round, item, kind)] = event[0]
        return served

    # ── ends of runs ──

    def _from_runs(self, waiters: Sequence[Waiter]) -> list[Arrival]:
        """The newest run under a key, if it has ended: what became of it is told as one JSON text."""
        arrivals: list[Arrival] = []
        session = self._session
        for waiter in waiters:
            if waiter.sort == "RUN":
                for row in session.rows("ended_under_key", type=waiter.name, key=waiter.wait_key):
                    arrivals.append(Arrival(waiter.run_id, waiter.key, row[0], outcome_of(session, row)))
        return arrivals


def receive(session: Session, events: Sequence[NewEvent], url: str = "") -> list[Received]:
    """Stores messages; those whose source has sent them before are found. Sorted, because an insert waits for whoever commits the same."""
    for event in events:
        require_storable(source=event.source, provider_id=event.provider_id, name=event.name, key=event.key, payload=event.payload)
    now = session.now
    ordered = sorted(events, key=lambda event: (event.source, event.provider_id, event.id))
    counts = session.each(Work("put_event", [(*event, now) for event in ordered]))
    created = {event.id for event, count in zip(ordered, counts, strict=True) if count}
    fresh = [event for event in events if event.id in created]
    if fresh:
        starting = {name for (name,) in session.rows("starting_events", names=sorted({event.name for event in fresh}))}
        wakes = Work("wake_for_event", [(now, event.name, event.key, event.id) for event in fresh])
        tasks = Work("task_for_event", [(event.id, event.key, now, event.name) for event in fresh if event.name in starting])
        session.many([work for work in (wakes, tasks) if work.rows])
    ids = [event.id if event.id in created else _known(session, event, url) for event in events]
    told = {one.event_id: one for one in outcomes(session, ids)}
    return [told[id]._replace(created=id == event.id and id in created) for event, id in zip(events, ids, strict=True)]


def outcomes(session: Session, events: Sequence[str]) -> list[Received]:
    """What has become of events, in the order in which they are asked for."""
    if not events:
        return []
    found = {id: Received(id, False, used_by, resolved) for id, used_by, resolved in session.rows("outcomes", ids=list(events))}
    return [found[id] for id in events if id in found]


def _known(session: Session, event: NewEvent, url: str) -> str:
    rows = session.rows("known_event", source=event.source, provider_id=event.provider_id)
    if not rows:  # committed after the caller's snapshot was taken
        raise DatabaseBusy("DATABASE_BUSY", url=url, seconds=0)
    return str(rows[0][0])


def outcome_of(session: Session, run: tuple[Any, ...]) -> str:
    """What became of a run that has ended, as one JSON text."""
    id, type, version, key, status, input = run
    outputs: dict[str, str] = {}
    steps: dict[str, str] = {}
    failure: dict[str, str | None] | None = None
    for step, state, output, code, error in session.rows("steps_of_run", run_id=id):
        steps[step] = state
        if state == "SUCCESS" and output is not None:
            outputs[step] = output
        elif state == "FAILED" and failure is None:
            failure = {"step": step, "code": code, "message": error}
    told = {
        "id": id, "type": type, "version": version, "key": key, "status": status, "input": input,
        "failure": failure, "outputs": outputs, "steps": steps,
    }  # fmt: skip
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)
