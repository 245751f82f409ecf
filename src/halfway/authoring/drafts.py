"""All that is known of a step while its workflow is being declared, and the Spec that it becomes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from pydantic import TypeAdapter

from halfway.authoring.definition import StepDefinition
from halfway.authoring.options import Settings
from halfway.authoring.policy import Retry, microseconds
from halfway.authoring.reads import steps_in
from halfway.authoring.schemas import Misshapen, fingerprint, mentions, short_hash
from halfway.authoring.shape import Shape, called, name_of_condition, read_helper
from halfway.authoring.step import Artifact, Step
from halfway.domain.spec import Effect, FanSpec, ProbeSpec, Risk, Sort, StepSpec, Then, UndoSpec, WaitSpec
from halfway.errors import DefinitionError

SETTLE = timedelta(seconds=60)
_REACHES_PEOPLE = frozenset({Effect.NOTIFY, Effect.CHANGE, Effect.DELEGATE})  # such an undo waits for a person (R-D4)


CHILDREN_UNDO = UndoSpec(risk=Risk.LOW, effect=None)  # children are asked to undo themselves, each as its own steps say


@dataclass(frozen=True, kw_only=True)
class Helper:
    """A function attached to a step."""

    function: Callable[..., object]
    is_async: bool


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """The undo of a step, as declared."""

    risk: Risk
    effect: Effect | None  # None in a transaction
    body: Helper
    takes_mark: bool = False
    idempotent: bool = False
    retry: Retry
    timeout: timedelta
    approver: str = ""
    evidence: str = ""
    probe: Helper | None = None
    settle: timedelta = SETTLE
    draft: Helper | None = None
    draft_returns: TypeAdapter[Any] | None = None

    @property
    def raised(self) -> bool:
        """Whether it does more harm than its author said."""
        return self.risk in (Risk.LOW, Risk.MEDIUM) and self.effect in _REACHES_PEOPLE

    @property
    def needs_approval(self) -> bool:
        return self.raised or self.risk in (Risk.HIGH, Risk.CRITICAL)

    def marks(self) -> tuple[str, ...]:
        """What a worker must have code for before it may take this undo."""
        given = {"idempotent": self.idempotent, "probe": self.probe, "draft": self.draft}
        return ("undo", self.effect or Sort.TRANSACTION, *(name for name, there in given.items() if there))

    def to_spec(self, otherwise: str) -> UndoSpec:
        """The undo as data; `otherwise`: the evidence where neither probe, key nor text says one."""
        unsaid = self.effect is not None and not (self.probe or self.idempotent or self.evidence)
        return UndoSpec(
            risk=Risk.HIGH if self.raised else self.risk,
            raised=self.raised,
            effect=self.effect,
            idempotent=self.idempotent,
            takes_mark=self.takes_mark,
            retry=self.retry.to_spec(),
            timeout=microseconds(self.timeout),
            probe=None if self.probe is None else ProbeSpec(settle=microseconds(self.settle), shows=first_line(self.probe.function)),
            approver=self.approver,
            evidence=otherwise if unsaid else self.evidence,
            drafts=self.draft is not None,
        )


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a step stands in its workflow: whether it may fail, and whether it runs at all."""

    optional: bool = False
    condition: Callable[[Step[Any]], bool] | None = None

    @property
    def may_lack(self) -> bool:
        """Whether the run may go on without its output."""
        return self.optional or self.condition is not None

    def check(self, settings: Settings, sort: Sort, options: Mapping[str, object]) -> None:
        """Raises Misshapen for what contradicts that."""
        if self.optional and sort is Sort.APPROVAL:
            raise Misshapen("it is an optional approval, so a no would be passed over.", "Remove optional, or use when(…).")
        if self.optional and options.get("on_failure") is not None:
            raise Misshapen("it is optional and has on_failure=.", "Keep one: the run goes on without an optional step.")


