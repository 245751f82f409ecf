"""Reads what Cloudflare tells about an instance of a Workflow (`wrangler workflows instances describe`, or REST)."""

from __future__ import annotations

from halfway.inspection.model import Outcome, Ran, RunLog
from halfway.inspection.source import Node, Source

_KEYS = ("versionId", "steps")


def instances(source: Source) -> list[RunLog]:
    """The instance that a text tells about; none if it tells about something else."""
    if not all(key in source.text for key in _KEYS) or source.json is None:
        return []
    root = source.json.get("result") if source.json.get("result") else source.json
    if not root.get("versionId").there or not isinstance(root.get("steps").value, list):
        return []
    ended = "terminat" in root.get("status").text
    return [
        RunLog(
            id=root.get("id").text or root.get("instanceId").text,
            format="cloudflare",
            name=root.get("workflowName").text or root.get("name").text,
            attempt=1,
            span=root.span,
            steps=tuple(_ran(source, step, ended) for step in root.get("steps").each()),
            version=root.get("versionId").text,
        )
    ]


def _ran(source: Source, step: Node, ended: bool) -> Ran:
    shown = step.get("name") if step.get("name").text else step.get("type")
    # The engine counts calls of one name: `charge-1` is the first of `charge`.
    name, _, count = shown.text.rpartition("-")
    name = name if name and count.isdigit() else shown.text
    return Ran(name, name, _outcome(step, ended), source.fact(_telling(step, shown).span))


def _outcome(step: Node, ended: bool) -> Outcome:
    if step.get("success").value is True and step.get("end"):
        return Outcome.LANDED
    if not step.get("start") and not step.get("attempts"):
        return Outcome.UNKNOWN if ended else Outcome.NOT_EXECUTED
    return Outcome.UNKNOWN


def _telling(step: Node, shown: Node) -> Node:
    """The line that says most: the last error, else whether it succeeded."""
    errors = [attempt.get("error") for attempt in step.get("attempts").each() if attempt.get("error")]
    return errors[-1] if errors else step.get("success") if step.get("success").there else shown
