"""The facts a decision is made about, and the commands it answers with. Both are closed unions; neither names a row id or a payload."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from halfway.domain.lifecycle import RunStatus, Trigger
from halfway.domain.run import Ended, Key, Record, Report, RunRow, Tally
from halfway.domain.spec import Sort

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
    """The run holds now what it must hold before it begins."""


class Postponed(NamedTuple):
    """The run begins at this time and not before; `new_input`: with another input."""

    at: int
    new_input: bool = False


class Arrived(NamedTuple):
    """What a waiting record waits for is here: an event, or the end of another run; its payload becomes the output."""

    key: Key
    source: str  # id of the event or of the run


class AtRest(NamedTuple):
    """None of the items of a step moves by itself any more."""

    key: Key
    tally: Tally


class ParentStopped(NamedTuple):
    """The run that has started this one stops, and this one with it."""


class ChildEnded(NamedTuple):
    """A run that this run has started, or found standing, has reached a final state."""

    key: Key
    status: RunStatus


class CancelAsked(NamedTuple):
    """A person or program wants the run to stop at the next safe boundary; `undo`: and what is done to be undone."""

    undo: bool = False


class ResumeAsked(NamedTuple):
    """Go on after what stopped the run, having checked what it builds on."""


class RetryAsked(NamedTuple):
    """Give one step its attempts anew; `not_happened` is a person's word about an UNKNOWN step."""

    step: str
    not_happened: bool = False
    gone: bool = False  # the person made sure that the attempt can do nothing any more
    new_input: bool = False  # with an input that the person has corrected


class MarkedSuccess(NamedTuple):
    """A person has seen that the step's effect happened."""

    step: str


class ProbeAsked(NamedTuple):
    """Look now whether an UNKNOWN step happened."""

    step: str


class SkipAsked(NamedTuple):
    """Go on without this step; of a compensation: accept what it would have undone as it is."""

    step: str


class CompensateAsked(NamedTuple):
    """Undo what is done, in reverse order: all of it, or from one step back."""

    step: str | None = None


class Approved(NamedTuple):
    """A person approves a step, or the next attempt of one; Control has compared what this person was shown."""

    step: str
    by: str


class Rejected(NamedTuple):
    """A person refuses a step, or the next attempt of one."""

    step: str
    by: str


class ReleaseAsked(NamedTuple):
    """The owner opens the record that an UNKNOWN step holds, for other runs."""

    step: str


Order = (
    CancelAsked | ResumeAsked | RetryAsked | MarkedSuccess | ProbeAsked | SkipAsked | CompensateAsked | Approved | Rejected | ReleaseAsked
)
Fact = (
    Created | Postponed | Claimed | Finished | Late | Gone | LookAgain | Unblocked | Arrived | AtRest | ChildEnded | ParentStopped | Order
)


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


class StopItems(NamedTuple):
    """Items that have not begun are not begun any more; `detached`: children that run are not waited for either."""

    key: Key
    code: str
    detached: bool = False


class PassDown(NamedTuple):
    """The children of a step that still run are asked to stop."""

    key: Key


class ReopenItems(NamedTuple):
    """Items that have failed get their attempts anew, those that had happened before they failed excepted."""

    key: Key
    not_found: bool  # also those that a probe did not find while the run stopped


class UndoItems(NamedTuple):
    """Each item that has happened gets a compensation of its own."""

    key: Key


class OpenWait(NamedTuple):
    """A record waits from now on; what it is shown or waits for is the payload of the fact."""

    key: Key
    n: int  # the attempt that said what for
    sort: Sort
    name: str
    wait_key: str  # the key of an event or a run; the hash of what a person is shown
    since: int  # an event that came earlier is too old


class CloseWait(NamedTuple):
    """It waits no longer; `how`: ARRIVED, TIMED_OUT, CLOSED …; `source`: the event that is used up, if one is."""

    key: Key
    how: str
    source: str | None = None


class ReleaseHold(NamedTuple):
    """The business record that a step held is free for other runs."""

    key: Key


class EditInput(NamedTuple):
    """The run's input is replaced by the payload of the order; the old one is kept, if anything has begun with it."""

    keep: bool = True


class Tell(NamedTuple):
    """Somebody must hear of it: a role that may decide (R-J4), or whoever handles incidents (R-D6)."""

    what: Told
    key: Key | None
    role: str
    code: str = ""


class Told(StrEnum):
    """What people are told about."""

    PERSON_NEEDED = "PERSON_NEEDED"
    APPROVAL_ASKED = "APPROVAL_ASKED"
    INCIDENT = "INCIDENT"


OfItems = StopItems | PassDown | ReopenItems | UndoItems
Telling = OpenWait | CloseWait | ReleaseHold | EditInput | Tell | OfItems
Command = Move | StartAttempt | EndAttempt | SettleAttempt | SetRun | Note | Telling
