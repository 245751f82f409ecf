"""What a message of a state machine tells, and to whom: a failure, the error that was caught, the own people or a customer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from halfway.inspection.formats.asl_answers import MOST_STATES, answer_at, reads_all, within
from halfway.inspection.formats.asl_graph import Machine, State
from halfway.inspection.formats.asl_tasks import given_to
from halfway.inspection.formats.wording import is_failure, is_notice
from halfway.inspection.model import Effect, Kind, Mark, Receiver
from halfway.inspection.source import Node

_ADDRESSES = frozenset({"TopicArn", "TargetArn", "FunctionName", "QueueUrl"})
_TEXTS = ("Subject", "Message", "Title", "Text")
_CALMS = re.compile(r"(?i)success(?!or)|complet|\bno\b|\bnot?\b|\bwithout\b|\b0\b|\brecover|\{%")
_ERROR = re.compile(r"\$\.(?:Error|Cause)(?!\w)|\$states\.errorOutput")


def notice(state: State, machine: Machine, effect: Effect | None) -> frozenset[Mark]:
    """Whether it is there to tell of a success or of a failure; one that carries the error that was caught tells whatever came."""
    if effect is None or Kind.NOTIFY not in effect.kinds:
        return frozenset()
    if state.name in machine.failing or _says_failure(state.node):
        return frozenset({Mark.FAILURE_NOTICE})
    return frozenset({Mark.SUCCESS_NOTICE}) if is_notice(effect) and not _carries_error(state, machine) else frozenset()


def addressed(state: State, machine: Machine, effect: Effect | None) -> Effect | None:
    """The effect with its receiver: a failure that is told in a text that never changes, or with its error, is told to the own people."""
    if effect is None or effect.receiver is not Receiver.UNKNOWN or Mark.FAILURE_NOTICE not in notice(state, machine, effect):
        return effect
    own = is_constant(state.node) or _carries_error(state, machine)
    return replace(effect, receiver=Receiver.TEAM) if own and effect.certain else effect


def is_constant(node: Node) -> bool:
    """Whether what is handed over is written in the definition, and nothing of what the run is about."""
    parts = [(key, str(value.plain)) for key, value in given_to(node).items() if key.removesuffix(".$") not in _ADDRESSES]
    return bool(parts) and not any(key.endswith(".$") or ".$'" in text or "{%" in text for key, text in parts)


def sent_to(node: Node) -> str:
    """The topic that it goes to."""
    return next((value.text for key, value in given_to(node).items() if key.removesuffix(".$") == "TopicArn"), "")


def _says_failure(node: Node) -> bool:
    """Whether the text of the message, as far as it is written in the definition, is about a failure and about no success."""
    texts = [given_to(node).get(key).text for key in _TEXTS]
    return any(is_failure(text) and not _CALMS.search(text) for text in texts)


def _carries_error(state: State, machine: Machine) -> bool:
    """Whether the error that an earlier state has caught is still in the data when they are put into the message."""
    if len(machine.states) > MOST_STATES:
        return False
    told = " ".join(str(value.plain) for key, value in given_to(state.node).items() if key.removesuffix(".$") not in _ADDRESSES)
    return any(
        (reads_all(told) or (_ERROR if path == "$" else within(path)).search(told)) and _is_kept(path, first, state, machine)
        for path, first in _caught(machine)
    )


def _caught(machine: Machine) -> Iterator[tuple[str, str]]:
    """Where each error that is caught is put, and the state that comes next."""
    for state in machine.states:
        for catch in state.node.get("Catch").each():
            path = catch.get("ResultPath")
            assigned = next((name for name, value in catch.get("Assign").items() if "errorOutput" in value.text), "")
            put = f"${assigned}" if assigned else path.text if path.there else "$"
            if put:
                yield put, catch.get("Next").text


def _is_kept(path: str, first: str, last: State, machine: Machine) -> bool:
    """Whether some way from the one state to the other leaves in place what is kept there."""
    by_name = {one.name: one for one in machine.states}
    waiting, seen = [first], {first}
    while waiting:
        name = waiting.pop()
        if name == last.name:
            return True
        if name in by_name and _keeps(path, by_name[name]):
            waiting += [after for after, _ in machine.links[name] if after not in seen]
            seen.update(after for after, _ in machine.links[name])
    return False


def _keeps(path: str, state: State) -> bool:
    """Whether a state hands on what is kept there: a variable always, data unless its answer takes their place."""
    node = state.node
    if not path.startswith("$.") and path != "$":
        return True
    passes = state.type == "Pass" and not any(node.get(key).there for key in ("Result", "Parameters", "Output", "ResultPath"))
    if state.type in ("Choice", "Wait") or passes:
        return True
    put = answer_at(node)
    return put not in ("$", path) and not path.startswith(f"{put}." if put else "$$")
