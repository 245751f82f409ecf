"""The port `Reading`: what people and faces look at. It changes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from halfway.domain.draft import Audit
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Attempt, Ended, Happened, Key, Kind, Record
from halfway.errors import NotFound
from halfway.ports import (
    ArtifactRow,
    AttemptRow,
    AuditRow,
    CountRow,
    DefinitionRow,
    Detail,
    Epoch,
    EvidenceRow,
    ItemRow,
    JournalRow,
    RecordDetail,
    Relatives,
    Row,
    SchemaRow,
    WorkerRow,
)
from halfway.store.database import Database, Session
from halfway.store.items import StoreItems
from halfway.store.keeping import past_of
from halfway.store.migrate import schema_status
from halfway.store.rows import RUN_STATUS, to_key, to_record, to_run
from halfway.store.texts import made_storable, storable

LONGEST_TERM = 1000  # nothing that is searched is longer
SHORTEST_SUFFIX = 6


class StoreReading:
    """Each answer is of one moment: one transaction that only reads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def runs(
        self, *, status: RunStatus | None = None, type: str | None = None, search: str | None = None, limit: int = 50,
        before: str | None = None,
    ) -> Sequence[Row]:  # fmt: skip
        if not all(map(storable, (type, search, before))) or len(search or "") > LONGEST_TERM:
            return []
        pattern = f"%{_literally(search)}%" if search else None
        with self._database.reading() as session:
            rows = session.rows(
                "list_runs", status=None if status is None else status.value, type=type, pattern=pattern, before=before, limit=limit
            )
            records = _records(session, [row[0] for row in rows])
        return [Row(to_run(row[:22]), row[22], row[23], _current(records[row[0]]), tuple(records[row[0]])) for row in rows]

    def find(self, text: str) -> str:
        if not text or not storable(text) or len(text) > LONGEST_TERM:
            raise NotFound("RUN_UNKNOWN", run=made_storable(text[:40]))
        with self._database.reading() as session:
            found = session.rows("find_by_id", text=text) or session.rows("find_by_key", text=text)
            if not found and len(text) >= SHORTEST_SUFFIX:
                found = session.rows("find_by_suffix", pattern=f"%{_literally(text)}")
        if not found:
            raise NotFound("RUN_UNKNOWN", run=text)
        if len(found) > 1:
            raise NotFound("RUN_AMBIGUOUS", run=text, count=len(found))
        return str(found[0][0])

    def detail(self, run_id: str, *, items: bool = False) -> Detail:
        if not storable(run_id):
            raise NotFound("RUN_UNKNOWN", run=made_storable(run_id))
        with self._database.reading() as session:
            rows = session.rows("read_run", run_id=run_id)
            if not rows:
                raise _missing(session, run_id)
            *columns, key, input, updated_at = rows[0]
            run = to_run(columns)
            return Detail(
                run,
                key,
                input,
                run.actor,
                updated_at,
                session.now,
                _record_details(session, run_id) + (_asking(session, run_id) if items else ()),
                tuple(EvidenceRow(to_key(*row[:4]), *row[4:]) for row in session.rows("read_evidence", run_id=run_id)),
                tuple(ArtifactRow(row[0], to_key(*row[1:5]), *row[5:]) for row in session.rows("read_artifacts", run_id=run_id)),
                _counts(session, run_id) if items else (),
            )

    def journal(self, run_id: str, *, after_seq: int = 0, limit: int = 1000) -> Sequence[JournalRow]:
        if not storable(run_id):
            return []
        with self._database.reading() as session:
            rows = session.rows("journal", run_id=run_id, after_seq=after_seq, limit=limit)
        return [
            JournalRow(seq, at, name, None if step is None else to_key(step, round, item, kind), n, data)
            for seq, at, name, step, round, item, kind, n, data in rows
        ]

    def audit(self, run_id: str) -> Sequence[AuditRow]:
        if not storable(run_id):
            return []
        with self._database.reading() as session:
            rows = session.rows("read_audit", run_id=run_id)
        return [to_audit(row) for row in rows]

    def workers(self) -> Sequence[WorkerRow]:
        with self._database.reading() as session:
            return [WorkerRow(Epoch(*row[:8]), row[8], row[9], row[10], tuple(row[11].split())) for row in session.rows("workers")]

    def definitions(self) -> Sequence[DefinitionRow]:
        with self._database.reading() as session:
            return [DefinitionRow(*row) for row in session.rows("definitions")]

    def schema(self) -> SchemaRow:
        status = schema_status(self._database)
        return SchemaRow(status.found, status.needed, self._database.dialect.url)

    def artifact(self, run_id: str, id: str) -> ArtifactRow | None:
        if not storable(run_id) or not storable(id):
            return None
        with self._database.reading() as session:
            rows = session.rows("artifact", run_id=run_id, id=id)
        return ArtifactRow(rows[0][0], to_key(*rows[0][1:5]), *rows[0][5:]) if rows else None

    def children(self, run_id: str, step: str, round: int, *, after: int, limit: int) -> Sequence[tuple[int, str]]:
        with self._database.reading() as session:
            rows = session.rows("page_children", run_id=run_id, step=step, round=round, after=after, limit=limit)
        return [(position, child) for position, child in rows]

    def relatives(self, run_id: str, *, limit: int = 20) -> Relatives:
        with self._database.reading() as session:
            parents = session.rows("parents", run_id=run_id, limit=limit)
            children = session.rows("children_not_well", run_id=run_id, limit=limit)
        return Relatives(
            tuple((run, step) for run, step in parents), tuple((step, run, RunStatus(status)) for step, run, status in children)
        )

    def items(
        self, run_id: str, step: str, round: int, *, after: int, limit: int, status: str | None = None, kind: Kind = Kind.STEP
    ) -> Sequence[ItemRow]:
        if not storable(run_id) or not storable(step):
            return []
        place = {"run_id": run_id, "step": step, "round": round, "kind": kind.value}
        with self._database.reading() as session:
            rows = session.rows("page_items", **place, after=after, limit=limit, status=status)
        return [ItemRow(*row) for row in rows]


