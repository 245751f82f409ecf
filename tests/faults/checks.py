"""What must hold at the end of every case, whatever was broken on the way: the checks G1 to G6 of the fault corpus."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

import psycopg

from halfway.domain.decide import FINAL_NOTES
from halfway.domain.lifecycle import FINAL, RecordStatus
from halfway.domain.run import Key, Kind
from halfway.ports import Detail, JournalRow, Reading
from tests.engine.harness import Harness, until

REOPENED = ("workflow.resumed", "step.retry_ordered", "step.settled_by_person", "workflow.compensating", "step.waived")


def all_is_well(h: Harness, *runs: Any, orders: int = 0, refused: int | None = None) -> None:
    """G1, G2, G4, G5 for these runs and G6 for the database.

    orders: how many were carried out on all of them together. refused: how many were not; None: whatever there were.
    """
    reading = h.app.store.reading
    for run in runs:
        detail, journal = reading.detail(run.id), named_as_now(reading.journal(run.id, limit=100_000))
        history_agrees(detail, journal)
        attempts_are_recorded(detail, journal)
        has_a_reason_to_wake(detail)
    audit = [row for run in runs for row in reading.audit(run.id)]
    carried_out = [row for row in audit if row.audit.refused is None]
    assert len(audit) == len({row.audit.action_id for row in audit})
    assert len(carried_out) == orders, f"audit rows: {audit}"
    assert refused is None or len(audit) - orders == refused, f"audit rows: {audit}"
    assert all(row.before is row.after for row in audit if row.audit.refused is not None)
    until(lambda: not owned_by_the_dead(reading, runs), "no attempt is owned by a dead worker")
    database_is_sound(h.url)


def named_as_now(journal: Sequence[JournalRow]) -> Sequence[JournalRow]:
    """The journal with the names that steps have since the run was moved; what stayed behind has none."""
    found: list[JournalRow] = []
    for row in journal:
        if row.name == "workflow.moved":
            steps = json.loads(row.data or "{}")["steps"]
            found = [one if one.key is None else one._replace(key=one.key._replace(step=steps.get(one.key.step, ""))) for one in found]
        found.append(row)
    return found


def history_agrees(detail: Detail, journal: Sequence[JournalRow]) -> None:
    """G1: the run's row, its records and its journal tell one story."""
    run = detail.run
    assert [row.seq for row in journal] == list(range(1, run.seq + 1)), "the journal has holes"
    ends = [(row.seq, row.name) for row in journal if row.name in FINAL_NOTES.values()]
    reopened = max((row.seq for row in journal if row.name in REOPENED), default=0)
    last = [name for seq, name in ends if seq > reopened]
    if run.status in FINAL:
        assert run.ended_at is not None
        assert last == [FINAL_NOTES[run.status]] or (not last and ends and ends[-1][1] == FINAL_NOTES[run.status]), (
            f"{run.status}, but {ends}"
        )
        still = [one.record for one in detail.records if one.record.key.kind in (Kind.STEP, Kind.COMPENSATION)]
        assert not [record for record in still if record.status in (RecordStatus.RUNNING, RecordStatus.UNKNOWN, RecordStatus.PENDING)]
    else:
        assert run.ended_at is None
        assert not last, f"{run.status}, but {last}"


def attempts_are_recorded(detail: Detail, journal: Sequence[JournalRow]) -> None:
    """G1: every attempt has a row and a line in the journal, and a step has one completion at most."""
    for one in detail.records:
        key, record = one.record.key, one.record
        aside = record.attempts - len(one.attempts)  # of a step that a move has let begin anew; its numbers go on
        assert not aside or any(row.name == "workflow.moved" for row in journal)
        assert [attempt.n for attempt in one.attempts] == list(range(aside + 1, record.attempts + 1))
        started = [row.n for row in journal if row.key == key and row.name.endswith(".started")]
        started = started[-len(one.attempts) :] if aside else started
        assert started == [attempt.n for attempt in one.attempts], f"{key}: {started}"
        running = [attempt.n for attempt in one.attempts if attempt.ended_at is None]
        assert running == ([record.attempts] if record.status is RecordStatus.RUNNING else []), f"{key} is {record.status}: {running}"
        if key.kind is Kind.STEP and record.status is RecordStatus.SUCCESS:
            assert len(completions(journal, key)) == 1, f"{key}: {completions(journal, key)}"


def completions(journal: Sequence[JournalRow], key: Key) -> list[str]:
    """How a step was completed, since its result was last found broken."""
    broken = max((row.seq for row in journal if row.key == key and row.name == "step.check_failed"), default=0)
    names = ("step.completed", "step.settled_by_person")
    found = [row for row in journal if row.key == key and row.seq > broken and row.name in names]
    return [row.name for row in found if row.data is None or '"happened":false' not in row.data]


def has_a_reason_to_wake(detail: Detail) -> None:
    """G5: what has not ended runs, is due, waits in line, or asks somebody."""
    run = detail.run
    if run.status in FINAL:
        return
    records = [one.record for one in detail.records]
    reasons = [record for record in records if record.status is RecordStatus.RUNNING or record.ready_at is not None or record.asks]
    assert reasons or run.blocked or run.deadline_at or run.timeout_at, f"nothing will ever move {detail}"


def owned_by_the_dead(reading: Reading, runs: Sequence[Any]) -> list[tuple[str, Key, int]]:
    """G2: attempts that run although nobody runs them."""
    alive = {row.epoch.id for row in reading.workers() if row.epoch.state == "ALIVE"}
    return [
        (run.id, one.record.key, attempt.n)
        for run in runs
        for one in reading.detail(run.id).records
        for attempt in one.attempts
        if attempt.ended_at is None and attempt.epoch not in alive
    ]


def database_is_sound(url: str) -> None:
    """G6."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        try:
            assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        finally:
            connection.close()
        return
    with psycopg.connect(url, autocommit=True) as watching:
        text = "select pid, query from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'"
        until(lambda: not watching.execute(text).fetchall(), "no session is left idle in a transaction")
