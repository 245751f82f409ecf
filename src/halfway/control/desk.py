"""What needs a person, across runs: the inbox, plans, the audit log, messages (R-F1, R-J4, R-F7)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from halfway.control.access import hearers
from halfway.control.actions import Actions
from halfway.control.items import ItemsShown, counted, items_shown
from halfway.control.shown import audit_shown, instant, plan_json, rfc3339, what_is_shown
from halfway.domain.clauses import contract_of
from halfway.domain.explain import Explanation, explain
from halfway.domain.facts import Order
from halfway.domain.plan import Plan, plan
from halfway.domain.run import Snapshot
from halfway.domain.sentences import Sentence
from halfway.domain.spec import Sort, WorkflowSpec
from halfway.domain.suggestions import Suggestion
from halfway.domain.waits import is_gate
from halfway.ports import AskRow, EventRow, FailedTask, IncidentRow, Message, Notice

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Something that waits for a person: what happened, who may decide, and what may be ordered."""

    run: str
    type: str
    version: int
    key: str | None
    status: str
    severity: str
    step: str  # empty, if it is about the run as a whole
    kind: str  # STEP, COMPENSATION, CHECK, RUN
    asked: str  # APPROVAL: may it be done? DECISION: what became of it, or how does it go on?
    role: str
    members: tuple[str, ...]
    since: datetime
    code: str
    effect: str
    evidence: str
    shown: object  # what an approval shows
    shown_hash: str | None
    reasons: tuple[Sentence, ...]
    next: tuple[Suggestion, ...]
    runbook: str
    revision: int
    items: ItemsShown | None = None  # of a step that is done for many, or of its undo

    def to_json(self) -> Json:
        return {
            "workflowRunId": self.run, "type": self.type, "version": self.version, "idempotencyKey": self.key, "status": self.status,
            "severity": self.severity, "step": self.step or None, "kind": self.kind, "asked": self.asked, "role": self.role,
            "members": list(self.members), "since": rfc3339(self.since), "errorCode": self.code or None, "effect": self.effect or None,
            "evidence": self.evidence, "items": None if self.items is None else self.items.to_json(), "shown": self.shown,
            "shownHash": self.shown_hash, "runbook": self.runbook or None,
            "revision": self.revision, "reasons": [str(reason) for reason in self.reasons],
            "actions": [{"text": str(one.sentence), "command": one.command or None} for one in self.next],
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PlanShown:
    """What an order would do; confirm it with its hash."""

    run: str
    type: str
    revision: int
    plan: Plan

    def to_json(self) -> Json:
        return {"workflowRunId": self.run, "type": self.type, "revision": self.revision, **plan_json(self.plan)}


class Desk(Actions):
    """Answers about what needs a person; orders are those of `Actions`."""

    def plan(self, run: str, order: Order) -> PlanShown:
        """What this order would do now. Raises what the order itself would raise; changes nothing."""
        detail = self._reading.detail(self._reading.find(run), items=True)
        spec = self._runs.spec(detail.run.hash)
        snapshot = Snapshot(detail.run, {one.record.key: one.record for one in detail.records})
        made = plan(spec, snapshot, order, detail.now, counted(detail.counts))
        return PlanShown(run=detail.run.id, type=spec.type, revision=detail.run.revision, plan=made)

    def seen(self, run: str, step: str) -> str | None:
        """The hash of what this step shows to whoever is asked to approve it now; None if nobody is."""
        run_id = self._reading.find(run)
        return self.shown_hash(run_id, self._runs.spec(self._reading.detail(run_id).run.hash), step)

    def inbox(self, *, role: str | None = None, limit: int = 200) -> tuple[Asking, ...]:
        """What waits for a person, the oldest first; what goes on by itself is not in it."""
        rows = [*self._attention.asking(role=role, limit=limit), *self._stopped(role, limit)]
        return tuple(self._asking(row) for row in sorted(rows, key=lambda row: row.since)[:limit])

    def _stopped(self, role: str | None, limit: int) -> Iterator[AskRow]:
        for row in self._attention.stopped(limit=limit):
            if role in (None, self._runs.spec(row.run.hash).owner):
                yield row

    def counts(self) -> Mapping[str, int]:
        """How many runs there are in each state that is not final, and in FAILED."""
        return self._attention.counts()

    def audit_log(
        self, *, run: str | None = None, actor: str | None = None, action: str | None = None, limit: int = 100, before: int | None = None
    ) -> tuple[Json, ...]:
        """Who ordered what, and what was refused, the newest first."""
        run_id = None if run is None else self._reading.find(run)
        rows = self._attention.audit_log(run=run_id, actor=actor, action=action, limit=limit, before=before)
        return tuple({"workflowRunId": row.run_id, **audit_shown(row).to_json()} for row in rows)

    def events(self, *, name: str | None = None, key: str | None = None, unused: bool = False, limit: int = 100) -> Sequence[EventRow]:
        """Messages from outside and from steps, the newest first."""
        return self._attention.events(name=name, key=key, unused=unused, limit=limit)

    def incidents(self, *, limit: int = 100) -> Sequence[IncidentRow]:
        """What should not have happened, the newest first."""
        return self._attention.messages(what="INCIDENT", limit=limit)

    def undelivered(self, *, limit: int = 100) -> Sequence[IncidentRow]:
        """Messages that could not be handed over so far."""
        return [row for row in self._attention.messages(undelivered=True, limit=limit) if row.error is not None]

    def unused_events(self, older_than: timedelta, *, limit: int = 1000) -> Sequence[EventRow]:
        """Events that came so long ago and that no run has taken, the newest first."""
        latest = (time.time() - older_than.total_seconds()) * 1e6
        return [row for row in self._attention.events(unused=True, limit=limit) if row.received_at <= latest]

    def failed_tasks(self, *, limit: int = 100) -> Sequence[FailedTask]:
        """Runs that something should start and that could not be started."""
        return self._attention.failed_tasks(limit=limit)

    def notice(self, message: Message) -> Notice:
        """A message as somebody is told it, with what is known by now."""
        detail = self._reading.detail(message.run_id, items=True)
        spec = self._runs.spec(detail.run.hash)
        snapshot = Snapshot(detail.run, {one.record.key: one.record for one in detail.records})
        told = explain(spec, snapshot, detail.now, counts=counted(detail.counts))
        step = spec.by_name.get(message.step or "")
        event = message.event
        return Notice(
            id=message.id, at=rfc3339(instant(message.at)) or "", what=message.what, run_id=message.run_id, type=spec.type,
            severity=spec.severity, step=message.step, role=message.role, members=hearers(self._members, message.role),
            code=message.code, evidence="" if step is None else contract_of(step, spec).evidence,
            reasons=tuple(map(str, sorted(told.reasons, key=lambda one: one.params.get("step") != message.step))),
            actions=tuple(one.command for one in told.next if one.command and concerns(one, message.step or "")),
            runbook=runbook_of(spec, message.code), event=None if event is None else event.name,
            key=None if event is None else event.key, payload=None if event is None else event.payload,
        )  # fmt: skip

    def _asking(self, row: AskRow) -> Asking:
        spec = self._runs.spec(row.run.hash)
        detail = self._reading.detail(row.run.id, items=True)
        snapshot = Snapshot(detail.run, {one.record.key: one.record for one in detail.records})
        told = explain(spec, snapshot, detail.now, counts=counted(detail.counts))
        if row.record is None:
            return self._whole(row, spec, told)
        record, step = row.record, spec.unit(row.record.key)
        approval = is_gate(record) or (step.sort is Sort.APPROVAL and record.status == "WAITING")
        shown, shown_hash = what_is_shown(spec, detail, record) if is_gate(record) else (row.shown, row.shown_hash)
        return Asking(
            run=row.run.id, type=row.run.type, version=row.run.version, key=row.run_key, status=detail.run.status.value,
            severity=spec.severity, step=record.key.step, kind=record.key.kind.value, asked="APPROVAL" if approval else "DECISION",
            role=record.asks, members=hearers(self._members, record.asks), since=instant(row.since), code=record.code,
            effect=record.effect.value, evidence=contract_of(step, spec).evidence,
            shown=None if shown is None else json.loads(shown), shown_hash=shown_hash,
            reasons=tuple(told.reasons), next=tuple(one for one in told.next if concerns(one, record.key.step)),
            runbook=runbook_of(spec, record.code), revision=detail.run.revision,
            items=items_shown(detail.counts).get(record.key),
        )  # fmt: skip

    def _whole(self, row: AskRow, spec: WorkflowSpec, told: Explanation) -> Asking:
        """A run that has stopped as a whole: its deadline, its timeout, or an error of ours."""
        code = "" if row.run.intent is None else row.run.intent.value
        return Asking(
            run=row.run.id, type=row.run.type, version=row.run.version, key=row.run_key, status=row.run.status.value,
            severity=spec.severity, step="", kind="RUN", asked="DECISION", role=spec.owner, members=hearers(self._members, spec.owner),
            since=instant(row.since), code=code, effect="", evidence="", shown=None, shown_hash=None, reasons=tuple(told.reasons),
            next=tuple(told.next), runbook=runbook_of(spec, code), revision=row.run.revision,
        )  # fmt: skip


def concerns(suggestion: Suggestion, step: str) -> bool:
    """Whether a suggestion is about this step, or about the whole run."""
    return getattr(suggestion.order, "step", step) in (step, None)


def runbook_of(spec: WorkflowSpec, code: str) -> str:
    """What the workflow says to do about this error; its text for every other error, if it has one."""
    texts = dict(spec.runbook)
    return texts.get(code) or texts.get("", "")
