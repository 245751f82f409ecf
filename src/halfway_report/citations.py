"""Finds words that look like commit hashes, in the way the generator, the collector and the validator all mean it."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Not inside a path, a longer word or a UUID.
_HEX_WORD = re.compile(r"(?<![0-9A-Za-z/_.-])[0-9a-fA-F]{7,64}(?![0-9A-Za-z_]|-[0-9a-fA-F]{4}\b)")


def hex_words(text: str) -> list[str]:
    """Every word that could be a commit hash, in lower case and in order; dates and ordinary words may be among them."""
    return [word.lower() for word in _HEX_WORD.findall(text)]


def looks_like_hash(word: str) -> bool:
    """False for 20260930 and for words such as `defaced`, which only a code span makes a citation."""
    return any(letter.isdigit() for letter in word) and any(letter.isalpha() for letter in word)


def matches(word: str, shas: Iterable[str]) -> int:
    """How many of the commits the word may mean."""
    return sum(sha.startswith(word) for sha in set(shas))


def replace_hex_words(text: str, known: Iterable[str], replacement: str) -> str:
    """The text with each word that looks like a hash but means none of the known commits replaced."""
    shas = tuple(known)

    def keep(match: re.Match[str]) -> str:
        word = match[0].lower()
        return match[0] if not looks_like_hash(word) or matches(word, shas) == 1 else replacement

    return _HEX_WORD.sub(keep, text)
