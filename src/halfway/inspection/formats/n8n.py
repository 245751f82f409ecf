"""Reads workflows of n8n, and what its executions say. A workflow is found by its nodes and connections, whatever the file is called."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.formats import Given
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing, place
from halfway.inspection.formats.nodes.n8n_runs import is_execution, log_of
from halfway.inspection.formats.nodes.n8n_steps import Steps
from halfway.inspection.formats.nodes.n8n_triggers import triggers_of
from halfway.inspection.model import Fact, Flow, RunLog, Span
from halfway.inspection.source import Node, Source


class N8n:
    """The reader of n8n."""

    name = "n8n"

    def takes(self, source: Source) -> bool:
        """Whether the text holds a workflow or an execution."""
        return next(_workflows(source), None) is not None or next(_executions(source), None) is not None

    def flows(self, source: Source, given: Given) -> Iterator[Flow]:
        """The workflows in the text, in their order."""
        for root in _workflows(source):
            parts.bounded(tuple(root.get("nodes").each()), "the workflow", root.span.line)
            yield _flow(Drawing(source, root), given)

    def runs(self, source: Source, given: Given) -> Iterator[RunLog]:
        """The executions in the text."""
        del given
        for root in _executions(source):
            yield log_of(root, source)


READER = N8n()


def _workflows(source: Source) -> Iterator[Node]:
    """A workflow alone, a list of them, or what an API or a gallery puts around one."""
    if '"nodes"' not in source.text or '"connections"' not in source.text or source.json is None:
        return
    for one in _unpacked(source.json):
        for root in (one, one.get("workflow")):
            nodes, connections = root.get("nodes"), root.get("connections")
            if (
                isinstance(nodes.value, list)
                and isinstance(connections.value, dict)
                and nodes.get(0, "type").text
                and not is_execution(one)
            ):
                yield root


def _executions(source: Source) -> Iterator[Node]:
    if '"data"' not in source.text or '"workflow' not in source.text or source.json is None:
        return
    yield from (one for one in _unpacked(source.json) if is_execution(one))


def _unpacked(root: Node) -> Iterator[Node]:
    yield from root.each()
    if not is_execution(root):
        data = root.get("data")
        yield from (one for one in data.each() if isinstance(one.value, dict))


def _flow(drawing: Drawing, given: Given) -> Flow:
    root, settings, steps = drawing.root, drawing.root.get("settings"), Steps(drawing, given)
    made = tuple(steps.all())
    return Flow(
        id=root.get("id").text or root.get("name").text or drawing.source.path,
        name=root.get("name").text or drawing.source.path,
        format="n8n",
        file=drawing.source.path,
        span=root.span,
        steps=made,
        edges=steps.edges,
        triggers=tuple(triggers_of(drawing)),
        enabled=root.get("active").value is not False,
        failure_notice=_failure_notice(drawing) or parts.answered(made, steps.waiting.answer_to_failure),
        evidence_off=settings.get("saveDataErrorExecution").span if settings.get("saveDataErrorExecution").text == "none" else None,
        secrets=_secrets(drawing),
        version=root.get("versionId").text,
        version_at=root.get("versionId").span,
        extra=_extra(settings) | parts.waited_for(made),
    )


def _failure_notice(drawing: Drawing) -> Span | None:
    """The workflow that is called when this one fails; one that waits for failures itself is called by default."""
    told = drawing.root.get("settings", "errorWorkflow")
    if told:
        return told.span
    return next(
        (place(node) for name, node in drawing.nodes.items() if drawing.role(name, "errors") and name not in drawing.disabled), None
    )


def _secrets(drawing: Drawing) -> tuple[Fact, ...]:
    """Places of literal secrets in parameters and in pinned data; what `credentials` names is kept elsewhere."""
    found = [one for node in drawing.nodes.values() for one in parts.secrets(node.get("parameters"))]
    return tuple([*found, *parts.secrets(drawing.root.get("pinData"))][: parts.MOST_SECRETS])


def _extra(settings: Node) -> dict[str, str]:
    """What the settings say of evidence and time; what they do not say is left to the server."""
    names = ("executionTimeout", "saveExecutionProgress", "saveDataErrorExecution", "saveDataSuccessExecution", "executionOrder")
    return {name: settings.get(name).text for name in names if settings.get(name).text}
