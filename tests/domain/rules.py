"""What must hold after every decision about a run, whatever happens to it; told by another way than `decide` finds it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from halfway.domain.draft import Draft
from halfway.domain.facts import (
    Approved,
    Arrived,
    CloseWait,
    Command,
    CompensateAsked,
    Fact,
    Finished,
    Late,
    Move,
    OpenWait,
    Order,
    Rejected,
    ReleaseAsked,
    ReleaseHold,
    RetryAsked,
    SkipAsked,
    StartAttempt,
    Unblocked,
)
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus, Trigger
from halfway.domain.plan import Plan
from halfway.domain.run import ACTING, Ended, Happened, Intent, Key, Kind, Record, RunRow, Snapshot
from halfway.domain.spec import DAY, Effect, Sort, Then, WorkflowSpec
from halfway.domain.waits import is_gate

IN_DOUBT = (RecordStatus.RUNNING, RecordStatus.UNKNOWN)
S = RecordStatus


def undo_of(key: Key) -> Key:
    return key._replace(kind=Kind.COMPENSATION)


def blocks(undo: Record | None) -> bool:
    """Whether what was done earlier must not be undone yet."""
    if undo is None or is_gate(undo):
        return True
    return undo.status in (S.PENDING, S.RUNNING) or (undo.status is S.UNKNOWN and not undo.asks)


def active(record: Record) -> bool:
    """Whether it goes on without anybody."""
    if record.status is S.PENDING:
        return record.ready_at is not None
    return record.status is S.RUNNING or (record.status is S.UNKNOWN and not record.asks)


class Rules:
    """Watches one run: what was commanded so far, who has agreed to what, which waits are open."""

    def __init__(self, spec: WorkflowSpec) -> None:
        self.spec = spec
        self.yes: dict[Key, set[str]] = defaultdict(set)  # who has agreed since it was asked about last
        self.good_until: dict[Key, int] = {}  # approvals of attempts
        self.open_waits: set[Key] = set()
        self.waived: set[Key] = set()
        self.undos_begun: set[Key] = set()
        self.held: set[Key] = set()
        self.planned: Plan | None = None
        self.kept: set[Key] = set()  # undos of what was done after the step from which is undone

    def after(self, before: Snapshot, fact: Fact, commands: tuple[Command, ...], after: Snapshot, now: int) -> None:
        if isinstance(fact, Order):
            self.planned = None
        self._agreements(before, fact, commands, now)
        self._orders(before, fact, now)
        assert not before.run.blocked or after.run.blocked or isinstance(fact, Unblocked), "it took the resource of another run"
        for command in commands:
            if isinstance(command, StartAttempt):
                self._start(before, command.key, now)
            elif isinstance(command, Move):
                self._move(before, after, fact, command, now)
            elif isinstance(command, OpenWait):
                self.open_waits.add(command.key)
                self.yes[command.key].clear()
            elif isinstance(command, CloseWait):
                self.open_waits.discard(command.key)
                assert command.source is None or isinstance(fact, Arrived), "only what arrived is used up"
        self._holds(fact, commands, after)
        self._state(after)

    def same(self, before: Snapshot, fact: Fact, after: Snapshot, now: int) -> None:
        """A run that is decided about inside a transaction stands where its commands bring it."""
        draft = Draft(self.spec, before, now, input="{}", outputs={})
        draft.take(fact)
        assert draft.snapshot == after, "what is decided and what is stored differ"

    def restored(self, copy: Snapshot) -> None:
        """What was agreed and opened since the copy was made is forgotten."""
        fresh = Rules(self.spec)
        fresh.open_waits = {key for key, r in copy.records.items() if r.status is S.WAITING and not is_gate(r)}
        for key, record in copy.records.items():
            fresh.yes[key] = set(record.approved_by)
            if record.approved_until is not None:
                fresh.good_until[key] = record.approved_until
        fresh.undos_begun = {key for key in copy.records if key.kind is Kind.COMPENSATION}
        self.__dict__.update(fresh.__dict__)

    # ── people ──

    def _agreements(self, before: Snapshot, fact: Fact, commands: tuple[Command, ...], now: int) -> None:
        if isinstance(fact, Approved | Rejected):
            key = next(command.record.key for command in commands if isinstance(command, Move))
            step = self.spec.by_name[fact.step]
            if not is_gate(before.records[key]) and step.wait is not None and step.wait.four_eyes:
                assert fact.by != before.run.actor, "the requester decided"
            if isinstance(fact, Rejected):
                self.yes[key].clear()
                self.good_until.pop(key, None)
                return
            assert fact.by not in self.yes[key] or is_gate(before.records[key]), "the same person counts once"
            self.yes[key].add(fact.by)
            if is_gate(before.records[key]):
                self.good_until[key] = now + DAY
        elif isinstance(fact, Finished) and fact.report.ended is Ended.LOST:
            self.good_until.pop(fact.key, None)
        elif isinstance(fact, RetryAsked) and fact.new_input:
            self.good_until.clear()
            self.yes.clear()
        elif isinstance(fact, SkipAsked):
            skipped = next(command.record for command in commands if isinstance(command, Move) and command.trigger is Trigger.WAIVED)
            self.waived.add(skipped.key)
            assert self.spec.unit(skipped.key).sort is not Sort.APPROVAL, "nobody goes on without an approval that is demanded"

    def _orders(self, before: Snapshot, fact: Fact, now: int) -> None:
        if isinstance(fact, CompensateAsked) and fact.step is not None:
            done = sorted(self._happened(before), key=self._place)
            self.kept = {undo_of(record.key) for record in done[done.index(before.records[Key(fact.step)]) + 1 :]}
        if isinstance(fact, RetryAsked) and fact.not_happened and not fact.gone:
            for record in before.records.values():
                if record.key.step == fact.step and record.status is S.UNKNOWN:
                    assert all(a.gone_at is not None and a.gone_at <= now for a in record.unsettled), "an attempt is still alive"

    def _happened(self, snapshot: Snapshot) -> list[Record]:
        return [r for k, r in snapshot.records.items() if k.kind is Kind.STEP and r.effect is Happened.HAPPENED]

    def _place(self, record: Record) -> tuple[int, int]:
        return record.ended_at or 0, self.spec.order[record.key.step]

    # ── what starts ──

    def _start(self, before: Snapshot, key: Key, now: int) -> None:
        record = before.records[key]
        run = before.run
        assert not (run.blocked and key.kind in ACTING), f"{key} started without the resource of its run"
        assert key not in self.kept, f"{key.step} was to be kept"
        if self.spec.unit(key).requires_approval and key.kind in ACTING and not record.unsettled:
            assert self.good_until.get(key, 0) > now, f"{key} started without an approval"
        if key.kind is Kind.STEP:
            stops = run.intent is not None or run.undo is not None
            failed = any(r.status is S.FAILED and not r.asks for k, r in before.records.items() if k.kind is Kind.STEP)
            assert not stops, f"{key.step} started in a run that stops"
            assert not failed, f"{key.step} started after a failure"
            assert self._all_before(before, key.step), f"{key.step} started before what it stands after"
            assert run.deadline_at is None or now < run.deadline_at, "past the deadline"
            if self.planned is not None:
                self._as_planned(key.step, record)

    def _all_before(self, snapshot: Snapshot, name: str) -> bool:
        found = [snapshot.records.get(Key(one)) for one in self.spec.by_name[name].after]
        return all(r is not None and (r.status is S.SUCCESS or r.code == "WAIVED") for r in found)

    def _as_planned(self, name: str, record: Record) -> None:
        plan = self.planned
        assert plan is not None
        assert name not in plan.kept or name in plan.checked, f"{name} was to be kept: {plan}"
        assert name not in plan.dropped, f"{name} was not to run: {plan}"
        if not record.attempts:
            assert name in plan.ahead, f"{name} was not told: {plan}"

    # ── what moves ──

    def _move(self, before: Snapshot, after: Snapshot, fact: Fact, command: Move, now: int) -> None:
        key, trigger = command.record.key, command.trigger
        unit = self.spec.unit(key)
        if unit.sort is Sort.APPROVAL and command.record.status is S.SUCCESS:
            assert isinstance(fact, Approved), f"{key.step} was approved by {fact}"
            assert unit.wait is not None
            assert len(self.yes[key]) >= unit.wait.quorum, f"{self.yes[key]} are too few"
        if trigger in (Trigger.TIMED_OUT, Trigger.DEFAULTED) and unit.wait is not None:
            was = before.records[key]
            assert was.ready_at is None or was.ready_at <= now, f"{key.step} ended before its time"
        if trigger is Trigger.ABSENT and not isinstance(fact, Late):
            assert unit.idempotent or unit.effect is Effect.CREATE, f"a machine repeats the {unit.effect} of {key}"
        if trigger in (Trigger.INVALIDATED, Trigger.REOPENED):
            self.good_until.pop(key, None)  # it is wanted anew
        if key.kind is Kind.COMPENSATION and key not in before.records and key not in self.undos_begun:
            self.undos_begun.add(key)
            self._in_reverse(after, key)
        if command.record.effect is Happened.NOT and key in before.records:
            assert before.records[key].effect is not Happened.HAPPENED, f"what happened is forgotten: {key}"

    def _in_reverse(self, snapshot: Snapshot, key: Key) -> None:
        records = snapshot.records
        assert not any(r.status in IN_DOUBT for k, r in records.items() if k.kind is Kind.STEP), "undone over a doubt"
        mine = records[Key(key.step)]
        assert mine.effect is Happened.HAPPENED, f"{key.step} has done nothing"
        for record in self._happened(snapshot):
            later = self._place(record) > self._place(mine)
            assert not later or not blocks(records.get(undo_of(record.key))), f"{key.step} is undone before {record.key.step}"

    def _goes_back(self, snapshot: Snapshot) -> None:
        """What can be undone is not left waiting: one that failed leaves the others going on."""
        run, records = snapshot
        in_doubt = any(r.status in IN_DOUBT or r.unsettled for k, r in records.items() if k.kind is Kind.STEP)
        if run.undo is None or run.blocked or run.status in FINAL or in_doubt:
            return
        for record in sorted(self._happened(snapshot), key=self._place, reverse=True):
            undo = records.get(undo_of(record.key))
            probe = records.get(record.key._replace(kind=Kind.PROBE))
            if undo is None:
                asked = probe is not None and probe.status in (S.PENDING, S.RUNNING)
                assert asked, f"{record.key.step} is not undone, and nothing is before it"
            if blocks(undo):
                return

    def _holds(self, fact: Fact, commands: tuple[Command, ...], after: Snapshot) -> None:
        freed = {command.key for command in commands if isinstance(command, ReleaseHold)}
        for key in freed if not isinstance(fact, ReleaseAsked) else ():
            record = after.records[key]
            assert record.status not in IN_DOUBT, f"{key} is in doubt and not held"
            assert not record.unsettled, f"{key} is in doubt and not held"
        for key, record in after.records.items():
            if key.kind in ACTING and self.spec.unit(key).holds:
                if record.status in IN_DOUBT and record.attempts:
                    self.held.add(key)
                elif key in self.held and not record.unsettled:
                    assert key in freed or isinstance(fact, Late), f"{key} is settled and held"
                    self.held.discard(key)

    # ── where it stands ──

    def _state(self, snapshot: Snapshot) -> None:
        run, records = snapshot
        waiting = {k for k, r in records.items() if r.status is S.WAITING and not is_gate(r)}
        assert self.open_waits == waiting, f"open waits {self.open_waits}, waiting {waiting}"
        for key in self.waived & records.keys():
            assert records[key].status is S.SKIPPED, f"{key} was waived and is {records[key].status}"
        self._awake(run, records)
        self._goes_back(snapshot)
        expected = self._expected(run, records)
        assert expected is None or run.status is expected, f"{run.status} instead of {expected}: {records}"
        if run.status in FINAL:
            still_open = [k for k, r in records.items() if r.status in (*IN_DOUBT, S.PENDING, S.WAITING) or r.asks]
            assert not still_open, f"{run.status} over {still_open}"
            assert not any(r.open for r in records.values()), f"{run.status} over attempts"

    def _awake(self, run: RunRow, records: Mapping[Key, Record]) -> None:
        for key, record in records.items():
            if record.status is S.UNKNOWN and not record.asks and record.ready_at is None:
                probe = records.get(key._replace(kind=Kind.PROBE if key.kind is Kind.STEP else Kind.COMPENSATION_PROBE))
                assert probe is not None, f"nobody looks for {key}"
                assert probe.status in (S.PENDING, S.RUNNING), f"nobody looks for {key}"
            if record.status is S.WAITING and record.ready_at is None and not record.asks:
                probe = records.get(key._replace(kind=Kind.PROBE))
                assert probe is not None, f"nothing wakes {key}"
                assert probe.status in (S.PENDING, S.RUNNING), f"nothing wakes {key}"
        if run.status in FINAL or run.blocked or run.status is RunStatus.MANUAL_REQUIRED:
            return
        assert any(active(r) or r.asks or r.status is S.WAITING for r in records.values()), f"{run.status}: nothing wakes it"

    def _expected(self, run: RunRow, records: Mapping[Key, Record]) -> RunStatus | None:
        """The first that applies; None where this test does not say."""
        if run.status is RunStatus.PENDING or run.blocked:
            return None
        if any(active(r) for r in records.values()):
            undoing = self._undoing(run, records) or (run.undo is not None and run.intent is not Intent.CANCEL)
            stopping = RunStatus.CANCEL_REQUESTED if run.intent is Intent.CANCEL else RunStatus.RUNNING
            return RunStatus.COMPENSATING if undoing else stopping
        if any(r.asks and not self._is_planned(r) for r in records.values()):
            return RunStatus.MANUAL_REQUIRED
        waits = any(r.status is S.WAITING for r in records.values())
        return RunStatus.WAITING if waits else self._quiet(run, records)

    def _undoing(self, run: RunRow, records: Mapping[Key, Record]) -> bool:
        return run.undo is not None and any(k.kind is Kind.COMPENSATION for k in records)

    def _is_planned(self, record: Record) -> bool:
        """Whether a person is asked because the definition says so, and not because something went wrong."""
        if record.status is not S.WAITING or record.key.kind is not Kind.STEP:
            return False
        return record.code == "APPROVAL" or self.spec.unit(record.key).sort is Sort.APPROVAL

    def _quiet(self, run: RunRow, records: Mapping[Key, Record]) -> RunStatus | None:
        if self._undoing(run, records):
            return RunStatus.COMPENSATED
        if run.intent is Intent.CANCEL:
            return RunStatus.CANCELLED
        if run.intent is Intent.EXPIRE and self.spec.past_deadline is not Then.MANUAL:
            return RunStatus.EXPIRED
        if run.intent is not None:
            return None
        steps = [r for k, r in records.items() if k.kind is Kind.STEP]
        if run.undo is not None or any(r.status is S.FAILED for r in steps):
            return RunStatus.FAILED
        if len(steps) < len(self.spec.steps) or not all(r.status is S.SUCCESS or r.code == "WAIVED" for r in steps):
            return None
        return RunStatus.SUCCESS if all(r.status is S.SUCCESS for r in steps) else RunStatus.PARTIAL_SUCCESS
