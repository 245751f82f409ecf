"""Random graphs, and how each of their functions ends: everything about a walk that does not depend on what comes between."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from halfway.authoring.building import check_loops
from halfway.domain.lifecycle import RunStatus
from halfway.domain.spec import SECOND, Effect, FanSpec, RetrySpec, RewindSpec, Risk, Sort, StepSpec, Then, UndoSpec, WorkflowSpec
from halfway.errors import DefinitionError
from tests.domain.reference import Holds, Out
from tests.domain.world import PROBE, step, workflow
from tests.domain.world_undo import LOSSY, undo

RETRY = RetrySpec(attempts=3, wait=SECOND)
SHARES = ((1.0, 1.0), (0.5, 0.5), (0.75, 0.25), (1.0, 0.5), (0.5, 0.0))  # from where on it is a partial success, below which a failure
CHILDREN_UNDO = UndoSpec(risk=Risk.LOW, effect=None)


class Graph:
    """A random definition: joins, conditions, loops in loops, items and children."""

    def __init__(self, seed: int, *, most: int = 12) -> None:
        self.r = random.Random(f"graph {seed}")
        steps: list[StepSpec] = []
        for number in range(self.r.randint(1, most)):
            steps.append(self._step(f"S{number}", steps))
        self.spec = workflow(*steps, on_failure=Then.FAIL)
        for _ in range(self.r.choice([0, 3, 8, 20])):  # most of them are none that an author may declare
            self._add_loop()

    def _step(self, name: str, before: list[StepSpec]) -> StepSpec:
        r = self.r
        near = [one.name for one in before[-4:]]
        after = tuple(sorted(r.sample(near, min(len(near), r.choice([0, 1, 1, 1, 2, 3])))))
        optional = r.random() < 0.25
        place = {
            "after": after, "optional": optional, "condition": "asks" if r.random() < 0.2 else "", "retry": RETRY,
            "on_failure": Then.FAIL if optional else r.choice([Then.FAIL, Then.FAIL, Then.MANUAL, Then.COMPENSATE]),
        }  # fmt: skip
        lax = [one for one in before if one.name in after and one.optional]
        if lax and r.random() < 0.6:
            place["at_least"] = r.randint(1, len(lax))
        return r.choice([self._plain, self._plain, self._plain, self._each, self._children])(name, place)

    def _plain(self, name: str, place: dict[str, object]) -> StepSpec:
        return step(name, **self._effect([None, Effect.READ, Effect.READ, *LOSSY]), **place)

    def _effect(self, effects: Sequence[Effect | None]) -> dict[str, object]:
        r, effect = self.r, self.r.choice(effects)
        lossy = effect in LOSSY
        found: dict[str, object] = {
            "effect": effect, "takes_mark": lossy and r.random() < 0.5, "idempotent": lossy and r.random() < 0.2,
            "probe": PROBE if lossy and r.random() < 0.6 else None, "evidence": "log", "timeout": 20 * SECOND,
        }  # fmt: skip
        if effect is Effect.READ or r.random() < 0.15:
            return found
        if r.random() < 0.15:
            return found | {"stays": "it harms nobody"}
        risk = r.choice([Risk.LOW, Risk.LOW, Risk.LOW, Risk.HIGH])
        made = undo(None, risk) if effect is None else undo(r.choice(LOSSY), risk, probe=PROBE if r.random() < 0.6 else None)
        return found | {"undo": made}

    def _fan(self) -> FanSpec:
        enough, too_few = self.r.choice(SHARES)
        return FanSpec(items="", concurrency=self.r.choice([None, None, 1, 2]), partial_from=enough, failed_below=too_few)

    def _each(self, name: str, place: dict[str, object]) -> StepSpec:
        plain = step(name, **self._effect([Effect.READ, *LOSSY]), **place)
        return replace(plain, sort=Sort.EACH, fan=self._fan())

    def _children(self, name: str, place: dict[str, object]) -> StepSpec:
        plain = step(name, None, timeout=20 * SECOND, **place)
        return replace(plain, sort=Sort.CHILDREN, fan=self._fan(), undo=CHILDREN_UNDO, detached=self.r.random() < 0.15, stays="they go on")

    def _add_loop(self) -> None:
        """From any step back to any that stands before it, if that is a loop that an author may declare."""
        r, spec = self.r, self.spec
        ends = [one for one in spec.steps if one.fan is None and one.rewind is None and spec.ancestors[one.name]]
        if not ends:
            return
        last = r.choice(ends)
        to = r.choice(sorted(spec.ancestors[last.name]))
        rewind = RewindSpec(to=to, max=r.randint(1, 3), on=(Out.BACK.value,), then=r.choice([Then.MANUAL, Then.FAIL, Then.COMPENSATE]))
        looped = self._with(spec, last.name, rewind=rewind)
        for name in looped.loops[last.name]:
            once = looped.by_name[name].once or (not looped.by_name[name].per_round and r.random() < 0.3)
            looped = self._with(looped, name, once=once, per_round=not once)
        try:
            check_loops(looped)
        except DefinitionError:
            return
        self.spec = looped

    def _with(self, spec: WorkflowSpec, name: str, **changes: object) -> WorkflowSpec:
        return replace(spec, steps=tuple(replace(one, **changes) if one.name == name else one for one in spec.steps))  # type: ignore[arg-type]


class Script:
    """How each function ends. The same function ends the same way whenever, and however often, it is called in a round."""

    def __init__(self, seed: int, spec: WorkflowSpec) -> None:
        self._seed, self._spec = seed, spec
        self._luck = self._of("luck").choice([0.0, 0.03, 0.03, 0.12])  # how likely a step fails

    def _of(self, *what: object) -> random.Random:
        return random.Random(f"script {self._seed} {what}")

    def step(self, name: str, round: int) -> Out:
        spec, r = self._spec.by_name[name], self._of("step", name, round)
        if spec.rewind is not None and r.random() < 0.45:
            return Out.BACK
        return self._out(r, half=spec.can_be_lost, luck=self._luck * (3 if spec.optional else 1))

    def _out(self, r: random.Random, *, half: bool, luck: float) -> Out:
        if r.random() >= luck:
            return Out.OK
        return r.choice([Out.FAIL, Out.FAIL, Out.SPENT, Out.HALF if half else Out.FAIL])

    def condition(self, name: str, round: int) -> Holds:
        x = self._of("condition", name, round).random()
        return Holds.RAISES if x < self._luck else Holds.NO if x < 0.35 else Holds.YES

    def items(self, name: str, round: int) -> Sequence[tuple[str, Out | RunStatus]]:
        spec, r = self._spec.by_name[name], self._of("items", name, round)
        names = [r.choice(["x", "y", "", "None"]) for _ in range(r.choice([0, 1, 2, 3, 5]))]
        keys = [name if name not in names[:place] else f"{name}#{names[: place + 1].count(name)}" for place, name in enumerate(names)]
        return [(f"k{key}", self.child(r) if spec.sort is Sort.CHILDREN else self._item(r, spec)) for key in keys]

    def _item(self, r: random.Random, spec: StepSpec) -> Out:
        return self._out(r, half=spec.of_item.can_be_lost, luck=0.25 if self._luck else 0.0)

    def child(self, r: random.Random) -> RunStatus:
        if not self._luck or r.random() < 0.7:
            return RunStatus.SUCCESS
        return r.choice([RunStatus.PARTIAL_SUCCESS, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.EXPIRED, RunStatus.COMPENSATED])

    def undo(self, name: str, round: int, item: str) -> Out:
        return Out.OK if self._of("undo", name, round, item).random() < 0.9 else Out.FAIL

    def person(self, name: str, round: int) -> str:
        """What a person says who is asked what a failure means."""
        return self._of("person", name, round).choice(["mark", "waive", "again", "again"])
