"""What comes in from outside, and what goes out: events and their waits, messages, and runs that start by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from halfway.domain.run import Key


class NewEvent(NamedTuple):
    """A message from outside, or from a step; `payload` is JSON text."""

    id: str
    source: str
    provider_id: str  # unique within its source: a repeat changes nothing (R-C2)
    name: str
    key: str
    payload: str


class Received(NamedTuple):
    """What became of a message."""

    event_id: str  # of the row that now stands
    created: bool  # False: it had been received before
    used_by: str | None  # the run that has used it up
    resolved: str | None = None  # not used: the run that waited for such an event last, and waits no longer


class Arrival(NamedTuple):
    """Something that an open wait waits for is here."""

    run_id: str
    key: Key
    source: str  # id of the event, or of the run that has ended
    payload: str  # JSON text


class Inbox(Protocol):
    """Events and what waits for them, inside a transaction that changes runs."""

    def receive(self, events: Sequence[NewEvent]) -> Sequence[Received]:
        """Stores messages, in this order; one that its source has sent before is found, and nothing is changed."""
        ...

    def waiting(self, events: Sequence[str]) -> Sequence[str]:
        """Runs with an open wait for one of these events, by id; for each event at most as many as there are events."""
        ...

    def arrived(self, runs: Sequence[str]) -> Sequence[Arrival]:
        """What has come for the open waits of these runs, which are locked: of each wait the oldest event that is not used up.

        An event goes to one wait, the one that has waited longest; two waits of one name and key take two events.
        """
        ...

    def outcomes(self, events: Sequence[str]) -> Sequence[Received]:
        """What has become of these events, by id."""
        ...


class Message(NamedTuple):
    """Something that somebody outside must hear of; handed over at least once, so its id tells a repeat."""

    id: str
    at: int
    what: str  # PERSON_NEEDED, APPROVAL_ASKED, INCIDENT, or EVENT for what a step has emitted
    run_id: str
    step: str | None
    role: str
    code: str
    tries: int  # how often it has been taken, this time included
    event: NewEvent | None = None


class Outbox(Protocol):
    """Messages to people and to other systems, written in the transaction that they tell about."""

    def take(self, limit: int, lease: int) -> Sequence[Message]:
        """Messages that are due; nobody else is given them for `lease` microseconds."""
        ...

    def delivered(self, id: str) -> None:
        """It was handed over."""
        ...

    def failed(self, id: str, error: str, again_at: int) -> None:
        """It could not be handed over; it is tried again."""
        ...


class Task(NamedTuple):
    """A run that is to be started because something has happened (R-C5)."""

    id: str
    type: str  # of the workflow that is to be started
    kind: str  # EVENT or RUN
    name: str  # of the event, or the type of the run that has ended
    key: str  # of the event, or of the run that has ended; empty if it has none
    payload: str | None  # of the event, or what became of the run, as a wait for it would be told
    run_id: str | None  # that has ended
    tries: int = 0  # how often its input could not be made


class Triggers(Protocol):
    """Tasks that events and the ends of runs have made for registered workflows."""

    def due(self, types: Sequence[str], limit: int) -> Sequence[Task]:
        """Tasks for workflows of these types, the oldest first; whoever creates the run of one has done it."""
        ...

    def failed(self, id: str, error: str, again_at: int) -> None:
        """Its input could not be made; it is tried again."""
        ...

    def drop(self, id: str) -> None:
        """It starts nothing: its function said so."""
        ...
