"""What the text of a file itself says of a part that was not given: a word of its owner, no proof, but no silence either."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from halfway.inspection.formats.python.frames import GAP, Frame, entries, keyword, text
from halfway.inspection.formats.python.names import Function, Module, worded
from halfway.inspection.formats.python.walk import Found
from halfway.inspection.formats.wording import only_looks, words

_SAFE = re.compile(r"(?i)(?<!not )(?<!not be )(?<!non-)(?<!n't )\bidempotent\b")
_IF_MISSING = re.compile(
    r"(?i)\b(?:creat|mak|add|insert)\w*\b[^.]{0,80}\b(?:if|when)\b[^.]{0,30}\bnot (?:yet )?exists?\b"
    r"|\b(?:creat|mak|add|insert)\w*\b[^.]{0,80}\bunless\b[^.]{0,30}\bexists?\b"
)
_IGNORED = re.compile(r"(?i)\bfailures? (?:can|may|should) (?:safely )?be ignored\b|\bignore (?:any |all )?failures\b")
_BY_HAND = re.compile(
    r"(?i)\bmanual(?:ly)?[ -]only\b|\bonly (?:(?:run|started|triggered|deployed) )?(?:manually|by hand)\b|\bno schedule, no triggers?\b"
)
_TMP = re.compile(r"(?i)(?:^|[^a-z])te?mp(?:orary|dir|file)?(?:[^a-z]|$)")
_CHANGING = worded(
    "truncate copy drop delete write create overwrite move insert load send publish replace remove upload update append commit push"
)
_ELSEWHERE = re.compile(
    r"(?i)conn|ur[li]|host|bucket|container|schema|dataset|database|secret|token|credential|password|endpoint|queue|topic|api|account|project"
)
_LEADS_OUT = worded("upload send publish push post notify load import sync transfer export deliver mail insert store save deploy")
_OUTPUT = re.compile(r"(?i)(?:^|_)(?:output|out|target|dest|destination)_(?:file|path|filename)$")


def looks(name: str) -> bool:
    """Whether a name says that it looks and nothing else: `get_or_create_account` says more."""
    return only_looks(name) and not words(name) & (_CHANGING | _LEADS_OUT)


def is_by_hand(module: Module, function: Function) -> bool:
    """Whether its owner says that nobody but a person starts it."""
    return _BY_HAND.search(f"{ast.get_docstring(module.tree) or ''}\n{ast.get_docstring(function) or ''}") is not None


def docs_of(call: ast.Call, frame: Frame) -> str:
    """The text that is shown with a graph or a task: `doc_md`, and the docstring of the file where that is meant."""
    found: list[str] = []
    for key in ("doc_md", "doc", "description"):
        given = keyword(call, key)
        told = (ast.get_docstring(frame.module.tree) or "") if isinstance(given, ast.Name) and given.id == "__doc__" else text(given, frame)
        found.append(told.replace(GAP, " "))
    return "\n".join(found)


def ignores_failures(docs: str) -> bool:
    """Whether the owners say that nobody needs to hear of a failure."""
    return _IGNORED.search(docs) is not None


def said_safe(found: Found, docs: str) -> Found:
    """The same with a mark, if it was not given and its text says that a second time does no harm."""
    return replace(found, extra=(*found.extra, ("said", "idempotent"))) if found.opaque is not None and _SAFE.search(docs) else found


def marked(found: Found, docs: str, call: ast.Call, frame: Frame) -> Found:
    """The same with what is said of it in `extra`, if it was not given; `local` where only files of this machine are named."""
    if found.opaque is None:
        return found
    said = _said(docs, call, frame)
    more = (*((("said", said),) if said else ()), *((("local", "files"),) if _is_local(call, frame) else ()))
    return replace(found, extra=(*found.extra, *more))


def _said(docs: str, call: ast.Call, frame: Frame) -> str:
    comment = " ".join(_comments(call, frame.module))
    if _SAFE.search(f"{docs}\n{comment}"):
        return "idempotent"
    if _IF_MISSING.search(comment):
        return "if missing"
    return "nothing else" if _is_switched_off(call) else ""


def _comments(call: ast.Call, module: Module) -> Iterator[str]:
    """The comment right above the statement that a call begins."""
    lines, at = module.source.lines, call.lineno - 2
    if at >= 0 and re.fullmatch(r"\s*\w+\s*=\s*[\[(]\s*", lines[at]):
        at -= 1
    found: list[str] = []
    while at >= 0 and lines[at].strip().startswith("#"):
        found.append(lines[at].strip(" \t#"))
        at -= 1
    yield from reversed(found)


def _is_switched_off(call: ast.Call) -> bool:
    """Whether what it could change is switched off, each by its own name, or it is told to try only."""
    given = {one.arg: one.value.value for one in call.keywords if one.arg and isinstance(one.value, ast.Constant)}
    if given.get("dry_run") is True:
        return True
    switches = [value for key, value in given.items() if isinstance(value, bool) and words(key) & _CHANGING]
    return len(switches) > 1 and not any(switches)


# ── files of this machine ──


def _is_local(call: ast.Call, frame: Frame) -> bool:
    """Whether it is handed files of a temporary folder and nothing that leads elsewhere, or writes into one of them."""
    given = list(_handed(call, frame))
    if any(_ELSEWHERE.search(key) for key, _ in given):
        return False
    wanted = keyword(call, "python_callable")
    if wanted is not None:
        return not words(ast.unparse(wanted)) & _LEADS_OUT and any(_is_temporary(value, frame) for _, value in given)
    return any(_OUTPUT.search(key) and _is_temporary(value, frame) for key, value in given)


def _handed(call: ast.Call, frame: Frame) -> Iterator[tuple[str, ast.expr]]:
    if keyword(call, "python_callable") is None:
        yield from ((one.arg or "", one.value) for one in call.keywords)
        return
    yield from entries(keyword(call, "op_kwargs"), frame)
    positional = keyword(call, "op_args")
    elements: Sequence[ast.expr] = positional.elts if isinstance(positional, (ast.List, ast.Tuple)) else ()
    yield from (("", one) for one in elements)


def _is_temporary(value: ast.expr, frame: Frame) -> bool:
    named = (one.id for one in ast.walk(value) if isinstance(one, ast.Name))
    return any(_TMP.search(one) for one in named) or text(value, frame).startswith(("/tmp/", "/var/tmp/"))
