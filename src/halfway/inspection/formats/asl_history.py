"""Reads what `aws stepfunctions get-execution-history` prints: which states landed, and which nobody can tell."""

from __future__ import annotations

import re
from collections.abc import Mapping

from halfway.inspection.model import Outcome, Ran, RunLog
from halfway.inspection.source import Node, Source

_ID = re.compile(r'"(?:MessageId|ExecutionArn|JobRunId|RunId|[Ii]d)"\s*:\s*"([\w:./-]{1,200})"')
_ENTERED = "TaskStateEntered"
_LANDED = frozenset({"TaskSucceeded", "LambdaFunctionSucceeded", "ActivitySucceeded"})
# Refused before it was sent; everything else that went wrong may have happened.
_NEVER = frozenset({"LambdaFunctionScheduleFailed", "ActivityScheduleFailed", "TaskStartFailed", "LambdaFunctionStartFailed"})
_SENT = re.compile(r"^(?:Task|LambdaFunction|Activity)(?:Scheduled|Started|Submitted|SubmitFailed|Failed|TimedOut)$")


def history(source: Source) -> RunLog | None:
    """The run of a history, None if the text is none."""
    if "previousEventId" not in source.text or source.json is None:
        return None
    events = [event for event in source.json.get("events").each() if event.get("type").text]
    if not events:
        return None
    by_id = {event.get("id").text: event for event in events}
    steps: dict[str, Ran] = {}
    for event in sorted(events, key=lambda event: event.get("id").number or 0):
        entered = _entered(event, by_id)
        if entered is not None:
            _take(source, steps, entered, event)
    arn = next((found for event in events if (found := _machine(event))), "")
    name, _, version = arn.partition(":stateMachine:")[2].partition(":")
    return RunLog(
        id=source.path.rpartition("/")[2],
        format="step-functions",
        name=name,
        attempt=1 + sum(event.get("type").text == "ExecutionRedriven" for event in events),
        span=source.json.span,
        steps=tuple(steps.values()),
        version=version,
    )


def _machine(event: Node) -> str:
    details = event.get("executionStartedEventDetails")
    return details.get("stateMachineVersionArn").text or details.get("stateMachineAliasArn").text


def _entered(event: Node, by_id: Mapping[str, Node]) -> Node | None:
    """The entering of the state that an event belongs to, found along the events before it."""
    seen = set[str]()
    current: Node | None = event
    while current is not None and current.get("type").text != _ENTERED:
        before = current.get("previousEventId").text
        if before in seen or current.get("type").text.endswith("StateExited"):
            return None
        seen.add(before)
        current = by_id.get(before)
    return current


def _take(source: Source, steps: dict[str, Ran], entered: Node, event: Node) -> None:
    key, kind = entered.get("id").text, event.get("type").text
    name = entered.get("stateEnteredEventDetails", "name").text
    fact = source.fact(event.get("type").span)
    if kind == _ENTERED:
        steps[key] = Ran(name, name, Outcome.NOT_EXECUTED, fact)
    elif kind in _LANDED:
        output = next((value.get("output").text for at, value in event.items() if at.endswith("SucceededEventDetails")), "")
        found = _ID.search(output)
        steps[key] = Ran(name, name, Outcome.LANDED, fact, found[1] if found else "")
    elif kind in _NEVER and key in steps and steps[key].outcome is Outcome.NOT_EXECUTED:
        steps[key] = Ran(name, name, Outcome.NOT_EXECUTED, fact)
    elif _SENT.match(kind) and kind not in _NEVER:
        steps[key] = Ran(name, name, Outcome.UNKNOWN, fact)
