"""Everything that can start a day starts it at once: there is one run, one file and one page."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from halfway_report.deployment import deploy
from halfway_report.models import Day
from halfway_report.settings import NotionSettings, ProjectSettings, ReportSettings, ScheduleSettings
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_pages import DATA_SOURCE
from halfway_report.workflow import NAME
from tests.report.conftest import Scratch


def test_case_25_two_workers_two_starts_and_a_schedule_make_one_run_and_one_page(
    tmp_path: Path, repo: Scratch, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    repo.commit("Rotate the tokens", "2026-09-30T09:00:00+00:00")
    settings = ReportSettings(
        projects={"shop": ProjectSettings(repositories=(repo.path,))},
        out=tmp_path / "reports",
        notion=NotionSettings(data_source_id=DATA_SOURCE, url=standin.url),
        schedules={"shop": ScheduleSettings(cron="0 0 1 1 *")},
    )
    today = Day(project="shop", date=datetime.now(UTC).date())
    start, seen, problems = threading.Barrier(3), list[tuple[str, str]](), list[Exception]()

    def by_hand() -> None:
        deployment = deploy(settings, f"sqlite:///{tmp_path / 'runs.sqlite3'}")
        try:
            with deployment.app.worker():
                start.wait()
                run = deployment.app.start(deployment.report.workflow, today)
                seen.append((run.id, deployment.app.result(run, timeout=timedelta(seconds=60)).status))
        except Exception as problem:
            problems.append(problem)
        finally:
            deployment.app.close()

    def by_schedule() -> None:
        deployment = deploy(settings, f"sqlite:///{tmp_path / 'runs.sqlite3'}")
        try:
            control = deployment.app.control
            start.wait()
            seen.append((control.schedules.trigger(NAME, "SHOP", actor="tester", reason="it is due"), "SUCCESS"))
        except Exception as problem:
            problems.append(problem)
        finally:
            deployment.app.close()

    threads = [threading.Thread(target=work) for work in (by_hand, by_hand, by_schedule)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(seen) == 3
    assert set(seen) == {(seen[0][0], "SUCCESS")}
    assert standin.ledger.posts() == len(standin.ledger.pages) == 1
    assert [file.name for file in (tmp_path / "reports" / "shop").iterdir()] == [f"{today.date}.md"]
