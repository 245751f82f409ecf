"""Whether a loop tries the same thing again, and how often it goes round."""

from __future__ import annotations

import re

from halfway.inspection.source import whole

_ENDS = re.compile(
    r"&&\s*\{?\s*(?:\w+=\S+\s*;?\s*)?(?:break|return|exit 0)\b|\bthen\b(?:(?!\bfi\b).){0,400}?\b(?:break|return(?: 0)?|exit 0)\b", re.DOTALL
)
_LIMIT = re.compile(r"(?:-(?:lt|le|ge|gt|eq)\s+\"?|[<>]=?\s*)(\d{1,6})\b")
_RANGE = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
_SEQ = re.compile(r"\bseq\s+(?:(\d{1,6})\s+)?(\d{1,6})")
_LIST = re.compile(r"^for\s+\w+\s+in\s+(.*?)\s*;?\s*$", re.DOTALL)


def retries(head: str, body: str, variable: str) -> bool:
    """A loop that ends when something succeeded, and does not need what it loops over."""
    if not _ENDS.search(body) or re.search(r"\bread\b", head):
        return False
    if not variable:
        return True
    counts = bool(_RANGE.search(head) or _SEQ.search(head) or "((" in head) or all(word.isdigit() for word in _words(head))
    return counts or not re.search(rf"\$\{{?{re.escape(variable)}\b", body)


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
