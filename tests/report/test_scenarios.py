"""The eight scenarios that a daily report must show, by name, in whole runs with a model and with Notion.

| scenario                    | shown by                      | beside it                                                            |
| --------------------------- | ----------------------------- | -------------------------------------------------------------------- |
| normal completion           | test_normal_completion_…      |                                                                      |
| Ollama fails                | test_ollama_failure_…         | test_generating.py, test_ollama.py, test_killed.py                   |
| the model writes no report  | test_invalid_llm_output_…     | test_generating.py, test_validation.py                               |
| the Markdown is not saved   | test_markdown_save_failure_…  | test_workflow.py, test_files.py                                      |
| Notion fails                | test_notion_failure_…         | test_upload.py, test_notion.py                                       |
| resume after that           | test_notion_resume_…          | test_path.py, test_storm.py                                          |
| the same date twice         | test_duplicate_date_…         | test_cli.py, test_race.py                                            |
| an artifact is used again   | test_artifact_reuse_…         | test_storm.py                                                        |
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from halfway import Run
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.domain.run import Kind
from halfway_report import reading
from halfway_report.attempts import attempts
from halfway_report.models import Day, Page, content_hash
from halfway_report.settings import LlmSettings, NotionSettings, ProjectSettings, ReportSettings
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_ledger import DATA_SOURCE
from halfway_report.standin_ollama import StandinOllama
from halfway_report.standin_voices import Script
from halfway_report.workflow import NAME, daily_report
from tests.engine.harness import Harness, until
from tests.report.conftest import Scratch
from tests.report.test_generating import days_work, good

DAY = Day(project="shop", date=date(2026, 9, 30))
STILL = FINAL | {RunStatus.MANUAL_REQUIRED}
GENERATE, VALIDATE, SAVE, UPLOAD = "GENERATE_REPORT", "VALIDATE_REPORT", "SAVE_MARKDOWN", "UPLOAD_NOTION"
BEFORE_THE_UPLOAD = ("COLLECT_GIT", "BUILD_CONTEXT", GENERATE, VALIDATE, SAVE)


class Stage:
    """A day's work, a model that writes a good report about it, Notion, and a database whose clock moves when a run waits."""

    def __init__(self, folder: Path, repo: Scratch, notion: Standin, model: StandinOllama, text: str) -> None:
        self.notion, self.model, self.text = notion, model, text
        self.path = folder / "reports" / "shop" / "2026-09-30.md"
        settings = ReportSettings(
            projects={"shop": ProjectSettings(repositories=(repo.path,))},
            out=folder / "reports",
            llm=LlmSettings(base_url=model.url, model="tiny", mode="whole"),
            notion=NotionSettings(data_source_id=DATA_SOURCE, url=notion.url),
        )
        self.report = daily_report(settings, known=lambda day: reading.day_pages(self.h.app, self.report, day))
        self.h = Harness(f"sqlite:///{folder / 'runs.sqlite3'}", self.report.workflow, artifacts=str(folder / "artifacts"))
        self.report.shelf.app = self.h.app

    def start(self) -> Run[Day]:
        return self.work(self.h.start(self.report.workflow, DAY))

    def resume(self, run: Run[Day]) -> Run[Day]:
        reading.resume(self.h.app, run.id, actor="tester", reason="the cause is removed")
        return self.work(run)

    def work(self, run: Run[Day]) -> Run[Day]:
        with self.h.worker():
            until(lambda: self.h.status(run) in STILL or self._pass_time(run), "the run stands")
        return self.h.get(run)

    def _pass_time(self, run: Run[Day]) -> None:
        generate, upload = self.h.record(run, GENERATE), self.h.record(run, UPLOAD)
        probe = self.h.record(run, UPLOAD, Kind.PROBE)
        waits = any(one is not None and one.attempts and one.status == "PENDING" for one in (generate, upload))
        if waits or (upload is not None and upload.status == "UNKNOWN" and (probe is None or probe.status != "RUNNING")):
            self.h.advance(601)

    # ── what there is ──

    def stopped(self, run: Run[Day]) -> tuple[str, str]:
        """At which step a person is asked, and why."""
        assert run.status == "MANUAL_REQUIRED"
        assert run.failure is not None
        return run.failure.step or "", run.failure.code

    def tries(self, run: Run[Day], *steps: str) -> list[int]:
        view = reading.show(self.h.app, run.id)
        return [view.step(name).attempts for name in steps]

    def page(self, run: Run[Day]) -> Page:
        assert self.report.upload_notion is not None
        return run.output(self.report.upload_notion)

    def reported_once(self, run: Run[Day], *, chats: int = 1, posts: int = 1) -> None:
        """One file and one page with one text, which the model was asked for so often."""
        assert run.status == "SUCCESS", run.failure
        (page,) = self.notion.ledger.pages
        assert page.id == self.page(run).id
        assert self.path.read_text().startswith(self.text.rstrip("\n"))
        assert page.markdown == self.path.read_text()
        assert (len(self.model.chats), self.notion.ledger.posts()) == (chats, posts)


