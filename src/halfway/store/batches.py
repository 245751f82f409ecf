"""The port `Batches`: orders for many runs, kept as a whole and carried out one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from halfway.ports import BatchItem, BatchRow, NewBatch
from halfway.store.database import Database, Session, Work
from halfway.store.texts import made_storable, require_storable

ENDS = frozenset({"STOPPED", "DONE"})


class StoreBatches:
    """Every change of state is guarded by the state before, every outcome by there being none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, batch: NewBatch, items: Sequence[tuple[str, str | None]]) -> None:
        require_storable(reason=batch.reason, actor=batch.actor, filter=batch.filter, arguments=batch.arguments)
        id, actor, action, reason, filter, arguments, rate, stop_after = batch
        rows = [(batch.id, n, run_id, step) for n, (run_id, step) in enumerate(items, 1)]
        with self._database.transaction("create_batch") as session:
            created = Work("create_batch", [(id, session.now, actor, action, reason, filter, arguments, rate, stop_after)])
            session.many([created, Work("create_batch_item", rows)] if rows else [created])

    def get(self, id: str) -> BatchRow | None:
        found = self._read(id=id)
        return found[0] if found else None

    def recent(self, *, limit: int = 50) -> Sequence[BatchRow]:
        return self._read(limit=limit)

    def running(self) -> Sequence[BatchRow]:
        return self._read(state="RUNNING")[::-1]

    def items(self, id: str, *, state: str | None = None, after: int = 0, limit: int = 1000) -> Sequence[BatchItem]:
        with self._database.reading() as session:
            return [BatchItem(*row) for row in session.rows("batch_items", id=id, state=state, after=after, limit=limit)]

    def set_state(self, id: str, former: str, state: str) -> bool:
        with self._database.transaction("set_batch_state") as session:
            ended_at = session.now if state in ENDS else None
            return session.run("set_batch_state", id=id, former=former, state=state, ended_at=ended_at) == 1

    def next(self, id: str, limit: int) -> Sequence[BatchItem]:
        with self._database.reading() as session:
            return [BatchItem(*row) for row in session.rows("next_batch_items", id=id, limit=limit)]

    def finish(self, id: str, n: int, state: str, detail: str | None = None) -> bool:
        with self._database.transaction("finish_batch_item") as session:
            finished = session.run("finish_batch_item", id=id, n=n, state=state, detail=made_storable(detail), now=session.now) == 1
            if finished:
                session.run("end_batch", id=id, now=session.now)
        return finished

    def _read(self, *, id: str | None = None, state: str | None = None, limit: int = 1000) -> list[BatchRow]:
        with self._database.reading() as session:
            rows = session.rows("batches", id=id, state=state, limit=limit)
            counts = _counts(session, [row[0] for row in rows])
        return [BatchRow(NewBatch(*batch), at, state, ended_at, counts[batch[0]]) for *batch, at, state, ended_at in rows]


def _counts(session: Session, ids: list[str]) -> defaultdict[str, dict[str, int]]:
    counts: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for id, state, count in session.rows("batch_counts", ids=ids) if ids else []:
        counts[id][state] = count
    return counts
