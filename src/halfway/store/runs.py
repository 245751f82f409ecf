"""The port `RunStore`: definitions, starting runs, and the one verb that changes them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager

from halfway.domain.draft import Audit
from halfway.domain.run import Key
from halfway.domain.spec import WorkflowSpec
from halfway.errors import Conflict
from halfway.ports import EpochOver, Local, NewEvent, NewRun, Received, Started
from halfway.store.creating import Creation
from halfway.store.database import Ask, Database
from halfway.store.definitions import Definitions, register
from halfway.store.flow import Known
from halfway.store.ids import new_id
from halfway.store.inbox import receive
from halfway.store.local import local_transaction
from halfway.store.texts import require_storable
from halfway.store.turn import StoreTurn


class StoreRuns:
    """Runs and what belongs to them."""

    def __init__(self, database: Database, definitions: Definitions) -> None:
        self._database = database
        self._definitions = definitions
        self._flow = Known()

    def register(self, specs: Sequence[WorkflowSpec]) -> None:
        missing = [spec for spec in specs if self._definitions.cached(spec.hash) is None]
        if missing:
            with self._database.transaction("register") as session:
                register(session, missing)
            for spec in missing:
                self._definitions.remember(spec)

    def spec(self, hash: str) -> WorkflowSpec:
        known = self._definitions.cached(hash)
        if known is not None:
            return known
        with self._database.reading() as session:
            return self._definitions.spec(session, hash)

    def create(self, runs: Sequence[NewRun], *, within: object = None) -> Sequence[Started]:
        url = self._database.dialect.url
        if within is not None:
            with self._database.borrowed(within) as session:
                return Creation(session, self._definitions, url).create(runs)
        with self._database.transaction("start") as session:
            started = Creation(session, self._definitions, url).create(runs)
        for new in runs:
            self._definitions.remember(new.spec)
        return started

    def child(self, run_id: str, key: Key) -> str | None:
        with self._database.reading() as session:
            rows = session.rows("child", run_id=run_id, step=key.step, round=key.round, item=key.item)
        return str(rows[0][0]) if rows else None

    def keep(self, events: Sequence[NewEvent], *, within: object) -> Sequence[Received]:
        with self._database.borrowed(within) as session:
            return receive(session, events, self._database.dialect.url)

    def refuse(self, run_id: str, audit: Audit) -> None:
        """Under an id of its own: the order may be given again, and then be carried out."""
        require_storable(
            run=run_id, action_id=audit.action_id, actor=audit.actor, reason=audit.reason, evidence=audit.evidence, refused=audit.refused
        )
        with self._database.transaction("refuse") as session:
            for action_id, former in session.rows("audited", ids=[audit.action_id]):  # it was carried out before
                raise Conflict("ACTION_REPEATED", action_id=action_id, run=former)
            session.run(
                "refuse",
                now=session.now,
                action_id=f"refused:{new_id()}:{audit.action_id}",
                actor=audit.actor,
                action=audit.action,
                step=audit.step,
                reason=audit.reason,
                evidence=audit.evidence,
                refused=audit.refused,
                run_id=run_id,
            )

    def restored(self) -> int:
        with self._database.transaction("restored") as session:
            session.rows("lock_open_runs")
            count = session.run("set_restored", now=session.now)
            session.run("note_restored", now=session.now)
            session.run("put_meta", name="restored_at", value=str(session.now))
            history = session.history()
            if history:
                session.run("put_meta", name="history", value=history)
            return count

    @contextmanager
    def change(self, *, epoch: str | None = None, name: str = "change") -> Generator[StoreTurn]:
        ask = None if epoch is None else Ask("epoch_and_flow", {"epoch": epoch})
        with self._database.asking(name, ask) as (session, answer):
            state, change = answer[0] if answer else ("", None)
            if epoch is not None and state != "ALIVE":
                raise EpochOver(epoch)
            yield StoreTurn(session, self._definitions, self._flow, change)

    def transaction(self, kind: type, run_id: str, key: Key, n: int) -> AbstractContextManager[Local]:
        return local_transaction(self._database, self._definitions, self._flow, kind, (run_id, key, n))
