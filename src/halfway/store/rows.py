"""Rows of the database as the frozen records of the domain."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Attempt, Happened, Intent, Key, Kind, Record, RunRow
from halfway.store.database import Row

RUN_STATUS = {status.value: status for status in RunStatus}
RECORD_STATUS = {status.value: status for status in RecordStatus}
KIND = {kind.value: kind for kind in Kind}
HAPPENED = {happened.value: happened for happened in Happened}
INTENT: dict[str | None, Intent | None] = {None: None} | {intent.value: intent for intent in Intent}


def to_run(row: Iterable[Any]) -> RunRow:
    """From the 22 columns of a run, in the order of `RunRow` with blocked as a number."""
    id, type, version, hash, status, revision, seq, intent, priority, correlation_id, resource, blocked, *rest = row
    return RunRow(
        id, type, version, hash, RUN_STATUS[status], revision, seq, INTENT[intent], priority, correlation_id, resource, blocked == 1, *rest
    )


def to_key(step: str, round: int, item: str, kind: str) -> Key:
    return Key(step, round, item, KIND[kind])


def to_record(row: Iterable[Any], open: tuple[Attempt, ...] = ()) -> Record:
    """From run_id, the key, and the 14 columns of a record."""
    (
        _, step, round, item, kind, status, ready_at, attempts, failures, lost, effect, code, asks, looks, first_at, started_at, ended_at,
        approved_until, approved_by,
    ) = row  # fmt: skip
    return Record(
        Key(step, round, item, KIND[kind]),
        RECORD_STATUS[status],
        ready_at,
        attempts,
        failures,
        lost,
        HAPPENED[effect],
        code,
        asks,
        looks,
        first_at,
        started_at,
        ended_at,
        approved_until,
        tuple(json.loads(approved_by)) if approved_by else (),
        open,
    )


def to_attempt(row: Row) -> Attempt:
    """From run_id, the key, and the 6 columns of an open attempt."""
    _, _, _, _, _, n, epoch, started_at, marked, lost, gone_at = row
    return Attempt(n, epoch, started_at, bool(marked), bool(lost), gone_at)
