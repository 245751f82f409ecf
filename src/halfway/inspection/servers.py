"""Reads a PostgreSQL database of halfway as the same text as a file: in one transaction that can only read, with a limit on every wait.

Nothing is written or migrated, and neither user nor password is shown: what is shown is host and database.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from halfway.errors import InvalidInput
from halfway.inspection.databases import ANOTHER, Asked, Row, text_of
from halfway.inspection.quoting import shown_path
from halfway.inspection.source import Unreadable

SCHEMES = ("postgresql://", "postgres://")
CONNECTION = {  # what the URL may say otherwise
    "application_name": "halfway inspect", "connect_timeout": "5", "tcp_user_timeout": "10000",
    "keepalives_idle": "5", "keepalives_interval": "5", "keepalives_count": "2",
}  # fmt: skip
LIMITS = {"statement_timeout": "5000", "lock_timeout": "1000", "idle_in_transaction_session_timeout": "10000"}  # milliseconds
INVALID = "It is no address of a database. Write it as in postgresql://user@host/name."
UNREACHABLE = "The server does not answer, or does not let this role in: look at host, database, role and password."
DENIED = "The role may not read the tables of halfway: grant select on them to it, or name another role."
SLOW = "It could not be read in time: it is busy, or its tables are locked."


def is_server(path: object) -> bool:
    """Whether it is the address of a database of a server, and no path."""
    return isinstance(path, str) and path.startswith(SCHEMES)


def shown(url: str) -> str:
    """Host and database of an address, without who reads it."""
    _driver()
    from psycopg import ProgrammingError  # noqa: PLC0415 - the driver is an extra
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    try:
        given = {name: str(value or "") for name, value in conninfo_to_dict(url).items()}
    except (ProgrammingError, UnicodeError):  # which repeat the address
        return "postgresql"
    host = given.get("host") or given.get("hostaddr") or given.get("service") or "localhost"
    port = given.get("port", "5432")
    told = "/".join(part for part in (host if port == "5432" else f"{host}:{port}", given.get("dbname", "")) if part)
    return shown_path(told.rpartition("@")[2])  # before it stands the rest of a password with signs that were not escaped


def dump_server(url: str) -> str:
    """The text, a definition or a run in each line; raises Unreadable."""
    with reading(url) as ask:
        return text_of(ask)


@contextmanager
def reading(url: str) -> Generator[Asked]:
    """What asks the database, inside of one transaction that is rolled back."""
    _driver()
    import psycopg  # noqa: PLC0415 - the driver is an extra
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415
    from psycopg.rows import dict_row  # noqa: PLC0415

    try:
        given = conninfo_to_dict(url)
        whole = make_conninfo(url, **{name: value for name, value in CONNECTION.items() if name not in given})
    except (psycopg.ProgrammingError, UnicodeError):  # which repeat the address
        raise Unreadable(INVALID) from None
    try:
        connection = psycopg.Connection[Row].connect(whole, row_factory=dict_row)
    except psycopg.Error as error:
        raise Unreadable(UNREACHABLE) from error

    def ask(statements: Sequence[tuple[str, dict[str, object]]]) -> list[list[Row]]:
        with connection.pipeline():  # one round trip for all of them
            cursors = [connection.execute(_sent(statement), values) for statement, values in statements]
            return [cursor.fetchall() for cursor in cursors]

    try:
        connection.isolation_level, connection.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        for name, value in LIMITS.items():
            connection.execute("select set_config(%s, %s, true)", [name, value])
        yield ask
    except psycopg.Error as error:
        raise Unreadable(_why(error)) from error
    finally:
        connection.close()  # which rolls back


def _driver() -> None:
    if find_spec("psycopg") is None:
        raise InvalidInput("EXTRA_MISSING", feature="PostgreSQL", extra="postgres")


def _sent(statement: str) -> bytes:
    """With the gaps of the driver."""
    return re.sub(r":(\w+)", r"%(\1)s", statement).encode()


def _why(error: Exception) -> str:
    from psycopg import OperationalError, errors  # noqa: PLC0415

    match error:
        case errors.InsufficientPrivilege():
            return DENIED
        case errors.QueryCanceled() | errors.LockNotAvailable() | errors.IdleInTransactionSessionTimeout():
            return SLOW
        case OperationalError():
            return UNREACHABLE
        case _:
            return ANOTHER
