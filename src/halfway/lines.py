"""Lines of a terminal, measured in the cells that they take there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator


def width(text: str) -> int:
    """Cells on a terminal; letters of East Asia take two."""
    return sum(0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def wrapped(text: str, columns: int | None, *, first: str = "", later: str = "") -> Iterator[str]:
    """The text in lines, with what stands before each; a word that is longer than a line stays whole, so that it can be copied."""
    rest, indent = text, first
    while columns is not None and width(rest) > columns - width(indent):
        cut = _cut(rest, columns - width(indent))
        if cut == len(rest):
            break
        yield (indent + rest[:cut]).rstrip()
        rest, indent = rest[cut:].lstrip(), later
    yield indent + rest


def _cut(text: str, columns: int) -> int:
    """Where a line ends: behind the last word that fits, or behind the first one where none does."""
    spaces = [found.start() for found in re.finditer(r" (?=\S)", text)]
    return max((one for one in spaces if width(text[:one]) <= columns), default=next(iter(spaces), len(text)))
