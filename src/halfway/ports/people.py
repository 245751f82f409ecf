"""What needs a person, across runs, and what people order for many runs at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from halfway.domain.run import Key, Record, RunRow
from halfway.ports.events import Message, NewEvent, Task
from halfway.ports.reading import AuditRow


class AskRow(NamedTuple):
    """A record that needs a person, or waits for one; or a run that has stopped for a person, though no record asks."""

    run: RunRow
    run_key: str | None
    record: Record | None
    shown: str | None  # JSON text of what is to be approved
    shown_hash: str | None
    since: int


class EventRow(NamedTuple):
    """A message in the inbox."""

    event: NewEvent
    received_at: int
    processed_at: int | None
    run_id: str | None  # that has used it up


class WaitRow(NamedTuple):
    """A wait of a run, present or past."""

    key: Key
    n: int
    sort: str
    name: str
    wait_key: str
    opened_at: int
    shown: str | None  # JSON text
    closed_at: int | None
    how: str | None
    source: str | None


class IncidentRow(NamedTuple):
    """Something that should not happen, and what became of it."""

    message: Message
    delivered_at: int | None
    error: str | None


class FailedTask(NamedTuple):
    """A run that something should start, and why it has not so far."""

    task: Task
    error: str


class Attention(Protocol):
    """What needs a person, across runs; changes nothing and takes no locks."""

    def asking(self, *, role: str | None = None, limit: int = 200) -> Sequence[AskRow]:
        """Records that need or wait for a person, the oldest first."""
        ...

    def stopped(self, *, limit: int = 200) -> Sequence[AskRow]:
        """Runs that have stopped for their owner, though no record asks, the oldest first."""
        ...

    def counts(self) -> Mapping[str, int]:
        """How many runs there are in each state that is not final, and in FAILED."""
        ...

    def audit_log(
        self, *, run: str | None = None, actor: str | None = None, action: str | None = None, limit: int = 100, before: int | None = None
    ) -> Sequence[AuditRow]:
        """Who ordered what, the newest first."""
        ...

    def events(self, *, name: str | None = None, key: str | None = None, unused: bool = False, limit: int = 100) -> Sequence[EventRow]:
        """Messages, the newest first."""
        ...

    def waits(self, run_id: str) -> Sequence[WaitRow]:
        """What a run waits for and has waited for, in order."""
        ...

    def messages(self, *, what: str | None = None, undelivered: bool = False, limit: int = 100) -> Sequence[IncidentRow]:
        """Messages to people, the newest first."""
        ...

    def failed_tasks(self, *, limit: int = 100) -> Sequence[FailedTask]:
        """Runs that something should start and that could not be started, the oldest first."""
        ...

    def holds(self, run_id: str | None = None) -> Sequence[tuple[str, str]]:
        """Business records that are held, and by which step: (record, run id and step)."""
        ...


class NewBatch(NamedTuple):
    """An order of a person for many runs, as it is given."""

    id: str
    actor: str
    action: str
    reason: str
    filter: str  # JSON text: how the runs were chosen
    arguments: str  # JSON text, of the action
    rate: int | None = None  # at most so many in a minute
    stop_after: int | None = None  # so many failures


class BatchRow(NamedTuple):
    """An order for many runs, and how far it has come."""

    batch: NewBatch
    at: int
    state: str  # READY, RUNNING, PAUSED, STOPPED, DONE
    ended_at: int | None
    counts: Mapping[str, int]  # items by their state


class BatchItem(NamedTuple):
    """One run of an order for many, and what has become of it."""

    n: int
    run_id: str
    step: str | None
    state: str = "WAITING"  # WAITING, DONE, REFUSED, FAILED, SKIPPED
    detail: str | None = None
    at: int | None = None


class Batches(Protocol):
    """Orders for many runs: kept as a whole, carried out one by one, with an outcome for each."""

    def create(self, batch: NewBatch, items: Sequence[tuple[str, str | None]]) -> None:
        """Keeps an order and the (run, step) that it is for, numbered from 1; nothing is carried out before it is RUNNING."""
        ...

    def get(self, id: str) -> BatchRow | None: ...

    def recent(self, *, limit: int = 50) -> Sequence[BatchRow]:
        """Orders, the newest first."""
        ...

    def items(self, id: str, *, state: str | None = None, after: int = 0, limit: int = 1000) -> Sequence[BatchItem]:
        """The items of an order, in order of their number."""
        ...

    def set_state(self, id: str, former: str, state: str) -> bool:
        """Whether it was in its former state and is in the new one now; STOPPED and DONE are its ends."""
        ...

    def running(self) -> Sequence[BatchRow]:
        """Orders that are being carried out, the oldest first."""
        ...

    def next(self, id: str, limit: int) -> Sequence[BatchItem]:
        """The first items of a RUNNING order that wait; an action id made of order and number keeps each from being done twice."""
        ...

    def finish(self, id: str, n: int, state: str, detail: str | None = None) -> bool:
        """The outcome of one item; False if it has one already. The last one makes the order DONE."""
        ...


class Notice(NamedTuple):
    """A message as somebody is told it: what happened, who may decide, with which evidence, and what may be ordered (R-J4)."""

    id: str  # the same when it is told again
    at: str  # RFC 3339, UTC
    what: str  # PERSON_NEEDED, APPROVAL_ASKED, INCIDENT, EVENT
    run_id: str
    type: str
    severity: str
    step: str | None
    role: str
    members: tuple[str, ...]
    code: str
    evidence: str
    reasons: tuple[str, ...]
    actions: tuple[str, ...]  # commands that may be typed
    runbook: str = ""
    event: str | None = None
    key: str | None = None
    payload: str | None = None  # JSON text, of an event

    def to_json(self) -> dict[str, object]:
        return {
            "id": self.id, "at": self.at, "what": self.what, "workflowRunId": self.run_id, "type": self.type, "severity": self.severity,
            "step": self.step, "role": self.role, "members": list(self.members), "errorCode": self.code or None, "evidence": self.evidence,
            "reasons": list(self.reasons), "actions": list(self.actions), "runbook": self.runbook or None, "event": self.event,
            "key": self.key, "payload": None if self.payload is None else json.loads(self.payload),
        }  # fmt: skip


class Notifier(Protocol):
    """Somebody who is told. What raises is told again later, with the same id."""

    def __call__(self, notice: Notice, /) -> None: ...
