"""English in the code, other languages by gettext, as everywhere in halfway. Messages that runs have kept are translated when told."""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TypeAlias

import halfway
from halfway.command import spellings, translated, wanted
from halfway.errors import Told

Translate: TypeAlias = Callable[[str], str]

DOMAIN = "halfway"
_CATALOGUES = Path(__file__).with_name("locale")
_CATALOGUES_OF_HALFWAY = Path(halfway.__file__).with_name("locale")  # for its errors

_GAP = re.compile(r"\{\d\}")
_PAIRS = ("{0} ({1})", "{0}: {1}")  # a code with a detail, a thing with its number

_catalogue: ContextVar[gettext.NullTranslations | None] = ContextVar("report_language", default=None)


def translator(lang: str) -> Translate:
    """The function that turns the English text into a language; English itself if there is no catalogue for it."""
    return _catalogue_of(lang).gettext


def speak(lang: str | None = None) -> None:
    """Chooses the language of the command: this one, else HALFWAY_LANG, else the locale."""
    _catalogue.set(_catalogue_of(wanted(lang)))


def _(text: str) -> str:
    """The text in the language of the command."""
    catalogue = _catalogue.get()
    return text if catalogue is None else catalogue.gettext(text)


def retold(text: object, lang: str | None = None) -> str:
    """A finished English text, as a run keeps it, in a language, or that of the command; the words of others in it stay as they are."""
    if isinstance(text, Told):
        return " ".join(
            _(template).format(**{name: retold(value) for name, value in params.items()}) for template, params in text.sentences
        )
    catalogue = _catalogue.get() if lang is None else _catalogue_of(lang)
    return str(text) if catalogue is None else translated(str(text), (*_templates(catalogue), *_PAIRS), catalogue.gettext)


@cache
def _templates(catalogue: gettext.NullTranslations) -> tuple[str, ...]:
    """Those that say most come first."""
    known: dict[object, str] = getattr(catalogue, "_catalog", {})
    numbered = (text for text in known if isinstance(text, str) and "{0}" in text)
    return tuple(sorted(numbered, key=lambda text: -len(_GAP.sub("", text))))


@cache
def _catalogue_of(lang: str) -> gettext.NullTranslations:
    languages = spellings(lang)
    catalogue = gettext.translation(DOMAIN, _CATALOGUES, languages=languages, fallback=True)
    catalogue.add_fallback(gettext.translation(DOMAIN, _CATALOGUES_OF_HALFWAY, languages=languages, fallback=True))
    return catalogue
