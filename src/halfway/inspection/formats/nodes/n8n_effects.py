"""What a node of n8n does outside: requests by method and address, commands by their words, everything else by type and operation."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace

from halfway.inspection.formats import Given
from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes.n8n_asking import looks, only_asks
from halfway.inspection.formats.nodes.n8n_code import done_by_code, may_change
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_statements import statement_at
from halfway.inspection.formats.nodes.parts import (
    by_verb,
    leaves,
    looks_up,
    read_table,
    reading,
    settled,
    texts,
    unknown_effect,
    without_guests,
)
from halfway.inspection.knowledge.sql import row_of
from halfway.inspection.model import Effect, Kind, Repeat, Reversible, Unread
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

SUB_UNREAD = "the workflow {what} is called and was not given"
COMMAND_UNREAD = "the program {what} is started and was not given"
NODE_UNREAD = "the node {what} is not one of n8n's own; what it does is not known"
# What is up to date, or there, is so after a second time.
_PACKAGES = re.compile(
    r"(?:sudo )?(?:apt|apt-get|dnf|yum|zypper|apk)(?: -\S+)* (?:update|upgrade|full-upgrade|dist-upgrade|install|autoremove)\b"
)
_COMMANDS = re.compile(r"\n|;|&&|\|\|")
_QUESTIONS = frozenset({"query", "q", "searchQuery", "searchTerm", "keywords"})
_REFUSED = re.compile(r"(?i)\bthrow\b[^;\n]{0,80}\b(?:unauthori[sz]ed|forbidden|40[13])\b")
_STORES = "vectorstore"
_LANGCHAIN = "@n8n/n8n-nodes-langchain."


@dataclass(frozen=True)
class Done:
    """What a node does, and what of it could not be read."""

    effect: Effect | None
    opaque: Unread | None = None
    tools: tuple[str, ...] = ()  # what an agent may use on the world


def done_by(drawing: Drawing, name: str, given: Given) -> Done:
    """What a node does outside; nothing for one that is off, or only hands on what it gets."""
    node = drawing.nodes[name]
    if drawing.passes(name):
        return Done(None)
    if drawing.role(name, "code"):
        return Done(*done_by_code(node, name, told(node)))
    if drawing.role(name, "sub"):
        return _sub(drawing, name, given)
    if drawing.role(name, "shell"):
        return _command(node, given)
    if _is_http(node):
        return Done(_request(node, given))
    if node.get("type").text.startswith(_LANGCHAIN):
        return _model(drawing, name, given)
    if drawn.short(node) == "mcpclient" and looks(node.get("parameters", "toolName").text):
        return Done(reading(told(node)))
    return _app(drawing, name, given)


def told(node: Node) -> str:
    """How the node would be called: its type, and what it is told to do."""
    given = node.get("parameters")
    resource, operation = asked(node)
    shown = ":".join(one for one in (resource, operation) if one)
    if _is_http(node):
        shown = f"{method_of(node)} {address_of(node)}"
    elif given.get("command"):
        shown = given.get("command").text
    return quoted(f"{node.get('type').text.rsplit('.', 1)[-1]} {shown}".strip())


def asked(node: Node) -> tuple[str, str]:
    """Resource and operation as the file has them, else as that version of the node has them by default."""
    given, short = node.get("parameters"), drawn.short(node)
    if by_webhook(node):
        of_hook = drawn.table()["by_webhook"][short.removesuffix("tool")]
        return str(of_hook[0]), str(of_hook[1])
    known = read_table("n8n_defaults")["nodes"]
    default = known.get(f"{short}@{node.get('typeVersion').text}") or known.get(short) or known.get(short.removesuffix("tool"), {})
    resource: str = given.get("resource").text or default.get("resource", "")
    return resource, given.get("operation").text or default.get("operations", {}).get(resource, "")


def by_webhook(node: Node) -> bool:
    """Whether a node speaks to the one place that its webhook leads to: it then has but one operation, whatever else stands in it."""
    usual = drawn.table()["by_webhook"]
    return node.get("parameters", "authentication").text == "webhook" and drawn.short(node).removesuffix("tool") in usual


def method_of(node: Node) -> str:
    """The method of a request; older versions of the node name it otherwise."""
    given = node.get("parameters")
    if drawn.short(node) == "graphql":
        return given.get("requestMethod").text.upper() or "GET"
    return (given.get("method").text or given.get("requestMethod").text or "GET").upper()


def address_of(node: Node) -> str:
    """The address of a request, without the sign that makes it an expression."""
    given = node.get("parameters")
    return (given.get("url").text or given.get("endpoint").text).removeprefix("=").strip()


def _is_http(node: Node) -> bool:
    return drawn.short(node) in ("httprequest", "httprequesttool", "toolhttprequest", "graphql")


_STREAMS = re.compile(r"[\"']stream[\"']\s*:\s*true\b")


def _request(node: Node, given: Given) -> Effect | None:
    method, address = method_of(node), address_of(node)
    if method.startswith("="):
        return unknown_effect(told(node))
    effect = given.knowledge.http(method, address)
    is_unknown = effect is not None and effect.kinds == frozenset({Kind.UNKNOWN})
    return reading(told(node)) if is_unknown and method == "POST" and only_asks(node, address) else effect


def streams(node: Node) -> bool:
    """Whether a request asks for its answer as it is made: it lasts until what it has started ends."""
    given = node.get("parameters")
    said = [one.get("value").text for one in given.get("bodyParameters", "parameters").each() if one.get("name").text == "stream"]
    return _is_http(node) and (
        "true" in (one.lower().strip("={} ") for one in said) or _STREAMS.search(given.get("jsonBody").text) is not None
    )


def _sub(drawing: Drawing, name: str, given: Given) -> Done:
    """Another workflow, which is a flow of its own where it was given; one that calls itself goes on behind its own start."""
    node = drawing.nodes[name]
    if drawing.calls_itself(name):
        return Done(None)
    if drawing.names_itself(name):
        return Done(unknown_effect(told(node)))
    wanted = drawn.plain(node.get("parameters", "workflowId"))
    called = node.get("parameters", "workflowId", "cachedResultName").text
    shown = called or wanted or name
    if wanted and any(_holds(source.json, wanted) for source in given.sources.values() if '"connections"' in source.text):
        return Done(unknown_effect(told(node)))
    looks = looks_up(called) or looks_up(name) or _lets_in(drawing, name)
    effect = reading(told(node)) if looks else unknown_effect(told(node))
    return Done(effect, Unread(quoted(shown), SUB_UNREAD, node.span))


def _lets_in(drawing: Drawing, name: str) -> bool:
    """Whether it is asked who somebody is: right behind it whoever is not known is turned away."""
    behind = [link.after for link in drawing.graph.after.get(name, ())]
    return bool(behind) and all(_turns_away(drawing, one) for one in behind)


def _turns_away(drawing: Drawing, name: str) -> bool:
    if drawing.role(name, "code"):
        return _REFUSED.search(texts(drawing.nodes[name].get("parameters"))) is not None
    answers = [link.after for link in drawing.graph.after.get(name, ())] if drawing.role(name, "branching") else []
    codes = {str(drawing.nodes[one].get("parameters", "options", "responseCode").text) for one in answers if drawing.role(one, "answering")}
    return bool(codes & {"401", "403"})


def _holds(root: Node | None, wanted: str) -> bool:
    return root is not None and any(one.get("id").text == wanted for one in root.each())


def _command(node: Node, given: Given) -> Done:
    """The first command that does something outside; a program that nobody gave may do anything."""
    text = node.get("parameters", "command").text
    known = [effect for words in _words(text) if (effect := given.knowledge.command(words)) is not None]
    if known:
        return Done(next((one for one in known if one.outward), known[0]))
    started = next((words[0] for words in _words(text) if "/" in words[0] or "." in words[0]), "")
    if started or text.startswith("="):
        return Done(unknown_effect(told(node)), Unread(quoted(started or text), COMMAND_UNREAD, node.span))
    if drawn.short(node) != "ssh":
        return Done(None)
    effect = unknown_effect(told(node))
    packages = all(_PACKAGES.match(" ".join(words)) for words in _words(text))
    return Done(replace(effect, repeat=Repeat.SAFE) if packages else effect)


def _words(text: str) -> list[list[str]]:
    found: list[list[str]] = []
    for part in _COMMANDS.split(text.removeprefix("=")[:20_000]):
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
        if words:
            found.append(words)
    return found


def _model(drawing: Drawing, name: str, given: Given) -> Done:
    """A call of a model; with tools that change something it is an agent."""
    node = drawing.nodes[name]
    tools = tuple(part for part in drawing.parts.get(name, ()) if _changes(drawing, part, given))
    if tools:
        kinds = frozenset({Kind.AGENT})
        return Done(Effect("", kinds, Repeat.UNKNOWN, Reversible.UNKNOWN, quoted(f"{told(node)} ({', '.join(tools)})")), tools=tools)
    if drawn.short(node).startswith(_STORES) and node.get("parameters", "mode").text.startswith(("load", "retrieve")):
        return Done(reading(told(node)))
    known = given.knowledge.node("n8n", node.get("type").text, *asked(node))
    if known is not None and not known.kinds <= {Kind.AGENT, Kind.READ}:
        return Done(known)
    if drawn.short(node) in _MODELS or known is not None:
        return Done(reading(told(node)))
    return Done(by_verb(node.get("parameters", "mode").text, told(node), drawn.table()["parameters"]["looks"]))


# They call a model or look something up, and change nothing that is not named in their tools.
_MODELS = frozenset({
    "agent", "chainllm", "chainsummarization", "chainretrievalqa", "informationextractor", "textclassifier", "sentimentanalysis", "openai",
    "guardrails",
})  # fmt: skip


def _changes(drawing: Drawing, part: str, given: Given) -> bool:
    """Whether a part of an agent is a tool that may change something outside."""
    kind = drawn.short(drawing.nodes[part]) if part in drawing.nodes else ""
    if kind == "toolcode":
        return may_change(drawing.nodes[part])
    if kind == "toolworkflow":
        return not drawing.calls_itself(part) or _own_branch_changes(drawing, given)
    if kind in ("mcpclienttool", "agenttool"):
        return True
    if not kind.endswith("tool") and not kind.startswith("toolhttp"):
        return False
    effect = done_by(drawing, part, given).effect
    return effect is not None and effect.outward


def _inserts(node: Node) -> bool:
    """Whether a change of a document puts something in beside what is there; to replace a text does so once."""
    actions = [one.get("action").text for one in node.get("parameters", "actionsUi", "actionFields").each()]
    return any(not one.startswith(("replace", "delete")) for one in actions)


def _own_branch_changes(drawing: Drawing, given: Given) -> bool:
    """Whether the part of the workflow that it starts for its own calls changes something; one that asks an agent in turn may."""
    branch = drawing.graph.downstream(drawing.own_starts) - drawing.inner
    if any(
        drawn.short(drawing.nodes[part]) == "toolworkflow"
        for name in branch
        for part in drawing.parts.get(name, ())
        if part in drawing.nodes
    ):
        return True
    done = (done_by(drawing, name, given) for name in branch if not drawn.is_trigger(drawing.nodes[name]))
    return any(one.effect is not None and one.effect.outward for one in done)


def _app(drawing: Drawing, name: str, given: Given) -> Done:
    """A node of a vendor's: by the base, else by the name of its operation."""
    node = drawing.nodes[name]
    type, (resource, operation) = node.get("type").text, asked(node)
    if drawn.short(node) == "facebookgraphapi" and node.get("parameters", "httpRequestMethod").text in ("", "GET"):
        return Done(reading(told(node)))  # an export leaves out the method where it is the usual one
    statement = row_of(statement_at(drawing, name)) if operation == "executeQuery" else None
    known = given.knowledge.effect(statement, told(node)) if statement else given.knowledge.node("n8n", type, resource, operation)
    if known is not None:
        known = without_guests(known, node.get("parameters"))
        return Done(known if _inserts(node) else settled(known, operation, node.get("parameters")))
    if type.startswith(("n8n-nodes-base.", "@n8n/")):
        return Done(by_verb(operation, told(node), drawn.table()["parameters"]["looks"]))
    # One sort of node is one part that is missing, however often it is used and whatever it is called there.
    looks = (looks_up(name) and not node.get("credentials")) or _lists(node) or _only_looks(node)
    return Done(reading(told(node)) if looks else unknown_effect(told(node)), Unread(quoted(type), NODE_UNREAD, node.span))


def _lists(node: Node) -> bool:
    """Whether a node of others is told how many records to bring, and nothing else to do: its usual operation is then a list."""
    given = node.get("parameters")
    return not given.get("operation").there and (given.get("returnAll").there or given.get("limit").there)


def _only_looks(node: Node) -> bool:
    """Whether a node of others is told to look, or gets the words of a question and nothing else."""
    given = node.get("parameters")
    operation = given.get("operation").text
    if operation:
        return operation.lower().startswith(tuple(drawn.table()["parameters"]["looks"]))
    written = [(key, leaf.text) for key, leaf in leaves(given) if leaf.text]
    return bool(written) and all(key in _QUESTIONS and not row_of(text) and "mutation" not in text for key, text in written)
