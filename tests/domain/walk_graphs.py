"""A random course of one graph: workers die, answers get lost, persons decide and operators order, in any order."""

from __future__ import annotations

import random
from collections import Counter

from halfway.domain.contract import cut_short
from halfway.domain.facts import (
    Approved,
    CancelAsked,
    Claimed,
    CompensateAsked,
    Finished,
    MarkedSuccess,
    Order,
    Rejected,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
)
from halfway.domain.items import are_under_way, have_failed
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.domain.lifecycle import RecordStatus as S
from halfway.domain.run import ACTING, PROBED_BY, Answer, Attempt, Ended, Happened, Key, Kind, Record, Report, meant
from halfway.domain.spec import Sort, StepSpec
from halfway.domain.waits import is_gate
from halfway.errors import Conflict
from tests.domain.graphs import Graph, Script
from tests.domain.reference import WELL, Holds, Out, Reference, Said
from tests.domain.rules_graphs import UNDONE_BY, Child, undoes
from tests.domain.world_graphs import GraphRun

ABSENT_FOR = (RunStatus.FAILED, RunStatus.CANCELLED)  # a child that can be resumed
FAULTS = 1_500
# What failed after it happened would be found by a probe, and would have succeeded. A failure that sends the run back is taken for any
# other failure while an earlier attempt of an idempotent step is in doubt.
NEVER_LOST = (Out.HALF, Out.BACK)
STOPPED_BY = ("CANCELLED", "RUN_FAILED")


