"""What an operator sees: a run with its steps, its story and what is safe next; lists of runs. Frozen values, JSON in camelCase."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from halfway.authoring.keys import checked_key
from halfway.authoring.retention import FOR_EVER, Retention
from halfway.authoring.workflow import Workflow
from halfway.control.access import OPERATOR, Can, Demand, Members
from halfway.control.batches import Bulk
from halfway.control.cleaning import Cleaning
from halfway.control.desk import runbook_of
from halfway.control.events import Events, Sent
from halfway.control.items import ItemShown, counted, page, troubled
from halfway.control.moving import Moving
from halfway.control.queues import QueueDesk
from halfway.control.schedules import Calendar
from halfway.control.shown import AuditShown, CallShown, audit_shown, call_shown, instant, json_text, moment, plan_json, rfc3339
from halfway.control.steps import StepShown, said_by_conditions, steps_shown
from halfway.domain.critical_path import Leg, critical_path
from halfway.domain.explain import EffectView, Explanation, explain
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.line import Traffic
from halfway.domain.run import Key, Record, Snapshot, latest
from halfway.domain.sentences import SENTENCES, Sentence
from halfway.domain.spec import WorkflowSpec
from halfway.domain.waits import TIMED_OUT
from halfway.errors import NotAllowed, NotFound
from halfway.ports import (
    Attention,
    AuditRow,
    Batches,
    CallRow,
    Calls,
    DefinitionRow,
    Detail,
    JournalRow,
    Keeping,
    NewEvent,
    Queues,
    Reading,
    Relatives,
    Row,
    RunStore,
    SchemaRow,
    Timetable,
    WaitRow,
    WorkerRow,
)

PAGE = 1000
WELL = frozenset({RunStatus.SUCCESS, RunStatus.PARTIAL_SUCCESS, RunStatus.COMPENSATED})
Json = dict[str, Any]


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
    round: int = 1  # of a loop
    item: str = ""  # of a step that is done for many

    def to_json(self) -> Json:
        return {
            "seq": self.seq, "at": rfc3339(self.at), "name": self.name, "step": self.step or None, "stepRunId": self.step_id or None,
            "jobId": self.job_id or None, "round": self.round if self.step else None, "item": self.item or None, "data": dict(self.data),
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
    calls: tuple[CallShown, ...]  # the work log: tools that were called, tokens that were spent
    explanation: Explanation
    relatives: Relatives  # the runs that have started it, and those of its own that have not ended well
    undo: str | None = None  # it is undone: `*` for all of it, or from this step back
    holds: tuple[tuple[str, str], ...] = ()  # business records that are held, and by which step
    runbook: str = ""  # what to do about the error at which it stands
    critical_path: tuple[Leg, ...] = ()  # of a run that has ended: the steps that made it take as long as it did

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
            "audit": [line.to_json() for line in self.audit], "calls": [call.to_json() for call in self.calls], "undo": self.undo,
            "holds": [{"record": record, "step": step} for record, step in self.holds], "runbook": self.runbook or None,
            "parents": [{"workflowRunId": run, "step": step} for run, step in self.relatives.parents],
            "childrenNotWell": [
                {"step": step, "workflowRunId": run, "status": status.value} for step, run, status in self.relatives.children
            ],
            "criticalPath": [
                {"step": leg.step, "round": leg.round, "waitedMs": leg.waited // 1000, "tookMs": leg.took // 1000}
                for leg in self.critical_path
            ],
            "explanation": _explanation_json(self.explanation),
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
    kept_by: str  # PAUSED, LIMIT, LINE; empty: nothing of this keeps it from going on
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    updated_at: datetime

    def to_json(self) -> Json:
        return {
            "id": self.id, "type": self.type, "version": self.version, "status": self.status.value, "idempotencyKey": self.key,
            "currentStep": next(iter(self.current), None), "keptBy": self.kept_by or None,
            "createdAt": rfc3339(self.created_at), "startedAt": rfc3339(self.started_at),
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


class Control(Moving):
    """Everything an operator may ask and order; every face uses it and nothing else."""

    def __init__(
        self, runs: RunStore, reading: Reading, attention: Attention, *, workflows: Iterable[Workflow[Any]] = (),
        wake: Callable[[tuple[str, ...]], None], batches: Batches, timetable: Timetable, queues: Queues, keeping: Keeping, calls: Calls,
        new_id: Callable[[], str], can: Can | None = None, members: Members | None = None,
        retention: Retention = FOR_EVER, retentions: Mapping[str, Retention] | None = None,
    ) -> None:  # fmt: skip
        """retention: for workflows that say nothing; retentions: by workflow."""
        super().__init__(runs, reading, attention, workflows=workflows, wake=wake, can=can, members=members)
        self._new_id, self._calls = new_id, calls
        self.schedules = Calendar(timetable, runs, reading, workflows=self._workflows.values(), can=self._can, wake=wake, new_id=new_id)
        self.queues = QueueDesk(queues, reading, self.specs, can=self._can)
        self.batches = Bulk(self, batches, runs, reading, can=self._can, new_id=new_id)
        self.cleaning = Cleaning(keeping, specs=self.specs, can=self._can, default=retention, by_type=retentions or {})

    def send(self, name: str, payload: str, *, key: str, id: str, source: str = "", actor: str = "") -> Sent:
        """Sends a message by hand; its payload is JSON text that whoever knows its type has checked."""
        if not self._can(actor, "send-event", Demand("", "", "", None, "")):
            raise NotAllowed("NOT_PERMITTED", actor=actor, action="send-event", remedy=f"Ask somebody who holds the role {OPERATOR}.")
        what = f"of the event {name}"
        event = NewEvent(
            self._new_id(), source or name, checked_key(f"id {what}", id), checked_key("name of the event", name),
            checked_key(f"key {what}", key), json_text(payload, f"payload of {name}"),
        )  # fmt: skip
        return Events(self._runs, self._wake).send([event])[0]

    def restored(self) -> int:
        """Says that the database was restored from a copy; answers how many open runs are told (R-D10)."""
        return self._runs.restored()

    def show(self, run: str, *, journal: bool = True) -> Shown:
        """A run by id, key or the end of its id. Raises NotFound. `journal`: with its whole story."""
        detail = self._reading.detail(self._reading.find(run), items=True)
        workers = sum(worker.epoch.state == "ALIVE" for worker in self._reading.workers())
        story = tuple(self._journal(detail.run.id)) if journal else ()
        attention, run_id = self._attention, detail.run.id
        calls = self._calls.of_run(run_id) if journal else ()
        return _shown(
            self._runs.spec(detail.run.hash), detail, journal=story, audit=self._reading.audit(run_id), calls=calls,
            waits=attention.waits(run_id), relatives=self._reading.relatives(run_id), troubled=troubled(self._reading, detail),
            holds=attention.holds(run_id), workers=workers, traffic=self.queues.traffic(detail.run.type, run_id),
        )  # fmt: skip

    def runs(
        self, *, status: RunStatus | str | None = None, type: str | None = None, search: str | None = None, limit: int = 50,
        before: str | None = None,
    ) -> tuple[RunLine, ...]:  # fmt: skip
        """Runs, the newest first; `before` is the last one of the page before."""
        wanted = None if status is None else RunStatus(status)
        rows = self._reading.runs(status=wanted, type=type, search=search, limit=limit, before=before)
        kept_by = self.queues.keeping()
        return tuple(_line(row, kept_by(self._runs.spec(row.run.hash), row)) for row in rows)

    def items(
        self, run: str, step: str, *, status: RecordStatus | str | None = None, limit: int = 50, after: int = 0
    ) -> tuple[ItemShown, ...]:  # fmt: skip
        """A page of the items of a step in its last round, in the order of their list; `after` is the number of the last one before."""
        detail = self._reading.detail(self._reading.find(run))
        spec = self._runs.spec(detail.run.hash)
        if step not in spec.by_name:
            raise NotFound("STEP_UNKNOWN", workflow=spec.type, step=step, known=", ".join(spec.by_name))
        record = latest({one.record.key: one.record for one in detail.records}, step)
        key = Key(step) if record is None else record.key
        wanted = None if status is None else RecordStatus(status)
        return page(self._reading, detail.run.id, key, status=wanted, limit=limit, after=after)

    def gone(self, run: str) -> NotFound | None:
        """What is said about a run whose history was deleted, by its id, its key or the end of its id; None about every other."""
        try:
            self._reading.detail(self._reading.find(run))
        except NotFound as missing:
            return missing if missing.code == "RUN_GONE" else None
        return None

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


def _shown(
    spec: WorkflowSpec, detail: Detail, *, journal: Sequence[JournalRow], audit: Sequence[AuditRow], calls: Sequence[CallRow],
    waits: Sequence[WaitRow], relatives: Relatives, troubled: Mapping[Key, tuple[ItemShown, ...]],
    holds: Sequence[tuple[str, str]], workers: int, traffic: Traffic,
) -> Shown:  # fmt: skip
    """Puts together what the database knows about one run."""
    run, records = detail.run, {one.record.key: one.record for one in detail.records}
    explanation = explain(
        spec, Snapshot(run, records), detail.now, workers=workers, traffic=traffic, counts=counted(detail.counts), stuck=_stuck(relatives),
        said=said_by_conditions(detail),
    )  # fmt: skip
    steps = tuple(steps_shown(spec, detail, waits, explanation.effects, troubled))
    return Shown(
        id=run.id, type=run.type, version=run.version, status=run.status, revision=run.revision, correlation_id=run.correlation_id,
        key=detail.key, resource=run.resource, priority=run.priority, started_by=detail.actor, input=json.loads(detail.input),
        output=steps[-1].output if run.status is RunStatus.SUCCESS and steps else None, deadline_at=moment(run.deadline_at),
        created_at=instant(run.created_at), started_at=moment(run.started_at), ended_at=moment(run.ended_at),
        updated_at=instant(detail.updated_at), steps=steps, journal=tuple(_entry(run.id, row) for row in journal),
        audit=tuple(audit_shown(row) for row in audit), calls=tuple(call_shown(row) for row in calls), explanation=explanation,
        undo=run.undo, relatives=relatives,
        holds=tuple((record, holder.removeprefix(f"{run.id}:")) for record, holder in holds),
        runbook=_runbook(spec, run.status, list(records.values())),
        critical_path=critical_path(spec, records.values(), run.started_at or run.created_at) if run.status in FINAL else (),
    )  # fmt: skip


def _stuck(relatives: Relatives) -> dict[str, tuple[str, ...]]:
    """By step, the runs that it has started and that wait for a person."""
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for step, run, status in relatives.children:
        if status is RunStatus.MANUAL_REQUIRED:
            found[step] += (run,)
    return found


def _runbook(spec: WorkflowSpec, status: RunStatus, records: list[Record]) -> str:
    """What to do about what stopped it; what a person is asked about comes first."""
    stopped = [record for record in records if record.status in (RecordStatus.FAILED, RecordStatus.UNKNOWN) or record.code == TIMED_OUT]
    if status in WELL or not (stopped or status is RunStatus.MANUAL_REQUIRED):
        return ""
    codes = [record.code for record in ([record for record in stopped if record.asks] or stopped)]
    known = dict(spec.runbook)
    return next((known[code] for code in codes if code in known), "") or runbook_of(spec, "") or SENTENCES["RUNBOOK"]


def _entry(run_id: str, row: JournalRow) -> EntryShown:
    data: dict[str, object] = json.loads(row.data) if row.data else {}
    step = "" if row.key is None else row.key.name_in(run_id)
    return EntryShown(
        seq=row.seq, at=instant(row.at), name=row.name, step="" if row.key is None else row.key.step, step_id=step,
        job_id="" if row.n is None else f"{step}#{row.n}", data=data, round=1 if row.key is None else row.key.round,
        item="" if row.key is None else row.key.item,
    )  # fmt: skip


def _line(row: Row, kept_by: str) -> RunLine:
    run = row.run
    return RunLine(
        id=run.id, type=run.type, version=run.version, status=run.status, key=row.key, current=row.current,
        kept_by=kept_by,
        created_at=instant(run.created_at), started_at=moment(run.started_at), ended_at=moment(run.ended_at),
        updated_at=instant(row.updated_at),
    )  # fmt: skip


def _ready(spec: WorkflowSpec, row: Row, now: int) -> Iterator[ReadyWork]:
    for record in row.records:
        if record.status is RecordStatus.PENDING and record.ready_at is not None and record.ready_at <= now:
            step = spec.by_name[record.key.step]
            yield ReadyWork(
                run=row.run.id, type=spec.type, version=spec.version, step=step.name, queue=step.queue, code=step.code,
                since=instant(max(record.ready_at, row.updated_at)),
            )  # fmt: skip


def _explanation_json(explanation: Explanation) -> Json:
    return {
        "done": explanation.done, "total": explanation.total, "current": list(explanation.current),
        "progress": _sentence(explanation.progress),
        "effects": [_effect_json(effect) for effect in explanation.effects],
        "reasons": [_sentence(reason) for reason in explanation.reasons],
        "coming": [{"at": rfc3339(moment(one.at)), **_sentence(one.sentence)} for one in explanation.coming],
        "next": [
            {"command": one.command or None, **_sentence(one.sentence), "plan": None if one.plan is None else plan_json(one.plan)}
            for one in explanation.next
        ],
    }  # fmt: skip


def _effect_json(effect: EffectView) -> Json:
    return {
        "step": effect.step, "effectKind": effect.effect, "effect": effect.happened.value, "evidence": effect.evidence,
        **_sentence(effect.sentence), "undo": effect.undo or None, "undone": None if effect.undone is None else _sentence(effect.undone),
    }  # fmt: skip


def _sentence(sentence: Sentence) -> Json:
    return {"code": sentence.code, "params": sentence.params, "text": str(sentence)}
