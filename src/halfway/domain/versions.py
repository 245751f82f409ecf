"""How the code at hand affects runs that are open: which of their steps it can run, and why not the others (R-A2). Pure.

A step is run by whatever has its fingerprint, whichever version that belongs to. Where there is none, the two definitions are compared
to say what has changed, and whether a `takes_over` covers the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from halfway.domain.joins import is_passed
from halfway.domain.lifecycle import FINAL, RecordStatus
from halfway.domain.moving import Problem, plan_move, takeover
from halfway.domain.run import SETTLED_UNDO, Kind, Record, Snapshot
from halfway.domain.spec import StepSpec, UndoSpec, WorkflowSpec
from halfway.domain.turn import Turn
from halfway.domain.undo import undo_key
from halfway.domain.waits import is_gate


class Standing(StrEnum):
    """What the code at hand means for a run."""

    COMPATIBLE = "COMPATIBLE"  # all that is still ahead of it can be run here
    MOVE = "MOVE"  # a step ahead has no code here, but a later version takes the run over
    BLOCKED = "BLOCKED"  # neither: it would stand


class Gap(StrEnum):
    """Why the code at hand cannot run a step."""

    NO_WORKFLOW = "NO_WORKFLOW"
    REMOVED = "REMOVED"
    RENAMED = "RENAMED"
    SORT = "SORT"
    EFFECT = "EFFECT"
    INPUT = "INPUT"
    OUTPUT = "OUTPUT"
    IDEMPOTENT = "IDEMPOTENT"
    KEY = "KEY"
    RECORD = "RECORD"
    UNDO = "UNDO"
    WAIT = "WAIT"
    CONDITION = "CONDITION"
    LOOP = "LOOP"
    ITEMS = "ITEMS"
    READS = "READS"
    QUEUE = "QUEUE"


NOTES = {
    "NO_WORKFLOW": "the workflow is not here",
    "REMOVED": "it was removed",
    "RENAMED": "it was removed, or renamed to {now}",
    "SORT": "it was {former} and is {now}",
    "EFFECT": "its effect was {former} and is {now}",
    "INPUT": "the workflow's input has another shape",
    "OUTPUT": "its output has another shape",
    "IDEMPOTENT": "idempotent= was changed",
    "KEY": "effect_key= was added or removed",
    "RECORD": "record= was added or removed",
    "UNDO": "its compensation was changed",
    "WAIT": "what it waits for was changed",
    "CONDITION": "its condition was added or removed",
    "LOOP": "its loop was added or removed",
    "ITEMS": "what it is done for was changed",
    "READS": "it reads {now}, which is not what this run has",
    "QUEUE": "its queue {former} is served by no step here",
}

ANYTHING_ELSE = Gap.ITEMS  # what else makes a fingerprint is the shape of items


class Difference(NamedTuple):
    """One thing that has changed about a step; its words are in `NOTES`."""

    gap: Gap
    former: str = ""
    now: str = ""

    def __str__(self) -> str:
        return NOTES[self.gap].format(former=self.former, now=self.now)


class Lacking(NamedTuple):
    """A step that the code at hand cannot run."""

    step: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, kw_only=True)
class Affected:
    """What the code at hand means for one run."""

    standing: Standing
    lacking: tuple[Lacking, ...] = ()  # what is ahead, and not here
    to: int | None = None  # the version that takes it over
    settle: tuple[Problem, ...] = ()  # what must be settled before it can be moved
    refused: tuple[Problem, ...] = ()  # why it cannot be moved to a later version at all
    undo_only: tuple[str, ...] = ()  # done steps whose code is missing if the run is undone, or resumed


class Code:
    """The definitions at hand, and the routes that workers with them serve."""

    def __init__(self, specs: Iterable[WorkflowSpec]) -> None:
        self.specs = tuple(specs)

    @cached_property
    def codes(self) -> frozenset[str]:
        """The fingerprints of all steps."""
        return frozenset(step.code for spec in self.specs for step in spec.steps)

    @cached_property
    def queues(self) -> frozenset[str]:
        return frozenset(step.queue for spec in self.specs for step in spec.steps)

    def has(self, step: StepSpec) -> bool:
        """Whether a worker with this code, which serves all its queues, takes this step."""
        return step.code in self.codes and step.queue in self.queues

    def like(self, spec: WorkflowSpec) -> WorkflowSpec | None:
        """The definition here to compare a run's with: that of its own version, else the newest."""
        same = [one for one in self.specs if one.type == spec.type]
        return max(same, key=lambda one: (one.version == spec.version, one.version), default=None)

    def heirs(self, spec: WorkflowSpec) -> Iterator[WorkflowSpec]:
        """The definitions here that take over runs of this version, the newest first."""
        found = [one for one in self.specs if one.type == spec.type and takeover(one, spec.version) is not None]
        return iter(sorted(found, key=lambda one: -one.version))


def judge(spec: WorkflowSpec, snapshot: Snapshot, code: Code) -> Affected:
    """What the code at hand means for this run."""
    turn = Turn(spec, snapshot, 0)
    wanted, later = ahead(turn), _later(turn)
    lacking = tuple(Lacking(step.name, differences(spec, step, code)) for step in wanted if not code.has(step))
    undo_only = tuple(step.name for step in later if not code.has(step))
    if not lacking:
        return Affected(standing=Standing.COMPATIBLE, undo_only=undo_only)
    refused: tuple[Problem, ...] = ()
    for heir in code.heirs(spec):
        move = plan_move(spec, heir, snapshot)
        final = tuple(problem for problem in move.problems if not problem.passes)
        if not final:
            return Affected(standing=Standing.MOVE, lacking=lacking, to=heir.version, settle=move.problems, undo_only=undo_only)
        refused = refused or final
    return Affected(standing=Standing.BLOCKED, lacking=lacking, refused=refused, undo_only=undo_only)


