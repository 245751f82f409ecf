"""Reads the Jobs and CronJobs of Kubernetes: what their containers run, and how often it is tried."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from halfway.inspection.formats import Given, Reader
from halfway.inspection.formats.command_steps import Around, Line, in_order, program_of, steps_of
from halfway.inspection.formats.commands import SHELLS, Command, of_words
from halfway.inspection.formats.moving import moving
from halfway.inspection.formats.timetables import period_of
from halfway.inspection.model import Fact, Flow, Guard, Repeater, Repeating, RunLog, Starting, Step, Trigger, Unread
from halfway.inspection.quoting import holds_secret, quoted
from halfway.inspection.source import Node, Source

NAME = "kubernetes"
_KINDS = frozenset({"Job", "CronJob"})
_MARK = re.compile(r"^---(?:\s|$)")
_RETRIES = 6  # backoffLimit where nothing is said
_MOST_DOCUMENTS = 500


class Kubernetes:
    """The reader of manifests."""

    name = NAME

    def takes(self, source: Source, /) -> bool:
        return any(True for _ in documents(source))

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        for node in documents(source):
            yield job_flow(source, node, given)

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        yield from ()


def documents(source: Source) -> Iterator[Node]:
    """The Jobs and CronJobs of a file of several documents; lines stay those of the file."""
    if not re.search(r"\bkind\b[\"']?\s*:\s*[\"']?(?:Cron)?Job\b", source.text):
        return
    if source.json is not None:
        found = [source.json, *source.json.get("items").each()]
    else:
        found = [node for part in _parts(source) if (node := part.yaml) is not None]
    for node in found:
        if node.get("kind").text in _KINDS and node.get("apiVersion").text.startswith("batch/") and node.get("spec"):
            yield node


def _parts(source: Source) -> Iterator[Source]:
    first, lines = 0, source.lines
    marks = [number for number, line in enumerate(lines) if _MARK.match(line)][:_MOST_DOCUMENTS]
    for end in (*marks, len(lines)):
        text = "\n".join(lines[first:end])
        if re.search(r"\bkind\b", text):
            yield Source(source.path, "\n" * first + text)
        first = end + 1


def job_flow(source: Source, node: Node, given: Given) -> Flow:
    """The flow of a Job or a CronJob."""
    name = node.get("metadata", "name").text or node.get("metadata", "generateName").text or "job"
    spec = node.get("spec")
    job = spec.get("jobTemplate", "spec") if node.get("kind").text == "CronJob" else spec
    schedule = spec.get("schedule")
    steps = _steps(source, name, job, schedule, given)
    kept = spec.get("failedJobsHistoryLimit")
    triggers = (
        (Trigger(Starting.SCHEDULE, schedule.span, source.fact(schedule.span).quote, period=period_of(schedule.text)),) if schedule else ()
    )
    return Flow(
        id=name,
        name=name,
        format=NAME,
        file=source.path,
        span=node.get("metadata").span,
        steps=tuple(steps),
        edges=in_order(steps),
        triggers=triggers,
        guards=tuple(_guards(spec, name)),
        enabled=spec.get("suspend").value is not True,
        notice_expected=False,
        evidence_off=kept.span if kept.there and kept.number == 0 else None,
        unread=tuple(dict.fromkeys(step.opaque for step in steps if step.opaque is not None)),
        secrets=tuple(_secrets(source, job)),
        moving=moving(source, spec.span),
        extra={"kind": node.get("kind").text},
    )


def _steps(source: Source, name: str, job: Node, schedule: Node, given: Given) -> list[Step]:
    pod = job.get("template", "spec")
    repeaters = tuple(_repeaters(job, pod, schedule))
    limit = job.get("activeDeadlineSeconds")
    if not limit:
        limit = pod.get("activeDeadlineSeconds")
    places = [job.get("backoffLimit"), pod.get("restartPolicy"), limit]
    facts = tuple(source.fact(place.span) for place in places if place.there)
    extra = {"restartPolicy": pod.get("restartPolicy").text} if pod.get("restartPolicy") else {}
    steps: list[Step] = []
    for container in (*pod.get("initContainers").each(), *pod.get("containers").each()):
        place = next((container.get(key) for key in ("command", "args") if container.get(key)), container)
        words = [one.text for key in ("command", "args") for one in container.get(key).each()]
        image = container.get("image").text
        line = Line(source, place.span, of_words(words) if words else (Command((image or name,)),))
        unread = Unread(quoted(image or name), "what the image {what} does was not given", place.span)
        # All containers of a pod are done again together.
        program = "" if container.get("command") else program_of(image)
        around = Around(
            unit=name, repeaters=repeaters, timeout=limit.number, facts=facts, opaque_image=unread, program=program, extra=extra,
            inline=bool(words) and words[0].rpartition("/")[2] in SHELLS and len(words) > 2,
        )  # fmt: skip
        steps += _told_apart(steps_of([line], given, around, len(steps)), {step.id for step in steps}, container.get("name").text)
    return steps


def _told_apart(steps: list[Step], taken: set[str], container: str) -> Iterator[Step]:

    yield from (replace(step, id=f"{step.id} ({container})") if step.id in taken else step for step in steps)


def _repeaters(job: Node, pod: Node, schedule: Node) -> Iterator[Repeater]:
    limit = job.get("backoffLimit")
    tries = limit.number if limit.number is not None else _RETRIES
    policy = pod.get("restartPolicy")
    span = limit.span if limit.there else policy.span if policy.there else pod.span
    if tries > 0 or policy.text == "OnFailure":
        yield Repeater(Repeating.RESTART, True, int(tries) + 1, span, default=not limit.there and policy.text != "OnFailure")
    if schedule:
        yield Repeater(Repeating.SCHEDULE, True, None, schedule.span)
    yield Repeater(Repeating.UNIT_RERUN, False, None, job.span, default=True)


def _guards(spec: Node, name: str) -> Iterator[Guard]:
    policy = spec.get("concurrencyPolicy")
    if policy.text in ("Forbid", "Replace"):
        yield Guard(policy.span, group=name, cancels=policy.text == "Replace", queues=False)


def _secrets(source: Source, job: Node) -> Iterator[Fact]:
    for container in job.get("template", "spec", "containers").each():
        for variable in container.get("env").each():
            value = variable.get("value")
            name = variable.get("name").text
            if value and holds_secret(f"{name}={value.text}"):
                yield Fact(value.span, quoted(f"{name}={value.text}"))


READER: Reader = Kubernetes()
