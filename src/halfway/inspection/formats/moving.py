"""Places in a file where something is taken from elsewhere by a name that means something else tomorrow."""

from __future__ import annotations

import re

from halfway.inspection.model import Fact, Span
from halfway.inspection.source import Source

MOST = 5
_LONGEST = 2_000
_COMMENT = re.compile(r"^\s*#|\s#\s")
_MOVES = re.compile(
    "|".join((
        r"\buses:\s*[\"']?(?!\./)[\w./-]+@(?:main|master|latest|develop|HEAD)\b",
        r"\bimage:\s*[\"']?[\w.-]+(?:[/:][\w.-]+)*:latest\b",
        r"\bimage:\s*[\"']?[\w.-]+(?:/[\w.-]+)*[\"']?\s*$",  # without a tag it is the latest, too
        r"/releases/latest/download/",
        r"raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/(?:refs/heads/)?(?:main|master|HEAD)/",
        r"\b(?:curl|wget)\b[^|]*\|\s*(?:sudo\s+)?(?:ba|z)?sh\b",
        r"\b(?:npx|dlx|bunx)\s+(?:-\S+\s+)*[@\w./-]+@latest\b",
    ))
)  # fmt: skip


def moving(source: Source, within: Span | None = None) -> tuple[Fact, ...]:
    """The first of them, in a part of the file or in all of it; what stands in a comment is none."""
    first, last = (1, len(source.lines)) if within is None else (within.line, max(within.line, within.end))
    found: list[Fact] = []
    for number in range(first, last + 1):
        line = source.line(number)
        if len(found) < MOST and len(line) <= _LONGEST and _MOVES.search(_COMMENT.split(line, maxsplit=1)[0]):
            found.append(source.fact(source.span(number)))
    return tuple(found)
