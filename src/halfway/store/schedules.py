"""The ports `Schedules` and `Timetable`: a tick and its run are written together, and a tick has one row, so it has one run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from halfway.domain.draft import Audit
from halfway.domain.schedule import Account, Reason, Standing, Waiting
from halfway.domain.spec import ScheduleSpec, schedule
from halfway.ports import Looked, MissedRow, NewRun, ScheduleDetail, ScheduleRow, Started, TickRow
from halfway.store.creating import Creation
from halfway.store.database import Database, Row, Session
from halfway.store.definitions import Definitions, schedule_text
from halfway.store.texts import made_storable, require_storable

REMEMBERED = 100  # ticks of the engine's own upkeep


class StoreSchedules:
    """What the engine asks and writes; each write names the revision that it has seen, or the tick that waits."""

    def __init__(self, database: Database, definitions: Definitions) -> None:
        self._database = database
        self._definitions = definitions

    def due(self, types: Sequence[str]) -> Sequence[Looked]:
        if not types:
            return []
        with self._database.reading() as session:
            found = [to_schedule(row) for row in session.rows("due_schedules", types=list(types), now=session.now)]
            return [Looked(row, _standing(session, row), session.now) for row in found]

    def account(self, row: ScheduleRow, account: Account) -> bool:
        with self._database.transaction("account_ticks") as session:
            if not _move(session, row, account):
                return False
            for due in account.new:
                _put(session, row, due, "WAITING", "", next_at=session.now)
            for due, reason in account.skipped:
                _put(session, row, due, "SKIPPED", reason.value, next_at=None)
            if account.missed is not None:
                first, last, count = account.missed
                session.run(
                    "put_missed", type=row.type, name=row.name, first_at=first, last_at=last, count=count, now=session.now
                )  # fmt: skip
        return True

    def start(self, row: ScheduleRow, due: int, run: NewRun) -> Started | None:
        with self._database.transaction("start_tick") as session:
            if not session.run("touch_schedule", type=row.type, name=row.name, revision=row.revision):
                return None
            if not session.run("start_tick", type=row.type, name=row.name, due_at=due, run_id=run.id, now=session.now):
                return None
            started = self._create(session, row.type, row.name, due, run)
        self._definitions.remember(run.spec)
        return started

    def skip(self, row: ScheduleRow, due: int, reason: Reason) -> None:
        with self._database.transaction("skip_tick") as session:
            if session.run("touch_schedule", type=row.type, name=row.name, revision=row.revision):
                _put(session, row, due, "SKIPPED", reason.value, next_at=None)

    def failed(self, row: ScheduleRow, due: int, error: str, again_at: int) -> None:
        with self._database.transaction("tick_failed") as session:
            session.run("tick_failed", type=row.type, name=row.name, due_at=due, error=made_storable(error), next_at=again_at)

    def ensure(self, type: str, spec: ScheduleSpec) -> None:
        with self._database.transaction("register") as session:
            session.run("put_schedule", type=type, name=spec.name, version=0, spec=schedule_text(spec), now=session.now)

    def take(self, row: ScheduleRow, account: Account) -> int | None:
        with self._database.transaction("take_upkeep") as session:
            if not _move(session, row, account) or not account.new:
                return None
            due = account.new[-1]
            taken = session.run("take_upkeep", type=row.type, name=row.name, due_at=due, now=session.now)
            before = due - REMEMBERED * (row.spec.every or 0)
            session.run("forget_upkeep", type=row.type, name=row.name, before=before)
        return due if taken else None

    def undone(self, row: ScheduleRow, due: int, error: str) -> None:
        with self._database.transaction("upkeep_failed") as session:
            session.run("upkeep_failed", type=row.type, name=row.name, due_at=due, error=made_storable(error))

    def _create(self, session: Session, type: str, name: str, due: int, run: NewRun) -> Started:
        """The run of a tick that has its row already; another one may stand under its key."""
        started = Creation(session, self._definitions, self._database.dialect.url).create([run])[0]
        if started.run_id != run.id:
            session.run("set_tick_run", type=type, name=name, due_at=due, run_id=started.run_id)
        return started


class StoreTimetable(StoreSchedules):
    """What people ask and order."""

    def schedules(self, *, type: str | None = None, name: str | None = None) -> Sequence[ScheduleDetail]:
        with self._database.reading() as session:
            rows = session.rows("schedules", type=made_storable(type), name=made_storable(name))
        return [ScheduleDetail(to_schedule(row[:9]), *row[9:]) for row in rows]

    def ticks(self, type: str, name: str, *, limit: int = 20) -> Sequence[TickRow]:
        with self._database.reading() as session:
            return [TickRow(*row) for row in session.rows("last_ticks", type=type, name=name, limit=limit)]

    def missed(self, type: str, name: str, *, limit: int = 20) -> Sequence[MissedRow]:
        with self._database.reading() as session:
            return [MissedRow(*row) for row in session.rows("last_missed", type=type, name=name, limit=limit)]

    def set_paused(self, type: str, name: str, *, paused: bool, audit: Audit) -> bool:
        with self._database.transaction("pause_schedule") as session:
            rows = session.rows("lock_schedule", type=type, name=name)
            if not rows or (rows[0][0] is not None) == paused:
                return False
            session.run("pause_schedule", type=type, name=name, paused_at=session.now if paused else None, now=session.now)
            _audit(session, type, name, audit, *(("ACTIVE", "PAUSED") if paused else ("PAUSED", "ACTIVE")))
        return True

    def note(self, type: str, name: str, audit: Audit) -> None:
        with self._database.transaction("note_schedule") as session:
            state = _state(session, type, name)
            _audit(session, type, name, audit, state)

    def order(self, type: str, name: str, due: int, *, origin: str, run: NewRun, audit: Audit | None) -> Started | None:
        with self._database.transaction("order_tick") as session:
            if not session.run("touch_schedule", type=type, name=name, revision=None):
                return None
            if not session.run("order_tick", type=type, name=name, due_at=due, origin=origin, run_id=run.id, now=session.now):
                return None
            started = self._create(session, type, name, due, run)
            if audit is not None:
                state = _state(session, type, name)
                _audit(session, type, name, audit._replace(evidence=f"run {started.run_id}"), state)
        self._definitions.remember(run.spec)
        return started

    def started(self, type: str, name: str, first: int, last: int) -> frozenset[int]:
        with self._database.reading() as session:
            return frozenset(due for (due,) in session.rows("started_between", type=type, name=name, first_at=first, last_at=last))

    def open(self, type: str, name: str) -> int:
        with self._database.reading() as session:
            return int(session.rows("count_backfilled", type=type, name=name)[0][0])

    def now(self) -> int:
        with self._database.reading() as session:
            return session.now


def to_schedule(row: Row) -> ScheduleRow:
    """From the 9 columns of a schedule."""
    type, name, version, spec, *rest = row
    return ScheduleRow(type, name, version, schedule(json.loads(spec)), *rest)


def _standing(session: Session, row: ScheduleRow) -> Standing:
    waiting = tuple(Waiting(*one) for one in session.rows("waiting_ticks", type=row.type, name=row.name))
    return Standing(row.accounted_at, waiting, bool(session.rows("open_tick", type=row.type, name=row.name)))


def _move(session: Session, row: ScheduleRow, account: Account) -> bool:
    return bool(
        session.run(
            "move_schedule", type=row.type, name=row.name, accounted_at=account.accounted, next_at=account.next_at, revision=row.revision
        )
    )


def _put(session: Session, row: ScheduleRow, due: int, outcome: str, reason: str, *, next_at: int | None) -> None:
    session.run(
        "put_tick", type=row.type, name=row.name, due_at=due, outcome=outcome, reason=reason, now=session.now, next_at=next_at
    )  # fmt: skip


def _state(session: Session, type: str, name: str) -> str:
    rows = session.rows("lock_schedule", type=type, name=name)
    return "RETIRED" if not rows else "ACTIVE" if rows[0][0] is None else "PAUSED"


def _audit(session: Session, type: str, name: str, audit: Audit, *states: str) -> None:
    """With the schedule's state before and after."""
    require_storable(actor=audit.actor, reason=audit.reason, evidence=audit.evidence)
    session.run(
        "audit", id=session.now, action_id=audit.action_id, now=session.now, actor=audit.actor, action=audit.action,
        run_id=f"schedule:{type}/{name}", step=None, reason=audit.reason, evidence=audit.evidence, refused=audit.refused,
        before_state=states[0], after_state=states[-1],
    )  # fmt: skip
