"""Whole runs on a real database against the stand-in: whatever becomes of the answer, a day has one file and one page."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date, timedelta
from pathlib import Path

import pytest

from halfway import Halfway, Run
from halfway_report import reading
from halfway_report.generators import Desk, Task, Written
from halfway_report.models import Day
from halfway_report.outline import Outline
from halfway_report.settings import NotionSettings, ProjectSettings, ReportSettings
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_ledger import DATA_SOURCE
from halfway_report.workflow import DailyReport, daily_report
from tests.report.conftest import Scratch

DAY = Day(project="shop", date=date(2026, 9, 30))
TIMEOUT = timedelta(seconds=60)


class Counting(Outline):
    """The outline, counting how often it is asked, and failing first if it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.text: str | None = None

    def write(self, task: Task, desk: Desk, /) -> Written:
        self.calls += 1
        return super().write(task, desk) if self.text is None else Written(text=self.text)


class Bench:
    """One deployment with a worker of its own for each piece of work."""

    def __init__(self, folder: Path, repo: Scratch, standin: Standin, *, timeout: timedelta) -> None:
        self.folder = folder
        self.generator = Counting()
        self.standin = standin
        self.settings = ReportSettings(
            projects={"shop": ProjectSettings(repositories=(repo.path,))},
            out=folder / "reports",
            notion=NotionSettings(data_source_id=DATA_SOURCE, url=standin.url, settle=timedelta(0), timeout=timeout),
        )
        self.report: DailyReport = daily_report(self.settings, self.generator)
        self.app = self.build()

    def build(self) -> Halfway:
        return Halfway(f"sqlite:///{self.folder / 'runs.sqlite3'}", workflows=[self.report.workflow], artifacts=self.folder / "artifacts")

    @property
    def path(self) -> Path:
        return self.folder / "reports" / "shop" / "2026-09-30.md"

    def start(self, *, again: str | None = None) -> Run[Day]:
        return self.work(self.app.start(self.report.workflow, DAY, again=again))

    def resume(self, run: Run[Day]) -> Run[Day]:
        reading.resume(self.app, run.id, actor="tester", reason="the cause is removed")
        return self.work(run)

    def work(self, run: Run[Day]) -> Run[Day]:
        with self.app.worker():
            return self.app.result(run, timeout=TIMEOUT)

    def page_id(self, run: Run[Day]) -> str:
        assert self.report.upload_notion is not None
        return run.output(self.report.upload_notion).id

    def attempts(self, run: Run[Day], step: str) -> int:
        return reading.show(self.app, run.id).step(step).attempts


@pytest.fixture
def build(tmp_path: Path, repo: Scratch, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[timedelta], Bench]]:
    """Makes a deployment whose upload has this much time."""
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    repo.commit("Rotate the tokens", "2026-09-30T09:00:00+00:00")
    repo.commit("Say how to start", "2026-09-30T10:00:00+00:00")
    with ExitStack() as opened:

        def make(timeout: timedelta) -> Bench:
            bench = Bench(tmp_path, repo, standin, timeout=timeout)
            opened.callback(bench.app.close)
            return bench

        yield make


@pytest.fixture
def bench(build: Callable[[timedelta], Bench]) -> Bench:
    return build(timedelta(seconds=30))


def test_a_report_is_written_checked_saved_and_uploaded_once(bench: Bench, repo: Scratch) -> None:
    before = repo.footprint()
    run = bench.start()
    assert run.status == "SUCCESS"
    (page,) = bench.standin.ledger.pages
    assert page.markdown == bench.path.read_text()
    assert page.id == bench.page_id(run)
    assert page.properties["ExternalId"] == "daily-report:shop:2026-09-30"
    assert page.properties["RunId"] == run.id
    assert run.output(bench.report.validate_report).sha256 == run.output(bench.report.save_markdown).sha256
    assert repo.footprint() == before


def test_a_second_start_for_the_day_is_the_same_run_and_does_nothing(bench: Bench) -> None:
    first = bench.start()
    second = bench.start()
    assert (second.id, second.created) == (first.id, False)
    assert bench.generator.calls == 1
    assert bench.standin.ledger.posts() == 1


def test_a_bad_report_is_neither_saved_nor_uploaded(bench: Bench) -> None:
    bench.generator.text = "# Daily report\n\nNothing."
    stopped = bench.start()
    assert stopped.status == "MANUAL_REQUIRED"
    assert stopped.failure is not None
    assert stopped.failure.code == "INVALID_OUTPUT"
    assert "MISSING_HEADING" in stopped.failure.message
    assert not bench.path.exists()
    assert bench.standin.ledger.requests == ()


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


def test_a_folder_that_cannot_be_written_asks_a_person_and_is_resumed_without_the_generator(bench: Bench) -> None:
    bench.path.parent.parent.mkdir()
    bench.path.parent.write_text("a file where the folder should be")
    stopped = bench.start()
    assert stopped.status == "MANUAL_REQUIRED"
    assert stopped.failure is not None
    assert (stopped.failure.code, str(bench.path.parent) in stopped.failure.message) == ("FOLDER_UNUSABLE", True)
    assert bench.attempts(stopped, "SAVE_MARKDOWN") == 1
    bench.path.parent.unlink()
    assert bench.resume(stopped).status == "SUCCESS"
    assert bench.generator.calls == 1


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
