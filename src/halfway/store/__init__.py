"""Where state lives: one class for each port, one SQL text for SQLite and PostgreSQL.

The order of locks, so that no two transactions ever wait for each other in a circle:

1. the epoch of the worker (`change`, shared),
2. one schedule and its ticks; tasks in order of id, business keys and starts that are put off in order of (type, key), then what
   runs claim in order of (key, slot) (`create`); between keys and claims, where a child stood before, who waits for whom
   (`lock_families`);
   business records in order of name, then effect marks (`mark`); events in order of (source, provider id) (`receive`),
3. runs in order of id; a batch leaves out those that are locked elsewhere, a single order waits,
4. events that are about to be used: those that are locked elsewhere are left out (`arrived`),
5. queues with limits: those that are in another hand are left out (`open`),
6. rows of a run: attempts, records, journal, the run itself, leases, waits, audit. Only whoever holds the run writes them,
   except for effect marks, evidence and artifacts: they touch attempts of the writer's own epoch only.

Wakes, messages and tasks are only added beside all this, so to tell somebody else waits for nobody. What is deleted because it is old
is locked first, and what is locked elsewhere is left out (`keeping`), so nobody waits for a sweep but for the rows of one batch.
"""

from __future__ import annotations

from pathlib import Path

from halfway.ports import NoPoints, Points
from halfway.store.artifacts import StoreArtifacts
from halfway.store.attention import StoreAttention
from halfway.store.batches import StoreBatches
from halfway.store.calls import StoreCalls
from halfway.store.database import Database
from halfway.store.definitions import Definitions
from halfway.store.dialects.urls import dialect_of
from halfway.store.flow import StoreQueues
from halfway.store.ids import new_id
from halfway.store.keeping import StoreKeeping
from halfway.store.life import identity
from halfway.store.lives import StoreLives
from halfway.store.migrate import Migration, SchemaStatus, migrate_schema, require_schema, schema_status
from halfway.store.outbox import StoreOutbox, StoreTriggers
from halfway.store.reading import StoreReading
from halfway.store.runs import StoreRuns
from halfway.store.schedules import StoreTimetable

__all__ = ["Store", "identity", "migrate", "new_id", "open_store", "status"]


class Store:
    """An open database, one attribute for each port."""

    def __init__(self, database: Database, artifacts: Path) -> None:
        self.url = database.dialect.url
        self._database = database
        definitions = Definitions()
        self.runs = StoreRuns(database, definitions)
        self.lives = StoreLives(database)
        self.artifacts = StoreArtifacts(artifacts, self._identity)
        self.reading = StoreReading(database)
        self.attention = StoreAttention(database)
        self.outbox = StoreOutbox(database)
        self.triggers = StoreTriggers(database)
        self.batches = StoreBatches(database)
        self.calls = StoreCalls(database)
        self.schedules = StoreTimetable(database, definitions)
        self.queues = StoreQueues(database)
        self.keeping = StoreKeeping(database, self.artifacts)

    def close(self) -> None:
        """Closes all connections and lets go of what proves that this process lives."""
        self.lives.close()
        self._database.close()

    def migrate(self) -> tuple[Migration, ...]:
        """Applies the migrations that are missing."""
        return migrate_schema(self._database)

    def now(self) -> int:
        """The database's time, in microseconds."""
        with self._database.reading() as session:
            return session.now

    def _identity(self) -> str:
        with self._database.reading() as session:
            return str(session.rows("meta", name="identity")[0][0])

    def advance_clock(self, microseconds: int) -> None:
        """Moves the time of this database forward; for tests."""
        with self._database.transaction("advance_clock") as session:
            session.run("advance_clock", microseconds=microseconds)


def open_store(url: str, *, create: bool = True, artifacts: str | None = None, points: Points | None = None) -> Store:
    """Opens a database whose schema fits. A new SQLite file is created and migrated; an old schema and PostgreSQL never are."""
    dialect = dialect_of(url)
    database = Database(dialect, points or NoPoints())
    try:
        with database.translated():
            is_new = create and dialect.create()
        if is_new:
            migrate_schema(database)
        require_schema(database, schema_status(database))
    except BaseException:
        database.close()
        raise
    folder = Path(artifacts) if artifacts is not None else (dialect.folder or Path("halfway-artifacts"))
    return Store(database, folder if artifacts is not None or dialect.folder is None else folder / "artifacts")


def migrate(url: str) -> tuple[Migration, ...]:
    """Brings a database to the schema of this version and answers what was applied; creates a missing SQLite file."""
    dialect = dialect_of(url)
    database = Database(dialect, NoPoints())
    try:
        with database.translated():
            dialect.create()
        return migrate_schema(database)
    finally:
        database.close()


def status(url: str) -> SchemaStatus:
    """What a database has, and what this version needs."""
    database = Database(dialect_of(url), NoPoints())
    try:
        return schema_status(database)
    finally:
        database.close()
