"""Queues and workflows as an operator sees them: what they allow, how much of it is used, and what rests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict
from uuid import uuid4

from halfway.authoring.redaction import redact
from halfway.control.access import Can, Demand
from halfway.control.shown import instant, moment, rfc3339
from halfway.domain.draft import Audit
from halfway.domain.line import Full, Traffic
from halfway.domain.spec import WorkflowSpec
from halfway.errors import Conflict, InvalidInput, NotAllowed, NotFound
from halfway.ports import PauseRow, QueueRow, Queues, Reading, Row

Json = dict[str, Any]
QUEUE, WORKFLOW = "QUEUE", "WORKFLOW"
NOBODYS = Demand("", "", "", None, "")  # a queue belongs to no workflow


@dataclass(frozen=True, kw_only=True)
class PauseShown:
    """Since when something rests, and why."""

    since: datetime
    actor: str
    reason: str

    def to_json(self) -> Json:
        return {"since": rfc3339(self.since), "actorId": self.actor, "reason": self.reason}


@dataclass(frozen=True, kw_only=True)
class QueueShown:
    """A queue: what it allows, how much of it is used, and who serves it."""

    name: str
    concurrency: int | None
    per_minute: int | None
    running: int | None  # attempts that hold a slot; None: nobody counts them
    started: int | None  # attempts within the last minute; None: likewise
    next_at: datetime | None  # when more may begin, if the rate is used up
    ready: int  # records that could start now
    workers: int  # that are alive and serve it
    workflows: tuple[str, ...]
    pause: PauseShown | None

    def to_json(self) -> Json:
        return {
            "name": self.name, "concurrency": self.concurrency, "perMinute": self.per_minute, "running": self.running,
            "startedInLastMinute": self.started, "nextAt": rfc3339(self.next_at), "ready": self.ready, "workers": self.workers,
            "workflows": list(self.workflows), "pause": None if self.pause is None else self.pause.to_json(),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WorkflowShown:
    """A workflow, as far as it is limited or rests."""

    type: str
    concurrency: int | None
    concurrency_per_key: int | None
    pause: PauseShown | None

    def to_json(self) -> Json:
        return {
            "type": self.type, "concurrency": self.concurrency, "concurrencyPerKey": self.concurrency_per_key,
            "pause": None if self.pause is None else self.pause.to_json(),
        }  # fmt: skip


class QueueDesk:
    """What can be asked and ordered about queues and workflows as a whole."""

    def __init__(self, rows: Queues, reading: Reading, specs: Callable[[], Sequence[WorkflowSpec]], *, can: Can) -> None:
        self._rows, self._reading, self._specs, self._can = rows, reading, specs, can

    def all(self) -> tuple[QueueShown, ...]:
        """Every queue in which steps wait, or that has limits or rests, by name."""
        limited, paused, users, ready = (
            {row.name: row for row in self._rows.limited()},
            self._paused(QUEUE),
            self._users(),
            self._rows.ready(),
        )
        served = Counter(name for row in self._reading.workers() if row.epoch.state == "ALIVE" for name in row.queues)
        return tuple(
            QueueShown(
                name=name, workflows=users.get(name, ()), ready=ready.get(name, 0), workers=served[name], pause=paused.get(name),
                **_used(limited.get(name)),
            )
            for name in sorted({*limited, *paused, *users})
        )  # fmt: skip

    def show(self, name: str) -> QueueShown:
        """One queue. Raises NotFound."""
        found = self.all()
        for queue in found:
            if queue.name == name:
                return queue
        raise NotFound("QUEUE_UNKNOWN", queue=name, known=", ".join(queue.name for queue in found) or "none")

    def workflows(self) -> tuple[WorkflowShown, ...]:
        """Every workflow, as its newest version says it, by type."""
        paused, newest = self._paused(WORKFLOW), self._newest()
        return tuple(
            WorkflowShown(
                type=type, concurrency=spec.concurrency, concurrency_per_key=spec.concurrency_per_key, pause=paused.get(type)
            )
            for type, spec in sorted(newest.items())
        )  # fmt: skip

    def pause_queue(self, name: str, *, actor: str, reason: str, action_id: str | None = None) -> QueueShown:
        """No step of it begins any more. What runs, ends; what only looks, and what is undone, goes on."""
        self.show(name)
        self._order(QUEUE, name, NOBODYS, paused=True, actor=actor, reason=reason, action_id=action_id)
        return self.show(name)

    def resume_queue(self, name: str, *, actor: str, reason: str, action_id: str | None = None) -> QueueShown:
        """Its steps begin again."""
        self.show(name)
        self._order(QUEUE, name, NOBODYS, paused=False, actor=actor, reason=reason, action_id=action_id)
        return self.show(name)

    def pause_workflow(self, type: str, *, actor: str, reason: str, action_id: str | None = None) -> WorkflowShown:
        """No step of its runs begins any more; runs can still be started, and wait."""
        return self._order_workflow(type, paused=True, actor=actor, reason=reason, action_id=action_id)

    def resume_workflow(self, type: str, *, actor: str, reason: str, action_id: str | None = None) -> WorkflowShown:
        """The steps of its runs begin again."""
        return self._order_workflow(type, paused=False, actor=actor, reason=reason, action_id=action_id)

    def traffic(self, type: str, run_id: str) -> Traffic:
        """What keeps a run of this type from beginning, as far as others are concerned."""
        pauses = self._rows.pauses()
        return Traffic(
            paused_type=any(row.what == WORKFLOW and row.name == type for row in pauses),
            paused_queues=frozenset(row.name for row in pauses if row.what == QUEUE),
            full={row.name: row.limits.concurrency or 0 for row in self._rows.limited() if _is_full(row)},
            more_at={row.name: row.next_at for row in self._rows.limited() if row.next_at is not None},
            line=tuple(Full(row.key, row.slots) for row in self._rows.lines(run_id) if row.waits and row.held >= row.slots),
        )

    def keeping(self) -> Callable[[WorkflowSpec, Row], str]:
        """What keeps each of many runs from going on: PAUSED, LIMIT, LINE for a run that has not begun, or nothing of this."""
        pauses, limited = self._rows.pauses(), self._rows.limited()
        types = {row.name for row in pauses if row.what == WORKFLOW}
        queues = {row.name for row in pauses if row.what == QUEUE}
        used_up = {row.name for row in limited if _is_full(row) or row.next_at is not None}

        def kept_by(spec: WorkflowSpec, row: Row) -> str:
            if row.run.ended_at is not None:
                return ""
            if row.run.blocked:
                return "LINE"
            waiting = {spec.unit(one.key).queue for one in row.records if one.status == "PENDING" and one.ready_at is not None}
            if waiting and (spec.type in types or waiting & queues):
                return "PAUSED"
            return "LIMIT" if waiting & used_up else ""

        return kept_by

    # ── inside ──

    def _order_workflow(self, type: str, *, paused: bool, actor: str, reason: str, action_id: str | None) -> WorkflowShown:
        newest = self._newest()
        if type not in newest:
            raise NotFound("WORKFLOW_UNKNOWN", workflow=type, known=", ".join(sorted(newest)) or "none")
        owner = newest[type].owner
        self._order(WORKFLOW, type, Demand("", type, owner, None, owner), paused=paused, actor=actor, reason=reason, action_id=action_id)
        return next(shown for shown in self.workflows() if shown.type == type)

    def _order(
        self, what: str, name: str, demand: Demand, *, paused: bool, actor: str, reason: str, action_id: str | None
    ) -> None:  # fmt: skip
        action = f"{'pause' if paused else 'resume'}-{what.lower()}"
        for field, given in (("reason", reason), ("actor", actor)):
            if not given.strip():
                source = f"of the action: {field}"
                raise InvalidInput("CONFIG_INVALID", source=source, problem="it is empty.", remedy="It is kept in the audit log.")
        if not self._can(actor.strip(), action, demand):
            remedy = f"Ask somebody who holds the role {demand.role or 'operator'}."
            raise NotAllowed("NOT_PERMITTED", actor=actor, action=action, remedy=remedy)
        audit = Audit(action_id or uuid4().hex, actor.strip(), action, redact(reason), evidence=f"{what.lower()} {name}")
        if not self._rows.set_pause(what, name, paused=paused, audit=audit):
            problem = f"{what.lower()} {name} is paused already."
            if not paused:
                problem = f"{what.lower()} {name} is not paused."
            raise Conflict("PAUSE_REFUSED", problem=problem)

    def _newest(self) -> Mapping[str, WorkflowSpec]:
        return {spec.type: spec for spec in sorted(self._specs(), key=lambda spec: spec.version)}

    def _users(self) -> Mapping[str, tuple[str, ...]]:
        """The workflows whose steps wait in each queue."""
        found: dict[str, set[str]] = {}
        for spec in self._newest().values():
            for step in spec.steps:
                found.setdefault(step.queue, set()).add(spec.type)
        return {queue: tuple(sorted(types)) for queue, types in found.items()}

    def _paused(self, what: str) -> Mapping[str, PauseShown]:
        return {row.name: _pause(row) for row in self._rows.pauses() if row.what == what}


def _pause(row: PauseRow) -> PauseShown:
    return PauseShown(since=instant(row.at), actor=row.actor, reason=row.reason)


def _is_full(row: QueueRow) -> bool:
    return row.limits.concurrency is not None and row.running >= row.limits.concurrency


class Used(TypedDict):
    """What a queue allows, and how much of it is used."""

    concurrency: int | None
    per_minute: int | None
    running: int | None
    started: int | None
    next_at: datetime | None


def _used(row: QueueRow | None) -> Used:
    if row is None:
        return Used(concurrency=None, per_minute=None, running=None, started=None, next_at=None)
    concurrency, per_minute = row.limits
    return Used(
        concurrency=concurrency, per_minute=per_minute, running=None if concurrency is None else row.running,
        started=None if per_minute is None else row.started, next_at=moment(row.next_at),
    )  # fmt: skip
