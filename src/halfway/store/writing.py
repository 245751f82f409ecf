"""Commands as rows: everything that a batch of decisions changes, collected by statement and written in one go."""

from __future__ import annotations

import json
from collections.abc import Mapping

from halfway.domain.draft import Audit, Change, Payload
from halfway.domain.facts import EndAttempt, Move, Note, SetRun, SettleAttempt, StartAttempt
from halfway.domain.lifecycle import FINAL, RecordStatus
from halfway.domain.line import holder_of, points
from halfway.domain.run import Ended, Key, Record, RunRow
from halfway.errors import Conflict
from halfway.ports import GuardFailed
from halfway.store.database import Session, Work
from halfway.store.telling import Telling
from halfway.store.texts import made_storable, require_storable

NOTHING = Payload()
OF_ATTEMPTS = (StartAttempt, EndAttempt, SettleAttempt)
GUARDED = frozenset({"end_attempt", "settle_attempt", "set_attempt_gone", "take_slot", "set_run", "end_run", "reopen_run"})


class Writing:
    """Rows by statement, in the order in which they are written: attempts end before others start, a run ends after its records."""

    def __init__(self, now: int, limited: frozenset[str] = frozenset()) -> None:
        self.now = now
        self.limited = limited  # queues whose attempts may hold slots
        self.ends: list[tuple[object, ...]] = []
        self.settles: list[tuple[object, ...]] = []
        self.slots_back: list[tuple[object, ...]] = []
        self.slots: list[tuple[object, ...]] = []
        self.lines: list[tuple[object, ...]] = []
        self.gone: list[tuple[object, ...]] = []
        self.starts: list[tuple[object, ...]] = []
        self.records: list[tuple[object, ...]] = []
        self.notes: list[tuple[object, ...]] = []
        self.runs: list[tuple[object, ...]] = []
        self.ended: list[tuple[object, ...]] = []
        self.reopened: list[tuple[object, ...]] = []
        self.leases: list[tuple[object, ...]] = []
        self.audits: list[tuple[object, ...]] = []
        self.telling = Telling(now)

    def add(self, change: Change, routes: Mapping[str, str], *, in_line: bool = False) -> None:
        """`routes`: of every step of this run's definition. `in_line`: its runs must hold something before they begin."""
        before = change.before.run
        moved: dict[Key, Record] = {}
        kept: set[Key] = set()
        after = before
        seq = before.seq
        for command in change.commands:
            if isinstance(command, Note):
                seq += 1
                self._note(before.id, seq, command)
            elif isinstance(command, Move):
                moved[command.record.key] = command.record
                if command.keep:
                    kept.add(command.record.key)
            elif isinstance(command, SetRun):
                after = command.run
                self._run(before, after, command.ended, in_line)
            elif not isinstance(command, OF_ATTEMPTS):
                self.telling.add(change, command)
        self._attempts(change, moved, routes)
        for key, record in moved.items():
            self._record(before, record, routes[key.step], change.payloads.get(key, NOTHING), key in kept)
        if change.audit is not None:
            self._audit(before, after, change.audit)
        self.telling.tend(change, moved)

    def works(self) -> list[Work]:
        named = (
            ("end_attempt", self.ends),
            ("settle_attempt", self.settles),
            ("set_attempt_gone", self.gone),
            ("give_back_slot", self.slots_back),
            ("take_slot", self.slots),
            ("start_attempt", self.starts),
            ("put_record", self.records),
            ("note", self.notes),
            ("set_run", self.runs),
            ("end_run", self.ended),
            ("reopen_run", self.reopened),
            ("set_waiting", self.lines),
            ("release_leases", self.leases),
            ("audit", self.audits),
        )
        return [Work(name, rows) for name, rows in (*self.telling.first(), *named, *self.telling.last()) if rows]

    def write(self, session: Session) -> None:
        if self.audits:
            self._refuse_repeated(session)
        works = self.works()
        counts = session.many(works)
        for work, count in zip(works, counts, strict=True):
            if work.name in GUARDED and count != len(work.rows):
                raise GuardFailed(f"{work.name}: {count} of {len(work.rows)} rows")
        self.telling.check({work.name: count for work, count in zip(works, counts, strict=True)})

    def _refuse_repeated(self, session: Session) -> None:
        for action_id, run_id in session.rows("audited", ids=[row[1] for row in self.audits]):
            raise Conflict("ACTION_REPEATED", action_id=action_id, run=run_id)

    # ── one kind of row each; values in the order of the statement's parameters ──

    def _attempts(self, change: Change, moved: Mapping[Key, Record], routes: Mapping[str, str]) -> None:
        run_id = change.before.run.id
        for command in change.commands:
            if isinstance(command, StartAttempt):
                self._start(run_id, command)
            elif isinstance(command, EndAttempt):
                self._end(run_id, command, moved)
                if self.limited and routes[command.key.step].partition("/")[0] in self.limited:
                    self._give_back_slot(run_id, command)
            elif isinstance(command, SettleAttempt):
                self._settle(run_id, command)
        self.slots += [(key, slot, holder) for holder, (key, slot) in change.slots.items()]

    def _start(self, run_id: str, command: StartAttempt) -> None:
        (step, round, item, kind), n, epoch, marked = command
        self.starts.append((run_id, step, round, item, kind._value_, n, epoch, self.now, self.now if marked else None))

    def _end(self, run_id: str, command: EndAttempt, moved: Mapping[Key, Record]) -> None:
        (step, round, item, kind), n, ended, code, gone_at = command
        settled = _settled(moved.get(command.key), command) if ended is Ended.LOST else None
        self.ends.append((self.now, ended._value_, code, settled, gone_at, run_id, step, round, item, kind._value_, n))

    def _settle(self, run_id: str, command: SettleAttempt) -> None:
        (step, round, item, kind), n, how, gone_at = command
        if how:
            self.settles.append((how, gone_at, run_id, step, round, item, kind._value_, n))
        else:
            self.gone.append((gone_at, run_id, step, round, item, kind._value_, n))

    def _give_back_slot(self, run_id: str, command: EndAttempt) -> None:
        """With the end of an attempt, unless its body may still be at it: then when that has returned, or is known to be gone."""
        if command.gone_at is not None and command.gone_at <= self.now:
            self.slots_back.append((holder_of(run_id, command.key, command.n),))

    def _line(self, before: RunRow, after: RunRow, ended: bool) -> None:
        """Whoever has ended holds nothing, and stands in no line."""
        if ended:
            self.leases.append((before.id,))
        waits = after.blocked and not ended
        if waits or before.blocked:
            self.lines.append((self.now if waits else None, before.id))

    def _record(self, run: RunRow, record: Record, route: str, payload: Payload, keep: bool) -> None:
        (
            (step, round, item, kind), status, ready_at, attempts, failures, lost, effect, code, asks, looks,
            first_at, started_at, ended_at, approved_until, approved_by, _,
        ) = record  # fmt: skip
        output = payload.output if keep and status is not RecordStatus.PENDING else None
        if payload.emitted and keep and status is RecordStatus.SUCCESS:
            self.telling.emit(run.id, record.key, payload.emitted)
        row = (
            run.id, step, round, item, kind._value_, status._value_, route, points(run.priority), ready_at, attempts, failures, lost,
            effect._value_, code, asks, looks, first_at, started_at, ended_at, approved_until,
            json.dumps(approved_by) if approved_by else "", output, made_storable(payload.error),
        )  # fmt: skip
        self.records.append(row)

    def _note(self, run_id: str, seq: int, note: Note) -> None:
        name, key, n, data = note
        text = None if data is None else json.dumps(data, separators=(",", ":"))
        if key is None:
            self.notes.append((run_id, seq, self.now, name, None, None, None, None, n, text))
        else:
            step, round, item, kind = key
            self.notes.append((run_id, seq, self.now, name, step, round, item, kind._value_, n, text))

    def _run(self, before: RunRow, after: RunRow, ended: bool, in_line: bool) -> None:
        row = (
            after.status._value_,
            None if after.intent is None else after.intent._value_,
            after.revision,
            after.seq,
            1 if after.blocked else 0,
            after.started_at,
            self.now,
            after.ended_at,
            after.timeout_at,
            after.timeout_left,
            after.undo,
            after.restored_at,
            after.grants,
            before.id,
            before.revision,
        )
        if in_line:
            self._line(before, after, ended)
        if ended:
            self.ended.append(row)
            self.telling.ended(after)
        elif before.status in FINAL and after.status not in FINAL:
            self.reopened.append(row)
        else:
            self.runs.append(row)

    def _audit(self, before: RunRow, after: RunRow, audit: Audit) -> None:
        require_storable(action_id=audit.action_id, actor=audit.actor, reason=audit.reason, evidence=audit.evidence)
        row = (
            self.now + len(self.audits), audit.action_id, self.now, audit.actor, audit.action, before.id, audit.step, audit.reason,
            audit.evidence, audit.refused, (audit.before or before.status)._value_, after.status._value_,
        )  # fmt: skip
        self.audits.append(row)


def _settled(record: Record | None, command: EndAttempt) -> str | None:
    """A lost attempt without an effect, of a READ for instance, leaves nothing to be settled."""
    if record is None or any(attempt.n == command.n for attempt in record.open):
        return None
    return "NOTHING_TO_LOSE"
