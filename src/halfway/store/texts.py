"""Texts that both databases can hold: PostgreSQL refuses NUL, and neither takes half a character."""

from __future__ import annotations

import hashlib

from halfway.errors import UnstorableValue


def storable(text: str | None) -> bool:
    return text is None or ("\0" not in text and (text.isascii() or not _halved(text)))


def require_storable(**texts: str | None) -> None:
    """Refuses, by name, a text that cannot be kept."""
    for name, text in texts.items():
        if not storable(text):
            raise UnstorableValue(
                "VALUE_UNSTORABLE", path=name, problem="it holds a NUL or half a character.", remedy="Remove it and try again."
            )


def made_storable(text: str | None) -> str | None:
    """What went wrong is kept in any case, with a mark where it could not be."""
    if text is None or storable(text):
        return text
    return text.replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode()


def fingerprint(text: str) -> str:
    """What tells the same text again without keeping it."""
    return hashlib.sha256(text.encode()).hexdigest()


def _halved(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