def ahead(turn: Turn) -> tuple[StepSpec, ...]:
    """The steps for which this run still needs code: what is not through, or, where it stops, what is in doubt or to be undone."""
    if turn.over and turn.run.undo is not None:
        return ()
    if turn.run.undo is None and turn.run.intent is None:
        found = turn.found()
        return tuple(step for step in turn.spec.steps if _is_ahead(turn, step, found[step.name]))
    return tuple(step for step in turn.spec.steps if _is_settled_by_code(turn, step))


def _is_ahead(turn: Turn, step: StepSpec, record: Record | None) -> bool:
    if record is None:
        return True
    if record.status is RecordStatus.WAITING and step.fan is None and not is_gate(record):
        return step.probe is not None  # what it waits for needs no code of its own; its probe does
    return not is_passed(turn, record)


def _is_settled_by_code(turn: Turn, step: StepSpec) -> bool:
    """Of a run that stops: whether an attempt runs or is in doubt, or an undo is still to be done."""
    own = [record for key, record in turn.records.items() if key.step == step.name]
    if any(record.status in (RecordStatus.RUNNING, RecordStatus.UNKNOWN) for record in own):
        return True
    if turn.run.undo is None or step.undo is None:
        return False
    return any(record.key.kind is Kind.STEP and _to_be_undone(turn, record) for record in own)


def _to_be_undone(turn: Turn, record: Record) -> bool:
    through = turn.records.get(undo_key(record.key))
    return record.status is RecordStatus.SUCCESS and (through is None or through.status not in SETTLED_UNDO)


def _later(turn: Turn) -> tuple[StepSpec, ...]:
    """Done steps whose code is needed only if the run is undone, or resumed."""
    if turn.run.undo is not None or (turn.run.intent is not None and turn.run.status in FINAL):
        return ()
    done = [(step, record) for step, record in zip(turn.spec.steps, turn.found().values(), strict=True) if record is not None]
    return tuple(step for step, record in done if record.status is RecordStatus.SUCCESS and (step.undo is not None or step.verifies))


# ── what has changed about a step ──


def differences(spec: WorkflowSpec, step: StepSpec, code: Code) -> tuple[Difference, ...]:
    """Why no code here is that of this step."""
    if step.code in code.codes:
        return (Difference(Gap.QUEUE, step.queue),)
    here = code.like(spec)
    if here is None:
        return (Difference(Gap.NO_WORKFLOW),)
    there = here.by_name.get(step.name)
    if there is None:
        named = _renamed(spec, step, here)
        return (Difference(Gap.RENAMED, step.name, named) if named else Difference(Gap.REMOVED, step.name),)
    found = tuple(_changed(spec, step, here, there))
    return found or (Difference(ANYTHING_ELSE),)


def _renamed(spec: WorkflowSpec, step: StepSpec, here: WorkflowSpec) -> str:
    """The step that seems to have its place under another name: new, and of the same kind; empty if there is none, or more than one."""
    new = [one for one in here.steps if one.name not in spec.by_name]
    alike = [one.name for one in new if (one.sort, one.effect, one.output_schema) == (step.sort, step.effect, step.output_schema)]
    return alike[0] if len(alike) == 1 else ""


def _changed(spec: WorkflowSpec, step: StepSpec, here: WorkflowSpec, there: StepSpec) -> Iterator[Difference]:
    if step.sort is not there.sort:
        yield Difference(Gap.SORT, step.sort.value, there.sort.value)
    elif step.effect is not there.effect:
        yield Difference(Gap.EFFECT, str(step.effect), str(there.effect))
    if spec.input_schema != here.input_schema:
        yield Difference(Gap.INPUT)
    if step.output_schema != there.output_schema:
        yield Difference(Gap.OUTPUT)
    unlike = _unlike(spec, here, there)
    if unlike or step.reads != there.reads:
        yield Difference(Gap.READS, ", ".join(step.reads), ", ".join(unlike or there.reads) or "-")
    if step.sort is there.sort:
        pairs = ((gap, read(step), read(there)) for gap, read in COMPARED.items())
        yield from (Difference(gap) for gap, former, now in pairs if former != now)


def _unlike(spec: WorkflowSpec, here: WorkflowSpec, there: StepSpec) -> list[str]:
    """What a step reads here that the run has not, or has in another shape."""
    both = ((name, spec.by_name.get(name), here.by_name.get(name)) for name in there.reads)
    return [name for name, one, other in both if one is None or (other is not None and one.output_schema != other.output_schema)]


def _undo_of(undo: UndoSpec | None) -> object:
    return undo and (undo.effect, undo.idempotent, undo.probe is not None, undo.drafts)


COMPARED: Mapping[Gap, Callable[[StepSpec], object]] = {
    Gap.IDEMPOTENT: lambda step: step.idempotent,
    Gap.KEY: lambda step: step.business_key,
    Gap.RECORD: lambda step: step.holds,
    Gap.UNDO: lambda step: _undo_of(step.undo),
    Gap.WAIT: lambda step: step.wait and step.wait.name,
    Gap.CONDITION: lambda step: bool(step.condition),
    Gap.LOOP: lambda step: step.rewind is not None,
    Gap.ITEMS: lambda step: step.fan and (step.fan.items, step.fan.workflow),
}
