"""The port `Attention`: what needs a person, across runs. It changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfway.ports import AskRow, AuditRow, EventRow, FailedTask, IncidentRow, NewEvent, Task, WaitRow
from halfway.store.database import Database
from halfway.store.outbox import to_message
from halfway.store.reading import to_audit
from halfway.store.rows import to_key, to_record, to_run
from halfway.store.texts import storable

RECORD = len("record:")


class StoreAttention:
    """Each answer is of one moment; what no database can hold is found nowhere."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def asking(self, *, role: str | None = None, limit: int = 200) -> Sequence[AskRow]:
        if not storable(role):
            return []
        with self._database.reading() as session:
            rows = session.rows("asking", role=role, limit=limit)
        return [
            AskRow(to_run(row[:22]), key, to_record(row[22:41]), shown, shown_hash, since)
            for row in rows
            for key, shown, shown_hash, since in [row[41:]]
        ]

    def stopped(self, *, limit: int = 200) -> Sequence[AskRow]:
        with self._database.reading() as session:
            return [AskRow(to_run(row[:22]), row[22], None, None, None, row[23]) for row in session.rows("stopped", limit=limit)]

    def counts(self) -> Mapping[str, int]:
        with self._database.reading() as session:
            return dict(session.rows("count_runs"))

    def audit_log(
        self, *, run: str | None = None, actor: str | None = None, action: str | None = None, limit: int = 100, before: int | None = None
    ) -> Sequence[AuditRow]:
        if not all(map(storable, (run, actor, action))):
            return []
        with self._database.reading() as session:
            rows = session.rows("audit_log", run_id=run, actor=actor, action=action, before=before, limit=limit)
        return [to_audit(row) for row in rows]

    def events(self, *, name: str | None = None, key: str | None = None, unused: bool = False, limit: int = 100) -> Sequence[EventRow]:
        if not all(map(storable, (name, key))):
            return []
        with self._database.reading() as session:
            rows = session.rows("events", name=name, key=key, unused=1 if unused else 0, limit=limit)
        return [EventRow(NewEvent(*row[:6]), *row[6:]) for row in rows]

    def waits(self, run_id: str) -> Sequence[WaitRow]:
        if not storable(run_id):
            return []
        with self._database.reading() as session:
            return [WaitRow(to_key(*row[:4]), *row[4:]) for row in session.rows("waits", run_id=run_id)]

    def messages(self, *, what: str | None = None, undelivered: bool = False, limit: int = 100) -> Sequence[IncidentRow]:
        if not storable(what):
            return []
        with self._database.reading() as session:
            rows = session.rows("messages", what=what, undelivered=1 if undelivered else 0, limit=limit)
        return [IncidentRow(to_message(row[:14]), *row[14:]) for row in rows]

    def failed_tasks(self, *, limit: int = 100) -> Sequence[FailedTask]:
        with self._database.reading() as session:
            return [FailedTask(Task(*row[:8]), row[8]) for row in session.rows("failed_tasks", limit=limit)]

    def holds(self, run_id: str | None = None) -> Sequence[tuple[str, str]]:
        if not storable(run_id):
            return []
        prefix = None if run_id is None else f"{run_id}:"
        with self._database.reading() as session:
            rows = session.rows("holds", prefix=prefix, length=0 if prefix is None else len(prefix))
        return [(key[RECORD:], holder) for key, holder in rows]
