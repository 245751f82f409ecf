"""What gets old beside runs: payloads of events, orders for many runs, artifacts, the audit log, ticks of schedules, ids of events."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from halfway.ports import Cut, Place, Swept
from halfway.store.database import Session
from halfway.store.forgetting import LOOKED_AT, next_place

ROWS = 200  # in one batch
ITEMS = 1000  # of an order for many runs, in one batch


def empty_events(session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept:
    """Payloads that nobody can be given any more. That an event came stays known, and a repeat of it changes nothing."""
    limit = ROWS if delete else LOOKED_AT
    page = session.rows("old_events", until=cut.until, after_at=after.at, after_id=after.id, limit=limit)
    if not page:
        return Swept({}, {}, None)
    found = [id for id, _ in page]
    ids = [id for (id,) in session.rows("lock_events", ids=found)] if delete else found
    asked = session.rows("needed_events", ids=ids, unused_until=cut.unused_until) if ids else []
    needed = {id for (id,) in asked}
    empty = [id for id in ids if id not in needed]
    if delete and empty:
        session.run("empty_events", ids=empty, now=session.now)
    return Swept({"events": len(empty)}, {"event": len(needed)} if needed else {}, next_place(page, limit))


def forget_event_ids(session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept:
    """Events of which nothing was left but that they came."""
    page = session.rows("old_event_ids", until=cut.until, after_at=after.at, after_id=after.id, limit=ROWS)
    ids = [id for id, _ in page]
    count = session.run("delete_events", ids=ids) if delete and ids else len(ids)
    return Swept({"eventIds": count}, {}, next_place(page, ROWS))


def forget_batches(session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept:
    """The oldest order for many runs, or a part of its items."""
    limit = 1 if delete else LOOKED_AT
    page = session.rows("old_batches", until=cut.until, after_at=after.at, after_id=after.id, limit=limit)
    if not delete or not page:
        return Swept({"batches": len(page)}, {}, next_place(page, limit))
    id = page[0][0]
    if session.run("delete_batch_items", id=id, limit=ITEMS) == ITEMS:
        return Swept({}, {}, after)
    return Swept({"batches": session.run("delete_batch", id=id)}, {}, next_place(page, limit))


def forget_artifacts(session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept:
    """Rows that name files, of runs that have ended so long ago as their workflow says; of others their files stay, too."""
    page = session.rows("old_artifacts", until=cut.until, after_at=after.at, after_id=after.id, limit=ROWS)
    old = {
        id: run_id for id, _, run_id, type, ended_at in page if type in cut.untils and ended_at is not None and ended_at <= cut.untils[type]
    }
    runs = sorted(set(old.values()))
    needed: dict[str, str] = dict(session.rows("needed_runs", ids=runs)) if runs else {}
    if delete and runs:
        there = {id for (id,) in session.rows("runs_of_artifacts", ids=runs)}
        locked = {id: ended == 1 for id, ended in session.rows("lock_runs_of_artifacts", ids=runs)}
        needed |= {id: "busy" for id in there if not locked.get(id, False)}
    gone = [id for id, run_id in old.items() if run_id not in needed]
    if delete and gone:
        session.run("delete_artifacts", ids=gone)
    kept = Counter(needed[run_id] for run_id in old.values() if run_id in needed)
    return Swept({"artifacts": len(gone)}, kept, next_place(page, ROWS))


def forget_audit(session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept:
    """Entries about runs of one workflow, but for those of runs that go on."""
    page = session.rows("old_audit", type=cut.type, until=cut.until, after_at=after.at, after_id=after.id, limit=ROWS)
    gone = [id for id, _, is_open in page if not is_open]
    if delete and gone:
        session.run("delete_audit", ids=gone)
    kept = len(page) - len(gone)
    return Swept({"audit": len(gone)}, {"audit": kept} if kept else {}, next_place(page, ROWS))


def forget_ticks(session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept:
    """What became of the times of the schedules of one workflow, but for those that still wait or whose runs go on.

    No tick comes back: a schedule never looks behind the time up to which it has accounted for all.
    """
    page = session.rows("old_ticks", type=cut.type, until=cut.until, after_at=after.at, after_id=after.id, limit=ROWS)
    place = next_place(page, ROWS)
    count = len(page)
    if delete:
        of_each = [[*rows] for _, rows in groupby(page, key=lambda row: row[0])]
        count = sum(
            session.run("delete_ticks", type=cut.type, name=rows[0][0], first_at=rows[0][1], last_at=rows[-1][1]) for rows in of_each
        )
    if place is None:
        missed = session.rows("count_missed", type=cut.type, until=cut.until)[0][0]
        count += session.run("delete_missed", type=cut.type, until=cut.until) if delete and missed else missed
    return Swept({"ticks": count}, {}, place)
