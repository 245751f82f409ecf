"""The facts a decision is made about, and the commands it answers with. Both are closed unions; neither names a row id or a payload."""

from __future__ import annotations

from typing import NamedTuple

from halfway.domain.lifecycle import Trigger
from halfway.domain.run import Ended, Key, Record, Report, RunRow

# ── facts ──


class Created(NamedTuple):
    """The run was just created."""


class Claimed(NamedTuple):
    """A slot is free for this record."""

    key: Key
    epoch: str
    takes_mark: bool | None = None  # whether the code at hand does; None: as the definition says


class Finished(NamedTuple):
    """The running attempt has ended."""

    key: Key
    n: int
    report: Report


class Late(NamedTuple):
    """An attempt that was already ended for it hands in what really happened."""

    key: Key
    n: int
    report: Report


class Gone(NamedTuple):
    """From this time on, a lost attempt can send nothing any more."""

    key: Key
    n: int
    at: int


class LookAgain(NamedTuple):
    """Time has passed, or something outside the run has changed."""


class Unblocked(NamedTuple):
    """The run holds its resource now."""


class CancelAsked(NamedTuple):
    """A person or program wants the run to stop at the next safe boundary."""


class ResumeAsked(NamedTuple):
    """Go on after what stopped the run, having checked what it builds on."""


class RetryAsked(NamedTuple):
    """Give one step its attempts anew; `not_happened` is a person's word about an UNKNOWN step."""

    step: str
    not_happened: bool = False
    gone: bool = False  # the person made sure that the attempt can do nothing any more


class MarkedSuccess(NamedTuple):
    """A person has seen that the step's effect happened."""

    step: str


Order = CancelAsked | ResumeAsked | RetryAsked | MarkedSuccess
Fact = Created | Claimed | Finished | Late | Gone | LookAgain | Unblocked | Order


# ── commands ──


class Move(NamedTuple):
    """A record moves to a new state; `keep`: the payload of the fact becomes its output."""

    record: Record
    trigger: Trigger
    keep: bool = False


class StartAttempt(NamedTuple):
    """An attempt is recorded before it can have an effect."""

    key: Key
    n: int
    epoch: str
    marked: bool


class EndAttempt(NamedTuple):
    """The running attempt is over."""

    key: Key
    n: int
    ended: Ended
    code: str
    gone_at: int | None


class SettleAttempt(NamedTuple):
    """It is now known about a lost attempt whether it happened, or at least since when it is gone."""

    key: Key
    n: int
    how: str  # what settled it; empty: still unsettled, only gone
    gone_at: int | None = None


class SetRun(NamedTuple):
    """The run's own row."""

    run: RunRow
    ended: bool = False  # it has just reached a final state


class Note(NamedTuple):
    """A line for the journal."""

    name: str
    key: Key | None = None
    n: int | None = None
    data: dict[str, object] | None = None


Command = Move | StartAttempt | EndAttempt | SettleAttempt | SetRun | Note
