"""The workflows that are killed at every commit, and the world they act on: one ledger that survives every kill.

The receiver of CREATE keeps what it was sent and loses its first answer; that of NOTIFY drops repeats of a key, so that every line but
the first of a key does no harm.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg

from halfway import Absent, Effect, Found, Mark, Retry, Step, Workflow
from halfway.testing import Ledger
from tests.engine.harness import Order, flow

SOON = Retry(3, wait=timedelta(milliseconds=10), max_wait=timedelta(milliseconds=50))
NOBODY: Callable[[str], None] = lambda name: None  # noqa: E731


def connection_of(url: str) -> Any:
    return sqlite3.Connection if url.startswith("sqlite") else psycopg.Connection


def prepare(url: str) -> None:
    """The table of the application, in which nothing prevents a second booking."""
    run_sql(url, "create table booking (run text not null, attempt bigint not null)")


def bookings(url: str) -> int:
    return int(run_sql(url, "select count(*) from booking")[0][0])


def run_sql(url: str, text: str) -> list[Any]:
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)
        try:
            rows = connection.execute(text).fetchall()
            connection.commit()
        finally:
            connection.close()
        return rows
    with psycopg.connect(url) as server:
        cursor = server.execute(text.encode())
        return cursor.fetchall() if cursor.description else []


def order_flow(url: str, ledger: Ledger, reached: Callable[[str], None] = NOBODY) -> Workflow[Order]:
    """READ, transaction, CREATE with mark and probe, idempotent NOTIFY, READ."""
    wf = flow("ORDER", retry=SOON)

    @wf.step(Effect.READ)
    def look_up(step: Step[Order]) -> str:
        ledger.write("LOOK_UP", attempt=step.attempt)
        return f"order {step.input.id}"

    @wf.transaction(connection_of(url))
    def book(step: Step[Order], connection: Any) -> str:
        connection.execute(f"insert into booking (run, attempt) values ('{step.run_id}', {step.attempt})")
        return "booked"

    @wf.step(Effect.CREATE)
    def create(step: Step[Order], mark: Mark) -> str:
        with mark:
            reached("world.before_create")
            first = ledger.count(event="CREATE", key=step.key) == 0
            ledger.write("CREATE", key=step.key, attempt=step.attempt)
            reached("world.after_create")
            if first:
                raise TimeoutError("the answer is lost")
        return f"invoice of {step.output(look_up)}"

    @create.probe(settle=timedelta(0))
    def find(step: Step[Order]) -> Found[str] | Absent:
        """Looks into the ledger."""
        ledger.write("FIND", key=step.key)
        return Found(f"invoice of {step.output(look_up)}") if ledger.count(event="CREATE", key=step.key) else Absent()

    @wf.step(Effect.NOTIFY, idempotent=True)
    def notify(step: Step[Order]) -> str:
        reached("world.before_notify")
        ledger.write("NOTIFY", key=step.key, attempt=step.attempt)
        reached("world.after_notify")
        return f"told about {step.output(create)}"

    @wf.step(Effect.READ)
    def summary(step: Step[Order]) -> list[str]:
        ledger.write("SUMMARY", attempt=step.attempt)
        return [step.output(book), step.output(notify)]

    return wf


def marked_flow(url: str, ledger: Ledger, reached: Callable[[str], None] = NOBODY) -> Workflow[Order]:
    """A message that nothing can look up: a lost answer needs a person, and only a lost answer does."""
    wf = flow("MESSAGE", retry=SOON)

    @wf.step(Effect.READ)
    def text(step: Step[Order]) -> str:
        ledger.write("TEXT", attempt=step.attempt)
        return f"dear {step.input.id}"

    @wf.step(Effect.NOTIFY, evidence="the provider's log")
    def send(step: Step[Order], mark: Mark) -> str:
        words = step.output(text)
        with mark:
            reached("world.before_send")
            ledger.write("SEND", key=step.key, attempt=step.attempt)
            reached("world.after_send")
        return f"sent: {words}"

    @wf.step(Effect.READ)
    def summary(step: Step[Order]) -> str:
        ledger.write("SUMMARY", attempt=step.attempt)
        return step.output(send)

    return wf


FLOWS = {"order": order_flow, "message": marked_flow}
EXPECTED = {
    "order": {
        "LOOK_UP": '"order o1"',
        "BOOK": '"booked"',
        "CREATE": '"invoice of order o1"',
        "NOTIFY": '"told about invoice of order o1"',
        "SUMMARY": '["booked","told about invoice of order o1"]',
    },
    "message": {"TEXT": '"dear o1"', "SEND": '"sent: dear o1"', "SUMMARY": '"sent: dear o1"'},
}