class GraphWalk:
    """`calm`: nobody orders anything, so that what becomes of the run does not depend on chance."""

    def __init__(self, seed: int, *, chance: int | None = None, calm: bool = False, most: int = 12) -> None:
        self.random = random.Random(f"walk {seed} {chance}")
        self.spec = Graph(seed, most=most).spec
        self.script = Script(seed, self.spec)
        self.run = GraphRun(self.spec)
        self.said = Said()
        self.done: Counter[Key] = Counter()  # what really happened
        self.by_hand: set[Key] = set()  # by a person
        self.seen: dict[Key, bool] = {}  # what a probe saw when it began to look
        self.asked_before: Counter[Key] = Counter()
        self.calm = calm
        self.faults = True
        self.cancels = 0 if calm else self.random.choice([0, 1, 1, 2])
        self.resumes = 0 if calm else self.random.choice([0, 1, 3])
        self.compensates = 0 if calm else self.random.choice([0, 0, 1])
        self.cancelled = False
        self.undone = False
        self.ordered = False  # anything that may have changed where the run fails

    # ── the walk ──

    def go(self) -> None:
        for _ in range(FAULTS):
            self._tick()
            if self.run.status in FINAL and self.run.due() == [] and not self._reopens():
                break
        self.faults, self.cancels, self.resumes, self.compensates = False, 0, 0, 0
        for _ in range(20_000):
            if self.run.status in FINAL and not self.run.wakes:
                break
            self._tick()
        assert self.run.status in FINAL, f"stuck: {self.run.status} {self.run.records}"

    def _reopens(self) -> bool:
        return self.resumes > 0 or self.compensates > 0

    def _tick(self) -> None:
        r, run = self.random, self.run
        if run.wakes and r.random() < 0.8:
            run.tend()
        choices = [self._claim, self._claim, self._end, self._end, self._child, self._person]
        if not run.due() or r.random() < 0.2:
            choices.append(lambda: run.advance(r.choice([0.2, 1, 6])))
        if self.faults:
            choices += [self._kill, self._order]
        r.choice(choices)()
        self._watch()

    def _watch(self) -> None:
        """Whether a failure has turned the run round."""
        for record in self.run.snapshot.records.values():
            if record.key.kind is not Kind.STEP or self.cancelled or self.run.rules.superseded(self.run.snapshot.records, record):
                continue
            step, rewinds = self.spec.by_name[record.key.step], self.run.rules.rewinds[record.key.step]
            if self.run.rules.is_fatal(record) and undoes(step, record, rewinds):
                assert self.run.snapshot.run.undo is not None, f"{record.key} failed, and what is done is not undone"
                self.undone = True

    # ── attempts ──

    def _claim(self) -> None:
        due = self.run.due()
        if not due:
            return
        key = self.random.choice(due)
        self.run.take(Claimed(key, "e1"), key)
        if self.run.records[key].running is not None and key.kind in PROBED_BY:
            self.seen[key] = self._happened(key._replace(kind=PROBED_BY[key.kind]))

    def _happened(self, key: Key) -> bool:
        return self.done[key] > 0 or key in self.by_hand

    def _end(self) -> None:
        running = self.run.running()
        if not running:
            return
        record = self.random.choice(running)
        attempt = record.running
        assert attempt is not None
        key = record.key
        if key.kind in PROBED_BY:
            report = self._probe(record)
        elif key.kind is Kind.CONDITION:
            report = self._condition(record)
        elif key.kind is Kind.DRAFT:
            report = Report(Ended.SUCCESS)
        elif self._noisy(record):
            report = self._interrupted(record)
        else:
            report = self._body(record)
        self.run.take(Finished(key, attempt.n, report), key)

    def _noisy(self, record: Record) -> bool:
        left = self.spec.unit(record.key).retry.attempts - 1 - record.failures
        return self.faults and left > 0 and self.random.random() < 0.2

    def _interrupted(self, record: Record) -> Report:
        """Nothing happened, or nobody knows whether it did."""
        unit = self.spec.unit(record.key)
        if not unit.can_be_lost or self._out(record.key) in NEVER_LOST or self.random.random() < 0.4:
            return Report(Ended.NOTHING, code="CONNECT_ERROR", effect=Happened.NOT if unit.can_be_lost else Happened.NONE)
        if self._out(record.key) is Out.OK and self.random.random() < 0.5:
            self._happen(record.key)
        return Report(Ended.LOST, code="READ_TIMEOUT", effect=Happened.UNKNOWN)

    def _happen(self, key: Key) -> None:
        self.done[key] += 1
        if self.done[key] > 1 and not self.spec.unit(key).idempotent:
            raise AssertionError(f"second effect of {key}")

    def _out(self, key: Key) -> Out:
        if key.kind is Kind.COMPENSATION:
            return self.script.undo(key.step, key.round, key.item)
        if not key.item:
            return self.script.step(key.step, key.round)
        out = dict(self.script.items(key.step, key.round))[key.item]
        return out if isinstance(out, Out) else Out.OK

    def _body(self, record: Record) -> Report:
        key, unit = record.key, self.spec.unit(record.key)
        if unit.sort is Sort.CHILD:
            return self._tell_child(record)
        out = self._out(key)
        if out is Out.OK:
            return self._succeed(key, unit)
        if out is Out.SPENT:
            return Report(Ended.NOTHING, code=out.value, effect=Happened.NOT if unit.can_be_lost else Happened.NONE)
        if out is Out.HALF:
            self._happen(key)
        effect = Happened.HAPPENED if out is Out.HALF else Happened.NOT if unit.can_be_lost else Happened.NONE
        return Report(Ended.FAILED, code=out.value, effect=effect, final=True, rewinds=out is Out.BACK)

    def _succeed(self, key: Key, unit: StepSpec) -> Report:
        if unit.sort in (Sort.EACH, Sort.CHILDREN):
            names = [name for name, _ in self.script.items(key.step, key.round)]
            self.run.list(key, names)
            return Report(Ended.SUCCESS, total=len(names))
        if unit.can_be_lost or unit.sort is Sort.TRANSACTION:
            self._happen(key)
        return Report(Ended.SUCCESS)

    def _condition(self, record: Record) -> Report:
        holds = self.script.condition(record.key.step, record.key.round)
        if holds is Holds.RAISES:
            return Report(Ended.NOTHING, code="CONDITION")
        if self.faults and record.failures < 2 and self.random.random() < 0.2:
            return Report(Ended.NOTHING, code="DOWN")
        return Report(Ended.SUCCESS, answer=Answer.HOLDS if holds is Holds.YES else Answer.BROKEN)

    def _probe(self, record: Record) -> Report:
        if self.faults and self.random.random() < 0.15:
            return Report(Ended.NOTHING, code="PROBE_ERROR")
        if self.faults and self.random.random() < 0.1:
            return Report(Ended.SUCCESS, answer=Answer.CANNOT_TELL)
        return Report(Ended.SUCCESS, answer=Answer.FOUND if self.seen[record.key] else Answer.ABSENT)

    def _kill(self) -> None:
        """A worker dies, or stops and hands back what it had."""
        if self.random.random() > 0.15:
            return
        for record in self.run.running():
            attempt = record.running
            assert attempt is not None
            if record.lost >= 2 or (record.key.kind in ACTING and self._out(record.key) in NEVER_LOST):
                continue
            handed_back = self.random.random() < 0.3 and not attempt.marked
            report = Report(Ended.HANDED_BACK) if handed_back else self._die(record, attempt)
            self.run.take(Finished(record.key, attempt.n, report), record.key)

    def _die(self, record: Record, attempt: Attempt) -> Report:
        key, unit = record.key, self.spec.unit(record.key)
        if key.kind not in ACTING:
            return Report(Ended.NOTHING, code="WORKER_LOST", death=True)
        if unit.sort in (Sort.EACH, Sort.CHILDREN) and self._out(key) is Out.OK:
            names = [name for name, _ in self.script.items(key.step, key.round)]
            self.run.list(key, names[: self.random.randint(0, len(names))])
        if unit.sort is Sort.CHILD and self.random.random() < 0.5:
            self._tell_child(record)
        report = cut_short(unit, marked=attempt.marked or self.random.random() < 0.5, code="WORKER_LOST", death=True, gone=True)
        if report.ended is Ended.LOST and self._out(key) is Out.OK and self.random.random() < 0.5:
            self._happen(key)
        return report

    # ── children ──

    def _tell_child(self, record: Record) -> Report:
        key = record.key._replace(kind=Kind.STEP)
        child = self.run.children.get(key)
        if record.key.kind is Kind.COMPENSATION:
            if child is None:
                return Report(Ended.SUCCESS, code="NOTHING_TO_UNDO")
            if child.status in FINAL and not child.happened:
                return Report(Ended.SUCCESS, code="NOTHING_TO_UNDO")
            if child.status in FINAL:
                child.status, child.undoing = RunStatus.COMPENSATING, True
        elif child is None:
            self.run.children[key] = Child(RunStatus.RUNNING, own=self.random.random() < 0.9)
        elif record.looks and child.status in ABSENT_FOR:
            child.status, child.asked = RunStatus.RUNNING, False
        return Report(Ended.SUCCESS)

    def _child(self) -> None:
        going = [key for key, child in self.run.children.items() if child.status not in FINAL]
        if not going:
            return
        key = self.random.choice(going)
        child = self.run.children[key]
        if child.undoing:
            well = self.script.undo(key.step, key.round, key.item) is Out.OK
            child.status = RunStatus.COMPENSATED if well else RunStatus.FAILED
            child.happened = child.undoing = not well
        else:
            end = dict(self.script.items(key.step, key.round))[key.item]
            assert isinstance(end, RunStatus)
            child.status = RunStatus.CANCELLED if child.asked and self.random.random() < 0.7 else end
            child.happened = child.status in WELL or (child.status is not RunStatus.COMPENSATED and self.random.random() < 0.5)
        self.run.wakes = True

    # ── persons ──

    def _person(self) -> None:
        asking = [record for record in self.run.snapshot.records.values() if record.asks]
        if not asking:
            return
        record = self.random.choice(asking)
        if meant(self.run.snapshot.records, record.key.step) != record:
            return
        try:
            if record.key.kind is Kind.COMPENSATION and not are_under_way(record):
                self._decide_undo(record)
            elif are_under_way(record):
                self._settle_items(record)
            elif record.status is S.UNKNOWN:
                self._settle(record)
            else:
                self._decide(record)
        except Conflict:
            return  # it can be said later, or something else

    def _settle(self, record: Record) -> None:
        """A person looks, and tells the truth."""
        happened = self._happened(record.key)
        self.run.take(MarkedSuccess(record.key.step) if happened else RetryAsked(record.key.step, not_happened=True))

    def _settle_items(self, record: Record) -> None:
        doubtful = [one.key for one in self.run.of(record.key) if one.status is S.UNKNOWN and one.asks]
        assert doubtful, f"{record.key} asks about nothing"
        happened = self._happened(doubtful[0])
        same = [key for key in doubtful if self._happened(key) == happened]
        order: Order = MarkedSuccess(record.key.step) if happened else RetryAsked(record.key.step, not_happened=True)
        self.run.take(order, *same)

    def _decide(self, record: Record) -> None:
        key = record.key
        place = key.step, key.round
        says = self.script.person(*place)
        if record.code in UNDONE_BY or (says == "again" and not self.asked_before[key]):
            self.asked_before[key] += record.code not in UNDONE_BY
            try:
                self._again(RetryAsked(key.step))
            except Conflict:  # others have failed too
                self._again(ResumeAsked())
        elif says == "mark" or have_failed(record):
            self.run.take(MarkedSuccess(key.step))
            self.said.marked.add(place)
            if self.run.spec.unit(key).can_be_lost or self.run.spec.unit(key).sort is Sort.TRANSACTION:
                self.by_hand.add(key)
        else:
            self.run.take(SkipAsked(key.step))
            self.said.waived.add(place)

    def _again(self, order: Order) -> None:
        """An operator lets a run go on; where all rounds of a loop were used up, that is another one."""
        before = {one.name: self.run.rules.last(self.run.snapshot.records, one.name) for one in self.spec.steps if one.rewind is not None}
        self.run.take(order)
        for name, record in before.items():
            after = self.run.rules.last(self.run.snapshot.records, name)
            if record is None or after is None or after.key.round == record.key.round:
                continue
            if record.status is S.FAILED and record.code == Out.BACK:
                self.said.again.add((name, record.key.round))

    def _decide_undo(self, record: Record) -> None:
        step = record.key.step
        if is_gate(record):
            self.run.take(Approved(step, "ann") if self.random.random() < 0.8 else Rejected(step, "ann"))
        elif record.status is S.UNKNOWN:
            self._settle(record)
        elif self.random.random() < 0.3:
            self.run.take(RetryAsked(step))
        elif self.random.random() < 0.3 and record.status is S.FAILED:
            self.run.take(MarkedSuccess(step))
            self.by_hand.add(record.key)
        else:
            self.run.take(SkipAsked(step))
            self.by_hand.add(record.key)

    # ── operators ──

    def _order(self) -> None:
        self.ordered = self.ordered or not self.calm
        if self.random.random() > 0.08 and not (self.run.status in FINAL and self.random.random() < 0.3):
            return
        try:
            if self.run.status not in FINAL and self.cancels:
                self._cancel()
                self.cancels -= 1
            elif self.run.status in FINAL and self.resumes:
                self.resumes -= 1
                self._again(ResumeAsked())
                self.cancelled = self.undone = False
            elif self.compensates and (self.run.status in FINAL or self.random.random() < 0.3):
                self.compensates -= 1
                self._compensate()
        except Conflict:
            return

    def _cancel(self) -> None:
        undo = self.random.random() < 0.2
        self.run.take(CancelAsked(undo=undo))
        self.cancelled = True
        self.undone = self.undone or undo

    def _compensate(self) -> None:
        names = [None, *(one.name for one in self.spec.steps)]
        over = self.run.status in FINAL
        self.run.take(CompensateAsked(self.random.choice(names) if self.random.random() < 0.3 else None))
        self.undone = True
        self.cancelled = self.cancelled and not over

    @property
    def reference(self) -> Reference:
        return Reference(self.spec, self.script, self.said)
