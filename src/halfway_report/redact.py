"""Takes secrets and personal data out of text before anything stores or sends it. Running it twice changes nothing more."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from halfway_report.settings import ProjectSettings

# A message may be 64 KiB of malice: no part of an expression that can fail may be long and open.
# Tokens with a shape of their own: the whole match is the secret.
_SHAPES: Mapping[str, re.Pattern[str]] = MappingProxyType({
    "private-key": re.compile(
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL
    ),
    "github": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{50,})"),
    "gitlab": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}"),
    "aws": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "notion": re.compile(r"\b(?:ntn_|secret_)[A-Za-z0-9]{32,}"),
    "openai": re.compile(r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}"),
    "slack": re.compile(r"\bxox[abeprs]-[A-Za-z0-9-]{10,}|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}"),
    "stripe": re.compile(r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    "google": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
    "registry": re.compile(r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|hf_[A-Za-z0-9]{30,})"),
    "jwt": re.compile(r"\beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,16384}\.[A-Za-z0-9_-]*"),
})  # fmt: skip

# While rules are at work, each mark that they left is one letter that no rule reads as text.
_FIRST = 0xF0000
_TAKEN = "\U000f0000-\U000f00ff"
_HELD = re.compile(f"[{_TAKEN}]")
_MARK = re.compile(r"\[REDACTED:([a-z0-9-]{1,63})\]")

# Secrets that only their surroundings betray: the group is replaced, the rest stays readable.
_PLACES: Mapping[str, re.Pattern[str]] = MappingProxyType({
    # A password may hold a slash; what begins with a port and a slash is an ordinary address.
    "url-password": re.compile(rf"(?<=://)(?P<secret>[^\s:/@\[\]{_TAKEN}]*:(?!\d{{1,5}}/)[^\s@]{{1,256}})(?=@)"),
    "url-token": re.compile(r"(?i)(?<=https://)(?P<secret>[A-Za-z0-9._~+=-]{16,256})(?=@)"),
    "bearer": re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9._~+/=-]{16,})"),
    "authorization": re.compile(
        r"(?i)\bauthorization[\"']?\s{0,5}[:=]\s{0,5}[\"']?(?:(?:token|apikey|key|digest)\s{1,5})?"
        r"(?=[A-Za-z._~+/=-]{0,64}\d)(?P<secret>[A-Za-z0-9._~+/=-]{16,})"
    ),
    # Not anchored to the start of a line, so that a diff marker before the name hides nothing.
    "assignment": re.compile(
        rf"""(?ix) (?:passw(?:or)?d|passphrase|secret|token|(?:api|account|access)[_-]?key|credential|private[_-]?key) [\w.-]{{0,64}} ["']?
            \s{{0,20}} (?: (?:=>|:=|=|:)\s{{0,20}} (?: "(?P<double>[^"\n]{{6,}})" | '(?P<single>[^'\n]{{6,}})' | `(?P<code>[^`\n]{{6,}})` )
            | (?::=|=|:)\s{{0,20}} (?P<secret>(?![{_TAKEN}])(?:[^\s"'`,;]|,(?=[^\s"'`,;])){{6,}}) )"""
    ),
    # Short names that are words as well: only where no space stands around the sign.
    "password": re.compile(
        rf"""(?ix) (?<![a-z]) (?:pass|pwd) (?:=|:=) (?: "(?P<double>[^"\n]{{6,}})" | '(?P<single>[^'\n]{{6,}})'
            | (?P<secret>(?![{_TAKEN}])[^\s"'`,;]{{6,}}) )"""
    ),
})  # fmt: skip

# Who signed, reviewed or shared in a change: names and addresses in a fixed place.
_PERSON = re.compile(
    r"""(?imx) ^[ \t]{0,8} (?:
        (?:[a-z]{1,30}(?:-[a-z]{1,30}){0,3}-by|cc|from|author)[ \t]{0,8}:[ \t]{0,8} (?P<address>[^\n<]{0,200}<[^>\n]{0,200}>[^\n]*)
        | (?:signed-off|co-authored|co-developed|authored|written|reviewed|acked|approved
          |tested|reported|requested|suggested|helped|mentored)-by [ \t]{0,8}:[ \t]{0,8} (?P<person>[^\W\d][^\n]*) )"""
)
_EMAIL = re.compile(r"(?<![\w.+%-])(?!git@)[\w.+%-]{1,64}@(?!\d(?:\.\d)?x\.)(?:[\w-]{1,63}\.)+[^\W\d_]{2,24}(?![\w@]|-\w)")


class Redacted(NamedTuple):
    """Text without its secrets, and how many of each kind there were."""

    text: str
    counts: Counter[str]


class Redactor:
    """Replaces what it knows by `[REDACTED:kind]`: secrets always, people and the rest where it is told to."""

    def __init__(
        self, *, emails: bool = False, people: bool = False, names: Iterable[str] = (), patterns: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        rules = [*_SHAPES.items(), *_PLACES.items()]
        rules += [(kind, re.compile(pattern)) for kind, pattern in sorted(patterns.items())]
        if people:
            rules.append(("person", _PERSON))
        if emails:
            rules.append(("email", _EMAIL))
        # The longest first, so that none is cut by one of its parts.
        ordered = sorted({_composed(name).strip() for name in names if name.strip()}, key=lambda name: (-len(name), name))
        if ordered:
            rules.append(("name", re.compile("|".join(map(_name, ordered)), re.IGNORECASE)))
        self._rules = tuple(rules)
        self._kinds = tuple(dict.fromkeys(kind for kind, _ in rules))

    def __call__(self, text: str) -> Redacted:
        """The text with every secret replaced; a commit hash is not one."""
        counts: Counter[str] = Counter()
        kinds = list(self._kinds)
        text = _MARK.sub(lambda match: _letter(kinds, match[1]), _HELD.sub("\ufffd", _composed(text)))
        # One rule may uncover what another one looks for; each turn leaves less text, so there is a last one.
        while found := self._once(text, kinds, counts):
            text = found
        return Redacted(_HELD.sub(lambda match: f"[REDACTED:{kinds[ord(match[0]) - _FIRST]}]", text), +counts)

    def _once(self, text: str, kinds: list[str], counts: Counter[str]) -> str | None:
        before = text
        for kind, pattern in self._rules:
            pieces: list[str] = []
            end = 0
            for start, stop in _spans(pattern, text):
                pieces += [text[end:start], _letter(kinds, kind)]
                end = stop
                counts[kind] += 1
            text = "".join(pieces) + text[end:]
        return None if text == before else text


def redactor_for(settings: ProjectSettings, people: Iterable[str] = ()) -> Redactor:
    """What a project asks for; the names of these people are looked for as well."""
    personal = settings.personal
    return Redactor(emails=personal.emails, people=not settings.show_authors, names=(*personal.names, *people), patterns=personal.patterns)


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text):
        group = match.lastgroup or 0
        # A mark alone is no find: what it hid is gone already.
        if _HELD.sub("", match[group]).strip():
            yield match.span(group)


def _letter(kinds: list[str], kind: str) -> str:
    if kind not in kinds:
        kinds.append(kind)
    return chr(_FIRST + min(kinds.index(kind), 255))


def _name(name: str) -> str:
    # Particles follow a Korean name without a space.
    after = "" if "\uac00" <= name[-1] <= "\ud7a3" else r"(?!\w)"
    # In a path or an account name the words of a name stand between other signs than in prose.
    words = r"[\s._-]{1,4}".join(map(re.escape, name.split()))
    return rf"(?<!\w){words}{after}"


def _composed(text: str) -> str:
    """One spelling for what looks the same."""
    return unicodedata.normalize("NFC", text)
