"""What starts a workflow, who may do its jobs again, and what keeps two runs apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.model import Guard, Repeater, Repeating, Starting, Trigger
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node, Source

MOST_RERUNS = 50  # of one run, by a person
_KINDS = {
    "schedule": Starting.SCHEDULE,
    "workflow_dispatch": Starting.MANUAL,
    "workflow_call": Starting.CALL,
    "repository_dispatch": Starting.EVENT,
}
_SAME_THING = frozenset({"created", "published", "released", "edited"})  # several of them for one release
_OWN_GROUP = re.compile(r"run_id|run_number|run_attempt|github\.sha\b")
_ONLY_FOR_PULLS = re.compile(r"pull_request|github\.head_ref|!=\s*'refs/heads/")
_DAY = 86_400.0


def events(root: Node) -> list[tuple[str, Node]]:
    """The events of `on`, however it is written."""
    on = root.get("on")
    if isinstance(on.value, dict):
        return list(on.items())
    return [(event.text, event) for event in on.each() if event.text]


def triggers(root: Node, source: Source) -> tuple[Trigger, ...]:
    """All that starts the workflow."""
    return tuple(_triggers(root, source))


def _triggers(root: Node, source: Source) -> Iterator[Trigger]:
    for name, node in events(root):
        kind = _KINDS.get(name, Starting.PUSH)
        quote = quoted(source.line(node.span.line))
        if kind is Starting.SCHEDULE:
            for entry in node.each():
                cron = entry.get("cron")
                yield Trigger(kind, cron.span, quoted(source.line(cron.span.line)), period=period(cron.text))
        else:
            yield Trigger(kind, node.span, quote, tuple(name for name, _ in node.get("inputs").items()), branches=_branches(name, node))


def _branches(name: str, node: Node) -> tuple[str, ...]:
    """The branches whose push starts it, where they are named one by one and no tag does."""
    names = tuple(one.text for one in node.get("branches").each())
    return names if name == "push" and not node.get("tags").there and all(re.fullmatch(r"[\w./-]+", one) for one in names) else ()


def starts_on_tags_only(root: Node) -> bool:
    """Whether nothing but a tag starts the workflow."""
    known = events(root)
    return bool(known) and all(
        name == "push" and node.get("tags").there and not (node.get("branches").there or node.get("branches-ignore").there)
        for name, node in known
    )


def repeaters(root: Node, job: Node) -> tuple[Repeater, ...]:
    """Who does a whole job again: a person, the clock, or a sender that sends twice."""
    return tuple(_repeaters(root, job))


def _repeaters(root: Node, job: Node) -> Iterator[Repeater]:
    yield Repeater(Repeating.UNIT_RERUN, automatic=False, bound=MOST_RERUNS + 1, span=job.span, default=True)
    for name, node in events(root):
        if name == "schedule":
            yield Repeater(Repeating.SCHEDULE, automatic=True, bound=None, span=node.span)
        elif name == "workflow_dispatch":
            yield Repeater(Repeating.MANUAL, automatic=False, bound=None, span=node.span)
        elif name == "repository_dispatch":
            # It comes once for each call of the interface: only a program that calls twice does it again.
            yield Repeater(Repeating.REDELIVERY, automatic=False, bound=None, span=node.span)
        elif name == "release":
            types = [type.text for type in node.get("types").each()] or ["created", "published", "released"]
            again = len(_SAME_THING.intersection(types)) + ("prereleased" in types and "released" not in types)
            if again > 1:
                yield Repeater(Repeating.REDELIVERY, automatic=True, bound=None if "edited" in types else again, span=node.span)
    if combinations := job.get("strategy", "matrix"):
        yield Repeater(Repeating.LOOP, automatic=True, bound=_product(combinations), span=combinations.span)


def _product(matrix: Node) -> int | None:
    """How many jobs a matrix makes; None: it is computed."""
    product, lists = 1, 0
    for name, node in matrix.items():
        if name in ("include", "exclude"):
            continue
        if not isinstance(node.value, list):
            return None
        product, lists = product * max(len(node.value), 1), lists + 1
    include = matrix.get("include").value
    if isinstance(include, list):
        return product if lists else len(include)
    return product if lists else None


def guards(root: Node, jobs: list[tuple[str, Node]]) -> tuple[Guard, ...]:
    """What keeps runs apart: of the workflow, and of its jobs."""
    return tuple(guard for unit, node in [("", root), *jobs] for guard in _guard(unit, node.get("concurrency")))


def _guard(unit: str, node: Node) -> Iterator[Guard]:
    if not node:
        return
    group = node.text or node.get("group").text
    if _OWN_GROUP.search(group):
        return  # each run has its own group: nothing is kept apart
    wanted = node.get("cancel-in-progress").text
    cancels = wanted == "true" or ("${{" in wanted and not _ONLY_FOR_PULLS.search(wanted))
    yield Guard(node.span, unit, quoted(group, 80), cancels, queues=node.get("queue").text == "max" and not cancels)


def period(cron: str) -> float | None:
    """The shortest usual time between two starts of a schedule, in seconds."""
    fields = cron.split()
    if len(fields) != 5:
        return None
    minute, hour, day, month, weekday = fields
    steps = ((minute, 60.0, 60), (hour, 3_600.0, 24))
    for field, unit, all in steps:
        if field == "*":
            return unit
        if match := re.fullmatch(r"(?:\*|\d+-\d+|\d+)/(\d{1,4})", field):
            return unit * max(int(match[1]), 1)
        if "," in field or "-" in field:
            return unit * max(all // max(len(field.split(",")), 2), 1) if "," in field else unit
    if weekday != "*":
        return _DAY if "-" in weekday or "," in weekday else 7 * _DAY
    if day != "*":
        return 365 * _DAY if month != "*" else 28 * _DAY
    return _DAY
