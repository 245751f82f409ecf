"""Texts of others as parts of Python source: names, strings, comments. Whatever they say, they stay inside of it."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable

from halfway.inspection.quoting import safe, without_orders

LONGEST_NAME = 28
LONGEST_TEXT = 200
# What tools read out of comments; a quote gives no orders to them.
_ORDER = re.compile(
    r"(?:^|#)\s*(?=(?:type|pyright|mypy|ruff|noqa|flake8|pylint|fmt|isort|yapf|pragma|no(?:sec|semgrep|pycln|inspection)|coding)(?!\w))",
    re.IGNORECASE,
)
RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "app", "flow", "step", "mark", "made", "given", "timedelta"})


class Names:
    """Gives valid names of Python, each only once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = RESERVED.union(taken)

    def unique(self, text: str, *, otherwise: str = "step", prefix: str = "do") -> str:
        """A name that reads like the text; `otherwise` if nothing of it can be in a name, `prefix` before what is no name yet."""
        base = plain(text)[:LONGEST_NAME].rstrip("_") or otherwise
        if base in RESERVED or not base[0].isalpha():
            base = f"{prefix}_{base}"[:LONGEST_NAME].rstrip("_")
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base[: LONGEST_NAME - len(str(number)) - 1].rstrip('_')}_{number}"
        self._taken |= {name}
        return name


def plain(text: str) -> str:
    """What is left of a text in small letters, digits and underscores, secrets and addresses of persons taken out."""
    # In a name an address could not be told from words, so it is looked for before.
    shown = safe(unicodedata.normalize("NFKD", text))
    letters = re.sub(r"([a-z])([A-Z])", r"\1 \2", shown[:400]).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "_", letters.lower()).strip("_")


def one_line(text: str) -> str:
    """The text without line breaks, signs that are not seen, halves of letters, secrets, and addresses of persons."""
    line = without_orders(" ".join("".join(sign if sign.isprintable() else " " for sign in safe(text)).split()))
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 1] + "…"


def string(text: str) -> str:
    """A literal of the text in one line, with the quotes that need less escaping."""
    line = one_line(text).replace("\\", "\\\\")
    quote = "'" if line.count('"') > line.count("'") else '"'
    return quote + line.replace(quote, f"\\{quote}") + quote


def comment(text: str) -> str:
    """A comment in one line that no tool takes for an order."""
    return "# " + _ORDER.sub("- ", one_line(text))
