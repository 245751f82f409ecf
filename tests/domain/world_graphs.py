"""The small world with graphs, loops, items and children: a run, its items kept apart as a store keeps them, and what really happened.

Items are outside of the snapshot. A decision sees those that its fact is about; commands about all of them are carried out here, as the
statements of `store/sql/items.sql` do, and a step is told that it is at rest when none of its items moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from halfway.domain import decide as deciding
from halfway.domain.decide import evolve
from halfway.domain.draft import Draft
from halfway.domain.facts import AtRest, ChildEnded, Command, Created, Fact, LookAgain, Move, PassDown, ReopenItems, StopItems, UndoItems
from halfway.domain.items import PARTIAL, are_under_way
from halfway.domain.joins import WAIVED
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.domain.lifecycle import RecordStatus as S
from halfway.domain.orders import NOT_REPEATED
from halfway.domain.run import Happened, Key, Kind, Record, RunRow, Snapshot, Tally
from halfway.domain.spec import SECOND, WorkflowSpec
from tests.domain.rules_graphs import Child, GraphRules
from tests.domain.world import T0

AT_ONCE = 500


class GraphRun:
    """A run that is decided about fact by fact, and the part of a store that keeps its items."""

    def __init__(self, spec: WorkflowSpec) -> None:
        self.spec, self.now = spec, T0
        row = RunRow("r", "W", 1, spec.hash, RunStatus.PENDING, created_at=self.now)
        self.snapshot = Snapshot(row, {})
        self.items: dict[Key, Record] = {}
        self.places: dict[Key, int] = {}
        self.children: dict[Key, Child] = {}
        self.wakes = False  # items may have moved, and nobody has looked after the others
        self.rules = GraphRules(spec)
        self.take(Created())

    # ── reading ──

    @property
    def status(self) -> RunStatus:
        return self.snapshot.run.status

    @property
    def records(self) -> dict[Key, Record]:
        return {**self.snapshot.records, **self.items}

    def due(self) -> list[Key]:
        return [k for k, r in self.records.items() if r.status is S.PENDING and r.ready_at is not None and r.ready_at <= self.now]

    def running(self) -> list[Record]:
        return [record for record in self.records.values() if record.running is not None]

    def of(self, whole: Key) -> list[Record]:
        """The items of a step."""
        return [r for k, r in self.items.items() if k.item and k.whole == whole]

    # ── facts ──

    def take(self, fact: Fact, *about: Key) -> tuple[Command, ...]:
        """Decides with these items at hand, and with no others."""
        near = {(key.step, key.round, key.item) for key in about if key.item}
        loaded = {k: r for k, r in self.items.items() if (k.step, k.round, k.item) in near}
        before = Snapshot(self.snapshot.run, {**self.snapshot.records, **loaded})
        commands = deciding.decide(self.spec, before, fact, self.now)
        assert commands == deciding.decide(self.spec, before, fact, self.now), "the same facts give the same commands"
        after = evolve(before, commands)
        draft = Draft(self.spec, before, self.now, input="{}", outputs={})
        draft.take(fact)
        assert draft.snapshot == after, "what is decided and what is stored differ"
        self.items.update({k: r for k, r in after.records.items() if k.item})
        self.snapshot = Snapshot(after.run, {k: r for k, r in after.records.items() if not k.item})
        for command in commands:
            self._carry_out(command)
        self.wakes = self.wakes or self._moved(commands)
        self.rules.after(before, fact, commands, self)
        return commands

    def _moved(self, commands: tuple[Command, ...]) -> bool:
        """Whether these may have changed how many items move."""
        return any(
            bool(one.record.key.item) or are_under_way(one.record)
            if isinstance(one, Move)
            else isinstance(one, (StopItems, ReopenItems, UndoItems))
            for one in commands
        )

    def tend(self) -> None:
        """Lets items get in line, hears of children, and closes the steps none of whose items moves."""
        moved = self.wakes
        while moved:
            self.wakes, moved = True, False
            for key, record in list(self.items.items()):
                child = self.children.get(key._replace(kind=Kind.STEP))
                if record.status is S.WAITING and child is not None and child.status in FINAL:
                    moved = self._moved(self.take(ChildEnded(key, child.status), key)) or moved
            rested = [key for key, record in self.snapshot.records.items() if are_under_way(record) and not self._begin(key)]
            for key, tally in [(key, self.tally(key)) for key in rested]:
                moved = self._moved(self.take(AtRest(key, tally))) or moved
        self.wakes = False

    def advance(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)
        due = [k for k, r in self.records.items() if r.status is S.UNKNOWN and r.ready_at is not None and r.ready_at <= self.now]
        if due and self.status not in FINAL:
            self.take(LookAgain(), *due)

    # ── what a store does for items ──

    def list(self, whole: Key, names: Iterable[str]) -> None:
        for place, name in enumerate(names):
            key = whole._replace(item=name)
            self.items.setdefault(key, Record(key, S.PENDING))
            self.places.setdefault(key, place)

    def _begin(self, whole: Key) -> int:
        fan = self.spec.by_name[whole.step].fan
        assert fan is not None
        moving = sum(1 for record in self.of(whole) if moves(record))
        waiting = [one for one in self.of(whole) if one.status is S.PENDING and one.ready_at is None]
        for record in sorted(waiting, key=lambda one: self.places[one.key])[: max(0, (fan.concurrency or AT_ONCE) - moving)]:
            self.items[record.key] = record._replace(ready_at=self.now)
            moving += 1
        return moving

    def tally(self, whole: Key) -> Tally:
        found = self.of(whole)
        of = Counter(one.status for one in found)
        waived = sum(1 for one in found if one.status is S.SKIPPED and one.code == WAIVED)
        stopped = of[S.SKIPPED] - waived + sum(1 for one in found if one.status is S.FAILED and one.code in NOT_REPEATED)
        partial = sum(1 for one in found if one.status is S.SUCCESS and one.code == PARTIAL)
        return Tally(
            len(found), of[S.SUCCESS], partial, of[S.FAILED], 0, stopped, sum(1 for one in found if one.asks),
            sum(1 for one in found if one.effect is Happened.HAPPENED),
        )  # fmt: skip

    def _carry_out(self, command: Command) -> None:
        match command:
            case StopItems(key, code, detached):
                self._stop(key, code, detached)
            case PassDown(key):
                self._pass_down(key)
            case ReopenItems(key, not_found):
                self._reopen(key, not_found)
            case UndoItems(key):
                self._undo(key)
            case _:
                pass

    def _stop(self, whole: Key, code: str, detached: bool) -> None:
        for record in self.of(whole):
            if not record.unsettled and self._may_stop(record, detached):
                self.items[record.key] = record._replace(status=S.SKIPPED, code=code, ready_at=None, ended_at=self.now)

    def _pass_down(self, whole: Key) -> None:
        for item, child in self.children.items():
            if item.whole == whole and child.own and child.status not in FINAL:
                child.asked = True

    def _reopen(self, whole: Key, not_found: bool) -> None:
        for record in self.of(whole):
            if self._may_reopen(record, not_found):
                self.rules.successes[record.key] = 0
                self.items[record.key] = record._replace(status=S.PENDING, code="", ready_at=None, failures=0, lost=0, looks=1, asks="")

    def _undo(self, whole: Key) -> None:
        for record in self.of(whole._replace(kind=Kind.STEP)):
            undo = record.key._replace(kind=Kind.COMPENSATION)
            child = self.children.get(record.key)
            if record.effect is Happened.HAPPENED and undo not in self.items and (child is None or child.own):
                self.items[undo] = Record(undo, S.PENDING)
                self.places[undo] = -self.places[record.key]

    def _may_stop(self, record: Record, detached: bool) -> bool:
        if record.status is S.WAITING:
            child = self.children.get(record.key)
            return detached or (child is not None and not child.own)
        return record.status is S.PENDING

    def _may_reopen(self, record: Record, not_found: bool) -> bool:
        failed = (record.status is S.FAILED and (record.code != "NOT_HAPPENED" or not_found)) or (
            record.status is S.SKIPPED and record.code != WAIVED
        )
        if failed and record.effect is not Happened.HAPPENED:
            return True
        again = record.status in (S.FAILED, S.SKIPPED) or record.code == PARTIAL
        return again and record.key._replace(kind=Kind.STEP) in self.children


def moves(record: Record) -> bool:
    """Whether an item goes on without anybody."""
    if record.status is S.PENDING:
        return record.ready_at is not None
    return record.status in (S.RUNNING, S.WAITING) or (record.status is S.UNKNOWN and not record.asks)
