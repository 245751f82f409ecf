"""Where it is said that something is done again, in the words of the trigger when it is the trigger that does."""

from __future__ import annotations

from halfway.inspection.model import Fact, Flow, Repeater, Step
from halfway.inspection.rules.common import again_at


def repeated_at(flow: Flow, repeater: Repeater, step: Step) -> tuple[Fact, ...]:
    """The place of the repeater, with the quote of the trigger or of the step that stands there."""
    place = repeater.span.file, repeater.span.line
    starts = tuple(Fact(one.span, one.quote) for one in flow.triggers if one.quote and (one.span.file, one.span.line) == place)
    return starts or again_at(repeater, step)
