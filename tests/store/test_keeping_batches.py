"""Deleting in small batches: stopped at any moment, gone on with by anybody, many at once."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from halfway.control.cleaning import Report
from halfway.domain.spec import DAY
from halfway.ports import Cut, Old, Place, Swept
from halfway.store import Store, open_store
from halfway.store.forgetting import ROWS, RUNS
from tests.store.keeping import ONE, clean, ended, many, rows_of, saved, sql, swept, together
from tests.store.world import succeed


def test_whoever_is_stopped_leaves_the_rest_to_the_next(store: Store) -> None:
    many(store, RUNS + 10)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 1

    report = clean(store, stop=stop)
    assert (report.stopped, report.deleted) == (True, {"runs": RUNS})
    assert len(store.reading.runs(limit=100)) == 10
    assert sql(store, "select count(*) from halfway_record") == [(RUNS + 10,)]
    rest = clean(store)
    assert (rest.stopped, rest.deleted["runs"], rest.deleted["records"]) == (False, 10, RUNS + 10)


def test_a_run_with_very_many_rows_goes_in_several_batches(store: Store) -> None:
    run_id = ended(store)
    sql(
        store,
        "insert into halfway_journal (run_id, seq, at, name) select ?, 1000 + n, 1, 'noted' from (with recursive t(n) as "
        "(select 1 union all select n + 1 from t where n < 1200) select n from t) as numbers", run_id,
    )  # fmt: skip
    store.advance_clock(31 * DAY)
    swept(store, Old.RUNS, Cut(store.now() - 30 * DAY, "ones"))
    batches = swept(store, Old.REST, Cut())
    assert [batch.deleted.get("journal", 0) >= ROWS for batch in batches] == [True, True, False, False]
    assert rows_of(store, run_id) == {"halfway_past"}


def test_many_sweep_at_once_and_nothing_is_deleted_or_counted_twice(store: Store) -> None:
    many(store, 150)
    ended(store, key="young")
    reports: list[Report] = []
    together(*[lambda: reports.append(clean(store)) for _ in range(4)], lambda: [ended(store) for _ in range(10)] and None)
    reports.append(clean(store))  # what one had locked the others have left out
    total: Counter[str] = Counter()
    for report in reports:
        total.update(report.deleted)
    assert (total["runs"], total["records"], total["attempts"]) == (150, 150, 150)
    assert len(store.reading.runs(limit=100)) == 11
    assert sql(store, "select count(*) from halfway_past where cleared_at is not null") == [(150,)]


def test_a_wake_for_a_run_that_is_gone_troubles_nobody(store: Store) -> None:
    run_id = ended(store)
    sql(store, "insert into halfway_wake values (?, 1)", run_id)
    store.advance_clock(31 * DAY)
    clean(store)
    with store.runs.change() as turn:
        assert list(turn.due(10)) == []


def test_a_transaction_that_is_open_for_long_is_seen(postgres_url: str) -> None:
    """B47: what is deleted is not gone as long as somebody may look at it."""
    store, reader = open_store(postgres_url), open_store(postgres_url)
    with reader._database.reading() as session:
        session.rows("count_runs")
        assert store.keeping.snapshots(5 * 60 * 1_000_000) == ()
        store.advance_clock(DAY)
        (found,) = store.keeping.snapshots(5 * 60 * 1_000_000)
        assert found.pid > 0
    assert store.keeping.snapshots(0) == ()
    reader.close()
    store.close()


def test_an_old_run_that_is_resumed_first_is_not_deleted(store: Store) -> None:
    """A run is locked before anything of it is deleted, and its end is looked at again then."""
    run_id = ended(store)
    store.advance_clock(31 * DAY)
    sql(store, "update halfway_run set ended_at = null where id = ?", run_id)
    assert store.keeping.sweep(Old.RUNS, Cut(store.now(), "ones"), Place(), delete=True) == Swept({}, {}, None)


def test_what_was_cleared_is_not_looked_at_again(store: Store) -> None:
    """B47: a held snapshot keeps the entries of what was cleared in the index, so each batch begins behind the one before."""
    many(store, RUNS + 10)
    swept(store, Old.RUNS, Cut(store.now() - 30 * DAY, "ones"))
    first = store.keeping.sweep(Old.REST, Cut(), Place(), delete=True)
    assert first.after is not None
    assert sql(store, "select max(run_id) from halfway_past where cleared_at is not null") == [(first.after.id,)]
    sql(store, "update halfway_past set cleared_at = null where run_id = ?", first.after.id)
    second = store.keeping.sweep(Old.REST, Cut(), first.after, delete=True)
    assert second.deleted["records"] == 10
    assert sql(store, "select run_id from halfway_past where cleared_at is null") == [(first.after.id,)]


class Break(Exception):
    """The process would have died here."""


class Breaking:
    """Breaks at the nth commit of a cleanup, before it or behind it."""

    def __init__(self, point: str) -> None:
        self.point = f"cleanup.{point}"
        self.left = 0

    def reached(self, name: str) -> None:
        if name == self.point and self.left:
            self.left -= 1
            if not self.left:
                raise Break


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
def test_whoever_dies_in_the_middle_leaves_nothing_that_the_next_does_not_find(url: str, tmp_path: Path, point: str) -> None:
    points = Breaking(point)
    store = open_store(url, artifacts=str(tmp_path / "artifacts"), points=points)
    for number in range(1, 7):
        run_id = saved(store, f"a-{number}")
        succeed(store, run_id, ONE)
        store.advance_clock(31 * DAY)
        points.left = number
        with suppress(Break):
            clean(store)
        points.left = 0
        assert run_id in [row.run.id for row in store.reading.runs()] or store.keeping.past(run_id) is not None
        clean(store)
        assert rows_of(store, run_id) == {"halfway_past"}
    store.close()
