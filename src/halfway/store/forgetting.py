"""Runs that are old: their own rows become what stays known of them, then their other rows go, then their keys.

A run is locked before it is asked whether anything needs it, so nothing can begin to need it in between. What names a key locks the
newest row of it, so that no key is deleted under a start that finds it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from halfway.ports import Cut, Place, Swept
from halfway.store.database import Row, Session, Work
from halfway.store.texts import fingerprint

RUNS = 50  # in one batch
ROWS = 500  # of each table in one batch
KEYS = 200  # in one batch
LOOKED_AT = 500  # when nothing is deleted
REST = {
    "records": "delete_records",
    "attempts": "delete_attempts",
    "journal": "delete_journal",
    "evidence": "delete_evidence",
    "calls": "delete_calls",
    "waits": "delete_waits",
    "inputs": "delete_inputs",
    "former": "delete_former",
    "messages": "delete_messages",
    "children": "delete_children",
}


def forget_runs(session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept:
    """The next old runs of a workflow that nothing needs."""
    limit = RUNS if delete else LOOKED_AT
    page = session.rows("old_runs", type=cut.type, until=cut.until, after_at=after.at, after_id=after.id, limit=limit)
    if not page:
        return Swept({}, {}, None)
    found = [id for id, _ in page]
    ids = [id for (id,) in session.rows("lock_old_runs", ids=found, until=cut.until)] if delete else found
    needed: dict[str, str] = dict(session.rows("needed_runs", ids=ids)) if ids else {}
    gone = [id for id in ids if id not in needed]
    if delete and gone:
        _become_past(session, gone)
    kept = Counter(needed.values())
    if len(ids) < len(found):
        kept["busy"] = len(found) - len(ids)
    return Swept({"runs": len(gone)}, kept, next_place(page, limit))


def _become_past(session: Session, ids: list[str]) -> None:
    former: defaultdict[str, list[str]] = defaultdict(list)
    for run_id, input in session.rows("last_inputs", ids=ids):
        former[run_id].append(input)
    rows = [
        (id, type, version, status, run_key, _fingerprints([input, *former[id]]), created_at, ended_at, session.now)
        for id, type, version, status, run_key, input, created_at, ended_at in session.rows("last_words", ids=ids)
    ]
    session.many([Work("put_past", rows)])
    session.run("delete_wakes", ids=ids)
    session.run("delete_claims", ids=ids)
    session.run("delete_runs", ids=ids)


def _fingerprints(inputs: Iterable[str]) -> str:
    return " ".join(sorted({fingerprint(input) for input in inputs}))


def clear_rest(session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept:
    """Rows of runs that are gone, so many of each table; a run with more of them is gone on with in the next batch."""
    ids = [id for (id,) in session.rows("left_runs", after_id=after.id, limit=RUNS)] if delete else []
    if not ids:
        return Swept({}, {}, None)
    session.run("empty_events_of", ids=ids, now=session.now)
    deleted = {name: session.run(statement, ids=ids, limit=ROWS) for name, statement in REST.items()}
    deleted["artifacts"] = session.run("delete_artifacts_of", ids=ids, types=sorted(cut.untils), limit=ROWS)
    session.run("delete_wakes", ids=ids)
    is_cleared = all(count < ROWS for count in deleted.values())
    if is_cleared:
        session.run("set_cleared", ids=ids, now=session.now)
    return Swept({name: count for name, count in deleted.items() if count}, {}, Place(0, ids[-1]) if is_cleared else after)


def forget_keys(session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept:
    """What was known of runs, and the keys under which no run stands any more but such as are old themselves."""
    limit = KEYS if delete else LOOKED_AT
    page = session.rows("old_pasts", type=cut.type, until=cut.until, after_at=after.at, after_id=after.id, limit=limit)
    if not page:
        return Swept({}, {}, None)
    ids = [id for id, _ in page]
    locked = {tuple(row) for row in session.rows("lock_keys", ids=ids)}
    keys: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in session.rows("keys_beside", ids=ids, until=cut.until):
        keys[row[0], row[1]].append(row)
    free = {under: rows for under, rows in keys.items() if all(row[4] == 1 and row[:3] in locked for row in rows)}
    under_keys = {row[3] for rows in keys.values() for row in rows}
    gone = sorted({row[3] for rows in free.values() for row in rows} | (set(ids) - under_keys))
    if delete:
        session.many([Work("delete_key", [row[:3] for rows in free.values() for row in rows])] if free else [])
        session.run("delete_pasts", ids=gone)
    stands = len(set(ids) - set(gone))
    return Swept({"keys": len(gone)}, {"key": stands} if stands else {}, next_place(page, limit))


def next_place(page: list[Row], limit: int) -> Place | None:
    """Behind the last row of a page, which ends with its id and its time; None if it was the last page."""
    return Place(page[-1][1], page[-1][0]) if len(page) == limit else None
