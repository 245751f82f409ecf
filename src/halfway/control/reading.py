"""What an operator sees: a run with its steps, its story and what is safe next; lists of runs. Frozen values, JSON in camelCase."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from halfway.control.actions import Actions
from halfway.domain.explain import EffectView, Explanation, Sentence, explain
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.run import Happened, Key, Kind, Snapshot
from halfway.domain.spec import StepSpec, WorkflowSpec
from halfway.ports import AttemptRow, AuditRow, DefinitionRow, Detail, JournalRow, RecordDetail, Row, SchemaRow, WorkerRow

PAGE = 1000
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AttemptShown:
    """One try of a step, of its probe or of its check."""

    n: int
    kind: str  # STEP, PROBE, CHECK
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
class StepShown:
    """One step of a run, also one that has not begun."""

    id: str
    name: str
    sequence: int
    status: str
    kind: str  # READ, CREATE, NOTIFY, CHANGE, DELEGATE or TRANSACTION
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

    def to_json(self) -> Json:
        return {
            "id": self.id, "name": self.name, "sequence": self.sequence, "status": self.status, "effectKind": self.kind,
            "effect": self.effect, "attemptCount": self.attempts, "waitsFor": self.waits_for or None, "output": self.output,
            "errorCode": self.error_code or None, "errorMessage": self.message or None, "startedAt": rfc3339(self.started_at),
            "completedAt": rfc3339(self.ended_at), "attempts": [one.to_json() for one in self.history], "evidence": list(self.evidence),
            "artifacts": list(self.artifacts),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class EntryShown:
    """A line of the journal."""

    seq: int
    at: datetime
    name: str
    step: str
    step_id: str
    job_id: str
    data: Mapping[str, object]

    def to_json(self) -> Json:
        return {
            "seq": self.seq, "at": rfc3339(self.at), "name": self.name, "step": self.step or None, "stepRunId": self.step_id or None,
            "jobId": self.job_id or None, "data": dict(self.data),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AuditShown:
    """Who ordered what, and why."""

    at: datetime
    actor: str
    action: str
    reason: str
    step: str
    evidence: str
    before: str
    after: str

    def to_json(self) -> Json:
        return {
            "at": rfc3339(self.at), "actorId": self.actor, "action": self.action, "reason": self.reason, "step": self.step or None,
            "evidence": self.evidence or None, "before": self.before, "after": self.after,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shown:
    """All that is known about one run."""

    id: str
    type: str
    version: int
    status: RunStatus
    revision: int
    correlation_id: str
    key: str | None
    resource: str | None
    priority: int
    started_by: str
    input: object
    output: object
    deadline_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    updated_at: datetime
    steps: tuple[StepShown, ...]
    journal: tuple[EntryShown, ...]
    audit: tuple[AuditShown, ...]
    explanation: Explanation

    @property
    def current(self) -> tuple[str, ...]:
        """Steps that run, wait, are in doubt or ask somebody."""
        return self.explanation.current

    def to_json(self) -> Json:
        return {
            "id": self.id, "type": self.type, "version": self.version, "status": self.status.value, "revision": self.revision,
            "correlationId": self.correlation_id, "idempotencyKey": self.key, "currentStep": next(iter(self.current), None),
            "resourceKey": self.resource, "priority": self.priority, "startedBy": self.started_by or None, "input": self.input,
            "output": self.output, "deadlineAt": rfc3339(self.deadline_at), "createdAt": rfc3339(self.created_at),
            "startedAt": rfc3339(self.started_at), "completedAt": rfc3339(self.ended_at), "updatedAt": rfc3339(self.updated_at),
            "steps": [step.to_json() for step in self.steps], "timeline": [entry.to_json() for entry in self.journal],
            "audit": [line.to_json() for line in self.audit], "explanation": _explanation_json(self.explanation),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """A run in a list."""

    id: str
    type: str
    version: int
    status: RunStatus
    key: str | None
    current: tuple[str, ...]
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    updated_at: datetime

    def to_json(self) -> Json:
        return {
            "id": self.id, "type": self.type, "version": self.version, "status": self.status.value, "idempotencyKey": self.key,
            "currentStep": next(iter(self.current), None), "createdAt": rfc3339(self.created_at), "startedAt": rfc3339(self.started_at),
            "completedAt": rfc3339(self.ended_at), "updatedAt": rfc3339(self.updated_at),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReadyWork:
    """A record that could start now, and what a worker needs for it."""

    run: str
    type: str
    version: int
    step: str
    queue: str
    code: str
    since: datetime


class Control(Actions):
    """Everything an operator may ask and order; every face uses it and nothing else."""

    def show(self, run: str, *, journal: bool = True) -> Shown:
        """A run by id, key or the end of its id. Raises NotFound. `journal`: with its whole story."""
        detail = self._reading.detail(self._reading.find(run))
        spec = self._runs.spec(detail.run.hash)
        workers = sum(worker.epoch.state == "ALIVE" for worker in self._reading.workers())
        story = tuple(self._journal(detail.run.id)) if journal else ()
        return shown(spec, detail, story, self._reading.audit(detail.run.id), detail.now, workers=workers)

    def runs(
        self, *, status: RunStatus | str | None = None, type: str | None = None, search: str | None = None, limit: int = 50,
        before: str | None = None,
    ) -> tuple[RunLine, ...]:  # fmt: skip
        """Runs, the newest first; `before` is the last one of the page before."""
        wanted = None if status is None else RunStatus(status)
        rows = self._reading.runs(status=wanted, type=type, search=search, limit=limit, before=before)
        return tuple(_line(row) for row in rows)

    def workers(self) -> Sequence[WorkerRow]:
        """Worker processes: all that are alive, and the latest others."""
        return self._reading.workers()

    def schema(self) -> SchemaRow:
        """The state of the schema."""
        return self._reading.schema()

    def specs(self) -> tuple[WorkflowSpec, ...]:
        """The newest definition of each workflow and version that was ever registered here."""
        newest: dict[tuple[str, int], DefinitionRow] = {}
        for row in self._reading.definitions():
            newest[row.type, row.version] = row
        return tuple(self._runs.spec(row.hash) for row in newest.values())

    def ready(self, limit: int = 500) -> tuple[ReadyWork, ...]:
        """What could start now and has not, among the newest open runs."""
        rows = [row for status in RunStatus if status not in FINAL for row in self._reading.runs(status=status, limit=limit)]
        now = time.time_ns() // 1000
        return tuple(work for row in rows for work in _ready(self._runs.spec(row.run.hash), row, now))

    def _journal(self, run_id: str) -> Iterator[JournalRow]:
        after = 0
        while page := self._reading.journal(run_id, after_seq=after, limit=PAGE):
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].seq


# ── building ──


def shown(
    spec: WorkflowSpec, detail: Detail, journal: Sequence[JournalRow], audit: Sequence[AuditRow], now: int, *, workers: int | None
) -> Shown:
    """Puts together what the database knows about one run."""
    run = detail.run
    explanation = explain(spec, Snapshot(run, {one.record.key: one.record for one in detail.records}), now, workers=workers)
    steps = tuple(_steps(spec, detail, {effect.step: effect for effect in explanation.effects}))
    return Shown(
        id=run.id, type=run.type, version=run.version, status=run.status, revision=run.revision, correlation_id=run.correlation_id,
        key=detail.key, resource=run.resource, priority=run.priority, started_by=detail.actor, input=json.loads(detail.input),
        output=steps[-1].output if run.status is RunStatus.SUCCESS and steps else None, deadline_at=_moment(run.deadline_at),
        created_at=_time(run.created_at), started_at=_moment(run.started_at), ended_at=_moment(run.ended_at),
        updated_at=_time(detail.updated_at), steps=steps, journal=tuple(_entry(run.id, row) for row in journal),
        audit=tuple(_audit(row) for row in audit), explanation=explanation,
    )  # fmt: skip


def _steps(spec: WorkflowSpec, detail: Detail, effects: Mapping[str, EffectView]) -> Iterator[StepShown]:
    records: defaultdict[str, dict[Kind, RecordDetail]] = defaultdict(dict)
    for one in detail.records:
        records[one.record.key.step][one.record.key.kind] = one
    for step in spec.steps:
        yield _step(spec, step, detail, records[step.name], effects.get(step.name))


def _step(spec: WorkflowSpec, step: StepSpec, detail: Detail, records: Mapping[Kind, RecordDetail], effect: EffectView | None) -> StepShown:
    run_id, own = detail.run.id, records.get(Kind.STEP)
    record = None if own is None else own.record
    asks = next((one.record.asks for one in records.values() if one.record.asks), "")
    history = [_attempt(run_id, one.record.key, attempt) for one in records.values() for attempt in one.attempts]
    return StepShown(
        id=step_id(run_id, Key(step.name)), name=step.name, sequence=spec.order[step.name],
        status=(RecordStatus.PENDING if record is None else record.status).value,
        kind="TRANSACTION" if step.effect is None else step.effect.value,
        effect=(Happened.NONE if effect is None or (record is None or not record.attempts) else effect.happened).value,
        attempts=0 if record is None else record.attempts, waits_for=asks,
        output=None if own is None or own.output is None else json.loads(own.output),
        error_code="" if record is None else record.code, message="" if own is None else own.error or "",
        started_at=None if record is None else _moment(record.started_at), ended_at=None if record is None else _moment(record.ended_at),
        history=tuple(sorted(history, key=lambda attempt: (attempt.started_at, attempt.n))),
        evidence=tuple(json.loads(row.data) for row in detail.evidence if row.key.step == step.name),
        artifacts=tuple(
            {"id": row.id, "name": row.name, "sha256": row.sha256, "size": row.size, "createdAt": rfc3339(_time(row.created_at))}
            for row in detail.artifacts if row.key.step == step.name
        ),
    )  # fmt: skip


def _attempt(run_id: str, key: Key, row: AttemptRow) -> AttemptShown:
    return AttemptShown(
        n=row.n, kind=key.kind.value, job_id=f"{step_id(run_id, key)}#{row.n}", worker=row.epoch, started_at=_time(row.started_at),
        effect_began_at=_moment(row.mark_at), ended_at=_moment(row.ended_at), ended=None if row.ended is None else row.ended.value,
        code=row.code, settled=row.settled,
    )  # fmt: skip


def _entry(run_id: str, row: JournalRow) -> EntryShown:
    data: dict[str, object] = json.loads(row.data) if row.data else {}
    step = "" if row.key is None else step_id(run_id, row.key)
    return EntryShown(
        seq=row.seq, at=_time(row.at), name=row.name, step="" if row.key is None else row.key.step, step_id=step,
        job_id="" if row.n is None else f"{step}#{row.n}", data=data,
    )  # fmt: skip


def _audit(row: AuditRow) -> AuditShown:
    audit = row.audit
    return AuditShown(
        at=_time(row.at), actor=audit.actor, action=audit.action, reason=audit.reason, step=audit.step or "",
        evidence=audit.evidence or "", before=row.before.value, after=row.after.value,
    )  # fmt: skip


def _line(row: Row) -> RunLine:
    run = row.run
    return RunLine(
        id=run.id, type=run.type, version=run.version, status=run.status, key=row.key, current=row.current,
        created_at=_time(run.created_at), started_at=_moment(run.started_at), ended_at=_moment(run.ended_at),
        updated_at=_time(row.updated_at),
    )  # fmt: skip


def _ready(spec: WorkflowSpec, row: Row, now: int) -> Iterator[ReadyWork]:
    for record in row.records:
        if record.status is RecordStatus.PENDING and record.ready_at is not None and record.ready_at <= now:
            step = spec.by_name[record.key.step]
            yield ReadyWork(
                run=row.run.id, type=spec.type, version=spec.version, step=step.name, queue=step.queue, code=step.code,
                since=_time(max(record.ready_at, row.updated_at)),
            )  # fmt: skip


def _explanation_json(explanation: Explanation) -> Json:
    return {
        "done": explanation.done, "total": explanation.total, "current": list(explanation.current),
        "progress": _sentence(explanation.progress),
        "effects": [
            {"step": one.step, "effectKind": one.effect, "effect": one.happened.value, "evidence": one.evidence, **_sentence(one.sentence)}
            for one in explanation.effects
        ],
        "reasons": [_sentence(reason) for reason in explanation.reasons],
        "coming": [{"at": rfc3339(_moment(one.at)), **_sentence(one.sentence)} for one in explanation.coming],
        "next": [{"command": one.command or None, **_sentence(one.sentence)} for one in explanation.next],
    }  # fmt: skip


def _sentence(sentence: Sentence) -> Json:
    return {"code": sentence.code, "params": sentence.params, "text": str(sentence)}


def step_id(run_id: str, key: Key) -> str:
    """The id of a step in its run, also its idempotency key."""
    return f"{run_id}:{key.step}" if key.round == 1 and not key.item else f"{run_id}:{key.step}:{key.round}:{key.item}"


def rfc3339(moment: datetime | None) -> str | None:
    """UTC, to the microsecond."""
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _time(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).replace(microsecond=microseconds % 1_000_000)


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _time(microseconds)
