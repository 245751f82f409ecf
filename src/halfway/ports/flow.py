"""What limits how much runs at once: queues and their slots, lines in which runs wait, pauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from halfway.domain.draft import Audit
from halfway.domain.line import Limits, Starts


class FlowState(NamedTuple):
    """Limits and pauses, as they stand for everybody on this database."""

    limits: Mapping[str, Limits]
    paused_queues: frozenset[str] = frozenset()
    paused_types: frozenset[str] = frozenset()

    @property
    def binds(self) -> bool:
        """Whether anything is limited or paused at all."""
        return bool(self.limits or self.paused_queues or self.paused_types)


class OpenQueue(NamedTuple):
    """A queue with limits, locked until the end of the transaction."""

    limits: Limits
    taken: Mapping[int, str]  # slot -> the attempt that holds it
    starts: Starts


class Flow(Protocol):
    """Limits, inside a transaction that changes runs."""

    def state(self) -> FlowState:
        """What holds now; read anew only when it has changed."""
        ...

    def open(self, queue: str) -> OpenQueue | None:
        """Locks a queue with limits; None if somebody else is at it, or it has none any more."""
        ...

    def count(self, queue: str, starts: Starts) -> None:
        """What counts against the rate of an open queue from now on."""
        ...

    def give_back(self, holders: Sequence[str]) -> None:
        """These attempts hold no slot any more."""
        ...

    def tidy(self) -> int:
        """Gives back the slots of attempts that are over, and forgets starts that are no longer put off; answers how many slots."""
        ...

    def in_line(self, limit: int) -> Sequence[str]:
        """Runs that wait in line and could begin, the first ones first."""
        ...

    def take(self, run_ids: Sequence[str]) -> frozenset[str]:
        """Gives these runs, which are locked, all that they claim, in this order; answers those that hold it now."""
        ...


class PauseRow(NamedTuple):
    """A queue or a workflow that starts nothing new."""

    what: str  # QUEUE, WORKFLOW
    name: str
    at: int
    actor: str
    reason: str


class QueueRow(NamedTuple):
    """A queue that has limits, and how much of them is used."""

    name: str
    limits: Limits
    running: int  # attempts that hold a slot
    started: int  # attempts within the last minute
    next_at: int | None  # when more may begin, if the rate is used up


class LineRow(NamedTuple):
    """What a run must hold, and whether there is any left."""

    key: str
    slots: int
    held: int  # by how many runs
    waits: bool  # this run waits for it, or for something else that it needs at the same time


class Queues(Protocol):
    """Limits and pauses as people see and set them."""

    def declare(self, limits: Mapping[str, Limits]) -> None:
        """What these queues allow from now on; writes nothing if they do already."""
        ...

    def limited(self) -> Sequence[QueueRow]:
        """Queues that have limits, by name."""
        ...

    def ready(self) -> Mapping[str, int]:
        """How many records could start now, by queue."""
        ...

    def pauses(self) -> Sequence[PauseRow]:
        """What is paused."""
        ...

    def set_pause(self, what: str, name: str, *, paused: bool, audit: Audit) -> bool:
        """Pauses or resumes, and audits it; False if it was so before, and then nothing is written."""
        ...

    def lines(self, run_id: str) -> Sequence[LineRow]:
        """What a run must hold before it begins."""
        ...
