"""The port `Lives`: epochs of worker processes, their beats, and what ends them."""

from __future__ import annotations

from collections.abc import Sequence

from halfway.errors import DatabaseError
from halfway.ports import Epoch
from halfway.store.database import Database, Purpose
from halfway.store.ids import new_id
from halfway.store.life import EpochLocks, proven_dead


class StoreLives:
    """Beside a database file life is a lock of the operating system and needs no beats; elsewhere beats are counted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        folder = database.dialect.folder
        self._locks = None if folder is None else EpochLocks(folder)
        self.beats = self._locks is None
        self.observer = ""

    def begin(self, *, host: str, pid: int, identity: str, kill_after: int | None, queues: Sequence[str] = ()) -> str:
        epoch = new_id()
        self._take(epoch)
        try:
            with self._database.transaction("begin", purpose=Purpose.BEAT) as session:
                now = session.now
                session.run(
                    "begin_epoch", epoch=epoch, host=host, pid=pid, identity=identity, kill_after=kill_after, now=now,
                    queues=" ".join(queues),
                )  # fmt: skip
                session.run("begin_beats", epoch=epoch, now=now)
        except BaseException:
            if self._locks is not None:
                self._locks.remove(epoch)
            raise
        return epoch

    def _take(self, epoch: str) -> None:
        try:
            if self._locks is not None:
                self._locks.take(epoch)
        except OSError as error:
            raise DatabaseError("DATABASE_FULL", url=self._database.dialect.url, problem=f"{error}.") from error

    def beat(self, epoch: str) -> bool:
        if self._locks is not None:
            with self._database.reading() as session:
                return session.rows("epoch_state", epoch=epoch) == [("ALIVE",)]
        with self._database.transaction("beat", purpose=Purpose.BEAT) as session:
            return session.run("beat", epoch=epoch, now=session.now) == 1

    def epochs(self) -> Sequence[Epoch]:
        with self._database.reading() as session:
            epochs = [Epoch(*row) for row in session.rows("epochs")]
            self.observer = session.identity()
        return epochs

    def is_dead(self, epoch: Epoch) -> bool:
        if self._locks is not None and epoch.state == "DEAD":
            return True  # it was declared so by whoever had taken its lock
        free = None if self._locks is None else self._locks.is_free(epoch.id)
        return proven_dead(epoch.identity) if free is None else free

    def declare_dead(self, epoch: Epoch) -> bool:
        """Where life is a lock, whoever holds it is alive, however long it has been silent."""
        if self._locks is not None and not self.is_dead(epoch):
            return False
        with self._database.transaction("declare_dead", purpose=Purpose.BEAT) as session:
            declared = session.run("declare_dead", epoch=epoch.id, counter=epoch.counter, now=session.now) == 1
        if declared and self._locks is not None:
            self._locks.remove(epoch.id)
        return declared

    def end(self, epoch: str) -> None:
        with self._database.transaction("end", purpose=Purpose.BEAT) as session:
            session.run("end_epoch", epoch=epoch, now=session.now)
        if self._locks is not None:
            self._locks.remove(epoch)

    def history_changed(self) -> bool:
        with self._database.reading() as session:
            found = session.history()
            known = session.rows("meta", name="history") if found else []
        if not found or known == [(found,)]:
            return False
        if known:
            return True
        with self._database.transaction("history", purpose=Purpose.BEAT) as session:
            session.run("put_meta", name="history", value=found)
        return False

    def close(self) -> None:
        if self._locks is not None:
            self._locks.close()
