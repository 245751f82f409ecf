"""Puts the steps of one flow in order: what matters of the rest is one step, ids are unique, edges say what follows what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from halfway.inspection.model import Edge, Span, Step, When
from halfway.inspection.quoting import safe

MOST_BRANCHES = 1_000  # steps back that the ways through the branches of a script are followed
_WANTS = re.compile(r"([^\s=!<>()|&]+)(==|!=)('[^']*')")
FURTHEST = 50  # steps back that the way of a failure is drawn from


@dataclass(frozen=True)
class Branch:
    """Where in the branches of one script a step stands: of each `if` around it, by number, which way it is on."""

    script: str = ""
    ways: tuple[tuple[int, int], ...] = ()
    leaves: int = 0  # how many of the ways around it end the script, with what is within them; 0: none
    asked: frozenset[str] = frozenset()  # what all has to hold that stays as it is in one run

    def leads_to(self, other: Branch) -> bool:
        """Whether what stands later in another branch may follow it in one run."""
        if any(exclude(one, two) for one in self.asked for two in other.asked):
            return False
        if self.script != other.script:
            return True
        mine = dict(self.ways)
        if any(mine.get(number, way) != way for number, way in other.ways):
            return False
        return self.ways[: self.leaves] == other.ways[: self.leaves]

    def always_before(self, other: Branch) -> bool:
        """Whether every run that comes to the other has come by here."""
        inside = not self.ways or (self.script == other.script and self.ways == other.ways[: len(self.ways)])
        return inside and self.asked <= other.asked


def exclude(one: str, other: str) -> bool:
    """Whether two conditions never hold together: the one is the other's `not`, or both want another value of the same thing."""
    if one == f"!{other}" or other == f"!{one}":
        return True
    first, second = _WANTS.fullmatch(one), _WANTS.fullmatch(other)
    if first is None or second is None or first[1] != second[1]:
        return False
    return (first[3] != second[3]) if first[2] == second[2] == "==" else (first[3] == second[3] and first[2] != second[2])


@dataclass(frozen=True)
class Draft:
    """A step before it has its place."""

    step: Step
    when: When = When.SUCCESS  # on which ending of what stands before it in its unit
    wide: bool = False  # the failure of anything before it leads here, not only that of the one before
    branch: Branch = Branch()
    since: Span | None = None  # where the one stands whose failure it waits for: what fails before that does not lead here

    def hears(self, before: Draft) -> bool:
        """Whether the failure, or the end, of what stands before it may lead here in one run."""
        span = before.step.span
        early = self.since is not None and span.file == self.since.file and span.line < self.since.line
        return not early and before.branch.leads_to(self.branch)


def slug(text: str, longest: int = 40) -> str:
    """A name as a part of an id."""
    return re.sub(r"[^a-z0-9]+", "-", safe(text).lower()).strip("-")[:longest].strip("-") or "step"


def matters(step: Step) -> bool:
    """Whether it is more than something on this machine that can fail."""
    return (
        step.effect is not None
        or step.opaque is not None
        or bool(step.marks)
        or (step.gate is not None and step.gate.kind != "environment")
    )


def joined(drafts: Iterable[Draft], happened: bool) -> list[Draft]:
    """Steps without an effect count only after something has happened, and those beside each other are one."""
    found: list[Draft] = []
    for draft in drafts:
        step = draft.step
        if matters(step):
            happened = happened or (step.effect is not None and step.effect.outward) or step.opaque is not None
        elif not happened or (found and _one(found[-1], draft)):
            continue
        found.append(draft)
    return found


def _one(before: Draft, after: Draft) -> bool:
    one, other = before.step, after.step
    return not matters(one) and (one.unit, before.when, one.condition, one.on_error) == (
        other.unit,
        after.when,
        other.condition,
        other.on_error,
    )


def happens(drafts: Iterable[Draft]) -> bool:
    """Whether anything of it leaves the machine."""
    return any(draft.step.opaque is not None or (draft.step.effect is not None and draft.step.effect.outward) for draft in drafts)


def numbered(drafts: Sequence[Draft]) -> list[Draft]:
    """With unique ids and their places; scopes that a step needs something of become the ids of its steps."""
    seen: Counter[str] = Counter()
    found: list[Draft] = []
    for order, draft in enumerate(drafts, 1):
        seen[draft.step.id] += 1
        times = seen[draft.step.id]
        id = draft.step.id if times == 1 else f"{draft.step.id}-{times}"
        found.append(replace(draft, step=replace(draft.step, id=id, order=order)))
    within: dict[str, list[str]] = {}
    for draft in found:
        within.setdefault(draft.step.scope.split("#", 1)[0], []).append(draft.step.id)
    return [replace(draft, step=replace(draft.step, needs_output_of=tuple(_ids(draft.step, within)))) for draft in found]


def _ids(step: Step, within: dict[str, list[str]]) -> Iterator[str]:
    for scope in step.needs_output_of:
        yield from (id for id in within.get(scope, ()) if id != step.id)


def edges(drafts: Sequence[Draft]) -> Iterator[Edge]:
    """What follows what within one unit."""
    line: list[Draft] = []
    passed: list[Draft] = []
    failing = ""
    for draft in drafts:
        id = draft.step.id
        if draft.when is When.SUCCESS:
            yield from (Edge(before.step.id, id) for before in _before(passed, draft.branch))
        elif draft.when is When.ALWAYS:
            yield from (Edge(before.step.id, id, When.ALWAYS) for before in line[-FURTHEST:] if before.branch.leads_to(draft.branch))
        else:
            heard = [before for before in line[-FURTHEST if draft.wide else -1 :] if draft.hears(before)]
            yield from (Edge(before.step.id, id, When.ERROR) for before in heard or line[-1:])
            yield from (Edge(before, id) for before in [failing] if before)
            failing = id
            continue
        failing = ""
        line.append(draft)
        passed.append(draft)


def _before(passed: Sequence[Draft], branch: Branch) -> list[Draft]:
    """The last ones of all ways that lead to a branch."""
    found: list[Draft] = []
    for draft in reversed(passed[-MOST_BRANCHES:]):
        if not draft.branch.leads_to(branch):
            continue
        if not any(draft.branch.leads_to(later.branch) for later in found):
            found.append(draft)
        if draft.branch.always_before(branch):
            break
    return found


def ends(drafts: Sequence[Draft]) -> list[str]:
    """The last steps of the ways of a success."""
    return [draft.step.id for draft in _before([one for one in drafts if one.when is not When.ERROR], Branch())]
