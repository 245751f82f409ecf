"""One step of a run as an operator sees it: its attempts, what it waits for, and what has become of its undo."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from halfway.authoring.failures import bounded
from halfway.control.items import NONE, ItemShown, ItemsShown, items_shown
from halfway.control.shown import instant, moment, rfc3339, what_is_shown
from halfway.domain.effects import EffectView, state_of
from halfway.domain.items import have_failed
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import PROBE_OF, Happened, Key, Kind
from halfway.domain.spec import Sort, StepSpec, WorkflowSpec
from halfway.domain.waits import is_gate
from halfway.ports import AttemptRow, Detail, RecordDetail, WaitRow

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AttemptShown:
    """One try of a step, of its probe, its check, its undo, or what belongs to that."""

    n: int
    kind: str  # STEP, PROBE, CHECK, COMPENSATION, COMPENSATION_PROBE, DRAFT
    job_id: str
    worker: str
    started_at: datetime
    effect_began_at: datetime | None
    ended_at: datetime | None
    ended: str | None
    code: str
    settled: str | None  # what has proven what happened

    def to_json(self) -> Json:
        return {
            "n": self.n, "kind": self.kind, "jobId": self.job_id, "worker": self.worker, "startedAt": rfc3339(self.started_at),
            "effectBeganAt": rfc3339(self.effect_began_at), "completedAt": rfc3339(self.ended_at), "outcome": self.ended,
            "errorCode": self.code or None, "settledBy": self.settled,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WaitShown:
    """What a step waits for now, or what is to be approved before its next attempt."""

    sort: str  # EVENT, RUN, TIME, APPROVAL
    name: str  # of the event, the type of the other workflow, or the role that is asked
    key: str | None  # of the event or of the other run
    until: datetime | None
    shown: object  # what a person is to approve
    shown_hash: str | None  # an approval is bound to it
    approved_by: tuple[str, ...]

    def to_json(self) -> Json:
        return {
            "sort": self.sort, "name": self.name, "key": self.key, "until": rfc3339(self.until), "shown": self.shown,
            "shownHash": self.shown_hash, "approvedBy": list(self.approved_by),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class UndoShown:
    """The compensation of a step."""

    status: str  # a member of effects.Undone (R-A5)
    attempts: int
    approver: str
    code: str
    message: str
    waits: WaitShown | None  # what is to be approved before it is undone

    def to_json(self) -> Json:
        return {
            "status": self.status, "attemptCount": self.attempts, "approver": self.approver, "errorCode": self.code or None,
            "errorMessage": self.message or None, "waits": None if self.waits is None else self.waits.to_json(),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RoundShown:
    """What an earlier round of a loop has brought."""

    id: str
    round: int
    status: str
    effect: str
    attempts: int
    output: object
    error_code: str
    message: str

    def to_json(self) -> Json:
        return {
            "id": self.id, "round": self.round, "status": self.status, "effect": self.effect, "attemptCount": self.attempts,
            "output": self.output, "errorCode": self.error_code or None, "errorMessage": self.message or None,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class StepShown:
    """One step of a run, also one that has not begun."""

    id: str
    name: str
    sequence: int
    status: str
    kind: str  # READ, CREATE, NOTIFY, CHANGE, DELEGATE or TRANSACTION; of a wait EVENT, RUN, TIME or APPROVAL
    effect: str  # none, happened, not, unknown
    attempts: int
    waits_for: str  # the role that must decide
    output: object
    error_code: str
    message: str
    started_at: datetime | None
    ended_at: datetime | None
    history: tuple[AttemptShown, ...]
    evidence: tuple[object, ...]
    artifacts: tuple[Json, ...]
    waits: WaitShown | None = None
    undo: UndoShown | None = None
    items: ItemsShown | None = None  # of a step that is done for many
    undo_items: ItemsShown | None = None  # of its undo
    round: int = 1
    rounds: tuple[RoundShown, ...] = ()  # of a loop, those before this one
    probe_said: str = ""  # why its probe, or that of its undo, could not tell

    def to_json(self) -> Json:
        return {
            "id": self.id, "name": self.name, "sequence": self.sequence, "status": self.status, "effectKind": self.kind,
            "effect": self.effect, "attemptCount": self.attempts, "waitsFor": self.waits_for or None, "output": self.output,
            "errorCode": self.error_code or None, "errorMessage": self.message or None, "startedAt": rfc3339(self.started_at),
            "completedAt": rfc3339(self.ended_at), "attempts": [one.to_json() for one in self.history], "evidence": list(self.evidence),
            "artifacts": list(self.artifacts), "waits": None if self.waits is None else self.waits.to_json(),
            "undo": None if self.undo is None else self.undo.to_json(), "probeSaid": self.probe_said or None,
            "items": None if self.items is None else self.items.to_json(),
            "undoItems": None if self.undo_items is None else self.undo_items.to_json(),
            "round": self.round, "rounds": [one.to_json() for one in self.rounds],
        }  # fmt: skip


DOUBTFUL = (RecordStatus.UNKNOWN, RecordStatus.WAITING)


def steps_shown(
    spec: WorkflowSpec, detail: Detail, waits: Sequence[WaitRow], effects: Sequence[EffectView],
    troubled: Mapping[Key, tuple[ItemShown, ...]] = NONE,
) -> Iterator[StepShown]:  # fmt: skip
    """Puts together what the database knows about each step."""
    rounds: defaultdict[str, list[RecordDetail]] = defaultdict(list)
    for one in detail.records:
        if not one.record.key.item:
            rounds[one.record.key.step].append(one)
    happened = {effect.step: effect.happened for effect in effects}
    many = items_shown(detail.counts, troubled)
    for step in spec.steps:
        effect = happened.get(step.name, Happened.NONE)
        yield _step(spec, step, detail, rounds=rounds[step.name], waits=waits, effect=effect, many=many)


def _step(
    spec: WorkflowSpec, step: StepSpec, detail: Detail, *, rounds: Sequence[RecordDetail], waits: Sequence[WaitRow], effect: Happened,
    many: Mapping[Key, ItemsShown],
) -> StepShown:  # fmt: skip
    """As it stands in its last round, with the attempts of all."""
    rounds = sorted(rounds, key=lambda one: one.record.key.round)
    last = max((one.record.key.round for one in rounds if one.record.key.kind is Kind.STEP), default=1)
    records: Mapping[Kind, RecordDetail] = {one.record.key.kind: one for one in rounds if one.record.key.round == last}
    run_id, own, undo = detail.run.id, records.get(Kind.STEP), records.get(Kind.COMPENSATION)
    record = None if own is None else own.record
    items = many.get(Key(step.name, last))
    if items is not None and step.sort is Sort.CHILDREN:
        effect = items.known.effect
    begun = record is not None and (record.attempts or effect is Happened.UNKNOWN)
    history = [_attempt(run_id, one.record.key, attempt) for one in rounds for attempt in one.attempts]
    return StepShown(
        id=Key(step.name, last).name_in(run_id), round=last,
        rounds=tuple(_round(run_id, one) for one in rounds if _is_past(one, last)), name=step.name, sequence=spec.order[step.name],
        status=(RecordStatus.PENDING if record is None else record.status).value,
        kind=step.sort.value if step.effect is None else step.effect.value,
        effect=(effect if begun else Happened.NONE).value,
        attempts=0 if record is None else record.attempts,
        waits_for=next((one.record.asks for one in records.values() if one.record.asks), ""),
        output=_output(own),
        error_code="" if record is None else record.code, message="" if own is None else own.error or "",
        started_at=None if record is None else moment(record.started_at), ended_at=None if record is None else moment(record.ended_at),
        history=tuple(sorted(history, key=lambda attempt: (attempt.started_at, attempt.n))),
        evidence=tuple(json.loads(row.data) for row in detail.evidence if row.key.step == step.name),
        artifacts=tuple(
            {"id": row.id, "name": row.name, "sha256": row.sha256, "size": row.size, "createdAt": rfc3339(instant(row.created_at))}
            for row in detail.artifacts if row.key.step == step.name
        ),
        waits=None if own is None else _wait(spec, detail, own, waits),
        items=items, undo_items=many.get(Key(step.name, last, kind=Kind.COMPENSATION)),
        undo=None if undo is None else _undo(spec, detail, undo), probe_said=_probe_said(records),
    )  # fmt: skip


def said_by_conditions(detail: Detail) -> dict[Key, str]:
    """What conditions said that could not be answered."""
    failed = [one for one in detail.records if one.record.key.kind is Kind.CONDITION and one.record.status is RecordStatus.FAILED]
    return {one.record.key: bounded(f"{one.record.code}: {one.error}" if one.error else one.record.code, 300) for one in failed}


def _is_past(one: RecordDetail, last: int) -> bool:
    return one.record.key.kind is Kind.STEP and one.record.key.round < last


def _round(run_id: str, one: RecordDetail) -> RoundShown:
    record = one.record
    return RoundShown(
        id=record.key.name_in(run_id), round=record.key.round, status=record.status.value, effect=record.effect.value,
        attempts=record.attempts, output=_output(one), error_code=record.code, message=one.error or "",
    )  # fmt: skip


def _probe_said(records: Mapping[Kind, RecordDetail]) -> str:
    """The word of the probe about a record that is in doubt and asks a person."""
    for kind, probe in PROBE_OF.items():
        asking, asked = records.get(kind), records.get(probe)
        if asking is not None and asked is not None and asking.record.asks and asking.record.status in DOUBTFUL:
            return asked.error or ""
    return ""


def _output(own: RecordDetail | None) -> object:
    """A step that waits has said what for, and has no output yet; of one whose items have failed it is kept for who accepts them."""
    if own is None or own.output is None or own.record.status is RecordStatus.WAITING or have_failed(own.record):
        return None
    return json.loads(own.output)


def _attempt(run_id: str, key: Key, row: AttemptRow) -> AttemptShown:
    return AttemptShown(
        n=row.n, kind=key.kind.value, job_id=f"{key.name_in(run_id)}#{row.n}", worker=row.epoch, started_at=instant(row.started_at),
        effect_began_at=moment(row.mark_at), ended_at=moment(row.ended_at), ended=None if row.ended is None else row.ended.value,
        code=row.code, settled=row.settled,
    )  # fmt: skip


def _wait(spec: WorkflowSpec, detail: Detail, own: RecordDetail, waits: Sequence[WaitRow]) -> WaitShown | None:
    record = own.record
    if record.status is not RecordStatus.WAITING:
        return None
    if is_gate(record):
        return _gate(spec, detail, own)
    row = next((row for row in reversed(waits) if row.key == record.key and row.closed_at is None), None)
    if row is None:
        return None
    asked = row.sort == Sort.APPROVAL
    return WaitShown(
        sort=row.sort, name=record.asks if asked else row.name, key=None if asked else row.wait_key or None,
        until=moment(record.ready_at), shown=None if row.shown is None else json.loads(row.shown),
        shown_hash=row.wait_key if asked else None, approved_by=record.approved_by,
    )  # fmt: skip


def _gate(spec: WorkflowSpec, detail: Detail, one: RecordDetail) -> WaitShown:
    shown, shown_hash = what_is_shown(spec, detail, one.record)
    return WaitShown(
        sort=Sort.APPROVAL.value, name=one.record.asks, key=None, until=None, shown=json.loads(shown), shown_hash=shown_hash,
        approved_by=one.record.approved_by,
    )  # fmt: skip


def _undo(spec: WorkflowSpec, detail: Detail, undo: RecordDetail) -> UndoShown:
    record = undo.record
    return UndoShown(
        status=state_of(record).value, attempts=record.attempts, approver=record.asks or spec.decides(spec.unit(record.key)),
        code=record.code, message=undo.error or "", waits=_gate(spec, detail, undo) if is_gate(record) else None,
    )  # fmt: skip
