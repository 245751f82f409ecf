"""What is true of one step: whether it may be repeated, by whom it is, what takes it back. Pure; every answer says why."""

from __future__ import annotations

from enum import StrEnum

from halfway.inspection.finding import Said
from halfway.inspection.model import Bearing, Flow, Kind, Receiver, Repeat, Repeater, Reversible, Step


class Repeatable(StrEnum):
    """Whether a second time does no harm."""

    PROVEN = "proven"
    GUARDED = "guarded"  # refused, merged or looked for first
    NO = "no"
    UNKNOWN = "unknown"


class Category(StrEnum):
    """How what is half done is dealt with."""

    CANCEL = "cancel"
    MARK = "mark for review"
    CORRECT = "correct"
    QUARANTINE = "quarantine"
    HAND_OVER = "hand over"


IDENTIFIED = (Bearing.STABLE, Bearing.NATURAL)
# Money and permissions weigh more than a message, a message to a customer more than a deployment that can be rolled back.
WEIGHTS = {
    Kind.MONEY: 5, Kind.PERMISSION: 5, Kind.RECORD: 4, Kind.AGENT: 4, Kind.PUBLISH: 3, Kind.DELETE: 3, Kind.DEPLOY: 2, Kind.CREATE: 2,
    Kind.GIT: 1, Kind.FILE: 1, Kind.ENQUEUE: 1, Kind.UNKNOWN: 1, Kind.READ: 0,
}  # fmt: skip


BY_NATURE = {
    Repeat.MERGES: (Repeatable.GUARDED, Said("a second call updates what is there")),
    Repeat.DUPLICATES: (Repeatable.NO, Said("a second call makes a second one")),
    Repeat.UNKNOWN: (Repeatable.UNKNOWN, Said("nobody knows what a second call does")),
}


def repeatable(step: Step) -> tuple[Repeatable, Said]:
    """Whether the step may be done again, and why that is said."""
    effect = step.effect
    if effect is None or not effect.outward:
        return Repeatable.PROVEN, Said("it changes nothing outside")
    if effect.repeat is Repeat.SAFE:
        return Repeatable.PROVEN, Said("a second call has no further effect")
    if effect.repeat is Repeat.WITH_KEY and step.identity is not None and step.identity.bearing in IDENTIFIED:
        return Repeatable.PROVEN, Said("it carries a key that stays the same: {key}", {"key": step.identity.expression})
    if step.guard is not None:
        return Repeatable.GUARDED, Said("it is looked for first, in line {line}", {"line": step.guard.line})
    if effect.repeat is Repeat.REJECTS:
        return _rejected(step)
    return _keyed(step) if effect.repeat is Repeat.WITH_KEY else BY_NATURE[effect.repeat]


def _rejected(step: Step) -> tuple[Repeatable, Said]:
    if step.identity is not None and step.identity.bearing in (Bearing.MUTABLE, Bearing.MINTED):
        return Repeatable.NO, Said("each attempt makes another name, so nothing is refused: {name}", {"name": step.identity.expression})
    return Repeatable.GUARDED, Said("the receiver refuses a second one, and the step then fails")


def _keyed(step: Step) -> tuple[Repeatable, Said]:
    bearing = Bearing.NONE if step.identity is None else step.identity.bearing
    if bearing is Bearing.UNKNOWN:
        return Repeatable.UNKNOWN, Said("where its key comes from cannot be traced")
    if bearing is Bearing.NONE:
        return Repeatable.NO, Said("the receiver would take a key, and none is sent")
    return Repeatable.NO, Said("its key is made anew by each attempt")


def automatic(step: Step) -> tuple[Repeater, ...]:
    """Who repeats it without anybody having asked."""
    return tuple(one for one in step.repeaters if one.automatic)


def to_customer(step: Step) -> bool:
    """Whether somebody outside may hear of it; unknown counts as outside."""
    return step.effect is not None and Kind.NOTIFY in step.effect.kinds and step.effect.receiver is not Receiver.TEAM


def weight(step: Step | None) -> int:
    """How much what it does matters."""
    if step is None or step.effect is None:
        return 0
    notice = (4 if to_customer(step) else 2) if Kind.NOTIFY in step.effect.kinds else 0
    return max([notice, *(WEIGHTS.get(kind, 0) for kind in step.effect.kinds if kind is not Kind.NOTIFY)])


def category(step: Step) -> Category:
    """What to do about it when it is half done."""
    assert step.effect is not None
    kinds = step.effect.kinds
    if kinds & {Kind.MONEY, Kind.RECORD, Kind.PERMISSION, Kind.UNKNOWN}:
        return Category.HAND_OVER
    if Kind.AGENT in kinds:
        return Category.QUARANTINE
    if Kind.NOTIFY in kinds:
        return Category.MARK
    if step.effect.reversible in (Reversible.NO, Reversible.FORWARD):
        return Category.CORRECT
    return Category.CANCEL if step.kept or step.undo is not None else Category.MARK


def outward(flow: Flow) -> tuple[Step, ...]:
    """The steps that change something outside."""
    return tuple(step for step in flow.steps if step.effect is not None and step.effect.outward)
