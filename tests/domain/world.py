"""A small world on the real `decide`: one run, a receiver that keeps what really happened, workers that die, answers that get lost.

Nothing here knows a database: what a store does to rows, `evolve` does to the snapshot. Every rule of the lost-answer table can be
walked through at random in microseconds, and the receiver's list says what was really done.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field

from halfway.domain.contract import cut_short
from halfway.domain.decide import decide, evolve
from halfway.domain.facts import (
    CancelAsked,
    Claimed,
    Command,
    Created,
    Fact,
    Finished,
    Gone,
    Late,
    LookAgain,
    MarkedSuccess,
    Note,
    ResumeAsked,
    RetryAsked,
)
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Kind, Record, Report, RunRow, Snapshot
from halfway.domain.spec import SECOND, Effect, ProbeSpec, RetrySpec, Sort, StepSpec, Then, WorkflowSpec
from halfway.errors import Conflict

T0 = 1_000 * SECOND


def step(name: str, effect: Effect | None = Effect.READ, **options: object) -> StepSpec:
    options.setdefault("retry", RetrySpec(attempts=3, wait=SECOND))
    sort = Sort.TRANSACTION if effect is None else Sort.STEP
    return StepSpec(name=name, effect=effect, sort=sort, code=name, **options)  # type: ignore[arg-type]


def workflow(*steps: StepSpec, **options: object) -> WorkflowSpec:
    return WorkflowSpec(type="W", version=1, owner="owner", steps=tuple(steps), **options)  # type: ignore[arg-type]


PROBE = ProbeSpec(settle=5 * SECOND, retry=RetrySpec(attempts=2, wait=SECOND))


@dataclass
class Run:
    """A run that is decided about, by hand or at random."""

    spec: WorkflowSpec
    deadline_at: int | None = None
    now: int = T0
    log: list[Command] = field(default_factory=list)

    def __post_init__(self) -> None:
        row = RunRow("r", "W", 1, self.spec.hash, RunStatus.PENDING, created_at=self.now, deadline_at=self.deadline_at)
        self.snapshot = Snapshot(row, {})
        self.take(Created())

    def take(self, fact: Fact) -> tuple[Command, ...]:
        commands = decide(self.spec, self.snapshot, fact, self.now)
        assert commands == decide(self.spec, self.snapshot, fact, self.now), "the same facts give the same commands"
        self.snapshot = evolve(self.snapshot, commands)
        self.log.extend(commands)
        self._check()
        return commands

    def _check(self) -> None:
        run, records = self.snapshot
        if run.status in FINAL:
            open_ones = [
                r.key for r in records.values() if r.status in (RecordStatus.RUNNING, RecordStatus.UNKNOWN) and r.key.kind is Kind.STEP
            ]
            assert not open_ones, f"{run.status} over {open_ones}"
            assert all(r.status is not RecordStatus.PENDING for r in records.values())
            return
        reasons = [
            record
            for record in records.values()
            if record.status is RecordStatus.RUNNING
            or record.asks
            or (record.status in ("PENDING", "UNKNOWN") and record.ready_at is not None)
        ]
        probing = [r for r in records.values() if r.status is RecordStatus.UNKNOWN and r.ready_at is None and not r.asks]
        for record in probing:
            probe = records.get(record.key._replace(kind=Kind.PROBE))
            looked_at = probe is not None and probe.status in ("PENDING", "RUNNING")
            assert looked_at, f"{record.key} is in doubt and nobody looks"
        assert reasons or run.blocked or run.status is RunStatus.MANUAL_REQUIRED, f"{run.status}: nothing wakes it"

    # ── reading ──

    @property
    def status(self) -> RunStatus:
        return self.snapshot.run.status

    def record(self, name: str, kind: Kind = Kind.STEP) -> Record:
        return self.snapshot.records[Key(name, kind=kind)]

    def due(self) -> list[Key]:
        return [
            key
            for key, r in self.snapshot.records.items()
            if r.status is RecordStatus.PENDING and r.ready_at is not None and r.ready_at <= self.now
        ]

    def notes(self) -> list[str]:
        return [command.name for command in self.log if isinstance(command, Note)]

    # ── moving ──

    def advance(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)
        if any(
            r.status is RecordStatus.UNKNOWN and r.ready_at is not None and r.ready_at <= self.now for r in self.snapshot.records.values()
        ):
            self.take(LookAgain())

    def start(self, name: str, kind: Kind = Kind.STEP, epoch: str = "e1") -> int:
        key = Key(name, kind=kind)
        self.take(Claimed(key, epoch))
        running = self.snapshot.records[key].running
        assert running is not None, f"{key} did not start: {self.snapshot.records[key]}"
        return running.n

    def end(self, name: str, report: Report, kind: Kind = Kind.STEP, n: int | None = None) -> None:
        key = Key(name, kind=kind)
        self.take(Finished(key, n or self.snapshot.records[key].attempts, report))

    def ok(self, name: str) -> None:
        self.start(name)
        self.end(name, Report(Ended.SUCCESS))

    def lose(self, name: str, *, gone: bool = True, death: bool = False) -> None:
        self.start(name)
        self.end(name, Report(Ended.LOST, code="READ_TIMEOUT", effect=Happened.UNKNOWN, gone=gone, death=death))

    def probe(self, name: str, answer: Answer) -> None:
        self.start(name, Kind.PROBE)
        self.end(name, Report(Ended.SUCCESS, answer=answer), Kind.PROBE)


class Walk:
    """A random course of one run, with everything that can go wrong, against a receiver that remembers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.world: dict[str, list[int]] = defaultdict(list)  # step -> attempts whose effect really happened
        self.owed: list[tuple[str, int, int]] = []  # (step, attempt, when): on the wire, shown only then
        self.seen: dict[Key, bool] = {}  # what a probe saw when it began to look
        self.alive: dict[tuple[Key, int], bool] = {}  # lost attempts whose body still exists, and whether it will still send
        self.spec = self._definition()
        deadline = T0 + self.random.randint(5, 200) * SECOND if self.random.random() < 0.15 else None
        self.run = Run(self.spec, deadline)
        self.cancel_at = T0 + self.random.randint(0, 60) * SECOND if self.random.random() < 0.25 else None

    def _definition(self) -> WorkflowSpec:
        r = self.random
        steps: list[StepSpec] = []
        for number in range(r.randint(1, 5)):
            effect = r.choice([None, *Effect])
            lossy = effect not in (None, Effect.READ)
            names = [one.name for one in steps]
            after = tuple(sorted(r.sample(names, r.randint(0, min(2, len(names)))))) if r.random() < 0.4 else tuple(names[-1:])
            steps.append(
                step(
                    f"S{number}",
                    effect,
                    after=after,
                    takes_mark=lossy and r.random() < 0.5,
                    idempotent=lossy and r.random() < 0.3,
                    idempotent_for=r.choice([None, 400 * SECOND]),
                    probe=PROBE if lossy and r.random() < 0.7 else None,
                    evidence="log",
                    timeout=20 * SECOND,
                    on_failure=r.choice([Then.FAIL, Then.FAIL, Then.MANUAL]),
                )
            )
        return workflow(*steps, timeout=r.choice([None, None, 300 * SECOND]))

    def go(self, turns: int = 400) -> None:
        for _ in range(turns):
            self._tick(faults=True)
        for _ in range(4_000):
            if self.run.status in FINAL:
                break
            self._tick(faults=False)
        assert self.run.status in FINAL, f"stuck: {self.run.status} {dict(self.run.snapshot.records)}"
        self._check()

    def _tick(self, faults: bool) -> None:
        run, r = self.run, self.random
        self._deliver()
        if self.cancel_at is not None and run.now >= self.cancel_at and run.status not in FINAL:
            self.cancel_at = None
            run.take(CancelAsked())
        choices = [
            lambda: run.advance(r.choice([0.2, 1, 3])),
            self._claim,
            self._claim,
            lambda: self._end(faults),
            lambda: self._end(faults),
        ]
        if faults:
            choices += [self._kill, self._late]
        choices += [self._gone, self._person]
        r.choice(choices)()

    def _claim(self) -> None:
        due = self.run.due()
        if due:
            key = self.random.choice(due)
            self.run.take(Claimed(key, "e1"))
            record = self.run.snapshot.records[key]
            if record.running is not None:
                self.seen[key] = bool(self.world[key.step])
                if key.kind is Kind.STEP and self.run.snapshot.run.intent is not None:
                    raise AssertionError("a step was started in a run that is stopping")

    def _running(self) -> list[Record]:
        return [record for record in self.run.snapshot.records.values() if record.running is not None]

    def _end(self, faults: bool) -> None:
        running = self._running()
        if not running:
            return
        record = self.random.choice(running)
        assert record.running is not None
        if record.key.kind is Kind.PROBE:
            self._end_probe(record)
        else:
            self.run.end(record.key.step, self._outcome(record, faults), n=record.running.n)

    def _outcome(self, record: Record, faults: bool) -> Report:
        spec = self.spec.by_name[record.key.step]
        x = self.random.random() if faults else 1.0
        if not spec.can_be_lost:
            ended = Ended.NOTHING if x < 0.25 else Ended.FAILED if x < 0.28 else Ended.SUCCESS
            return Report(ended, code="E" if ended is not Ended.SUCCESS else "", final=ended is Ended.FAILED)
        if x < 0.15:
            return Report(Ended.NOTHING, code="CONNECT_ERROR", effect=Happened.NOT)
        if x < 0.18:
            return Report(Ended.FAILED, code="HTTP_400", effect=Happened.NOT, final=True)
        if x < 0.4:
            return self._lose(record, gone=self.random.random() < 0.8)
        self._happen(record.key.step, record.attempts)
        return Report(Ended.SUCCESS)

    def _lose(self, record: Record, *, gone: bool) -> Report:
        """The answer is lost: it never arrived, it has arrived, it is shown a little later, or a body lives on and may send."""
        x = self.random.random()
        if not gone:
            self.alive[record.key, record.attempts] = x < 0.5
        elif x < 0.3:
            self._happen(record.key.step, record.attempts)
        elif x < 0.6:
            self.owed.append((record.key.step, record.attempts, self.run.now + self.random.randint(0, PROBE.settle)))
        return Report(Ended.LOST, code="READ_TIMEOUT", effect=Happened.UNKNOWN, gone=gone)

    def _happen(self, name: str, n: int) -> None:
        self.world[name].append(n)
        spec = self.spec.by_name[name]
        if len(self.world[name]) > 1 and not spec.idempotent:
            raise AssertionError(f"second effect of {spec.effect}: attempts {self.world[name]}")

    def _end_probe(self, probe: Record) -> None:
        x = self.random.random()
        seen = self.seen[probe.key]
        if x < 0.1:
            report = Report(Ended.NOTHING, code="PROBE_ERROR")
        elif x < 0.15:
            report = Report(Ended.SUCCESS, answer=Answer.CANNOT_TELL)
        else:
            report = Report(Ended.SUCCESS, answer=Answer.FOUND if seen else Answer.ABSENT)
        self.run.end(probe.key.step, report, Kind.PROBE)

    def _kill(self) -> None:
        """The worker dies; a marked attempt may have sent, or its request is still on the wire for up to the settle time."""
        if self.random.random() > 0.15:
            return
        for record in self._running():
            attempt = record.running
            assert attempt is not None
            spec = self.spec.by_name[record.key.step]
            marked = attempt.marked or (spec.can_be_lost and self.random.random() < 0.5)
            if record.key.kind is Kind.STEP:
                report = cut_short(
                    spec, marked=marked and spec.can_be_lost, code="WORKER_LOST", death=True, gone=self.random.random() < 0.7
                )
                if report.ended is Ended.LOST:
                    self._lose(record, gone=report.gone)
            else:
                report = Report(Ended.NOTHING, code="WORKER_LOST", death=True)
            self.run.end(record.key.step, report, record.key.kind)

    def _late(self) -> None:
        """A body comes back after its attempt was ended for it."""
        for key, n in list(self.alive):
            if self.random.random() < 0.3:
                del self.alive[key, n]
                ended = Ended.SUCCESS if n in self.world[key.step] else self.random.choice([Ended.NOTHING, Ended.LOST])
                self.run.take(Late(key, n, Report(ended, code="LATE")))
                return

    def _gone(self) -> None:
        for key, n in list(self.alive):
            if self.random.random() < 0.2:
                del self.alive[key, n]
                self.run.take(Gone(key, n, self.run.now))
                return

    def _person(self) -> None:
        """Looks at the receiver and tells the truth; resumes or cancels what has failed for good."""
        for record in list(self.run.snapshot.records.values()):
            if not record.asks:
                continue
            try:
                on_the_wire = any(name == record.key.step for name, _, _ in self.owed)
                if record.status is RecordStatus.UNKNOWN and self.world[record.key.step]:
                    self.run.take(MarkedSuccess(record.key.step))
                elif record.status is RecordStatus.UNKNOWN and not on_the_wire:
                    self.run.take(RetryAsked(record.key.step, not_happened=True))
                elif record.status is RecordStatus.UNKNOWN:
                    return
                else:
                    self.run.take(ResumeAsked() if self.random.random() < 0.5 else CancelAsked())
            except Conflict:
                return
            return
        if self.run.status is RunStatus.MANUAL_REQUIRED and not any(r.asks for r in self.run.snapshot.records.values()):
            self.run.take(CancelAsked())
        if self.run.status is RunStatus.FAILED and self.random.random() < 0.2:
            try:
                self.run.take(ResumeAsked())
            except Conflict:
                return

    def _deliver(self) -> None:
        """What was on the wire arrives, at the latest when the receiver would show it."""
        due = [owed for owed in self.owed if owed[2] <= self.run.now]
        self.owed = [owed for owed in self.owed if owed[2] > self.run.now]
        for name, n, _ in due:
            self._happen(name, n)
        for (key, n), will_send in list(self.alive.items()):  # bodies that nobody waits for any more
            if will_send and self.random.random() < 0.05:
                self.alive[key, n] = False
                self._happen(key.step, n)

    def _check(self) -> None:
        """What the records say is what the receiver has."""
        for name, spec in self.spec.by_name.items():
            if not spec.can_be_lost:
                continue
            record = self.run.snapshot.records.get(Key(name))
            happened = bool(self.world[name])
            if record is None:
                assert not happened
            elif record.status is RecordStatus.SUCCESS:
                assert happened, f"{name} is SUCCESS and nothing happened"
                assert record.effect is Happened.HAPPENED
            elif happened and not spec.idempotent:
                assert record.effect not in (Happened.NOT, Happened.NONE), f"the effect of {name} is forgotten: {record}"
            if record is not None:
                assert not record.open
