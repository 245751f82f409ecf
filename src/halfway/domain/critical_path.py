"""Which steps made a run take as long as it did: from its last step back, each time to the one that it had waited for longest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from halfway.domain.run import Key, Kind, Record
from halfway.domain.spec import WorkflowSpec


class Leg(NamedTuple):
    """A step on the critical path. Whoever makes another step faster does not make the run faster."""

    step: str
    round: int
    waited: int  # microseconds from the end of the leg before it, or from the start of the run, until it began
    took: int  # microseconds from its first attempt to its end, with retries and whatever it waited for


def critical_path(spec: WorkflowSpec, records: Iterable[Record], started_at: int) -> tuple[Leg, ...]:
    """The legs in the order in which they were gone; empty when no step has run to its end."""
    spans: dict[Key, tuple[int, int]] = {
        one.key: (one.started_at, one.ended_at)
        for one in records
        if one.key.kind is Kind.STEP and not one.key.item and one.started_at is not None and one.ended_at is not None
    }
    if not spans:
        return ()
    path = [max(spans, key=lambda key: (spans[key][1], spec.order[key.step], key.round))]
    while (before := _held_back_by(spec, path, spans)) is not None:
        path.append(before)
    path.reverse()
    ends = [started_at, *(spans[key][1] for key in path)]
    return tuple(
        Leg(key.step, key.round, max(0, spans[key][0] - end), spans[key][1] - spans[key][0]) for key, end in zip(path, ends, strict=False)
    )


def _held_back_by(spec: WorkflowSpec, path: Sequence[Key], spans: Mapping[Key, tuple[int, int]]) -> Key | None:
    """The last one to end before the earliest leg began, of the steps it stands after and of those that sent the run back to it."""
    first = path[-1]
    known = {step.name for step in spec.steps if step.rewind is not None and step.rewind.to == first.step}
    known |= _stands_after(spec, first.step, {key.step for key in spans})
    before = [key for key in spans if key.step in known and spans[key][1] <= spans[first][0] and key not in path]
    return max(before, key=lambda key: (spans[key][1], spec.order[key.step], key.round), default=None)


def _stands_after(spec: WorkflowSpec, step: str, ran: Set[str]) -> set[str]:
    """The steps before it; of one that was left out, those before that one."""
    found: set[str] = set()
    for before in spec.by_name[step].after:
        found |= {before} if before in ran else _stands_after(spec, before, ran)
    return found
