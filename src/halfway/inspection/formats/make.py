"""Reads blueprints of Make, and incomplete executions as its API lists them. A handler counts for what Make does, not for its name."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.formats import Given
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.blueprints import Blueprint, place
from halfway.inspection.formats.nodes.blueprints_steps import Steps
from halfway.inspection.model import Fact, Flow, Guard, Outcome, Ran, RunLog, Starting, Trigger
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node, Source

_SCENARIO = ("maxErrors", "autoCommit", "autoCommitTriggerLast", "roundtrips", "sequential", "confidential", "dlq")


class Make:
    """The reader of Make."""

    name = "make"

    def takes(self, source: Source) -> bool:
        """Whether the text is a blueprint, or lists incomplete executions."""
        return next(_blueprints(source), None) is not None or next(_incomplete(source), None) is not None

    def flows(self, source: Source, given: Given) -> Iterator[Flow]:
        """The scenario of the blueprint."""
        for root in _blueprints(source):
            parts.bounded(tuple(Blueprint(root).modules), "the scenario", root.span.line)
            yield _flow(Blueprint(root), source, given)

    def runs(self, source: Source, given: Given) -> Iterator[RunLog]:
        """The incomplete executions; each tells which module failed, and of the rest nothing."""
        del given
        for root in _incomplete(source):
            failed = root.get("failer")
            told = Ran(failed.text, failed.text, Outcome.UNKNOWN, parts.fact(root, "failer")) if failed.text else None
            yield RunLog(
                id=root.get("id").text,
                format="make",
                name=root.get("scenarioName").text or root.get("blueprint", "name").text,
                attempt=parts.whole(root.get("attempts"), 0, 0, 1_000) + 1,
                span=root.span,
                steps=(told,) if told is not None else (),
            )


READER = Make()


def _blueprints(source: Source) -> Iterator[Node]:
    """A blueprint alone, or what the API puts around one."""
    if '"flow"' not in source.text or '"module"' not in source.text or source.json is None:
        return
    root = source.json
    for one in (root, root.get("blueprint"), root.get("response", "blueprint")):
        first = one.get("flow", 0, "module").text
        if isinstance(one.get("flow").value, list) and ":" in first:
            yield one
            return


def _incomplete(source: Source) -> Iterator[Node]:
    if ('"dlq"' not in source.text and '"dlqs"' not in source.text) or source.json is None or isinstance(source.json.value, list):
        return
    for root in (*source.json.get("dlqs").each(), source.json.get("dlq")):
        if isinstance(root.value, dict):
            yield root


def _flow(scenario: Blueprint, source: Source, given: Given) -> Flow:
    root, settings, steps = scenario.root, scenario.scenario, Steps(scenario, given)
    made = tuple(steps.all())
    hidden = settings.get("confidential")
    return Flow(
        notice_expected=False,  # Make writes to the people of the organization by itself, unless they have switched it off
        id=root.get("id").text or root.get("name").text or source.path,
        name=quoted(root.get("name").text or source.path, 80),
        format="make",
        file=source.path,
        span=root.span,
        steps=made,
        edges=steps.edges,
        triggers=_triggers(scenario),
        guards=(Guard(settings.get("sequential").span),) if settings.get("sequential").value is True else (),
        evidence_off=hidden.span if hidden.value is True else None,
        secrets=tuple(_secrets(scenario))[: parts.MOST_SECRETS],
        extra={name: settings.get(name).text for name in _SCENARIO if settings.get(name).there} | parts.waited_for(made),
    )


def _secrets(scenario: Blueprint) -> Iterator[Fact]:
    for placed in scenario.modules.values():
        yield from parts.secrets(placed.node.get("parameters"))
        yield from parts.secrets(placed.node.get("mapper"))


def _triggers(scenario: Blueprint) -> tuple[Trigger, ...]:
    """What starts the scenario: its first module, else a timetable, which a blueprint need not have."""
    if not scenario.first:
        return ()
    node, timetable = scenario.modules[scenario.first].node, scenario.root.get("scheduling")
    kind = scenario.started or (Starting.MANUAL if timetable.get("type").text == "on-demand" else Starting.SCHEDULE)
    period = timetable.get("interval").number if kind in (Starting.POLL, Starting.SCHEDULE) else None
    return (Trigger(kind, place(node), parts.entries(node, "id", "module"), period=period),)
