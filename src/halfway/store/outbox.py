"""The ports `Outbox` and `Triggers`: what is to be handed over to those outside, and what is to be started by what has happened."""

from __future__ import annotations

from collections.abc import Sequence

from halfway.ports import Message, NewEvent, Task
from halfway.store.database import Database, Row, Session
from halfway.store.inbox import outcome_of
from halfway.store.texts import made_storable


class StoreOutbox:
    """Each message is taken by one courier for a while; if it is not heard of again, by the next."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, limit: int, lease: int) -> Sequence[Message]:
        with self._database.reading() as session:  # it is asked often, and seldom has anything
            if not session.rows("is_message_due", now=session.now):
                return []
        with self._database.transaction("take_messages") as session:
            messages = [to_message(row) for row in session.rows("due_messages", now=session.now, limit=limit)]
            if messages:
                session.run("lease_messages", next_at=session.now + lease, ids=[message.id for message in messages])
        return messages

    def delivered(self, id: str) -> None:
        with self._database.transaction("delivered") as session:
            session.run("message_delivered", id=id, now=session.now)

    def failed(self, id: str, error: str, again_at: int) -> None:
        with self._database.transaction("undelivered") as session:
            session.run("message_failed", id=id, error=made_storable(error), next_at=again_at)


class StoreTriggers:
    """Tasks are not taken: whoever creates the run of one has done it, whoever comes second creates nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due(self, types: Sequence[str], limit: int) -> Sequence[Task]:
        if not types:
            return []
        with self._database.reading() as session:
            tasks = [Task(*row) for row in session.rows("due_tasks", types=list(types), now=session.now, limit=limit)]
            return [task if task.run_id is None else task._replace(payload=self._outcome(session, task.run_id)) for task in tasks]

    def _outcome(self, session: Session, run_id: str) -> str | None:
        rows = session.rows("ended_run", run_id=run_id)
        return outcome_of(session, rows[0]) if rows else None

    def failed(self, id: str, error: str, again_at: int) -> None:
        with self._database.transaction("task_failed") as session:
            session.run("task_failed", id=id, error=made_storable(error), next_at=again_at)

    def drop(self, id: str) -> None:
        with self._database.transaction("task_dropped") as session:
            session.run("finish_task", id=id)


def to_message(row: Row) -> Message:
    """From the 8 columns of a message and the 6 of its event."""
    id, at, what, run_id, step, role, code, tries, *event = row
    return Message(id, at, what, run_id, step, role, code, tries, None if event[0] is None else NewEvent(*event))
