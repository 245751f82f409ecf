"""What the tests of waits, people and compensation share: an event, an application's own table, and working until a state is reached."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
from pydantic import BaseModel

from halfway import Event, Run, RunStatus
from halfway.domain.run import Kind
from halfway.ports import WaitRow
from tests.engine.harness import Harness, until

DAY = timedelta(days=1)
UNDO, UNDO_PROBE, PROBE = Kind.COMPENSATION, Kind.COMPENSATION_PROBE, Kind.PROBE


class Payment(BaseModel):
    """The payload of most test events."""

    amount: int = 1


PAID = Event("PAID", Payment)


def pay(h: Harness, key: str, amount: int = 1, *, id: str | None = None) -> Any:
    """Sends a payment; its id follows from key and amount unless one is given."""
    return h.app.send(PAID, Payment(amount=amount), key=key, id=id or f"{key}-{amount}")


def reach(h: Harness, run: Run[Any], status: RunStatus) -> None:
    """Waits for a state of a run; a worker must be at work."""
    try:
        until(lambda: h.status(run) is status)
    except AssertionError:
        raise AssertionError(f"{run} is {h.status(run)}, not {status}: {h.journal(run)}") from None


def work(h: Harness, run: Run[Any], status: RunStatus) -> Run[Any]:
    """Works until the run has reached a state."""
    with h.worker():
        reach(h, run, status)
    return h.get(run)


def waits(h: Harness, run: Run[Any]) -> list[WaitRow]:
    """What a run waits for and has waited for."""
    return list(h.app.store.attention.waits(run.id))


def told(h: Harness, run: Run[Any], what: str) -> list[tuple[str | None, str]]:
    """Step and code of what people were told about a run."""
    rows = h.app.store.attention.messages(what=what, limit=1000)
    return sorted((row.message.step, row.message.code) for row in rows if row.message.run_id == run.id)  # type: ignore[type-var]


def audits(h: Harness, run: Run[Any]) -> list[tuple[str, str]]:
    """Who ordered what about a run, without what was refused."""
    return [(row.audit.actor, row.audit.action) for row in h.app.store.reading.audit(run.id) if row.audit.refused is None]


# ── a table of the application, beside halfway's own ──


def connection_type(url: str) -> Any:
    return psycopg.Connection if url.startswith("postgres") else sqlite3.Connection


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A connection that commits by itself."""
    if url.startswith("postgres"):
        made: Any = psycopg.connect(url, autocommit=True)
    else:
        made = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30, isolation_level=None)
    try:
        yield made
    finally:
        made.close()


def execute(url: str, text: str) -> list[Any]:
    """One statement, committed."""
    with connected(url) as connection:
        cursor = connection.execute(text)
        return list(cursor.fetchall()) if cursor.description else []


def accounts(url: str) -> None:
    """One row, with a version that every change raises."""
    execute(url, "create table account (id text primary key, state text not null, version integer not null)")
    execute(url, "insert into account values ('a', 'open', 1)")


def account(url: str) -> tuple[str, int]:
    return tuple(execute(url, "select state, version from account where id = 'a'")[0])


def set_account(state: str, version: int) -> str:
    """The change of the row that is meant for one version."""
    return f"update account set state = '{state}', version = version + 1 where id = 'a' and version = {version}"


def once(act: Callable[[], Any]) -> Callable[[], Any]:
    """An act that is done at the first call only."""
    left = [act]
    return lambda: left.pop()() if left else None
