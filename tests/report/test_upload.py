"""UPLOAD_NOTION in whole runs, with a clock that is moved: whatever becomes of an answer, a day has one page, or a person is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from halfway import Artifact, Effect, Run, Step, StepFailed, Workflow
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.run import Kind
from halfway_report import errors, notion_faults, reading
from halfway_report.generators import Desk, Task, Written
from halfway_report.models import Day
from halfway_report.notion_values import Fate
from halfway_report.outline import Outline
from halfway_report.settings import NotionProperties, NotionSettings, ProjectSettings, ReportSettings
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_ledger import DATA_SOURCE, LedgerPage
from halfway_report.standin_pages import DATABASE
from halfway_report.upload import add_upload
from halfway_report.workflow import daily_report
from tests.engine.harness import Harness, until
from tests.report.conftest import Scratch

DAY = Day(project="shop", date=date(2026, 9, 30))
STILL = FINAL | {RunStatus.MANUAL_REQUIRED, RunStatus.WAITING}
SETTLE = 90
UPLOAD = "UPLOAD_NOTION"


class Writer(Outline):
    """The outline, counting how often it is asked; `extra` makes another report of the same day."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.extra = ""

    def write(self, task: Task, desk: Desk, /) -> Written:
        self.calls += 1
        written = super().write(task, desk)
        return replace(written, text=written.text + self.extra)


class Bench:
    """One deployment on one database, whose clock moves only where a test says so."""

    def __init__(self, folder: Path, repo: Scratch, standin: Standin, notion: dict[str, object], *, known: bool = True) -> None:
        self.folder, self.standin, self.writer = folder, standin, Writer()
        self.settings = ReportSettings(
            projects={"shop": ProjectSettings(repositories=(repo.path,))},
            out=folder / "reports",
            notion=NotionSettings.model_validate({"data_source_id": DATA_SOURCE, "url": standin.url, **notion}),
        )
        seen = (lambda day: reading.day_pages(self.h.app, self.report, day)) if known else None
        self.report = daily_report(self.settings, self.writer, known=seen)
        url = f"sqlite:///{folder / 'runs.sqlite3'}"
        self.h = Harness(url, self.report.workflow, artifacts=str(folder / "artifacts"))

    # ── doing ──

    def start(self, *, again: str | None = None, revision: int = 1) -> Run[Day]:
        return self.h.start(self.report.workflow, DAY.model_copy(update={"revision": revision}), again=again)

    def run(self, *, again: str | None = None) -> Run[Day]:
        return self.finish(self.start(again=again))

    def rewrite(self, extra: str = "\nOne thing more.\n", *, again: str = "the report has changed") -> Run[Day]:
        """Another report of the same day; the Markdown file of the first one is out of the way."""
        self.path.unlink()
        self.writer.extra = extra
        return self.run(again=again)

    def finish(self, run: Run[Day]) -> Run[Day]:
        """Works until the run has ended or needs a person; whenever it waits for a time, that comes soon."""
        with self.h.worker():
            until(lambda: self.h.status(run) in STILL or self.pass_time(run), f"the end of {run.id}", patience=60)
        return self.h.get(run)

    def pass_time(self, run: Run[Day], seconds: float = 10, kind: Kind = Kind.STEP) -> None:
        """Moves both clocks while the upload waits, and not while it works."""
        record = self.h.record(run, UPLOAD)
        working = any(
            one is not None and one.status is RecordStatus.RUNNING
            for one in (record, self.h.record(run, UPLOAD, Kind.PROBE), self.h.record(run, UPLOAD, Kind.COMPENSATION))
        )
        if record is not None and not working:
            self.h.advance(seconds)
            self.standin.pages.advance(timedelta(seconds=seconds))

    def resume(self, run: Run[Day]) -> Run[Day]:
        self.h.app.control.resume(run.id, actor="tester", reason="the cause is removed")
        return self.finish(run)

    def undo(self, run: Run[Day]) -> Run[Day]:
        self.h.app.control.compensate(run.id, actor="tester", reason="the report was of the wrong repository")
        return self.finish(run)

    # ── looking ──

    @property
    def path(self) -> Path:
        return self.folder / "reports" / "shop" / "2026-09-30.md"

    @property
    def looks(self) -> int:
        """How often the page was looked for; each time among the living and in the trash."""
        return sum(request.method == "GET" and "/data_sources/" in request.path for request in self.standin.ledger.requests)

    @property
    def page(self) -> LedgerPage:
        (page,) = self.standin.ledger.pages
        return page

    def page_id(self, run: Run[Day]) -> str:
        assert self.report.upload_notion is not None
        return run.output(self.report.upload_notion).id

    def one_page(self, run: Run[Day], *, posts: int = 1) -> None:
        """The run has ended well, with the one page that there is; the report was written once."""
        assert run.status == "SUCCESS", run.failure
        assert self.page_id(run) == self.page.id
        assert self.page.markdown == self.path.read_text()
        assert (self.standin.ledger.posts(), self.writer.calls) == (posts, 1)

    def asked(self, run: Run[Day], code: str, *words: str) -> None:
        """A person is asked, for this reason."""
        assert run.status == "MANUAL_REQUIRED"
        view = reading.show(self.h.app, run.id)
        assert view.step(UPLOAD).error_code == code
        assert all(word in view.step(UPLOAD).message for word in words), view.step(UPLOAD).message


