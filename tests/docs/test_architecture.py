"""ARCHITECTURE.md leads to files and functions that exist, and leaves out no module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, page

TEXT = page("ARCHITECTURE.md").text
HOUSE = ROOT / "src" / "halfway"
ROW = re.compile(r"^\| (?:where|…) .+? \| `(?P<file>[\w/.]+)` \| (?P<names>.+?) \|$", re.MULTILINE)
INDEX = [(row["file"], re.findall(r"`(\w+)`", row["names"])) for row in ROW.finditer(TEXT)]


def test_the_index_is_read() -> None:
    assert len(INDEX) == len(re.findall(r"^\| (?:where|…) ", TEXT, re.MULTILINE)) > 30


@pytest.mark.parametrize(("file", "names"), INDEX, ids=lambda value: value if isinstance(value, str) else "")
def test_an_answer_of_the_index_is_there(file: str, names: list[str]) -> None:
    source = (HOUSE / file).read_text(encoding="utf-8")
    assert names
    assert [name for name in names if not re.search(rf"\b(?:def|class|name:) {name}\b|^{name}\b", source, re.MULTILINE)] == []


def test_every_module_is_named() -> None:
    modules = [path.relative_to(HOUSE) for path in HOUSE.rglob("*.py") if not path.name.startswith("__")]
    rooms = dict(re.findall(r"^### (`[^\n]+)\n(.*?)(?=^### |^## )", TEXT, re.MULTILINE | re.DOTALL))
    assert [str(module) for module in modules if not named(module, rooms)] == []


def named(module: Path, rooms: dict[str, str]) -> bool:
    """Whether the section of its room names the file, or a section names it with its room."""
    if f"`{module}`" in TEXT:
        return True
    inside = "/".join(module.parts[1:])
    return any(title.startswith(f"`{module.parts[0]}`") and f"`{inside}`" in text for title, text in rooms.items())
