"""Steps that use an action: known ones have their effect, local ones are followed, the rest cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from halfway.inspection.formats.bash import read
from halfway.inspection.formats.bash.evidence import notice, receiver
from halfway.inspection.formats.bash.frame import Frame
from halfway.inspection.formats.bash.origin import Origin, varies, worst
from halfway.inspection.formats.bash.script import Script
from halfway.inspection.formats.bash.steps import NAMED, drafts, unknown_effect
from halfway.inspection.formats.bash.words import trivial
from halfway.inspection.formats.github.expressions import placed
from halfway.inspection.formats.github.handing import doubtful, given_secret, told
from halfway.inspection.formats.github.script_looks import branch_of, look_before
from halfway.inspection.formats.sequence import Draft, slug
from halfway.inspection.knowledge.limits import of_use
from halfway.inspection.model import Bearing, Effect, Fact, Gate, Identity, Kind, Mark, Receiver, Repeat, Span, Step, Unread, When
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node, Source, Unreadable, expressions

HERE = ("./", "$/")
"""How a reference to a part of the same repository begins."""
UNKNOWN_ACTION = "{what} is an action that is not known: what it does outside cannot be read"
_NAMES = (
    "tag",
    "tag_name",
    "tag-name",
    "tags",
    "version",
    "name",
    "release",
    "release_name",
    "ref",
    "image",
    "package",
    "environment",
    "stack",
    "service",
    "branch",
)
_KEYS = re.compile(r"(?i)idempoten|dedup|client[-_]?token|request[-_]?id")
_TO = (
    "to",
    "recipient",
    "recipients",
    "channel",
    "channel-id",
    "channel_id",
    "chat_id",
    "room",
    "phone",
    "webhook",
    "webhook_url",
    "webhook-url",
    "slack_webhook",
)
_SAYS = ("text", "message", "body", "payload", "subject", "content", "title", "status", "custom_payload")
_REST = re.compile(r"\b(?:github|octokit)\.rest\.(\w+)\.(\w+)\s*\(|\b(?:github|octokit)\.(issues|repos|pulls|git|actions)\.(\w+)\s*\(")
_FETCH = re.compile(r"\bfetch\(\s*([^,)]{1,200})\s*,\s*\{[^}]{0,400}?method:\s*['\"](\w+)", re.DOTALL)
_EXEC = re.compile(
    r"\b(?:execSync|exec\.exec|execFileSync|spawnSync|getExecOutput|exec)\(\s*(['\"`])(.{1,500}?)\1\s*(?:,\s*(\[[^\]]{0,500}\]))?"
)
_GAP = re.compile(r"\$\{\s*([A-Za-z_]\w*)[^}]*\}")
_LOOP = re.compile(r"\b(?:for|while)\s*\(|\.(?:forEach|map)\(")
_BLOCKS = re.compile(r"[{}]|\bthrow\b|\bsetFailed\s*\(|\bprocess\.exit\(\s*[1-9]")
_LONGEST_BLOCK = 20_000  # letters
_ALLOWED = re.compile(r"--allowed-?[tT]ools[ =](?:[\"']([^\"']*)[\"']|(\S+))")
_TOOL = re.compile(r"[\w-]+(?:\([^()]*\))?")
_READING_TOOL = re.compile(
    r"(?:Read|Glob|Grep|LS|NotebookRead|Todo(?:Read|Write)|Task|WebFetch|WebSearch|mcp__\w+__(?:get|list|search|read)_\w+"
    r"|Bash\((?:git (?:diff|log|show|status|blame|ls-files)|gh (?:pr|issue|run|release) (?:view|diff|list|checks)|gh search [a-z]+"
    r"|ls|cat|find|grep|rg)\b[^()]*\))$"
)
_WRITING_TOOL = re.compile(r"(?:Write|Edit|MultiEdit|NotebookEdit)$")
_SAYING_TOOL = re.compile(
    r"(?:mcp__github\w*__(?:create|update|add)_\w*comment|mcp__github\w*__(?:create|submit|add)_\w*review\w*"
    r"|Bash\(gh (?:pr|issue) comment\b[^()]*\))$"
)
_OUTCOME = re.compile(r"\b(?:needs\.(?:[\w-]+|\*)\.result|job\.status|steps\.[\w-]+\.(?:outcome|conclusion))\b")
EITHER_WAY = re.compile(r"\balways\(\)|!\s*cancelled\(\)|\bfailure\(\)")
_TELLS = re.compile(r"(?i)issue|notif|slack|discord|telegram|teams|mail|alert")
_REQUESTS = {"fjogeleit/http-request-action": "POST", "satak/webrequest-action": "GET", "joelwmale/webhook-action": "POST"}
"""Actions that send one request, with the method that they take where none is given."""
_APPLIES_PLAN = ("dflook/terraform-apply", "dflook/tofu-apply")
_RUN_BY = ("command", "commands", "run", "script")  # inputs that hold the lines of a shell
_READS = ("get", "list", "check", "compare", "download")


def action(step: Node, uses: str, inputs: Mapping[str, Node], frame: Frame) -> Iterator[Draft]:
    """An action that is not of this repository."""
    given = {name: node.text for name, node in inputs.items()}
    if told(uses) == "actions/github-script":
        yield from _github_script(inputs.get("script"), step, frame)
        return
    if told(uses) in _APPLIES_PLAN and given.get("auto_approve", "") != "true":
        # Without it only that plan is applied which stands in the pull request that was merged.
        frame = replace(frame, gate=frame.gate or Gate("plan", step.get("uses").span))
    effect = _requested(uses, given, frame) or frame.given.knowledge.uses(uses, given)
    if effect is None and (lines := _lines(inputs, frame)) is not None:
        yield from drafts(lines[1], replace(frame, place=placed(lines[0])))
        return
    made = _step(step, uses, frame)
    if made.timeout is None:
        limit = of_use(uses)
        if limit is not None and limit.request:
            made = replace(made, extra={**made.extra, "gives_up": "true"})
        made = replace(made, timeout=None if limit is None or limit.request else limit.seconds)
    if effect is None:
        opaque = Unread(uses, UNKNOWN_ACTION, made.span) if doubtful(step, uses, frame) else None
        extra = {**made.extra, **given_secret(step)} if opaque is not None else made.extra
        marks = made.marks | _told_of_failure(uses, given, frame)
        yield Draft(replace(made, opaque=opaque, extra=extra, marks=marks), frame.when, wide=True)
        return
    yield Draft(_acting(made, effect, inputs, step, frame) if effect.outward else made, frame.when, wide=True)


def _requested(uses: str, given: Mapping[str, str], frame: Frame) -> Effect | None:
    """Of an action that sends a request which its inputs write out."""
    usual = _REQUESTS.get(told(uses).lower())
    url = next((given[name] for name in ("url", "endpoint", "webhook_url") if given.get(name)), "")
    return frame.given.knowledge.http(given.get("method", usual), url) if usual is not None and url else None


def _lines(inputs: Mapping[str, Node], frame: Frame) -> tuple[Node, Script] | None:
    """The commands that an action which is not known is handed to run, where at least one is known and all begin with its program."""
    for node in (inputs[name] for name in _RUN_BY if name in inputs):
        try:
            script = read(node.text, stops=True)
        except Unreadable:
            continue
        known = {one.words[0] for one in script.commands if frame.given.knowledge.command(one.words) is not None}
        if known and all(one.words[0] in known or trivial(one.words) for one in script.commands):
            return node, script
    return None


def _step(step: Node, uses: str, frame: Frame) -> Step:
    node = step.get("uses")
    return Step(
        id=f"{frame.id}/{slug(told(uses))}",
        name=frame.name or told(uses),
        unit=frame.unit,
        scope=frame.scope,
        order=0,
        span=node.span,
        quote=frame.source.fact(node.span).quote,
        repeaters=frame.repeaters,
        timeout=frame.timeout,
        timeout_known=frame.timeout_known,
        ends_after=frame.ends_after,
        on_error=frame.on_error,
        gate=frame.gate,
        condition=frame.condition,
        needs_output_of=frame.needs,
        guard=frame.guard,
        marks=frozenset({Mark.IN_LOOP}) if frame.in_loop else frozenset(),
        extra=dict(frame.extra),
    )


def _acting(step: Step, effect: Effect, inputs: Mapping[str, Node], node: Node, frame: Frame) -> Step:
    identity = _identity(effect, inputs, node, frame)
    skips = next(
        (value for name, value in inputs.items() if re.match(r"skip[-_](?:existing|duplicate)", name) and value.text == "true"), None
    )
    texts = " ".join(value.text for name, value in inputs.items() if name.lower() in _SAYS)
    texts += " ".join(value.text for _, value in node.get("env").items())
    notices = _notice(effect, f"{texts} {step.name}", frame)
    recovery = {Mark.RECOVERY} if frame.when is When.ERROR else set[Mark]()
    facts = [frame.source.fact(span) for span in (identity.span, skips.span if skips else None) if span is not None and span != step.span]
    arguments = " ".join(inputs[name].text for name in ("claude_args", "codex-args", "max_turns", "allowed_tools") if name in inputs)
    return replace(
        step,
        effect=replace(effect, receiver=_receiver(effect, inputs, node)),
        identity=identity,
        guard=skips.span if skips is not None else step.guard,
        marks=step.marks | recovery | notices,
        facts=(*step.facts, *(fact for fact in facts if fact.span.file == frame.source.path)),
        extra={**step.extra, **({"arguments": quoted(arguments)} if arguments else {}), **_tools(effect, arguments, frame)},
    )


def _notice(effect: Effect, text: str, frame: Frame) -> frozenset[Mark]:
    """What a message tells of; one that names the outcome tells of a failure as well, where it is reached after one."""
    if Kind.NOTIFY not in effect.kinds or not _OUTCOME.search(text):
        return notice(effect.kinds, text, frame.when)
    return frozenset({Mark.FAILURE_NOTICE}) if _reached_after_failure(frame) else frozenset()


def _told_of_failure(uses: str, given: Mapping[str, str], frame: Frame) -> frozenset[Mark]:
    """The mark of an action that is not known, is called after telling somebody, and is there for a failure or handed how all ended."""
    knows = frame.when is When.ERROR or (_reached_after_failure(frame) and any(_OUTCOME.search(value) for value in given.values()))
    return frozenset({Mark.FAILURE_NOTICE}) if knows and _TELLS.search(told(uses)) else frozenset()


def _reached_after_failure(frame: Frame) -> bool:
    return frame.when is not When.SUCCESS or EITHER_WAY.search(frame.condition) is not None


def _tools(effect: Effect, arguments: str, frame: Frame) -> dict[str, str]:
    """Whether an agent can do nothing outside: its tools only read, or leave files on a machine that is gone afterwards."""
    if Kind.AGENT not in effect.kinds:
        return {}
    given = _ALLOWED.search(arguments)
    tools = _TOOL.findall(given[1] or given[2]) if given is not None else []
    inside = [tool for tool in tools if _READING_TOOL.match(tool) or (frame.passing and _WRITING_TOOL.match(tool))]
    if (tools and len(inside) == len(tools)) or "powerless" in frame.extra:
        return {"looks": "true"}
    if tools and all(tool in inside or _SAYING_TOOL.match(tool) for tool in tools):
        return {"says": "true"}
    return {}


def _identity(effect: Effect, inputs: Mapping[str, Node], step: Node, frame: Frame) -> Identity:
    for name, node in inputs.items():
        if _KEYS.search(name) and node.text:
            found = _origin(node.text, frame)
            bearing = Bearing.STABLE if found.bearing is Bearing.NATURAL else found.bearing
            return Identity(bearing, quoted(node.text, 80), found.span or node.span)
    span = step.get("uses").span
    if not (effect.kinds & NAMED or effect.repeat in (Repeat.REJECTS, Repeat.MERGES, Repeat.SAFE)):
        return Identity(Bearing.NONE, "", span)
    named = [(node, _origin(node.text, frame)) for name, node in inputs.items() if name.lower() in _NAMES and varies(node.text)]
    if not named:
        plain = next(
            (node for name, node in inputs.items() if name.lower() in ("tag", "tag_name", "tag-name", "tags", "image") and node.text), None
        )
        return Identity(
            Bearing.NATURAL, quoted(plain.text if plain is not None else effect.told, 80), span if plain is None else plain.span
        )
    least = worst([origin for _, origin in named])
    node = next(node for node, origin in named if origin == least)
    return Identity(least.bearing, quoted(node.text, 80), least.span or node.span)


def _origin(text: str, frame: Frame) -> Origin:
    return worst([frame.expression(inner) for inner in expressions(text)])


def _receiver(effect: Effect, inputs: Mapping[str, Node], step: Node) -> Receiver:
    if Kind.NOTIFY not in effect.kinds or effect.receiver is not Receiver.UNKNOWN:
        return effect.receiver
    to = [node.text for name, node in inputs.items() if name.lower() in _TO]
    to += [node.text for name, node in step.get("env").items() if "WEBHOOK" in name.upper() or "CHANNEL" in name.upper()]
    return receiver(" ".join(to)) if to else Receiver.UNKNOWN


# ── scripts for GitHub's own interface ──


def _github_script(script: Node | None, step: Node, frame: Frame) -> Iterator[Draft]:
    """The calls of a script in JavaScript, in the order of the text; loops and conditions in it are not followed."""
    base = _step(step, step.get("uses").text, frame)
    found = sorted([*_calls(script, frame), *_fetches(script, frame)], key=lambda pair: pair[0]) if script is not None else []
    commands = list(_commanded(script, frame)) if script is not None else []
    for line, effect in found:
        assert script is not None
        span = Span(script.span.file, min(script.first_line + line - 1, max(script.span.end, script.span.line)), at=script.span.at)
        made = _acting(base, effect, {}, step, frame)
        own = Identity(made.identity.bearing, made.identity.expression, span) if made.identity is not None else None
        # What is said before the script gives up tells of that.
        ends = {Mark.FAILURE_NOTICE} if Kind.NOTIFY in effect.kinds and _gives_up(script.text, line) else set[Mark]()
        look = look_before(script.text, line, effect.told)
        asked = replace(span, line=script.first_line + look.line - 1, end=script.first_line + look.line - 1) if look is not None else None
        yield Draft(
            replace(
                made,
                id=f"{frame.id}/{slug(effect.told)}",
                name=frame.name or effect.told,
                span=span,
                quote=frame.source.fact(span).quote,
                identity=own,
                marks=made.marks | ends,
                guard=made.guard if asked is None else asked,
                guard_is_proof=made.guard_is_proof if look is None else not look.lags,
                facts=_no_facts() if asked is None else (frame.source.fact(asked),),
            ),
            frame.when,
            wide=True,
            branch=branch_of(script.text, line, effect.told, frame.id),
        )
    yield from commands
    if not found and not commands:
        yield Draft(base, frame.when, wide=True)


def _commanded(script: Node, frame: Frame) -> Iterator[Draft]:
    """The commands that a script in JavaScript starts; a gap of its text is a variable of a shell."""
    for match in _EXEC.finditer(script.text):
        text = _GAP.sub(r"${\1}", match[2]) + "".join(f" {word}" for word in re.findall(r"['\"`]([^'\"`]+)['\"`]", match[3] or ""))
        line = script.first_line + script.text.count("\n", 0, match.start())
        span = Span(script.span.file, min(line, max(script.span.end, script.span.line)), at=script.span.at)
        looped = frame.in_loop or _is_looped(script.text[: match.start()])
        try:
            commands = read(text, stops=True)
        except Unreadable:
            continue
        for draft in drafts(commands, replace(frame, place=_always(span), in_loop=looped)):
            yield replace(draft, step=replace(draft.step, quote=frame.source.fact(span).quote))


def _always(span: Span) -> Callable[[int, int], Span]:
    """The place of every line of a text that stands within one line."""
    return lambda line, end: span


def _is_looped(before: str) -> bool:
    """Whether a text ends inside of the braces of a loop."""
    open_ = list[bool]()
    for match in re.finditer(r"([^{}\n]*)\{|\}", before):
        if match[0] != "}":
            open_.append(_LOOP.search(match[1]) is not None)
        elif open_:
            open_.pop()
    return any(open_)


def _gives_up(text: str, line: int) -> bool:
    """Whether the block around a line of a script ends with a failure."""
    rest = "\n".join(text.split("\n")[line - 1 :])[:_LONGEST_BLOCK]
    depth = 0
    for match in _BLOCKS.finditer(rest):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth < 0:
            return False
        if depth == 0 and match[0] not in "{}":
            return True
    return False


def _no_facts() -> tuple[Fact, ...]:
    return ()


def _calls(script: Node, frame: Frame) -> Iterator[tuple[int, Effect]]:
    for match in _REST.finditer(script.text):
        name = f"github.rest.{match[1] or match[3]}.{match[2] or match[4]}"
        effect = frame.given.knowledge.call(name, {})
        if effect is None and not (match[2] or match[4]).startswith(_READS):
            effect = unknown_effect(name)
        if effect is not None and effect.outward:
            yield script.text.count("\n", 0, match.start()) + 1, effect


def _fetches(script: Node, frame: Frame) -> Iterator[tuple[int, Effect]]:
    for match in _FETCH.finditer(script.text):
        effect = frame.given.knowledge.http(match[2].upper(), match[1].strip("'\"` "))
        if effect is not None and effect.outward:
            yield script.text.count("\n", 0, match.start()) + 1, effect


def beside(uses: str) -> str:
    """The path that a reference to a part of the same repository names."""
    return next((uses.removeprefix(start) for start in HERE if uses.startswith(start)), uses)


def local(source: Source, uses: str) -> tuple[str, ...]:
    """Where the definition of an action of this repository may stand."""
    path = beside(uses).rstrip("/")
    return f"{path}/action.yml", f"{path}/action.yaml"
