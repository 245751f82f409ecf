"""Whether a run can be moved to a later version, and what of it is kept (R-A2). Pure: it looks at two Specs and a snapshot.

A done step is kept under the name of the step that stands for it; what has happened outside is never dropped without a word of the
author. Nothing that is under way is moved: it is settled first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from halfway.domain.decide import close
from halfway.domain.facts import Command
from halfway.domain.joins import RULED_OUT, WAIVED
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.ordering import wait_anew
from halfway.domain.run import UNDOING, Happened, Key, Kind, Record, Snapshot
from halfway.domain.spec import Effect, Sort, StepSpec, WorkflowSpec
from halfway.domain.takeover import TakeoverSpec
from halfway.domain.turn import Turn
from halfway.domain.waits import is_gate

ANEW = (Sort.EVENT, Sort.RUN, Sort.TIME)  # nobody has decided anything yet: such a wait begins anew
RESUMABLE = (RunStatus.FAILED, RunStatus.CANCELLED)

NOTES = {
    "NOT_TAKEN_OVER": "Version {to} says nothing about runs of version {version}.",
    "OTHER_INPUT": "The run's input has another shape than takes_over of version {to} takes.",
    "HAS_ENDED": "The run is {status}; there is nothing left to move.",
    "IS_UNDONE": "The run is being undone; that is finished with the definition under which it was done.",
    "IS_STOPPING": "The run was asked to stop, and has not stopped yet.",
    "IS_RUNNING": "Step {step} is running.",
    "IS_UNKNOWN": "Nobody knows yet whether step {step} happened.",
    "IS_DECIDED": "Step {step} waits for a person's decision.",
    "IN_FLIGHT": "Items or runs that step {step} has started are still under way.",
    "IN_A_LOOP": "Step {step} is in its round {round}; rounds are counted by the definition that began them.",
    "HAPPENED": "Step {step} has happened, and takes_over does not say which step of version {to} stands for it.",
    "OTHER_KIND": "Step {step} has happened as {former}, and {now} of version {to} is {kind}.",
    "OTHER_OUTPUT": "Step {step} has an output of another shape than {now} of version {to}, and no function makes one from the other.",
    "BEGUN_ELSEWHERE": "Step {step} was begun and has failed after its effect; it cannot go on as {now}.",
    "INPUT_REFUSED": "takes_over of version {to} makes no input of this one: {problem}",
    "OUTPUT_REFUSED": "takes_over of version {to} makes no output of {step}: {problem}",
    "OTHER_KEY": "The key of version {to} for its input would be {key}, and this run stands under {former}.",
    "OTHER_RESOURCE": "The resource of version {to} for its input would be {resource}, and this run has {former}.",
    "NAME_TAKEN": "Step {step} was begun and would give its name, which is its key outside, to another step of version {to}.",
    "KEY_LOST": "Step {step} has happened under its name as its key outside. As {now} it may be done once more, under another key.",
    "OTHER_LIMITS": "Version {to} limits runs at once in another way than version {version}, under which this run has its place.",
    "MANY_RENAMED": "Step {step} was done for many, and keeps its name; version {to} calls it {now}.",
}
PASSING = frozenset({"IS_UNDONE", "IS_STOPPING", "IS_RUNNING", "IS_UNKNOWN", "IS_DECIDED", "IN_FLIGHT", "IN_A_LOOP"})


class Problem(NamedTuple):
    """Why a run cannot be moved, or not yet; its sentence is in `NOTES`."""

    code: str
    step: str
    params: tuple[tuple[str, object], ...]

    @property
    def passes(self) -> bool:
        """Whether it is gone once what is under way has been settled."""
        return self.code in PASSING

    def __str__(self) -> str:
        return NOTES[self.code].format(**dict(self.params))


@dataclass(frozen=True, kw_only=True)
class Move:
    """What moving one run would do, by the names of its steps."""

    run: str
    version: int
    to: int
    kept: tuple[tuple[str, str], ...]  # (former name, name now): done, with its output, and not run again
    made: tuple[str, ...]  # of these, whose output a function makes anew
    begun: tuple[tuple[str, str], ...]  # tried before, or ruled out; goes on with what is recorded
    waits: tuple[tuple[str, str], ...]  # begins to wait anew
    left: tuple[str, ...]  # stays behind, kept aside: nothing stands for it
    unbegun: tuple[str, ...]  # nothing of it has been done yet
    ahead: tuple[str, ...]  # of the later version, still to be done
    problems: tuple[Problem, ...]
    hash: str = ""

    @property
    def possible(self) -> bool:
        return not self.problems

    @property
    def dropped(self) -> tuple[str, ...]:
        """Steps whose records do not go along."""
        return (*self.left, *self.unbegun)

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """Every step whose records go along."""
        return (*self.kept, *self.begun, *self.waits)


def problem(code: str, step: str = "", **params: object) -> Problem:
    return Problem(code, step, (("step", step), *params.items()))


def takeover(spec: WorkflowSpec, version: int) -> TakeoverSpec | None:
    """What a definition says about runs of an earlier version."""
    return next((one for one in spec.takes_over if one.version == version), None)


def plan_move(spec: WorkflowSpec, to: WorkflowSpec, snapshot: Snapshot, input: str = "", given_up: Collection[str] = ()) -> Move:
    """What would become of this run; `input`: the new one as JSON, on which the plan's hash hangs too.

    given_up: names under which something of this run was begun, and which it has given up in earlier moves.
    """
    made = _Making(spec, to, snapshot, given_up).move()
    run = snapshot.run
    told = [run.id, run.revision, run.hash, to.hash, input, asdict(made)]
    return replace(made, hash=hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16])


def close_waits(spec: WorkflowSpec, snapshot: Snapshot, now: int) -> tuple[Command, ...]:
    """Ends what waits, under the definition that began it: it begins anew, or stays behind."""
    turn = Turn(spec, snapshot, now)
    waiting = [record for record in snapshot.records.values() if record.status is RecordStatus.WAITING]
    for record in waiting:
        wait_anew(turn, record)
    if waiting:
        close(turn)
    return tuple(turn.commands)


class _Making:
    """One plan in the making."""

    def __init__(self, spec: WorkflowSpec, to: WorkflowSpec, snapshot: Snapshot, given_up: Collection[str]) -> None:
        self.spec, self.to, self.run = spec, to, snapshot.run
        self.given_up = given_up
        self.records = snapshot.records
        self.rule = takeover(to, spec.version)
        self.at = dict(self.rule.at) if self.rule is not None else {}
        self.kept: list[tuple[str, str]] = []
        self.made: list[str] = []
        self.begun: list[tuple[str, str]] = []
        self.waits: list[tuple[str, str]] = []
        self.left: list[str] = []
        self.unbegun: list[str] = []
        self.problems: list[Problem] = []

    def move(self) -> Move:
        self._whole()
        for step in self.spec.steps:
            own = [record for key, record in self.records.items() if key.step == step.name]
            if own:
                self._step(step, self.records.get(Key(step.name)), own)
        through = {now for _, now in self.kept}
        self._names(through)
        return Move(
            run=self.run.id, version=self.spec.version, to=self.to.version, kept=tuple(self.kept), made=tuple(self.made),
            begun=tuple(self.begun), waits=tuple(self.waits), left=tuple(self.left),
            unbegun=tuple(self.unbegun),
            ahead=tuple(step.name for step in self.to.steps if step.name not in through), problems=tuple(self.problems),
        )  # fmt: skip

    def _refuse(self, code: str, step: str = "", **params: object) -> None:
        self.problems.append(problem(code, step, version=self.spec.version, to=self.to.version, **params))

    def _whole(self) -> None:
        """What concerns the run and not one of its steps."""
        run = self.run
        if _limits_of(self.spec) != _limits_of(self.to):
            self._refuse("OTHER_LIMITS")
        if self.rule is None:
            self._refuse("NOT_TAKEN_OVER")
        elif self.rule.input_schema != self.spec.input_schema:
            self._refuse("OTHER_INPUT")
        if run.status in FINAL and run.status not in RESUMABLE:
            self._refuse("HAS_ENDED", status=run.status.value)
        elif run.undo is not None or any(key.kind in UNDOING for key in self.records):
            self._refuse("IS_UNDONE")
        elif run.intent is not None and run.status not in FINAL:
            self._refuse("IS_STOPPING")

    def _step(self, step: StepSpec, record: Record | None, own: list[Record]) -> None:
        hindered = _under_way(step, record, own)
        if hindered:
            self._refuse(hindered, step.name, round=max(other.key.round for other in own))
            return
        there = self._there(step)
        if record is None or (record.status is RecordStatus.PENDING and not record.attempts):
            self.unbegun.append(step.name)
        elif record.status is RecordStatus.SUCCESS:
            self._done(step, there)
        elif record.status is RecordStatus.WAITING:
            if there is not None and _same_kind(step, there) and _waits_for(step) == _waits_for(there):
                self.waits.append((step.name, there.name))
            else:
                self.left.append(step.name)
        else:
            self._undone(step, record, there)

    def _names(self, through: set[str]) -> None:
        """The receiver knows an effect by run and step: no other step may come to it under the name of one that has happened."""
        for name in self.given_up:
            if name in self.to.by_name and name not in self.spec.by_name:
                self._refuse("NAME_TAKEN", name)
        gone = {former for former, now in (*self.kept, *self.begun) if former != now} | set(self.left)
        for step in self.spec.steps:
            record, there = self.records.get(Key(step.name)), self.to.by_name.get(step.name)
            if step.name not in gone or record is None or there is None:
                continue
            left, through_too = step.name in self.left, there.name in through
            counts_on = left and not through_too and not there.condition  # of a step that was begun no condition is asked again
            told_apart = not record.attempts or counts_on or (through_too and not left)
            happened = _counts(step) and record.effect in (Happened.HAPPENED, Happened.UNKNOWN) and there.effect not in (None, Effect.READ)
            if not told_apart or (happened and not through_too):
                self._refuse("NAME_TAKEN", step.name)

    def _there(self, step: StepSpec) -> StepSpec | None:
        """The step that stands for it: the one that the author names, else that of its name, unless another one has that place."""
        if step.name in self.at:
            return self.to.by_name.get(self.at[step.name])
        return None if step.name in self.at.values() else self.to.by_name.get(step.name)

    def _done(self, step: StepSpec, there: StepSpec | None) -> None:
        counts = _counts(step)
        if there is None:
            if counts and self.at.get(step.name) != "":
                self._refuse("HAPPENED", step.name)
            else:
                self.left.append(step.name)
        elif not _same_kind(step, there):
            self._kind(step, there)
        elif step.fan is not None and there.name != step.name:
            self._refuse("MANY_RENAMED", step.name, now=there.name)
        elif step.sort is Sort.APPROVAL and self._is_needed(step):
            self.left.append(step.name)  # what follows is another thing than what was approved
        elif there.name != step.name and counts and step.idempotent and not step.business_key and there.verifies:
            self._refuse("KEY_LOST", step.name, now=there.name)
        elif self.rule is not None and there.name in self.rule.outputs:
            self.kept.append((step.name, there.name))
            self.made.append(there.name)
        elif step.output_schema == there.output_schema:
            self.kept.append((step.name, there.name))
        elif counts or step.name in self.at:
            self._refuse("OTHER_OUTPUT", step.name, now=there.name)
        else:  # it only looked, and looks again
            self.left.append(step.name)

    def _is_needed(self, step: StepSpec) -> bool:
        """Whether something that stands after it is still to be done."""
        after = [name for name, before in self.spec.ancestors.items() if step.name in before]
        return any((other := self.records.get(Key(name))) is None or other.status is not RecordStatus.SUCCESS for name in after)

    def _undone(self, step: StepSpec, record: Record, there: StepSpec | None) -> None:
        """It has been tried, or left out: what it did in vain goes along under its own name, else nothing does."""
        through = record.status is RecordStatus.SKIPPED and record.code in (WAIVED, RULED_OUT)
        begun = bool(record.attempts) or through
        if there is not None and begun and _same_kind(step, there) and (through or there.name == step.name):
            self.begun.append((step.name, there.name))
        elif record.asks:
            self._refuse("IS_DECIDED", step.name)
        elif record.effect in (Happened.HAPPENED, Happened.UNKNOWN):
            if there is None:
                self._refuse("HAPPENED", step.name)
            else:
                self._refuse("BEGUN_ELSEWHERE", step.name, now=there.name)
        elif there is not None and begun and not _same_kind(step, there) and step.name in self.at:
            self._kind(step, there)
        else:
            self.left.append(step.name)

    def _kind(self, step: StepSpec, there: StepSpec) -> None:
        self._refuse("OTHER_KIND", step.name, former=_kind_of(step), now=there.name, kind=_kind_of(there))


def _under_way(step: StepSpec, record: Record | None, own: list[Record]) -> str:
    """Why nothing can be said yet about what this step has done; empty if it can."""
    if any(other.status is RecordStatus.RUNNING for other in own):
        return "IS_RUNNING"
    if any(other.key.item and other.status is not RecordStatus.SUCCESS for other in own):
        return "IN_FLIGHT"
    if any(other.status is RecordStatus.UNKNOWN or other.unsettled for other in own):
        return "IS_UNKNOWN"
    if record is not None and record.status is RecordStatus.WAITING and step.fan is not None and not is_gate(record):
        return "IN_FLIGHT"
    if any(other.status is RecordStatus.WAITING and (other.asks or is_gate(other) or step.sort not in ANEW) for other in own):
        return "IS_DECIDED"
    if any(other.key.kind is Kind.CHECK and other.asks for other in own):
        return "IS_DECIDED"
    return "IN_A_LOOP" if any(other.key.round > 1 for other in own) else ""


def _limits_of(spec: WorkflowSpec) -> tuple[object, ...]:
    return spec.locked, spec.concurrency, spec.concurrency_per_key


def _same_kind(step: StepSpec, there: StepSpec) -> bool:
    """Whether what one has done can count as done by the other."""
    return (step.sort, step.effect) == (there.sort, there.effect)


def _counts(step: StepSpec) -> bool:
    """Whether it does something, and does not only look or wait."""
    return step.effect is not Effect.READ and not step.waits


def _waits_for(step: StepSpec) -> str:
    return "" if step.wait is None else step.wait.name


def _kind_of(step: StepSpec) -> str:
    return step.sort.value if step.effect is None else step.effect.value
