"""Whole runs on a real database against the stand-in: whatever becomes of the answer, a day has one file and one page."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest

from halfway import Halfway, Run
from halfway_report import reading
from halfway_report.models import Day
from halfway_report.settings import NotionSettings, ProjectSettings, ReportSettings
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_ledger import DATA_SOURCE
from halfway_report.workflow import DailyReport, daily_report
from tests.report.conftest import Scratch

DAY = Day(project="shop", date=date(2026, 9, 30))
TIMEOUT = timedelta(seconds=60)


class Bench:
    """One deployment with a worker of its own for each piece of work."""

    def __init__(self, folder: Path, repo: Scratch, standin: Standin) -> None:
        self.folder = folder
        self.standin = standin
        self.settings = ReportSettings(
            projects={"shop": ProjectSettings(repositories=(repo.path,))},
            out=folder / "reports",
            notion=NotionSettings(data_source_id=DATA_SOURCE, url=standin.url, settle=timedelta(0)),
        )
        self.report: DailyReport = daily_report(self.settings)
        self.app = Halfway(f"sqlite:///{folder / 'runs.sqlite3'}", workflows=[self.report.workflow], artifacts=folder / "artifacts")

    @property
    def path(self) -> Path:
        return self.folder / "reports" / "shop" / "2026-09-30.md"

    def start(self) -> Run[Day]:
        return self.work(self.app.start(self.report.workflow, DAY))

    def resume(self, run: Run[Day]) -> Run[Day]:
        reading.resume(self.app, run.id, actor="tester", reason="the cause is removed")
        return self.work(run)

    def work(self, run: Run[Day]) -> Run[Day]:
        with self.app.worker():
            return self.app.result(run, timeout=TIMEOUT)


@pytest.fixture
def bench(tmp_path: Path, repo: Scratch, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    repo.commit("Rotate the tokens", "2026-09-30T09:00:00+00:00")
    repo.commit("Say how to start", "2026-09-30T10:00:00+00:00")
    made = Bench(tmp_path, repo, standin)
    with closing(made.app):
        yield made


def test_a_file_that_a_person_wrote_is_left_and_nothing_is_uploaded(bench: Bench) -> None:
    bench.path.parent.mkdir(parents=True)
    bench.path.write_text("my own words")
    stopped = bench.start()
    assert stopped.status == "MANUAL_REQUIRED"
    assert stopped.failure is not None
    assert stopped.failure.code == "FILE_EDITED"
    assert bench.path.read_text() == "my own words"
    assert bench.standin.ledger.requests == ()


def test_a_project_that_is_not_in_the_settings_fails_with_its_name(bench: Bench) -> None:
    run = bench.work(bench.app.start(bench.report.workflow, Day(project="stock", date=DAY.date)))
    assert run.status == "FAILED"
    assert run.failure is not None
    assert (run.failure.code, "stock" in run.failure.message) == ("PROJECT_UNKNOWN", True)


def test_without_notion_the_report_ends_with_the_file(tmp_path: Path, repo: Scratch, scratch: Callable[[str], Scratch]) -> None:
    settings = ReportSettings(projects={"shop": ProjectSettings(repositories=(repo.path,))}, out=tmp_path / "reports")
    report = daily_report(settings)
    app = Halfway(f"sqlite:///{tmp_path / 'runs.sqlite3'}", workflows=[report.workflow], artifacts=tmp_path / "artifacts")
    with app.worker():
        run = app.result(app.start(report.workflow, DAY), timeout=TIMEOUT)
    app.close()
    assert run.status == "SUCCESS"
    assert "No commits were made" in Path(run.output(report.save_markdown).path).read_text()


def test_a_file_system_without_room_leaves_no_half_a_report(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        path.write_bytes(content[:10])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patched:
        patched.setattr("halfway_report.files._write", full)
        stopped = bench.start()
    assert stopped.failure is not None
    assert stopped.failure.code == "NO_ROOM"
    assert list(bench.path.parent.iterdir()) == []
    assert bench.resume(stopped).status == "SUCCESS"


def test_a_link_out_of_the_folder_asks_a_person(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    bench.path.parent.parent.mkdir()
    bench.path.parent.symlink_to(tmp_path / "elsewhere")
    stopped = bench.start()
    assert stopped.failure is not None
    assert stopped.failure.code == "LEADS_OUT"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_taking_back_a_run_removes_its_file_and_leaves_one_that_was_edited(tmp_path: Path, repo: Scratch) -> None:
    report = daily_report(ReportSettings(projects={"shop": ProjectSettings(repositories=(repo.path,))}, out=tmp_path / "reports"))
    app = Halfway(f"sqlite:///{tmp_path / 'runs.sqlite3'}", workflows=[report.workflow], artifacts=tmp_path / "artifacts")
    path = tmp_path / "reports" / "shop" / "2026-09-30.md"
    with app.worker():
        for day, edited in ((DAY, False), (DAY.model_copy(update={"revision": 2}), True)):
            run = app.result(app.start(report.workflow, day), timeout=TIMEOUT)
            if edited:
                path.write_text("my own words")
            app.control.compensate(run.id, actor="tester", reason="reported by mistake")
            assert app.result(run, timeout=TIMEOUT).status == "COMPENSATED"
            assert path.exists() == edited
    app.close()


def test_case_13_no_secret_of_a_message_reaches_anything_that_is_kept_or_sent(bench: Bench, repo: Scratch, tmp_path: Path) -> None:
    secrets = (
        "ghp_" + "a1B2" * 10,
        "eyJ" + "hbGciOiJI.eyJ" + "zdWIiOiIx.c2lnbmF0dXJl",
        "hunter2-was-it",
        "s3cr3tpw",
        "MIIEabcd",
        "abcdef123",
    )
    key = "-----BEGIN RSA PRIVATE" + f" KEY-----\n{secrets[4]}\n-----END RSA PRIVATE" + " KEY-----"
    message = (
        f"Rotate {secrets[0]}\n\n{secrets[1]}\npassword: {secrets[2]}\npostgres://u:{secrets[3]}@h\n{key}\n+MY_CUSTOM_SECRET={secrets[5]}"
    )
    sha = repo.commit(message, "2026-09-30T11:00:00+00:00")
    run = bench.start()
    assert run.status == "SUCCESS"
    files = [path for path in tmp_path.rglob("*") if path.is_file() and repo.path not in path.parents]
    kept = b"".join(path.read_bytes() for path in files) + bench.standin.ledger.pages[0].markdown.encode()
    assert [secret for secret in secrets if secret.encode() in kept] == []
    assert sha.encode() in kept
    report = bench.path.read_text()
    for kind, count in {"assignment": 2, "github": 1, "jwt": 1, "private-key": 1, "url-password": 1}.items():
        assert f"({kind}): {count}" in report


def test_the_budget_of_a_project_is_kept_and_its_cost_is_evidence(tmp_path: Path, repo: Scratch) -> None:
    for hour in range(3):
        repo.commit_as("A", "a@shop.example", "Much to say\n\n" + "word " * 120, f"2026-09-30T1{hour}:00:00+00:00")
    settings = ReportSettings(projects={"shop": ProjectSettings(repositories=(repo.path,), context_tokens=500)}, out=tmp_path / "reports")
    report = daily_report(settings)
    app = Halfway(f"sqlite:///{tmp_path / 'runs.sqlite3'}", workflows=[report.workflow], artifacts=tmp_path / "artifacts")
    with app.worker():
        run = app.result(app.start(report.workflow, DAY), timeout=TIMEOUT)
    document = json.dumps(reading.show(app, run.id).document)
    app.close()
    assert "Left out, characters of commit messages: 897" in Path(run.output(report.save_markdown).path).read_text()
    assert "characters of commit messages: 897" in document
