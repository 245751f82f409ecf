"""Makes a line safe to show: no secret and no personal address leaves, whatever it was quoted for (R-K1)."""

from __future__ import annotations

import re

LONGEST = 160
HIDDEN = "[…]"
_COMMAND = re.compile(r"##((?:vso)?\[)")
_AT_BEGINNING = re.compile(r"^::")
_DIGIT = re.compile(r"\d")
_BY_FORM = re.compile(
    "|".join((
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----\S*",
        r"gh[pousr]_[A-Za-z0-9]{16,}",
        r"github_pat_\w{20,}",
        r"xox[abprs]-[\w-]{10,}",
        r"(?:sk|rk|pk)_(?:live|test)_\w{8,}",
        r"(?<![A-Za-z0-9])sk-[\w-]{16,}",
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        r"AIza[\w-]{30,}",
        r"(?<![A-Za-z0-9])(?:ntn|secret)_\w{20,}",
        r"glpat-[\w-]{16,}",
        r"(?<![A-Za-z0-9])SG\.[\w-]{16,}\.[\w-]{16,}",
        r"(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
        r"https://hooks\.slack\.com/services/\S+",
        r"https://discord(?:app)?\.com/api/webhooks/\S+",
    ))
)  # fmt: skip
_OF_PERSONS = re.compile(
    "|".join((
        r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}",  # an address of a person; what ends in a number is a version
        r"(?<![\w.])\+\d[\d ()-]{7,}\d",  # a telephone number
        r"\b01[016789]-?\d{3,4}-?\d{4}\b",
        r"\b\d{6}-[1-4]\d{6}\b",  # a Korean resident's number
    ))
)  # fmt: skip
_PASSWORD = re.compile(r"(?<=://)([^/\s:@]+):(?![$%{<\[])([^/\s@]+)(?=@)")
# A reference to where a secret is kept is no secret: ${{ secrets.X }}, $TOKEN, ={{ … }}, os.environ["X"].
_ASSIGNED = re.compile(
    r"""(?i)((?:(?:password|passwd|secret|token|api[_-]?key|apikey|private[_-]?key|access[_-]?key|authorization|bearer)[\w-]{0,60})["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+)?)(?![\s"']*(?:(?:bearer|basic)\s|\$|=?\{\{|\{|os\.|process\.|env\.|vault:|!|<|null|true|false|\d+\b(?!\w)))([^\s"',;}{)\]]{6,})"""
)
_IN_QUERY = re.compile(r"(?i)([?&](?:[\w-]{0,60}(?:key|token|secret|sig|signature|password)[\w-]{0,60})=)(?![$%{])[^&\s\"']{6,}")


def quoted(text: str, longest: int = LONGEST) -> str:
    """The text in one line of at most so many characters, secrets and addresses of persons taken out."""
    line = " ".join(_printed(safe(text), " ").split())
    # Build servers take such a line of a log for an order to them: `::error::` at its beginning, `##[` anywhere.
    line = _COMMAND.sub(r"# #\1", _AT_BEGINNING.sub(": :", line))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def shown_path(path: str) -> str:
    """A path that is safe to show: as it is, but for what could move the cursor, secrets, and addresses of persons."""
    line = _printed(path, "\ufffd")
    hidden = _BY_FORM.sub(lambda found: HIDDEN if _DIGIT.search(found[0]) else found[0], line)
    return _COMMAND.sub(r"# #\1", _OF_PERSONS.sub(HIDDEN, hidden))


def _printed(text: str, instead: str) -> str:
    """Without what moves the cursor, turns the line around, cannot be seen or cannot be encoded."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else instead for sign in text)


def safe(text: str) -> str:
    """The text with secrets and addresses of persons taken out."""
    text = text[:20_000]
    text = _PASSWORD.sub(rf"\1:{HIDDEN}", text)
    text = _OF_PERSONS.sub(HIDDEN, _BY_FORM.sub(HIDDEN, text))
    text = _IN_QUERY.sub(rf"\1{HIDDEN}", text)
    return _ASSIGNED.sub(rf"\1{HIDDEN}", text)


def holds_secret(text: str) -> bool:
    """Whether a literal secret stands in the text; an address is none."""
    return any(pattern.search(text) for pattern in (_ASSIGNED, _BY_FORM, _PASSWORD, _IN_QUERY))
