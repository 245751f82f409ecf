"""Puts the steps of one flow in order: what matters of the rest is one step, ids are unique, edges say what follows what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from halfway.inspection.model import Edge, Step, When
from halfway.inspection.quoting import safe

FURTHEST = 50  # steps back that the way of a failure is drawn from


@dataclass(frozen=True)
class Draft:
    """A step before it has its place."""

    step: Step
    when: When = When.SUCCESS  # on which ending of what stands before it in its unit
    wide: bool = False  # the failure of anything before it leads here, not only that of the one before


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
    line: list[str] = []
    failing = ""
    for draft in drafts:
        id = draft.step.id
        if draft.when is When.SUCCESS:
            yield from (Edge(before, id) for before in line[-1:])
        elif draft.when is When.ALWAYS:
            yield from (Edge(before, id, When.ALWAYS) for before in line[-FURTHEST:])
        else:
            yield from (Edge(before, id, When.ERROR) for before in line[-FURTHEST if draft.wide else -1 :])
            yield from (Edge(before, id) for before in [failing] if before)
            failing = id
            continue
        failing = ""
        line.append(id)


def ends(drafts: Sequence[Draft]) -> list[str]:
    """The last step of the way of a success."""
    return [draft.step.id for draft in drafts if draft.when is not When.ERROR][-1:]
