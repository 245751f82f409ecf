"""A second opinion about a graph: what becomes of each step if nothing comes between, told by recursion over what it stands after.

It knows neither records nor facts nor an order of events, and shares no rule with `decide`. It is told how each function of the author
ends, and what persons have said; it answers with the end of every step in every round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from halfway.domain.lifecycle import RecordStatus as S
from halfway.domain.lifecycle import RunStatus
from halfway.domain.spec import FanSpec, StepSpec, Then, WorkflowSpec

Place = tuple[str, int]  # a step in a round


class Out(StrEnum):
    """How a function ends, however often it is interrupted before."""

    OK = "OK"
    FAIL = "FAIL"  # it will not work, and nothing happened
    HALF = "HALF"  # it happened, and then it failed
    BACK = "BACK"  # it fails in the way that sends its run back
    SPENT = "SPENT"  # no attempt ever works


class Holds(StrEnum):
    """What a condition says."""

    YES = "YES"
    NO = "NO"
    RAISES = "RAISES"


class Outs(Protocol):
    """How the functions of an author end, known beforehand."""

    def step(self, name: str, round: int) -> Out: ...

    def condition(self, name: str, round: int) -> Holds: ...

    def items(self, name: str, round: int) -> Sequence[tuple[str, Out | RunStatus]]: ...


@dataclass
class Said:
    """What persons have said of steps that asked them."""

    waived: set[Place] = field(default_factory=set)
    marked: set[Place] = field(default_factory=set)
    again: set[Place] = field(default_factory=set)  # another round, although all were used up


class End(NamedTuple):
    """What became of a step in one round."""

    status: S
    code: str = ""
    asks: bool = False
    fatal: bool = False  # the run fails with it
    undoes: bool = False  # and what is done is undone


WELL = (RunStatus.SUCCESS, RunStatus.PARTIAL_SUCCESS)
WAIVED = End(S.SKIPPED, "WAIVED")
RULED_OUT = End(S.SKIPPED, "CONDITION_NOT_MET")


class Reference:
    """The whole course of a run, worked out at once."""

    def __init__(self, spec: WorkflowSpec, outs: Outs, said: Said) -> None:
        self._spec, self._outs, self._said = spec, outs, said
        self._steps = {step.name: step for step in spec.steps}
        self._before: dict[str, set[str]] = {}
        for step in spec.steps:
            self._before[step.name] = set(step.after).union(*(self._before[one] for one in step.after))
        self.rounds = {step.name: 1 for step in spec.steps}
        self.back: defaultdict[str, int] = defaultdict(int)  # how often a step has sent the run back
        self.ends: dict[Place, End | None] = {}  # None: what it stands after never let it begin
        for step in spec.steps:
            self._settle(step.name)

    @property
    def last(self) -> Mapping[str, End | None]:
        """Of every step the end in its last round."""
        return {name: self.ends[name, round] for name, round in self.rounds.items()}

    @property
    def status(self) -> RunStatus:
        """What the run comes to; MANUAL_REQUIRED if a person has yet to say something."""
        ends = self.last.values()
        if any(end is not None and end.fatal for end in ends):
            return RunStatus.FAILED
        if any(end is not None and end.asks for end in ends):
            return RunStatus.MANUAL_REQUIRED
        whole = all(end is not None and (end == RULED_OUT or (end.status is S.SUCCESS and not end.code)) for end in ends)
        return RunStatus.SUCCESS if whole else RunStatus.PARTIAL_SUCCESS

    def _settle(self, name: str) -> End | None:
        """What becomes of a step once all that stands before it is settled; going back settles that anew."""
        step = self._steps[name]
        while True:
            place = name, self.rounds[name]
            if place in self.ends:
                return self.ends[place]
            before = [(one, self._settle(one)) for one in self._steps if self._leads(one, name)]
            end = self._end(step, place) if all(self.passes(one, end) for one, end in before) else None
            self.ends[place] = end
            if end is None or not self._goes_back(step, place, end):
                return end
            self.back[name] += 1
            for inside in self.between(step):
                kept = self._steps[inside].once and (done := self.ends[inside, self.rounds[inside]]) and done.status is S.SUCCESS
                if not kept:
                    self.rounds[inside] += 1
            for inside in self.between(step)[:-1]:
                self._settle(inside)

    def between(self, last: StepSpec) -> list[str]:
        """What a step that goes back does again: everything on a way from the one to the other."""
        assert last.rewind is not None
        first = last.rewind.to
        return [name for name in self._steps if name in (first, last.name) or (self._leads(first, name) and self._leads(name, last.name))]

    def _leads(self, one: str, other: str) -> bool:
        return one in self._before[other]

    def passes(self, name: str, end: End | None) -> bool:
        """Whether what stands after it may begin."""
        if end is None:
            return False
        if end.status is S.FAILED:
            return self._steps[name].optional and not end.asks
        return end.status is S.SUCCESS or end in (WAIVED, RULED_OUT)

    def _goes_back(self, step: StepSpec, place: Place, end: End) -> bool:
        if step.rewind is None or end.code != Out.BACK:
            return False
        return self.back[step.name] < step.rewind.max or place in self._said.again

    def _end(self, step: StepSpec, place: Place) -> End:
        """The end of its own, and what a person has made of it."""
        end = self._own_end(step, place)
        left = step.rewind is not None and end.code == Out.BACK and self._goes_back(step, place, end)
        if end.status is S.FAILED and not left:
            then = step.rewind.then if step.rewind is not None and end.code == Out.BACK else step.on_failure
            asks = then is Then.MANUAL
            fatal = not asks and not step.optional
            end = end._replace(asks=asks, fatal=fatal, undoes=fatal and then is Then.COMPENSATE)
        if place in self._said.waived:
            return WAIVED
        if place in self._said.marked:
            return End(S.SUCCESS, "PARTLY_SUCCEEDED" if end.code == "ITEMS_FAILED" else "")
        return end

    def _own_end(self, step: StepSpec, place: Place) -> End:
        if step.condition:
            holds = self._outs.condition(*place)
            if holds is Holds.RAISES:
                return End(S.FAILED, "CONDITION")
            if holds is Holds.NO:
                return RULED_OUT
        if step.at_least is not None:
            through = [name for name in step.after if self._steps[name].optional and self._has_succeeded(name)]
            if len(through) < step.at_least:
                return End(S.FAILED, "TOO_FEW_SUCCEEDED")
        out = self._outs.step(*place)
        if out is not Out.OK:
            return End(S.FAILED, out.value)
        return End(S.SUCCESS) if step.fan is None else self._many(step.fan, [out for _, out in self._outs.items(*place)])

    def _has_succeeded(self, name: str) -> bool:
        end = self.ends[name, self.rounds[name]]
        return end is not None and end.status is S.SUCCESS

    def _many(self, fan: FanSpec, outs: Sequence[Out | RunStatus]) -> End:
        """As many as are done well, against the two thresholds."""
        well = sum(1 for out in outs if out is Out.OK or out in WELL)
        if well == len(outs):
            partly = any(out is RunStatus.PARTIAL_SUCCESS for out in outs)
            return End(S.SUCCESS, "PARTLY_SUCCEEDED") if partly else End(S.SUCCESS)
        if well >= fan.partial_from * len(outs):
            return End(S.SUCCESS, "PARTLY_SUCCEEDED")
        if well < fan.failed_below * len(outs):
            return End(S.FAILED, "ITEMS_FAILED")
        return End(S.WAITING, "ITEMS_FAILED", asks=True)
