"""Random walks of runs that wait, are decided about by persons, and are undone; against a ledger of what really happened."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from halfway.domain.contract import cut_short
from halfway.domain.decide import decide
from halfway.domain.explain import explain
from halfway.domain.facts import Arrived, Claimed, Finished, Gone, Late, Unblocked
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.domain.run import ACTING, PROBED_BY, Answer, Attempt, Ended, Happened, Key, Kind, Record, Report, Snapshot
from halfway.domain.spec import DAY, SECOND, Sort
from halfway.errors import Conflict
from tests.domain.people import People
from tests.domain.rules import S
from tests.domain.world import PROBE, T0
from tests.domain.world_undo import Definition, UndoRun


class UndoWalk:
    """A random course of one run, with everything that can go wrong, and everything that a person may order."""

    def __init__(self, seed: int, *, restores: bool = False) -> None:
        self.r = random.Random(seed)
        self.spec = Definition(self.r).spec
        deadline = T0 + self.r.randint(5, 200) * SECOND if self.r.random() < 0.15 else None
        self.done: Counter[Key] = Counter()  # how often each step, and each undo, took effect
        self.sent: set[tuple[Key, int]] = set()
        self.owed: list[tuple[Key, int, int]] = []  # (record, attempt, when): on the wire, shown only then
        self.seen: dict[Key, bool] = {}  # what a probe saw when it began to look
        self.alive: dict[tuple[Key, int], bool] = {}  # lost attempts whose body still exists, and whether it will still send
        self.events = {one.name: T0 + self.r.choice([0, 20, 60, DAY]) * SECOND for one in self.spec.steps if one.waits}
        self.copies: list[tuple[Snapshot, Counter[Key]]] = []
        self.restore_in = self.r.randint(5, 60) if restores else 0
        self.restored = False
        self.run = UndoRun(self.spec, deadline, resource="order" if self.r.random() < 0.2 else None, twice=seed % 4 == 0)
        self.people = People(self.r, self.spec, self.run, self.done)

    def go(self, turns: int = 70) -> None:
        for _ in range(turns):
            self._tick(faults=True)
        for _ in range(1_500):
            if self.run.status in FINAL:
                break
            self._tick(faults=False)
        assert self.run.status in FINAL, f"stuck: {self.run.snapshot}"
        self._check()

    @property
    def records(self) -> dict[Key, Record]:
        return dict(self.run.snapshot.records)

    def _tick(self, faults: bool) -> None:
        run, r = self.run, self.r
        self.faults = faults
        self._deliver()
        if faults and self.restore_in:
            self.copies.append((run.snapshot, self.done.copy()))
            self.restore_in -= 1
            if not self.restore_in and run.status not in FINAL:
                self._restore()
        calls: list[Callable[[], None]] = [self._claim] * 3 if run.due() else []
        running = [record for record in self.records.values() if record.running is not None]
        calls += [lambda: self._end(r.choice(running), faults)] * 3 if running else []
        calls += [self._late, self._gone] if self.alive else []
        calls += [self._person]
        calls += [self._kill, self._order] if faults else []
        calls += [lambda: run.advance(r.choice([0.2, 1, 3, 10]) if r.random() < 0.995 else 25 * 3_600)]
        r.choice(calls)()
        self._arrive()
        if run.snapshot.run.blocked and run.status not in FINAL and r.random() < 0.3:
            run.take(Unblocked())

    # ── the workers ──

    def _claim(self) -> None:
        key = self.r.choice(self.run.due())
        self.run.take(Claimed(key, "e1"))
        if self.records[key].running is not None and key.kind in PROBED_BY:
            self.seen[key] = bool(self.done[key._replace(kind=PROBED_BY[key.kind])]) or self._came(key.step)

    def _came(self, name: str) -> bool:
        return name in self.events and self.events[name] <= self.run.now

    def _end(self, record: Record, faults: bool) -> None:
        key, attempt = record.key, record.running
        assert attempt is not None
        x = self.r.random() if faults else 1.0
        if key.kind in ACTING:
            report = self._outcome(record, x)
        elif x < 0.15:
            report = Report(Ended.NOTHING, code="BOOM", final=x < 0.02)
        elif key.kind is Kind.CHECK:
            report = Report(Ended.SUCCESS, answer=Answer.BROKEN if x < 0.4 else Answer.HOLDS)
        elif key.kind is Kind.DRAFT:
            report = Report(Ended.SUCCESS)
        else:
            found = Answer.FOUND if self.seen[key] else Answer.ABSENT
            report = Report(Ended.SUCCESS, answer=Answer.CANNOT_TELL if x < 0.22 else found)
        self.run.take(Finished(key, attempt.n, report))

    def _outcome(self, record: Record, x: float) -> Report:
        key, unit, n = record.key, self.spec.unit(record.key), record.attempts
        if not unit.can_be_lost:
            if x < 0.3:
                return Report(Ended.FAILED if x < 0.08 else Ended.NOTHING, code="E", final=x < 0.08)
            if unit.sort is Sort.TRANSACTION:
                self._happen(key, n)
            return Report(Ended.SUCCESS, waits="k" if unit.waits else None, until=self.run.now + self.r.randint(-5, 40) * SECOND)
        if x < 0.1:
            return Report(Ended.NOTHING, code="CONNECT_ERROR", effect=Happened.NOT)
        if x < 0.16:
            return Report(Ended.FAILED, code="HTTP_400", effect=Happened.NOT, final=True)
        if x < 0.36:
            return self._lose(key, n, gone=self.r.random() < 0.8)
        self._happen(key, n)
        if x < 0.42:
            return Report(Ended.FAILED, code="OUTPUT_UNSTORABLE", effect=Happened.HAPPENED, final=True)
        return Report(Ended.SUCCESS)

    def _lose(self, key: Key, n: int, *, gone: bool) -> Report:
        """The answer is lost: it never arrived, it has arrived, it is shown a little later, or a body lives on and may send."""
        x = self.r.random()
        if not gone:
            self.alive[key, n] = x < 0.5
        elif x < 0.3:
            self._happen(key, n)
        elif x < 0.6:
            self.owed.append((key, n, self.run.now + self.r.randint(0, PROBE.settle)))
        return Report(Ended.LOST, code="READ_TIMEOUT", effect=Happened.UNKNOWN, gone=gone)

    def _happen(self, key: Key, n: int) -> None:
        self.sent.add((key, n))
        if self.done[key] and self.spec.unit(key).idempotent:
            return  # the receiver drops a repeat
        self.done[key] += 1
        assert self.done[key] == 1, f"second effect of {key}"
        if key.kind is Kind.COMPENSATION:
            assert self.done[key._replace(kind=Kind.STEP)], f"{key.step} is undone, and has not happened"

    def _kill(self) -> None:
        """The worker dies; a marked attempt may have sent, or its request is still on the wire."""
        if self.r.random() > 0.2:
            return
        for record in self.records.values():
            if record.running is not None:
                self._cut(record, record.running, gone=self.r.random() < 0.7)

    def _cut(self, record: Record, attempt: Attempt, *, gone: bool) -> None:
        key, unit = record.key, self.spec.unit(record.key)
        report = Report(Ended.NOTHING, code="WORKER_LOST", death=True)
        if key.kind in ACTING:
            marked = attempt.marked or (unit.can_be_lost and self.r.random() < 0.5)
            report = cut_short(unit, marked=marked, code="WORKER_LOST", death=True, gone=gone)
            if report.ended is Ended.LOST:
                self._lose(key, attempt.n, gone=gone)
        self.run.take(Finished(key, attempt.n, report))

    def _late(self) -> None:
        """A body comes back after its attempt was ended for it."""
        key, n = self.r.choice(list(self.alive))
        del self.alive[key, n]
        ended = Ended.SUCCESS if (key, n) in self.sent else self.r.choice([Ended.NOTHING, Ended.LOST])
        self.run.take(Late(key, n, Report(ended, code="LATE", effect=Happened.NOT if ended is Ended.NOTHING else Happened.NONE)))

    def _gone(self) -> None:
        key, n = self.r.choice(list(self.alive))
        del self.alive[key, n]
        if key in self.records:
            self.run.take(Gone(key, n, self.run.now))

    def _deliver(self) -> None:
        """What was on the wire arrives, at the latest when the receiver would show it."""
        due = [owed for owed in self.owed if owed[2] <= self.run.now]
        self.owed = [owed for owed in self.owed if owed[2] > self.run.now]
        for key, n, _ in due:
            self._happen(key, n)
        for (key, n), will_send in list(self.alive.items()):
            if will_send and self.r.random() < 0.05:
                self.alive[key, n] = False
                self._happen(key, n)

    def _arrive(self) -> None:
        """An event is there early, late or never; one for a wait that is closed changes nothing."""
        for name, at in self.events.items():
            record = self.records.get(Key(name))
            if record is None or at > self.run.now or self.spec.by_name[name].sort not in (Sort.EVENT, Sort.RUN):
                continue
            if record.status is S.WAITING:
                self.run.take(Arrived(record.key, "event"))
                assert self.records[record.key].status is S.SUCCESS
            elif self.r.random() < 0.05:
                before = self.run.snapshot
                self.run.take(Arrived(record.key, "event"))
                assert self.records[record.key].status == before.records[record.key].status

    # ── people ──

    def _unsure(self) -> set[Key]:
        """What may still happen, though no attempt of it runs."""
        return {key for key, _, _ in self.owed} | {key for key, _ in self.alive}

    def _person(self) -> None:
        self.people.decide(self._unsure(), faults=self.faults)
        self._explained()

    def _order(self) -> None:
        if self.r.random() < 0.12:
            self.people.anything()

    def _explained(self) -> None:
        for suggestion in explain(self.spec, self.run.snapshot, self.run.now, workers=1).next:
            if suggestion.order is not None:
                try:
                    decide(self.spec, self.run.snapshot, suggestion.order, self.run.now)
                except Conflict as refused:
                    raise AssertionError(f"{suggestion.order} is suggested and refused: {refused}") from refused

    # ── an older copy of the database ──

    def _restore(self) -> None:
        """An older copy comes back: what happened outside since then is forgotten; what ran then may still act for one timeout."""
        snapshot, done = self.r.choice(self.copies)
        self.run.now += SECOND
        now, records = self.run.now, self.records
        if snapshot.run.status in FINAL:
            return
        self.restored = True
        for record in records.values():
            if record.running is not None and record.key.kind in ACTING and self.r.random() < 0.5:
                unit = self.spec.unit(record.key)
                if unit.can_be_lost:
                    self.owed.append((record.key, record.attempts, now + self.r.randint(0, unit.timeout + PROBE.settle)))
        for key in list(self.done):
            if not self.spec.unit(key).can_be_lost:
                self.done[key] = done[key]
        self.run.restore(snapshot)
        known = {(key, attempt.n) for key, record in snapshot.records.items() for attempt in record.unsettled if attempt.gone_at is None}
        for key, n in [one for one in self.alive if one not in known and self.alive[one]]:
            self.owed.append((key, n, now + self.r.randint(0, self.spec.unit(key).timeout)))
        self.alive = {one: self.alive.get(one, False) for one in known}
        for record in list(snapshot.records.values()):
            if record.running is not None:
                self._end_forgotten(record, record.running)

    def _end_forgotten(self, record: Record, attempt: Attempt) -> None:
        """Its worker is dead; whether it was marked is known only as far as the copy goes."""
        key, unit = record.key, self.spec.unit(record.key)
        report = Report(Ended.NOTHING, code="WORKER_LOST", death=True)
        if key.kind in ACTING:
            report = cut_short(unit, marked=attempt.marked, code="WORKER_LOST", death=True, gone=True)
        self.run.take(Finished(key, attempt.n, report))

    # ── the end ──

    def _check(self) -> None:
        records, status = self.records, self.run.status
        for key, record in records.items():
            if key.kind not in ACTING or not self.spec.unit(key).can_be_lost:
                continue
            happened = bool(self.done[key]) or key in self.people.by_hand
            if record.status is S.SUCCESS:
                assert happened, f"{key} is SUCCESS and nothing happened"
                assert record.effect is Happened.HAPPENED
            elif not self.restored:
                assert (record.effect is Happened.HAPPENED) == happened or key.kind is Kind.COMPENSATION, f"{key}: {record}"
                assert record.effect is not Happened.UNKNOWN
        if self.restored:
            return
        for key in [key for key in self.done if self.done[key]]:
            assert key in records, f"{key} is forgotten"
            if status is RunStatus.COMPENSATED and key.kind is Kind.STEP:
                assert self.people.settled(key), f"{key.step} happened and is not undone"
            if status is not RunStatus.COMPENSATED:
                assert key.kind is Kind.STEP, f"{key.step} is undone, and the run is {status}"


WALKS = 250


def _walk(seed: int, *, restores: bool) -> None:
    walk = UndoWalk(seed, restores=restores)
    try:
        walk.go()
    except AssertionError as error:
        raise AssertionError(f"walk {seed}: {error}") from error


@pytest.mark.parametrize("block", range(8))
def test_no_walk_undoes_twice_forgets_an_effect_or_decides_for_a_person(block: int) -> None:
    for seed in range(block * WALKS, block * WALKS + WALKS):
        _walk(seed, restores=False)


@pytest.mark.parametrize("block", range(2))
def test_no_walk_repeats_what_a_restored_database_has_forgotten(block: int) -> None:
    for seed in range(block * WALKS, block * WALKS + WALKS):
        _walk(seed, restores=True)
