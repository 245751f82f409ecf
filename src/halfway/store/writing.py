"""Commands as rows: everything that a batch of decisions changes, collected by statement and written in one go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import assert_never

from halfway.domain.draft import Audit, Change, Payload
from halfway.domain.facts import Command, EndAttempt, Move, Note, SetRun, SettleAttempt, StartAttempt
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Ended, Key, Record, RunRow
from halfway.errors import Conflict
from halfway.ports import GuardFailed
from halfway.store.database import Session, Work
from halfway.store.texts import made_storable, require_storable

NOTHING = Payload()
GUARDED = frozenset({"end_attempt", "settle_attempt", "set_attempt_gone", "set_run", "end_run"})


class Writing:
    """Rows by statement, in the order in which they are written: attempts end before others start, a run ends after its records."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.ends: list[tuple[object, ...]] = []
        self.settles: list[tuple[object, ...]] = []
        self.gone: list[tuple[object, ...]] = []
        self.starts: list[tuple[object, ...]] = []
        self.records: list[tuple[object, ...]] = []
        self.notes: list[tuple[object, ...]] = []
        self.runs: list[tuple[object, ...]] = []
        self.ended: list[tuple[object, ...]] = []
        self.leases: list[tuple[object, ...]] = []
        self.audits: list[tuple[object, ...]] = []

    def add(self, change: Change, routes: Mapping[str, str]) -> None:
        """`routes`: of every step of this run's definition."""
        before = change.before.run
        moved: dict[Key, Record] = {}
        kept: set[Key] = set()
        after = before
        seq = before.seq
        for command in change.commands:
            match command:
                case Move(record, _, keep):
                    moved[record.key] = record
                    if keep:
                        kept.add(record.key)
                case Note():
                    seq += 1
                    self._note(before.id, seq, command)
                case SetRun(after, ended):
                    self._run(before, after, ended)
                case StartAttempt() | EndAttempt() | SettleAttempt():
                    pass
                case _:
                    assert_never(command)
        for key, record in moved.items():
            self._record(before, record, routes[key.step], change.payloads.get(key, NOTHING), key in kept)
        self._attempts(before.id, change.commands, moved)
        if change.audit is not None:
            self._audit(before, after, change.audit)

    def works(self) -> list[Work]:
        named = (
            ("end_attempt", self.ends),
            ("settle_attempt", self.settles),
            ("set_attempt_gone", self.gone),
            ("start_attempt", self.starts),
            ("put_record", self.records),
            ("note", self.notes),
            ("set_run", self.runs),
            ("end_run", self.ended),
            ("release_leases", self.leases),
            ("audit", self.audits),
        )
        return [Work(name, rows) for name, rows in named if rows]

    def write(self, session: Session) -> None:
        if self.audits:
            self._refuse_repeated(session)
        works = self.works()
        for work, count in zip(works, session.many(works), strict=True):
            if work.name in GUARDED and count != len(work.rows):
                raise GuardFailed(f"{work.name}: {count} of {len(work.rows)} rows")

    def _refuse_repeated(self, session: Session) -> None:
        for action_id, run_id in session.rows("audited", ids=[row[0] for row in self.audits]):
            raise Conflict("ACTION_REPEATED", action_id=action_id, run=run_id)

    # ── one kind of row each; values in the order of the statement's parameters ──

    def _attempts(self, run_id: str, commands: tuple[Command, ...], moved: Mapping[Key, Record]) -> None:
        now = self.now
        for command in commands:
            match command:
                case EndAttempt((step, round, item, kind), n, ended, code, gone_at):
                    settled = _settled(moved.get(command.key), command)
                    self.ends.append((now, ended.value, code, settled, gone_at, run_id, step, round, item, kind.value, n))
                case StartAttempt((step, round, item, kind), n, epoch, marked):
                    self.starts.append((run_id, step, round, item, kind.value, n, epoch, now, now if marked else None))
                case SettleAttempt((step, round, item, kind), n, how, gone_at) if how:
                    self.settles.append((how, gone_at, run_id, step, round, item, kind.value, n))
                case SettleAttempt((step, round, item, kind), n, _, gone_at):
                    self.gone.append((gone_at, run_id, step, round, item, kind.value, n))
                case _:
                    pass

    def _record(self, run: RunRow, record: Record, route: str, payload: Payload, keep: bool) -> None:
        (
            (step, round, item, kind), status, ready_at, attempts, failures, lost, effect, code, asks, looks,
            first_at, started_at, ended_at, _,
        ) = record  # fmt: skip
        output = payload.output if keep and status is not RecordStatus.PENDING else None
        row = (
            run.id, step, round, item, kind.value, status.value, route, run.priority, ready_at, attempts, failures, lost, effect.value,
            code, asks, looks, first_at, started_at, ended_at, output,
            made_storable(payload.error),
        )  # fmt: skip
        self.records.append(row)

    def _note(self, run_id: str, seq: int, note: Note) -> None:
        name, key, n, data = note
        text = None if data is None else json.dumps(data, separators=(",", ":"))
        if key is None:
            self.notes.append((run_id, seq, self.now, name, None, None, None, None, n, text))
        else:
            step, round, item, kind = key
            self.notes.append((run_id, seq, self.now, name, step, round, item, kind.value, n, text))

    def _run(self, before: RunRow, after: RunRow, ended: bool) -> None:
        row = (
            after.status.value,
            None if after.intent is None else after.intent.value,
            after.revision,
            after.seq,
            1 if after.blocked else 0,
            after.started_at,
            self.now,
            after.ended_at,
            after.timeout_at,
            before.id,
            before.revision,
        )
        if ended:
            self.ended.append(row)
            self.leases.append((before.id,))
        else:
            self.runs.append(row)

    def _audit(self, before: RunRow, after: RunRow, audit: Audit) -> None:
        require_storable(actor=audit.actor, reason=audit.reason, evidence=audit.evidence)
        row = (
            audit.action_id, self.now, audit.actor, audit.action, before.id, audit.step, audit.reason, audit.evidence,
            before.status.value, after.status.value,
        )  # fmt: skip
        self.audits.append(row)


def _settled(record: Record | None, command: EndAttempt) -> str | None:
    """A lost attempt without an effect, of a READ for instance, leaves nothing to be settled."""
    if command.ended is not Ended.LOST or record is None or any(attempt.n == command.n for attempt in record.open):
        return None
    return "NOTHING_TO_LOSE"
