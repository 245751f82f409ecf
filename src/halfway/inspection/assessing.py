"""What is true of one step: whether it may be repeated, by whom it is, what takes it back. Pure; every answer says why."""

from __future__ import annotations

from enum import StrEnum

from halfway.inspection.finding import Said
from halfway.inspection.model import Bearing, Effect, Flow, Kind, Receiver, Repeat, Repeater, Repeating, Reversible, Step


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
BY_THE_RECEIVER = {
    Repeat.REJECTS: Said("the receiver refuses a second one, and the step then fails"),
    Repeat.MERGES: Said("a second call updates what is there"),
}
CARRIED = "it carries {key}, and whether the receiver heeds that is not known"
NAMED = "it names {key}, and what a second call does to that is not known"
KEYLESS = Said("the receiver would take a key, and none is sent")
# Money and permissions weigh more than a message, a message to a customer more than a deployment that can be rolled back.
WEIGHTS = {
    Kind.MONEY: 5, Kind.PERMISSION: 5, Kind.RECORD: 4, Kind.AGENT: 4, Kind.PUBLISH: 3, Kind.DELETE: 3, Kind.DEPLOY: 2, Kind.CREATE: 2,
    Kind.GIT: 1, Kind.FILE: 1, Kind.ENQUEUE: 1, Kind.UNKNOWN: 1, Kind.READ: 0,
}  # fmt: skip


def repeatable(step: Step) -> tuple[Repeatable, Said]:
    """Whether the step may be done again, and why that is said."""
    effect, own = step.effect, bearing(step)
    if effect is None or not effect.outward or "looks" in step.extra:
        return Repeatable.PROVEN, Said("it changes nothing outside")
    if effect.repeat is Repeat.SAFE:
        return Repeatable.PROVEN, Said("a second call has no further effect")
    if effect.repeat is Repeat.WITH_KEY and identified(step):
        return Repeatable.PROVEN, Said("it carries a key that stays the same: {key}", {"key": _name(step)})
    if step.guard is not None and own is not Bearing.MUTABLE:  # who looks for a new name never finds the old thing
        return Repeatable.GUARDED, Said("it is looked for first, in line {line}", {"line": step.guard.line})
    if effect.repeat in BY_THE_RECEIVER and own not in (Bearing.MUTABLE, Bearing.MINTED):
        return Repeatable.GUARDED, BY_THE_RECEIVER[effect.repeat]
    return _doubted(step, effect, own)


def _doubted(step: Step, effect: Effect, own: Bearing) -> tuple[Repeatable, Said]:
    if effect.repeat is Repeat.UNKNOWN or not effect.certain:
        return Repeatable.UNKNOWN, Said("nobody knows what a second call does")
    if identified(step):
        # A vendor of which no key is known may heed the identity all the same.
        text = NAMED if own is Bearing.NATURAL else CARRIED
        return Repeatable.UNKNOWN, Said(text, {"key": _name(step)})
    if effect.repeat in BY_THE_RECEIVER:
        return Repeatable.NO, Said("each attempt makes another name, so nothing is refused: {name}", {"name": _name(step)})
    if effect.repeat is not Repeat.WITH_KEY:
        return Repeatable.NO, Said("a second call makes a second one")
    if own is Bearing.UNKNOWN:
        return Repeatable.UNKNOWN, Said("where its key comes from cannot be traced")
    return Repeatable.NO, KEYLESS if own is Bearing.NONE else Said("its key is made anew by each attempt")


def repeatability(step: Step) -> Repeatable:
    """Whether the step may be done again."""
    return repeatable(step)[0]


def bearing(step: Step) -> Bearing:
    """What identity the step carries; a reader that says nothing about it does not know."""
    return step.identity.bearing if step.identity is not None else Bearing.UNKNOWN


def identified(step: Step) -> bool:
    """Whether each attempt carries the same identity."""
    return bearing(step) in IDENTIFIED


def _name(step: Step) -> str:
    return step.identity.expression if step.identity is not None else ""


def automatic(step: Step) -> tuple[Repeater, ...]:
    """Who repeats it without anybody having asked; the next turn of a loop, and the next start of a clock, are about something new."""
    return tuple(one for one in step.repeaters if one.automatic and one.kind not in (Repeating.LOOP, Repeating.SCHEDULE))


def to_customer(step: Step) -> bool:
    """Whether somebody outside may hear of it; unknown counts as outside, where it is there to tell somebody."""
    if step.effect is None or Kind.NOTIFY not in step.effect.kinds:
        return False
    only_tells = step.effect.kinds <= {Kind.NOTIFY, Kind.READ}
    return step.effect.receiver is Receiver.CUSTOMER or (only_tells and step.effect.receiver is Receiver.UNKNOWN)


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
