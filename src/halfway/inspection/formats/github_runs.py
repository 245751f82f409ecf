"""Reads what a run of GitHub Actions left behind: `gh run view --json`, the same over REST, and the text of `gh run view --log`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePosixPath

from halfway.inspection.formats import Given
from halfway.inspection.model import Fact, Flow, Outcome, Ran, RunLog, Span
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node, Source

_LINE = re.compile(r"^\ufeff?([^\t\n]{1,200})\t([^\t\n]{1,200})\t\ufeff?(\d{4}-\d\d-\d\dT[\d:.]+Z)\s?(.*)$")
_ID = re.compile(r"https://github\.com/[\w./-]+/(?:releases/tag|pull|issues|actions/runs)/[\w.%-]+|\"id\"\s*:\s*\"?([\w-]{2,80})")
_NOT_A_STEP = ("Set up job", "Complete job")
_HERE = "github-actions"


class GithubRuns:
    """The reader of runs."""

    name = "github-runs"

    def takes(self, source: Source, /) -> bool:
        """Jobs with steps that have conclusions, or lines of job, step and time."""
        head = source.text[:2_000].lstrip("\ufeff \t\r\n")
        if head.startswith(("{", "[")):
            root = source.json
            return (
                root is not None
                and '"conclusion"' in source.text
                and any(_is_job(job) for one in root.each() for job in one.get("jobs").each())
            )
        return any(_LINE.match(line) for line in source.text[:20_000].split("\n")[:20])

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        """A log defines nothing."""
        yield from ()

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        """The runs of a file."""
        if source.text[:2_000].lstrip("\ufeff \t\r\n").startswith(("{", "[")):
            for root in source.json.each() if source.json is not None else ():
                yield from _of_json(root, source, given)
        else:
            yield from _of_text(source)


def _is_job(node: Node) -> bool:
    return node.get("conclusion").there and (node.get("steps").there or node.get("databaseId").there or node.get("run_id").there)


# ── JSON ──


def _of_json(root: Node, source: Source, given: Given) -> Iterator[RunLog]:
    jobs = list(root.get("jobs").each())
    whole = root.get("databaseId").text or root.get("id").text
    for attempt, group in groupby(sorted(jobs, key=_attempt), key=_attempt):
        own = list(group)
        first = own[0]
        number = root.get("attempt").number or root.get("run_attempt").number or attempt or 1
        name = _first(root, "workflowName", "workflow_name", "name") or _first(first, "workflow_name", "workflowName")
        yield RunLog(
            id=whole or first.get("run_id").text or source.path,
            format=_HERE,
            name=quoted(name, 80),
            attempt=int(number),
            span=Span(source.path, root.span.line, root.span.end, root.span.at),
            steps=tuple(ran for job in own for ran in _ran(job, name, source, given)),
            version=_first(root, "headSha", "head_sha") or _first(first, "head_sha"),
        )


def _attempt(job: Node) -> int:
    return int(job.get("run_attempt").number or 0)


def _first(node: Node, *names: str) -> str:
    return next((node.get(name).text for name in names if node.get(name).text), "")


def _ran(job: Node, flow: str, source: Source, given: Given) -> Iterator[Ran]:
    unit = quoted(job.get("name").text, 80)
    steps = [
        step
        for step in job.get("steps").each()
        if step.get("name").text not in _NOT_A_STEP and not step.get("name").text.startswith("Post ")
    ]
    if not steps:
        outcome = Outcome.NOT_EXECUTED if _never_began(job) else Outcome.UNKNOWN
        yield Ran("", unit, outcome, _fact(job, source))
    over = _conclusion(job) != ""
    for step in steps:
        name = step.get("name").text
        outcome = _outcome(step, over)
        if outcome is Outcome.LANDED and _may_hide(flow, name, given):
            outcome = Outcome.UNKNOWN  # `conclusion` is `success` also where the step failed and was let pass
        yield Ran(quoted(name, 80), unit, outcome, _fact(step, source))


def _conclusion(node: Node) -> str:
    return node.get("conclusion").text.lower()


def _never_began(job: Node) -> bool:
    if _conclusion(job) in ("skipped", "startup_failure", "action_required"):
        return True
    return job.get("status").text.lower() in ("queued", "waiting", "requested", "pending") or not _first(job, "startedAt", "started_at")


def _outcome(step: Node, over: bool) -> Outcome:
    match _conclusion(step):
        case "success":
            return Outcome.LANDED
        case "skipped":
            return Outcome.NOT_EXECUTED
        case "":
            # A step that waited when its job ended was never begun.
            begun = _first(step, "startedAt", "started_at") or step.get("status").text.lower() == "in_progress"
            return Outcome.UNKNOWN if begun or not over else Outcome.NOT_EXECUTED
        case _:
            return Outcome.UNKNOWN


def _fact(node: Node, source: Source) -> Fact:
    conclusion = node.get("conclusion")
    shown = conclusion if conclusion.there else node
    text = f'"name": "{node.get("name").text}", "conclusion": "{conclusion.text or "null"}"'
    return Fact(Span(source.path, shown.span.line, at=shown.span.at), quoted(text))


def _may_hide(flow: str, step: str, given: Given) -> bool:
    """Whether a definition that was given lets this step fail silently."""
    for source in given.sources.values():
        if "continue-on-error" not in source.text:
            continue
        root = source.yaml
        if root is None or flow not in (root.get("name").text, source.path, PurePosixPath(source.path).stem):
            continue
        for _, job in root.get("jobs").items():
            for node in job.get("steps").each():
                if node.get("name").text == step and node.get("continue-on-error").text not in ("", "false"):
                    return True
    return False


# ── text ──


def _of_text(source: Source) -> Iterator[RunLog]:
    lines = [(number, match) for number, line in enumerate(source.lines, 1) if (match := _LINE.match(line.rstrip("\r"))) is not None]
    if not lines:
        return
    steps: list[Ran] = []
    for unit, group in groupby(lines, key=lambda pair: pair[1][1]):
        parts = [(name, list(part)) for name, part in groupby(group, key=lambda pair: pair[1][2])]
        for place, (name, part) in enumerate(parts):
            if name in _NOT_A_STEP or name.startswith("Post "):
                continue
            steps.append(_ran_text(unit, name, part, last=place == len(parts) - 1, source=source))
    first, last = lines[0][0], lines[-1][0]
    yield RunLog(
        id=PurePosixPath(source.path).stem, format=_HERE, name="", attempt=1, span=Span(source.path, first, last), steps=tuple(steps)
    )


def _ran_text(unit: str, name: str, part: list[tuple[int, re.Match[str]]], *, last: bool, source: Source) -> Ran:
    """A step landed if nothing in it is an error and another one followed it."""
    error = next((number for number, match in part if "##[error]" in match[4]), None)
    outcome = Outcome.UNKNOWN if error is not None or last else Outcome.LANDED
    id = next((found[1] or found[0] for _, match in reversed(part) if (found := _ID.search(match[4])) is not None), "")
    line = error if error is not None else part[-1][0]
    return Ran(quoted(name, 80), quoted(unit, 80), outcome, source.fact(source.span(line)), quoted(id, 120))
