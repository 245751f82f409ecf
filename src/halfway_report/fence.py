"""Puts text that somebody else wrote between two lines that this text cannot contain, so that a model can tell it from its orders."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

_LETTERS = str.maketrans("0123456789abcdef", "ghjkmnpqrstuvwxy")  # a mark in hex would read as a commit
_LENGTH = 16


class Fenced(NamedTuple):
    """A text between two lines with a mark; name the mark in the orders, and say that all between the lines is data."""

    mark: str
    text: str


def fence(*parts: str, what: str = "data") -> Fenced:
    """The parts, each on lines of its own, inside a fence; the same parts give the same bytes."""
    content = "\n".join(parts)
    mark = _mark(content)
    while mark in content:
        # Nobody can write a text that contains its own hash by intent; by chance it costs one turn more.
        mark = _mark(mark + content)
    return Fenced(mark, f"<<<BEGIN {what} {mark}>>>\n{content}\n<<<END {what} {mark}>>>")


def _mark(content: str) -> str:
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH].translate(_LETTERS)
