"""The demonstration holds what it tells: real processes, one page, in both languages."""

from __future__ import annotations

import ast
import inspect
import shlex
import shutil
import string
from pathlib import Path

import pytest

from halfway_report import demo, demo_voice
from halfway_report.demo import run_demo
from halfway_report.demo_voice import Voice
from halfway_report.language import translator
from halfway_report.standin_ledger import Ledger
from tests.report.conftest import Scratch

TEXTS = sorted({
    node.args[0].value
    for node in ast.walk(ast.parse(inspect.getsource(demo)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_" and isinstance(node.args[0], ast.Constant)
})  # fmt: skip


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demonstration puts its folder."""
    root = tmp_path / "temporary"
    root.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(root))
    return root


@pytest.mark.parametrize(("lang", "words"), [("en", "pages at Notion"), ("ko", "Notion의 페이지")])
def test_a_killed_worker_leaves_one_page_and_a_run_that_succeeds(repo: Scratch, folders: Path, lang: str, words: str) -> None:
    repo.commit("Rotate the tokens", "2026-09-30T09:00:00+00:00")
    before = repo.footprint()
    lines: list[str] = []
    assert run_demo(repo.path, echo=lines.append, lang=lang) == 0, "\n".join(lines)
    (folder,) = folders.iterdir()
    ledger = Ledger.load(folder / "notion.json")
    assert (len(ledger.pages), ledger.posts()) == (1, 1)
    assert ledger.pages[0].markdown == (folder / "reports" / "shop" / "2026-09-30.md").read_text()
    assert any(words in line and line.split()[-1] == "1" for line in lines)
    assert any(line.split() == ["kill", "-9"] for line in lines)
    assert any("step.unknown" in line and "UPLOAD_NOTION" in line for line in lines)
    assert repo.footprint() == before
    (shown,) = (shlex.split(line)[0] for line in lines if " show " in line)
    assert shutil.which(shown) is not None  # also where the environment is not active


def test_where_there_is_no_repository_a_sample_is_used(tmp_path: Path, folders: Path) -> None:
    lines: list[str] = []
    assert run_demo(tmp_path / "nothing", echo=lines.append) == 0, "\n".join(lines)
    assert any("sample-shop" in line for line in lines)


def test_without_git_it_says_so(tmp_path: Path, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lines: list[str] = []
    assert run_demo(tmp_path, echo=lines.append) == 1
    assert any("git could not write a sample repository" in line for line in lines)


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_has_a_korean_translation_with_the_same_placeholders(text: str) -> None:
    korean = translator("ko")(text)
    assert placeholders(korean) == placeholders(text)
    assert korean != text or text.startswith("kill -9")


def test_an_unknown_language_is_english() -> None:
    assert translator("xx")("The count") == "The count"


def test_columns_and_lines_are_measured_in_cells() -> None:
    lines: list[str] = []
    voice = Voice(lines.append)
    voice.table([("보고서", "1"), ("report", "2")])
    voice.say("한글 " * 40)
    assert lines[:2] == ["     보고서  1", "     report  2"]
    assert all(demo_voice.cell_len(line) <= 100 for line in lines)
