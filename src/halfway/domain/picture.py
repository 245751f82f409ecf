"""What is in the picture of a workflow: its steps as nodes with what must be known of each, and lines between them.

From the Spec alone. What else a step can be is told in `_kind`, `_details`, `_recovery` and `_lines`, and every drawing shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from halfway.domain.spec import ANY_FAILURE, FanSpec, RewindSpec, Sort, StepSpec, Then, WaitSpec, WorkflowSpec

Look = Literal["step", "each", "transaction", "wait", "approval"]
Course = Literal["next", "back"]

# What is told of a step in one word.
TRAITS = {
    "optional": "optional", "transaction": "transaction", "probe": "probe", "idempotent": "idempotent", "irreversible": "irreversible",
    "record": "holds its record", "back": "back to",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Node:
    """A step as it is drawn."""

    name: str
    look: Look
    tone: str  # the effect, or what it is instead
    kind: str  # what it does, in a few words
    details: tuple[str, ...]  # how it recovers, whom it asks, how long it waits
    layer: int  # the longest way that leads to it


@dataclass(frozen=True, kw_only=True)
class Line:
    """From one step to another that stands after it, or back."""

    source: str
    target: str
    course: Course = "next"
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A workflow as it is drawn."""

    title: str
    subtitle: str
    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    back: str = TRAITS["back"]  # where a line leads to an earlier step


def picture_of(spec: WorkflowSpec) -> Picture:
    """The picture of a definition."""
    layers: dict[str, int] = {}
    for step in spec.steps:  # declared in order, so earlier steps are known
        layers[step.name] = 1 + max((layers[name] for name in step.after), default=-1)
    return Picture(
        title=f"{spec.type} v{spec.version}",
        subtitle=", ".join(_about(spec)),
        nodes=tuple(_node(step, spec, layers[step.name]) for step in spec.steps),
        lines=tuple(line for step in spec.steps for line in _lines(step)),
    )


def _about(spec: WorkflowSpec) -> Iterator[str]:
    yield f"owner {spec.owner}"
    if spec.locked:
        yield "one run at a time for each resource"
    for trigger in spec.triggers:
        yield f"starts on {trigger.name}" if trigger.kind == "EVENT" else f"starts after {trigger.name}"


def _node(step: StepSpec, spec: WorkflowSpec, layer: int) -> Node:
    look: Look = "approval" if step.sort is Sort.APPROVAL else "wait" if step.waits else "step"
    if step.sort is Sort.TRANSACTION:
        look = "transaction"
    elif step.fan is not None:
        look = "each"
    tone = step.sort.value if step.effect is None else step.effect.value
    return Node(name=step.name, look=look, tone=tone, kind=_kind(step, step.wait, spec), details=tuple(_details(step, spec)), layer=layer)


def _kind(step: StepSpec, wait: WaitSpec | None, spec: WorkflowSpec) -> str:
    """What it does."""
    if step.sort is Sort.CHILDREN:
        return "starts runs, and waits for them"
    if step.fan is not None:
        return f"{step.effect} for each of {step.fan.items}"
    if wait is None:
        return TRAITS["transaction"] if step.effect is None else step.effect.value
    match step.sort:
        case Sort.EVENT:
            return f"waits for the event {wait.name}"
        case Sort.RUN:
            return f"waits for the run of {wait.name}"
        case Sort.APPROVAL:
            decides = spec.decides(step)
            return f"approval by {wait.quorum} of {decides}" if wait.quorum > 1 else f"approval by {decides}"
        case _:
            return "waits for a time"


def _details(step: StepSpec, spec: WorkflowSpec) -> Iterator[str]:
    """What else must be known of it, one line each."""
    if step.condition:
        yield f"only if {step.condition}"
    if step.optional:
        yield TRAITS["optional"]
    if step.at_least is not None:
        yield f"wants {step.at_least} before it"
    if step.fan is not None:
        yield from _fan(step.fan)
    if step.detached:
        yield "they go on when it is stopped"
    yield from _recovery(step, spec)


def _recovery(step: StepSpec, spec: WorkflowSpec) -> Iterator[str]:
    """How long it waits, whom it asks, and what follows from a fault."""
    if step.wait is not None and step.wait.timeout is not None:
        yield f"at most {_time(step.wait.timeout)}, then {step.wait.on_timeout}"
    if step.wait is not None and step.wait.four_eyes:
        yield "not by who started the run"
    if step.requires_approval:
        yield f"each attempt approved by {spec.decides(step)}"
    has = {"probe": step.probe is not None, "idempotent": step.idempotent, "irreversible": step.irreversible, "record": step.holds}
    told = ", ".join(TRAITS[name] for name in has if has[name])
    if told:
        yield told
    if step.undo is not None:
        risk, approver = step.undo.risk, step.undo.approver or spec.decides(step)
        yield f"undo {risk}, approved by {approver}" if step.undo.needs_approval else f"undo {risk}"
    if step.on_failure is not Then.FAIL:
        yield f"fails: {step.on_failure}"


def _fan(fan: FanSpec) -> Iterator[str]:
    if fan.concurrency is not None:
        yield f"at most {fan.concurrency} at once"
    if fan.failed_below < 1:
        yield f"fails below {fan.failed_below:.0%}"


def _lines(step: StepSpec) -> Iterator[Line]:
    """What leads to it, and where it leads back."""
    for name in step.after:
        yield Line(source=name, target=step.name)
    if step.rewind is not None:
        yield Line(source=step.name, target=step.rewind.to, course="back", label=_again(step.rewind))


def _again(rewind: RewindSpec) -> str:
    codes = "any failure" if ANY_FAILURE in rewind.on else _codes(rewind)
    return f"{codes}: at most {rewind.max} times"


def _codes(rewind: RewindSpec) -> str:
    return ", ".join(rewind.on[:2]) + (", …" if len(rewind.on) > 2 else "")


def _time(microseconds: int) -> str:
    for unit, name in ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min")):
        if microseconds >= unit and microseconds % unit == 0:
            return f"{microseconds // unit} {name}"
    return f"{microseconds / 1_000_000:g} s"
