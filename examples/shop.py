"""The shop's own tables. They lie in the database of halfway, so that a step's rows and its checkpoint are one transaction."""

from typing import TYPE_CHECKING

from examples.stage import URL

__all__ = ["Connection", "audit", "create_tables", "execute", "orders"]

SQLITE = not URL.startswith("postgresql")

if TYPE_CHECKING or SQLITE:
    from sqlite3 import Connection, Cursor, connect
else:
    from psycopg import Connection, Cursor, connect

Value = str | int | None

TABLES = (
    "create table orders (id text primary key, status text not null, reason text, version integer not null, notified text)",
    "create table audit (order_id text not null, status text not null, run_id text not null)",
)


def execute(db: Connection, statement: str, *values: Value) -> Cursor:
    """Runs a statement with a `?` for each value, on either database."""
    return db.execute(statement if SQLITE else statement.replace("?", "%s"), values)


def create_tables(url: str, *, order: str | None = None) -> None:
    """Makes the tables, and an order that is paid, at version 4."""
    db = connect(url.removeprefix("sqlite:///"))
    for table in TABLES:
        execute(db, table)
    if order is not None:
        execute(db, "insert into orders values (?, 'PAID', null, 4, null)", order)
    db.commit()
    db.close()


def orders(url: str) -> list[tuple[Value, ...]]:
    """Every order: id, status, reason, version, notified."""
    return _rows(url, "select * from orders")


def audit(url: str) -> list[tuple[Value, ...]]:
    """What was done to the orders: order, status, run."""
    return _rows(url, "select * from audit")


def _rows(url: str, query: str) -> list[tuple[Value, ...]]:
    db = connect(url.removeprefix("sqlite:///"))
    try:
        return execute(db, query).fetchall()
    finally:
        db.close()
