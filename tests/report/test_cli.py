"""The command `report`, from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halfway_report.cli import main
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_ledger import DATA_SOURCE
from tests.report.conftest import Scratch


class Shell:
    """Calls the command with a database and a folder of its own."""

    def __init__(self, folder: Path, repo: Scratch) -> None:
        self.place = ["--repo", str(repo.path), "--out", str(folder / "reports")]
        self.db = ["--db", f"sqlite:///{folder / 'report.sqlite3'}"]

    def __call__(self, *arguments: str) -> Result:
        result = CliRunner().invoke(main, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def run(self, *more: str) -> Result:
        return self("run", "shop", "--date", "2026-09-30", "--json", *self.place, *self.db, *more)


@pytest.fixture
def shell(tmp_path: Path, repo: Scratch) -> Shell:
    repo.commit("Rotate the tokens", "2026-09-30T09:00:00+00:00")
    return Shell(tmp_path, repo)


def test_a_run_prints_where_the_report_is(shell: Shell) -> None:
    result = shell.run()
    facts = json.loads(result.stdout)
    assert result.exit_code == 0
    assert facts["status"] == "SUCCESS"
    assert facts["key"] == "daily-report:shop:2026-09-30"
    assert Path(facts["path"]).read_text().startswith("# Daily report: shop, 2026-09-30")


def test_a_second_run_for_the_day_is_the_first_one(shell: Shell) -> None:
    first, second = shell.run(), shell.run()
    assert json.loads(first.stdout)["runId"] == json.loads(second.stdout)["runId"]
    assert "already has this day" in second.stderr
    assert second.exit_code == 0


def test_runs_and_status_show_what_happened(shell: Shell) -> None:
    run_id = json.loads(shell.run().stdout)["runId"]
    listed = shell("runs", *shell.db)
    assert listed.stdout.split() == [run_id, "SUCCESS", "daily-report:shop:2026-09-30"]
    shown = shell("status", run_id, *shell.db)
    assert shown.exit_code == 0
    assert [line.split()[:2] for line in shown.stdout.splitlines()[1:]] == [
        [step, "SUCCESS"] for step in ("COLLECT_GIT", "BUILD_CONTEXT", "GENERATE_REPORT", "VALIDATE_REPORT", "SAVE_MARKDOWN")
    ]
    as_json = json.loads(shell("status", run_id, "--json", *shell.db).stdout)
    assert as_json["steps"][0]["status"] == "SUCCESS"


def test_a_run_that_needs_a_person_is_resumed_where_it_stopped(shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTION_TOKEN", "wrong")
    notion = ["--notion", DATA_SOURCE, "--notion-url", standin.url]
    stopped = shell.run(*notion)
    facts = json.loads(stopped.stdout)
    assert (stopped.exit_code, facts["status"]) == (5, "MANUAL_REQUIRED")
    assert "HTTP_401" in facts["error"]
    assert shell("status", facts["runId"], *shell.db).exit_code == 5
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    resumed = shell("resume", facts["key"], "--reason", "the token is right now", "--json", *shell.place, *shell.db, *notion)
    assert (resumed.exit_code, json.loads(resumed.stdout)["status"]) == (0, "SUCCESS")
    assert len(standin.ledger.pages) == 1


def test_an_unknown_run_is_not_found(shell: Shell) -> None:
    shell.run()
    result = shell("status", "no-such-run", *shell.db)
    assert result.exit_code == 3
    assert "no-such-run" in result.stderr


@pytest.mark.parametrize(("arguments", "words"), [(["--zone", "Mars/Olympus"], "Mars/Olympus"), (["--date", "yesterday"], "yesterday")])
def test_a_wrong_option_is_a_usage_error(shell: Shell, arguments: list[str], words: str) -> None:
    result = shell.run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_project_with_a_colon_is_a_usage_error(shell: Shell) -> None:
    result = shell("run", "a:b", *shell.place, *shell.db)
    assert result.exit_code == 2
    assert "a:b" in result.stderr
