"""The tutorial, typed into a terminal as it stands; what it shows is what appears."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.launcher import completed
from tests.docs.pages import Page, arguments, page

PATIENCE = 60.0
TUTORIAL = page("docs/tutorial.md")
NOT_IN_A_TEST = ("pip ", "python3 -m venv", ". .venv")


class Terminal:
    """Types commands into a folder, and keeps everything that they print."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen = ""
        self.worker: subprocess.Popen[bytes] | None = None
        self._halfway = [sys.executable, "-m", "halfway.cli"]
        self._environment = {**os.environ, "HALFWAY_LANG": "en", "NO_COLOR": "1"}

    def type(self, command: str) -> int:
        words = arguments(command)
        if words is not None:
            code, told = completed("halfway.cli", words, self._environment, folder=self.folder, patience=PATIENCE)
            self.seen += told
            return code
        line = shlex.split(command)
        done = subprocess.run(line, check=False, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=PATIENCE)
        self.seen += done.stdout + done.stderr
        return done.returncode

    def start(self, command: str) -> None:
        words = arguments(command)
        assert words == ["worker"]
        self.worker = subprocess.Popen([*self._halfway, *words], cwd=self.folder, env=self._environment, stderr=subprocess.DEVNULL)

    def shows(self, run: str, *texts: str) -> None:
        """Looks at a run until it shows one of these."""
        end = time.monotonic() + PATIENCE
        while True:
            before = self.seen
            self.type(f"halfway show {run}")
            if any(text in self.seen.removeprefix(before) for text in texts):
                return
            assert time.monotonic() < end, f"{run} never showed {texts}; the last look:\n{self.seen.removeprefix(before)}"
            time.sleep(0.1)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    if terminal.worker is not None:
        terminal.worker.terminate()
        assert terminal.worker.wait(PATIENCE) == 0


def test_the_tutorial_happens_as_it_is_told(terminal: Terminal) -> None:
    for language in ("python", "toml"):
        for block in TUTORIAL.blocks(language):
            assert block.title is not None
            (terminal.folder / block.title).write_text(block.code, encoding="utf-8")
    for command in (command for command in TUTORIAL.commands() if not command.startswith(NOT_IN_A_TEST)):
        if command == "halfway worker":
            terminal.start(command)
            continue
        if command == "halfway show booking:q-2":
            terminal.shows("booking:q-2", "UNKNOWN", "\nSUCCESS ")  # a slow machine may come too late to see the doubt
        if command.startswith("halfway show") and command.endswith("--timeline"):
            terminal.shows(command.split()[2], "\nSUCCESS ")
        code = terminal.type(command)
        assert code == (5 if "q-3" in command and "--wait" in command else 0), terminal.seen
    assert missing(TUTORIAL, terminal.seen) == []
    assert sorted(room.name for room in (terminal.folder / "hotel").iterdir()) == ["R-1", "R-2", "R-3"]


def missing(page: Page, seen: str) -> list[str]:
    """Lines that the page shows and that never appeared; spaces may differ, times are not shown."""
    appeared = " ".join(seen.split())
    lines = [" ".join(line.split()) for block in page.blocks("text") for line in block.code.splitlines()]
    return [line for line in lines if line not in appeared]
