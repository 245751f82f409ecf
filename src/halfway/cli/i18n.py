"""Language: English is in the code, other languages in the catalogues of `halfway/locale`. JSON is never translated."""

from __future__ import annotations

import gettext
import os
import re
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from halfway.domain.sentences import SENTENCES, Sentence
from halfway.errors import MESSAGES, HalfwayError, Told

FOLDER = Path(__file__).parent.parent / "locale"
DOMAIN = "halfway"

_catalogue: ContextVar[gettext.NullTranslations | None] = ContextVar("halfway_catalogue", default=None)
_language: ContextVar[str] = ContextVar("halfway_language", default="")


def speak(language: str | None = None) -> None:
    """Chooses the language: this one, else HALFWAY_LANG, else the locale."""
    wanted = language or os.environ.get("HALFWAY_LANG") or _of_locale()
    _language.set(wanted)
    _catalogue.set(gettext.translation(DOMAIN, FOLDER, _spellings(wanted), fallback=True))


def language() -> str:
    """What was chosen, as it was spelt."""
    return _language.get()


def _of_locale() -> str:
    return next((found for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (found := os.environ.get(name))), "")


def _spellings(language: str) -> list[str]:
    """`ko_KR.UTF-8` is `ko_KR`, then `ko`; nothing that could be a path."""
    match = re.match(r"([A-Za-z]{2,3})(?:[_-]([A-Za-z]{2}))?(?:[.@]|$)", language)
    if match is None:
        return []
    short = match[1].lower()
    return [f"{short}_{match[2].upper()}", short] if match[2] else [short]


def _(text: str) -> str:
    """The text in the chosen language."""
    catalogue = _catalogue.get()
    return text if catalogue is None or not text else catalogue.gettext(text)


def say(sentence: Sentence) -> str:
    """A sentence of an explanation in the chosen language."""
    return _(SENTENCES[sentence.code]).format(**sentence.params)


def tell(error: HalfwayError) -> str:
    """An error in the chosen language."""
    spoken = ("source", "problem", "remedy", "reason")
    params = {name: _spoken(value) if name in spoken else value for name, value in error.params.items()}
    return _(MESSAGES[error.code]).format(**params).rstrip()


def in_words(template: str, params: Mapping[str, object]) -> str:
    """A sentence whose gaps may hold sentences, too."""
    return _(template).format(**{name: _spoken(value) for name, value in params.items()})


def _spoken(value: object) -> object:
    if isinstance(value, Told):
        return " ".join(in_words(template, params) for template, params in value.sentences)
    return translated(value) if isinstance(value, str) else value


def translated(text: str) -> str:
    """A finished English sentence in the chosen language, with what was filled in; as it is if no catalogue knows it."""
    catalogue = _catalogue.get()
    if catalogue is None or not text:
        return text
    whole = catalogue.gettext(text)
    if whole != text:
        return whole
    for pattern, template in _patterns(catalogue):
        match = pattern.fullmatch(text)
        if match is not None:
            return template.format(*map(translated, match.groups()))
    return text


@cache
def _patterns(catalogue: gettext.NullTranslations) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Sentences with numbered gaps, as `step {0} is {1}.`; those that say more come first."""
    known: dict[object, str] = getattr(catalogue, "_catalog", {})
    gaps = [(msgid, told) for msgid, told in known.items() if isinstance(msgid, str) and "{0}" in msgid]
    gaps.sort(key=lambda entry: -len(re.sub(r"\{\d\}", "", entry[0])))
    return tuple((_pattern(msgid), told) for msgid, told in gaps)


def _pattern(text: str) -> re.Pattern[str]:
    """A gap at the very end is one word, as in `step {0}`: what is no whole sentence must not swallow one."""
    pattern = re.sub(r"\\{\d\\}", "(.+?)", re.escape(text))
    return re.compile(pattern.removesuffix("(.+?)") + r"(\S+)" if pattern.endswith("(.+?)") else pattern, re.DOTALL)
