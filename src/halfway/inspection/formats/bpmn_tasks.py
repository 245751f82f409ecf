"""What a BPMN task does: the request of a connector, or the code of a worker that a model only names."""

from __future__ import annotations

import re
from dataclasses import replace

from halfway.inspection.formats import Given
from halfway.inspection.formats.wording import bearing, named, opaque_effect
from halfway.inspection.formats.xml_tree import Element
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Bearing, Effect, Identity, Kind, Receiver, Repeat, Reversible, Span, Unread
from halfway.inspection.quoting import quoted
from halfway.inspection.source import whole

_ATTEMPTS = 3  # of Zeebe and of Camunda 7 where nothing is said
_KEY = re.compile(r"(?i)(?:x-)?idempotency[-_]?key|paypal-request-id|x-nc-api-idempotency-key|request_?id")
_STABLE = re.compile(r"(?i)businessKey|process_?instance(?:Key|Id)|[:+=]\s*[a-z_]|\$\{\w")
_OWN_VARIABLE = re.compile(
    r"^[$#]\{\s*(?:execution\.(?:set|get|remove)Variable(?:Local)?\(|(?:true|false|null|\d+|'[^']*')\s*\}$)|(?:^|\.)(?i:no-?op|do-?nothing)\w*$"
)
# Messages to a process of the same engine; a delegate that only writes a log.
_CORRELATES = re.compile(r"\.(?:createMessageCorrelation|messageEventReceived|correlateMessage|signalEventReceived|createSignalEvent)\(")
_LOGS = re.compile(r"(?:^|[.{])(?i:logg(?:er|ing)\w*)\}?$")
_STAFF = re.compile(
    r"(?i)\b(?:sales reps?|managers?|team|staff|admins?|operations|employees?|back ?office|support agents?|담당자|관리자)\b"
)
_CODE = ("type", "topic", "class", "delegateExpression", "expression")


def inputs(node: Element) -> dict[str, Element]:
    """The inputs of a connector by name."""
    found: dict[str, Element] = {}
    for one in node.all("input", "inputParameter"):
        found.setdefault(one.get("target") or one.get("name"), one)
    return found


def effect_of(node: Element, knowledge: Knowledge) -> Effect:
    """The effect of a task; of a worker's code what its name speaks of."""
    name = node.get("name") or node.get("id")
    given = inputs(node)
    if "url" in given:
        method, url = (_text(given[key]) if key in given else "" for key in ("method", "url"))
        if method and not re.search(r"[=${]", method):
            found = named(knowledge.http(method.upper(), url), name, url)
            if found is not None:
                return found
        return opaque_effect(quoted(f"request {url}"), name, url)
    code, _ = code_of(node)
    if _CORRELATES.search(code):
        # What fails takes it back: it is sent in the transaction of the one who sends it.
        return Effect("", frozenset({Kind.ENQUEUE}), Repeat.SAFE, Reversible.UNKNOWN, quoted(name), certain=False)
    if _OWN_VARIABLE.search(code) or _LOGS.search(code):
        return Effect("", frozenset({Kind.READ}), Repeat.SAFE, Reversible.YES, quoted(code), certain=True)
    effect = opaque_effect(quoted(code or name), name, code, *_class_name(code))
    if node.name in ("sendTask", "intermediateThrowEvent", "endEvent"):
        # It tells another process or service; that it writes to a person only its name can say.
        # Without any code an event moves no money, whatever its message is about.
        spoken = effect.kinds if code or node.name == "sendTask" else effect.kinds - {Kind.MONEY}
        kinds = spoken if Kind.NOTIFY in spoken else spoken | {Kind.ENQUEUE}
        effect = Effect("", kinds, effect.repeat, effect.reversible, effect.told, certain=False)
    return replace(effect, receiver=Receiver.TEAM) if Kind.NOTIFY in effect.kinds and _STAFF.search(name) else effect


