"""Makes steps of one step of a job: its commands, its action, or the steps of a composite action."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from halfway.inspection.formats.bash import read
from halfway.inspection.formats.bash.frame import Frame
from halfway.inspection.formats.bash.origin import Origin
from halfway.inspection.formats.bash.script import Script
from halfway.inspection.formats.bash.steps import drafts
from halfway.inspection.formats.github.actions import HERE, action, local
from halfway.inspection.formats.github.expressions import HOPS, Job, asked, lets_pass, never, placed, when
from halfway.inspection.formats.github.handing import (
    given_secret,
    handed,
    harmless,
    has_secret,
    how_far,
    may_only_read,
    powerless,
    prepares,
    sets_up,
    shut_in,
    sources,
    told,
)
from halfway.inspection.formats.github.inputs import Broken, marked
from halfway.inspection.formats.sequence import Draft, slug
from halfway.inspection.model import Gate, OnError, Repeater, Repeating, Span, Step, Unread, When
from halfway.inspection.quoting import quoted, safe
from halfway.inspection.source import Node, Source, Unreadable

MOST_ACTIONS = 5  # composite actions within one another
TOO_DEEP = "{what} is more than five actions deep"
TOO_MANY = "{what} was not followed: the file leads to more than 500 workflows and actions"
MOST_FOLLOWED = 500  # workflows and composite actions that one file leads to, each time it does
MOST_FILLED = 100_000  # characters by which a text may grow when the inputs of a call are filled in
NOT_GIVEN = "{what} was not given: what it does outside cannot be read"
A_PROGRAM = "{what} is an action that is a program: what it does outside cannot be read"
OTHER_SHELL = "{what} is no shell that can be read here"
NOT_SHELL = "{what} could not be read as a shell script"
_RETRIES = {
    "nick-fields/retry": ("max_attempts", 3),
    "nick-invision/retry": ("max_attempts", 3),
    "Wandalen/wretry.action": ("attempt_limit", 2),
}
_APPROVES = ("trstringer/manual-approval",)
_PYTHON = re.compile(r"^python[\d.]*(?:\s|$)")
# What none of these words is in works with files of the runner.
_REACHES_OUT = re.compile(r"(?i)\brequests\b|urllib|http|socket|subprocess|os\.system|os\.popen|boto|client|smtp")
# Somebody has called it by its name in a text of their own, or by a label.
_CALLED = re.compile(
    r"contains\(\s*github\.event\.(?:comment|review|issue|pull_request)\.(?:body|title)\s*,\s*'[@/][\w-]+"
    r"|\bgithub\.event\.label\.name\s*==|startsWith\(\s*github\.event\.comment\.body\s*,\s*'[@/][\w-]+"
)
_SHELLS = re.compile(r"^(?:(?:(?:/usr)?/bin/)?(?:ba|z|da)?sh|pwsh|powershell|msys2|wsl-bash)?(?:\s|$)")
_OF_DIST = re.compile(r"(?<![\w.-])(?:\./)?dist/")
_BUILDS_DIST = re.compile(r"\bgoreleaser/goreleaser-action@|\bgoreleaser (?:release|build)\b")
_ENV = re.compile(r"\$\{?([A-Za-z_]\w*)|\benv\.(\w+)")


class Follows:
    """Counts what one file leads to: files that name one another a few times each lead to more than anybody could read."""

    def __init__(self) -> None:
        self._left = MOST_FOLLOWED

    def one_more(self) -> bool:
        """Whether one more is followed."""
        self._left -= 1
        return self._left >= 0


@dataclass(frozen=True)
class Making:
    """One job while its steps are made."""

    job: Job
    frame: Frame
    broken: tuple[Broken, ...] = ()
    depth: int = 0
    follows: Follows = field(default_factory=Follows, compare=False)


def made(key: str, step: Node, making: Making) -> Iterator[Draft]:
    """The steps that one step of a job is."""
    condition = step.get("if").text
    if never(condition) or making.job.asks_nobody(condition):
        return
    frame = _frame(key, step, making)
    texts = _flowing(step, making.job)
    holds, since = asked(condition), making.job.waits_for(condition)
    for draft in _kinds(step, frame, making):
        branch = replace(draft.branch, asked=draft.branch.asked | holds)
        yield replace(
            draft, branch=branch, since=since, step=marked(_kept_output(draft.step, key, step, frame.source), step, texts, making.broken)
        )


def _frame(key: str, step: Node, making: Making) -> Frame:
    job, outer = making.job, making.frame
    condition = step.get("if").text
    own = step.get("timeout-minutes").number
    limits = [limit for limit in (outer.timeout, None if own is None else own * 60) if limit is not None]
    whole = {"limit": "whole"} if limits else {}
    called = {"called": "true"} if _CALLED.search(f"{outer.condition} {condition}") else {}
    allowed = {"let_pass": "true"} if lets_pass(condition) or lets_pass(job.node.get("if").text) else {}
    ending = when(condition)

    def outside(name: str) -> Origin | None:
        return job.variable(name, step, HOPS)

    def expression(text: str) -> Origin:
        return job.expression(text, step)

    own_needs = (*job.needs(sources(step) + " " + condition), *_built_before(step, job))
    return replace(
        outer,
        scope=f"{outer.scope}/{key}",
        id=f"{outer.id}/{slug(key)}",
        name=quoted(step.get("name").text, 80),
        place=placed(step.get("run")),
        timeout=min(limits, default=None),
        timeout_known=outer.timeout_known and (own is not None or not step.get("timeout-minutes").there),
        on_error=OnError.CONTINUE if step.get("continue-on-error").text not in ("", "false") else outer.on_error,
        extra={**outer.extra, **whole, **called, **allowed},
        condition=" && ".join(part for part in (outer.condition, " ".join(safe(condition).split())) if part),
        when=ending if ending is not When.SUCCESS else outer.when,
        needs=tuple(scope for scope in dict.fromkeys((*outer.needs, *own_needs)) if scope != f"{outer.scope}/{key}"),
        guard=job.look(condition) or outer.guard,
        outside=outside,
        expression=expression,
        literals=job.literals(step),
    )


def _built_before(step: Node, job: Job) -> Iterator[str]:
    """The scope of an earlier step that has made the files which this one takes: what builds and releases in one leaves them in `dist`."""
    if not _OF_DIST.search(sources(step)):
        return
    for key, other in job.steps.items():
        if other.span.line < step.span.line and _BUILDS_DIST.search(f"{other.get('uses').text} {other.get('run').text}"):
            yield f"{job.unit}/{key}"


def _kinds(step: Node, frame: Frame, making: Making) -> Iterator[Draft]:
    uses = step.get("uses").text
    if step.get("run"):
        yield from _run(step, frame, making.job)
    elif uses.startswith(HERE):
        yield from _local(step, uses, frame, making)
    elif told(uses) in _RETRIES:
        yield from _retried(step, uses, frame)
    elif told(uses) in _APPROVES:
        yield Draft(
            _bare(step, frame, Gate("approval", step.span, quoted(step.get("with", "approvers").text, 80), visible=True)), frame.when
        )
    elif uses:
        extra = {**frame.extra, **powerless(step, making.job), **({"shut_in": "true"} if shut_in(making.job) else {})}
        yield from action(step, uses, dict(step.get("with").items()), replace(frame, extra=extra))


def _bare(step: Node, frame: Frame, gate: Gate | None = None, opaque: Unread | None = None) -> Step:
    node = step.get("uses") if step.get("uses") else step.get("run")
    first = Span(node.span.file, node.first_line, at=node.span.at)
    return Step(
        id=frame.id, name=frame.name or quoted(node.text.split("\n", 1)[0], 80), unit=frame.unit, scope=frame.scope, order=0, span=first,
        quote=frame.source.fact(first).quote, repeaters=frame.repeaters, timeout=frame.timeout, timeout_known=frame.timeout_known,
        ends_after=frame.ends_after, on_error=frame.on_error,
        gate=gate or frame.gate, condition=frame.condition, needs_output_of=frame.needs, opaque=opaque, extra=dict(frame.extra),
    )  # fmt: skip


def _run(step: Node, frame: Frame, job: Job) -> Iterator[Draft]:
    shell = (step.get("shell") or job.node.get("defaults", "run", "shell") or job.root.get("defaults", "run", "shell")).text
    if _PYTHON.match(shell) and not _REACHES_OUT.search(step.get("run").text):
        return
    script = job.script(step)
    if not _SHELLS.match(shell) or (script.broken and not script.commands):
        what, why = (shell, OTHER_SHELL) if not _SHELLS.match(shell) else (frame.name or step.get("run").span.at, NOT_SHELL)
        mine = handed("", step.get("run"), step.get("env"), job.node.get("env"), job.root.get("env"))
        if mine and frame.passing:
            mine["gone"] = "true"  # without a secret it works on a machine that is gone afterwards
        extra = {**frame.extra, **mine, **given_secret(step)}
        yield Draft(
            _bare(step, replace(frame, extra=extra), opaque=Unread(what, why, step.get("run").span, at_hand=True)), frame.when, wide=True
        )
        return
    given = (step.get("run"), step.get("env"), job.node.get("env"), job.root.get("env"))
    yield from drafts(script, replace(frame, extra={**frame.extra, **handed("", *given), **given_secret(step), **how_far(step, job)}))


def _retried(step: Node, uses: str, frame: Frame) -> Iterator[Draft]:
    """An action that does a command or another action several times."""
    name, usual = _RETRIES[told(uses)]
    limit = step.get("with", name)
    bound = int(limit.number) if limit.number is not None and 0 < limit.number < 10_000 else usual if not limit.there else None
    again = Repeater(
        Repeating.STEP_RETRY, True, bound, limit.span if limit.there else step.get("uses").span, default=not limit.there,
        after_timeout=step.get("with", "retry_on").text != "error",
    )  # fmt: skip
    each = step.get("with", "timeout_seconds").number or (step.get("with", "timeout_minutes").number or 0) * 60
    inner = replace(frame, repeaters=(again, *frame.repeaters), timeout=each or frame.timeout)
    if each:
        inner = replace(inner, extra={name: value for name, value in inner.extra.items() if name != "limit"})
    if step.get("with", "continue_on_error").text == "true":
        inner = replace(inner, on_error=OnError.CONTINUE)
    command = step.get("with", "command")
    if command:
        yield from drafts(_script(command), replace(inner, place=placed(command)))
    elif used := step.get("with", "action").text:
        yield from action(step, used, dict(step.get("with", "with").items()), inner)


def _script(command: Node) -> Script:
    try:
        return read(command.text, stops=False)
    except Unreadable:
        return Script((), (), broken=True)


# ── composite actions ──


def _local(step: Node, uses: str, frame: Frame, making: Making) -> Iterator[Draft]:
    source = next((found for path in local(frame.source, uses) if (found := frame.given.beside(frame.source, path)) is not None), None)
    root = None if source is None else source.yaml
    much = root is not None and not making.follows.one_more()
    deep = making.depth >= MOST_ACTIONS
    if source is None or root is None or deep or much:
        job = making.job
        # What all steps of a job may see is for others where this one only prepares.
        wide = () if harmless(uses) else (job.node, job.root)
        extra = (
            {"handed": "nothing"} if shut_in(job) else handed(uses, step.get("with"), step.get("env"), *(one.get("env") for one in wide))
        )
        own = has_secret(step.get("with"), step.get("env"))
        if extra and not own and (harmless(uses) or prepares(step.get("name").text) or may_only_read(job)):
            extra["gone"] = "true"  # what it prepares is gone with the machine
        extra |= given_secret(step)
        # Whoever lets a job pass does so for what it does, not for what sets it up.
        gate = None if sets_up(uses) else frame.gate
        why = NOT_GIVEN if root is None else TOO_DEEP if deep else TOO_MANY
        unread = Unread(uses, why, step.get("uses").span, at_hand=root is not None)
        bare = _bare(step, replace(frame, gate=gate, extra={**frame.extra, **extra}), opaque=unread)
        yield Draft(bare, frame.when, wide=True)
        return
    if root.get("runs", "using").text != "composite":
        yield Draft(_bare(step, frame, opaque=Unread(uses, A_PROGRAM, step.get("uses").span, at_hand=True)), frame.when, wide=True)
        return
    filled = fill(root.get("runs", "steps"), _given(root, step.get("with")))
    steps = keyed(filled)
    job = Job(frame.scope, filled, root, steps, {}, {})
    inner = replace(frame, source=source, followed=(*frame.followed, source.path))
    for key, node in steps.items():
        yield from made(key, node, Making(job, inner, making.broken, making.depth + 1, making.follows))


def _given(root: Node, given: Node) -> dict[str, str]:
    """The inputs of a call, with the defaults of those that it does not name."""
    usual = {name: node.get("default").text for name, node in root.get("inputs").items()}
    return usual | {name: node.text for name, node in given.items()}


def fill(node: Node, inputs: Mapping[str, str]) -> Node:
    """The same tree with the inputs of a call in the place of `inputs.x`; lines stay what they are."""
    if isinstance(node.value, dict):
        return replace(node, value={key: fill(one, inputs) for key, one in node.value.items()})
    if isinstance(node.value, list):
        return replace(node, value=[fill(one, inputs) for one in node.value])
    if not isinstance(node.value, str) or "inputs." not in node.value:
        return node

    def value(match: re.Match[str]) -> str:
        return " ".join(inputs.get(match[1], match[0]).split())[:2_000]

    text = re.sub(r"\$\{\{\s*inputs\.([\w-]+)\s*\}\}", value, node.value)
    text = re.sub(r"\binputs\.([\w-]+)", lambda match: _inner(inputs.get(match[1], match[0])), text)
    return replace(node, value=text) if len(text) <= len(node.value) + MOST_FILLED else node


def _inner(value: str) -> str:
    """A value within an expression: another expression without its braces, or a literal."""
    match = re.fullmatch(r"\s*\$\{\{(.*)\}\}\s*", value, re.DOTALL)
    return f"({match[1].strip()[:500]})" if match else value if value.startswith("inputs.") else f"'{value[:200]}'"


def keyed(steps: Node) -> dict[str, Node]:
    """The steps of a job by a name that stays when lines move: the id, the name, the action, or the place."""
    found: dict[str, Node] = {}
    for step in steps.each():
        wanted = step.get("id").text or slug(step.get("name").text or told(step.get("uses").text) or _first(step.get("run").text))
        key, number = wanted, 2
        while key in found:
            key, number = f"{wanted}-{number}", number + 1
        found[key] = step
    return found


def _first(run: str) -> str:
    lines = [line.strip() for line in run.split("\n") if line.strip() and not line.strip().startswith(("#", "set "))]
    return " ".join(lines[0].split()[:3]) if lines else "run"


# ── what flows into a step ──


def _flowing(step: Node, job: Job) -> str:
    """The texts of a step, and those of the variables and outputs that it takes, three rounds back."""
    texts, seen = sources(step), set[str]()
    for _ in range(3):
        names = {first or second for first, second in _ENV.findall(texts)} - seen
        seen |= names
        more = [owner.get("env", name).text for name in names for owner in (step, job.node, job.root)]
        for scope in job.needs(texts):
            unit, _, key = scope.rpartition("/")
            other = job.steps.get(key) if unit == job.unit else job.jobs[unit].steps.get(key) if unit in job.jobs else None
            more += [sources(other)] if other is not None and scope not in seen else []
            seen.add(scope)
        texts = " ".join((texts, *more))[:200_000]
    return texts + " ".join(_environment(step, job))


def _environment(step: Node, job: Job) -> Iterator[str]:
    """Earlier steps that write variables of the environment."""
    yield from (text for line, text in job.writers if line < step.span.line)


def _kept_output(step: Step, key: str, node: Node, source: Source) -> Step:
    """An output of an action that something else takes is kept."""
    if step.effect is None or step.kept or not node.get("id"):
        return step
    for number, line in enumerate(source.lines, 1):
        if re.search(rf"\bsteps\.{re.escape(key)}\.outputs\.", line):
            return replace(step, kept=(source.span(number),))
    return step
