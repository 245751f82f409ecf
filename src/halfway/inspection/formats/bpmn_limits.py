"""What ends an activity of a BPMN process that hangs, or tells of it: a timer at it, around it or beside it, a limit of its own."""

from __future__ import annotations

from halfway.inspection.formats.bpmn_graph import SCOPES, Process
from halfway.inspection.formats.bpmn_tasks import inputs, is_external
from halfway.inspection.formats.durations import seconds
from halfway.inspection.formats.xml_tree import Element

# In Camunda 7 their code runs inside the transaction of the engine: a timer fires when it is over.
_IN_PROCESS = frozenset({"serviceTask", "sendTask", "scriptTask", "businessRuleTask"})
# Events have no place for a timer; what hangs in a process that is called is told there.
_ENDLESS = frozenset({"intermediateThrowEvent", "endEvent", "callActivity"})


def timer_of(process: Process, node: Element) -> tuple[float | None, Element] | None:
    """The timer that ends an activity."""
    for event in process.boundaries(node):
        timer = event.child("timerEventDefinition")
        if timer is not None and event.get("cancelActivity") != "false":
            length = timer.child("timeDuration")
            # A date or an expression is an end too, only its length cannot be read.
            return (seconds(length.text) if length is not None else None), event
    return None


def may_hang(process: Process, node: Element, zeebe: bool) -> bool:
    """Whether nothing ends it or tells of it, where something could."""
    if (
        node.name in _ENDLESS
        or node.child("timerEventDefinition") is not None
        or _is_timed(process, node)
        or _is_timed_around(process, node)
        or _is_told_elsewhere(process, node)
        or _has_own_limit(node)
    ):
        return False
    return zeebe or node.name not in _IN_PROCESS or is_external(node)


def waits_for(process: Process, node: Element) -> tuple[Element, ...]:
    """What is waited for together with an event, of which the first that comes ends the wait."""
    return process.alternatives.get(node.get("id"), ())


def _is_timed(process: Process, node: Element) -> bool:
    """Whether a timer ends it, or starts something beside it: then it has no end, but somebody learns of it."""
    return any(event.child("timerEventDefinition") is not None for event in process.boundaries(node))


def _is_timed_around(process: Process, node: Element) -> bool:
    """Whether the same is so of something that an activity is a part of."""
    around = node.parent
    while around is not None:
        if _is_timed_beside(around) or (around.name in SCOPES and _is_timed(process, around)):
            return True
        around = around.parent
    return False


def _is_timed_beside(around: Element) -> bool:
    """Whether a part of its own begins by a timer, whatever is going on: it ends the rest, or tells of it."""
    starts = [one.child("startEvent") for one in around.children if one.get("triggeredByEvent") == "true"]
    return any(one is not None and one.child("timerEventDefinition") is not None for one in starts)


def _is_told_elsewhere(process: Process, node: Element) -> bool:
    """Whether a timer is among what is waited for together with an event, or the wait is told of at the first of them."""
    together = waits_for(process, node)
    return bool(together) and (together[0] is not node or any(one.child("timerEventDefinition") is not None for one in together))


def _has_own_limit(node: Element) -> bool:
    """Whether a limit of time is among what a connector or a worker is handed."""
    given = {name: one.get("source") or one.text for name, one in inputs(node).items()}
    given |= {one.get("key"): one.get("value") for one in node.all("header")}
    return any(name.rpartition(".")[2].lower() == "timeout" and said.strip() for name, said in given.items())
