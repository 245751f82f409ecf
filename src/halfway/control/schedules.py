"""What may be asked and ordered about schedules: when they are due, what became of each tick, and runs for times that have passed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from halfway.authoring.failures import named
from halfway.authoring.redaction import redact
from halfway.authoring.workflow import Workflow
from halfway.control.access import Can, Demand
from halfway.control.shown import instant, moment, rfc3339
from halfway.domain.draft import Audit
from halfway.domain.spec import ScheduleSpec, WorkflowSpec
from halfway.domain.ticks import next_tick, ticks, told_in
from halfway.errors import Conflict, DatabaseError, InvalidInput, NotAllowed, NotFound
from halfway.ports import MissedRow, NewRun, Reading, RunStore, ScheduleDetail, ScheduleRow, TickRow, Timetable

Json = dict[str, Any]

LOOK_AGAIN = 0.5  # seconds
MOST = 100_000  # ticks of one backfill


@dataclass(frozen=True, kw_only=True)
class ScheduleShown:
    """A schedule, when it is due next, and what became of its last ticks, the newest first."""

    row: ScheduleRow
    waiting: int
    error: str | None
    coming: tuple[datetime, ...]
    overdue: timedelta | None = None  # how long nobody has looked at it although it is due
    ticks: tuple[TickRow, ...] = ()
    missed: tuple[MissedRow, ...] = ()

    @property
    def state(self) -> str:
        """ACTIVE, PAUSED; RETIRED: no workflow has it any more."""
        return "RETIRED" if self.row.retired_at is not None else "ACTIVE" if self.row.paused_at is None else "PAUSED"

    def to_json(self, *, ticks: bool = False) -> Json:
        row, spec = self.row, self.row.spec
        told: Json = {
            "type": row.type, "name": row.name, "version": row.version, "state": self.state, "cron": spec.cron or None,
            "everySeconds": None if spec.every is None else spec.every / 1e6, "at": rfc3339(moment(spec.at)), "zone": spec.zone,
            "overlap": spec.overlap.value, "catchUp": spec.catch_up.value, "limit": spec.limit,
            "accountedAt": rfc3339(instant(row.accounted_at)), "pausedAt": rfc3339(moment(row.paused_at)), "waiting": self.waiting,
            "error": self.error, "next": [rfc3339(one) for one in self.coming],
        }  # fmt: skip
        if ticks:
            told |= {"ticks": [_tick_json(one) for one in self.ticks], "missed": [_missed_json(one) for one in self.missed]}
        return told


class Backfill(NamedTuple):
    """How far a backfill has come."""

    total: int  # ticks of its range
    had: int  # had a run before
    started: int
    declined: int  # the function has said that there is nothing to start
    failed: tuple[tuple[datetime, str], ...]  # no run could be made
    open: int  # runs that have not ended

    @property
    def done(self) -> int:
        return self.had + self.started + self.declined + len(self.failed)

    def to_json(self) -> Json:
        failed = [{"due": rfc3339(due), "error": error} for due, error in self.failed]
        return {
            "ticks": self.total, "had": self.had, "started": self.started, "declined": self.declined, "open": self.open, "failed": failed,
        }  # fmt: skip


class Calendar:
    """Everything that can be asked and ordered about schedules; orders are audited, also those that are refused."""

    def __init__(
        self, timetable: Timetable, runs: RunStore, reading: Reading, *, workflows: Iterable[Workflow[Any]], can: Can,
        wake: Callable[[tuple[str, ...]], None], new_id: Callable[[], str],
    ) -> None:  # fmt: skip
        self._timetable = timetable
        self._runs = runs
        self._reading = reading
        self._can = can
        self._wake = wake
        self._new_id = new_id
        self._newest: dict[str, Workflow[Any]] = {}
        for workflow in sorted(workflows, key=lambda one: one.version):
            self._newest[workflow.name] = workflow

    # ── asking ──

    def list(self, *, type: str | None = None, coming: int = 3) -> tuple[ScheduleShown, ...]:
        """The schedules of all workflows that are registered, with the next times at which they are due."""
        now = self._timetable.now()
        return tuple(_shown(one, now, coming) for one in self._timetable.schedules(type=type) if one.row.type in self._specs(type))

    def show(self, type: str, name: str, *, coming: int = 5, limit: int = 20) -> ScheduleShown:
        """A schedule with its last ticks. Raises NotFound."""
        found, now = self._find(type, name), self._timetable.now()
        shown = _shown(found, now, coming)
        last, missed = self._timetable.ticks(type, name, limit=limit), self._timetable.missed(type, name, limit=limit)
        return replace(shown, ticks=tuple(last), missed=tuple(missed))

    # ── ordering ──

    def pause(self, type: str, name: str, *, actor: str, reason: str) -> ScheduleShown:
        """Nothing is started for it until it is resumed; what was due meanwhile is then caught up as after an outage."""
        return self._set_paused(type, name, True, self._asked(type, name, "schedule-pause", actor, reason))

    def resume(self, type: str, name: str, *, actor: str, reason: str) -> ScheduleShown:
        """It goes on."""
        return self._set_paused(type, name, False, self._asked(type, name, "schedule-resume", actor, reason))

    def trigger(self, type: str, name: str, *, actor: str, reason: str) -> str:
        """Starts a run as if the schedule were due now, also while it is paused; answers the run's id."""
        audit = self._asked(type, name, "schedule-trigger", actor, reason)
        now = self._timetable.now()
        self._workflow(type, name, audit)
        try:
            run = self.run_of(type, name, now, actor=audit.actor)
            started = None if run is None else self._timetable.order(type, name, now, origin="TRIGGER", run=run, audit=audit)
        except DatabaseError:
            raise
        except Exception as error:  # the author's own, or the key belongs to another run
            problem = f"no run can be made for {rfc3339(instant(now))}: {named(error).rstrip('.')}."
            self._refuse(type, name, audit, problem, "Correct its function, or what that reads, then order it again.", cause=error)
        if run is None:
            self._refuse(type, name, audit, "its function says that there is nothing to start now.", "")
        if started is None:
            self._refuse(type, name, audit, "a run was started for this very moment.", "Order it again.")
        self._wake(started.ready)
        return started.run_id

    def foresee(self, type: str, name: str, since: datetime, until: datetime) -> tuple[tuple[datetime, bool], ...]:
        """The ticks of a time, and whether each has a run; changes nothing."""
        spec = self._find(type, name).row.spec
        due = self._ticks(spec, since, until)
        have = self._started(type, name, due)
        return tuple((told_in(spec.zone, tick), tick in have) for tick in due)

    def backfill(
        self, type: str, name: str, since: datetime, until: datetime, *, actor: str, reason: str, concurrency: int = 1,
        told: Callable[[Backfill], None] = lambda step: None, sleep: Callable[[float], None] = time.sleep,
    ) -> Backfill:  # fmt: skip
        """Starts a run for each tick of a time that has none, the oldest first, at most so many open at once.

        Ordered again it goes on where it was stopped: a tick that has a run gets no other.
        """
        spec = self._find(type, name).row.spec
        due = self._ticks(spec, since, until)
        between = f"{rfc3339(since)} to {rfc3339(until)}"
        audit = self._asked(type, name, "backfill", actor, reason)._replace(evidence=between)
        if concurrency < 1:
            raise _invalid(problem=f"{concurrency} runs at once.", remedy="Give 1 or more.")
        self._workflow(type, name, audit)
        self._timetable.note(type, name, audit)
        have = self._started(type, name, due)
        state = Backfill(len(due), len(have), 0, 0, (), 0)
        for tick in due:
            if tick not in have:
                self._await_room(type, name, state, concurrency, told=told, sleep=sleep)
                state = self._fill(type, name, tick, state, audit)
                told(state)
        return state._replace(open=self._timetable.open(type, name))

    def run_of(self, type: str, name: str, due: int, *, actor: str = "") -> NewRun | None:
        """The run that is due; None if the function says that there is none. Raises what the function raises."""
        workflow = self._newest[type]
        schedule = workflow.schedule_functions[name]
        input = schedule.input_for(due)
        if input is None:
            return None
        text, id = workflow.encode(input), self._new_id()
        key, resource = workflow.key_of(input), workflow.resource_of(input)
        claims = workflow.claims_of(input)
        return NewRun(id, workflow.spec, text, key, resource, id, 0, None, actor=actor or f"schedule:{name}", claims=claims)

    # ── parts ──

    def _set_paused(self, type: str, name: str, paused: bool, audit: Audit) -> ScheduleShown:
        if not self._timetable.set_paused(type, name, paused=paused, audit=audit):
            state = self.show(type, name).state
            self._refuse(type, name, audit, f"it is {state}.", f"Look at it with: halfway schedule show {type} {name}")
        return self.show(type, name)

    def _fill(self, type: str, name: str, tick: int, state: Backfill, audit: Audit) -> Backfill:
        try:
            run = self.run_of(type, name, tick, actor=audit.actor)
            started = None if run is None else self._timetable.order(type, name, tick, origin="BACKFILL", run=run, audit=None)
        except DatabaseError:
            raise
        except Exception as error:  # one time for which no run can be made must not stop the others
            return state._replace(failed=(*state.failed, (instant(tick), named(error))))
        if run is None:
            return state._replace(declined=state.declined + 1)
        if started is None:  # the scheduler, or another backfill, was faster
            return state._replace(had=state.had + 1)
        self._wake(started.ready)
        return state._replace(started=state.started + 1)

    def _await_room(
        self, type: str, name: str, state: Backfill, concurrency: int, *, told: Callable[[Backfill], None],
        sleep: Callable[[float], None],
    ) -> None:  # fmt: skip
        while (open := self._timetable.open(type, name)) >= concurrency:
            told(state._replace(open=open))
            sleep(LOOK_AGAIN)

    def _ticks(self, spec: ScheduleSpec, since: datetime, until: datetime) -> Sequence[int]:
        if since.utcoffset() is None or until.utcoffset() is None or since > until:
            raise _invalid(problem=f"from {since} to {until} is no time.", remedy="Give two times with their zones, the earlier one first.")
        now = self._timetable.now()
        first, last = _microseconds(since), min(_microseconds(until), now)
        found = list(islice(ticks(spec, first - 1, last), MOST + 1))
        if len(found) > MOST:
            raise _invalid(problem=f"it has more than {MOST} ticks.", remedy="Give a shorter time.")
        return found

    def _started(self, type: str, name: str, due: Sequence[int]) -> frozenset[int]:
        return self._timetable.started(type, name, due[0], due[-1]) if due else frozenset()

    def _find(self, type: str, name: str) -> ScheduleDetail:
        found = self._timetable.schedules(type=type, name=name)
        if not found or type not in self._specs(type):
            raise NotFound("SCHEDULE_UNKNOWN", workflow=type, schedule=name)
        return found[0]

    def _specs(self, type: str | None) -> Mapping[str, WorkflowSpec]:
        """The newest definition of each workflow; what the engine does for itself has none."""
        newest = {row.type: row for row in sorted(self._reading.definitions(), key=lambda row: (row.version, row.registered_at))}
        return {row.type: self._runs.spec(row.hash) for row in newest.values() if type is None or row.type == type}

    def _asked(self, type: str, name: str, action: str, actor: str, reason: str) -> Audit:
        """An order that may be given; one that may not is audited, too."""
        if not actor.strip() or not reason.strip():
            raise _invalid(problem="an order needs who gives it, and why.", remedy="Give both; they are kept in the audit log.")
        self._find(type, name)
        audit = Audit(self._new_id(), actor.strip(), action, redact(reason), None, None)
        owner = self._specs(type)[type].owner
        if not self._can(audit.actor, action, Demand("", type, owner, None, owner)):
            refused = NotAllowed("NOT_PERMITTED", actor=actor, action=action, remedy=f"Ask somebody who holds the role {owner}.")
            self._timetable.note(type, name, audit._replace(refused=str(refused)))
            raise refused
        return audit

    def _workflow(self, type: str, name: str, audit: Audit) -> None:
        """Refuses an order whose function is not here, or is that of an older version."""
        row, workflow = self._find(type, name).row, self._newest.get(type)
        if workflow is None or workflow.version != row.version or name not in workflow.schedule_functions:
            problem = f"the code of {type}:v{row.version} is not here."
            self._refuse(type, name, audit, problem, "Name the app of that version: --app module:name.")

    def _refuse(self, type: str, name: str, audit: Audit, problem: str, remedy: str, *, cause: Exception | None = None) -> NoReturn:
        refused = Conflict("SCHEDULE_REFUSED", action=audit.action, schedule=name, workflow=type, problem=problem, remedy=remedy)
        self._timetable.note(type, name, audit._replace(refused=str(refused)))
        raise refused from cause


