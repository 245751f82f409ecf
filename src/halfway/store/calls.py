"""The port `Calls`, and the rows that attempts keep about the tools they call."""

from __future__ import annotations

from collections.abc import Sequence

from halfway.domain.run import Key
from halfway.ports import Answered, Called, CallRow, Spent
from halfway.store.database import Database, Session, Work
from halfway.store.rows import to_key
from halfway.store.texts import made_storable


class StoreCalls:
    """Each answer is of one moment."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def spent(self, run_id: str, step: str) -> Spent:
        with self._database.reading() as session:
            [row] = session.rows("spent", run_id=run_id, step=step)
        return Spent(*map(int, row))

    def before(self, run_id: str, key: Key, n: int) -> Sequence[CallRow]:
        step, round, item, kind = key
        with self._database.reading() as session:
            rows = session.rows("former_calls", run_id=run_id, step=step, round=round, item=item, kind=kind.value, before=n)
        return [CallRow(key, *row) for row in rows]

    def of_run(self, run_id: str, *, limit: int = 1000) -> Sequence[CallRow]:
        with self._database.reading() as session:
            rows = session.rows("read_calls", run_id=run_id, limit=limit)
        return [CallRow(to_key(*row[:4]), *row[4:]) for row in rows]


def keep_calls(session: Session, rows: Sequence[Called | Answered]) -> frozenset[Called | Answered]:
    """Keeps calls of attempts that still run, and answers, and tells which."""
    called = [row for row in rows if isinstance(row, Called)]
    answered = [row for row in rows if isinstance(row, Answered)]
    begun = [
        (row.seq, row.tool, row.effect, made_storable(row.args), row.tokens, session.now, row.run_id, *_plain(row.key), row.n)
        for row in called
    ]
    ended = [
        (session.now, made_storable(row.answer), made_storable(row.error), row.run_id, *_plain(row.key), row.n, row.seq) for row in answered
    ]
    counts = session.each(Work("keep_call", begun)) + session.each(Work("keep_answer", ended))
    asked: list[Called | Answered] = [*called, *answered]
    return frozenset(row for row, count in zip(asked, counts, strict=True) if count)


def _plain(key: Key) -> tuple[str, int, str, str]:
    return key.step, key.round, key.item, key.kind.value
