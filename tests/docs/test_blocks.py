"""Every block of Python in the documentation runs, and prints what the page says it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from halfway import Halfway
from tests.docs.pages import Page, pages

WITH_BLOCKS = [page for page in pages() if any(block.title is None for block in page.blocks("python"))]


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_one_after_the_other(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    apps: set[Halfway] = set()
    try:
        for block in page.blocks("python"):
            if block.title is None:
                run(page, block.line, block.code, names)
                apps.update(value for value in names.values() if isinstance(value, Halfway))
    finally:
        for app in apps:
            app.close()
    assert capsys.readouterr().out.splitlines() == page.says()


def run(page: Page, line: int, code: str, names: dict[str, Any]) -> None:
    """Runs one block, as its reader would; an error is shown with its line on the page."""
    source = "\n" * (line - 1) + code
    exec(compile(source, str(page.path), "exec", dont_inherit=True), names)


def test_there_are_blocks() -> None:
    assert len(WITH_BLOCKS) >= 8
