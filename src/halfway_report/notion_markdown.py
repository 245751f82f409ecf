"""Markdown as Notion reads it, which gives a meaning to more signs than Markdown does."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator

TITLE_UNITS = 2000  # UTF-16, as the vendor's language counts
_BODY_LIMIT = 500_000  # bytes of a request
_BESIDE = 4 * TITLE_UNITS + 4000  # what a request holds beside the content
_FENCE = re.compile(r" {0,3}(?:> ?| {0,3}[-*+] +)*(?P<ticks>`{3,}|~{3,})(?P<info>.*)")
_HEADING = re.compile(r"\A\s*# +(?P<title>[^\n]*?)(?: +#+)? *(?:\n+|\Z)")
_ESCAPED = re.compile(r"\\[!-/:-@\[-`{-~]")
_TICKS = re.compile(r"`+")
_AUTOLINK = re.compile(r"<(?:https?|mailto):[^\s<>]*>")
_QUOTES = re.compile(r"[ >]*")
# Signs that Markdown shows as they stand, or takes for HTML, and that Notion takes for its own.
_SIGNS = frozenset("$<>{}^")


def for_notion(markdown: str) -> str:
    """The same text with Notion's own signs escaped; code, addresses in < > and what is escaped already stay as they are."""
    return "".join(_lines(markdown))


def title_of(markdown: str) -> str:
    """The text of the heading that Notion makes the title; empty if there is none."""
    match = _HEADING.match(markdown)
    return match["title"] if match else ""


def without_title(markdown: str) -> str:
    """What is below that heading: the content of a page that has its title already."""
    return _HEADING.sub("", markdown, count=1)


def too_large(markdown: str) -> bool:
    """Whether Notion would refuse a page for its size."""
    return len(json.dumps(for_notion(markdown), ensure_ascii=False).encode()) > _BODY_LIMIT - _BESIDE


def cut(text: str, units: int = TITLE_UNITS) -> str:
    """As much of the text as fits, counted in UTF-16; an ellipsis says that there was more. Nothing is cut inside a letter."""
    if _units(text) <= units:
        return text
    room, kept = units - 1, ""
    for cluster in _clusters(text):
        room -= _units(cluster)
        if room < 0:
            break
        kept += cluster
    return kept + "…"


def _lines(markdown: str) -> Iterator[str]:
    fence = ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", markdown):
        match = _FENCE.match(line)
        if fence:
            if match and match["ticks"].startswith(fence) and not match["info"].strip():
                fence = ""
            yield line
        elif match and not (match["ticks"].startswith("`") and "`" in match["info"]):
            fence = match["ticks"]
            yield line
        else:
            yield _escape(line)


def _escape(line: str) -> str:
    quotes = _QUOTES.match(line)
    at = quotes.end() if quotes else 0
    parts = [line[:at]]
    while at < len(line):
        kept = _ESCAPED.match(line, at) or _AUTOLINK.match(line, at)
        end = kept.end() if kept else _code_end(line, at)
        if end == at and line[at] in _SIGNS:
            parts.append("\\")
        end = max(end, at + 1)
        parts.append(line[at:end])
        at = end
    return "".join(parts)


def _code_end(line: str, at: int) -> int:
    """Where a code span that begins here ends; here if none does."""
    opening = _TICKS.match(line, at)
    if opening is None:
        return at
    for closing in _TICKS.finditer(line, opening.end()):
        if len(closing[0]) == len(opening[0]):
            return closing.end()
    return opening.end()  # ticks that enclose nothing are text


def _clusters(text: str) -> Iterator[str]:
    """What a reader takes for one letter: a base with its marks, joined emoji, a flag."""
    cluster = ""
    for letter in text:
        if cluster and not _continues(cluster, letter):
            yield cluster
            cluster = ""
        cluster += letter
    if cluster:
        yield cluster


def _continues(cluster: str, letter: str) -> bool:
    if cluster[-1] == "\u200d" or letter == "\u200d" or unicodedata.category(letter) in {"Mn", "Me", "Mc"}:
        return True
    if 0x1F3FB <= ord(letter) <= 0x1F3FF:  # a tone of skin
        return True
    return _is_flag(letter) and len(cluster) == 1 and _is_flag(cluster)


def _is_flag(letter: str) -> bool:
    return 0x1F1E6 <= ord(letter) <= 0x1F1FF


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
