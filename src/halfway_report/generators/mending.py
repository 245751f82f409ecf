"""Mends what needs no judgement: a wrapper around the whole answer, thoughts before it, ends of lines. Everything else is a fault."""

from __future__ import annotations

import re
import unicodedata

_WRAPPER = re.compile(r"\A\s*(?P<fence>`{3,}|~{3,})[ \t]*(?P<kind>markdown|md|json)?[ \t]*\n(?P<text>.*)\n(?P=fence)[ \t]*\s*\Z", re.DOTALL)
# Only a whole block, and only before everything else: in the middle of a text it may be what the text is about.
_THOUGHTS = re.compile(r"\A\s*<(?P<tag>think|thinking|thought|reasoning)>.*?</(?P=tag)>[ \t]*\n?", re.DOTALL | re.IGNORECASE)


def mend(text: str) -> tuple[str, tuple[str, ...]]:
    """The text mended, and what was mended. A second time it changes nothing more."""
    repairs: list[str] = []
    for name, repair in (("normalised", _normal), ("thoughts", _without_thoughts), ("unwrapped", _unwrapped), ("spaces", _tidy)):
        mended = repair(text)
        if mended != text:
            repairs.append(name)
        text = mended
    return text, tuple(repairs)


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def _without_thoughts(text: str) -> str:
    return _THOUGHTS.sub("", text, count=1)


def _unwrapped(text: str) -> str:
    match = _WRAPPER.match(text)
    if match is None or not (match["kind"] or match["text"].lstrip().startswith(("#", "{"))):
        return text
    if any(line.strip() == match["fence"] for line in match["text"].split("\n")):
        return text  # two blocks, not one around everything
    return match["text"]


def _tidy(text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
    return f"{lines}\n" if lines else ""
