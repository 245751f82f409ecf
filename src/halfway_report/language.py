"""English in the code, other languages by gettext, as everywhere in halfway."""

from __future__ import annotations

import gettext
import os
import re
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

import halfway

Translate: TypeAlias = Callable[[str], str]

DOMAIN = "halfway"
_CATALOGUES = Path(__file__).with_name("locale")
_CATALOGUES_OF_HALFWAY = Path(halfway.__file__).with_name("locale")  # for its errors

_translate: ContextVar[Translate | None] = ContextVar("report_language", default=None)


def translator(lang: str) -> Translate:
    """The function that turns the English text into a language; English itself if there is no catalogue for it."""
    spellings = _spellings(lang)
    catalogue = gettext.translation(DOMAIN, _CATALOGUES, languages=spellings, fallback=True)
    catalogue.add_fallback(gettext.translation(DOMAIN, _CATALOGUES_OF_HALFWAY, languages=spellings, fallback=True))
    return catalogue.gettext


def speak(lang: str | None = None) -> None:
    """Chooses the language of the command: this one, else HALFWAY_LANG, else the locale."""
    _translate.set(translator(lang or os.environ.get("HALFWAY_LANG") or _of_locale()))


def _(text: str) -> str:
    """The text in the language of the command."""
    translate = _translate.get()
    return text if translate is None else translate(text)


def _of_locale() -> str:
    return next((found for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (found := os.environ.get(name))), "")


def _spellings(lang: str) -> list[str]:
    """`ko_KR.UTF-8` is `ko_KR`, then `ko`; nothing that could be a path."""
    match = re.match(r"([A-Za-z]{2,3})(?:[_-]([A-Za-z]{2}))?(?:[.@]|$)", lang)
    if match is None:
        return []
    short = match[1].lower()
    return [f"{short}_{match[2].upper()}", short] if match[2] else [short]
