"""What the tests of keeping and deleting need: runs that have ended, rows as somebody else would have left them, whole sweeps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from halfway.authoring.retention import Retention
from halfway.control.cleaning import Policy, Report, cleanup
from halfway.domain.run import Key
from halfway.domain.spec import DAY
from halfway.ports import Cut, Old, Place, Saved, Swept
from halfway.store import Store
from tests.store.world import begin, claim, spec_of, start, step, succeed

ONE = spec_of(step("first"), type="ones")
MONTH, YEAR = timedelta(days=30), timedelta(days=365)
POLICY = Policy(default=Retention(history=MONTH, keys=YEAR), by_type={"ones": Retention(history=MONTH, keys=YEAR)})


def ended(store: Store, **options: Any) -> str:
    """A run that has ended well."""
    run_id = start(store, ONE, **options).run_id
    claim(store, run_id, begin(store), ONE)
    succeed(store, run_id, ONE)
    return run_id


def clean(store: Store, policy: Policy = POLICY, **options: Any) -> Report:
    return cleanup(store.keeping, policy, rest=lambda seconds: None, **options)


def sql(store: Store, text: str, *values: object) -> list[tuple[Any, ...]]:
    """What no port does: a row as somebody else would have left it."""
    with store._database.transaction("test") as session:
        if store.url.startswith("sqlite"):
            return list(session.raw.execute(text, values).fetchall())
        cursor = session.raw.execute(text.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description else []


def tables(store: Store) -> dict[str, str]:
    """Every table that has rows of runs, with the column that names the run."""
    if store.url.startswith("sqlite"):
        found = [
            (table, column)
            for (table,) in sql(store, "select name from sqlite_master where type = 'table'")
            for _, column, *_ in sql(store, f"select * from pragma_table_info('{table}')")
        ]
    else:
        found = sql(store, "select table_name::text, column_name::text from information_schema.columns where table_schema = 'public'")
    named = {table: column for table, column in found if column == "run_id" and table.startswith("halfway_")}
    return named | {"halfway_run": "id", "halfway_lease": "holder"}


def rows_of(store: Store, run_id: str) -> set[str]:
    return {table for table, column in tables(store).items() if sql(store, f"select 1 from {table} where {column} = ?", run_id)}


def together(*works: Callable[[], None]) -> None:
    errors: list[BaseException] = []

    def caught(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=caught, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def swept(store: Store, what: Old, cut: Cut) -> list[Swept]:
    """Every batch."""
    found: list[Swept] = []
    place: Place | None = Place()
    while place is not None:
        found.append(store.keeping.sweep(what, cut, place, delete=True))
        place = found[-1].after
    return found


def many(store: Store, count: int) -> None:
    for _ in range(count):
        ended(store)
    store.advance_clock(31 * DAY)


def saved(store: Store, id: str) -> str:
    run_id = start(store, ONE).run_id
    claim(store, run_id, begin(store), ONE)
    sha256, size = store.artifacts.put(id.encode())
    with store.runs.change() as turn:
        turn.keep([Saved(run_id, Key("first"), 1, id, "n", sha256, size)])
    return run_id
