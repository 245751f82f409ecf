"""Reads workflows and composite actions of GitHub Actions. The unit is the job: whoever does one again does all its steps again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from halfway.inspection.formats import Given
from halfway.inspection.formats.github.inputs import Broken, broken
from halfway.inspection.formats.github.jobs import Calling, Unit, units
from halfway.inspection.formats.github.refusing import refuse_what_never_runs
from halfway.inspection.formats.github.triggers import guards, starts_on_tags_only, triggers
from halfway.inspection.formats.moving import moving
from halfway.inspection.formats.sequence import Draft, edges, ends, numbered
from halfway.inspection.formats.shell import secrets
from halfway.inspection.model import Edge, Flow, Kind, Mark, RunLog, Span, Starting, Step, Trigger, When
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node, Source

_OWNER = re.compile(r"github\.repository(?:_owner)?\s*==\s*['\"]([A-Za-z\d][\w-]*)\b")
_TESTS = re.compile(r"(?i)(?<![a-z])(?:(?:unit|e2e|smoke|integration)[-_ ]?)?(?:tests?|lint(?:er|ing)?|e2e)(?![a-z])")
_FOR_PEOPLE = re.compile(r"(?i)^(?:[\w-]*[-_])?(?:body|text|message|notes|description|comment|payload|title)$")
_MAY_BE = re.compile(r"^[ \t]*[\"']?(?:jobs|runs)[\"']?\s*:", re.MULTILINE)


class GithubActions:
    """The reader of `.github/workflows/*.yml` and of `action.yml`."""

    name = "github-actions"

    def takes(self, source: Source, /) -> bool:
        """Jobs that have steps or call a workflow, and something that starts them; or a composite action."""
        if not _MAY_BE.search(source.text) and not source.text.lstrip().startswith("{"):
            return False
        root = source.yaml
        if root is None:
            return False
        jobs = [job for _, job in root.get("jobs").items()]
        workflow = root.get("on").there and any(job.get("steps").there or job.get("uses").there for job in jobs)
        return workflow or root.get("runs", "using").text == "composite"

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        """The one automation of a workflow; a composite action has one only if nothing that was given uses it."""
        root = source.yaml
        if root is None:
            return
        if root.get("runs", "using").text == "composite":
            if not _used(source, given):
                calling = Calling(_as_workflow(root), source, given, limited=False)
                yield _flow(calling, (Trigger(Starting.CALL, root.get("runs").span),))
        else:
            refuse_what_never_runs(root)
            yield _flow(Calling(root, source, given), triggers(root, source))

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        """A definition tells of no runs."""
        yield from ()


def _used(source: Source, given: Given) -> bool:
    folder = str(PurePosixPath(source.path).parent)
    name = re.escape(PurePosixPath(folder).name)
    return any(
        re.search(rf"uses:\s*[\"']?\./\S*{name}/?[\"']?\s*$", other.text, re.MULTILINE)
        for other in given.sources.values()
        if other is not source
    )


def _as_workflow(root: Node) -> Node:
    """A composite action as a workflow of one job."""
    runs = root.get("runs")
    job = Node({"steps": runs.get("steps")}, runs.span)
    jobs = Node({"action": job}, runs.span)
    return Node({"name": root.get("name"), "on": Node("workflow_call", runs.span), "jobs": jobs}, root.span)


def _flow(calling: Calling, started: tuple[Trigger, ...]) -> Flow:
    root, source = calling.root, calling.source
    found = broken(root, source)
    jobs = units(replace(calling, broken=found))
    placed = numbered([draft for unit in jobs for draft in unit.drafts])
    by_unit: dict[str, list[Draft]] = {unit.name: [] for unit in jobs}
    for draft in placed:
        by_unit[draft.step.unit].append(draft)
    steps = tuple(draft.step for draft in placed)
    # A field that is missing counts where it flows into an effect; an empty reference of a checkout does no harm.
    flowing = " ".join(step.extra.get("broken_inputs", "") for step in steps)
    found = tuple(one for one in found if one.asked == "" or not one.asked.startswith("github.event.") or one.name in flowing)
    notice = next((draft.step.span for draft in placed if _tells(draft)), None)
    return Flow(
        id=source.path,
        name=quoted(root.get("name").text, 80) or PurePosixPath(source.path).stem,
        format=GithubActions.name,
        file=source.path,
        span=Span(source.path, 1, len(source.lines)),
        steps=steps,
        edges=tuple(_edges(jobs, by_unit)),
        triggers=started,
        guards=guards(root, list(root.get("jobs").items())),
        failure_notice=notice,
        unread=tuple(dict.fromkeys(step.opaque for step in steps if step.opaque is not None)),
        secrets=tuple(secrets(source)),
        moving=moving(source, passed_over=_idle_lines(jobs, by_unit, source)),
        extra=_extra(root, found) | _owners(source, calling.given),
        facts=tuple(dict.fromkeys(one.fact for one in found)),
    )


def _idle_lines(jobs: Sequence[Unit], by_unit: Mapping[str, Sequence[Draft]], source: Source) -> Collection[int]:
    """The lines of texts for people, of tests, and of jobs that do nothing outside and that no job which does waits for, as a linter."""
    needs = {unit.name: unit.needs for unit in jobs}
    counts, waiting = set[str](), [name for name, drafts in by_unit.items() if any(_acts(one.step) for one in drafts)]
    while waiting:
        name = waiting.pop()
        if name not in counts:
            counts.add(name)
            waiting += needs.get(name, ())
    names = {unit.name: f"{unit.name} {unit.node.get('name').text}" for unit in jobs}
    idle = [
        unit.node.span
        for unit in jobs
        if (unit.name not in counts or _only_tests(names[unit.name], by_unit[unit.name])) and unit.node.span.file == source.path
    ]
    steps = (step for unit in jobs for step in unit.node.get("steps").each() if step.span.file == source.path)
    idle += [
        node.span
        for step in steps
        for key, node in step.get("with").items()
        if _FOR_PEOPLE.search(key) and node.span.line > step.get("uses").span.line
    ]
    return {number for span in idle for number in range(span.line, max(span.line, span.end) + 1)}


def _only_tests(name: str, drafts: Sequence[Draft]) -> bool:
    return _TESTS.search(name) is not None and not any(_acts(one.step) for one in drafts)


def _owners(source: Source, given: Given) -> dict[str, str]:
    """Whose the repository is, as far as git or conditions tell it."""
    named = dict.fromkeys((*sorted(given.owners), *(one.lower() for one in _OWNER.findall(source.text))))
    return {"owners": " ".join(named)} if named else {}


def _acts(step: Step) -> bool:
    return step.opaque is not None or (step.effect is not None and step.effect.outward)


def _extra(root: Node, found: tuple[Broken, ...]) -> dict[str, str]:
    names = {"broken_inputs": "; ".join(dict.fromkeys(one.name for one in found))} if found else {}
    if required := [one.name for one in found if one.required]:
        names["broken_required"] = "; ".join(required)
    # Two steps that exclude each other have no way between them: the order of the file alone says nothing.
    return names | {"drawn": "true"} | ({"tags_only": "true"} if starts_on_tags_only(root) else {})


def _tells(draft: Draft) -> bool:
    """Whether somebody hears of a failure."""
    step: Step = draft.step
    if step.effect is None or not step.effect.kinds & {Kind.NOTIFY, Kind.CREATE}:
        return False
    return draft.when is When.ERROR or Mark.FAILURE_NOTICE in step.marks or (draft.when is When.ALWAYS and Kind.NOTIFY in step.effect.kinds)


def _edges(jobs: list[Unit], by_unit: dict[str, list[Draft]]) -> Iterator[Edge]:
    """Within a job one step after the other; a job begins where those end that it needs."""
    last: dict[str, list[str]] = {}
    for unit in jobs:
        mine = by_unit[unit.name]
        before = list(dict.fromkeys(id for need in unit.needs for id in last.get(need, ())))
        yield from (Edge(id, draft.step.id, unit.when) for draft in mine[:1] for id in before)
        yield from edges(mine)
        last[unit.name] = ends(mine) or before