def _shown(detail: ScheduleDetail, now: int, coming: int) -> ScheduleShown:
    row = detail.row
    spec = row.spec
    idle = row.paused_at is not None or row.retired_at is not None
    found = () if idle else tuple(told_in(spec.zone, tick) for tick in _coming(spec, max(now, row.accounted_at), coming))
    late = None if idle or row.next_at is None or row.next_at > now else timedelta(microseconds=now - row.next_at)
    return ScheduleShown(row=row, waiting=detail.waiting, error=detail.error, coming=found, overdue=late)


def _coming(spec: ScheduleSpec, after: int, count: int) -> Iterator[int]:
    tick = next_tick(spec, after)
    while tick is not None and count > 0:
        yield tick
        tick, count = next_tick(spec, tick), count - 1


def _microseconds(time: datetime) -> int:
    return int(time.timestamp()) * 1_000_000 + time.microsecond


def _tick_json(tick: TickRow) -> Json:
    return {
        "due": rfc3339(instant(tick.due)), "outcome": tick.outcome, "origin": tick.origin, "workflowRunId": tick.run_id,
        "status": tick.status, "reason": tick.reason or None, "at": rfc3339(instant(tick.at)), "nextAt": rfc3339(moment(tick.next_at)),
        "tries": tick.tries, "error": tick.error,
    }  # fmt: skip


def _missed_json(missed: MissedRow) -> Json:
    first, last = rfc3339(instant(missed.first)), rfc3339(instant(missed.last))
    return {"first": first, "last": last, "count": missed.total, "at": rfc3339(instant(missed.at))}


def _invalid(*, problem: str, remedy: str) -> InvalidInput:
    return InvalidInput("CONFIG_INVALID", source="of the order about a schedule", problem=problem, remedy=remedy)
