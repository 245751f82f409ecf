"""Decides whether a text is a report. Each fault has a code; a fault is a fact about the text, never about who wrote it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token

from halfway_report.citations import hex_words, looks_like_hash, matches
from halfway_report.form import DAILY, Form

Code: TypeAlias = Literal[
    "EMPTY", "BAD_CHARS", "TOO_SHORT", "TOO_LONG", "MISSING_HEADING", "DUPLICATE_HEADING", "HEADING_ORDER", "EMPTY_SECTION",
    "WRONG_TITLE", "REMOTE_IMAGE", "REMOTE_LINK",
    "OPEN_FENCE", "RAW_HTML", "UNKNOWN_SHA", "AMBIGUOUS_SHA", "NO_CITATION", "TRUNCATED", "LEAK", "REPETITION", "FEWSHOT_ECHO", "LANGUAGE",
]  # fmt: skip

_BAD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
# Marks with which models and their servers talk to each other.
LEAK = re.compile(
    r"</?(?:think|thinking|thought|reasoning|scratchpad)\b[^>]*>|<\|[a-z_]+\|>|</?(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|</?(?:bos|eos|pad|unk|s)>",
    re.IGNORECASE,
)
_REPEATED, _LINE = 4, 15  # so many lines of more than so many characters
_HANGUL_AT_LEAST, _FOREIGN_AT_MOST = 0.20, 0.20  # Korean prose about software is full of English words
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_COMMIT_LINK = re.compile(r"/(?:commits?|tree|blob)/([0-9a-fA-F]{7,64})\b")


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a text."""

    code: Code
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.code} ({self.detail})" if self.detail else self.code


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What is known about how a text came to be; the default is a text that code has written.

    language: of a text that a model wrote freely. examples: sentences that it was shown and must not give back.
    title: what the heading of level 1 must be. said: all that the commits say; an address that is not in it was invented.
    """

    finish: str = "stop"
    language: str | None = None
    examples: tuple[str, ...] = ()
    title: str | None = None
    said: str = ""


BY_CODE = Origin()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The faults of a text, and how much of the day it cites."""

    faults: tuple[Fault, ...]
    prose: int = 0  # characters
    cited: int = 0  # commits of the day

    @property
    def codes(self) -> tuple[Code, ...]:
        """The codes of the faults, in order."""
        return tuple(fault.code for fault in self.faults)


@dataclass(kw_only=True)
class _Seen:
    """What one pass over the tokens has found."""

    headings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    content: dict[str, int] = field(default_factory=dict[str, int])  # characters under each heading of level 2
    prose: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    citations: list[str] = field(default_factory=list[str])
    faults: list[Fault] = field(default_factory=list[Fault])
    links: list[str] = field(default_factory=list[str])
    images: list[str] = field(default_factory=list[str])


def validate(text: str, shas: Sequence[str], *, known: Sequence[str] = (), form: Form = DAILY, origin: Origin = BY_CODE) -> Verdict:
    """Checks a report against its form, the commits of the day and those of other days that it may name as well."""
    cut = [Fault("TRUNCATED", origin.finish)] if origin.finish != "stop" else []
    if not text.strip():
        return Verdict(faults=(Fault("EMPTY"), *cut))
    seen = _read(text)
    citable = (*shas, *known)
    cited = {sha for sha in shas if any(sha.startswith(word) for word in seen.citations)}
    prose = len("\n".join(seen.prose).strip())
    faults = [Fault("BAD_CHARS", repr(match[0]))] if (match := _BAD.search(text)) else []
    faults += cut
    faults += seen.faults
    faults += _origin_faults(seen, origin)
    faults += _form_faults(seen, form)
    if prose < form.min_prose:
        faults.append(Fault("TOO_SHORT", f"{prose} characters of text, {form.min_prose} needed"))
    if len(text) > form.max_size:
        faults.append(Fault("TOO_LONG", f"{len(text)} characters, {form.max_size} allowed"))
    faults += _citation_faults(seen.citations, citable)
    if shas and not cited:
        faults.append(Fault("NO_CITATION"))
    return Verdict(faults=tuple(faults), prose=prose, cited=len(cited))


def _read(text: str) -> _Seen:
    seen = _Seen()
    lines = text.split("\n")
    section = ""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before is not None and before.type == "heading_open":
            level = int(before.tag[1])
            seen.headings.append((level, token.content.strip()))
            section = token.content.strip() if level == 2 else section
        elif token.type == "inline":
            _read_inline(token, seen)
            seen.lines += [line.strip() for line in token.content.split("\n")]
            seen.content[section] = seen.content.get(section, 0) + len(token.content.strip())
        elif token.type == "fence":
            seen.content[section] = seen.content.get(section, 0) + len(token.content)
            if not _is_closed(token, lines):
                seen.faults.append(Fault("OPEN_FENCE", f"line {token.map[0] + 1}" if token.map else ""))
        elif token.type == "html_block":
            seen.faults.append(_html(token.content.strip()))
    return seen


