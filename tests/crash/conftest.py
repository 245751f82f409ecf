"""The databases of the crash matrix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.matrix import Nursery
from tests.crash.worlds import Worlds, worlds


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Worlds]:
    """Worlds of each kind of database; the server is started only where it is needed."""
    kind = request.param
    if kind == "sqlite":
        yield from worlds(kind, tmp_path, "", "")
        return
    databases = request.getfixturevalue("postgres_databases")
    yield from worlds(kind, tmp_path, databases.server, databases.template)


@pytest.fixture
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether every point is tried on every database, however long it takes."""
    return bool(request.config.getoption("--full-matrix"))


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()
