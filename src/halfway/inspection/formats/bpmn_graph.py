"""The graph of a BPMN process: its nodes in the order in which they run, who follows whom, and which compensations are triggered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from halfway.inspection.formats.asl_graph import cyclic_names, postorder, ways
from halfway.inspection.formats.xml_tree import Element
from halfway.inspection.model import Edge, When

ACTIVITIES = frozenset({
    "serviceTask", "sendTask", "scriptTask", "businessRuleTask", "callActivity", "userTask", "manualTask", "receiveTask",
    "task",
})  # fmt: skip
SCOPES = frozenset({"subProcess", "transaction", "adHocSubProcess"})
_EVENTS = frozenset({"startEvent", "endEvent", "boundaryEvent", "intermediateThrowEvent", "intermediateCatchEvent"})
_GATEWAYS = frozenset({"exclusiveGateway", "inclusiveGateway", "parallelGateway", "eventBasedGateway", "complexGateway"})
_NODES = ACTIVITIES | SCOPES | _EVENTS | _GATEWAYS
_FAILURES = (
    "errorEventDefinition",
    "timerEventDefinition",
    "escalationEventDefinition",
    "cancelEventDefinition",
    "compensateEventDefinition",
)
Links = dict[str, list[tuple[str, When]]]


@dataclass(frozen=True)
class Process:
    """One process."""

    element: Element
    nodes: tuple[Element, ...]
    links: Links
    conditions: Mapping[str, str]
    reached: frozenset[str]  # from where it begins
    failing: frozenset[str]
    cyclic: frozenset[str]
    called: frozenset[str]  # the ids of processes in the same file
    attached: Mapping[str, tuple[Element, ...]] = field(default_factory=dict[str, tuple[Element, ...]])
    handlers: Mapping[str, Element] = field(default_factory=dict[str, Element])
    throws: tuple[Element, ...] = ()
    by_id: Mapping[str, Element] = field(default_factory=dict[str, Element])
    alternatives: Mapping[str, tuple[Element, ...]] = field(default_factory=dict[str, tuple[Element, ...]])  # by each, all of a gateway

    def boundaries(self, node: Element) -> tuple[Element, ...]:
        """The events at the boundary of a node."""
        return self.attached.get(node.get("id"), ())

    def handler(self, boundary: Element) -> Element | None:
        """The activity that is associated with a compensation event."""
        return self.handlers.get(boundary.get("id"))

    def after(self, node: Element) -> list[Element]:
        """What follows a node directly."""
        return [self.by_id[name] for name, _ in self.links.get(node.get("id"), ()) if name in self.by_id]

    def starts(self) -> list[Element]:
        """Where it begins; a part of its own has other starts."""
        return [one for one in self.element.children if one.name == "startEvent"]

    def is_compensated(self, node: Element) -> bool:
        """Whether something throws to the compensation of an activity: at it, or in a scope that holds it."""
        return any(_compensates(throw, node) for throw in self.throws)


def process_of(element: Element, called: frozenset[str]) -> Process:
    """The graph of a process."""
    nodes = {node.get("id"): node for node in element.all(*_NODES) if node.get("id")}
    attached: dict[str, list[Element]] = {}
    for node in nodes.values():
        if node.name == "boundaryEvent":
            attached.setdefault(node.get("attachedToRef"), []).append(node)
    links, conditions = _links(element, nodes, attached)
    handlers = {
        one.get("sourceRef"): nodes[one.get("targetRef")]
        for one in element.all("association")
        if one.get("targetRef") in nodes and nodes[one.get("targetRef")].get("isForCompensation") == "true"
    }
    incoming = {name for following in links.values() for name, _ in following}
    throws = tuple(node for node in nodes.values() if _throws(node) and node.get("id") in incoming)
    for throw in throws:
        hosts = {boundary: nodes.get(nodes[boundary].get("attachedToRef")) for boundary in handlers if boundary in nodes}
        undone = [boundary for boundary, host in hosts.items() if host is not None and _compensates(throw, host)]
        # What was done last is taken back first.
        links[throw.get("id")] += [(handlers[boundary].get("id"), When.SUCCESS) for boundary in reversed(undone)]
    starts = [one.get("id") for one in nodes.values() if one.name == "startEvent" and one.parent is element]
    order = list(reversed(postorder(links, starts)))
    reached = frozenset(order)
    plain = {name: [link for link in following if link[1] is When.SUCCESS] for name, following in links.items()}
    succeeding = frozenset(postorder(plain, starts))
    order += [name for name in nodes if name not in reached]
    return Process(
        element=element,
        nodes=tuple(nodes[name] for name in order),
        links=links,
        conditions=conditions,
        reached=reached,
        failing=reached - succeeding,
        cyclic=cyclic_names(links),
        called=called,
        attached={name: tuple(found) for name, found in attached.items()},
        handlers=handlers,
        throws=throws,
        by_id=nodes,
        alternatives=_alternatives(nodes, links),
    )


def _alternatives(nodes: Mapping[str, Element], links: Links) -> dict[str, tuple[Element, ...]]:
    """What a gateway waits for together, in the order of the file: the first that comes goes on, and the others do not."""
    found: dict[str, tuple[Element, ...]] = {}
    for name, node in nodes.items():
        if node.name == "eventBasedGateway":
            targets = {target for target, _ in links[name]}
            together = tuple(sorted((nodes[target] for target in targets), key=lambda one: one.span))
            found |= {target: together for target in targets if len(together) > 1}
    return found


def connected(process: Process, steps: frozenset[str]) -> tuple[Edge, ...]:
    """The edges between steps; gateways, events and scopes are passed through."""
    return ways(process.links, [name for node in process.nodes if (name := node.get("id")) in steps], steps)


def _links(element: Element, nodes: Mapping[str, Element], attached: Mapping[str, list[Element]]) -> tuple[Links, dict[str, str]]:
    links: Links = {name: [] for name in nodes}
    conditions: dict[str, str] = {}
    for flow in element.all("sequenceFlow"):
        source, target = flow.get("sourceRef"), flow.get("targetRef")
        if source in nodes and target in nodes:
            links[source].append((target, When.SUCCESS))
            condition = flow.child("conditionExpression")
            if condition is not None:
                conditions.setdefault(target, condition.text.strip())
    for name, node in nodes.items():
        if node.name in SCOPES:
            _nest(links, name, node, nodes)
    for host, events in attached.items():
        inside = [name for name, node in nodes.items() if any(one.get("id") == host for one in _around(node)) and node.name in ACTIVITIES]
        for event in events:
            fails = event.child(*_FAILURES) is not None
            # A compensation event leads to its handler only, which is said by an association.
            if event.child("compensateEventDefinition") is None:
                for name in (host, *inside):
                    links.get(name, []).append((event.get("id"), When.ERROR if fails else When.SUCCESS))
    return links, conditions


def _nest(links: Links, name: str, scope: Element, nodes: Mapping[str, Element]) -> None:
    """Leads from a scope into its start, and from its ends to what follows it."""
    onward = list(links[name])
    starts = [one.get("id") for one in scope.children if one.name == "startEvent"]
    ends = [one for one in scope.children if one.name == "endEvent" and one.child("errorEventDefinition", "cancelEventDefinition") is None]
    if scope.get("triggeredByEvent") == "true" or not starts or not all(one in nodes for one in starts):
        return
    links[name] = [(one, When.SUCCESS) for one in starts]
    for end in ends:
        if end.get("id") in nodes:
            links[end.get("id")] += onward


def _throws(node: Element) -> bool:
    if node.name not in ("intermediateThrowEvent", "endEvent"):
        return False
    return node.child("compensateEventDefinition", "cancelEventDefinition") is not None


def _compensates(throw: Element, node: Element) -> bool:
    """Whether an event has an activity taken back: it names it, or the scope that holds it, or it is thrown in that scope."""
    around = list(_around(node))
    definition = throw.child("compensateEventDefinition")
    reference = definition.get("activityRef") if definition is not None else ""
    if reference:
        return reference == node.get("id") or any(reference == one.get("id") for one in around)
    scope = _scope_of(throw)
    return any(scope is one for one in around)


def _around(node: Element) -> Iterator[Element]:
    """The scopes that hold a node, the innermost first, up to the process."""
    current = node.parent
    while current is not None:
        if current.name in SCOPES or current.name == "process":
            yield current
        current = current.parent


def _scope_of(throw: Element) -> Element | None:
    """What a throw without a reference compensates: its scope; from an event subprocess the one around it."""
    scopes = list(_around(throw))
    if len(scopes) > 1 and scopes[0].get("triggeredByEvent") == "true":
        return scopes[1]
    return scopes[0] if scopes else None
