"""What can be taken back, and on which way of a failure it is."""

from __future__ import annotations

from collections.abc import Collection

from halfway.inspection.model import Kind, Reversible, Step
from halfway.inspection.rules.common import is_message, kinds
from halfway.inspection.ways import Ways

TAKEN_BACK = frozenset({Kind.MONEY, Kind.RECORD, Kind.CREATE, Kind.DEPLOY})
EVENTS = frozenset({"intermediateThrowEvent", "endEvent"})  # of a diagram
QUEUED = frozenset({Kind.ENQUEUE})
REVERSIBLE = frozenset({Reversible.YES, Reversible.WINDOW, Reversible.FORWARD})


def undoable(step: Step) -> bool:
    """Whether the effect is of a kind that is taken back, and can be; money is given back one way or another."""
    if step.effect is None or not kinds(step) & TAKEN_BACK:
        return False
    return step.effect.reversible in REVERSIBLE or (step.effect.reversible is Reversible.UNKNOWN and Kind.MONEY in kinds(step))


def matters_later(step: Step) -> bool:
    """Whether a failure of it leaves the whole unfinished; a message that is not sent, to people or a queue, does not."""
    event = step.extra.get("type") in EVENTS and Kind.ENQUEUE in kinds(step)
    return not is_message(step) and kinds(step) != QUEUED and not event


def covered(ways: Ways, step: Step, branch: Collection[str]) -> bool:
    """Whether the effect is taken back on this way; what no edge leads to is called by the engine."""
    if step.undo is None or not step.undo.reached:
        return False
    named = [one for one in ways.named(step.undo.step) if ways.entered(one)]
    return not named or any(one.id in branch for one in named)
