"""Secrets in texts that are about to be stored are replaced by `[REDACTED:kind]` (R-A10).

Works on encoded JSON and on plain text. A match never contains a quote that ends a JSON string and never half an escape,
so JSON stays valid, and a second pass changes nothing. Every pattern takes time in proportion to the text, whatever it says.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """A kind of secret; its pattern is tried only if one of the traces is in the text, in lower case."""

    traces: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str


# Where a word may begin: after something that belongs to no word, or after an escape such as \n or \ud1a0.
_BEGIN = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"
_NEW = r"(?!\[REDACTED:)"
_INSIDE = r"(?:[^\"\\]|\\.)"  # one character of a JSON string
_DEEPER = r'(?:[^"\\]|\\+(?![\\"])|(?P=b)\\+")'  # the same of a string within a string, whose quotes have `b` before them
_WORD = r"(?:[^\s\"'\\,;&]|\\\\|\\u[0-9a-fA-F]{4})"
_HAS_DIGIT = r"(?=[^\s\"\\]{0,60}[0-9])"

_PASSWORD = r"(?:password|passwd|passphrase|pwd)"
_PASSWORD_TRACES = ("passw", "passphrase", "pwd")
_SECRET = r"(?:secret|token|(?:api|access|secret|private|account)[_-]?key)"
_SECRET_TRACES = ("secret", "token", "_key", "-key", "apikey", "accesskey", "privatekey", "accountkey")


def _rule(traces: tuple[str, ...], pattern: str, replacement: str, flags: re.RegexFlag = re.NOFLAG) -> Rule:
    return Rule(traces, re.compile(pattern, flags), replacement)


def _named(traces: tuple[str, ...], name: str, kind: str) -> tuple[Rule, ...]:
    """The quoted ways of writing a named value: in JSON, in JSON within a JSON string, in Python."""
    new = rf"\g<1>[REDACTED:{kind}]"
    return (
        _rule(traces, rf'({name}"\s*:\s*"){_NEW}{_INSIDE}+', new, re.I),
        _rule(traces, rf'({name}(?P<b>\\{{1,15}})"\s*:\s*(?P=b)"){_NEW}{_DEEPER}+(?=(?P=b)")', new, re.I),
        _rule(traces, rf"({name}'?\s*[=:]\s*'){_NEW}[^'\"\\]+(?=')", new, re.I),
    )


RULES: tuple[Rule, ...] = (
    _rule(
        ("-----begin",),
        rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----{_INSIDE}*?"
        r'(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?=")|\Z)',
        "[REDACTED:private-key]",
    ),
    _rule(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
        "[REDACTED:github-token]",
    ),
    _rule(("akia", "asia"), r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])", "[REDACTED:aws-key]"),
    _rule(("aiza",), r"AIza[0-9A-Za-z_-]{35}", "[REDACTED:google-key]"),
    _rule(("ntn_", "secret_"), rf"{_BEGIN}(?:ntn_[A-Za-z0-9]{{20,}}|secret_[A-Za-z0-9]{{40,}})", "[REDACTED:notion-token]"),
    _rule(("sk-",), rf"{_BEGIN}sk-(?=[A-Za-z_-]{{0,60}}[0-9])[A-Za-z0-9_-]{{16,}}", "[REDACTED:api-key]"),
    _rule(("xox",), rf"{_BEGIN}xox[a-z]-[A-Za-z0-9-]{{10,}}", "[REDACTED:slack-token]"),
    _rule(("eyj",), rf"{_BEGIN}eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]*", "[REDACTED:jwt]"),
    _rule(("://",), rf"(://[^\s:/?#@\"\\]{{0,256}}:){_NEW}[^\s/\"\\]{{1,1024}}@", r"\g<1>[REDACTED:password]@"),
    _rule(("bearer",), rf"(bearer\s+){_NEW}{_HAS_DIGIT}[A-Za-z0-9._~+/=-]{{8,}}", r"\g<1>[REDACTED:bearer]", re.I),
    _rule(
        ("authorization",),
        rf"(authorization[\"'\\]{{0,17}}\s*[:=]\s*[\"'\\]{{0,17}}(?:basic|digest|token)\s+){_NEW}[A-Za-z0-9._~+/=-]+",
        r"\g<1>[REDACTED:authorization]",
        re.I,
    ),
    *_named(_PASSWORD_TRACES, _PASSWORD, "password"),
    *_named(_SECRET_TRACES, _SECRET, "secret"),
    _rule(_PASSWORD_TRACES, rf"({_PASSWORD}\s*=\s*|{_PASSWORD}:\s*){_NEW}{_WORD}+", r"\g<1>[REDACTED:password]", re.I),
    _rule(_SECRET_TRACES, rf"({_SECRET}\s*[=:]\s*){_NEW}{_HAS_DIGIT}{_WORD}{{6,}}", r"\g<1>[REDACTED:secret]", re.I),
)
_TRACES = tuple(dict.fromkeys(trace for rule in RULES for trace in rule.traces))


def redact(text: str) -> str:
    """The text without what looks like a secret."""
    lowered = text.lower()
    found = [trace for trace in _TRACES if trace in lowered]
    if not found:
        return text
    for rule in RULES:
        if any(trace in found for trace in rule.traces):
            text = rule.pattern.sub(rule.replacement, text)
    return text
