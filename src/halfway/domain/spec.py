"""The frozen, hashed description of a workflow: steps, edges, effects, contracts, policies.

Data only. It is stored when a workflow is registered, so that decisions, checks and pictures work where the author's code is not.
Times are microseconds.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from halfway.domain.run import UNDOING, Key
from halfway.domain.takeover import TakeoverSpec, takeover_of

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE


class Effect(StrEnum):
    """What a step does to the world. It decides what a lost answer means."""

    READ = "READ"
    CREATE = "CREATE"
    NOTIFY = "NOTIFY"
    CHANGE = "CHANGE"
    DELEGATE = "DELEGATE"


class Then(StrEnum):
    """What happens next. Each parameter accepts only the members that make sense there."""

    FAIL = "FAIL"  # the run ends there; what is done stays, and a resume goes on with what is missing
    COMPENSATE = "COMPENSATE"  # what is done is undone, in reverse order
    MANUAL = "MANUAL"  # a person decides
    CANCEL = "CANCEL"  # the run stops as if somebody had asked it to
    EXPIRE = "EXPIRE"
    PROBE = "PROBE"  # the outside world is asked
    RETRY = "RETRY"  # the wait begins anew
    VALUE = "VALUE"  # the run goes on with a value that was given beforehand


class Risk(StrEnum):
    """How much harm an undo can do. HIGH and CRITICAL wait for a person's approval (R-D4)."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


class Sort(StrEnum):
    """How a step is executed: an author's function, one inside a transaction of the own database, or a wait."""

    STEP = "STEP"
    TRANSACTION = "TRANSACTION"
    EVENT = "EVENT"  # waits for a message from outside
    RUN = "RUN"  # waits for the end of another run
    TIME = "TIME"
    APPROVAL = "APPROVAL"  # waits for a person
    CHILDREN = "CHILDREN"  # starts runs of another workflow and waits for them
    CHILD = "CHILD"  # one of these
    EACH = "EACH"  # does the same for each item of a list; each item is a record of its own


WAITS = frozenset({Sort.EVENT, Sort.RUN, Sort.TIME, Sort.APPROVAL})

OnFailure = Literal[Then.FAIL, Then.COMPENSATE, Then.MANUAL]
PastDeadline = Literal[Then.EXPIRE, Then.COMPENSATE, Then.MANUAL]


@dataclass(frozen=True, kw_only=True)
class RetrySpec:
    """How often and how far apart an attempt is repeated after proof that nothing happened (R-B4)."""

    attempts: int = 3
    wait: int = SECOND
    factor: float = 2.0
    max_wait: int = 5 * MINUTE


@dataclass(frozen=True, kw_only=True)
class ProbeSpec:
    """A look into the outside world; an Absent counts only `settle` after the attempt is gone (R-D1)."""

    settle: int = MINUTE
    retry: RetrySpec = field(default_factory=RetrySpec)
    shows: str = ""  # the first line of its docstring: the evidence a person is shown


@dataclass(frozen=True, kw_only=True)
class WaitSpec:
    """What a step waits for, how long, and what follows if it does not come (R-C1, R-C3). Its function says the key."""

    name: str = ""  # of the event, or the type of the workflow; empty for times and approvals
    timeout: int | None = None  # None only for a time
    on_timeout: Then = Then.MANUAL
    value: str | None = None  # JSON, for Then.VALUE
    look_back: int = 7 * DAY  # an event that came earlier than this before the wait began is too old
    role: str = ""  # of an approval
    on_reject: Then = Then.CANCEL
    four_eyes: bool = False  # whoever asked for the run may not approve
    quorum: int = 1  # so many different persons


@dataclass(frozen=True, kw_only=True)
class UndoSpec:
    """The compensation of a step: a record with an effect and a lost-answer rule of its own (R-D3, R-D4)."""

    risk: Risk
    effect: Effect | None  # None for the undo of a transaction, which is one itself
    idempotent: bool = False
    takes_mark: bool = False
    retry: RetrySpec = field(default_factory=RetrySpec)
    timeout: int = 5 * MINUTE
    probe: ProbeSpec | None = None
    approver: str = ""  # empty: the step's
    evidence: str = ""
    drafts: bool = False  # a draft is made first, and shown to the approver
    raised: bool = False  # its author said less than HIGH, but it notifies or changes

    @property
    def needs_approval(self) -> bool:
        return self.risk in (Risk.HIGH, Risk.CRITICAL)


@dataclass(frozen=True, kw_only=True)
class BudgetSpec:
    """What may be spent before a person looks (R-E6); None: as much as it likes."""

    tokens: int | None = None
    tool_calls: int | None = None
    steps: int | None = None  # steps that begin, each round of a loop counted
    attempts: int | None = None
    duration: int | None = None  # microseconds since the run began


