"""What starts runs at certain times: how far each schedule has come, and what became of its ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from halfway.domain.draft import Audit
from halfway.domain.schedule import Account, Reason, Standing
from halfway.domain.spec import ScheduleSpec
from halfway.ports.running import NewRun, Started


class ScheduleRow(NamedTuple):
    """A schedule as the newest version of its workflow has it."""

    type: str
    name: str
    version: int
    spec: ScheduleSpec
    accounted_at: int  # every tick up to here has started, waits, or was left out
    next_at: int | None  # when the next one is due
    paused_at: int | None
    retired_at: int | None  # since when no workflow has it
    revision: int


class Looked(NamedTuple):
    """A schedule with something to do, as of one moment."""

    row: ScheduleRow
    standing: Standing
    now: int


class Schedules(Protocol):
    """The ticks of schedules. Whoever writes has seen the last revision, so any number may look at the same clock."""

    def due(self, types: Sequence[str]) -> Sequence[Looked]:
        """Schedules of these workflows with a tick that is due, or that waits to be started; none that is paused."""
        ...

    def account(self, row: ScheduleRow, account: Account) -> bool:
        """Keeps what becomes of the ticks that were due; False if somebody else was faster."""
        ...

    def start(self, row: ScheduleRow, due: int, run: NewRun) -> Started | None:
        """Creates the run of a tick that waits, in one transaction with it; None if somebody else was faster."""
        ...

    def skip(self, row: ScheduleRow, due: int, reason: Reason) -> None:
        """Leaves out a tick that waits."""
        ...

    def failed(self, row: ScheduleRow, due: int, error: str, again_at: int) -> None:
        """Its input could not be made; it is tried again."""
        ...

    def ensure(self, type: str, spec: ScheduleSpec) -> None:
        """A schedule of the engine's own upkeep."""
        ...

    def take(self, row: ScheduleRow, account: Account) -> int | None:
        """The tick that this worker is to do of the engine's own upkeep; None if it is another's."""
        ...

    def undone(self, row: ScheduleRow, due: int, error: str) -> None:
        """What has gone wrong with the engine's own upkeep."""
        ...


class ScheduleDetail(NamedTuple):
    """A schedule, and what waits."""

    row: ScheduleRow
    waiting: int
    error: str | None  # why the last one of these could not be started


class TickRow(NamedTuple):
    """A tick, and what became of it."""

    due: int
    outcome: str  # WAITING, STARTED, SKIPPED
    origin: str  # SCHEDULE; TRIGGER: a person had it started; BACKFILL
    run_id: str | None
    reason: str  # why it was left out
    at: int
    next_at: int | None
    tries: int
    error: str | None
    status: str | None = None  # of its run


class MissedRow(NamedTuple):
    """Many ticks that were left out."""

    first: int
    last: int
    total: int
    at: int


class Timetable(Protocol):
    """What people ask and order about schedules."""

    def schedules(self, *, type: str | None = None, name: str | None = None) -> Sequence[ScheduleDetail]:
        """Schedules in order of type and name, those that no workflow has any more included."""
        ...

    def ticks(self, type: str, name: str, *, limit: int = 20) -> Sequence[TickRow]:
        """What became of its ticks, the newest first."""
        ...

    def missed(self, type: str, name: str, *, limit: int = 20) -> Sequence[MissedRow]:
        """Ticks that were left out as a whole after a long outage, the newest first."""
        ...

    def set_paused(self, type: str, name: str, *, paused: bool, audit: Audit) -> bool:
        """Whether it was not so before; what is ordered and who ordered it are kept together."""
        ...

    def note(self, type: str, name: str, audit: Audit) -> None:
        """Keeps that something was ordered, or refused."""
        ...

    def order(self, type: str, name: str, due: int, *, origin: str, run: NewRun, audit: Audit | None) -> Started | None:
        """Creates a run for this time, in one transaction with its tick; None if there is one."""
        ...

    def started(self, type: str, name: str, first: int, last: int) -> frozenset[int]:
        """The ticks of a time that have a run."""
        ...

    def open(self, type: str, name: str) -> int:
        """How many runs that a backfill has started have not ended."""
        ...

    def now(self) -> int:
        """The database's time."""
        ...
