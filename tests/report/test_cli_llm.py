"""The command `report` where a model writes: what it says when the model is away or writes no report, and how it goes on."""

from __future__ import annotations

from datetime import date

from halfway_report.configuration import read
from halfway_report.deployment import deploy
from halfway_report.models import Day
from halfway_report.standin_ollama import StandinOllama
from halfway_report.standin_voices import Script
from tests.report.shell import Shell


def with_model(shell: Shell, url: str, *more: str) -> None:
    shell.configure("\n".join(["[llm]", f'base_url = "{url}"', 'model = "tiny"', 'mode = "whole"', *more]))


def test_case_15_a_run_that_stands_for_want_of_a_model_is_finished_without_one(shell: Shell) -> None:
    with StandinOllama(Script("no report")) as model:
        with_model(shell, model.url)
        shell.config.write_text(shell.config.read_text().replace('"tiny"', '"other"'))
        stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
        assert "MODEL_NOT_FOUND" in stopped["error"]
        assert any(f"report resume {stopped['runId']}" in line for line in stopped["next"])
        done = shell.facts("resume", stopped["runId"], "--no-llm")
    assert done["status"] == "SUCCESS"
    steps = {step["name"]: step["attemptCount"] for step in shell.facts("status", stopped["runId"])["steps"]}
    assert steps["COLLECT_GIT"] == 1
    assert "Written without a model" in shell.path.read_text()


def test_case_17_three_bad_generations_are_shown_and_one_is_accepted(shell: Shell) -> None:
    with StandinOllama(Script("one", "two", "three")) as model:
        with_model(shell, model.url)
        stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
        assert "INVALID_OUTPUT" in stopped["error"]
        assert any(f"report accept {stopped['runId']}" in line for line in stopped["next"])
        second = shell("show", stopped["runId"], "report", "--attempt", "2")
        assert second.stdout.strip() == "two"
        assert shell("accept", stopped["runId"], "--attempt", "9").exit_code == 2
        accepted = shell.facts("accept", stopped["runId"], "--attempt", "2", "--reason", "short, and right")
    assert accepted["status"] == "SUCCESS"
    assert shell.path.read_text().strip() == "two"
    assert shell("show", stopped["runId"], "report").stdout.strip() == "two"
    shown = [shell("show", stopped["runId"], "report", "--attempt", str(number)).stdout.strip() for number in (1, 2, 3)]
    assert shown == ["one", "two", "three"]


def test_the_accepted_attempt_is_shown_before_it_is_saved(shell: Shell) -> None:
    with StandinOllama(Script("one", "two", "three")) as model:
        with_model(shell, model.url)
        stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
        shell.path.parent.mkdir(parents=True)
        shell.path.write_text("my own words")
        assert shell("accept", stopped["runId"], "--attempt", "1").exit_code == 5
    assert shell("show", stopped["runId"], "report").stdout.strip() == "one"


def test_what_the_model_was_asked_about_each_commit_is_shown(shell: Shell) -> None:
    with StandinOllama(Script("The tokens are rotated from now on.")) as model:
        shell.configure(f'[llm]\nbase_url = "{model.url}"\nmodel = "tiny"\n')
        done = shell.facts("run", "shop", "--date", "2026-09-30")
    shown = shell("show", done["runId"], "prompt")
    assert (shown.exit_code, "Rotate the tokens" in shown.stdout) == (0, True)


def test_a_command_works_on_its_own_run_alone(shell: Shell) -> None:
    shell.repo.commit("Say how to start", "2026-09-28T09:00:00+00:00")
    with StandinOllama(Script("no report")) as model:
        with_model(shell, model.url)
        configuration = read(shell.config)
        deployment = deploy(configuration.settings, configuration.database)
        other = deployment.app.start(deployment.report.workflow, Day(project="shop", date=date(2026, 9, 30)))
        deployment.app.close()
        assert shell.facts("run", "shop", "--date", "2026-09-28", "--no-llm")["status"] == "SUCCESS"
        shell.repo.commit("Say it again", "2026-09-29T09:00:00+00:00")
        assert shell("run", "shop", "--date", "2026-09-29").exit_code == 5
        assert len(model.chats) == 3  # the generations of that day, and none of the other
    assert shell.facts("status", other.id)["status"] == "PENDING"
    shell.facts("resume", other.id, "--no-llm")
    assert "Written without a model" in shell.path.read_text()