@dataclass(frozen=True, kw_only=True)
class FanSpec:
    """A step that is done for many: for what, how many at once, and how many results are enough (R-E5)."""

    items: str = ""  # the step whose output is the list
    workflow: str = ""  # of which runs are started
    concurrency: int | None = None
    partial_from: float = 1.0  # this share of successes makes it a partial success
    failed_below: float = 1.0  # less than this share makes it a failure; between the two a person decides


ANY_FAILURE = "*"  # in RewindSpec.on


@dataclass(frozen=True, kw_only=True)
class RewindSpec:
    """A bounded loop: when the step fails with one of these codes, the run goes back to an earlier one (R-E3)."""

    to: str
    max: int  # so often; the attempts of all rounds together are one more
    on: tuple[str, ...]  # codes, or ANY_FAILURE
    then: OnFailure = Then.MANUAL  # when all rounds are used up


@dataclass(frozen=True, kw_only=True)
class TriggerSpec:
    """What starts a run of this workflow by itself: an event, or the end of another workflow's run (R-C5)."""

    kind: Literal["EVENT", "RUN"]
    name: str  # of the event, or the type of the other workflow
    statuses: tuple[str, ...] = ()  # of the other run, when it has ended


class Overlap(StrEnum):
    """What a schedule does about a tick while the run of an earlier one has not ended."""

    START = "START"  # starts another run beside it
    SKIP = "SKIP"  # starts none, and records that
    WAIT = "WAIT"  # starts it when the other has ended


class CatchUp(StrEnum):
    """Which ticks are made up for that nobody could start in time: no worker was there, or the schedule was paused."""

    SKIP = "SKIP"
    ONE = "ONE"  # the newest
    ALL = "ALL"  # the newest ones, up to a limit


@dataclass(frozen=True, kw_only=True)
class ScheduleSpec:
    """When runs are started by themselves: by a cron line, at fixed multiples of a time, or once (R-E7)."""

    name: str
    zone: str  # in which the cron line is meant, and the function is told the time
    cron: str = ""
    every: int | None = None
    at: int | None = None
    overlap: Overlap = Overlap.START
    catch_up: CatchUp = CatchUp.ONE
    limit: int = 100  # of what is caught up with CatchUp.ALL


@dataclass(frozen=True, kw_only=True)
class StepSpec:
    """One named step: where it stands, what it does to the world, and how it recovers."""

    name: str
    sort: Sort = Sort.STEP
    effect: Effect | None = None  # None for a transaction: its answer cannot be lost
    after: tuple[str, ...] = ()
    retry: RetrySpec = field(default_factory=RetrySpec)
    timeout: int = 5 * MINUTE
    queue: str = "default"
    takes_mark: bool = False
    idempotent: bool = False
    idempotent_for: int | None = None  # how long the receiver remembers the key; None: for ever
    probe: ProbeSpec | None = None
    verifies: bool = False  # a resume checks it first: it has a verify function, or its output names artifacts
    evidence: str = ""
    accept_unknown: str = ""
    approver: str = ""
    on_failure: OnFailure = Then.FAIL
    irreversible: bool = False
    business_key: bool = False  # the key comes from effect_key=, not from run and step
    output_schema: str = ""
    wait: WaitSpec | None = None
    undo: UndoSpec | None = None
    stays: str = ""  # why it may stay when the run is undone
    requires_approval: bool = False  # the approver is asked before every attempt, the first included
    holds: bool = False  # names the business record that it changes: held for every run while its outcome is unknown (R-J2)
    optional: bool = False  # its failure does not fail the run (R-E1)
    condition: str = ""  # the name of the function that says whether it runs at all (R-E2)
    at_least: int | None = None  # so many of the optional steps in `after` must have succeeded
    rewind: RewindSpec | None = None
    fan: FanSpec | None = None  # it is done for many
    budget: BudgetSpec | None = None
    tools: tuple[tuple[str, str], ...] = ()  # that it may call, each with its effect
    detached: bool = False  # children go on when their parent is cancelled or undone
    per_round: bool = False  # in a loop: each round is an effect, or a wait, of its own
    once: bool = False  # in a loop: what the first round did is kept
    reads: tuple[str, ...] = ()  # steps that its functions speak of
    code: str = ""  # what a worker must have to run it: hash of workflow, name, effect and schemas, and of what it reads

    @property
    def can_be_lost(self) -> bool:
        """Whether a lost answer of this step can hide an effect."""
        return self.sort is Sort.STEP and self.effect is not Effect.READ

    @property
    def waits(self) -> bool:
        """Whether it waits for something, and occupies no worker meanwhile."""
        return self.wait is not None

    @cached_property
    def of_item(self) -> StepSpec:
        """What it does for one item, as a step of its own: so the same rules apply to each item as to any step."""
        sort = Sort.CHILD if self.sort is Sort.CHILDREN else Sort.STEP
        return replace(self, sort=sort, fan=None, optional=False, condition="", at_least=None, rewind=None, requires_approval=False)

    @cached_property
    def of_all(self) -> StepSpec:
        """The step as a whole, which lists its items and does nothing outside."""
        return replace(self, takes_mark=False, idempotent=False, probe=None, holds=False)

    @cached_property
    def undoing(self) -> StepSpec:
        """Its compensation as a step of its own, so that the same rules apply to it (R-D3)."""
        undo = self.undo or UndoSpec(risk=Risk.CRITICAL, effect=self.effect)
        return StepSpec(
            name=self.name,
            sort=Sort.TRANSACTION if undo.effect is None else Sort.STEP,
            effect=undo.effect,
            retry=undo.retry,
            timeout=undo.timeout,
            queue=self.queue,
            takes_mark=undo.takes_mark,
            idempotent=undo.idempotent,
            probe=undo.probe,
            evidence=undo.evidence,
            approver=undo.approver or self.approver,
            on_failure=Then.MANUAL,
            requires_approval=undo.needs_approval,
            holds=self.holds and undo.effect is Effect.CHANGE,
            code=self.code,
        )

    @property
    def probe_settle(self) -> int:
        """How long after an attempt is gone the receiver may still not show what it did."""
        return self.probe.settle if self.probe else 0

    @property
    def route(self) -> str:
        """Under which name a ready record of this step waits for a worker that has the code."""
        return f"{self.queue}/{self.code}"


