"""Errors, explanations and finished texts in the chosen language. JSON is never translated."""

from __future__ import annotations

import gettext
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from halfway.domain.moving import NOTES
from halfway.domain.sentences import SENTENCES, Sentence
from halfway.errors import MESSAGES, HalfwayError, Told
from halfway.language import _, language, speak
from halfway.language import catalogue as chosen

__all__ = ["_", "in_words", "language", "say", "speak", "tell", "translated"]

SPOKEN = ("source", "problem", "remedy", "reason")  # gaps that hold sentences
GAP = re.compile(r"\{(\w+)\}")
WITHIN = r"(?:(?!\. ).)+?"  # a name, a number, a list: nothing that goes beyond a sentence
NAMES = re.compile(r"[^\s,]+(?:, [^\s,]+)*")
SENTENCE = re.compile(r"[.!?]$")
SENTENCE_END = re.compile(r"(?<=[.!?…]) ")
PARTS_AT_MOST = 12  # a longer text is no message of ours


def say(sentence: Sentence) -> str:
    """A sentence of an explanation in the chosen language."""
    return _(SENTENCES[sentence.code]).format(**sentence.params)


def tell(error: HalfwayError) -> str:
    """An error in the chosen language."""
    params = {name: _spoken(value) if name in SPOKEN else value for name, value in error.params.items()}
    return _(MESSAGES[error.code]).format(**params).rstrip()


def in_words(template: str, params: Mapping[str, object]) -> str:
    """A sentence whose gaps may hold sentences, too."""
    return _(template).format(**{name: _spoken(value) for name, value in params.items()})


def _spoken(value: object) -> object:
    if isinstance(value, Told):
        return " ".join(in_words(template, params) for template, params in value.sentences)
    return translated(value) if isinstance(value, str) else value


def translated(text: str) -> str:
    """A finished English text in the chosen language, with what was filled in; what no catalogue knows stays as it is.

    If it is not known as a whole, it is looked at in its parts: clauses behind each other, then one sentence after the other.
    """
    catalogue = chosen()
    if catalogue is None or not text:
        return text
    whole = _whole(catalogue, text)
    if whole is not None:
        return whole
    clauses = text.split("; ")
    return _one_by_one(catalogue, clauses, "; ") if len(clauses) > 1 else _one_by_one(catalogue, SENTENCE_END.split(text), " ")


def _one_by_one(catalogue: gettext.NullTranslations, parts: Sequence[str], between: str) -> str:
    """The longest beginning that is known, then what follows it."""
    if not 1 < len(parts) <= PARTS_AT_MOST:
        return between.join(parts)
    for count in range(len(parts) - 1, 0, -1):
        told = _whole(catalogue, between.join(parts[:count]))
        if told is not None:
            return between.join((told, translated(between.join(parts[count:]))))
    first = translated(parts[0]) if between == "; " else parts[0]
    return between.join((first, translated(between.join(parts[1:]))))


class _Known(NamedTuple):
    """A text with gaps: how it is recognised, and what it is in the chosen language."""

    pattern: re.Pattern[str]
    told: str
    open: str  # the gap with which it ends, if it is no error, which may end in anything
    after_colon: bool
    whole: bool  # whether what it is recognised in may have several clauses


def _whole(catalogue: gettext.NullTranslations, text: str) -> str | None:
    whole = catalogue.gettext(text)
    if whole != text:
        return whole
    for known in _patterns(catalogue):
        match = known.pattern.fullmatch(text) if known.whole or "; " not in text else None
        if match is None:
            continue
        found = {name: translated(value or "") for name, value in match.groupdict().items()}
        if not known.open or _may_end(match[known.open], found[known.open], after_colon=known.after_colon):
            return known.told.format(**found).rstrip()
    return None


def _may_end(text: str, told: str, *, after_colon: bool) -> bool:
    """What is no whole sentence must not swallow one: names, or a clause that is known; a sentence only behind a colon."""
    return NAMES.fullmatch(text) is not None or (told != text and (after_colon or not SENTENCE.search(text)))


@cache
def _patterns(catalogue: gettext.NullTranslations) -> tuple[_Known, ...]:
    """Sentences with numbered gaps, as `step {0} is {1}.`, and errors; those that say more come first."""
    known: dict[object, str] = getattr(catalogue, "_catalog", {})
    numbered = [text for text in known if isinstance(text, str) and "{0}" in text]
    named = [text for text in (*MESSAGES.values(), *NOTES.values()) if text in known and "{" in text]
    texts = sorted((*numbered, *named), key=lambda text: -len(GAP.sub("", text)))
    return tuple(_known(text, known[text], sentence=text not in numbered) for text in texts)


def _known(text: str, told: str, *, sentence: bool) -> _Known:
    """The last gap of an error may hold several sentences: the problem and what to do about it."""
    text, told = (GAP.sub(lambda gap: f"{{g{gap[1]}}}" if gap[1].isdigit() else gap[0], one) for one in (text, told))
    text, told = (one.replace("{problem} {remedy}", "{problem}") for one in (text, told))
    pattern, seen = "", set[str]()
    for number, part in enumerate(GAP.split(text)):
        if not number % 2:
            pattern += re.escape(part)
        elif part in seen:
            pattern += f"(?P={part})"
        else:
            pattern += f"(?P<{part}>{'.+?' if part in SPOKEN or not sentence else WITHIN})"
            seen.add(part)
    last = GAP.findall(text)[-1] if GAP.split(text)[-1] == "" else ""
    if sentence and last == "remedy":
        pattern = re.sub(r"\\ (\(\?P<remedy>.*\))$", r"(?: \1)?", pattern)
    whole = sentence or text.endswith(".") or "; " in text
    return _Known(re.compile(pattern, re.DOTALL), told, "" if sentence else last, text.endswith(f": {{{last}}}"), whole)
