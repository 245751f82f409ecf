"""The jobs of a workflow in the order in which they are done, with the steps of each; workflows that are called are followed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from halfway.inspection.formats import Given
from halfway.inspection.formats.bash.frame import Frame
from halfway.inspection.formats.github.actions import EITHER_WAY, HERE, beside
from halfway.inspection.formats.github.expressions import Job, never, when
from halfway.inspection.formats.github.handing import called_with, has_secret, sources
from halfway.inspection.formats.github.inputs import Broken
from halfway.inspection.formats.github.steps import NOT_GIVEN, TOO_MANY, Follows, Making, fill, keyed, made
from halfway.inspection.formats.github.triggers import repeaters
from halfway.inspection.formats.github.unreached import brings, fails, halts, lacks, never_begins
from halfway.inspection.formats.sequence import Draft, happens, joined, slug
from halfway.inspection.model import Gate, Mark, OnError, Repeater, Repeating, Span, Step, Unread, When
from halfway.inspection.quoting import quoted, safe
from halfway.inspection.source import Node, Source

ENDS_AFTER = 360 * 60.0  # seconds; the default of `timeout-minutes` of a job
_CLUSTER = re.compile(
    r"\bkind create cluster\b|\bkind-action\b|\bsetup-kind\b|\bk3d cluster create\b|\bk3[sd]-action\b|\bminikube\b|\bmicrok8s\b"
)
_EXAMPLE = re.compile(r"\bcp\s+\S*\.env\.(?:example|sample|test|ci)\s+\S*\.env\b")  # what it names stands beside it on the machine
_DOCKER_AWAY = re.compile(r"DOCKER_HOST|\bdocker context\b|\bssh://|--context\b|\bdocker (?:-H|--host)\b")
# A database that a job starts beside itself, unless a secret names another one.
_DATABASE = re.compile(
    r"(?i)(?:^|/)(?:postg\w+|pgvector|timescale\w*|mysql|mariadb|percona|mongo|mssql\S*|clickhouse\S*|cockroach\w*)(?:[:@/-]|$)"
)
_STARTS_DATABASE = re.compile(
    r"\b(?:pg_ctlcluster|pg_ctl)\b.*\bstart\b|\b(?:systemctl|service|brew services)\s+(?:re)?start\s+(?:postgres|mysql|mariadb)\w*"
    r"|\bservice\s+(?:postgres|mysql|mariadb)\w*\s+(?:re)?start\b"
)
_DATABASE_AWAY = re.compile(
    r"(?i)\bsecrets\.\w*(?:database|db_|_db|dsn|postgres|pg_|mysql|mongo|prisma|supabase|neon)\w*"
    r"|\bvars\.\w+|\b(?:PGHOST|PGSERVICE|MYSQL_HOST)\b(?!\s*[:=]\s*[\"']?(?:localhost|127\.|postgres|mysql|db)\b)"
)
_OF_THE_START = re.compile(r"\bgithub\.(?:ref\b|ref_type\b|event_name\b)")
MOST_NEEDED = 50  # jobs whose conditions are passed on
MOST_CALLS = 4  # workflows within one another
TOO_DEEP = "{what} is more than four workflows deep"


@dataclass(frozen=True)
class Unit:
    """A job with its steps."""

    name: str
    node: Node
    needs: tuple[str, ...]
    when: When
    drafts: tuple[Draft, ...]


@dataclass(frozen=True)
class Calling:
    """The workflow that is read, and what called it."""

    root: Node
    source: Source
    given: Given
    broken: tuple[Broken, ...] = ()
    prefix: str = ""
    repeaters: tuple[Repeater, ...] = ()
    condition: str = ""
    gate: Gate | None = None
    files: tuple[str, ...] = ()
    unreached: str = ""  # why none of its jobs ever begins
    limited: bool = True  # whether a limit of time can stand here; the steps of an action get that of the job that uses it
    follows: Follows = field(default_factory=Follows, compare=False)


def units(calling: Calling) -> list[Unit]:
    """All jobs, those first that others need."""
    jobs: dict[str, Job] = {}
    for name, node in calling.root.get("jobs").items():
        jobs[name] = Job(calling.prefix + name, node, calling.root, keyed(node.get("steps")), jobs)
    done: dict[str, list[Unit]] = {}
    acted: dict[str, bool] = {}  # whether something has happened when the job is done, in it or before it
    needs = {name: tuple(need.text for need in job.node.get("needs").each()) for name, job in jobs.items()}
    halted: dict[str, str] = {}  # why a job never passes
    for name in _order(needs):
        before, job = needs[name], jobs[name]
        waits = when(job.node.get("if").text) is When.SUCCESS
        unreached = calling.unreached or never_begins(job) or next((halted[one] for one in before if waits and halted.get(one)), "")
        halted[name] = unreached or fails(job)
        happened = any(acted.get(need, False) for need in before)
        done[name] = [] if never(job.node.get("if").text) else list(_unit(job, before, calling, happened, unreached))
        acted[name] = happened or any(happens(unit.drafts) for unit in done[name])
    return [unit for name in done for unit in _wired(done[name], done)]


def _wired(mine: list[Unit], done: dict[str, list[Unit]]) -> Iterator[Unit]:
    """What a job needs, by the names of units: a called workflow has several."""
    own = {unit.name for unit in mine}
    for unit in mine:
        names = [other.name for need in unit.needs for other in done.get(need, ())]
        yield replace(unit, needs=tuple(need for need in unit.needs if need in own) + tuple(names))


def _order(needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    found: dict[str, None] = {}
    left = list(needs)
    while left:
        ready = [name for name in left if all(need in found or need not in needs for need in needs[name])]
        ready = ready or left[:1]  # a circle is no order; the file's will do
        found |= dict.fromkeys(ready)
        left = [name for name in left if name not in found]
    return list(found)


def _unit(job: Job, before: tuple[str, ...], calling: Calling, happened: bool, unreached: str) -> Iterator[Unit]:
    frame = _frame(job, calling)
    if unreached:
        frame = replace(frame, extra={**frame.extra, "unreached": unreached})
    if job.node.get("uses"):
        yield from _called(job, frame, before, calling)
        return
    making, found = Making(job, frame, calling.broken, follows=calling.follows), list[Draft]()
    brought = brings(job)
    for key, step in job.steps.items():
        missing = lacks(step, brought) if frame.passing else ""  # a machine of their own may have it
        at = making if not missing else replace(making, frame=replace(making.frame, extra={**making.frame.extra, "lacks": missing}))
        found += made(key, step, at)
        if (why := halts(step, job)).startswith("command:"):  # of several Pythons the others are there
            making = replace(making, frame=replace(frame, extra={**frame.extra, "unreached": why}))
    yield Unit(job.unit, job.node, before, when(job.node.get("if").text), tuple(joined(found, happened)))


def _frame(job: Job, calling: Calling) -> Frame:
    node, condition = job.node, job.node.get("if").text
    limit = node.get("timeout-minutes")
    environment = node.get("environment")
    gate = Gate("environment", environment.span) if environment else calling.gate
    own = calling.repeaters or repeaters(calling.root, node)
    matrix = node.get("strategy", "matrix")
    if calling.repeaters:
        own = tuple(replace(one, span=node.span) if one.kind is Repeating.UNIT_RERUN else one for one in own)
    return Frame(
        source=calling.source,
        given=calling.given,
        unit=job.unit,
        scope=job.unit,
        id="/".join(slug(part) for part in job.unit.split("/")),
        place=lambda line, end: Span(calling.source.path, line, end),
        repeaters=own,
        timeout=None if limit.number is None else limit.number * 60,
        timeout_known=calling.limited and (limit.number is not None or not limit.there),  # `${{ inputs.minutes }}` is a limit, too
        ends_after=ENDS_AFTER,
        on_error=OnError.STOP,
        condition=" && ".join(part for part in (calling.condition, *_passed_on(job), " ".join(safe(condition).split())) if part),
        when=_inherited(condition),
        gate=gate,
        needs=job.needs(condition),
        guard=job.look(condition),
        in_loop=bool(matrix),
        passing="self-hosted" not in [label.text for label in node.get("runs-on").each()],
        followed=(calling.source.path,),
        extra=_extra(job, matrix),
    )


def _passed_on(job: Job) -> Iterator[str]:
    """What the jobs that it needs ask of the start of the run: where one of them is left out, so is this one."""
    seen, waiting = set[str](), [job]
    while waiting and len(seen) < MOST_NEEDED:
        one = waiting.pop()
        asked = " ".join(safe(one.node.get("if").text).split())
        if EITHER_WAY.search(asked):
            continue  # it is done whatever became of those that it needs
        if one is not job and _OF_THE_START.search(asked) and "||" not in asked:
            yield asked
        names = {need.text for need in one.node.get("needs").each()} & job.jobs.keys() - seen
        seen |= names
        waiting.extend(job.jobs[name] for name in sorted(names))


def _inherited(condition: str) -> When:
    """A job that runs only after a failure is on the way of the failure with all its steps."""
    return When.ERROR if when(condition) is When.ERROR else When.SUCCESS


def _extra(job: Job, matrix: Node) -> dict[str, str]:
    found = {"environment": quoted(job.node.get("environment").text or job.node.get("environment", "name").text, 80)}
    if matrix:
        found["fail_fast"] = "false" if job.node.get("strategy", "fail-fast").text == "false" else "true"
    if any(_CLUSTER.search(step.get("uses").text + step.get("run").text) for step in job.node.get("steps").each()):
        found["cluster"] = "here"
    names = " ".join(name for owner in (job.root, job.node) for name, _ in owner.get("env").items())
    if not _DOCKER_AWAY.search(f"{sources(job.node)} {sources(job.root.get('env'))} {names}"):
        found["docker"] = "here"
    services = [one.get("image").text or one.text for _, one in job.node.get("services").items()]
    steps = " ".join(step.get("run").text for step in job.node.get("steps").each())
    if (any(_DATABASE.search(image) for image in services) or _STARTS_DATABASE.search(steps)) and not _DATABASE_AWAY.search(
        f"{sources(job.node)} {sources(job.root.get('env'))}"
    ):
        found["database"] = "here"
    if _EXAMPLE.search(steps) and not has_secret(job.node, job.root.get("env")):
        found["local"] = "true"
    return {name: value for name, value in found.items() if value}


def _looks(job: Job, given: Given) -> dict[str, str]:
    """The mark of a call that hands over a command which only looks: of several calls it is not the gravest."""
    effects = [given.knowledge.command(value.text.split()) for _, value in job.node.get("with").items() if " " in value.text.strip()]
    found = [effect for effect in effects if effect is not None]
    return {"looks": "true"} if found and not any(effect.outward for effect in found) else {}


def _called(job: Job, frame: Frame, before: tuple[str, ...], calling: Calling) -> Iterator[Unit]:
    """The jobs of a workflow that is called."""
    uses = job.node.get("uses")
    source = calling.given.beside(calling.source, beside(uses.text)) if uses.text.startswith(HERE) else None
    root = None if source is None else source.yaml
    deep = len(calling.files) >= MOST_CALLS or (source is not None and source.path in (*calling.files, calling.source.path))
    there = root is not None and bool(root.get("jobs"))
    if source is None or root is None or not there or deep or not calling.follows.one_more():
        why = TOO_DEEP if deep else TOO_MANY if there else NOT_GIVEN
        extra = {**called_with(uses.text, job), **_looks(job, calling.given)}
        draft = Draft(_opaque(Unread(uses.text, why, uses.span, at_hand=there), uses, frame, extra), frame.when, wide=True)
        yield Unit(job.unit, job.node, before, when(job.node.get("if").text), (draft,))
        return
    given = {name: node.text for name, node in job.node.get("with").items()}
    inputs = {name: node.get("default").text for name, node in root.get("on", "workflow_call", "inputs").items()} | given
    inner = Calling(
        fill(root, inputs), source, calling.given, calling.broken, f"{job.unit}/", frame.repeaters, frame.condition, frame.gate,
        (*calling.files, calling.source.path), frame.extra.get("unreached", ""), follows=calling.follows,
    )  # fmt: skip
    for unit in units(inner):
        yield unit if unit.needs else replace(unit, needs=before)


def _opaque(unread: Unread, uses: Node, frame: Frame, extra: dict[str, str]) -> Step:
    return Step(
        id=frame.id, name=uses.text, unit=frame.unit, scope=frame.scope, order=0, span=uses.span, quote=frame.source.fact(uses.span).quote,
        repeaters=frame.repeaters, timeout=frame.timeout, timeout_known=False, gate=frame.gate, condition=frame.condition,
        needs_output_of=frame.needs,
        opaque=unread, marks=frozenset({Mark.IN_LOOP}) if frame.in_loop else frozenset(),
        extra={**frame.extra, **extra},
    )  # fmt: skip
