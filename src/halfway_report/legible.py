"""Turns the bytes of strangers into text that every database, terminal and page can hold."""

from __future__ import annotations

import re
import unicodedata

# Colours, movements of the cursor, titles of windows: all that a terminal would obey.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_BIDI = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BREAKS = frozenset({"Cc", "Zl", "Zp"})


def decoded(raw: bytes) -> str:
    """Text whatever the bytes are; what is no UTF-8 becomes U+FFFD."""
    return raw.decode("utf-8", "replace")


def message_text(text: str) -> str:
    """A message without anything that is obeyed instead of shown; lines and tabs stay."""
    return _BIDI.sub("", _CONTROL.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))))


def path_text(raw: bytes) -> str:
    """A path on one line; a letter that would break it becomes U+FFFD."""
    text = _BIDI.sub("\ufffd", decoded(raw))
    return "".join("\ufffd" if letter != "\t" and unicodedata.category(letter) in _BREAKS else letter for letter in text)