@pytest.fixture
def stage(tmp_path: Path, repo: Scratch, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    text = good(*days_work(repo))
    with StandinOllama(Script(text)) as model:
        made = Stage(tmp_path, repo, standin, model, text)
        with closing(made.h):
            yield made


def test_normal_completion_writes_checks_saves_and_uploads_once(stage: Stage, repo: Scratch) -> None:
    before = repo.footprint()
    run = stage.start()
    stage.reported_once(run)
    assert stage.tries(run, *BEFORE_THE_UPLOAD, UPLOAD) == [1] * 6
    (page,) = stage.notion.ledger.pages
    sha256 = run.output(stage.report.validate_report).sha256
    assert page.properties == {"ExternalId": "daily-report:shop:2026-09-30", "ContentHash": sha256, "RunId": run.id}
    assert run.output(stage.report.save_markdown).sha256 == sha256 == content_hash(stage.path.read_bytes())
    assert repo.footprint() == before


def test_ollama_failure_is_waited_out_and_then_a_person_is_asked_who_resumes(stage: Stage) -> None:
    stage.model.fail(*["reset"] * 5)
    stopped = stage.start()
    assert stage.stopped(stopped) == (GENERATE, "MODEL_UNAVAILABLE")
    assert not stage.path.exists()
    stage.reported_once(stage.resume(stopped), chats=6)
    assert stage.tries(stopped, "COLLECT_GIT", "BUILD_CONTEXT") == [1, 1]


def test_invalid_llm_output_is_written_again_twice_and_then_a_persons_business(stage: Stage) -> None:
    stage.model.voice = Script("# Daily report\n\nNothing.")
    stopped = stage.start()
    assert stage.stopped(stopped) == (VALIDATE, "INVALID_OUTPUT")
    assert [one.number for one in attempts(stage.h.app, stopped.id)] == [1, 2, 3]
    assert (len(stage.model.chats), stage.path.exists(), stage.notion.ledger.requests) == (3, False, ())
    stage.model.voice = Script(stage.text)
    stage.reported_once(stage.resume(stopped), chats=4)


def test_markdown_save_failure_asks_a_person_and_no_model_again(stage: Stage) -> None:
    stage.path.parent.parent.mkdir()
    stage.path.parent.write_text("a file where the folder should be")
    stopped = stage.start()
    assert stage.stopped(stopped) == (SAVE, "FOLDER_UNUSABLE")
    assert stopped.failure is not None
    assert str(stage.path.parent) in stopped.failure.message
    assert stage.notion.ledger.requests == ()
    stage.path.parent.unlink()
    stage.reported_once(stage.resume(stopped))


def test_notion_failure_keeps_the_file_and_a_lost_answer_makes_no_second_page(stage: Stage) -> None:
    stage.notion.fail("create", "429:7", "commit_504")
    run = stage.start()
    stage.reported_once(run, posts=2)
    assert "step.unknown" in stage.h.journal(run)


def test_notion_resume_uploads_and_does_nothing_else(stage: Stage) -> None:
    stage.notion.fail("create", "401")
    stopped = stage.start()
    assert stage.stopped(stopped) == (UPLOAD, "HTTP_401")
    assert stage.path.exists()
    stage.reported_once(stage.resume(stopped), posts=2)
    assert stage.tries(stopped, *BEFORE_THE_UPLOAD) == [1] * 5


def test_duplicate_date_is_the_same_run_and_calls_nothing(stage: Stage) -> None:
    first = stage.start()
    second = stage.start()
    assert (second.id, len(reading.of_day(stage.h.app, NAME, DAY))) == (first.id, 1)
    stage.reported_once(second)


def test_artifact_reuse_one_generation_serves_whatever_fails_after_it(stage: Stage) -> None:
    stage.path.parent.parent.mkdir()
    stage.path.parent.write_text("a file where the folder should be")
    stage.notion.fail("create", "400")
    stopped = stage.start()
    report = stopped.output(stage.report.validate_report)
    stage.path.parent.unlink()
    assert stage.stopped(stage.resume(stopped)) == (UPLOAD, "HTTP_400")
    run = stage.resume(stopped)
    stage.reported_once(run, posts=2)
    assert run.output(stage.report.validate_report) == report
    assert run.output(stage.report.generate_report).report == report
    assert run.output(stage.report.save_markdown).sha256 == report.sha256 == stage.notion.ledger.pages[0].properties["ContentHash"]
