"""The port `RunStore`: definitions, starting runs, and the one verb that changes them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager

from halfway.domain.run import Key
from halfway.domain.spec import WorkflowSpec
from halfway.ports import EpochOver, Local, NewRun, Started
from halfway.store.creating import Creation
from halfway.store.database import Ask, Database
from halfway.store.definitions import Definitions, register
from halfway.store.local import local_transaction
from halfway.store.turn import StoreTurn


class StoreRuns:
    """Runs and what belongs to them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._definitions = Definitions()

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

    @contextmanager
    def change(self, *, epoch: str | None = None, name: str = "change") -> Generator[StoreTurn]:
        ask = None if epoch is None else Ask("epoch_state", {"epoch": epoch})
        with self._database.asking(name, ask) as (session, answer):
            if epoch is not None and answer != [("ALIVE",)]:
                raise EpochOver(epoch)
            yield StoreTurn(session, self._definitions)

    def transaction(self, kind: type, run_id: str, key: Key, n: int) -> AbstractContextManager[Local]:
        return local_transaction(self._database, self._definitions, kind, (run_id, key, n))