Build = Callable[..., Bench]


@pytest.fixture
def build(tmp_path: Path, repo: Scratch, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    repo.commit("Rotate the tokens", "2026-09-30T09:00:00+00:00")
    with ExitStack() as opened:

        def make(*, known: bool = True, **notion: object) -> Bench:
            bench = Bench(tmp_path, repo, standin, notion, known=known)
            opened.callback(bench.h.close)
            return bench

        yield make


@pytest.fixture
def bench(build: Build) -> Bench:
    return build()


@pytest.fixture
def plain(build: Build, standin: Standin) -> Bench:
    """A data source without the properties of identity."""
    standin.pages.columns = {"Name": "title"}
    return build()


# ── a lost answer ──


@pytest.mark.parametrize("fault", ["commit_rst", "commit_half", "commit_409", "commit_502", "commit_504"])
def test_case_20_fault_B08_a_lost_answer_ends_with_the_page_that_was_made(bench: Bench, fault: str) -> None:
    bench.standin.fail("create", fault)
    run = bench.run()
    bench.one_page(run)
    assert "step.unknown" in bench.h.journal(run)
    assert bench.page_id(bench.run(again="the day is asked for once more")) == bench.page.id
    assert bench.standin.ledger.posts() == 1


def test_case_20_fault_B08_an_answer_that_never_comes_ends_with_the_page_that_was_made(build: Build) -> None:
    bench = build(timeout=timedelta(seconds=1))
    bench.standin.fail("create", "commit_hang")
    bench.one_page(bench.run())


@pytest.mark.parametrize("fault", ["rst_before", "500", "502", "503", "504", "409"])
def test_case_20_what_may_have_happened_and_did_not_is_done_when_the_settle_time_is_over(bench: Bench, fault: str) -> None:
    bench.standin.fail("create", fault)
    bench.one_page(bench.run(), posts=2)


def test_case_21_fault_B08_an_index_that_lags_makes_no_second_page(bench: Bench) -> None:
    bench.standin.pages.lag = timedelta(seconds=60)
    bench.standin.fail("create", "commit_409")
    run = bench.start()
    with bench.h.worker():
        bench.h.wait_for(run, UPLOAD, "UNKNOWN")
        until(lambda: bench.looks >= 2, "a look that finds nothing")
    bench.one_page(bench.finish(run))
    assert bench.looks >= 3
    assert not any(request.path == "/v1/search" for request in bench.standin.ledger.requests)


def test_case_21_nothing_is_sent_again_before_the_settle_time_is_over(bench: Bench) -> None:
    bench.standin.fail("create", "504")
    run = bench.start()
    with bench.h.worker():
        bench.h.wait_for(run, UPLOAD, "UNKNOWN")
        until(lambda: bench.looks >= 2, "a look at once")
        bench.h.advance(SETTLE - 10)
        until(lambda: bench.h.record(run, UPLOAD, Kind.PROBE).status != "RUNNING", "the end of that look")
        assert (bench.standin.ledger.posts(), bench.h.record(run, UPLOAD).status) == (1, "UNKNOWN")
    bench.one_page(bench.finish(run), posts=2)


def test_case_21_a_search_that_stays_incomplete_asks_a_person_and_sends_nothing(bench: Bench) -> None:
    bench.standin.fail("create", "commit_504")
    bench.standin.fail("query", "lag", "lag", "lag", *["incomplete"] * 100)
    stopped = bench.run()
    assert stopped.status == "MANUAL_REQUIRED"
    assert (bench.standin.ledger.posts(), len(bench.standin.ledger.pages)) == (1, 1)


def test_case_21_a_probe_that_is_refused_leaves_the_doubt(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.standin.fail("create", "commit_504")
    bench.standin.pages.lag = timedelta(seconds=30)
    run = bench.start()
    with bench.h.worker():
        bench.h.wait_for(run, UPLOAD, "UNKNOWN")
        monkeypatch.delenv("NOTION_TOKEN")
    stopped = bench.finish(run)
    assert stopped.status == "MANUAL_REQUIRED"
    assert bench.h.record(run, UPLOAD).status == "UNKNOWN"
    assert bench.standin.ledger.posts() == 1


# ── what is proof ──


@pytest.mark.parametrize("fault", ["429:7", "529"])
def test_case_22_a_busy_notion_is_left_alone_as_long_as_it_asks(bench: Bench, fault: str) -> None:
    bench.standin.fail("create", fault)
    run = bench.run()
    bench.one_page(run, posts=2)
    assert "step.unknown" not in bench.h.journal(run)
    first, second = bench.h.attempts(run, UPLOAD)
    assert second.started_at - first.ended_at >= (7_000_000 if fault == "429:7" else 1_000_000)


def test_case_22_a_connection_that_is_refused_is_tried_again_without_a_doubt(build: Build, standin: Standin) -> None:
    bench = build(url="http://127.0.0.1:9")
    run = bench.run()
    assert run.status == "MANUAL_REQUIRED"
    assert run.failure is not None
    assert run.failure.code == "CONNECT_ERROR"
    assert "step.unknown" not in bench.h.journal(run)
    assert len(bench.h.attempts(run, UPLOAD)) == 6


@pytest.mark.parametrize(("call", "fault"), [("create", "400"), ("create", "401"), ("query", "404"), ("source", "401")])
def test_case_22_a_refusal_is_not_repeated_and_only_the_upload_is_resumed(bench: Bench, call: str, fault: str) -> None:
    bench.standin.fail(call, fault)
    stopped = bench.run()
    bench.asked(stopped, f"HTTP_{fault}")
    assert len(bench.h.attempts(stopped, UPLOAD)) == 1
    bench.one_page(bench.resume(stopped), posts=2 if call == "create" else 1)


@pytest.mark.parametrize("value", [None, "", "토큰"])
def test_case_22_without_a_token_nothing_is_sent(bench: Bench, monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("NOTION_TOKEN")
    if value is not None:
        monkeypatch.setenv("NOTION_TOKEN", value)
    stopped = bench.run()
    bench.asked(stopped, "TOKEN_MISSING")
    assert bench.standin.ledger.requests == ()
    monkeypatch.setenv("NOTION_TOKEN", TOKEN)
    bench.one_page(bench.resume(stopped))


def test_fault_B41_a_report_that_notion_would_not_take_is_not_sent(tmp_path: Path, standin: Standin, bench: Bench) -> None:
    workflow = Workflow("LARGE_REPORT", Day, version=1, owner="report-owner", key=lambda day: day.key)

    @workflow.step(Effect.READ)
    def generate_report(step: Step[Day]) -> Artifact:
        return step.save("report.md", "# A day\n\n" + "x" * 500_000)

    assert bench.settings.notion is not None
    add_upload(workflow, generate_report, bench.settings.notion, None)
    h = Harness(f"sqlite:///{tmp_path / 'large.sqlite3'}", workflow, artifacts=str(tmp_path / "large"))
    with closing(h):
        stopped = h.run(workflow, DAY)
    assert stopped.failure is not None
    assert (stopped.status, stopped.failure.code) == ("MANUAL_REQUIRED", "REPORT_TOO_LARGE")
    assert standin.ledger.requests == ()


# ── people ──


def test_case_23_a_page_in_the_trash_is_not_made_again(bench: Bench) -> None:
    first = bench.run()
    bench.standin.pages.edit(bench.page_id(first), in_trash=True)
    bench.asked(bench.run(again="it was put into the trash by mistake"), "PAGE_IN_TRASH", bench.page_id(first).replace("-", ""))
    assert bench.standin.ledger.posts() == 1


def test_case_23_a_page_that_a_person_trashed_before_the_probe_looked_is_not_made_again(bench: Bench) -> None:
    bench.standin.fail("create", "commit_504")
    bench.standin.pages.lag = timedelta(seconds=30)
    run = bench.start()
    with bench.h.worker():
        bench.h.wait_for(run, UPLOAD, "UNKNOWN")
        bench.standin.pages.edit(bench.page.id, in_trash=True)
    stopped = bench.finish(run)
    assert stopped.status == "MANUAL_REQUIRED"
    assert bench.standin.ledger.posts() == 1


@pytest.mark.parametrize("changed", [False, True])
def test_case_23_a_page_that_a_person_edited_is_left_alone(bench: Bench, changed: bool) -> None:
    first = bench.run()
    bench.standin.pages.edit(bench.page_id(first), markdown="my own words")
    stopped = bench.rewrite() if changed else bench.run(again="to see that nothing is overwritten")
    bench.asked(stopped, "PAGE_EDITED")
    assert bench.page.markdown == "my own words"
    assert bench.standin.ledger.patches() == 0


def test_case_23_two_pages_with_one_external_id_are_a_persons_business(bench: Bench) -> None:
    first = bench.run()
    twin = bench.standin.pages.copy(bench.page_id(first))
    stopped = bench.run(again="somebody copied the page")
    bench.asked(stopped, "PAGE_TWICE", *(id.replace("-", "") for id in (bench.page_id(first), twin.id)))


def test_case_23_a_page_of_somebody_elses_runs_is_not_overwritten(bench: Bench) -> None:
    first = bench.run()
    page = bench.page
    bot = page.last_edited_by
    bench.standin.pages.edit(
        bench.page_id(first), by=bot, properties={**page.properties, "RunId": "of-another-database", "ContentHash": "0"}
    )
    bench.asked(bench.run(again="another deployment was here"), "PAGE_DIFFERS", "of-another-database")
    assert bench.page.markdown == page.markdown


# ── the same day again ──


def test_a_second_run_for_the_day_meets_the_page_of_the_first(bench: Bench) -> None:
    first = bench.run()
    second = bench.run(again="to see that nothing is doubled")
    assert second.id != first.id
    assert second.status == "SUCCESS"
    assert bench.page_id(second) == bench.page_id(first)
    assert (bench.standin.ledger.posts(), bench.standin.ledger.patches()) == (1, 0)


def test_a_changed_report_updates_the_page_that_is_ours(bench: Bench) -> None:
    first = bench.run()
    second = bench.rewrite()
    assert second.status == "SUCCESS", second.failure
    assert bench.page_id(second) == bench.page_id(first)
    assert bench.page.markdown == bench.path.read_text()
    assert "One thing more." in bench.page.markdown
    assert bench.page.properties["ContentHash"] == second.output(bench.report.validate_report).sha256
    assert bench.page.properties["RunId"] == first.id
    assert bench.standin.ledger.posts() == 1


@pytest.mark.parametrize("call", ["content", "update"])
@pytest.mark.parametrize("fault", ["commit_409", "commit_504", "504"])
def test_case_20_a_lost_answer_to_a_change_ends_with_the_changed_page(bench: Bench, call: str, fault: str) -> None:
    bench.run()
    bench.standin.fail(call, fault)
    second = bench.rewrite()
    assert second.status == "SUCCESS", second.failure
    assert bench.page.markdown == bench.path.read_text()
    assert bench.page.properties["ContentHash"] == second.output(bench.report.validate_report).sha256
    assert bench.standin.ledger.posts() == 1


def test_a_revision_within_the_lag_of_the_query_changes_the_page_of_the_first(bench: Bench) -> None:
    bench.standin.pages.lag = timedelta(days=1)
    first = bench.run()
    second = bench.rewrite()
    assert second.status == "SUCCESS", second.failure
    assert bench.page_id(second) == bench.page_id(first) == bench.page.id
    assert bench.page.markdown == bench.path.read_text()


def test_a_page_that_was_moved_to_another_data_source_is_still_the_page_of_the_day(bench: Bench) -> None:
    bench.run()
    bench.standin.pages.edit(bench.page.id, by=bench.page.last_edited_by, source="5a1d0000-0000-4000-8000-000000000002")
    assert bench.rewrite().status == "SUCCESS"
    assert bench.page.markdown == bench.path.read_text()


def test_case_23_a_page_in_the_trash_that_the_query_does_not_see_yet_is_not_made_again(bench: Bench) -> None:
    bench.standin.pages.lag = timedelta(days=1)
    first = bench.run()
    bench.standin.pages.edit(bench.page_id(first), in_trash=True)
    bench.asked(bench.rewrite(), "PAGE_IN_TRASH")
    assert bench.standin.ledger.posts() == 1


def test_a_page_that_was_made_before_there_were_properties_is_not_made_again(plain: Bench) -> None:
    plain.run()
    plain.standin.pages.columns = {"Name": "title", "ExternalId": "rich_text", "ContentHash": "rich_text", "RunId": "rich_text"}
    assert plain.rewrite().status == "SUCCESS"
    assert plain.page.markdown == plain.path.read_text()


def failed(bench: Bench, repo: Scratch) -> Run[Day]:
    """The first revision of the day, which has ended before it made anything."""
    hidden = repo.path.with_name("hidden")
    repo.path.rename(hidden)
    run = bench.run()
    hidden.rename(repo.path)
    assert run.status == "FAILED"
    return run


def test_a_run_that_is_resumed_while_a_later_revision_makes_its_page_waits_and_makes_none(bench: Bench, repo: Scratch) -> None:
    first = failed(bench, repo)
    second = bench.start(revision=2)
    order = {"actor": "tester", "reason": "the repository is back"}
    bench.standin.meanwhile("create", lambda: bench.h.app.control.resume(first.id, **order))
    assert bench.finish(second).status == "SUCCESS"
    bench.asked(bench.finish(first), "PAGE_OVERTAKEN", second.id)
    assert bench.standin.ledger.posts() == len(bench.standin.ledger.pages) == 1


def test_two_revisions_of_a_day_do_not_run_at_the_same_time(bench: Bench, repo: Scratch) -> None:
    first = failed(bench, repo)
    second = bench.start(revision=2)
    bench.h.app.control.resume(first.id, actor="tester", reason="the repository is back")
    assert bench.h.app.control.show(first.id, journal=False).to_json()["resourceKey"] == DAY.key
    bench.standin.fail("create", "400")
    assert bench.finish(second).status == "MANUAL_REQUIRED"
    assert [step.attempts for step in bench.h.app.control.show(first.id).steps if step.name == UPLOAD] == [0]


def test_without_properties_a_page_that_may_have_another_text_is_not_taken_for_the_one_that_its_runs_kept(plain: Bench) -> None:
    plain.run()
    plain.standin.fail("content", "commit_504")
    plain.standin.meanwhile("content", lambda: plain.standin.fail("get", *["404"] * 9))
    assert plain.rewrite().status == "MANUAL_REQUIRED"
    kept = reading.day_pages(plain.h.app, plain.report, DAY).page
    assert kept is not None
    assert kept.content_hash == ""


def test_a_run_at_which_nobody_works_for_days_goes_on_where_it_was(bench: Bench) -> None:
    bench.standin.fail("create", *["529"] * 2)
    run = bench.start()
    with bench.h.worker():
        until(lambda: (record := bench.h.record(run, UPLOAD)) is not None and record.attempts >= 1 and record.status == "PENDING")
    bench.h.advance(3 * 24 * 3600)
    bench.one_page(bench.finish(run), posts=3)


# ── where pages go ──


def test_a_database_with_one_data_source_needs_no_more(build: Build) -> None:
    bench = build(data_source_id=None, database_id=DATABASE)
    bench.one_page(bench.run())


def test_a_database_with_several_data_sources_needs_to_be_told_which(build: Build, standin: Standin) -> None:
    standin.pages.sources = {DATA_SOURCE: "Reports", "5a1d0000-0000-4000-8000-000000000002": "Archive"}
    bench = build(data_source_id=None, database_id=DATABASE)
    bench.asked(bench.run(), "DATA_SOURCE_UNCLEAR", "Archive", DATA_SOURCE)
    assert bench.standin.ledger.posts() == 0


def test_a_data_source_with_some_of_the_properties_is_a_mistake(bench: Bench) -> None:
    bench.standin.pages.columns = {"Name": "title", "ExternalId": "rich_text", "ContentHash": "number"}
    bench.asked(bench.run(), "DATA_SOURCE_UNFIT", "ContentHash is number", "RunId is missing")
    assert bench.standin.ledger.posts() == 0


def test_properties_may_have_other_names(build: Build, standin: Standin) -> None:
    standin.pages.columns = {"Name": "title", "외부ID": "rich_text", "Hash": "rich_text", "Run": "rich_text"}
    bench = build(properties=NotionProperties(external_id="외부ID", content_hash="Hash", run_id="Run"))
    bench.standin.fail("create", "commit_504")
    bench.one_page(bench.run())
    assert bench.page.properties["외부ID"] == DAY.key


# ── what a person says ──


def test_a_person_who_has_found_the_lost_page_says_so_and_the_next_run_knows_it(plain: Bench) -> None:
    plain.standin.fail("create", "commit_504")
    stopped = plain.run()
    page = json.dumps({"id": plain.page.id, "url": f"https://www.notion.so/{plain.page.id.replace('-', '')}"})
    order = {"actor": "kim", "reason": "the answer was lost", "evidence": "the page is there"}
    plain.h.app.control.mark_success(stopped.id, UPLOAD, output=page, **order)
    plain.one_page(plain.finish(stopped))
    second = plain.rewrite()
    assert second.status == "SUCCESS", second.failure
    assert plain.page.markdown == plain.path.read_text()


def test_a_person_who_has_found_no_page_lets_it_be_made(plain: Bench) -> None:
    plain.standin.fail("create", "504")
    stopped = plain.run()
    order = {"actor": "kim", "reason": "the answer was lost", "evidence": "no page, also not in the trash"}
    plain.h.app.control.retry(stopped.id, UPLOAD, not_happened=True, **order)
    plain.one_page(plain.finish(stopped), posts=2)


def test_a_page_that_gave_up_its_external_id_belongs_to_people(bench: Bench) -> None:
    first = bench.run()
    edited = bench.page
    bench.standin.pages.edit(bench.page_id(first), markdown="my own words", properties={**edited.properties, "ExternalId": ""})
    second = bench.run(again="a page of our own, please")
    assert second.status == "SUCCESS"
    assert bench.page_id(second) != edited.id
    assert [page.markdown for page in bench.standin.ledger.pages] == ["my own words", bench.path.read_text()]


def test_every_code_that_asks_a_person_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "notion.md").read_text()
    ours = {error.code for error in (kind("") for kind in vars(errors).values() if _asks_about_notion(kind))}
    theirs = {f"HTTP_{status}" for status, fate in notion_faults.STATUS.items() if fate is not Fate.NOT_TAKEN}
    missing = {code for code in ours | theirs | set(notion_faults.NOT_SENT.values()) | CODES if f"`{code}`" not in guide}
    assert missing == set()


CODES = {"NOTION_BUSY", "NOTION_INCOMPLETE", "NOTION_ADDRESS", "ANSWER_LOST", "ANSWER_UNREADABLE"}


def _asks_about_notion(kind: object) -> bool:
    named = isinstance(kind, type) and issubclass(kind, StepFailed) and kind.__module__ == errors.__name__
    return named and kind.__name__.startswith(("Token", "DataSource", "ReportTooLarge", "Page"))


# ── a data source without the properties ──


def test_without_properties_the_page_is_known_by_the_id_that_the_runs_keep(plain: Bench) -> None:
    first = plain.run()
    plain.one_page(first)
    assert plain.page.properties == {}
    second = plain.rewrite()
    assert second.status == "SUCCESS", second.failure
    assert plain.page_id(second) == plain.page_id(first)
    assert plain.page.markdown == plain.path.read_text()
    third = plain.run(again="nothing has changed")
    assert third.status == "SUCCESS"
    assert (plain.standin.ledger.posts(), plain.standin.ledger.patches()) == (1, 1)


def test_without_properties_a_lost_page_is_a_persons_business(plain: Bench) -> None:
    plain.standin.fail("create", "commit_504")
    stopped = plain.run()
    assert stopped.status == "MANUAL_REQUIRED"
    assert plain.h.record(stopped, UPLOAD).status == "UNKNOWN"
    assert plain.standin.ledger.posts() == 1


def test_without_properties_a_lost_change_is_made_again(plain: Bench) -> None:
    plain.run()
    plain.standin.fail("content", "commit_504")
    second = plain.rewrite()
    assert second.status == "SUCCESS", second.failure
    assert plain.page.markdown == plain.path.read_text()
    assert plain.standin.ledger.posts() == 1


@pytest.mark.parametrize("what", ["edited", "trashed", "deleted"])
def test_case_23_without_properties_what_a_person_did_is_left_too(plain: Bench, what: str) -> None:
    first = plain.run()
    if what == "deleted":
        plain.standin.pages.delete(plain.page_id(first))
    else:
        plain.standin.pages.edit(plain.page_id(first), in_trash=what == "trashed")
    code = {"edited": "PAGE_EDITED", "trashed": "PAGE_IN_TRASH", "deleted": "PAGE_GONE"}[what]
    plain.asked(plain.rewrite(), code)
    assert (plain.standin.ledger.posts(), plain.standin.ledger.patches()) == (1, 0)


def test_without_properties_and_without_a_memory_no_page_is_made(build: Build, standin: Standin) -> None:
    standin.pages.columns = {"Name": "title"}
    bench = build(known=False)
    bench.asked(bench.run(), "DATA_SOURCE_UNFIT", "property to search for")
    assert standin.ledger.posts() == 0


# ── undoing ──


def undone(bench: Bench, run: Run[Day]) -> tuple[str, str, bool]:
    """How the undo of the upload ended, why it failed, and whether the page is in the trash."""
    record = bench.h.record(run, UPLOAD, Kind.COMPENSATION)
    return record.status, record.code or "", any(page.in_trash for page in bench.standin.ledger.pages)


def test_an_undo_puts_the_page_into_the_trash(bench: Bench) -> None:
    run = bench.undo(bench.run())
    assert undone(bench, run) == ("SUCCESS", "", True)
    assert bench.standin.ledger.patches() == 1


def test_an_undo_counts_a_page_that_is_in_the_trash_as_done(bench: Bench) -> None:
    first = bench.run()
    bench.standin.pages.edit(bench.page_id(first), in_trash=True)
    assert undone(bench, bench.undo(first)) == ("SUCCESS", "", True)
    assert bench.standin.ledger.patches() == 0


def test_an_undo_and_a_person_who_trashes_the_page_at_the_same_time_agree(bench: Bench) -> None:
    run = bench.run()
    bench.standin.meanwhile("update", lambda: bench.standin.pages.edit(bench.page_id(run), in_trash=True))
    assert undone(bench, bench.undo(run)) == ("SUCCESS", "", True)
    assert bench.standin.ledger.patches() == 1


def test_an_undo_that_is_refused_for_another_reason_asks_a_person(bench: Bench) -> None:
    run = bench.run()
    bench.standin.fail("update", "403")
    assert undone(bench, bench.undo(run)) == ("FAILED", "HTTP_403", False)


@pytest.mark.parametrize("fault", ["commit_504", "commit_rst", "504", "429:7"])
def test_the_lost_answer_of_an_undo_is_no_doubt(bench: Bench, fault: str) -> None:
    run = bench.run()
    bench.standin.fail("update", fault)
    assert undone(bench, bench.undo(run)) == ("SUCCESS", "", True)


def test_an_undo_leaves_a_page_that_a_person_edited(bench: Bench) -> None:
    run = bench.run()
    bench.standin.pages.edit(bench.page_id(run), markdown="my own words")
    assert undone(bench, bench.undo(run)) == ("FAILED", "PAGE_EDITED", False)


def test_an_undo_leaves_a_page_that_an_earlier_run_has_made(bench: Bench) -> None:
    bench.run()
    second = bench.run(again="to see that nothing is doubled")
    assert undone(bench, bench.undo(second)) == ("FAILED", "PAGE_DIFFERS", False)


def test_an_undo_of_a_page_that_is_gone_asks_a_person(bench: Bench) -> None:
    run = bench.run()
    bench.standin.pages.delete(bench.page_id(run))
    assert undone(bench, bench.undo(run)) == ("FAILED", "PAGE_GONE", False)


def test_without_properties_an_undo_knows_the_page_by_what_its_runs_kept(plain: Bench) -> None:
    assert undone(plain, plain.undo(plain.run())) == ("SUCCESS", "", True)


# ── many at once ──


def test_case_25_two_workers_and_two_starts_make_one_page(bench: Bench) -> None:
    first, second = bench.start(), bench.start()
    assert (first.created, second.created, first.id == second.id) == (True, False, True)
    with bench.h.worker(), bench.h.worker():
        until(lambda: bench.h.status(first) in STILL)
    bench.one_page(bench.h.get(first))


def test_case_24_a_worker_that_stops_while_it_looks_leaves_the_doubt_to_the_next(bench: Bench) -> None:
    bench.standin.fail("create", "commit_504")
    bench.standin.fail("me", "commit_hang")
    run = bench.start()
    with bench.h.worker():
        bench.h.wait_for(run, UPLOAD, "UNKNOWN")
        until(lambda: any(request.fault == "commit_hang" for request in bench.standin.ledger.requests), "it looks")
    bench.one_page(bench.finish(run))
