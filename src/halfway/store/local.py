"""The transaction of a step in the own database: the author's writes, the end of the attempt and the run commit together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from halfway.domain.decide import evolve
from halfway.domain.draft import Change
from halfway.domain.facts import EndAttempt
from halfway.domain.run import Key, Snapshot
from halfway.errors import DefinitionError
from halfway.ports import Evidence, GuardFailed, Loaded, Saved
from halfway.store.database import Connection, Database, Purpose
from halfway.store.definitions import Definitions
from halfway.store.flow import Known
from halfway.store.turn import keep, load, write


class StoreLocal:
    """The port `Local`."""

    def __init__(
        self, database: Database, definitions: Definitions, flow: Known, connection: Connection, attempt: tuple[str, Key, int]
    ) -> None:
        self.connection: object = connection.raw
        self._database = database
        self._definitions = definitions
        self._flow = flow
        self._session = connection
        self._run_id, self._key, self._n = attempt

    @property
    def intact(self) -> bool:
        return self._session.in_transaction()

    def keep(self, rows: Sequence[Evidence | Saved]) -> None:
        if len(keep(self._session, rows)) != len(set(rows)):
            raise GuardFailed(f"attempt {self._n} of {self._key.step} is no longer running")

    def finish(self, decide: Callable[[Loaded, int], Change]) -> Snapshot:
        """The last statements before the commit are the guarded writes, so that two attempts can never both commit."""
        session = self._session
        session.rows("lock_runs_waiting", ids=[self._run_id])
        session.read_clock()
        loaded = load(session, [self._run_id])[self._run_id]
        record = loaded.snapshot.records.get(self._key)
        if record is None or record.running is None or record.running.n != self._n:
            raise GuardFailed(f"attempt {self._n} of {self._key.step} is no longer running")
        change = decide(loaded, session.now)
        if not any(isinstance(command, EndAttempt) and command.n == self._n and command.key == self._key for command in change.commands):
            raise GuardFailed(f"attempt {self._n} of {self._key.step} was not ended")
        write(session, self._definitions, [change], self._flow.limited)
        self._database.commit(session, "transaction")
        return evolve(loaded.snapshot, change.commands)


@contextmanager
def local_transaction(
    database: Database, definitions: Definitions, flow: Known, kind: type, attempt: tuple[str, Key, int]
) -> Generator[StoreLocal]:
    """Leaving it without `finish` rolls back: the connection is closed with the transaction open."""
    dialect = database.dialect
    run_id, key, _ = attempt
    if not dialect.gives(kind):
        raise DefinitionError(
            "DEFINITION",
            workflow=f"of run {run_id}",
            problem=f"step {key.step} is a transaction on {kind.__module__}.{kind.__qualname__}, which {dialect.name} does not give.",
            remedy=f"Declare it with wf.transaction({dialect.connection_type}).",
        )
    with database.connection(Purpose.LOCAL) as connection:
        connection.begin(write=True)
        yield StoreLocal(database, definitions, flow, connection, attempt)
