"""What a rule says about a flow: facts that are quoted, and apart from them what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

from halfway.inspection.knowledge import Action, Knowledge
from halfway.inspection.model import Fact, Flow, RunLog, Span, Step, Unread
from halfway.inspection.ways import Ways


class Severity(IntEnum):
    """How grave it is; the greater the graver."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    BLOCKER = 4


@dataclass(frozen=True)
class Said:
    """A sentence for people: an English text that is the message id, and what fills its gaps."""

    text: str
    params: Mapping[str, object] = field(default_factory=dict[str, object])


def not_read(unread: Unread) -> Said:
    """What could not be read, and why."""
    return Said(unread.why, {"what": unread.what})


@dataclass(frozen=True)
class Case:
    """What a rule looks at: one flow, the base, and the log of a run if one was given."""

    flow: Flow
    knowledge: Knowledge
    run: RunLog | None = None

    @cached_property
    def ways(self) -> Ways:
        """The order of its steps; found out once, because every rule asks."""
        return Ways(self.flow)

    @cached_property
    def steps(self) -> Mapping[str, Step]:
        """By id."""
        return {step.id: step for step in reversed(self.flow.steps)}

    def action(self, step: Step) -> Action | None:
        """What the base knows of what the step does."""
        id = "" if step.effect is None else step.effect.action
        return next((one for one in self.knowledge.actions() if one.id == id), None)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A weakness at a step, or of the flow as a whole."""

    rule: str
    severity: Severity
    span: Span
    facts: tuple[Fact, ...]  # at least one
    inference: Said
    step: str = ""  # the id of the step; empty: of the flow
    holds_if: Said | None = None  # what no file shows, and somebody has to confirm; None: the files show it


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule. Texts are message ids.

    Its sentences that rest on something that stands in no file have the condition beside them.
    """

    id: str
    name: str  # retry-wraps-nonidempotent
    title: str
    why: str
    fix: str
    check: Callable[[Case], Iterator[Finding]]
    holds_if: Mapping[str, str] = field(default_factory=dict[str, str])  # by the text of the inference
    shown: Callable[[Case, Step | None], bool] | None = None  # where the file shows it all the same; None is the flow as a whole
    whenever: bool = False  # it is so whether or not the step is ever reached
