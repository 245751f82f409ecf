"""Random walks with waits, approvals and undos, explained at every turn: what is suggested is taken, and nobody is left without a word."""

from __future__ import annotations

import random

import pytest

from halfway.domain.decide import decide
from halfway.domain.effects import Undone
from halfway.domain.explain import Explanation, explain
from halfway.domain.facts import Approved, Arrived, Claimed, Finished, LookAgain, Order, Rejected
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Kind, Record, Report
from halfway.domain.spec import MINUTE, SECOND, Effect, Risk, Sort, StepSpec, Then, UndoSpec, WaitSpec, WorkflowSpec
from tests.cli.test_remedies import understood
from tests.domain.world import PROBE, Run, step, workflow


class Wide(Run):
    """A run that may wait, ask for approvals and be undone; the checks of plain walks do not fit it."""

    def _check(self) -> None:
        """Nothing: what is told about it is looked at instead."""


class Walk:
    """A random course; whenever somebody may order something, a suggested order is sometimes given."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.spec = self._definition()
        self.run = Wide(self.spec)

    def _definition(self) -> WorkflowSpec:
        r = self.random
        steps: list[StepSpec] = []
        for number in range(r.randint(2, 5)):
            steps.append(self._step(f"S{number}", tuple(one.name for one in steps[-1:])))
        return workflow(*steps, on_failure=r.choice([Then.FAIL, Then.COMPENSATE]))

    def _step(self, name: str, after: tuple[str, ...]) -> StepSpec:
        r = self.random
        failing = r.choice([Then.FAIL, Then.COMPENSATE, Then.MANUAL])
        sort = r.choice([Sort.STEP, Sort.STEP, Sort.STEP, Sort.EVENT, Sort.RUN, Sort.TIME, Sort.APPROVAL])
        if sort is not Sort.STEP:
            late = [Then.FAIL, Then.CANCEL, Then.MANUAL, *([Then.PROBE, Then.RETRY, Then.VALUE] if sort is Sort.EVENT else [])]
            wait = WaitSpec(
                name="E", timeout=None if sort is Sort.TIME else 20 * SECOND, role="boss", quorum=r.choice([1, 2]),
                on_timeout=r.choice(late),
                on_reject=r.choice([Then.FAIL, Then.CANCEL, Then.COMPENSATE, Then.MANUAL]), value="1",
            )  # fmt: skip
            return StepSpec(name=name, sort=sort, after=after, wait=wait, on_failure=failing, probe=PROBE if sort is Sort.EVENT else None)
        effect = r.choice([None, *Effect])
        undo = None
        if effect is not Effect.READ and r.random() < 0.7:
            risk = r.choice(list(Risk))
            drafts = risk in (Risk.HIGH, Risk.CRITICAL) and r.random() < 0.5
            undo = UndoSpec(risk=risk, effect=effect, probe=r.choice([None, PROBE]) if effect else None, drafts=drafts, evidence="log")
        return step(
            name, effect, after=after, on_failure=failing, evidence="log", undo=undo, holds=effect is Effect.CHANGE,
            probe=PROBE if effect not in (None, Effect.READ) and r.random() < 0.5 else None,
            stays="it may" if undo is None and r.random() < 0.3 else "", requires_approval=effect is not None and r.random() < 0.2,
        )  # fmt: skip

    def go(self, turns: int = 160) -> None:
        for _ in range(turns):
            told = explain(self.spec, self.run.snapshot, self.run.now, workers=1)
            self._judge(told)
            self._move(told)

    def _judge(self, told: Explanation) -> None:
        status = self.run.status
        for one in told.next:
            if one.order is not None:
                decide(self.spec, self.run.snapshot, one.order, self.run.now)
                assert one.plan is not None
                assert one.command.startswith("halfway ")
                understood(one.command.removeprefix("halfway ").replace("@input.json", "{}"))
        for sentence in (told.progress, *told.reasons, *(one.sentence for one in (*told.coming, *told.next, *told.effects))):
            assert str(sentence)
        assert told.next
        if status is RunStatus.MANUAL_REQUIRED:
            assert told.reasons, "it waits for a person, who is not told why"
            assert any(one.order is not None for one in told.next), "it waits for a person, who may do nothing"
        if status in (RunStatus.WAITING, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.COMPENSATED, RunStatus.COMPENSATING):
            assert told.reasons, f"{status}, and nobody is told why"
        for effect in told.effects:
            assert (effect.undone is None) == (effect.undo == "")
            if status is RunStatus.COMPENSATED and effect.happened is Happened.HAPPENED:
                assert effect.undo in (Undone.DONE, Undone.NOT_NEEDED), f"{effect.step} is forgotten"

    def _move(self, told: Explanation) -> None:
        r, run = self.random, self.run
        orders = [one.order for one in told.next if one.order is not None]
        if orders and r.random() < (0.1 if run.status in FINAL else 0.3):
            run.take(self._by_somebody(r.choice(orders)))
            return
        r.choice([self._claim, self._claim, self._end, self._end, self._arrive, self._later])()

    def _by_somebody(self, order: Order) -> Order:
        if isinstance(order, Approved | Rejected):
            return order._replace(by=f"person {self.random.random()}")
        return order

    def _claim(self) -> None:
        if due := self.run.due():
            self.run.take(Claimed(self.random.choice(due), "e1"))

    def _end(self) -> None:
        running = [record for record in self.run.snapshot.records.values() if record.running is not None]
        if running:
            record = self.random.choice(running)
            self.run.take(Finished(record.key, record.attempts, self._report(record)))

    def _report(self, record: Record) -> Report:
        r, unit = self.random, self.spec.unit(record.key)
        if record.key.kind in (Kind.PROBE, Kind.COMPENSATION_PROBE):
            return Report(Ended.SUCCESS, answer=r.choice([Answer.FOUND, Answer.ABSENT, Answer.CANNOT_TELL]))
        if record.key.kind is Kind.CHECK:
            return Report(Ended.SUCCESS, answer=r.choice([Answer.HOLDS, Answer.BROKEN]))
        if r.random() < 0.6:
            waits = "k" if unit.waits and record.key.kind is Kind.STEP else None
            return Report(Ended.SUCCESS, waits=waits, until=self.run.now + 30 * SECOND if unit.sort is Sort.TIME else None)
        if unit.can_be_lost and record.key.kind in (Kind.STEP, Kind.COMPENSATION) and r.random() < 0.6:
            return Report(Ended.LOST, code="TIMEOUT", effect=Happened.UNKNOWN, gone=r.random() < 0.8)
        happened = unit.can_be_lost and record.key.kind is Kind.STEP and r.random() < 0.2
        return Report(Ended.FAILED, code="NO", final=True, effect=Happened.HAPPENED if happened else Happened.NOT)

    def _arrive(self) -> None:
        waiting = [one for one in self.run.snapshot.records.values() if one.status is RecordStatus.WAITING]
        if waiting and self.random.random() < 0.3:
            self.run.take(Arrived(self.random.choice(waiting).key, "event-1"))

    def _later(self) -> None:
        self.run.now += self.random.choice([SECOND, 5 * SECOND, MINUTE])
        self.run.take(LookAgain())


@pytest.mark.parametrize("block", range(4))
def test_no_suggested_order_is_refused_and_whoever_must_act_is_told_why_and_how(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        try:
            Walk(seed).go()
        except Exception as error:
            raise AssertionError(f"walk {seed}: {error}") from error
