"""Items of a step as an operator sees them: how many there are in each state, and those that went wrong by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from halfway.control.shown import moment, rfc3339
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Counted, Happened, Key, Kind
from halfway.ports import CountRow, Detail, ItemRow, Reading

Json = dict[str, Any]

NAMED = 10  # so many items that went wrong are named
BEFORE_ALL = -(2**62)  # before the first place in a list; an undo counts them backwards, below 0
MOVING = (RecordStatus.PENDING, RecordStatus.RUNNING, RecordStatus.WAITING)


@dataclass(frozen=True, kw_only=True)
class ItemShown:
    """One item of a step, or its undo."""

    number: int  # its place in the list
    key: str
    kind: str  # STEP or COMPENSATION
    status: str
    attempts: int
    effect: str  # none, happened, not, unknown; empty of a child: its run says that
    asks: str
    error_code: str
    message: str
    run: str | None  # the run that stands for it, if it is a child
    started_at: datetime | None
    ended_at: datetime | None

    def to_json(self) -> Json:
        return {
            "number": self.number, "key": self.key, "kind": self.kind, "status": self.status, "attemptCount": self.attempts,
            "effect": self.effect or None, "waitsFor": self.asks or None, "errorCode": self.error_code or None,
            "errorMessage": self.message or None, "workflowRunId": self.run, "startedAt": rfc3339(self.started_at),
            "completedAt": rfc3339(self.ended_at),
        }  # fmt: skip


NONE: Mapping[Key, tuple[ItemShown, ...]] = {}


@dataclass(frozen=True, kw_only=True)
class ItemsShown:
    """How far the items of a step have come."""

    total: int
    succeeded: int
    failed: int
    skipped: int
    running: int
    in_line: int  # ready, or to be tried again later
    not_begun: int
    unknown: int
    asking: int  # of the unknown, those about which a person must decide
    known: Counted  # with what is known of their effects
    troubled: tuple[ItemShown, ...] = ()  # the first of those in doubt, then of those that failed

    def to_json(self) -> Json:
        return {
            "total": self.total, "succeeded": self.succeeded, "failed": self.failed, "skipped": self.skipped, "running": self.running,
            "inLine": self.in_line, "notBegun": self.not_begun, "unknown": self.unknown, "asking": self.asking,
            "effects": {"happened": self.known.happened, "not": self.known.missing, "unknown": self.known.unknown},
            "troubled": [one.to_json() for one in self.troubled],
        }  # fmt: skip


def counted(rows: Sequence[CountRow]) -> dict[Key, Counted]:
    """What the rows say of each step as a whole, and of its undo."""
    groups: defaultdict[Key, list[CountRow]] = defaultdict(list)
    for row in rows:
        groups[_whole(row)].append(row)
    return {key: _counted(group) for key, group in groups.items()}


def _whole(row: CountRow) -> Key:
    return Key(row.step, row.round, kind=Kind(row.kind))


def _counted(rows: Sequence[CountRow]) -> Counted:
    return Counted(
        total=sum(row.number for row in rows),
        done=sum(row.number for row in rows if row.status == RecordStatus.SUCCESS),
        failed=sum(row.number for row in rows if row.status == RecordStatus.FAILED),
        moving=sum(row.number for row in rows if row.status in MOVING),
        happened=sum(row.number for row in rows if row.effect is Happened.HAPPENED),
        unknown=sum(row.number for row in rows if row.effect is Happened.UNKNOWN),
        again=sum(row.number for row in rows if row.again),
    )


def items_shown(rows: Sequence[CountRow], troubled: Mapping[Key, tuple[ItemShown, ...]] = NONE) -> dict[Key, ItemsShown]:
    """Of each step as a whole, and of its undo."""
    return {key: _shown([row for row in rows if _whole(row) == key], whole, troubled.get(key, ())) for key, whole in counted(rows).items()}


def _shown(rows: Sequence[CountRow], whole: Counted, troubled: tuple[ItemShown, ...]) -> ItemsShown:
    def number(status: RecordStatus, *, ready: bool | None = None, asks: bool | None = None) -> int:
        return sum(row.number for row in rows if row.status == status and ready in (None, row.ready) and asks in (None, row.asks))

    return ItemsShown(
        total=whole.total, succeeded=whole.done, failed=whole.failed,
        skipped=number(RecordStatus.SKIPPED), running=number(RecordStatus.RUNNING), in_line=number(RecordStatus.PENDING, ready=True),
        not_begun=number(RecordStatus.PENDING, ready=False), unknown=number(RecordStatus.UNKNOWN),
        asking=number(RecordStatus.UNKNOWN, asks=True), known=whole, troubled=troubled,
    )  # fmt: skip


def troubled(reading: Reading, detail: Detail) -> Mapping[Key, tuple[ItemShown, ...]]:
    """By step as a whole, the first of its items that are in doubt or have failed; of its undo too."""
    found: defaultdict[Key, tuple[ItemShown, ...]] = defaultdict(tuple)
    for row in sorted(detail.counts, key=lambda row: row.status != RecordStatus.UNKNOWN):
        key = _whole(row)
        if row.status not in (RecordStatus.UNKNOWN, RecordStatus.FAILED) or any(one.status == row.status for one in found[key]):
            continue
        if room := NAMED - len(found[key]):
            found[key] += page(reading, detail.run.id, key, status=row.status, limit=room)
    return found


def page(
    reading: Reading, run_id: str, key: Key, *, status: str | None, limit: int, after: int = BEFORE_ALL
) -> tuple[ItemShown, ...]:  # fmt: skip
    """The items of a step as a whole, or of its undo, from this place on."""
    rows = reading.items(run_id, key.step, key.round, after=after, limit=limit, status=status, kind=key.kind)
    return tuple(_item(row, key.kind) for row in rows)


def _item(row: ItemRow, kind: Kind) -> ItemShown:
    return ItemShown(
        number=abs(row.position), key=row.item, kind=kind.value, status=row.status, attempts=row.attempts,
        effect="" if row.run is not None and kind is Kind.STEP else row.effect, asks=row.asks, error_code=row.code, message=row.error or "",
        run=row.run, started_at=moment(row.started_at), ended_at=moment(row.ended_at),
    )  # fmt: skip