@dataclass(frozen=True, kw_only=True)
class WorkflowSpec:
    """A whole definition. Two specs with the same hash behave the same."""

    type: str
    version: int
    owner: str
    steps: tuple[StepSpec, ...]
    severity: str = "NORMAL"
    on_failure: OnFailure = Then.FAIL
    past_deadline: PastDeadline = Then.EXPIRE
    timeout: int | None = None
    stuck_after: int | None = None
    keyed: bool = False
    locked: bool = False  # one run at a time per resource
    concurrency: int | None = None  # so many runs at once
    concurrency_per_key: int | None = None  # so many runs at once for each key of its own
    input_schema: str = ""
    triggers: tuple[TriggerSpec, ...] = ()
    budget: BudgetSpec | None = None
    schedules: tuple[ScheduleSpec, ...] = ()
    takes_over: tuple[TakeoverSpec, ...] = ()
    runbook: tuple[tuple[str, str], ...] = ()  # (error code, what to do); the code "" is for every other error

    @cached_property
    def by_name(self) -> dict[str, StepSpec]:
        return {step.name: step for step in self.steps}

    @cached_property
    def holds(self) -> bool:
        """Whether any of its steps names a business record that it changes."""
        return any(step.holds for step in self.steps)

    @property
    def in_line(self) -> bool:
        """Whether its runs must hold something before they begin, and stand in line for it."""
        return self.locked or self.concurrency is not None or self.concurrency_per_key is not None

    @cached_property
    def waits(self) -> bool:
        """Whether any of its steps waits for something."""
        return any(step.waits for step in self.steps)

    @cached_property
    def starts_runs(self) -> bool:
        """Whether any of its steps starts runs and waits for them."""
        return any(step.sort is Sort.CHILDREN for step in self.steps)

    @cached_property
    def fans(self) -> bool:
        """Whether any of its steps is done for many."""
        return any(step.fan is not None for step in self.steps)

    @cached_property
    def may_lack(self) -> frozenset[str]:
        """The steps that may end without an output while their run goes on."""
        return frozenset(step.name for step in self.steps if step.optional or step.condition)

    @cached_property
    def loops(self) -> dict[str, tuple[str, ...]]:
        """For each step that may send the run back the steps that are then done again, itself included."""
        return {step.name: self._between(step.rewind.to, step.name) for step in self.steps if step.rewind is not None}

    def _between(self, first: str, last: str) -> tuple[str, ...]:
        after, before = self.ancestors, {*self.ancestors[last], last}
        return tuple(step.name for step in self.steps if step.name in before and (step.name == first or first in after[step.name]))

    def decides(self, step: StepSpec) -> str:
        """The role that a step asks: of an approval the one that it names, else its approver, else the owner.

        How it goes on after a no, or after nobody has answered, is another question: that one is for the approver or the owner.
        """
        return (step.wait.role if step.wait is not None else "") or step.approver or self.owner

    def unit(self, key: Key) -> StepSpec:
        """What a record stands for: the step, or its compensation, which is one of its own."""
        step = self.by_name[key.step]
        if step.fan is not None:
            step = step.of_item if key.item else step.of_all
            if key.kind in UNDOING:
                sort = step.undoing.sort if step.sort is Sort.STEP else step.sort
                asks = step.undoing.requires_approval and not key.item  # a person approves the undo of all items at once
                return replace(step.undoing, sort=sort, requires_approval=asks)
        return step.undoing if key.kind in UNDOING else step

    @cached_property
    def places(self) -> tuple[tuple[StepSpec, Key], ...]:
        """Each step with the key of its first record, in order of declaration."""
        return tuple((step, Key(step.name)) for step in self.steps)

    @cached_property
    def ancestors(self) -> dict[str, frozenset[str]]:
        """For each step all steps that stand before it."""
        found: dict[str, frozenset[str]] = {}
        for step in self.steps:  # declared in order, so earlier steps are known
            found[step.name] = frozenset(step.after).union(*(found[name] for name in step.after))
        return found

    @cached_property
    def order(self) -> dict[str, int]:
        return {step.name: number for number, step in enumerate(self.steps, 1)}

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Canonical JSON: the same definition gives the same text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @staticmethod
    def from_json(text: str) -> WorkflowSpec:
        data = _known(WorkflowSpec, json.loads(text))
        data["steps"] = tuple(_step(step) for step in data["steps"])
        data["on_failure"], data["past_deadline"] = Then(data["on_failure"]), Then(data["past_deadline"])
        data["triggers"] = tuple(_trigger(trigger) for trigger in data.get("triggers", ()))
        data["schedules"] = tuple(schedule(one) for one in data.get("schedules", ()))
        data["budget"] = _budget(data.get("budget"))
        data["takes_over"] = tuple(takeover_of(one) for one in data.get("takes_over", ()))
        data["runbook"] = tuple((code, text) for code, text in data.get("runbook", ()))
        return WorkflowSpec(**data)


