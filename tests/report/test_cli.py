"""The command `report`, from the outside."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from halfway import Retry
from halfway_report import __main__ as program
from halfway_report import collect, reading
from halfway_report.cli.progress import progress
from halfway_report.configuration import read
from halfway_report.deployment import deploy
from halfway_report.models import Day
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_ledger import DATA_SOURCE
from halfway_report.standin_pages import DATABASE
from tests.engine.harness import until
from tests.report.shell import Shell

STEPS = ("COLLECT_GIT", "BUILD_CONTEXT", "GENERATE_REPORT", "VALIDATE_REPORT", "SAVE_MARKDOWN")


def with_notion(shell: Shell, standin: Standin) -> None:
    shell.configure(f'[notion]\ndata_source_id = "{DATA_SOURCE}"\nurl = "{standin.url}"\nsettle = 0\n')


# ── run ──


def test_a_run_prints_where_the_report_is(shell: Shell) -> None:
    facts = shell.facts("run", "shop", "--date", "2026-09-30")
    assert facts["status"] == "SUCCESS"
    assert facts["key"] == "daily-report:shop:2026-09-30"
    assert facts["path"] == str(shell.path)
    assert shell.path.read_text().startswith("# Daily report: shop, 2026-09-30")


def test_a_day_that_has_been_reported_shows_its_run_and_calls_nothing(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    first = shell.facts("run", "shop", "--date", "2026-09-30")
    monkeypatch.setattr("halfway.Halfway.worker", None)
    monkeypatch.setattr("halfway.Halfway.start", None)
    second = shell.run()
    assert (second.exit_code, json.loads(second.stdout)["runId"]) == (0, first["runId"])
    assert "already has this day" in second.stderr


def test_force_makes_a_new_revision_with_the_same_file(shell: Shell) -> None:
    shell.run()
    shell.repo.commit("Say how to start", "2026-09-30T10:00:00+00:00")
    forced = shell.facts("run", "shop", "--date", "2026-09-30", "--force")
    assert forced["key"] == "daily-report:shop:2026-09-30:r2"
    assert (forced["status"], forced["path"]) == ("SUCCESS", str(shell.path))
    assert "Say how to start" in shell.path.read_text()
    assert shell.facts("run", "shop", "--date", "2026-09-30")["runId"] == forced["runId"]


def test_case_25_a_revision_leaves_a_file_that_a_person_has_edited(shell: Shell) -> None:
    shell.run()
    shell.path.write_text("my own words")
    shell.repo.commit("Say how to start", "2026-09-30T10:00:00+00:00")
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", "--force", exit_code=5)
    assert "FILE_EDITED" in stopped["error"]
    assert shell.path.read_text() == "my own words"


def test_an_open_run_is_not_overtaken_by_force(shell: Shell) -> None:
    shell.path.parent.mkdir(parents=True)
    shell.path.write_text("my own words")
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
    refused = shell.run("--force")
    assert refused.exit_code == 4
    assert stopped["runId"] in refused.stderr
    assert "MANUAL_REQUIRED" in refused.stderr


def test_a_run_that_a_later_revision_has_overtaken_does_not_go_on(shell: Shell) -> None:
    hidden = shell.repo.path.with_name("hidden")
    shell.repo.path.rename(hidden)
    first = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=1)
    hidden.rename(shell.repo.path)
    second = shell.facts("run", "shop", "--date", "2026-09-30", "--force")
    refused = shell("resume", first["runId"])
    assert (refused.exit_code, second["runId"] in refused.stderr, "--force" in refused.stderr) == (4, True, True)


def test_an_undo_leaves_the_file_of_the_revision_before_and_the_day_is_reported(
    shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    with_notion(shell, standin)
    first = shell.facts("run", "shop", "--date", "2026-09-30")
    monkeypatch.setenv("NOTION_TOKEN", "wrong")
    second = shell.facts("run", "shop", "--date", "2026-09-30", "--force", exit_code=5)
    assert shell.facts("cancel", second["runId"], "--undo")["status"] == "COMPENSATED"
    assert shell.path.exists()
    assert shell.facts("run", "shop", "--date", "2026-09-30")["runId"] == first["runId"]


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "1969-12-31"])
def test_a_day_that_no_clock_can_tell_is_a_mistake(shell: Shell, day: str) -> None:
    for more in ((), ("--dry-run",)):
        assert shell("run", "shop", "--date", day, *more).exit_code == 2


def test_case_12_an_empty_day_is_a_report_that_says_so(shell: Shell) -> None:
    facts = shell.facts("run", "shop", "--date", "2026-09-29")
    assert facts["status"] == "SUCCESS"
    assert "No commits were made" in Path(facts["path"]).read_text()


def test_a_dry_run_shows_the_commits_and_touches_nothing(shell: Shell) -> None:
    before = shell.repo.footprint()
    shown = shell("run", "shop", "--date", "2026-09-30", "--dry-run")
    assert "Rotate the tokens" in shown.stdout
    assert "Commits on 2026-09-30, the whole day in UTC: 1." in shown.stderr
    context = shell.facts("run", "shop", "--date", "2026-09-30", "--dry-run")
    assert context["collection"]["commits"][0]["subject"] == "Rotate the tokens"
    assert [entry.name for entry in shell.folder.iterdir() if entry != shell.repo.path] == ["report.toml"]
    assert shell.repo.footprint() == before


@pytest.mark.parametrize(
    ("name", "now", "day"),
    [
        ("today", "2026-09-30T00:30:00", "2026-09-30"),
        ("yesterday", "2026-10-01T08:00:00", "2026-09-30"),
        ("last-working-day", "2026-10-05T08:00:00", "2026-10-02"),  # from a Monday
    ],
)
def test_case_6_a_day_can_be_named(shell: Shell, monkeypatch: pytest.MonkeyPatch, name: str, now: str, day: str) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override] - a fixed moment
            return datetime.fromisoformat(f"{now}+00:00")

    monkeypatch.setattr("halfway_report.cli.site.datetime", Clock)
    assert shell.facts("run", "shop", "--date", name, "--dry-run")["collection"]["date"] == day


def test_without_a_model_no_model_is_asked(shell: Shell) -> None:
    assert shell.facts("run", "shop", "--date", "2026-09-30", "--no-llm")["status"] == "SUCCESS"


# ── looking ──


def test_runs_and_status_show_what_happened(shell: Shell) -> None:
    run_id = json.loads(shell.run().stdout)["runId"]
    assert shell("runs").stdout.split() == [run_id, "SUCCESS", "daily-report:shop:2026-09-30"]
    assert [row["id"] for row in shell.rows("runs", "--project", "shop", "--status", "success")] == [run_id]
    assert shell.rows("runs", "--status", "FAILED") == []
    shown = shell("status", run_id)
    assert shown.exit_code == 0
    assert [line.split()[:2] for line in shown.stdout.splitlines()[1:]] == [[step, "SUCCESS"] for step in STEPS]
    assert shell.facts("status", run_id)["steps"][0]["status"] == "SUCCESS"


def test_a_run_shows_what_it_has_stored(shell: Shell) -> None:
    run_id = json.loads(shell.run().stdout)["runId"]
    assert shell("show", run_id, "report").stdout == shell.path.read_text()
    assert json.loads(shell("show", run_id[-8:], "context").stdout)["collection"]["project"] == "shop"
    assert shell("show", "daily-report:shop:2026-09-30", "report", "--attempt", "1").stdout == shell.path.read_text()
    missing = shell("show", run_id, "report", "--attempt", "7")
    assert missing.exit_code == 3
    assert run_id in missing.stderr


def test_an_unknown_run_is_not_found(shell: Shell) -> None:
    shell.run()
    result = shell("status", "no-such-run")
    assert result.exit_code == 3
    assert result.stderr == "report: There is no run no-such-run. List the runs with: report runs\n"


# ── orders ──


def test_a_run_that_needs_a_person_says_what_to_do_and_is_resumed_where_it_stopped(
    shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTION_TOKEN", "wrong")
    with_notion(shell, standin)
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
    assert stopped["status"] == "MANUAL_REQUIRED"
    assert stopped["error"].startswith("UPLOAD_NOTION: ")
    assert stopped["error"].count("API token is invalid") == 1
    assert caplog.messages == []  # who has typed the command reads its output
    shown = shell("status", stopped["runId"])
    assert shown.exit_code == 5
    assert f"report resume {stopped['runId']}" in shown.stdout
    again = shell.run()
    assert (again.exit_code, json.loads(again.stdout)["runId"]) == (5, stopped["runId"])
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    resumed = shell.facts("resume", stopped["key"], "--reason", "the token is right now")
    assert resumed["status"] == "SUCCESS"
    assert resumed["url"]
    assert len(standin.ledger.pages) == 1
    assert [step["attemptCount"] for step in shell.facts("status", stopped["runId"])["steps"]][:5] == [1] * 5
    audit = shell.facts("status", stopped["runId"])["audit"]
    assert [line["reason"] for line in audit] == ["the token is right now"]


def test_a_run_goes_on_without_the_file_that_a_person_wrote(shell: Shell) -> None:
    shell.path.parent.mkdir(parents=True)
    shell.path.write_text("my own words")
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
    assert any(f"report skip {stopped['runId']} SAVE_MARKDOWN" in line for line in stopped["next"])
    assert shell.facts("skip", stopped["runId"], "SAVE_MARKDOWN", "--reason", "mine is better")["status"] == "PARTIAL_SUCCESS"
    assert shell.path.read_text() == "my own words"


def test_a_run_that_has_failed_is_resumed_when_its_cause_is_gone(shell: Shell) -> None:
    hidden = shell.repo.path.with_name("hidden")
    shell.repo.path.rename(hidden)
    failed = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=1)
    assert failed["status"] == "FAILED"
    assert any("report doctor" in line for line in failed["next"])
    assert any(f"report resume {failed['runId']}" in line for line in failed["next"])
    hidden.rename(shell.repo.path)
    assert shell.facts("resume", failed["runId"])["status"] == "SUCCESS"


def test_a_run_that_waits_to_try_again_says_so_and_is_resumed_at_once(
    shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    monkeypatch.setattr("halfway_report.upload._PATIENT", Retry(6, wait=timedelta(minutes=5)))
    with_notion(shell, standin)
    standin.fail("source", "503")
    configuration = read(shell.config)
    deployment = deploy(configuration.settings, configuration.database)
    with closing(deployment.app) as app:
        run = app.start(deployment.report.workflow, Day(project="shop", date=date(2026, 9, 30)))
        with app.worker(run=run):
            until(lambda: reading.show(app, run.id).step("UPLOAD_NOTION").error_code)
        with progress() as show:
            show(reading.show(app, run.id))
            show(reading.show(app, run.id))
    assert capsys.readouterr().err == "UPLOAD_NOTION: attempt 1 failed with HTTP_503; it is tried again by itself.\n"
    assert shell.facts("resume", run.id)["status"] == "SUCCESS"


def test_one_step_is_tried_again_by_its_name(shell: Shell) -> None:
    shell.path.parent.mkdir(parents=True)
    shell.path.write_text("my own words")
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
    assert any("Whoever wrote it keeps it" in line for line in stopped["next"])
    shell.path.unlink()
    assert shell.facts("retry-step", stopped["runId"], "save_markdown")["status"] == "SUCCESS"
    refused = shell("retry-step", stopped["runId"], "SAVE_MARKDOWN")
    assert refused.exit_code == 4
    assert "report status" in refused.stderr


def test_a_run_is_cancelled_and_what_it_made_taken_back(shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTION_TOKEN", "wrong")
    with_notion(shell, standin)
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
    assert shell.path.exists()
    cancelled = shell.facts("cancel", stopped["runId"], "--undo", "--reason", "nobody wants it")
    assert cancelled["status"] == "COMPENSATED"
    assert not shell.path.exists()
    assert any("--force" in line for line in cancelled["next"])


def test_a_run_that_uploads_is_not_resumed_by_a_file_without_notion(
    shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTION_TOKEN", "wrong")
    with_notion(shell, standin)
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
    shell.configure()
    refused = shell("resume", stopped["runId"])
    assert refused.exit_code == 2
    assert stopped["runId"] in refused.stderr
    assert "[notion]" in refused.stderr
    assert shell.facts("cancel", stopped["runId"])["status"] == "CANCELLED"


def test_where_nothing_is_in_doubt_nothing_is_reconciled(shell: Shell) -> None:
    shell.run()
    told = shell("reconcile")
    assert (told.exit_code, told.stderr) == (0, "Nothing is in doubt.\n")


def test_case_23_a_page_that_a_person_put_into_the_trash_stays_there(
    shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    with_notion(shell, standin)
    first = shell.facts("run", "shop", "--date", "2026-09-30")
    standin.pages.edit(standin.ledger.pages[0].id, in_trash=True)
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", "--force", exit_code=5)
    assert stopped["runId"] != first["runId"]
    assert stopped["error"].startswith("UPLOAD_NOTION: PAGE_IN_TRASH")
    assert any("It is not made again behind anybody" in line for line in stopped["next"])
    assert any(f"report resume {stopped['runId']}" in line for line in stopped["next"])
    assert standin.ledger.posts() == 1


def undone(shell: Shell, run_id: str) -> None:
    configuration = read(shell.config)
    deployment = deploy(configuration.settings, configuration.database)
    deployment.app.control.compensate(run_id, actor="kim", reason="a mistake")
    deployment.app.close()


def test_an_undo_that_needs_a_person_says_why_and_what_to_do(shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    with_notion(shell, standin)
    first = shell.facts("run", "shop", "--date", "2026-09-30")
    standin.pages.edit(standin.ledger.pages[0].id, markdown="my own words")
    undone(shell, first["runId"])
    told = shell.facts("resume", first["runId"], exit_code=5)
    assert told["error"].startswith("undo of UPLOAD_NOTION: PAGE_EDITED: somebody else")
    assert any("could not be taken back" in line for line in told["next"])
    assert not any("named above" in line for line in told["next"])
    left = shell.facts("skip", first["runId"], "UPLOAD_NOTION", exit_code=1)
    assert left["status"] == "COMPENSATED"
    assert standin.ledger.pages[0].markdown == "my own words"


def test_an_undone_day_is_told_where_its_page_is(shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    with_notion(shell, standin)
    first = shell.facts("run", "shop", "--date", "2026-09-30")
    undone(shell, first["runId"])
    told = shell.facts("resume", first["runId"], exit_code=1)
    assert any("put the page into Notion's trash" in line for line in told["next"])


def test_a_cancel_says_with_its_exit_code_that_a_person_is_needed(shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    with_notion(shell, standin)
    standin.fail_create("commit_504")
    standin.fail_query("lag", "lag", "lag", *["incomplete"] * 40)
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
    assert shell("cancel", stopped["runId"]).exit_code == 5


def test_what_nobody_knows_is_reconciled_and_not_repeated(shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    with_notion(shell, standin)
    standin.fail_create("commit_504")
    standin.fail_query("lag", "lag", "lag", *["incomplete"] * 20)
    stopped = shell.facts("run", "shop", "--date", "2026-09-30", exit_code=5)
    assert any(f"report reconcile {stopped['runId']}" in line for line in stopped["next"])
    refused = shell("resume", stopped["runId"])
    assert refused.exit_code == 4
    assert stopped["runId"] in refused.stderr
    while standin.next_fault("query"):
        pass
    assert [row["status"] for row in shell.rows("reconcile")] == ["SUCCESS"]
    assert shell.rows("reconcile") == []
    assert standin.ledger.posts() == 1


# ── backfill and schedules ──


def test_case_25_a_backfill_of_thirty_days_goes_on_after_the_one_that_needs_a_person(shell: Shell) -> None:
    edited = shell.folder / "reports" / "shop" / "2026-09-12.md"
    edited.parent.mkdir(parents=True)
    edited.write_text("my own words")
    month = ("backfill", "shop", "--from", "2026-09-01", "--to", "2026-09-30")
    assert shell(*month, "--dry-run").stdout.count("would be started") == 30
    rows = shell.rows(*month, exit_code=5)
    assert [row["date"] for row in rows] == [f"2026-09-{day:02}" for day in range(1, 31)]
    assert [row["date"] for row in rows if row["status"] != "SUCCESS"] == ["2026-09-12"]
    edited.unlink()
    assert shell.facts("resume", rows[11]["runId"])["status"] == "SUCCESS"
    again = shell.rows(*month)
    assert [(row["runId"], row["started"]) for row in again] == [(row["runId"], False) for row in rows]
    assert [row["idempotencyKey"] for row in shell.rows("runs", "--limit", "30")] == [
        f"daily-report:shop:2026-09-{day:02}" for day in range(30, 0, -1)
    ]


def test_a_backfill_of_working_days_leaves_the_weekend_out(shell: Shell) -> None:
    foreseen = shell.rows("backfill", "shop", "--from", "2026-10-02", "--to", "2026-10-05", "--working-days", "--dry-run")
    assert [row["date"] for row in foreseen] == ["2026-10-02", "2026-10-05"]


def test_a_schedule_is_listed_paused_and_triggered(shell: Shell) -> None:
    shell.configure('[schedules.shop]\ncron = "0 9 * * 1-5"\ndate = "yesterday"\n', project='zone = "Asia/Seoul"')
    (listed,) = shell.rows("schedule", "list")
    assert (listed["project"], listed["state"], listed["cron"], listed["zone"]) == ("shop", "ACTIVE", "0 9 * * 1-5", "Asia/Seoul")
    assert shell.facts("schedule", "pause", "shop")["state"] == "PAUSED"
    assert shell.facts("schedule", "resume", "shop")["state"] == "ACTIVE"
    run_id = shell.facts("schedule", "trigger", "shop")["runId"]
    waiting = shell("status", run_id)
    assert "No worker is alive" in waiting.stdout
    assert shell.facts("resume", run_id)["status"] == "SUCCESS"


def test_a_schedule_that_left_the_file_is_gone_and_comes_back_with_it(shell: Shell) -> None:
    schedule = '[schedules.shop]\ncron = "0 9 * * 1-5"\n'
    shell.configure(schedule)
    assert len(shell.rows("schedule", "list")) == 1
    shell.configure()
    assert shell.rows("schedule", "list") == []
    shell.configure(schedule)
    assert shell.rows("schedule", "list")[0]["state"] == "ACTIVE"


def test_a_project_without_a_schedule_is_told_where_to_write_one(shell: Shell) -> None:
    refused = shell("schedule", "pause", "shop")
    assert refused.exit_code == 3
    assert "[schedules.PROJECT]" in refused.stderr


def test_an_open_run_that_uploads_is_not_waited_for_without_notion(shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    shell.configure(f'[notion]\ndata_source_id = "{DATA_SOURCE}"\nurl = "{standin.url}"\n[schedules.shop]\ncron = "0 9 * * *"\n')
    run_id = shell.facts("schedule", "trigger", "shop")["runId"]
    shell.configure('[schedules.shop]\ncron = "0 9 * * *"\n')
    for arguments in (["resume", run_id], ["run", "shop", "--date", "today"]):
        refused = shell(*arguments)
        assert refused.exit_code == 2
        assert run_id in refused.stderr


@pytest.mark.parametrize("cron", ["0 25 * * *", "every day"])
def test_a_schedule_that_cannot_be_meant_is_a_mistake_in_the_file(shell: Shell, cron: str) -> None:
    shell.configure(f'[schedules.shop]\ncron = "{cron}"\n')
    refused = shell("schedule", "list")
    assert refused.exit_code == 2
    assert cron in refused.stderr


# ── doctor ──


def test_doctor_finds_what_is_missing_before_a_run_does(shell: Shell, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTION_TOKEN", raising=False)
    with_notion(shell, standin)
    found = {row["what"]: row for row in shell.rows("doctor", exit_code=2)}
    assert {what for what, row in found.items() if not row["good"]} == {"notion token_env"}
    assert "NOTION_TOKEN" in found["notion token_env"]["told"]
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    assert shell("doctor").exit_code == 0
    assert TOKEN not in shell("doctor").output
    monkeypatch.setenv("NOTION_TOKEN", "wrong")
    assert "Notion does not accept the token" in doubt(shell)
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    standin.pages.columns["RunId"] = "number"
    assert "RunId is number" in doubt(shell)
    shell.configure(f'[notion]\ndata_source_id = "{DATABASE}"\nurl = "{standin.url}"\n')
    assert "Notion does not find the data source" in doubt(shell)
    shell.configure(f'[notion]\ndata_source_id = "{DATA_SOURCE}"\nurl = "http://127.0.0.1:1"\n')
    assert {row["what"] for row in shell.rows("doctor", exit_code=2) if not row["good"]} == {"notion url"}
    assert shell("doctor", "--offline").exit_code == 0


def doubt(shell: Shell) -> str:
    """The one thing that is wrong, which is the data source."""
    (bad,) = (row for row in shell.rows("doctor", exit_code=2) if not row["good"])
    assert bad["what"] == "notion data source"
    return str(bad["told"])


def test_doctor_names_a_repository_that_git_cannot_read(shell: Shell, tmp_path: Path) -> None:
    shell.configure(f'[projects.stock]\nrepositories = ["{tmp_path / "nothing"}"]\n')
    bad = [row for row in shell.rows("doctor", exit_code=2) if not row["good"]]
    assert [row["what"] for row in bad] == ["project stock"]
    assert "nothing" in bad[0]["told"]


# ── mistakes ──


def test_mistakes_are_told_in_korean_too(shell: Shell) -> None:
    shell.run()
    assert shell("status", "no-such-run", lang="ko").stderr == (
        "report: 실행 no-such-run이(가) 없습니다. 실행 목록은 다음 명령으로 보십시오: report runs\n"
    )
    assert "--lang" in shell("run", "--help").stdout
    assert "이미 실행" in shell("run", "shop", "--date", "2026-09-30", "--lang", "ko").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "shop", "--date", "tomorrow"], "tomorrow is no day"),
        (["run", "shopp"], "Did you mean shop?"),
        (["run", "a:b"], "a:b"),
        (["run", "shop", "--forse"], "--forse"),
        (["backfill", "shop", "--from", "2026-10-02", "--to", "2026-10-01"], "--from is later than --to"),
        (["runs", "--status", "LOST"], "LOST"),
    ],
)
def test_a_mistake_in_a_command_is_one_line(shell: Shell, arguments: list[str], words: str) -> None:
    result = shell(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["schedule"]])
def test_a_group_without_a_command_says_which_there_are(shell: Shell, arguments: list[str]) -> None:
    result = shell(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "\nCommands:\n" in result.stderr


def test_a_mistake_in_the_file_is_one_line_with_the_nearest_key(shell: Shell) -> None:
    shell.configure(project='timezone = "Asia/Seoul"')
    result = shell.run()
    assert result.exit_code == 2
    assert json.loads(result.stderr) == {
        "code": "CONFIG_INVALID",
        "message": f"{shell.config}: projects.shop.timezone: unknown; did you mean zone?",
        "params": {},
    }


def test_a_mistake_in_the_file_is_told_in_korean_too(shell: Shell) -> None:
    shell.configure(project='timezone = "Asia/Seoul"')
    assert "혹시 zone입니까?" in shell("runs", lang="ko").stderr
    shell.config.unlink()
    assert f"파일 {shell.config}이(가) 없습니다." in shell("runs", lang="ko").stderr


def test_a_report_without_a_model_is_in_the_language_of_the_file(shell: Shell) -> None:
    shell.config.write_text(f'language = "ko"\n{shell.config.read_text()}')
    shell.run()
    assert "모델 없이 썼습니다" in shell.path.read_text()


def test_without_a_file_the_way_to_one_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shell.config.unlink()
    result = shell("runs")
    assert result.exit_code == 2
    assert "--config" in result.stderr


def test_who_stops_it_while_it_is_loading_sees_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Impatient:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name == "halfway_report.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "halfway_report.cli")
    monkeypatch.setattr("sys.meta_path", [Impatient, *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 130


def test_what_nobody_expected_leaves_its_trace_in_a_file(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("halfway_report.cli.looking.reading.runs", lambda *_, **__: 1 / 0)
    result = shell("runs")
    assert result.exit_code == 70
    assert len(result.stderr.splitlines()) == 1
    (trace,) = tmp_path.glob("halfway-*.txt")
    assert str(trace) in result.stderr
    assert "ZeroDivisionError" in trace.read_text()


def test_a_database_that_cannot_be_reached_is_told_without_a_traceback(shell: Shell) -> None:
    shell.config.write_text(f'database = "postgresql://127.0.0.1:1/reports"\n{shell.config.read_text()}')
    result = shell("runs")
    assert result.exit_code == 6
    assert len(result.stderr.splitlines()) == 1


def test_collect_is_never_asked_for_a_day_that_is_done(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run()
    monkeypatch.setattr(collect, "collect", None)
    assert shell.run().exit_code == 0
