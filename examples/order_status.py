"""The status of an order changes: its rows, then a message to the customer, then what remains to be noted.

The order, its audit and its outbox are one transaction with their checkpoint, so their answer cannot be lost. The message can be
lost: its provider is asked before anything is repeated. Statistics that fail are done later, and nothing else is.
"""

import sqlite3
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from examples.world import Sms, Statistics
from halfway import Absent, AsyncMark, Effect, Found, Halfway, Mark, Retry, Step, StepFailed, Then, Workflow

sms = Sms()
statistics = Statistics()


class Change(BaseModel):
    order_id: str
    to: Literal["SHIPPED", "CANCELLED"]
    expected_version: int


class VersionConflict(StepFailed):
    """Somebody changed the order first. Read it, and decide whether this change still applies."""


order_status = Workflow(
    "ORDER_STATUS",
    Change,
    version=1,
    owner="order-desk",
    key=lambda change: f"order-status:{change.order_id}:{change.expected_version}",
    resource=lambda change: f"order:{change.order_id}",
)


@order_status.transaction(sqlite3.Connection)
def change_order(step: Step[Change], db: sqlite3.Connection) -> int:
    change = step.input
    changed = db.execute(
        "update orders set status = ?, version = version + 1 where id = ? and version = ?",
        (change.to, change.order_id, change.expected_version),
    )
    if changed.rowcount == 0:
        raise VersionConflict(f"order {change.order_id} is no longer at version {change.expected_version}")
    db.execute("insert into audit values (?, ?, ?)", (change.order_id, change.to, step.run_id))
    db.execute("insert into outbox values (?, ?)", (change.order_id, change.to))
    return change.expected_version + 1


@order_status.step(Effect.NOTIFY, approver="order-desk")
async def send_sms(step: Step[Change], mark: AsyncMark) -> str:
    text = f"Your order is {step.input.to.lower()}."
    async with mark:
        return await sms.send(step.input.order_id, text, reference=step.key)


@send_sms.probe(settle=timedelta(0))  # this provider lists a message before it answers
async def find_sms(step: Step[Change]) -> Found[str] | Absent:
    """The provider's message with our reference."""
    message_id = await sms.find(step.key)
    return Found(message_id) if message_id else Absent()


@order_status.transaction(sqlite3.Connection, on_failure=Then.MANUAL)
def note_message(step: Step[Change], db: sqlite3.Connection) -> None:
    db.execute("update orders set notified = ? where id = ?", (step.output(send_sms), step.input.order_id))


@order_status.step(Effect.CHANGE, idempotent=True, retry=Retry(2, wait=timedelta(0)), on_failure=Then.MANUAL, approver="analytics")
def count(step: Step[Change], mark: Mark) -> int:
    with mark:  # not needed for a repeat, but a refused connection is then known to have done nothing
        return statistics.count(step.input.to, key=step.key)


def create_tables(path: Path) -> None:
    """The application's own tables, in the same database as those of halfway."""
    db = sqlite3.connect(path)
    db.executescript(
        """
        create table orders (id text primary key, status text, version integer, notified text);
        create table audit (order_id text, status text, run_id text);
        create table outbox (order_id text, status text);
        insert into orders values ('o-1', 'PAID', 4, null);
        """
    )
    db.close()


def main(path: Path) -> None:
    create_tables(path)
    app = Halfway(f"sqlite:///{path}", workflows=[order_status])
    sms.answers_to_lose = 1
    statistics.is_down = True
    with app.worker():
        run = app.result(app.start(order_status, Change(order_id="o-1", to="SHIPPED", expected_version=4)), timeout=timedelta(minutes=1))
        print(f"{run.status}: {run.failure}")
        print(f"messages at the provider: {len(sms.messages)}, ours is {run.output(send_sms)}")

        statistics.is_down = False
        app.control.resume(run.id, actor="ada", reason="statistics are back")
        run = app.result(run, timeout=timedelta(minutes=1))
        print(f"{run.status}: messages {len(sms.messages)}, counted {len(statistics.counted)}")
    app.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder) / "shop.db")
    sys.exit(0)
