"""Which process of a file another one begins by a message, and what is known of it by then: who was asked, and what is done again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from halfway.inspection.formats.asl_graph import postorder
from halfway.inspection.formats.bpmn_graph import Process
from halfway.inspection.formats.bpmn_tasks import code_of, retries_of, runs_as_job
from halfway.inspection.formats.xml_tree import Element
from halfway.inspection.model import Repeater, Repeating

_SENT = re.compile(r"""\.(?:createMessageCorrelation|correlateMessage|startProcessInstanceByMessage)\(\s*["']([^"']+)["']""")


@dataclass(frozen=True)
class Begun:
    """How a process is begun by another one."""

    asked: bool  # a person had been asked before
    repeater: Repeater | None  # a job that sends the message inside its own transaction, in which the process then goes on


def begun(root: Element, processes: Collection[Process]) -> Mapping[str, Begun]:
    """By the id of a start, how the other processes of the file lead to it."""
    names = {one.get("id"): one.get("name") for one in root.all("message")}
    starts: dict[str, set[str]] = {}
    for start in (one for process in processes for one in process.starts()):
        message = _message(start)
        for key in (start.get("id"), message, names.get(message, "")):
            starts.setdefault(key, set()).add(start.get("id"))
    drawn = {one.get("sourceRef"): one.get("targetRef") for one in root.all("messageFlow")}
    found: dict[str, list[Begun]] = {}
    for process in processes:
        for node, asked in _sending(process):
            sent = _SENT.search(code_of(node)[0])
            one = Begun(asked, _repeater(node) if sent is not None else None)
            keys = {drawn.get(node.get("id"), ""), _message(node), sent[1] if sent is not None else ""} - {""}
            for name in {name for key in keys for name in starts.get(key, ())}:
                found.setdefault(name, []).append(one)
    return {
        start: Begun(all(one.asked for one in ones), next((one.repeater for one in ones if one.repeater is not None), None))
        for start, ones in found.items()
    }


def only_by_message(process: Process) -> bool:
    """Whether nothing but the message of another program begins it; what a connector takes in comes from outside."""
    starts = process.starts()
    inbound = any(one.get("name") == "inbound.type" for start in starts for one in start.all("property"))
    return bool(starts) and not inbound and all(one.child("messageEventDefinition") is not None for one in starts)


def _sending(process: Process) -> Iterator[tuple[Element, bool]]:
    """What may send a message, and whether a person is asked on the way to it."""
    people = [one.get("id") for one in process.nodes if one.name == "userTask"]
    asked = frozenset(postorder(process.links, people))
    for node in process.nodes:
        if node.name in ("intermediateThrowEvent", "endEvent", "sendTask", "serviceTask"):
            yield node, node.get("id") in asked


def _message(node: Element) -> str:
    definition = node.child("messageEventDefinition")
    return (definition.get("messageRef") if definition is not None else "") or node.get("messageRef")


def _repeater(node: Element) -> Repeater | None:
    """Who does a job again; without one of its own nothing is known of it."""
    attempts, span = retries_of(node, zeebe=False)
    if not runs_as_job(node) or (attempts is not None and attempts <= 1):
        return None
    return Repeater(Repeating.STEP_RETRY, True, attempts, span or node.span, default=span is None)
