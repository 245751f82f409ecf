"""The frozen, hashed description of a workflow: steps, edges, effects, contracts, policies.

Data only. It is stored when a workflow is registered, so that decisions, checks and pictures work where the author's code is not.
Times are microseconds.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from halfway.domain.run import Key

SECOND = 1_000_000
MINUTE = 60 * SECOND


class Effect(StrEnum):
    """What a step does to the world. It decides what a lost answer means."""

    READ = "READ"
    CREATE = "CREATE"
    NOTIFY = "NOTIFY"
    CHANGE = "CHANGE"
    DELEGATE = "DELEGATE"


class Then(StrEnum):
    """What happens next. Each parameter accepts only the members that make sense there."""

    FAIL = "FAIL"
    MANUAL = "MANUAL"
    EXPIRE = "EXPIRE"


class Sort(StrEnum):
    """How a step is executed: an author's function, or one inside a transaction of the own database."""

    STEP = "STEP"
    TRANSACTION = "TRANSACTION"


OnFailure = Literal[Then.FAIL, Then.MANUAL]
PastDeadline = Literal[Then.EXPIRE, Then.MANUAL]


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
    code: str = ""  # what a worker must have to run it: hash of workflow, name, effect and schemas

    @property
    def can_be_lost(self) -> bool:
        """Whether a lost answer of this step can hide an effect."""
        return self.sort is Sort.STEP and self.effect is not Effect.READ

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
    input_schema: str = ""

    @cached_property
    def by_name(self) -> dict[str, StepSpec]:
        return {step.name: step for step in self.steps}

    @cached_property
    def places(self) -> tuple[tuple[StepSpec, Key], ...]:
        """Each step with the key of its first record, in order of declaration."""
        return tuple((step, Key(step.name)) for step in self.steps)

    @cached_property
    def ancestors(self) -> dict[str, frozenset[str]]:
        """For each step all steps that must have succeeded before it."""
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
        return WorkflowSpec(**data)


def _known(kind: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    """Without the fields that a later version has added."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in data.items() if name in names}


def _step(data: dict[str, Any]) -> StepSpec:
    data = _known(StepSpec, data)
    probe: dict[str, Any] | None = data["probe"]
    if probe is not None:
        probe["retry"] = RetrySpec(**_known(RetrySpec, probe["retry"]))
        data["probe"] = ProbeSpec(**_known(ProbeSpec, probe))
    data["sort"] = Sort(data["sort"])
    data["effect"] = None if data["effect"] is None else Effect(data["effect"])
    data["after"] = tuple(data["after"])
    data["retry"] = RetrySpec(**_known(RetrySpec, data["retry"]))
    data["on_failure"] = Then(data["on_failure"])
    return StepSpec(**data)
