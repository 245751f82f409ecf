"""Frozen records of a run: what the database holds and what decisions read. Times are microseconds since the epoch, UTC."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from halfway.domain.lifecycle import RecordStatus, RunStatus


class Kind(StrEnum):
    """What a record stands for; all kinds share states, attempts and rules."""

    STEP = "STEP"
    PROBE = "PROBE"
    CHECK = "CHECK"
    CONDITION = "CONDITION"  # whether a step runs at all
    COMPENSATION = "COMPENSATION"
    COMPENSATION_PROBE = "COMPENSATION_PROBE"  # looks whether a compensation has happened
    DRAFT = "DRAFT"  # what a person is shown before a compensation is approved


# Tuples and not sets: they are asked all the time, and an enum hashes slowly.
ACTING = (Kind.STEP, Kind.COMPENSATION)  # their attempts may have an effect
UNDOING = (Kind.COMPENSATION, Kind.COMPENSATION_PROBE, Kind.DRAFT)
PROBE_OF = {Kind.STEP: Kind.PROBE, Kind.COMPENSATION: Kind.COMPENSATION_PROBE}
PROBED_BY = {probe: kind for kind, probe in PROBE_OF.items()}


class Key(NamedTuple):
    """Which record of a run: one per step, round, item and kind."""

    step: str
    round: int = 1
    item: str = ""
    kind: Kind = Kind.STEP

    @property
    def whole(self) -> Key:
        """Of an item: the record of its step as a whole."""
        return self._replace(item="")

    def name_in(self, run_id: str) -> str:
        """Its id in the world: the same on every attempt, and another one for the compensation of a step."""
        name = f"{run_id}:{self.step}" if self.round == 1 and not self.item else f"{run_id}:{self.step}:{self.round}:{self.item}"
        return f"{name}:undo" if self.kind in UNDOING else name


def latest(records: Mapping[Key, Record], step: str) -> Record | None:
    """The record of a step in its last round; None if it has none yet. Rounds follow each other without a gap."""
    found, record = None, records.get(Key(step))
    while record is not None:
        found, record = record, records.get(Key(step, record.key.round + 1))
    return found


SETTLED_UNDO = (RecordStatus.SUCCESS, RecordStatus.SKIPPED)


def meant(records: Mapping[Key, Record], step: str) -> Record | None:
    """The record that an order about a step means: its compensation while that is open, else the step in its last round."""
    undos = [one for key, one in records.items() if key.kind is Kind.COMPENSATION and key.step == step and one.status not in SETTLED_UNDO]
    if undos:  # of several rounds the one that waits for a person, and the last one first
        return max(undos, key=lambda one: (bool(one.asks), one.key.round))
    return latest(records, step)


def output_of(key: Key) -> str:
    """Under which name the output of a record stands for those who read it when a later round has one of its own."""
    return f"{key.step}#{key.round}"


def error_of(step: str) -> str:
    """Under which name the error text of a failed step stands beside the outputs of steps."""
    return f"{step}#error"


class Tally(NamedTuple):
    """What has become of the items of a step, when none of them moves by itself any more."""

    total: int
    succeeded: int
    partial: int  # of these, those that have succeeded in part
    failed: int
    for_person: int  # of these, those about which a person decides: what an agent spent, or handed over
    stopped: int  # because the run stopped
    asking: int  # nobody knows, and a person is asked
    happened: int  # whose effect is out in the world


class Counted(NamedTuple):
    """What is known of the items of a step, as they are counted to tell about them; no decision is made about it."""

    total: int
    done: int
    failed: int
    moving: int  # not begun, in line, on their way, or waited for
    happened: int
    unknown: int  # nobody knows whether it happened
    again: int  # that a retry of the step tries again

    @property
    def missing(self) -> int:
        """For so many it did not happen."""
        return self.total - self.happened - self.unknown

    @property
    def effect(self) -> Happened:
        """That of all of them together: a doubt about one is a doubt."""
        return Happened.UNKNOWN if self.unknown else Happened.HAPPENED if self.happened else Happened.NOT


def draft_of(key: Key) -> str:
    """Under which name the draft of a compensation stands beside the outputs of steps; no step can have it."""
    return f"{key.step}#{key.round}#draft"


class Happened(StrEnum):
    """What is known about a record's effect in the outside world (R-F2)."""

    NONE = "none"  # nothing that could have an effect has begun
    HAPPENED = "happened"
    NOT = "not"  # proven: it did not happen
    UNKNOWN = "unknown"