def opaque_of(node: Element, here: frozenset[str], given: Given) -> Unread | None:
    """The code of a worker, or a process that was not given."""
    if "url" in inputs(node):
        return None
    if node.name == "callActivity":
        called = node.first("calledElement")
        what = node.get("calledElement") or (called.get("processId") if called is not None else "")
        if what in here or any(f'id="{what}"' in one.text and "<" in one.text for one in given.sources.values()):
            return None
        return Unread(quoted(what), "the process {what} was not given", node.span)
    code, span = code_of(node)
    if not code or any(own.search(code) for own in (_OWN_VARIABLE, _LOGS, _CORRELATES)):
        return None  # without any there is no part to be given
    return Unread(quoted(code), "the code of {what} was not given", span)


def identity_of(node: Element, effect: Effect | None, opaque: Unread | None) -> Identity | None:
    """The key that a connector sends; of a worker's code nobody can tell."""
    if effect is None or not effect.outward:
        return None
    for name, one in inputs(node).items():
        said = _text(one)
        for entry in (one, *one.all("entry")):
            shown = entry.get("key") if entry is not one else name
            if _KEY.search(shown) or (entry is one and _KEY.search(said)):
                value = entry.text.strip() or said
                return Identity(bearing(value, _STABLE), quoted(value), entry.span)
    return Identity(Bearing.UNKNOWN if opaque is not None else Bearing.NONE, "", node.span)


def kept(node: Element) -> tuple[Span, ...]:
    """Where the answer becomes a variable of the process."""
    spans = [one.span for one in node.all("output", "outputParameter")]
    spans += [one.span for one in node.all("header") if one.get("key") in ("resultVariable", "resultExpression") and one.get("value")]
    return tuple(spans) or ((node.span,) if node.get("resultVariable") else ())


def retries_of(node: Element, zeebe: bool) -> tuple[int | None, Span | None]:
    """How often it is tried in all, None for an end that cannot be read; and where that is said, None for the engine's default."""
    definition = node.first("taskDefinition")
    if zeebe:
        said = definition.get("retries") if definition is not None else ""
        if definition is None or not said:
            return _ATTEMPTS, None
        # How many an expression gives cannot be read; it gives some.
        return (_ATTEMPTS if (tries := whole(said)) is None else tries), definition.span
    cycle = node.first("failedJobRetryTimeCycle")
    said = (cycle.text if cycle is not None else "").strip() or node.get("failedJobRetryTimeCycle")
    if not said:
        return (None if is_external(node) else _ATTEMPTS), None
    span = cycle.span if cycle is not None else node.span
    times = re.match(r"R(\d+)/", said)
    # A list of intervals is one more attempt than it has members.
    return (whole(times[1]) if times else said.count(",") + 2 if "${" not in said else _ATTEMPTS), span


def is_external(node: Element) -> bool:
    """Whether a worker outside the engine fetches the task."""
    return any(one.get("type") == "external" or bool(one.get("topic")) for one in _implemented_at(node))


def runs_as_job(node: Element) -> bool:
    """Whether the engine saves before it, and a job of its own does it; asyncAfter makes one of what comes after it."""
    return any(node.get(key) == "true" for key in ("asyncBefore", "async"))


def code_of(node: Element) -> tuple[str, Span]:
    """What the definition names as the code of a task or of an event, and where."""
    definition = node.first("taskDefinition")
    if definition is not None and definition.get("type"):
        return definition.get("type"), definition.span
    for one in _implemented_at(node):
        for key in _CODE:
            said = one.get(key)
            # A text is no expression: the engine gives it back as it stands.
            if said and said != "external" and (key != "expression" or "{" in said):
                return said, one.span
    return "", node.span


def _implemented_at(node: Element) -> tuple[Element, ...]:
    """Where the code is named: at a task itself, and of an event at the message that it sends."""
    message = node.child("messageEventDefinition") if node.name in ("intermediateThrowEvent", "endEvent") else None
    return (node,) if message is None else (node, message)


def _class_name(code: str) -> tuple[str, ...]:
    """The name of a class without that of its package, which says where it stands and not what it does."""
    package, dot, own = code.rpartition(".")
    return (own,) if dot and re.fullmatch(r"[\w.]+", package) else ()


def _text(one: Element) -> str:
    """An input as written; the text of an expression without the sign that makes it one."""
    said = (one.get("source") or one.text).strip()
    literal = re.fullmatch(r'=\s*"([^"]*)"(?:\s*\+.*)?', said)  # of an address that is put together, its beginning
    return literal[1] if literal else said
