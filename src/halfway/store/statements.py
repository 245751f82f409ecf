"""The named statements of `sql/*.sql`, rendered for one database.

The files are valid SQLite as they stand. Two rules make the text for PostgreSQL: `/* pg: for update */` stands for its content, and
parameters are numbered. A list is written `in :ids[]`. Where that is not enough, `-- name: x (postgres)` overrides `x`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "sql"
HEAD = re.compile(r"^-- name: (?P<name>\w+)(?P<postgres> \(postgres\))?\n(?P<purpose>(?:-- .*\n)+)", re.MULTILINE)
SLOT = re.compile(r"\s*/\* pg: (.*?) \*/")
PARAMETER = re.compile(r"(?P<list>\bin )?(?<![:\w]):(?P<name>[a-z_][a-z_0-9]*)(?:\[\])?")
SQLITE_LIST, POSTGRES_LIST = "in (select value from json_each({}))", "= any({}::text[])"
COLUMN = re.compile(r":\w+::(text|bigint)\[\]")


class Statement(NamedTuple):
    """One statement for one database; parameters are given in the order of `params`."""

    text: str
    sent: bytes  # the same, as it goes to a server
    params: tuple[str, ...]
    lists: frozenset[str]
    columns: tuple[bool, ...]  # takes the values of all rows at once, as arrays: whether each is of text


class Source(NamedTuple):
    """A statement as it is written."""

    name: str
    postgres: bool
    purpose: str
    text: str


def sources() -> list[Source]:
    """Every statement of every file."""
    found: list[Source] = []
    for path in sorted(FOLDER.glob("*.sql")):
        content = path.read_text(encoding="utf-8")
        heads = list(HEAD.finditer(content))
        ends = [head.start() for head in heads[1:]] + [len(content)]
        for head, end in zip(heads, ends, strict=True):
            text = content[head.end() : end].strip().removesuffix(";")
            found.append(Source(head["name"], head["postgres"] is not None, head["purpose"].strip(), text))
    return found


@cache
def statements(*, postgres: bool) -> dict[str, Statement]:
    """All statements by name."""
    texts = {source.name: source.text for source in sources() if not source.postgres}
    if postgres:
        texts |= {source.name: source.text for source in sources() if source.postgres}
    return {name: render(text, postgres=postgres) for name, text in texts.items()}


def fill(text: str, *, postgres: bool) -> str:
    """The text for one database: what stands in a slot is for PostgreSQL."""
    return SLOT.sub(r" \1" if postgres else "", text)


def render(text: str, *, postgres: bool) -> Statement:
    """Numbers the parameters and fills or drops the slots."""
    numbers: dict[str, int] = {}
    columns = [kind == "text" for kind in COLUMN.findall(text)]
    lists: set[str] = set()
    sign = "$" if postgres else "?"

    def place(hit: re.Match[str]) -> str:
        number = numbers.setdefault(hit["name"], len(numbers) + 1)
        if hit["list"]:
            lists.add(hit["name"])
        return ((POSTGRES_LIST if postgres else SQLITE_LIST) if hit["list"] else "{}").format(f"{sign}{number}")

    rendered = PARAMETER.sub(place, fill(text, postgres=postgres))
    return Statement(rendered, rendered.encode(), tuple(numbers), frozenset(lists), tuple(columns))
