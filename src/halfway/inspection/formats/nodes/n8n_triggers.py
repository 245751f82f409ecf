"""What starts a workflow of n8n, how often, and what that repeats."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.model import Repeater, Repeating, Span, Starting, Trigger
from halfway.inspection.source import Node

_OF_A_PERSON = frozenset({"formtrigger", "chattrigger"})
"""Starts that a browser makes: nobody delivers them again but the person who sits there."""
_CRON = {"everyMinute": "minutes", "everyHour": "hours", "everyDay": "days", "everyWeek": "weeks", "everyMonth": "months"}


def kind_of(node: Node) -> Starting:
    """What sort of start a trigger is; most of n8n's are events that a vendor sends."""
    short, triggers = drawn.short(node), drawn.table()["triggers"]
    if node.get("parameters", "pollTimes") or short in triggers["poll"]:
        return Starting.POLL
    for name, kind in (("manual", Starting.MANUAL), ("call", Starting.CALL), ("schedule", Starting.SCHEDULE)):
        if short in triggers[name]:
            return kind
    return Starting.EVENT


def again(node: Node, span: Span) -> Iterator[Repeater]:
    """What a trigger does again. A poll hands over a record once: n8n keeps how far it is before the run begins."""
    match kind_of(node):
        case Starting.EVENT if drawn.short(node) in _OF_A_PERSON or _is_asked(node):
            yield Repeater(Repeating.MANUAL, False, None, span)
        case Starting.EVENT if drawn.short(node) in drawn.table()["triggers"]["watched"]:
            return
        case Starting.EVENT:
            yield Repeater(Repeating.REDELIVERY, True, None, span)
        case Starting.SCHEDULE:
            yield Repeater(Repeating.SCHEDULE, True, None, span)
        case Starting.MANUAL:
            yield Repeater(Repeating.MANUAL, False, None, span)
        case _:
            return


def _is_asked(node: Node) -> bool:
    """Whether somebody fetches an answer from a webhook and waits for it: no event is delivered so, and none delivered again."""
    given = node.get("parameters")
    # Where an export says no method it is GET as well, but much that is posted is drawn so.
    fetched = drawn.short(node) == "webhook" and given.get("httpMethod").text == "GET"
    return fetched and given.get("responseMode").text in ("responseNode", "lastNode", "streaming")


def triggers_of(drawing: Drawing) -> Iterator[Trigger]:
    """The triggers of a workflow; one that waits for failures of others, or for calls from here, starts nothing of its own."""
    inside = set(drawing.own_starts) if any(drawing.calls_itself(name) for name in drawing.nodes) else set[str]()
    for name in drawing.triggers:
        node = drawing.nodes[name]
        if drawing.role(name, "errors") or name in inside:
            continue
        yield Trigger(kind_of(node), drawn.place(node), parts.entries(node, "name", "type"), _inputs(node), period_of(node))


def _inputs(node: Node) -> tuple[str, ...]:
    """What a person is asked for by a form."""
    fields = node.get("parameters", "formFields", "values")
    return tuple(one.get("fieldLabel").text for one in fields.each() if one.get("fieldLabel").text)


def period_of(node: Node) -> float | None:
    """Seconds between two starts, where they are said plainly; of several the shortest."""
    found: list[float] = []
    for one in node.get("parameters", "rule", "interval").each():
        field = one.get("field").text or "days"
        length = drawn.table()["periods"].get(field)
        if length is not None:
            usual = drawn.table()["intervals"].get(field, 1)
            found.append(length * (one.get(f"{field}Interval").number or usual))
    for one in node.get("parameters", "triggerTimes", "item").each():
        unit = _CRON.get(one.get("mode").text or "everyDay")
        if unit is not None:
            found.append(float(drawn.table()["periods"][unit]))
    if drawn.short(node) == "interval":
        unit = node.get("parameters", "unit").text or "seconds"
        found.append((node.get("parameters", "interval").number or 1) * drawn.table()["periods"].get(unit, 1))
    return min(found, default=None)
