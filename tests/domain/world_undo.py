"""The small world with everything that waits, that a person decides, and that is undone: one run, and a ledger of what really happened.

The ledger knows of each step and of each undo how often it took effect. Persons tell the truth, and otherwise do what they like.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from halfway.domain.decide import decide, evolve
from halfway.domain.facts import (
    Command,
    Created,
    Fact,
    LookAgain,
)
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.domain.run import RunRow, Snapshot
from halfway.domain.spec import SECOND, Effect, RetrySpec, Risk, Sort, StepSpec, Then, UndoSpec, WaitSpec
from tests.domain.rules import Rules, S
from tests.domain.world import PROBE, Run, step, workflow

LOSSY = (Effect.CREATE, Effect.NOTIFY, Effect.CHANGE, Effect.DELEGATE)


def wait(name: str, sort: Sort, **options: object) -> StepSpec:
    """A step that waits; options of the wait and of the step."""
    place = {key: options.pop(key) for key in ("after", "on_failure", "probe", "approver", "retry") if key in options}
    if sort is not Sort.TIME:
        options.setdefault("timeout", 30 * SECOND)
    place.setdefault("retry", RetrySpec(attempts=2, wait=SECOND))
    told = WaitSpec(name="paid", role="lead" if sort is Sort.APPROVAL else "", **options)  # type: ignore[arg-type]
    return StepSpec(name=name, sort=sort, effect=Effect.READ, wait=told, code=name, **place)  # type: ignore[arg-type]


def undo(effect: Effect | None = Effect.CREATE, risk: Risk = Risk.LOW, **options: object) -> UndoSpec:
    options.setdefault("retry", RetrySpec(attempts=2, wait=SECOND))
    return UndoSpec(risk=risk, effect=effect, timeout=20 * SECOND, evidence="log", **options)  # type: ignore[arg-type]


@dataclass
class UndoRun(Run):
    """A run whose requester is known, which may need a resource, and which is watched."""

    actor: str = "ann"
    resource: str | None = None
    rules: Rules = field(init=False)
    twice: bool = True  # every decision is made again, in another way
    last: tuple[Command, ...] = ()

    def __post_init__(self) -> None:
        row = RunRow(
            "r", "W", 1, self.spec.hash, RunStatus.PENDING, created_at=self.now, deadline_at=self.deadline_at, actor=self.actor,
            resource=self.resource,
        )  # fmt: skip
        self.rules = Rules(self.spec)
        self.snapshot = Snapshot(row, {})
        self.take(Created())

    def take(self, fact: Fact) -> tuple[Command, ...]:
        before = self.snapshot
        self.last = super().take(fact) if self.twice else self._take(fact)
        if self.twice:
            self.rules.same(before, fact, self.snapshot, self.now)
        self.rules.after(before, fact, self.last, self.snapshot, self.now)
        return self.last

    def _take(self, fact: Fact) -> tuple[Command, ...]:
        commands = decide(self.spec, self.snapshot, fact, self.now)
        self.snapshot = evolve(self.snapshot, commands)
        return commands

    def restore(self, copy: Snapshot) -> None:
        """The database is restored from an older copy, and the run is told so."""
        self.snapshot = Snapshot(copy.run._replace(restored_at=self.now, revision=copy.run.revision + 1), copy.records)
        self.rules.restored(self.snapshot)

    def _check(self) -> None:
        """The rules look after each decision."""

    def advance(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)
        run = self.snapshot.run
        times = [r.ready_at for r in self.snapshot.records.values() if r.status in (S.UNKNOWN, S.WAITING)]
        if run.status not in FINAL:
            times += [run.deadline_at, run.timeout_at] if run.intent is None else []
            if any(at is not None and at <= self.now for at in times):
                self.take(LookAgain())


class Definition:
    """A random workflow."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        steps: list[StepSpec] = []
        for number in range(r.randint(1, 5)):
            names = [one.name for one in steps]
            after = tuple(sorted(r.sample(names, r.randint(0, min(2, len(names)))))) if r.random() < 0.4 else tuple(names[-1:])
            make = self._wait if r.random() < 0.25 else self._step
            steps.append(make(f"S{number}", after))
        self.spec = workflow(
            *steps, timeout=r.choice([None, None, 300 * SECOND]), on_failure=self._then(), past_deadline=r.choice(
                [Then.EXPIRE, Then.COMPENSATE, Then.MANUAL]),
        )  # fmt: skip

    def _then(self) -> Then:
        return self.r.choice([Then.FAIL, Then.COMPENSATE, Then.COMPENSATE, Then.MANUAL])

    def _wait(self, name: str, after: tuple[str, ...]) -> StepSpec:
        r = self.r
        sort = r.choice([Sort.EVENT, Sort.EVENT, Sort.RUN, Sort.TIME, Sort.APPROVAL, Sort.APPROVAL])
        common: dict[str, object] = {"after": after, "on_failure": self._then()}
        if sort is Sort.APPROVAL:
            after_person = [Then.FAIL, Then.CANCEL, Then.COMPENSATE, Then.MANUAL]
            common |= {"on_timeout": r.choice(after_person), "on_reject": r.choice(after_person)}
            return wait(name, sort, quorum=r.choice([1, 1, 2]), four_eyes=r.random() < 0.4, **common)
        if sort is Sort.TIME:
            return wait(name, sort, **common)
        policies = [Then.FAIL, Then.CANCEL, Then.MANUAL]
        if sort is Sort.EVENT:
            policies += [Then.PROBE, Then.PROBE, Then.RETRY, Then.VALUE]
        return wait(name, sort, on_timeout=r.choice(policies), value="1", probe=PROBE if sort is Sort.EVENT else None, **common)

    def _step(self, name: str, after: tuple[str, ...]) -> StepSpec:
        r = self.r
        effect = r.choice([None, Effect.READ, *LOSSY, *LOSSY])
        lossy = effect in LOSSY
        return step(
            name, effect, after=after, takes_mark=lossy and r.random() < 0.5, idempotent=lossy and r.random() < 0.25,
            idempotent_for=r.choice([None, 400 * SECOND]), probe=PROBE if lossy and r.random() < 0.7 else None, evidence="log",
            timeout=20 * SECOND, on_failure=self._then(), verifies=r.random() < 0.25,
            requires_approval=lossy and r.random() < 0.25, holds=effect is Effect.CHANGE and r.random() < 0.5,
            **self._undo(effect),
        )  # fmt: skip

    def _undo(self, effect: Effect | None) -> dict[str, object]:
        r = self.r
        if effect is Effect.READ or r.random() < 0.12:
            return {}
        if r.random() < 0.15:
            return {"stays": "it harms nobody"}
        risk = r.choice([Risk.LOW, Risk.LOW, Risk.MEDIUM, Risk.HIGH])
        if effect is None:
            return {"undo": undo(None, risk, drafts=risk is Risk.HIGH and r.random() < 0.5)}
        made = undo(
            r.choice(LOSSY), risk, idempotent=r.random() < 0.4, takes_mark=r.random() < 0.5,
            probe=PROBE if r.random() < 0.6 else None, drafts=risk is Risk.HIGH and r.random() < 0.5,
        )  # fmt: skip
        return {"undo": made}
