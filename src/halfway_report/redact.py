"""Takes secrets out of commit text before anything stores or sends it. Running it twice changes nothing more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_MARK = "[REDACTED:{}]"

# Tokens with a shape of their own: the whole match is the secret.
_SHAPES: Mapping[str, re.Pattern[str]] = MappingProxyType({
    "private-key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    "github": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{50,})"),
    "gitlab": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}"),
    "aws": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "notion": re.compile(r"\b(?:ntn_|secret_)[A-Za-z0-9]{32,}"),
    "openai": re.compile(r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}"),
    "slack": re.compile(r"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
    "google": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
    "jwt": re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
})  # fmt: skip

# Secrets that only their surroundings betray: the group `secret` is replaced, the rest stays readable.
_PLACES: Mapping[str, re.Pattern[str]] = MappingProxyType({
    "url-password": re.compile(r"(?<=://)(?P<secret>[^\s:/@\[\]]*:[^\s/@]+)(?=@)"),
    "bearer": re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9._~+/=-]{16,})"),
    # Not anchored to the start of a line, so that a diff marker before the name hides nothing.
    "assignment": re.compile(
        r"""(?ix) [\w.-]* (?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|credential|private[_-]?key) [\w.-]* ["']?
            \s*(?:=|:)\s* (?: "(?P<double>[^"\n]{6,})" | '(?P<single>[^'\n]{6,})' | (?P<secret>(?!\[REDACTED)[^\s"'`,;]{6,}) )"""
    ),
})  # fmt: skip


class Redacted(NamedTuple):
    """Text without its secrets, and how many of each kind there were."""

    text: str
    counts: Counter[str]


def redact(text: str) -> Redacted:
    """Replaces every secret it knows by `[REDACTED:kind]`; a commit hash is not one."""
    counts: Counter[str] = Counter()
    for kind, pattern in _SHAPES.items():
        text, found = pattern.subn(_MARK.format(kind), text)
        counts[kind] += found
    for kind, pattern in _PLACES.items():
        text, found = _replace_groups(kind, pattern, text)
        counts[kind] += found
    return Redacted(text, +counts)


def _replace_groups(kind: str, pattern: re.Pattern[str], text: str) -> tuple[str, int]:
    pieces: list[str] = []
    end = found = 0
    for match in pattern.finditer(text):
        group = match.lastgroup
        if group is None or match[group].startswith("[REDACTED:"):
            continue
        pieces += [text[end : match.start(group)], _MARK.format(kind)]
        end = match.end(group)
        found += 1
    return "".join(pieces) + text[end:], found
