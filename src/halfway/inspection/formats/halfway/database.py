"""Reads what a database of halfway holds: its definitions, and its runs with what became of each attempt."""

from __future__ import annotations

import json
from collections.abc import Iterator

from halfway.domain.spec import StepSpec, WorkflowSpec
from halfway.inspection.databases import is_dump
from halfway.inspection.formats import Given
from halfway.inspection.formats.halfway.declared import FORMAT, Definition, Told, flow_of
from halfway.inspection.model import Fact, Flow, Outcome, Ran, RunLog, Span, Starting, Trigger
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node, Source, Unreadable

WORST = (Outcome.UNKNOWN, Outcome.LANDED, Outcome.NOT_EXECUTED)
BROKEN = (KeyError, TypeError, ValueError, AttributeError)


class DatabaseReader:
    """The reader of databases."""

    name = "halfway-database"

    def takes(self, source: Source, /) -> bool:
        """Whether a database of halfway was read as this text."""
        return is_dump(source)

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        """The newest version of each workflow."""
        del given
        seen = set[str]()
        for spec, node in _definitions(source):
            if spec.type not in seen:
                seen.add(spec.type)
                try:
                    yield flow_of(_definition(spec, source, node))
                except BROKEN as error:
                    raise Unreadable(f"definition {spec.type}: {error!r}") from error

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        """The runs, those in doubt first."""
        del given
        if not is_dump(source):
            return
        specs = {spec.hash: spec for spec, _ in _definitions(source)}
        for node in _root(source).get("runs").each():
            spec = specs.get(node.get("hash").text)
            yield RunLog(
                id=node.get("id").text, format=FORMAT, name=node.get("type").text, attempt=1, version=node.get("version").text,
                span=_place(source, node, node.get("id").text), steps=tuple(_ran(source, node, spec)),
            )  # fmt: skip


def _root(source: Source) -> Node:
    root = source.json
    if root is None:
        raise Unreadable(source.unread.get("json", "it is no JSON"))
    return root.get("halfway")


def _definitions(source: Source) -> Iterator[tuple[WorkflowSpec, Node]]:
    for node in _root(source).get("definitions").each():
        try:
            yield WorkflowSpec.from_json(node.get("spec").text), node
        except BROKEN as error:
            raise Unreadable(f"a definition cannot be read: {error!r}") from error


def _place(source: Source, node: Node, at: str) -> Span:
    return Span(source.path, node.span.line, at=quoted(at, 120))


# ── definitions ──


def _definition(spec: WorkflowSpec, source: Source, node: Node) -> Definition:
    name = f"{spec.type} v{spec.version}"
    whole = Fact(_place(source, node, name), quoted(f"{name}, owner {spec.owner}"))
    keys = {"key": spec.keyed, "resource": spec.locked, "concurrency": spec.concurrency is not None}
    return Definition(
        spec=spec, whole=whole, steps={step.name: _told(step, name, source, node) for step in spec.steps},
        keys={key: Fact(_place(source, node, f"{name}.{key}"), f"{key}=") for key, given in keys.items() if given},
        starts=(
            *(Trigger(Starting.EVENT if one.kind == "EVENT" else Starting.CALL, whole.span, quoted(one.name)) for one in spec.triggers),
            *(Trigger(Starting.SCHEDULE, whole.span, quoted(one.cron or one.name), period=_period(one.every)) for one in spec.schedules),
        ),
    )  # fmt: skip


def _period(every: int | None) -> float | None:
    return None if every is None else every / 1_000_000


def _told(step: StepSpec, name: str, source: Source, node: Node) -> Told:
    """Its options as they were declared; what its body does is not in a database."""
    given = {
        "probe": step.probe, "idempotent": step.idempotent, "evidence": step.evidence, "approver": step.approver, "undo": step.undo,
        "retry": step.retry.attempts,
    }  # fmt: skip
    options = {option: _place(source, node, f"{name}.{step.name}.{option}") for option, value in given.items() if value}
    said = " ".join((step.name, step.effect or step.sort, *(option for option in options if option != "retry")))
    return Told(fact=Fact(_place(source, node, f"{name}.{step.name}"), quoted(said)), options=options)


# ── runs ──


def _ran(source: Source, run: Node, spec: WorkflowSpec | None) -> Iterator[Ran]:
    """In the order of the definition; of several records of a step what nobody knows counts before what landed."""
    names = () if spec is None else tuple(step.name for step in spec.steps)
    records = sorted(run.get("records").each(), key=lambda one: (_order(one.get("step").text, names), WORST.index(_outcome(one))))
    for record in records:
        name = record.get("step").text
        shown = name if record.get("kind").text == "STEP" else f"undo of {name}"
        yield Ran(shown, "", _outcome(record), _fact(source, run, record), _external_id(run, record))
    begun = {record.get("step").text for record in records}
    for name in names:
        if name not in begun:
            fact = Fact(_place(source, run, f"run {run.get('id').text}, {name}"), "no record: it has not begun")
            yield Ran(name, "", Outcome.NOT_EXECUTED, fact)


def _order(name: str, names: tuple[str, ...]) -> int:
    return names.index(name) if name in names else len(names)


def _outcome(record: Node) -> Outcome:
    """What the engine itself knows; while an attempt is under way nobody does."""
    status, effect = record.get("status").text, record.get("effect").text
    if status in ("UNKNOWN", "RUNNING") or effect == "unknown":
        return Outcome.UNKNOWN
    if status == "SUCCESS" or effect == "happened":
        return Outcome.LANDED
    return Outcome.NOT_EXECUTED


def _of(run: Node, kind: str, record: Node) -> list[Node]:
    same = ("step", "round", "item", "kind")
    return [one for one in run.get(kind).each() if all(one.get(name).text == record.get(name).text for name in same)]


def _fact(source: Source, run: Node, record: Node) -> Fact:
    """The row, with its last attempt."""
    place = f"run {run.get('id').text}, {record.get('step').text}"
    shown = {name: record.get(name).plain for name in ("status", "effect", "code", "item") if record.get(name)}
    attempts = _of(run, "attempts", record)
    if attempts:
        last = attempts[-1]
        shown |= {"attempt": last.get("n").plain, "ended": last.get("ended").text or "not yet", "marked": bool(last.get("marked").number)}
    return Fact(_place(source, run, place), quoted(json.dumps(shown, ensure_ascii=False)))


def _external_id(run: Node, record: Node) -> str:
    """The first thing that a step has kept as evidence."""
    for one in _of(run, "evidence", record):
        kept = Source("", one.get("data").text).json
        found = next((value.text for _, value in kept.items() if value.text), "") if kept is not None else ""
        if found:
            return quoted(found, 80)
    return ""
