"""Whole runs on a real database against the stand-in: whatever becomes of the answer, a day has one file and one page."""

from __future__ import annotations

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
from halfway_report.standin_pages import DATA_SOURCE
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


def assert_one_page(bench: Bench, run: Run[Day]) -> None:
    assert run.status == "SUCCESS"
    (page,) = bench.standin.ledger.pages
    assert bench.page_id(run) == page.id
    assert bench.standin.ledger.posts() == 1
    assert bench.generator.calls == 1


@pytest.mark.parametrize("fault", ["commit_rst", "commit_half", "commit_502", "commit_504"])
def test_a_lost_answer_ends_with_the_page_that_was_made(bench: Bench, fault: str) -> None:
    bench.standin.fail_create(fault)
    assert_one_page(bench, bench.start())


def test_an_answer_that_never_comes_ends_with_the_page_that_was_made(build: Callable[[timedelta], Bench]) -> None:
    bench = build(timedelta(seconds=2))
    bench.standin.fail_create("commit_hang")
    assert_one_page(bench, bench.start())


@pytest.mark.parametrize("fault", ["rst_before", "500", "502", "503", "504", "409"])
def test_what_may_have_happened_and_did_not_is_done_after_the_probe_has_looked(bench: Bench, fault: str) -> None:
    bench.standin.fail_create(fault)
    run = bench.start()
    assert run.status == "SUCCESS"
    assert len(bench.standin.ledger.pages) == 1
    assert bench.standin.ledger.posts() == 2
    assert bench.generator.calls == 1


@pytest.mark.parametrize("fault", ["429:0", "529"])
def test_a_busy_notion_is_asked_again_without_a_probe(bench: Bench, fault: str) -> None:
    bench.standin.fail_create(fault)
    run = bench.start()
    assert run.status == "SUCCESS"
    assert len(bench.standin.ledger.pages) == 1
    assert bench.attempts(run, "UPLOAD_NOTION") == 2


@pytest.mark.parametrize("fault", ["400", "401"])
def test_a_refusal_is_not_repeated_and_only_the_upload_is_resumed(bench: Bench, fault: str) -> None:
    bench.standin.fail_create(fault)
    stopped = bench.start()
    assert stopped.status == "MANUAL_REQUIRED"
    assert bench.standin.ledger.posts() == 1
    done = bench.resume(stopped)
    assert done.status == "SUCCESS"
    assert len(bench.standin.ledger.pages) == 1
    assert (bench.generator.calls, bench.attempts(done, "SAVE_MARKDOWN")) == (1, 1)


def test_a_missing_token_stops_before_anything_is_sent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTION_TOKEN")
    stopped = bench.start()
    assert stopped.status == "MANUAL_REQUIRED"
    assert stopped.failure is not None
    assert stopped.failure.code == "TOKEN_MISSING"
    assert bench.standin.ledger.requests == ()
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    assert bench.resume(stopped).status == "SUCCESS"


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


def test_a_page_in_the_trash_is_not_made_again(bench: Bench) -> None:
    first = bench.start()
    bench.standin.pages.trash(bench.page_id(first), b'{"in_trash": true}')
    stopped = bench.start(again="the page was put into the trash by mistake")
    assert stopped.id != first.id
    assert stopped.status == "MANUAL_REQUIRED"
    assert stopped.failure is not None
    assert stopped.failure.code == "PAGE_IN_TRASH"
    assert bench.standin.ledger.posts() == 1


def test_two_runs_for_one_day_meet_at_the_page(bench: Bench) -> None:
    first = bench.start()
    second = bench.start(again="to see that nothing is doubled")
    assert second.id != first.id
    assert second.status == "SUCCESS"
    assert bench.page_id(second) == bench.page_id(first)
    assert bench.standin.ledger.posts() == 1


def test_two_pages_with_one_external_id_are_a_persons_business(bench: Bench) -> None:
    bench.standin.fail_create("commit_504")
    first = bench.start()
    copy = bench.standin.ledger.pages[0]
    body = {
        "parent": {"data_source_id": DATA_SOURCE},
        "properties": {name: {"rich_text": [{"text": {"content": value}}]} for name, value in copy.properties.items()},
        "markdown": copy.markdown,
    }
    bench.standin.pages.create(json.dumps(body).encode(), fault=None)
    stopped = bench.start(again="somebody copied the page")
    assert first.status == "SUCCESS"
    assert stopped.status == "MANUAL_REQUIRED"
    assert stopped.failure is not None
    assert stopped.failure.code == "PAGE_DIFFERS"


def test_a_probe_that_cannot_tell_asks_a_person_and_sends_nothing(bench: Bench) -> None:
    bench.standin.fail_create("commit_504")
    bench.standin.fail_query("lag", "lag", *["incomplete"] * 20)
    stopped = bench.start()
    assert stopped.status == "MANUAL_REQUIRED"
    assert bench.standin.ledger.posts() == 1
    assert len(bench.standin.ledger.pages) == 1


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