def _read_inline(token: Token, seen: _Seen) -> None:
    for child in token.children or ():
        if child.type == "text":
            seen.prose.append(child.content)
            seen.citations += [word for word in hex_words(child.content) if looks_like_hash(word)]
        elif child.type == "code_inline":
            seen.citations += [word for word in hex_words(child.content) if not _is_date(word)]
        elif child.type == "image":
            seen.images.append(str(child.attrGet("src") or ""))
        elif child.type == "link_open":
            address = str(child.attrGet("href") or "")
            named = [match.lower() for match in _COMMIT_LINK.findall(address)]
            seen.citations += named
            seen.links += [address] if _REMOTE.match(address) and not named else []
        elif child.type == "html_inline":
            seen.faults.append(_html(child.content))


def _html(text: str) -> Fault:
    return Fault("LEAK", match[0]) if (match := LEAK.match(text)) else Fault("RAW_HTML", text[:30])


def _origin_faults(seen: _Seen, origin: Origin) -> Iterator[Fault]:
    line, count = next(iter(Counter(line for line in seen.lines if len(line) > _LINE).most_common(1)), ("", 0))
    if count >= _REPEATED:
        yield Fault("REPETITION", f"{count} times: {line[:40]}")
    prose = "\n".join(seen.prose)
    if echoes(prose, origin.examples):
        yield Fault("FEWSHOT_ECHO")
    titles = [name for level, name in seen.headings if level == 1]
    if origin.title is not None and titles and titles != [origin.title]:
        yield Fault("WRONG_TITLE", next(name for name in (*titles, "") if name != origin.title)[:60] or "twice")
    if origin.language is None:
        return  # what code has written may quote a commit that is about such a mark, or in another language
    if match := LEAK.search(prose):
        yield Fault("LEAK", match[0])
    yield from (Fault("REMOTE_LINK", address[:60]) for address in seen.links if address not in origin.said)
    # An image tells its server who reads, whoever has named it.
    yield from (Fault("REMOTE_IMAGE", address[:60]) for address in seen.images)
    if problem := share_problem(prose, origin.language):
        yield Fault("LANGUAGE", problem)


def echoes(prose: str, examples: Sequence[str]) -> bool:
    """Whether one of the sentences that a model was shown came back."""
    return any(example.rstrip(".").casefold() in prose.casefold() for example in examples)


def share_problem(prose: str, language: str) -> str:
    """Why a text is hardly in its language; empty if it may be. A share of letters, for detectors fail on mixed prose."""
    letters = [letter for letter in prose if letter.isalpha()]
    if not letters:
        return ""
    hangul = sum("\uac00" <= letter <= "\ud7a3" for letter in letters) / len(letters)
    # Kana and Chinese characters.
    other = sum("\u3040" <= letter <= "\u30ff" or "\u4e00" <= letter <= "\u9fff" for letter in letters) / len(letters)
    if language == "ko" and hangul < _HANGUL_AT_LEAST:
        return f"{hangul:.0%} of the letters are Hangul, {_HANGUL_AT_LEAST:.0%} needed"
    foreign = other if language == "ko" else hangul + other
    return f"{foreign:.0%} of the letters are of another language" if foreign > _FOREIGN_AT_MOST else ""


def _is_closed(fence: Token, lines: Sequence[str]) -> bool:
    """The parser closes an open fence at the end of the text without a word, so its last line is looked at."""
    if fence.map is None:
        return False
    first, end = fence.map
    last = lines[end - 1].strip(" >\t") if end - 1 < len(lines) else ""
    return end - 1 > first and re.fullmatch(re.escape(fence.markup[0]) + f"{{{len(fence.markup)},}}", last) is not None


def _form_faults(seen: _Seen, form: Form) -> Iterator[Fault]:
    titles = [name for level, name in seen.headings if level == 1]
    if not titles:
        yield Fault("MISSING_HEADING", "a heading of level 1")
    names = [name for level, name in seen.headings if level == 2]
    for heading in form.headings:
        if heading not in names:
            yield Fault("MISSING_HEADING", heading)
        elif names.count(heading) > 1:
            yield Fault("DUPLICATE_HEADING", heading)
        elif not seen.content.get(heading):
            yield Fault("EMPTY_SECTION", heading)
    order = [name for name in names if name in form.headings]
    if len(set(order)) == len(order) and order != [heading for heading in form.headings if heading in order]:
        yield Fault("HEADING_ORDER", ", ".join(order))


def _citation_faults(words: Sequence[str], citable: Sequence[str]) -> Iterator[Fault]:
    for word in dict.fromkeys(words):
        count = matches(word, citable)
        if count == 0:
            yield Fault("UNKNOWN_SHA", word)
        elif count > 1:
            yield Fault("AMBIGUOUS_SHA", word)


def _is_date(word: str) -> bool:
    return len(word) == 8 and word.isdigit() and word.startswith("20")
