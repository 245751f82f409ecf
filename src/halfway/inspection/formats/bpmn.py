"""Reads BPMN 2.0 processes of Camunda 7, Camunda 8 and Zeebe: tasks, boundary events, compensation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from halfway.inspection.formats import Given, Reader
from halfway.inspection.formats.bpmn_graph import ACTIVITIES, Process, connected, process_of
from halfway.inspection.formats.bpmn_limits import may_hang, timer_of, waits_for
from halfway.inspection.formats.bpmn_messages import Begun, begun, only_by_message
from halfway.inspection.formats.bpmn_tasks import effect_of, identity_of, inputs, is_external, kept, opaque_of, retries_of, runs_as_job
from halfway.inspection.formats.durations import seconds
from halfway.inspection.formats.wording import is_approval, is_decision, is_notice
from halfway.inspection.formats.xml_tree import Element, tree
from halfway.inspection.model import (
    Edge,
    Effect,
    Flow,
    Gate,
    Kind,
    Mark,
    OnError,
    Repeat,
    Repeater,
    Repeating,
    RunLog,
    Span,
    Starting,
    Step,
    Trigger,
    Undo,
    When,
)
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Source, Unreadable, whole

NAME = "bpmn"
_IMPLEMENTED_BY = ("class", "delegateExpression", "expression", "type", "topic", "implementation", "operationRef")
_ENGINE = re.compile(r"(?i)xmlns:\w+=.http://[^\s>]*(?:camunda|zeebe|flowable|activiti|jboss|drools)")
_ANY_FAILURE = re.compile(r"(?i)fail|timeout|technical|exception|unknown|any|^error_?\w{0,7}$")
_DUPLICATE = re.compile(r"(?i)duplicat|already|exists")
DRAWING = "none of its processes can be executed: it is a drawing, which no engine runs"
CONNECTOR_ENDS_AFTER = 40.0  # seconds; the defaults of a connector of Camunda 8, to connect and to read
_SPACE = "http://www.omg.org/spec/BPMN/20100524/MODEL"
_ASKS = re.compile(r"^(?i:check|verify|validate|fetch)(?![a-z])(?!\W*(?i:out|in)\b)")
_DECIDES = frozenset({"exclusiveGateway", "inclusiveGateway", "businessRuleTask", "userTask"})
_EFFECTLESS = frozenset({"userTask", "manualTask", "receiveTask", "task", "scriptTask", "businessRuleTask", "intermediateCatchEvent"})


@dataclass(frozen=True)
class _Reading:
    source: Source
    given: Given
    process: Process
    zeebe: bool
    errors: Mapping[str, str]  # by the id of an error, its code
    begun: Begun | None  # by another process of the file


class Bpmn:
    """The reader of processes."""

    name = NAME

    def takes(self, source: Source, /) -> bool:
        return _SPACE in source.text and re.search(r"<(?:\w+:)?process\b", source.text) is not None

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        try:
            root = tree(source)
        except Unreadable as error:
            source.unread[NAME] = str(error)
            raise
        zeebe = "http://camunda.org/schema/zeebe/" in source.text
        processes = list(root.all("process"))
        runs = [one for one in processes if one.get("isExecutable") == "true"]
        drawn = "BPMNDiagram" in source.text and _ENGINE.search(source.text) is None
        if processes and all(one.get("isExecutable") == "false" or (drawn and _is_bare(one)) for one in processes):
            source.unread[NAME] = DRAWING
            raise Unreadable(DRAWING)
        called = frozenset(one.get("id") for one in processes)
        # Beside one that runs, a process that does not is a drawing of somebody else's.
        graphs = [process_of(element, called) for element in runs or processes]
        errors = {one.get("id"): one.get("errorCode") for one in root.all("error")}
        others = begun(root, graphs)
        for graph in graphs:
            starts = graph.starts()
            before = others.get(starts[0].get("id")) if len(starts) == 1 else None
            yield _flow(_Reading(source, given, graph, zeebe, errors, before))

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        yield from ()


def _flow(reading: _Reading) -> Flow:
    process, element = reading.process, reading.process.element
    nodes = [node for node in process.nodes if (node.name in ACTIVITIES or _is_message(node)) and not _is_left_over(process, node)]
    steps = [_step(reading, node, order) for order, node in enumerate(nodes)]
    edges = connected(process, frozenset(step.id for step in steps))
    steps = list(_in_units(steps, edges, reading))
    return Flow(
        id=element.get("id"),
        name=element.get("name") or element.get("id"),
        format=NAME,
        file=reading.source.path,
        span=element.span,
        steps=tuple(steps),
        edges=edges,
        triggers=tuple(_triggers(reading)),
        enabled=element.get("isExecutable") != "false",
        notice_expected=False,
        undoes=True,
        unread=tuple(step.opaque for step in steps if step.opaque is not None),
        version=(version.get("value") if (version := element.first("versionTag")) is not None else "") or element.get("versionTag"),
        extra={"engine": "camunda-8" if reading.zeebe else "camunda-7"},
    )


def _refuses(reading: _Reading, node: Element) -> bool:
    """Whether an error of its own says that the receiver knows a second one."""
    events = [event for event in reading.process.boundaries(node) if event.child("errorEventDefinition") is not None]
    return any(_DUPLICATE.search(f"{event.get('name')} {_error(reading, event)}") for event in events)


def _is_answer(reading: _Reading, event: Element) -> bool:
    error = _error(reading, event)
    return error != "" and _ANY_FAILURE.search(error) is None


def _error(reading: _Reading, event: Element) -> str:
    """The code of the error that an event catches; where the file gives it none, the name by which it is referred to."""
    error = event.child("errorEventDefinition")
    reference = error.get("errorRef") if error is not None else ""
    return reading.errors.get(reference) or reference


def _is_bare(process: Element) -> bool:
    """Whether no task that a program does says which."""
    tasks = list(process.all("serviceTask"))
    return bool(tasks) and not any(one.first("extensionElements") or any(map(one.get, _IMPLEMENTED_BY)) for one in tasks)


def _is_left_over(process: Process, node: Element) -> bool:
    """Whether nothing leads to it, where the process says how it begins."""
    alone = node.get("id") not in process.reached and node.get("isForCompensation") != "true" and node.parent is process.element
    return alone and any(one.name == "startEvent" for one in process.element.children) and bool(process.reached)


def _is_message(node: Element) -> bool:
    """Whether an event sends something, or waits for something."""
    if node.name in ("intermediateThrowEvent", "endEvent"):
        return node.child("messageEventDefinition") is not None
    # A timer only waits; but where it stands, the engine saves.
    waited = ("messageEventDefinition", "signalEventDefinition", "timerEventDefinition", "conditionalEventDefinition")
    return node.name == "intermediateCatchEvent" and node.child(*waited) is not None


# ── one step ──


def _step(reading: _Reading, node: Element, order: int) -> Step:
    source, process = reading.source, reading.process
    id, name = node.get("id"), quoted(node.get("name") or node.get("id"))
    effect = None if node.name in _EFFECTLESS else effect_of(node, reading.given.knowledge)
    opaque = None if node.name in _EFFECTLESS else opaque_of(node, process.called, reading.given)
    if effect is not None and _refuses(reading, node):
        effect = replace(effect, repeat=Repeat.REJECTS)
    timer = timer_of(process, node)
    routed = [
        event
        for event in process.boundaries(node)
        if event.child("errorEventDefinition", "timerEventDefinition", "escalationEventDefinition")
    ]
    undo = _undo(reading, node)
    together = waits_for(process, node)
    # A connector may take a lost answer for such an error; a worker throws one that has a name of its own when it has been told so.
    answered = routed and "url" not in inputs(node) and all(_is_answer(reading, event) for event in routed)
    spans = [event.span for event in routed] + ([undo.span] if undo else [])
    return Step(
        id=id,
        name=name,
        unit=id,
        scope=id,
        order=order,
        span=node.span,
        quote=source.fact(node.span).quote,
        effect=effect,
        identity=identity_of(node, effect, opaque),
        repeaters=tuple(_repeaters(reading, node)),
        timeout=timer[0] if timer else None,
        timeout_known=timer[0] is not None if timer is not None else may_hang(process, node, reading.zeebe),
        ends_after=CONNECTOR_ENDS_AFTER if reading.zeebe and "url" in inputs(node) else None,
        on_error=OnError.ROUTE if routed else OnError.STOP,
        kept=kept(node),
        undo=undo,
        gate=_gate(reading, node, timer),
        opaque=opaque,
        condition=quoted(process.conditions.get(id, "")),
        fallible=node.name not in ("userTask", "manualTask", "task", "intermediateCatchEvent"),  # the engine waits at them, or passes
        marks=_marks(node, effect, failing=id in process.failing),
        facts=tuple(source.fact(span) for span in spans),
        extra={"type": node.name}
        | ({"each": "kept by the engine"} if reading.zeebe or is_external(node) or node.name == "callActivity" else {})
        | ({"branch": "failure"} if id in process.failing else {})
        | ({"answered": "by an error that has a name"} if answered else {})
        | ({"said": "its answer decides"} if _is_question(process, node) else {})
        | _let_pass(reading)
        | ({"waits_for": " / ".join(quoted(one.get("name") or one.get("id")) for one in together)} if together else {}),
    )


def _is_question(process: Process, node: Element) -> bool:
    """Whether it is called after asking, and somebody or something decides directly by the answer."""
    following = [one for one in process.after(node) if one.name != "boundaryEvent"]
    return _ASKS.search(node.get("name")) is not None and bool(following) and all(one.name in _DECIDES for one in following)


def _let_pass(reading: _Reading) -> dict[str, str]:
    """What is known of who has let the process begin: a person whom another process of the file has asked, or another program."""
    if reading.begun is not None and reading.begun.asked:
        return {"let_pass": "by another process"}
    return {"called": "by a message"} if only_by_message(reading.process) else {}


def _marks(node: Element, effect: Effect | None, *, failing: bool) -> frozenset[Mark]:
    marks = set[Mark]()
    if node.get("isForCompensation") == "true":
        marks.add(Mark.RECOVERY)
    if node.name in ("receiveTask", "intermediateCatchEvent", "userTask"):
        marks.add(Mark.WAIT)
    if node.child("multiInstanceLoopCharacteristics", "standardLoopCharacteristics") is not None:
        marks.add(Mark.IN_LOOP)
    if failing and effect is not None and Kind.NOTIFY in effect.kinds:
        marks.add(Mark.FAILURE_NOTICE)
    elif is_notice(effect):
        marks.add(Mark.SUCCESS_NOTICE)
    return frozenset(marks)


def _repeaters(reading: _Reading, node: Element) -> Iterator[Repeater]:
    if node.name in ("userTask", "manualTask", "receiveTask", "intermediateCatchEvent", "task"):
        return
    if reading.zeebe and node.name != "callActivity" and not _has_job(node):
        return  # without a type of job the engine takes no such diagram
    job = reading.zeebe and node.name != "callActivity"  # only what a worker does is tried again there
    if job or is_external(node) or runs_as_job(node):
        attempts, span = retries_of(node, reading.zeebe)
        if attempts is None or attempts > 1:
            # How often a worker outside tries, it says itself when it fails: that is no default of the engine.
            yield Repeater(Repeating.STEP_RETRY, True, attempts, span or node.span, default=span is None and not is_external(node))
    loop = node.child("standardLoopCharacteristics")
    if loop is not None:
        bound = loop.get("loopMaximum")
        yield Repeater(Repeating.LOOP, True, whole(bound), loop.span)
    # A person resolves the incident, and the activity is done again.
    yield Repeater(Repeating.UNIT_RERUN, False, None, node.span, default=True)


def _has_job(node: Element) -> bool:
    definition = node.first("taskDefinition")
    return (definition is not None and bool(definition.get("type"))) or node.first("script", "calledDecision") is not None


def _gate(reading: _Reading, node: Element, timer: tuple[float | None, Element] | None) -> Gate | None:
    waits = node.name == "receiveTask" and is_approval(node.get("name"))
    if node.name != "userTask" and not waits:
        return None
    assigned = node.first("assignmentDefinition")
    places = [node, *([assigned] if assigned is not None else [])]
    approver = next(
        (found for key in ("candidateGroups", "assignee", "candidateUsers") for place in places if (found := place.get(key))), ""
    )
    answers = False
    if timer is not None:
        targets = reading.process.after(timer[1])
        # Whom it is handed over to still decides.
        answers = any(is_decision(target.get("name")) for target in targets if target.name != "userTask")
    kind = "approval" if waits or is_approval(node.get("name")) else "user_task"
    return Gate(
        kind,
        node.span,
        quoted(approver),
        visible=bool(approver) and "${" not in approver and "=" not in approver[:1],
        timeout_answers=answers,
    )


def _undo(reading: _Reading, node: Element) -> Undo | None:
    process = reading.process
    for event in process.boundaries(node):
        if event.child("compensateEventDefinition") is None:
            continue
        handler = process.handler(event)
        if handler is None:
            return Undo(event.get("id"), event.span, reached=False)
        attempts, _ = retries_of(handler, reading.zeebe)
        retried = (reading.zeebe or is_external(handler) or runs_as_job(handler)) and (attempts is None or attempts > 1)
        return Undo(quoted(handler.get("name") or handler.get("id")), event.span, reached=process.is_compensated(node), retried=retried)
    return None


def _in_units(steps: list[Step], edges: Iterable[Edge], reading: _Reading) -> Iterator[Step]:
    """In Camunda 7, what lies between two places where the engine saves is done again together."""
    if reading.zeebe:
        yield from steps
        return
    nodes = {node.get("id"): node for node in reading.process.nodes}
    before: dict[str, set[str]] = {}
    for edge in edges:
        before.setdefault(edge.after, set()).add(edge.before if edge.when is When.SUCCESS else "")
    units: dict[str, str] = {}  # of what goes on without saving, its unit
    shared: dict[str, tuple[Repeater, ...]] = {}
    for step in steps:
        node = nodes[step.id]
        waits = bool(step.marks & {Mark.WAIT, Mark.RECOVERY}) or is_external(node)
        joined = {units.get(one, "") for one in before.get(step.id, set[str]())}
        starts = waits or runs_as_job(node) or len(joined) != 1 or "" in joined
        unit = step.id if starts else joined.pop()
        own = tuple(repeater for repeater in step.repeaters if repeater.kind is Repeating.STEP_RETRY)
        first = starts and not waits and not runs_as_job(node) and step.id not in before and step.id in reading.process.reached
        shared.setdefault(unit, own or (_going_on(reading) if first else ()))
        if not waits and node.get("asyncAfter") != "true":
            units[step.id] = unit
        yield replace(step, unit=unit, scope=unit, repeaters=step.repeaters if own or waits else (*shared[unit], *step.repeaters))


def _going_on(reading: _Reading) -> tuple[Repeater, ...]:
    """Who does again what a process begins with: the job that has begun it goes on in it, up to where the engine saves."""
    saves = any(runs_as_job(one) or one.get("asyncAfter") == "true" for one in reading.process.starts())
    return () if saves or reading.begun is None or reading.begun.repeater is None else (reading.begun.repeater,)


def _triggers(reading: _Reading) -> Iterator[Trigger]:
    for node in reading.process.starts():
        timer = node.child("timerEventDefinition")
        kind, period = Starting.CALL, None
        if timer is not None:
            cycle = timer.child("timeCycle")
            kind, period = Starting.SCHEDULE, seconds(cycle.text.rpartition("/")[2]) if cycle is not None else None
        elif node.child("messageEventDefinition", "signalEventDefinition", "conditionalEventDefinition") is not None:
            kind = Starting.EVENT
        yield Trigger(
            kind,
            Span(reading.source.path, node.span.line, node.span.end, node.get("id")),
            reading.source.fact(node.span).quote,
            period=period,
        )


READER: Reader = Bpmn()