def _asking(session: Session, run_id: str) -> tuple[RecordDetail, ...]:
    """Items about which a person must decide; orders about their step are about them."""
    rows = session.rows("asking_of_run", run_id=run_id, limit=1000)
    wanted = [(run_id, to_key(*row)) for row in rows]
    loaded = StoreItems(session).load(wanted).get(run_id) if wanted else None
    if loaded is None:
        return ()
    texts = loaded.texts
    return tuple(RecordDetail(record, texts[key].output if key in texts else None, None, ()) for key, record in loaded.records.items())


def _counts(session: Session, run_id: str) -> tuple[CountRow, ...]:
    rows = session.rows("count_items", run_id=run_id)
    return tuple(
        CountRow(step, round, kind, status, bool(ready), bool(asks), Happened(effect), bool(again), number)
        for step, round, kind, status, ready, asks, effect, again, number in rows
    )


def _missing(session: Session, run_id: str) -> NotFound:
    """A run that never was, or one whose history was deleted."""
    past = past_of(session, run_id)
    if past is None:
        return NotFound("RUN_UNKNOWN", run=run_id)
    ended, deleted = (datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%SZ") for at in (past.ended_at, past.deleted_at))
    return NotFound("RUN_GONE", run=run_id, workflow=past.type, status=past.status.value, ended=ended, deleted=deleted)


def to_audit(row: tuple[Any, ...]) -> AuditRow:
    """From the 12 columns of an entry of the audit log; one about no single run has no states."""
    at, run_id, *audit, before, after, id = row
    return AuditRow(at, run_id, Audit(*audit), _state(before), _state(after), id)


def _state(name: str) -> str:
    """That of a run; of an order about a schedule, the schedule's."""
    return RUN_STATUS.get(name) or name


def _literally(term: str) -> str:
    return term.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _records(session: Session, ids: list[str]) -> defaultdict[str, list[Record]]:
    records: defaultdict[str, list[Record]] = defaultdict(list)
    for row in session.rows("list_records", ids=ids) if ids else []:
        records[row[0]].append(to_record(row))
    return records


def _current(records: list[Record]) -> tuple[str, ...]:
    """Steps that run, wait, are in doubt, or ask somebody."""
    busy = (RecordStatus.RUNNING, RecordStatus.WAITING, RecordStatus.UNKNOWN)
    return tuple(dict.fromkeys(record.key.step for record in records if record.status in busy or record.asks))


def _record_details(session: Session, run_id: str) -> tuple[RecordDetail, ...]:
    attempts: defaultdict[Key, list[AttemptRow]] = defaultdict(list)
    for step, round, item, kind, n, epoch, started_at, mark_at, ended_at, ended, *rest in session.rows("read_attempts", run_id=run_id):
        outcome = None if ended is None else Ended(ended)
        attempts[to_key(step, round, item, kind)].append(AttemptRow(n, epoch, started_at, mark_at, ended_at, outcome, *rest))
    details: list[RecordDetail] = []
    for *columns, output, error in session.rows("read_records", run_id=run_id):
        record = to_record(tuple(columns))
        own = attempts[record.key]
        details.append(RecordDetail(record._replace(open=_open(own)), output, error, tuple(own)))
    return tuple(details)


def _open(attempts: list[AttemptRow]) -> tuple[Attempt, ...]:
    """Those that run, and those whose answer was lost and not settled."""
    return tuple(
        Attempt(one.n, one.epoch, one.started_at, one.mark_at is not None, one.ended_at is not None, one.gone_at)
        for one in attempts
        if one.ended_at is None or (one.ended is Ended.LOST and one.settled is None)
    )