def _known(kind: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    """Without the fields that a later version has added."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in data.items() if name in names}


def _trigger(data: dict[str, Any]) -> TriggerSpec:
    told = _known(TriggerSpec, data)
    told["statuses"] = tuple(data["statuses"])
    return TriggerSpec(**told)


def schedule(data: dict[str, Any]) -> ScheduleSpec:
    """A schedule from its plain values."""
    told = _known(ScheduleSpec, data)
    told["overlap"], told["catch_up"] = Overlap(data["overlap"]), CatchUp(data["catch_up"])
    return ScheduleSpec(**told)


def _step(data: dict[str, Any]) -> StepSpec:
    data = _known(StepSpec, data)
    data["probe"] = _probe(data["probe"])
    data["sort"] = Sort(data["sort"])
    data["effect"] = None if data["effect"] is None else Effect(data["effect"])
    data["after"], data["reads"] = tuple(data["after"]), tuple(data.get("reads", ()))
    data["retry"] = RetrySpec(**_known(RetrySpec, data["retry"]))
    data["on_failure"] = Then(data["on_failure"])
    data["wait"] = _wait(data.get("wait"))
    data["undo"] = _undo(data.get("undo"))
    data["rewind"] = _rewind(data.get("rewind"))
    data["budget"] = _budget(data.get("budget"))
    data["tools"] = tuple((name, effect) for name, effect in data.get("tools", ()))
    data["fan"] = None if data.get("fan") is None else FanSpec(**_known(FanSpec, data["fan"]))
    return StepSpec(**data)


def _probe(data: dict[str, Any] | None) -> ProbeSpec | None:
    if data is None:
        return None
    told = _known(ProbeSpec, data)
    told["retry"] = RetrySpec(**_known(RetrySpec, data["retry"]))
    return ProbeSpec(**told)


def _budget(data: dict[str, Any] | None) -> BudgetSpec | None:
    return None if data is None else BudgetSpec(**_known(BudgetSpec, data))


def _rewind(data: dict[str, Any] | None) -> RewindSpec | None:
    if data is None:
        return None
    told = _known(RewindSpec, data)
    told["on"], told["then"] = tuple(data["on"]), Then(data["then"])
    return RewindSpec(**told)


def _wait(data: dict[str, Any] | None) -> WaitSpec | None:
    if data is None:
        return None
    told = _known(WaitSpec, data)
    told["on_timeout"], told["on_reject"] = Then(data["on_timeout"]), Then(data["on_reject"])
    return WaitSpec(**told)


def _undo(data: dict[str, Any] | None) -> UndoSpec | None:
    if data is None:
        return None
    told = _known(UndoSpec, data)
    told["risk"] = Risk(data["risk"])
    told["effect"] = None if data["effect"] is None else Effect(data["effect"])
    told["retry"] = RetrySpec(**_known(RetrySpec, data["retry"]))
    told["probe"] = _probe(data["probe"])
    return UndoSpec(**told)
