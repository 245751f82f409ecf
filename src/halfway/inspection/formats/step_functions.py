"""Reads state machines of AWS Step Functions (ASL, in JSON, YAML and templates that hold one) and the histories of their executions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from halfway.inspection.formats import Given, Reader
from halfway.inspection.formats.asl_answers import is_for_answer
from halfway.inspection.formats.asl_graph import Machine, State, connected, machine_of
from halfway.inspection.formats.asl_history import history
from halfway.inspection.formats.asl_notices import addressed, is_constant, notice, sent_to
from halfway.inspection.formats.asl_tasks import effect_of, ends_by_itself, entries, given_to, identity_of, names_no_function, opaque_of
from halfway.inspection.formats.durations import seconds
from halfway.inspection.formats.wording import is_approval, is_back, is_decision, is_notice, looked, takes_back, words
from halfway.inspection.model import (
    Fact,
    Flow,
    Gate,
    Mark,
    OnError,
    Repeater,
    Repeating,
    RunLog,
    Span,
    Starting,
    Step,
    Trigger,
    Undo,
)
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node, Source

NAME = "step-functions"
_OF_TEMPLATES = frozenset({"AWS::StepFunctions::StateMachine", "AWS::Serverless::StateMachine"})
_TIMEOUTS = frozenset({"States.ALL", "States.Timeout", "States.HeartbeatTimeout", "States.TaskFailed"})
_ATTEMPTS = 3  # of a retrier that does not say MaxAttempts
_STARTED_BY = {"Schedule": Starting.SCHEDULE, "ScheduleV2": Starting.SCHEDULE, "Api": Starting.CALL}


TEMPLATES = ("template.yaml", "template.yml")


@dataclass(frozen=True)
class _Found:
    """A definition inside a file, and what the file says around it."""

    name: str
    root: Node
    source: Source
    around: Node | None = None

    @property
    def express(self) -> Node | None:
        """Where it is said that executions are delivered at least once."""
        if self.around is None:
            return None
        said = [self.around.get(key) for key in ("Type", "StateMachineType")]
        return next((node for node in said if node.text.upper() == "EXPRESS"), None)


class StepFunctions:
    """The reader of state machines."""

    name = NAME

    def takes(self, source: Source, /) -> bool:
        return history(source) is not None or any(True for _ in _definitions(source))

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        for found in _definitions(source):
            services = _services_beside(source, given) if found.around is None else {}
            yield _flow(replace(found, root=_filled(found.root, services)), given)

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        run = history(source)
        if run is not None:
            yield run


# ── where definitions are ──


def _definitions(source: Source) -> Iterator[_Found]:
    if "States" not in source.text or "StartAt" not in source.text:
        return
    root = source.json if source.json is not None else source.yaml
    if root is None:
        return
    if _is_machine(root):
        yield _Found(source.path.rpartition("/")[2].partition(".")[0], root, source)
    for name, resource in root.get("Resources").items():
        if resource.get("Type").text in _OF_TEMPLATES:
            around = resource.get("Properties")
            yield from _in_template(name, around, source)


def _in_template(name: str, around: Node, source: Source) -> Iterator[_Found]:
    literal = around.get("Definition")
    services = _services(around)
    if _is_machine(literal):
        yield _Found(name, _filled(literal, services), source, around)
        return
    text = next((node for node in (around.get("DefinitionString"), around.get("DefinitionString", "Fn::Sub")) if node.text), None)
    if text is None:
        return
    # Lines of the inner text are lines of the file where it is written as a block; else it is all one line.
    as_written = all(line.strip() == source.line(text.first_line + number).strip() for number, line in enumerate(text.text.split("\n")))
    inner = Source(source.path, "\n" * (text.first_line - 1) + (text.text if as_written else text.text.replace("\n", " ")))
    root = inner.json if inner.json is not None else inner.yaml
    if root is not None and _is_machine(root):
        yield _Found(name, _filled(root, services), source, around)


def _services(around: Node) -> dict[str, str]:
    """Which service a name of a definition stands for; that of a function says more than its address."""
    said = {key: value.text or value.get("Fn::Sub").text for key, value in around.get("DefinitionSubstitutions").items()}
    return {key: text for key, text in said.items() if ":states:::" in text}


def _services_beside(source: Source, given: Given) -> dict[str, str]:
    """The same, where the template that names the file was given, too."""
    template = next((found for name in TEMPLATES if (found := given.beside(source, name)) is not None), None)
    root = template.yaml if template is not None and "${" in source.text else None
    for _, resource in root.get("Resources").items() if root is not None else ():
        around = resource.get("Properties")
        if around.get("DefinitionUri").text.rpartition("/")[2] == source.path.rpartition("/")[2]:
            return _services(around)
    return {}


def _filled(node: Node, services: Mapping[str, str]) -> Node:
    """The same tree with what the template puts in the place of `${Name}`; lines stay what they are."""
    if not services:
        return node
    if isinstance(node.value, dict):
        return replace(node, value={key: _filled(one, services) for key, one in node.value.items()})
    if isinstance(node.value, list):
        return replace(node, value=[_filled(one, services) for one in node.value])
    name = re.fullmatch(r"\$\{(\w+)\}", node.value) if isinstance(node.value, str) else None
    return node if name is None else replace(node, value=services.get(name[1], node.value))


def _is_machine(root: Node) -> bool:
    start = root.get("StartAt").value
    return isinstance(start, str) and bool(start) and isinstance(root.get("States").value, dict)


# ── one flow ──


def _flow(found: _Found, given: Given) -> Flow:
    machine = machine_of(found.root)
    steps = [step for order, state in enumerate(machine.states) for step in _steps(state, machine, found, given, order)]
    steps = [replace(step, needs_output_of=machine.needs.get(step.id, ())) for step in _paired(steps, machine)]
    edges = connected(machine, frozenset(step.id for step in steps))
    return Flow(
        id=found.name,
        name=found.root.get("Comment").text or found.name,
        format=NAME,
        file=found.source.path,
        span=found.root.get("StartAt").span,
        steps=tuple(steps),
        edges=edges,
        triggers=tuple(_triggers(found)),
        failure_notice=_failure_notice(steps),
        notice_expected=False,
        undoes=True,
        unread=tuple(step.opaque for step in steps if step.opaque),
        extra={"type": "EXPRESS" if found.express else "STANDARD" if found.around else "unknown", "query_language": machine.language},
    )


def _steps(state: State, machine: Machine, found: _Found, given: Given, order: int) -> Iterator[Step]:
    """A state is a step if it acts, waits for somebody, or can fail."""
    if state.type == "Task":
        yield _task(state, machine, found, given, order)
    elif state.type == "Fail" or (state.type == "Choice" and not state.node.get("Default")):
        yield _step(state, machine, found, order)
    elif state.type == "Wait":
        yield replace(_step(state, machine, found, order), marks=_marks(state, machine) | {Mark.WAIT}, fallible=False)


def _step(state: State, machine: Machine, found: _Found, order: int) -> Step:
    source = found.source
    around = next((parent for parent in reversed(state.parents) if parent.node.get("Retry")), None)
    return Step(
        id=state.name,
        name=state.name,
        unit=state.name,
        scope=around.name if around else state.name,
        order=order,
        span=state.node.span,
        quote=source.fact(state.node.span).quote,
        on_error=OnError.ROUTE if any(place.node.get("Catch") for place in (state, *state.parents)) else OnError.STOP,
        condition=machine.conditions.get(state.name, ""),
        marks=_marks(state, machine),
        repeaters=tuple(_repeaters(state, machine, found)),
        extra={"type": state.type} | ({"branch": "failure"} if state.name in machine.failing else {}),
    )


def _task(state: State, machine: Machine, found: _Found, given: Given, order: int) -> Step:
    node, source = state.node, found.source
    resource = node.get("Resource")
    effect = effect_of(node, given.knowledge)
    if effect is not None and opaque_of(node) is not None and effect.outward and is_for_answer(state, machine):
        effect = looked(effect.told)
    effect = addressed(state, machine, effect)
    waits = ".waitForTaskToken" in resource.text or ":activity:" in resource.text
    timeout, known, facts = _timeout(node, source)
    # A call that is answered at once ends by itself, a function after minutes; only who waits for another's end may wait for ever.
    open_end = not ends_by_itself(node) and (waits or ".sync" in resource.text) and not _is_short(node)
    known = timeout is not None or (known and open_end)
    whole = found.root.get("TimeoutSeconds").number if timeout is None else None
    heartbeat = node.get("HeartbeatSeconds")
    final = timeout is not None and not any(
        _over_timeout(retry) for place in (state, *state.parents) for retry in place.node.get("Retry").each()
    )
    extra = {
        "resource": resource.text,
        "comment": quoted(node.get("Comment").text),
        "branch": "failure" if state.name in machine.failing else "",
        "limit": "whole" if whole or final else "",
        "to": sent_to(node),
        "each": "redriven" if _is_redriven(state, machine, found) else "",
        "tells_team": "a text that never changes" if is_notice(effect) and is_constant(node) else "",
        "unfinished": "true" if names_no_function(node) else "",
        "answered": "by errors of its own" if _own_errors(state) else "",
    }
    if waits:
        extra |= {"waits": "task_token", "heartbeat": heartbeat.text}
    span = resource.span if resource.there else node.span
    return replace(
        _step(state, machine, found, order),
        quote=source.fact(span).quote,
        span=Span(span.file, span.line, node.span.end, node.span.at),
        effect=effect,
        identity=identity_of(node, effect),
        timeout=timeout if whole is None else whole,
        timeout_known=known,
        kept=_kept(node),
        guard=conditional.span if (conditional := given_to(node).get("ConditionExpression")) else None,
        gate=_gate(state) if waits else None,
        opaque=opaque_of(node),
        marks=_marks(state, machine) | ({Mark.WAIT} if waits else frozenset()) | notice(state, machine, effect),
        facts=(*facts, *(source.fact(retry.span) for retry in node.get("Retry").each())),
        extra={key: value for key, value in extra.items() if value or key == "heartbeat"},
    )


def _marks(state: State, machine: Machine) -> frozenset[Mark]:
    marks = set[Mark]()
    if state.name in machine.failing and is_back(state.name):
        marks.add(Mark.RECOVERY)
    if any(parent.type == "Map" for parent in state.parents):
        marks.add(Mark.IN_LOOP)
    return frozenset(marks)


def _repeaters(state: State, machine: Machine, found: _Found) -> Iterator[Repeater]:
    for place in (state, *reversed(state.parents)):
        for retry in place.node.get("Retry").each():
            attempts = retry.get("MaxAttempts").number
            if attempts != 0:
                errors = {error.text for error in retry.get("ErrorEquals").each()}
                bound = 1 + (int(attempts) if attempts is not None else _ATTEMPTS)
                yield Repeater(Repeating.STEP_RETRY, True, bound, retry.span, after_timeout=not errors.isdisjoint(_TIMEOUTS))
    if state.name in machine.cyclic:
        yield Repeater(Repeating.LOOP, True, None, state.node.span)
    if found.express:
        yield Repeater(Repeating.REDELIVERY, True, None, found.express.span, default=True)
    # A person may redrive an execution from the state that failed, or start it again.
    yield Repeater(Repeating.UNIT_RERUN, False, None, state.node.span, default=True)


def _is_short(node: Node) -> bool:
    """Whether it starts an execution that is said to be EXPRESS: the engine ends it after five minutes."""
    said = f"{node.get('Comment').text} {given_to(node).get('StateMachineArn').text}"
    return "startExecution" in node.get("Resource").text and re.search(r"(?i)express", said) is not None


def _over_timeout(retry: Node) -> bool:
    """Whether a retry is also one of what was given up: `States.TaskFailed` stands for all but that."""
    return not {error.text for error in retry.get("ErrorEquals").each()}.isdisjoint(_TIMEOUTS - {"States.TaskFailed"})


def _own_errors(state: State) -> bool:
    """Whether only errors that the code itself throws have a way of their own: each of these is an answer."""
    caught = [
        error.text
        for place in (state, *state.parents)
        for catch in place.node.get("Catch").each()
        for error in catch.get("ErrorEquals").each()
    ]
    return bool(caught) and not any(error.startswith(("States.", "Lambda.", "Sandbox.")) for error in caught)


def _timeout(node: Node, source: Source) -> tuple[float | None, bool, list[Fact]]:
    """The limit, whether it can be told, and the lines that say so; one that comes from data cannot."""
    said = [node.get(key) for key in ("TimeoutSeconds", "HeartbeatSeconds")]
    numbers = [number for number in (one.number for one in said) if number is not None]
    paths = [node.get(key) for key in ("TimeoutSecondsPath", "HeartbeatSecondsPath")]
    dynamic = [one for one in (*said, *paths) if one and one.number is None]
    return min(numbers, default=None), bool(numbers) or not dynamic, [source.fact(one.span) for one in (*said, *paths) if one]


def _kept(node: Node) -> tuple[Span, ...]:
    """The answer becomes the output of the state, unless the definition throws it away."""
    path = node.get("ResultPath")
    if node.get("Assign"):
        return (node.get("Assign").span,)
    if path.there:
        return () if path.value is None else (path.span,)
    if node.get("Output"):
        return (node.get("Output").span,) if "$states.result" in str(node.get("Output").plain) else ()
    return (node.span,)


def _gate(state: State) -> Gate | None:
    if not is_approval(state.name):
        return None
    catchers = [catch for catch in state.node.get("Catch").each() if {one.text for one in catch.get("ErrorEquals").each()} & _TIMEOUTS]
    answers = any(is_decision(catch.get("Next").text) for catch in catchers)
    asked = next((value.text for key, value in entries(given_to(state.node)) if "approver" in words(key) and value.text), "")
    place = state.node.get("Resource").span
    return Gate("approval", place, approver=quoted(asked), timeout_answers=answers)


def _is_redriven(state: State, machine: Machine, found: _Found) -> bool:
    """Whether only the items that failed are done again when the execution is redriven: nothing catches a failure, and no Map retries."""
    maps = [parent.node for parent in state.parents if parent.type == "Map"]
    express = any(one.get("ItemProcessor", "ProcessorConfig", "ExecutionType").text == "EXPRESS" for one in maps)
    caught = any(place.node.get("Catch") for place in (state, *state.parents)) or any(parent.node.get("Retry") for parent in state.parents)
    standard = machine.standard or (found.around is not None and not found.express)
    return bool(maps) and standard and not express and not caught


def _paired(steps: list[Step], machine: Machine) -> Iterator[Step]:
    """A step with the one on a failing way whose name says that it takes it back."""
    backs = [step for step in steps if Mark.RECOVERY in step.marks]
    for step in steps:
        back = next((back for back in backs if takes_back(back.name, step.name)), None)
        if back is None or step.effect is None or Mark.RECOVERY in step.marks:
            yield step
            continue
        needs = step.id in machine.needs.get(back.id, ())
        retried = any(repeater.kind is Repeating.STEP_RETRY for repeater in back.repeaters)
        reached = back.name in machine.reached
        yield replace(step, undo=Undo(back.name, back.span, reached=reached, tolerant=not needs, retried=retried))


def _failure_notice(steps: list[Step]) -> Span | None:
    return next((step.span for step in steps if Mark.FAILURE_NOTICE in step.marks), None)


def _triggers(found: _Found) -> Iterator[Trigger]:
    if found.around is None:
        return
    for _, event in found.around.get("Events").items():
        kind = event.get("Type")
        schedule = event.get("Properties", "Schedule")
        if not schedule:
            schedule = event.get("Properties", "ScheduleExpression")
        rate = re.fullmatch(r"rate\((.+)\)", schedule.text)
        quote = found.source.fact((schedule if schedule else kind).span).quote
        started = _STARTED_BY.get(kind.text, Starting.EVENT)
        yield Trigger(started, kind.span, quote, period=seconds(rate[1]) if rate else None)


READER: Reader = StepFunctions()
