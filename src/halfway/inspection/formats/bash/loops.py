"""Whether a loop tries the same thing again, and how often it goes round."""

from __future__ import annotations

import re

from halfway.inspection.source import whole

_ENDS = re.compile(
    r"&&\s*\{?\s*(?:\w+=\S+\s*;?\s*)?(?:break|return|exit 0)\b|\bthen\b(?:(?!\bfi\b).){0,400}?\b(?:break|return(?: 0)?|exit 0)\b", re.DOTALL
)
_GIVEN = re.compile(
    r"(?:\bif\s+)?\[\[?\s([^\]\n]*)\]\]?\s*(?:&&\s*\{?\s*(?:break|return|exit 0)\b|;?\s*then\s+(?:break|return(?: 0)?|exit 0)\b)"
)
_NAMES = re.compile(r"\$\{?(\w+|[?!@*#$])")
_ALWAYS = re.compile(
    r"^while\s+(?:true|:|/bin/true|1|\[\[?\s+(?:1|true)\s+\]\]?|\(\(\s*(?:1|true)\s*\)\))\s*;?\s*$|^for\s*\(\(\s*;\s*;\s*\)\)"
)
_LEAVES = re.compile(r"\b(?:break|return|exit)\b")
_LIMIT = re.compile(r"(?:-(?:lt|le|ge|gt|eq)\s+\"?|[<>]=?\s*)(\d{1,6})\b")
_RANGE = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
_SEQ = re.compile(r"\bseq\s+(?:(\d{1,6})\s+)?(\d{1,6})")
_LIST = re.compile(r"^for\s+\w+\s+in\s+(.*?)\s*;?\s*$", re.DOTALL)


def retries(head: str, body: str, variable: str) -> bool:
    """A loop that ends when something succeeded, and does not need what it loops over."""
    if not _ENDS.search(_without_given(body)) or re.search(r"\bread\b", head):
        return False
    if not variable:
        return True
    counts = bool(_RANGE.search(head) or _SEQ.search(head) or "((" in head) or all(word.isdigit() for word in _words(head))
    return counts or not re.search(rf"\$\{{?{re.escape(variable)}\b", body)


def endless(head: str, body: str) -> bool:
    """A loop that goes on until somebody stops it, or does not even begin to go round: what it does has no last item."""
    return _ALWAYS.search(head.strip()) is not None and _LEAVES.search(_without_given(body)) is None


def _without_given(body: str) -> str:
    """Without the ways out that only ask how the script was called, which says nothing about whether something has succeeded."""
    return _GIVEN.sub(lambda test: "" if _is_given(test[1], body) else test[0], body)


def _is_given(test: str, body: str) -> bool:
    """Whether a test asks only for what the loop does not change."""
    names = _NAMES.findall(test)
    return bool(names) and "$(" not in test and all(name.isdigit() or (name.isidentifier() and not _sets(name, body)) for name in names)


def _sets(name: str, body: str) -> bool:
    return re.search(rf"\b{name}\+?=|\bread\b[^;\n]*\b{name}\b|\(\([^)]*\b{name}\b", body) is not None


def bound(head: str, body: str) -> int | None:
    """How often it goes round at most; None: it cannot be seen."""
    if match := _RANGE.search(head) or _SEQ.search(head):
        first, last = whole(match[1] or "1"), whole(match[2])
        return None if first is None or last is None else abs(last - first) + 1 if _RANGE.search(head) else max(last - first + 1, 0)
    words = _words(head)
    if words and not any(sign in word for word in words for sign in "$*?`["):
        return len(words)
    match = _LIMIT.search(head) or (_LIMIT.search(body) if _ENDS.search(body) or "exit" in body else None)
    return whole(match[1]) if match else None


def _words(head: str) -> list[str]:
    match = _LIST.match(head.strip())
    return match[1].split() if match else []