class Ended(StrEnum):
    """How an attempt ended, as far as its effect is concerned."""

    SUCCESS = "SUCCESS"
    NOTHING = "NOTHING"  # nothing happened; it may be repeated
    FAILED = "FAILED"  # it will not work; nothing happened, or what happened is known
    LOST = "LOST"  # its answer is missing after its mark
    HANDED_BACK = "HANDED_BACK"  # it never began; it does not count


class Answer(StrEnum):
    """What a probe or a check answered."""

    FOUND = "FOUND"
    ABSENT = "ABSENT"
    CANNOT_TELL = "CANNOT_TELL"
    HOLDS = "HOLDS"
    BROKEN = "BROKEN"


class Intent(StrEnum):
    """What was asked of a whole run, or came over it."""

    CANCEL = "CANCEL"
    EXPIRE = "EXPIRE"
    TIMEOUT = "TIMEOUT"


class Attempt(NamedTuple):
    """An attempt that still matters: it runs, or its answer was lost and nothing has proven what happened."""

    n: int  # rises by one with every start, so it fences every write of the attempt
    epoch: str
    started_at: int
    marked: bool
    lost: bool = False
    gone_at: int | None = None  # from when on it can no longer send anything; None: it may still


class Record(NamedTuple):
    """One unit of a run, with its attempts that are open."""

    key: Key
    status: RecordStatus
    ready_at: int | None = None  # PENDING: from when it may start; UNKNOWN: when to look again; WAITING: how long; None: not by itself
    attempts: int = 0  # the number of the last attempt
    failures: int = 0  # attempts that count against Retry, since a person last reset them
    lost: int = 0  # attempts ended by the death of their worker, likewise
    effect: Happened = Happened.NONE
    code: str = ""
    asks: str = ""  # the role that must decide
    looks: int = 0  # probes asked about the present doubt
    first_at: int | None = None  # start of the first attempt; an idempotent step's key lives from here
    started_at: int | None = None
    ended_at: int | None = None
    approved_until: int | None = None  # a person has approved its next attempt, if it starts before
    approved_by: tuple[str, ...] = ()  # who has; a refused or lost attempt takes the approval with it
    open: tuple[Attempt, ...] = ()

    @property
    def running(self) -> Attempt | None:
        for attempt in self.open:
            if not attempt.lost:
                return attempt
        return None

    @property
    def unsettled(self) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.open if attempt.lost)


class RunRow(NamedTuple):
    """The run itself, without its records."""

    id: str
    type: str
    version: int
    hash: str
    status: RunStatus
    revision: int = 0
    seq: int = 0  # of the last journal entry
    intent: Intent | None = None
    priority: int = 0
    correlation_id: str = ""
    resource: str | None = None
    blocked: bool = False  # stands in line for what it must hold before it begins
    created_at: int = 0
    started_at: int | None = None
    ended_at: int | None = None
    deadline_at: int | None = None
    timeout_at: int | None = None
    timeout_left: int | None = None  # of the run's time, while it waits
    undo: str | None = None  # it is being undone: ALL_BACK, or from this step back
    actor: str = ""  # who started it
    restored_at: int | None = None  # the database was restored then: what is not recorded may have happened nevertheless
    grants: int = 0  # how often a person has granted its whole budget once more


ALL_BACK = "*"


class Snapshot(NamedTuple):
    """A run with all its records, as decisions see it."""

    run: RunRow
    records: Mapping[Key, Record]


class Report(NamedTuple):
    """What an attempt hands in: how it ended, and what proves it."""

    ended: Ended
    code: str = ""
    effect: Happened = Happened.NONE
    retry_after: int | None = None  # microseconds, asked for by the receiver
    answer: Answer | None = None  # of a probe or a check
    gone: bool = True  # the body has returned, so it can send nothing any more
    gone_after: int = 0  # how long after that it may still send (a cancelled coroutine)
    death: bool = False  # its worker died
    final: bool = False  # never retried, whatever Retry says
    total: int | None = None  # of a step that is done for many: for how many
    rewinds: bool = False  # it failed in the way that sends its run back to an earlier step
    waits: str | None = None  # of a wait: the key of what it waits for, or the hash of what a person is shown
    until: int | None = None  # of a wait for a time
    said: str = ""  # of a condition that raised: what it said, for the journal; nothing is decided on it
