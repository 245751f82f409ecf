"""The path of a new user, with real processes: the first report, Notion switched off in between, and how it goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner

from halfway_report import reading, upload
from halfway_report.cli import main
from halfway_report.configuration import read
from halfway_report.deployment import deploy
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_pages import DATA_SOURCE
from tests.report.conftest import Scratch
from tests.report.hasty import PATIENT as HASTE

T = TypeVar("T")
Watch = Callable[[str], reading.RunView]
ROOT = os.pathsep.join(sys.path)
PATIENCE = 60.0  # seconds; a test that needs them fails


@dataclass
class Terminal:
    """A folder in which commands are typed."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.report.hasty", *arguments],
            cwd=self.folder, env={**os.environ, "HALFWAY_LANG": "en", "NO_PROXY": "127.0.0.1", "PYTHONPATH": ROOT, **self.environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self, *arguments: str, exit_code: int = 0) -> str:
        done = self.begin(*arguments)
        out, errors = done.communicate(timeout=PATIENCE)
        assert done.returncode == exit_code, out + errors
        assert "Traceback" not in errors
        return out + errors

    def look(self, *arguments: str, exit_code: int = 0) -> str:
        """A command that changes nothing, without a process of its own."""
        config = str(self.folder / "report.toml")
        result = CliRunner().invoke(main, [*arguments], env={"REPORT_CONFIG": config, "HALFWAY_LANG": "en", **self.environment})
        assert result.exit_code == exit_code, result.output
        return result.output

    def facts(self, *arguments: str, exit_code: int = 0) -> dict[str, Any]:
        text = self(*arguments, "--json", exit_code=exit_code)
        found: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
        return found


def until(look: Callable[[], T | None], process: subprocess.Popen[str]) -> T:
    """Looks until there is something to see, while the process that brings it about is alive."""
    end = time.monotonic() + PATIENCE
    while (seen := look()) is None:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    return seen


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    (tmp_path / "desk").mkdir()
    return Terminal(tmp_path / "desk")


@pytest.mark.timeout(120)
def test_case_15_a_new_user_reports_loses_notion_is_told_what_to_do_and_goes_on(
    terminal: Terminal, repo: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("Rotate the tokens", "2026-09-29T09:00:00+00:00")
    repo.commit("Say how to start", "2026-09-30T09:00:00+00:00")
    before, ledger = repo.footprint(), terminal.folder.parent / "notion.json"
    monkeypatch.setattr(upload, "_PATIENT", HASTE)
    with Standin(ledger=ledger) as notion:
        port = notion.port
        (terminal.folder / "report.toml").write_text(
            f'[projects.shop]\nrepositories = ["../shop"]\n'
            f'[notion]\ndata_source_id = "{DATA_SOURCE}"\nurl = "{notion.url}"\nsettle = 0\n'
            '[schedules.shop]\ncron = "0 9 * * 1-5"\n'
        )
        assert "NOTION_TOKEN is not set" in terminal.look("doctor", exit_code=2)
        terminal = Terminal(terminal.folder, {"NOTION_TOKEN": TOKEN})
        first = terminal.facts("run", "shop", "--date", "2026-09-29")
        assert (first["status"], len(notion.ledger.pages)) == ("SUCCESS", 1)
    with watching(terminal) as seen:
        run_id = killed_while_it_tries(terminal, seen)
        interrupted_while_it_tries(terminal, seen, run_id)
        with Standin(port=port, ledger=ledger) as notion:
            resumed = terminal.facts("resume", run_id)
            assert (resumed["status"], resumed["runId"]) == ("SUCCESS", run_id)
            assert len(notion.ledger.pages) == 2
            done = ("COLLECT_GIT", "BUILD_CONTEXT", "GENERATE_REPORT", "SAVE_MARKDOWN")
            assert [seen(run_id).step(name).attempts for name in done] == [1, 1, 1, 1]
            served_by_a_worker(terminal, seen)
            assert len(notion.ledger.pages) == 3
    assert repo.footprint() == before


def killed_while_it_tries(terminal: Terminal, seen: Watch) -> str:
    with terminal.begin("run", "shop", "--date", "2026-09-30") as working:
        run_id = (working.stderr.readline() if working.stderr else "").split()[1]
        until(lambda: tried(seen(run_id)), working)
        working.kill()
    assert "No worker is alive" in terminal.look("status", run_id)
    return run_id


def interrupted_while_it_tries(terminal: Terminal, seen: Watch, run_id: str) -> None:
    before = seen(run_id).step("UPLOAD_NOTION").attempts
    with terminal.begin("resume", run_id) as working:
        until(lambda: tried(seen(run_id), before), working)
        working.send_signal(signal.SIGINT)
        _, errors = working.communicate(timeout=PATIENCE)
        assert working.returncode == 130
        assert f"report resume {run_id}" in errors
    told = terminal.look("status", run_id)
    assert "SAVE_MARKDOWN    SUCCESS" in told
    assert f"report resume {run_id}" in told


def tried(view: reading.RunView, before: int = 0) -> bool | None:
    """Whether the upload has met a Notion that is not there, since so many attempts."""
    upload = view.step("UPLOAD_NOTION")
    return (upload.attempts > before and upload.error_code != "") or None


@contextmanager
def watching(terminal: Terminal) -> Generator[Watch, None, None]:
    """Looks at runs, without a process of its own for each look."""
    configuration = read(terminal.folder / "report.toml")
    with closing(deploy(configuration.settings, configuration.database).app) as app:
        yield lambda run_id: reading.show(app, run_id, journal=False)


def served_by_a_worker(terminal: Terminal, seen: Watch) -> None:
    """What a schedule has started is made by `report worker`, which ends well when it is told to."""
    run_id = terminal.look("schedule", "trigger", "shop").strip()
    with terminal.begin("worker") as worker:
        until(lambda: seen(run_id).status == "SUCCESS" or None, worker)
        worker.terminate()
        worker.communicate(timeout=PATIENCE)
        assert worker.returncode == 0