@dataclass(kw_only=True)
class Draft:
    """A declared step; it may grow until the workflow is used."""

    workflow: str
    name: str
    sort: Sort
    effect: Effect | None
    connection: type | None
    body: Callable[..., object]
    shape: Shape
    settings: Settings
    wait: WaitSpec | None = None
    fan: FanSpec | None = None
    item_key: Callable[[Any], str] | None = None
    child: object = None  # the workflow whose runs it starts
    detached: bool = False
    standing: Standing = Standing()
    options: Mapping[str, object] = field(default_factory=dict[str, object])  # as they were given
    first: bool = False  # of its workflow or part, so that it stands after whatever is before that
    probe: Helper | None = None
    probe_spec: ProbeSpec | None = None
    verify: Helper | None = None
    undo: Undoing | None = None
    sealed: bool = field(default=False)

    def attach(self, what: str, function: Callable[..., object], takes: int, taken: object) -> Helper:
        """Checks a function that is being attached."""
        self.open_for(what, taken)
        try:
            return Helper(function=function, is_async=read_helper(function, takes=takes, what=what))
        except Misshapen as bad:
            raise self.refusal(bad.problem, bad.remedy) from None

    def open_for(self, what: str, taken: object) -> None:
        """Refuses what comes too late or twice."""
        if self.sealed:
            raise self.refusal(f"a {what} is added after the workflow was used.", "Declare everything before Halfway gets it.")
        if taken is not None:
            raise self.refusal(f"a second {what} is declared.", "Keep one.")

    def refusal(self, problem: str, remedy: str) -> DefinitionError:
        return DefinitionError("DEFINITION", workflow=self.workflow, problem=f"step {self.name}: {problem}", remedy=remedy)

    def _reads(self) -> tuple[StepDefinition[Any, Any], ...]:
        """The steps that its functions speak of."""
        settings, undo = self.settings, self.undo
        helpers = (self.probe, self.verify, *((undo.body, undo.probe, undo.draft) if undo is not None else ()))
        own = (self.body, self.standing.condition, settings.effect_key, settings.record)
        named = steps_in((*own, *(helper.function for helper in helpers if helper is not None)))
        return tuple(step for step in named if self.workflow in step.homes and step.name != self.name)

    def _code(self, input_schema: str, output_schema: str, reads: tuple[StepDefinition[Any, Any], ...]) -> str:
        """What a worker must have to run it: whatever would make old code do something else, or nothing, changes it."""
        settings, wait = self.settings, self.wait
        marks = [
            *(("idempotent",) if settings.idempotent else ()),
            *(("business key",) if settings.effect_key is not None else ()),
            *(("record",) if settings.record is not None else ()),
            *((wait.name,) if wait is not None else ()),
            *(("condition",) if self.standing.condition is not None else ()),
            *(("each", fingerprint(self.shape.item)) if self.shape.item is not None else ()),
            *((self.fan.workflow,) if self.fan is not None and self.fan.workflow else ()),
            *(("streams",) if self.shape.streams else ()),
            *(("rewinds",) if settings.rewind is not None else ()),
            *(self.undo.marks() if self.undo is not None else ()),
            *(("reads", *(step.as_read() for step in reads)) if reads else ()),
        ]
        return short_hash(self.workflow, self.name, self.effect or self.sort, input_schema, output_schema, *marks)

    def _shows(self) -> str:
        """Where a person sees what became of this step, and so of its undo; empty if nobody said."""
        if self.probe is not None:
            return f"what the probe of {self.name} shows"
        return self.settings.evidence or ("the receiver's record under step.key" if self.settings.idempotent else "")

    def _names_artifacts(self) -> bool:
        """Whether its output refers to content that a resume must find unharmed."""
        if self.wait is not None or self.fan is not None:
            return False
        return self.shape.streams or mentions(self.shape.output, cls=Artifact)

    def to_spec(self, input_schema: str) -> StepSpec:
        """The step as data; where nobody said what its failure means, it says FAIL for the time being."""
        settings, output_schema, reads = self.settings, fingerprint(self.shape.output), self._reads()
        return StepSpec(
            name=self.name,
            sort=self.sort,
            effect=self.effect,
            after=settings.after,
            retry=settings.retry.to_spec(),
            timeout=microseconds(settings.timeout),
            queue=settings.queue.name,
            takes_mark=self.shape.takes_mark,
            idempotent=settings.idempotent,
            idempotent_for=None if settings.idempotent_for is None else microseconds(settings.idempotent_for),
            probe=self.probe_spec,
            verifies=self.verify is not None or self._names_artifacts(),
            evidence=settings.evidence,
            accept_unknown=settings.accept_unknown,
            approver=settings.approver,
            on_failure=settings.on_failure or Then.FAIL,
            irreversible=settings.irreversible,
            business_key=settings.effect_key is not None,
            output_schema=output_schema,
            wait=self.wait,
            undo=CHILDREN_UNDO if self.child is not None else None if self.undo is None else self.undo.to_spec(self._shows()),
            stays=settings.stays,
            requires_approval=settings.requires_approval,
            holds=settings.record is not None,
            optional=self.standing.optional,
            condition=name_of_condition(self.standing.condition),
            at_least=settings.at_least,
            rewind=None if settings.rewind is None else settings.rewind.to_spec(),
            budget=None if settings.budget is None else settings.budget.to_spec(),
            tools=tuple(sorted((called(tool), effect.value) for tool, effect in settings.tools.items())),
            fan=self.fan,
            detached=self.detached,
            per_round=settings.per_round,
            once=settings.once,
            reads=tuple(step.name for step in reads),
            code=self._code(input_schema, output_schema, reads),
        )


def first_line(function: Callable[..., object]) -> str:
    """The first sentence of a function's docstring, else its name in words."""
    text = (inspect.getdoc(function) or "").strip()
    if not text:
        return re.sub(r"_+", " ", str(getattr(function, "__name__", ""))).strip()
    return text.splitlines()[0].strip()
