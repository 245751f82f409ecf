"""Persons in the small world: they see what really happened, tell the truth, and otherwise order what they like."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from halfway.domain.decide import decide, evolve
from halfway.domain.facts import (
    Approved,
    CancelAsked,
    CompensateAsked,
    MarkedSuccess,
    Order,
    ProbeAsked,
    Rejected,
    ReleaseAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
)
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.domain.plan import plan
from halfway.domain.run import Key, Kind, Record
from halfway.domain.spec import Sort, WorkflowSpec
from halfway.domain.waits import is_gate
from halfway.errors import Conflict
from tests.domain.rules import S, undo_of
from tests.domain.world_undo import UndoRun

PEOPLE = ("ann", "bob", "cy")


class People:
    """Who may be asked, and may ask, about one run."""

    def __init__(self, r: random.Random, spec: WorkflowSpec, run: UndoRun, done: Counter[Key]) -> None:
        self.r, self.spec, self.run, self.done = r, spec, run, done
        self.by_hand: set[Key] = set()  # what a person has done, or undone, without a machine
        self.refused: Counter[str] = Counter()

    def order(self, order: Order) -> bool:
        """Gives an order, whose plan was looked at before; a refusal changes nothing."""
        run = self.run
        try:
            expected = evolve(run.snapshot, decide(self.spec, run.snapshot, order, run.now))
        except Conflict as refused:
            self.refused[type(order).__name__] += 1
            with pytest.raises(Conflict, match=re.escape(str(refused))):
                plan(self.spec, run.snapshot, order, run.now)
            return False
        planned = plan(self.spec, run.snapshot, order, run.now)
        assert planned.after is expected.run.status
        undo = run.snapshot.records.get(Key(getattr(order, "step", None) or "", kind=Kind.COMPENSATION))
        run.take(order)
        run.rules.planned = planned
        if isinstance(order, MarkedSuccess) and undo is not None and run.snapshot.records[undo.key].status is S.SUCCESS:
            self.by_hand.add(undo.key)
        return True

    def decide(self, unsure: set[Key], *, faults: bool) -> None:
        """One person decides one thing that is asked of somebody."""
        asked = [record for record in self.run.snapshot.records.values() if record.asks]
        if asked:
            self._answer(self.r.choice(asked), unsure, faults)
        elif self.run.status is RunStatus.MANUAL_REQUIRED:
            self.order(self.r.choice([CancelAsked(), ResumeAsked(), CompensateAsked(), CancelAsked(undo=True)]))
        elif faults and self.run.status in FINAL and self.r.random() < 0.3:
            self.anything()

    def _answer(self, record: Record, unsure: set[Key], faults: bool) -> None:
        step, r = record.key.step, self.r
        if is_gate(record) or (record.status is S.WAITING and self.spec.unit(record.key).sort is Sort.APPROVAL):
            self._decide_approval(step, faults)
        elif record.status is S.WAITING:
            self.order(r.choice([MarkedSuccess(step), SkipAsked(step), RetryAsked(step), ProbeAsked(step), ResumeAsked(), CancelAsked()]))
        elif record.status is S.UNKNOWN:
            self._settle(record, unsure)
        elif record.key.kind is Kind.COMPENSATION:
            self._undo_by_hand(record, unsure)
        else:
            self._after_failure(record, unsure)

    def _decide_approval(self, step: str, faults: bool) -> None:
        r, by = self.r, self.r.choice(PEOPLE)
        if not faults or r.random() < 0.6:
            self.order(Approved(step, by))
            if r.random() < 0.04:
                self.run.advance(25 * 3_600)  # nobody starts what was approved
        else:
            self.order(r.choice([Rejected(step, by), Rejected(step, by), SkipAsked(step), MarkedSuccess(step), RetryAsked(step)]))

    def _settle(self, record: Record, unsure: set[Key]) -> None:
        """Looks at the receiver, and waits as long as something may still come."""
        key, r = record.key, self.r
        living = any(attempt.gone_at is None for attempt in record.unsettled)
        if living and r.random() < 0.1:
            self.order(RetryAsked(key.step, not_happened=True))
        elif r.random() < 0.15:
            self.order(r.choice([ReleaseAsked(key.step), ProbeAsked(key.step), SkipAsked(key.step), RetryAsked(key.step)]))
        elif self.done[key]:
            self.order(MarkedSuccess(key.step))
        elif key not in unsure:
            self.order(RetryAsked(key.step, not_happened=True))

    def _undo_by_hand(self, record: Record, unsure: set[Key]) -> None:
        key, r = record.key, self.r
        x = r.random()
        if x < 0.4:
            self.order(RetryAsked(key.step))
        elif x < 0.6:
            self.order(SkipAsked(key.step))
        elif key not in unsure:
            self.order(MarkedSuccess(key.step))

    def _after_failure(self, record: Record, unsure: set[Key]) -> None:
        key, r = record.key, self.r
        x = r.random()
        if key.kind is Kind.CHECK:
            self.order(r.choice([CancelAsked(), CancelAsked(undo=True), MarkedSuccess(key.step)]))
        elif x < 0.25 and key not in unsure:
            by_hand = not self.done[key] and (self.spec.unit(key).can_be_lost or self.spec.unit(key).sort is Sort.TRANSACTION)
            if by_hand:
                self.done[key] += 1
            if not self.order(MarkedSuccess(key.step)) and by_hand:
                self.done[key] -= 1  # who is refused does nothing
        elif x < 0.4:
            self.order(SkipAsked(key.step))
        elif x < 0.55:
            self.order(RetryAsked(key.step, new_input=r.random() < 0.5))
        else:
            self.order(r.choice([ResumeAsked(), ResumeAsked(), CancelAsked(), CancelAsked(undo=True), CompensateAsked()]))

    def anything(self) -> None:
        """An order that nobody has asked for."""
        r, name = self.r, self.r.choice(self.spec.steps).name
        orders: list[Order] = [
            CancelAsked(), CancelAsked(undo=True), ResumeAsked(), CompensateAsked(), CompensateAsked(name), SkipAsked(name),
            RetryAsked(name), RetryAsked(name, new_input=True), ProbeAsked(name), ReleaseAsked(name), Rejected(name, "bob"),
            Approved(name, "cy"),
        ]  # fmt: skip
        self.order(r.choice(orders))

    # ── what remains at the end ──

    def settled(self, key: Key) -> bool:
        """Whether an effect that happened is undone, or is known to stay."""
        undo = self.run.snapshot.records.get(undo_of(key))
        if undo is None:
            return False
        if undo.status is S.SUCCESS:
            return self.done[undo.key] == 1 or undo.key in self.by_hand
        return undo.status is S.SKIPPED and undo.code in ("STAYS", "KEPT", "WAIVED")
