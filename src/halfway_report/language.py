"""English in the code, other languages by gettext, as everywhere in halfway."""

from __future__ import annotations

import gettext
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Translate: TypeAlias = Callable[[str], str]

DOMAIN = "halfway"
_CATALOGUES = Path(__file__).with_name("locale")


def translator(lang: str) -> Translate:
    """The function that turns the English text into a language; English itself if there is no catalogue for it."""
    return gettext.translation(DOMAIN, _CATALOGUES, languages=[lang.replace("-", "_")], fallback=True).gettext
