"""What must hold after every decision about a graph, told by another way than `decide` finds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from halfway.domain.facts import Command, Fact, Finished, Move, Note, StartAttempt
from halfway.domain.lifecycle import FINAL, RunStatus, Trigger
from halfway.domain.lifecycle import RecordStatus as S
from halfway.domain.run import ACTING, Happened, Intent, Key, Kind, Record, Snapshot
from halfway.domain.spec import Sort, StepSpec, Then, WorkflowSpec

UNDONE_BY = ("NOT_HAPPENED", "PERSON_SAID_NOT")  # its doubt was settled in a run that stopped, so it was not done again
DONE = (Trigger.SUCCEEDED, Trigger.ARRIVED, Trigger.FOUND, Trigger.MARKED_SUCCESS)


@dataclass
class Child:
    """A run that an item stands for."""

    status: RunStatus
    own: bool
    asked: bool = False  # to stop
    undoing: bool = False
    happened: bool = False


class GraphRun(Protocol):
    """A run as the rules see it."""

    snapshot: Snapshot
    items: dict[Key, Record]
    children: dict[Key, Child]
    wakes: bool

    @property
    def status(self) -> RunStatus: ...

    @property
    def records(self) -> dict[Key, Record]: ...

    def of(self, whole: Key) -> list[Record]: ...


class GraphRules:
    """Watches one run."""

    def __init__(self, spec: WorkflowSpec) -> None:
        self.spec = spec
        self.successes: Counter[Key] = Counter()
        self.rewinds: Counter[str] = Counter()

    def after(self, before: Snapshot, fact: Fact, commands: tuple[Command, ...], run: GraphRun) -> None:
        for command in commands:
            if isinstance(command, StartAttempt):
                self._start(before, command.key)
            elif isinstance(command, Move):
                self._move(before, command, run)
            elif isinstance(command, Note) and command.name == "workflow.rewound" and command.key is not None:
                self.rewinds[command.key.step] += 1
                stops = isinstance(fact, Finished) and self._stops(before)
                assert not stops, f"{command.key.step} has sent a run back that stops"
        self._rounds(run.snapshot.records)
        self._told_to_stop(run)
        self._state(run)

    def _stops(self, before: Snapshot) -> bool:
        fatal = any(self.is_fatal(one) for one in self.lasts(before.records).values())
        return fatal or before.run.intent is not None or before.run.undo is not None

    # ── what starts ──

    def _start(self, before: Snapshot, key: Key) -> None:
        record = before.records[key]
        assert record.status is S.PENDING, f"{key} started from {record.status}"
        if key.kind not in (Kind.STEP, Kind.CONDITION):
            return
        assert before.run.intent is None, f"{key} started in a run that stops"
        assert before.run.undo is None, f"{key} started in a run that is undone"
        assert not [one for one in self.lasts(before.records).values() if self.is_fatal(one)], f"{key} started after a failure"
        step = self.spec.by_name[key.step]
        assert key._replace(round=key.round + 1, item="", kind=Kind.STEP) not in before.records, f"{key} started in a round that is over"
        if key.item:
            assert before.records[key.whole].status is S.WAITING, f"{key} started and its step is not under way"
            return
        for name in self.spec.ancestors[key.step]:
            assert self.through(before.records, name), f"{key} started before {name}"
        if key.kind is Kind.STEP:
            self._wanted(before.records, step, key)

    def _wanted(self, records: Mapping[Key, Record], step: StepSpec, key: Key) -> None:
        if step.condition:
            asked = records[key._replace(kind=Kind.CONDITION)]
            assert asked.status is S.SUCCESS, f"{key} started and nobody has asked whether it should"
            assert not asked.code, f"{key} started against its condition"
        if step.at_least is not None:
            lax = [name for name in step.after if self.spec.by_name[name].optional]
            well = [name for name in lax if self.lasts(records)[name].status is S.SUCCESS]
            assert len(well) >= step.at_least, f"{key} started with {well} of {step.at_least}"

    def through(self, records: Mapping[Key, Record], name: str) -> bool:
        record = self.lasts(records).get(name)
        if record is None:
            return False
        if record.status is S.FAILED:
            return self.spec.by_name[name].optional and not record.asks
        return record.status is S.SUCCESS or (record.status is S.SKIPPED and record.code in ("WAIVED", "CONDITION_NOT_MET"))

    def superseded(self, records: Mapping[Key, Record], record: Record) -> bool:
        return record.key._replace(round=record.key.round + 1) in records

    def lasts(self, records: Mapping[Key, Record]) -> dict[str, Record]:
        found: dict[str, Record] = {}
        for key, record in records.items():
            if key.kind is Kind.STEP and not key.item and (key.step not in found or found[key.step].key.round < key.round):
                found[key.step] = record
        return found

    def last(self, records: Mapping[Key, Record], name: str) -> Record | None:
        """The record of a step in its last round."""
        return self.lasts(records).get(name)

    def is_fatal(self, record: Record) -> bool:
        return record.status is S.FAILED and not record.asks and not self.spec.by_name[record.key.step].optional

    # ── what moves ──

    def _move(self, before: Snapshot, command: Move, run: GraphRun) -> None:
        key, record = command.record.key, command.record
        known = before.records.get(key)
        if known is None and key.kind is Kind.COMPENSATION and not key.item:
            self._undo_begins(key, run)
        if key.kind in ACTING and command.trigger in DONE:
            self.successes[key] += 1
        if key.kind in ACTING and command.trigger is Trigger.ITEMS_OPENED and known is not None and known.status is S.SUCCESS:
            self.successes[key] -= 1  # those of its items that failed are done again
        assert self.successes[key] <= 1, f"{key} has succeeded twice"
        if known is not None and known.effect is Happened.HAPPENED and self.spec.unit(key).sort is not Sort.CHILD:
            assert record.effect is Happened.HAPPENED, f"what happened is forgotten: {key}"

    def _undo_begins(self, begun: Key, run: GraphRun) -> None:
        """Not over a doubt, and not before what was done later is undone."""
        for key, record in run.snapshot.records.items():
            goes_on = record.status in (S.RUNNING, S.UNKNOWN) or (record.status is S.WAITING and record.code == "ITEMS")
            assert key.kind is not Kind.STEP or not goes_on, f"{begun.step} is undone over {key}, {record.status}"
        mine = run.snapshot.records[begun._replace(kind=Kind.STEP)].ended_at or 0
        for key, record in run.snapshot.records.items():
            if key.kind is Kind.COMPENSATION and (run.snapshot.records[key._replace(kind=Kind.STEP)].ended_at or 0) > mine:
                waits = record.status is S.WAITING and (record.code == "APPROVAL" or not record.asks)
                waits = waits or record.status in (S.PENDING, S.RUNNING) or (record.status is S.UNKNOWN and not record.asks)
                assert not waits, f"{begun.step} is undone before {key.step}"

    def _told_to_stop(self, run: GraphRun) -> None:
        """In a run that stops no item is left to begin, and every child that runs has been asked to stop."""
        if not self._stops(run.snapshot):
            return
        for key, record in run.items.items():
            whole = run.snapshot.records[key.whole._replace(kind=Kind.STEP)]
            if key.kind is not Kind.STEP or whole.status is not S.WAITING or whole.code != "ITEMS":
                continue
            assert record.status is not S.PENDING or record.unsettled, f"{key} is still to begin in a run that stops"
            child = run.children.get(key)
            asked = child is None or not child.own or child.asked or child.status in FINAL
            assert record.status is not S.WAITING or asked, f"the child of {key} is not asked to stop"

    def _rounds(self, records: Mapping[Key, Record]) -> None:
        """No step has more rounds than those that go over it have sent the run back."""
        for name, record in self.lasts(records).items():
            over = sum(self.rewinds[last] for last, names in self.spec.loops.items() if name in names)
            assert record.key.round <= 1 + over, f"{name} is in round {record.key.round} after {over}"
            for round in range(1, record.key.round):
                former = records[Key(name, round)]
                assert former.status in (S.SUCCESS, S.FAILED, S.SKIPPED), f"{former.key} is superseded and {former.status}"

    # ── where it stands ──

    def _state(self, run: GraphRun) -> None:
        row, records = run.snapshot
        if row.status in FINAL:
            self._is_over(run)
            return
        reasons = [r for r in records.values() if self._moves(r, run) or r.asks]
        for record in records.values():
            if record.status is S.UNKNOWN and not record.asks and record.ready_at is None:
                self._is_looked_for(record, records)
        if not reasons:
            raise AssertionError(f"{row.status}: nothing wakes it: {dict(records)}")
        expected = self._expected(run)
        assert row.status is expected or row.status is RunStatus.PENDING, f"{row.status} instead of {expected}: {dict(records)}"

    def _moves(self, record: Record, run: GraphRun) -> bool:
        if record.status is S.RUNNING:
            return True
        if record.status is S.WAITING and record.code == "ITEMS":
            return run.wakes or any(self._item_moves(one, run) for one in run.of(record.key))
        return record.ready_at is not None

    def _item_moves(self, item: Record, run: GraphRun) -> bool:
        if item.status is S.UNKNOWN and not item.asks and item.ready_at is None:
            self._is_looked_for(item, run.items)
        return item.status in (S.RUNNING, S.WAITING, S.UNKNOWN) or (item.status is S.PENDING and item.ready_at is not None)

    def _is_looked_for(self, record: Record, records: Mapping[Key, Record]) -> None:
        probe = records.get(record.key._replace(kind=Kind.PROBE if record.key.kind is Kind.STEP else Kind.COMPENSATION_PROBE))
        assert probe is not None, f"nobody looks for {record.key}"
        assert probe.status in (S.PENDING, S.RUNNING), f"nobody looks for {record.key}"

    def _is_over(self, run: GraphRun) -> None:
        for key, record in run.records.items():
            assert record.status not in (S.RUNNING, S.UNKNOWN), f"{run.status} over {key}, {record.status}"
            assert not record.asks, f"{run.status} over {key}, which asks"
            assert not record.open, f"{run.status} over attempts of {key}"
            begun = record.status is S.WAITING or (record.status is S.PENDING and record.ready_at is not None)
            assert not begun, f"{run.status} over {key}, {record.status}"
            assert key.item or record.status is not S.PENDING, f"{run.status} over {key}, PENDING"

    def _expected(self, run: GraphRun) -> RunStatus:
        """The first that applies."""
        row, records = run.snapshot
        undoing = row.undo is not None and any(key.kind is Kind.COMPENSATION for key in records)
        if any(self._is_active(record) for record in records.values()):
            if undoing or (row.undo is not None and row.intent is not Intent.CANCEL):
                return RunStatus.COMPENSATING
            return RunStatus.CANCEL_REQUESTED if row.intent is Intent.CANCEL else RunStatus.RUNNING
        return RunStatus.MANUAL_REQUIRED

    def _is_active(self, record: Record) -> bool:
        if record.status is S.PENDING:
            return record.ready_at is not None
        if record.status is S.WAITING:
            return record.code == "ITEMS" and not record.asks
        return record.status is S.RUNNING or (record.status is S.UNKNOWN and not record.asks)


def undoes(step: StepSpec, record: Record, rewinds: int) -> bool:
    """Whether its failure means that what is done is undone; `rewinds`: how often it has sent its run back."""
    if record.code in UNDONE_BY:
        return False
    used_up = step.rewind is not None and record.code == "BACK" and rewinds >= step.rewind.max
    return (step.rewind.then if used_up and step.rewind is not None else step.on_failure) is Then.COMPENSATE
