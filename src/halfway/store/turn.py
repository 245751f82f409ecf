"""One transaction in which runs are changed: lock, load, decide elsewhere, write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from halfway.domain.draft import Change
from halfway.domain.run import Attempt, Key, Kind, Record, Snapshot, draft_of, error_of, output_of
from halfway.ports import Answered, Called, Evidence, Flow, Granted, Inbox, Items, Kept, Left, Listed, Loaded, Mark, Moves, Ready, Saved
from halfway.store.calls import keep_calls
from halfway.store.database import Session, Work
from halfway.store.definitions import Definitions
from halfway.store.flow import Known, StoreFlow
from halfway.store.inbox import StoreInbox
from halfway.store.items import StoreItems, keep_listed
from halfway.store.moving import StoreMoves
from halfway.store.rows import to_attempt, to_key, to_record, to_run
from halfway.store.texts import storable
from halfway.store.writing import Writing


class StoreTurn:
    """The port `Turn` on one open transaction."""

    def __init__(self, session: Session, definitions: Definitions, known: Known, change: str | None = None) -> None:
        self.now = session.now
        self.inbox: Inbox = StoreInbox(session)
        self.items: Items = StoreItems(session)
        self.flow: Flow = StoreFlow(session, known, change)
        self._known = known
        self.moves: Moves = StoreMoves(session)
        self._session = session
        self._definitions = definitions

    def lock(self, ids: Sequence[str], *, wait: bool = False) -> Mapping[str, int]:
        if not ids:
            return {}
        rows = self._session.rows("lock_runs_waiting" if wait else "lock_runs", ids=list(ids))
        return dict(rows)

    def load(self, ids: Sequence[str]) -> Mapping[str, Loaded]:
        return load(self._session, ids)

    def ready(self, route: str, limit: int, *, steps: bool = True, run_id: str = "") -> Sequence[Ready]:
        if run_id:
            name = "ready_of_run" if steps else "ready_beside_of_run"
            rows = self._session.rows(name, run_id=run_id, route=route, now=self.now, limit=limit)
        else:
            rows = self._session.rows("ready" if steps else "ready_beside", route=route, now=self.now, limit=limit)
        return [Ready(run_id, to_key(*key), route, priority, ready_at) for run_id, *key, route, priority, ready_at in rows]

    def write(self, changes: Sequence[Change]) -> None:
        write(self._session, self._definitions, changes, self._known.limited)

    def mark(self, marks: Sequence[Mark]) -> Granted:
        holds = Holds(self._session, marks)
        free = [mark for mark in marks if mark not in holds.elsewhere]
        rows = [(self.now, mark.run_id, *_plain(mark.key), mark.n, 1 if mark.bound else 0) for mark in free]
        counts = self._session.each(Work("mark", rows))
        granted = frozenset(mark for mark, count in zip(free, counts, strict=True) if count)
        holds.give_back(granted)
        return Granted(granted, holds.elsewhere)

    def keep(self, rows: Sequence[Kept]) -> frozenset[Kept]:
        kept: frozenset[Kept] = keep(self._session, [row for row in rows if isinstance(row, (Evidence, Saved))])
        listed = [row for row in rows if isinstance(row, Listed)]
        if listed:
            kept |= keep_listed(self._session, listed)
        calls = [row for row in rows if isinstance(row, (Called, Answered))]
        return kept | keep_calls(self._session, calls) if calls else kept

    def left(self, epoch: str, *, lost: bool = False) -> Sequence[Left]:
        rows = self._session.rows("left_lost" if lost else "left_running", epoch=epoch)
        return [Left(row[0], to_key(*row[1:5]), to_attempt(row)) for row in rows]

    def due(self, limit: int, *, repair: int = 0) -> Sequence[str]:
        found = [id for (id,) in self._session.rows("due", now=self.now, limit=limit)]
        if repair > 0:
            found += [id for (id,) in self._session.rows("overlooked", opened_since=self.now - repair, limit=limit)]
        return list(dict.fromkeys(found))


class Holds:
    """Business records that marks take first (R-J2); in order of their name, so that nobody waits in a circle."""

    def __init__(self, session: Session, marks: Sequence[Mark]) -> None:
        self._session = session
        wanted = [(f"record:{mark.hold}", f"{mark.run_id}:{mark.key.step}", mark) for mark in marks if mark.hold is not None]
        wanted.sort(key=lambda one: one[:2])
        counts = session.each(Work("take_hold", [one[:2] for one in wanted])) if wanted else []
        self._taken = [one for one, count in zip(wanted, counts, strict=True) if count]
        holders: dict[str, str] = {}
        if len(self._taken) < len(wanted):
            holders = dict(session.rows("holders", keys=sorted({key for key, _, _ in wanted})))
        lost = [one for one, count in zip(wanted, counts, strict=True) if not count]
        self.elsewhere = frozenset(mark for key, holder, mark in lost if holders.get(key) != holder)

    def give_back(self, granted: frozenset[Mark]) -> None:
        """What was taken for a mark that may not be set."""
        used = {(mark.hold, mark.run_id, mark.key.step) for mark in granted}
        rows = [(key, holder) for key, holder, mark in self._taken if (mark.hold, mark.run_id, mark.key.step) not in used]
        if rows:
            self._session.many([Work("drop_hold", rows)])


def load(session: Session, ids: Sequence[str]) -> dict[str, Loaded]:
    """Runs with all records, open attempts and the outputs of their steps, in three reads."""
    if not ids:
        return {}
    wanted = list(ids)
    open: defaultdict[tuple[object, ...], list[Attempt]] = defaultdict(list)
    records: defaultdict[str, dict[Key, Record]] = defaultdict(dict)
    outputs: defaultdict[str, dict[str, str]] = defaultdict(dict)
    runs = session.rows("load_runs", ids=wanted)
    rows = session.rows("load_records", ids=wanted)
    for row in session.rows("load_open_attempts", ids=wanted):
        open[row[:5]].append(to_attempt(row))
    for row in rows:
        *columns, output, error = row
        record = to_record(columns, tuple(open.get(row[:5], ())))
        records[row[0]][record.key] = record
        _put_out(outputs[row[0]], record.key, output, error)
    return {row[0]: Loaded(Snapshot(to_run(row[:-1]), records[row[0]]), row[-1], outputs[row[0]]) for row in runs}


def _put_out(outputs: dict[str, str], key: Key, output: str | None, error: str | None) -> None:
    """Rounds come in their order: an earlier one steps aside for the last."""
    if key.round > 1 and key.kind is Kind.STEP and key.step in outputs:
        outputs[output_of(key._replace(round=key.round - 1))] = outputs.pop(key.step)
    if output is not None:
        outputs[key.step if key.kind is Kind.STEP else draft_of(key)] = output
    if error is not None:
        outputs[error_of(key.step)] = error


def keep(session: Session, rows: Sequence[Evidence | Saved]) -> frozenset[Evidence | Saved]:
    """Keeps evidence and artifact rows of attempts that still run, and answers which; one that no database takes harms no other."""
    now = session.now
    evidence = [row for row in rows if isinstance(row, Evidence)]
    saved = [row for row in rows if isinstance(row, Saved) and storable(row.name)]
    facts = [(now, row.data, row.run_id, *_plain(row.key), row.n) for row in evidence]
    files = [(row.id, row.name, row.sha256, row.size, now, row.run_id, *_plain(row.key), row.n) for row in saved]
    counts = session.each(Work("keep_evidence", facts)) + session.each(Work("keep_artifact", files))
    asked: list[Evidence | Saved] = [*evidence, *saved]
    return frozenset(row for row, count in zip(asked, counts, strict=True) if count)


def write(session: Session, definitions: Definitions, changes: Sequence[Change], limited: frozenset[str]) -> None:
    """Stores decisions; the guards of the statements refuse what has been overtaken. `limited`: queues whose attempts may hold slots."""
    writing = Writing(session.now, limited)
    for change in changes:
        hash = change.before.run.hash
        writing.add(change, definitions.routes(session, hash), in_line=definitions.spec(session, hash).in_line)
    writing.write(session)


def _plain(key: Key) -> tuple[str, int, str, str]:
    step, round, item, kind = key
    return step, round, item, Kind(kind).value
