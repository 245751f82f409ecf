"""Which code of n8n calls something outside: as it runs there, without what its author runs on a machine of his own only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from halfway.inspection.formats.nodes.parts import CODE_UNREAD, reading, texts, unknown_effect
from halfway.inspection.model import Effect, Kind, Repeat, Reversible, Unread
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

_LONGEST = 200_000
_MOST_BLOCKS = 200  # conditions that are looked at: each is followed to its end
_HARMLESS = (
    r"(?:collections|json|re|math|datetime|random|itertools|functools|statistics|base64|hashlib|string|time"
    r"|uuid|typing|decimal|html|textwrap|copy|operator|calendar|unicodedata|js|pyodide)\b"
)
_REACHES_OUT = re.compile(
    r"(?i)\bfetch\(|axios|httpRequest|\$http|https?\.request|\brequests\.|urllib|WebSocket|child_process|nodemailer"
    r"|require\((?!\s*['\"](?:node:)?(?:@?langchain[/\w-]*"
    r"|crypto|lodash|moment|luxon|url|util|querystring|path|xlsx|cheerio|uuid|zlib|buffer|fs(?:/promises)?|os|events|stream|assert)['\"])"
    # A line of SQL in a text begins with `from`, too, and imports nothing.
    rf"|(?:^|[\n;])\s*(?:import\s+(?!{_HARMLESS})\w|from\s+(?!{_HARMLESS})\w[\w.]*\s+import\b)"
)
# Requests that are GET where they say nothing else, and what makes them, or may make them, another one.
_GETS = re.compile(r"\bfetch\(|\bhttpRequest\w*\(|\b(?:axios|requests|\$http)\.get\(")
_CHANGES = re.compile(
    r"(?i)\b(?:POST|PUT|PATCH|DELETE)\b|\bfetch\([^(){}]{0,500},\s*[\w$.]+\s*\)|\bhttpRequest\w*\((?:[^(){}]{0,500},)?\s*[\w$.]+\s*\)"
    r"|\bmethod\s*[:=](?!\s*['\"`]GET)|\bmethod\s*[,}]|\bmutation\b|\.\.\.\w*(?:opt|conf)"
)
_WRITES = re.compile(r"(?i)\.write\w*\(|\bopen\(|staticData")
_WRITES_FILE = re.compile(r"(?i)\.writeFile\w*\(")
# What holds nowhere but where the code is started without n8n: it is the program itself, or a module of one, or nothing comes in.
_ELSEWHERE = re.compile(
    r"""require\.main\s*===?\s*module|typeof\s+\$?(?:input|json|items)\s*===?\s*['"]undefined|(?<!!)\bmodule\.exports\s*(?:\)|&&|;|$)"""
)
_HERE = re.compile(r"""\s*typeof\s+\$?(?:input|json|items)\s*!==?\s*['"]undefined['"]\s*""")
_ELSE = re.compile(r"\}\s*else\s*\{")
_IF = re.compile(r"(?<![\w$.])if\s*\(([^\n{}]{1,200})\)\s*\{")
_SAID_ONCE = re.compile(r"\b(?:const|let|var)\s+([\w$]+)\s*=\s*([^;{}]{1,300});")
_REMARK = re.compile(r"(?m)^\s*//.*$")


def done_by_code(node: Node, name: str, told: str) -> tuple[Effect | None, Unread | None]:
    """What somebody wrote: only a call that leaves n8n makes it an effect."""
    code = running(texts(node.get("parameters")))
    if not _REACHES_OUT.search(code):
        file = frozenset({Kind.FILE})
        writes = _WRITES_FILE.search(code) is not None
        return Effect("", file, Repeat.UNKNOWN, Reversible.UNKNOWN, told, certain=False) if writes else None, None
    if not (_REACHES_OUT.search(_GETS.sub("", code)) or _CHANGES.search(code)):
        return reading(told), None
    return unknown_effect(told), Unread(quoted(name), CODE_UNREAD, node.span)


def may_change(node: Node) -> bool:
    """Whether code that an agent has for a tool may change something."""
    code = running(texts(node.get("parameters")))
    return bool(_REACHES_OUT.search(code) or _WRITES.search(code))


def running(code: str) -> str:
    """The code without remarks and without the blocks that n8n never comes to."""
    code = _REMARK.sub("", code[:_LONGEST])
    names = {found[1] for found in _SAID_ONCE.finditer(code) if _is_elsewhere(found[2])}
    left, end = list[str](), 0
    for begin, after in _blocks(code, names):
        if begin >= end:
            left.append(code[end:begin])
            end = after
    return "".join([*left, code[end:]])


def _blocks(code: str, names: set[str]) -> Iterator[tuple[int, int]]:
    """Where the blocks begin and end that run somewhere else only."""
    for found in islice(_IF.finditer(code), _MOST_BLOCKS):
        if found[1].strip() in names or _is_elsewhere(found[1] + ")"):
            yield found.end(), _closing(code, found.end())
        otherwise = _ELSE.match(code, _closing(code, found.end())) if _HERE.fullmatch(found[1]) else None
        if otherwise is not None:
            yield otherwise.end(), _closing(code, otherwise.end())


def _is_elsewhere(condition: str) -> bool:
    return "||" not in condition and _ELSEWHERE.search(condition) is not None


def _closing(code: str, begin: int) -> int:
    """Where the brace closes that was opened before a place; the end, where none does."""
    depth = 1
    for found in re.compile(r"[{}]").finditer(code, begin):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    return begin  # it cannot be told what belongs to it: all of it counts
