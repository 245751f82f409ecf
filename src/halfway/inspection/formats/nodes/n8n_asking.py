"""Which requests of n8n only ask, though they are posted: by what the body says is to be done, by the end of the address, by the name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.asking import asks_model, keys_in
from halfway.inspection.formats.nodes.keys import pairs
from halfway.inspection.formats.wording import only_looks
from halfway.inspection.source import Node

_LONGEST = 5_000
_LOOKS = frozenset({
    "get", "getone", "getall", "getmany", "find", "findone", "findmany", "search", "query", "list", "read", "fetch", "lookup", "count",
    "exists", "check", "verify", "validate", "retrieve", "describe", "available", "availability", "freebusy", "introspect",
})  # fmt: skip
_LAST = _LOOKS - {"list", "read", "count", "available"}  # a mailing list is none, and what is marked as read is changed
_ISSUES = frozenset({"get", "genera", "generate", "generar", "gerar", "request", "issue", "refresh", "fetch", "obtain", "access", "auth"})
_WRITES = re.compile(
    r"(?i)^(?:creat|add|insert|updat|upsert|delet|remov|send|post|book|pay|charg|submit|set$|put|patch|writ|sav|stor|publish|cancel|clos"
    r"|open|start|run|trigger|execut|approv|assign|notif|upload|import|sync|mark|mov|mak|out$|in$)"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# What is to be done, where one address takes all of it.
_DONE = re.compile(r"""(?i)(?<![\w.])\\?["']?(?:operation|action|command|op)\\?["']?\s*:\s*\\?["']([^"'\\]{0,80})""")
_CALLED = re.compile(r"""["']?\bmethod["']?\s*:\s*["']([\w./]{1,80})["']""")
_TOOL = re.compile(r"""["']?\bname["']?\s*:\s*["']([\w./-]{1,80})["']""")
_NAMES = frozenset({"operation", "action", "command", "op"})
_GRANT = re.compile(r"(?i)\bgrant_type\b")
_QUESTION = re.compile(r"[\"']query[\"']\s*:\s*[\"']\s*(?:query\b|\{)")
_TITLE = re.compile(r"(?i)^(?:http request|api|call|post)\b\W*|^[^\w]+|^[\w ]{1,20}:\s+|\d+$")
_HOLE = re.compile(r"[{}$+'\"]")


def only_asks(node: Node, address: str) -> bool:
    """Whether a request that is posted changes nothing as far as the file says: what it asks to be done, else where, else its name."""
    given = node.get("parameters")
    body = given.get("jsonBody").text[:_LONGEST] or given.get("body").text[:_LONGEST]
    told = list(_told(given, body))
    if told:
        return all(_is_look(_words(one)) or _is_named_look(node, one) for one in told)
    if _GRANT.search(parts.texts(given)[:_LONGEST]) or _is_question(address, body):
        return True
    if asks_model({*keys_in(body), *(name for name, _ in pairs(given.get("bodyParameters")))}):
        return True
    end = _end(address)
    return _is_look(end) or _asks_for_token(end) or _is_named_look(node, " ".join(end))


def looks(name: str) -> bool:
    """Whether a tool is called after looking."""
    return _is_look(_words(name))


def _told(given: Node, body: str) -> Iterator[str]:
    """What the body says is to be done."""
    if "jsonrpc" in body:
        called = _CALLED.findall(body)
        yield from _TOOL.findall(body)[:1] if called == ["tools/call"] else called
        return
    yield from _DONE.findall(body)
    yield from (value.text for name, value in pairs(given) if name.lower() in _NAMES)


def _is_question(address: str, body: str) -> bool:
    """Whether it is a question of GraphQL, which is posted."""
    return address.endswith("/graphql") and _QUESTION.search(body) is not None and "mutation" not in body


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _end(address: str) -> list[str]:
    """The words of the last part of a path that is written down; where it names a thing and what is done with it, of that."""
    path = address.rsplit("://", maxsplit=1)[-1].partition("?")[0].partition("/")[2]
    written = [part for part in path.split("/") if part and not _HOLE.search(part)]
    return _words(written[-1].rpartition(":")[2]) if written else []


def _is_look(words: list[str]) -> bool:
    """Whether it begins with a word for looking, or ends with one, and no other word says that something is made."""
    return bool(words) and (words[0] in _LOOKS or words[-1] in _LAST) and words != ["read"] and not _writes(words)


def _writes(words: list[str]) -> bool:
    return any(_WRITES.match(word) for word in words)


def _asks_for_token(words: list[str]) -> bool:
    """Whether a token is asked for, or a session: a second one takes nothing from the first."""
    return words[-1:] == ["token"] and set(words[:-1]) <= _ISSUES


def _is_named_look(node: Node, told: str) -> bool:
    """Whether the node is called a look, and what it is told to do says nothing else."""
    name = node.get("name").text
    while (rest := _TITLE.sub("", name)) != name:
        name = rest
    return only_looks(name) and not name.lower().startswith("list") and not _writes(_words(told)) and not _writes(_words(name))
