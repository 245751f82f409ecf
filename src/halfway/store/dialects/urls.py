"""Database URLs: which dialect one names, and how it may be shown."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from halfway.errors import InvalidInput
from halfway.store.database import Dialect
from halfway.store.dialects.sqlite import Sqlite

SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")


def dialect_of(url: str) -> Dialect:
    """The dialect behind a URL; nothing is opened yet."""
    if url.startswith(SQLITE):
        return Sqlite(url, _file(url))
    if url.startswith(POSTGRES):
        return _postgres(url)
    raise InvalidInput("URL_INVALID", url=masked(url), problem="it names neither SQLite nor PostgreSQL.")


def _file(url: str) -> Path:
    name = url.removeprefix(SQLITE)
    if name in ("", ":memory:"):
        raise InvalidInput("URL_INVALID", url=url, problem="a database in memory is gone with its process, and nothing could be recovered.")
    if "\0" in name or "?" in name:
        raise InvalidInput("URL_INVALID", url=url, problem="the path of a file holds no '?' and no NUL.")
    path = Path(os.path.abspath(name))
    if not path.parent.is_dir():
        raise InvalidInput("URL_INVALID", url=url, problem=f"there is no folder {path.parent}.")
    if path.is_dir():
        raise InvalidInput("URL_INVALID", url=url, problem="it is a folder.")
    return path


def _postgres(url: str) -> Dialect:
    try:
        from halfway.store.dialects.postgres import Postgres  # noqa: PLC0415 - the driver is an extra
    except ModuleNotFoundError as error:
        raise InvalidInput("EXTRA_MISSING", feature="PostgreSQL", extra="postgres") from error
    return Postgres(url, masked(url))


def masked(url: str) -> str:
    """The URL without its password, wherever one may stand."""
    try:
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        if at:
            name, colon, _ = user.partition(":")
            host = f"{name}{colon and ':***'}@{host}"
        query = "&".join("password=***" if item.lower().startswith("password=") else item for item in parts.query.split("&"))
        return urlunsplit((parts.scheme, host, parts.path, query, ""))
    except ValueError:
        return url.partition("://")[0] + "://…"
