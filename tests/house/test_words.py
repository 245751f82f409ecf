"""The repository speaks of the product: no notes to oneself, no paths of one machine, no addresses of package indexes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
EVERYWHERE = {
    "a path of one machine": re.compile(r"(?<![\w.~-])/(?:work)/"),
    "how a change came about": re.compile(r"\bsub-?agents?\b|\bissue ?#", re.IGNORECASE),
    "the address of a package index": re.compile(
        r"\b(?:pypi\.org|(?:files\.)?pythonhosted\.org|npmjs\.(?:org|com)|proxy\.golang\.org|crates\.io|deb\.debian\.org)\b|/opt/(?:pypi|wheels)"
    ),
}
TEMPORARY = re.compile(r"(?<![\w.~-])/tmp/")


def lines_with(pattern: re.Pattern[str], texts: dict[str, str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize("pattern", EVERYWHERE.values(), ids=EVERYWHERE.keys())
def test_no_file_contains(pattern: re.Pattern[str], texts: dict[str, str]) -> None:
    assert lines_with(pattern, texts) == []


def test_documents_name_no_absolute_temporary_path(texts: dict[str, str]) -> None:
    documents = {name: text for name, text in texts.items() if Path(name).suffix in {".md", ".rst", ".txt", ".html"}}
    assert lines_with(TEMPORARY, documents) == []


def test_the_sources_hold_no_notes_of_unfinished_work(texts: dict[str, str]) -> None:
    sources = {name: text for name, text in texts.items() if name.startswith("src/")}
    assert sources
    assert lines_with(UNFINISHED, sources) == []
