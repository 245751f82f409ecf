"""The demonstration: a worker is killed between the page at Notion and the answer that says so, and the run ends with one page.

`run_demo()` tells it; `python -m halfway_report.demo` does too. Everything happens on this machine, without a network:
the worker, its successor and the stand-in for Notion are real processes, and the kill is a real SIGKILL.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import click

from halfway import Run
from halfway_report import reading
from halfway_report.collect import newest_day
from halfway_report.demo_cast import PATIENCE, TOKEN_ENV, Child, DemoFailed, sample_repository, wait_for
from halfway_report.demo_voice import Echo, Voice
from halfway_report.deployment import Deployment, deploy
from halfway_report.git import RepositoryUnusable
from halfway_report.language import Translate, translator
from halfway_report.models import Day
from halfway_report.processes import end_with
from halfway_report.settings import NotionSettings, ProjectSettings, ReportSettings
from halfway_report.standin_pages import DATA_SOURCE, Ledger

_ZONE = "UTC"
_UPLOAD, _GENERATE = "UPLOAD_NOTION", "GENERATE_REPORT"
_FIRST_LINES = 8


@dataclass(frozen=True, kw_only=True)
class _Stage:
    """Where it all happens, and who is on."""

    folder: Path
    standin: Child
    deployment: Deployment
    voice: Voice
    _: Translate

    @property
    def ledger(self) -> Ledger:
        return Ledger.load(self.folder / "notion.json")

    def worker(self, number: int) -> Child:
        settings, url, artifacts = self.folder / "settings.json", _url(self.folder), self.folder / "artifacts"
        return Child("halfway_report.demo", "worker", str(settings), url, str(artifacts), log=self.folder / f"worker-{number}.log")


def run_demo(repo: Path, *, echo: Echo | None = None, lang: str = "en", translate: Translate | None = None) -> int:
    """Tells the story about the newest day of a repository; 0 if it ended as promised.

    What it made stays in a temporary folder, whose path is printed, so that it can be looked at.
    """
    _, voice = translate or translator(lang), Voice(echo)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="halfway-demo-"))
    try:
        repository, day = _subject(repo, folder)
        with Child("halfway_report.standin", *_standin_options(folder), log=folder / "notion.log") as standin:
            settings = _settings(folder, repository, day, port=int(standin.first_line()))
            deployment = deploy(settings, _url(folder), artifacts=folder / "artifacts")
            stage = _Stage(folder=folder, standin=standin, deployment=deployment, voice=voice, _=_)
            return _play(stage, repository, day, began)
    except DemoFailed as failed:
        voice.line()
        voice.say(_("The demonstration stopped: {reason}").format(reason=failed), "red")
        voice.say(_("What it made is in {folder}.").format(folder=folder))
        return 1


def _play(stage: _Stage, repository: Path, day: Day, began: float) -> int:
    _, voice = stage._, stage.voice
    voice.line(_("A worker dies after the page was made and before it heard of it"), "bold")
    work = _(
        "The work: the daily report of {repository} for {date}. Commits are collected, a report is written and checked, "
        "saved as Markdown, and uploaded to Notion."
    )
    voice.say(work.format(repository=repository.name, date=day.date))
    voice.say(_("Notion is played by a process on this machine. It stores the page that it is sent, and then never answers."))
    run = stage.deployment.app.start(stage.deployment.report.workflow, day)
    _act_1_and_2(stage, run)
    _act_3(stage, run)
    ended = _act_4(stage, run)
    return _act_5(stage, ended, began)


def _act_1_and_2(stage: _Stage, run: Run[Day]) -> None:
    _, voice = stage._, stage.voice
    with stage.worker(1) as worker:
        voice.act(1, _("The work begins"))
        voice.say(_("Run {run}, key {key}. Worker {pid} takes it.").format(run=run.id, key=run.input.key, pid=worker.pid))
        page = wait_for(_UPLOAD, lambda: next(iter(stage.ledger.pages), None), while_alive=worker)
        voice.say(_("Notion has stored page {page}. The worker waits for the answer.").format(page=page.id))
        worker.kill()
        voice.act(2, _("kill -9 {pid}").format(pid=worker.pid))
        voice.say(_("The worker is gone. It could not write down anything more, and the answer has nobody left to reach."))


def _act_3(stage: _Stage, run: Run[Day]) -> None:
    _, voice = stage._, stage.voice
    view = reading.show(stage.deployment.app, run.id)
    voice.act(3, _("What the database knows"))
    voice.table([(step.name, step.effect, step.status, _attempts(step, _)) for step in view.steps])
    voice.say(
        _("{step} was written down as begun before its request left, and its end is missing. So the page may be there, and it may not. "
          "This database cannot know, and it does not pretend to.").format(step=_UPLOAD)
    )  # fmt: skip
    voice.say(
        _("A plain retry would now send the request again: two pages for one day. A plain failure would leave a page that nobody knows of.")
    )


def _act_4(stage: _Stage, run: Run[Day]) -> reading.RunView:
    _, voice, app = stage._, stage.voice, stage.deployment.app
    before = len(reading.show(app, run.id).journal)
    with stage.worker(2) as worker:
        voice.act(4, _("Another worker starts"))
        sweep = _(
            "Worker {pid} looks for the dead first. A worker holds a lock that the operating system drops when its process ends, "
            "so there is no lease to wait for."
        )
        voice.say(sweep.format(pid=worker.pid))
        ended = wait_for(run.id, lambda: _at_rest(reading.show(app, run.id)), while_alive=worker)
    voice.table([(f"{line.at:%H:%M:%S.%f}"[:-3], line.name, line.step, _told(line)) for line in ended.journal[before:]], "dim")
    settled = _(
        "The step became UNKNOWN. It creates something, so nothing is repeated before the outside world has been asked. Its probe asked "
        "Notion for the page with the external id {key}, found it with the hash of this report, and that page became its result."
    )
    voice.say(settled.format(key=run.input.key))
    return ended


def _act_5(stage: _Stage, ended: reading.RunView, began: float) -> int:
    _, voice, ledger = stage._, stage.voice, stage.ledger
    report = stage.deployment.report
    generated = ended.count("step.started", _GENERATE)
    good = ended.status == "SUCCESS" and len(ledger.pages) == ledger.posts() == generated == 1
    voice.act(5, _("The count"))
    rows = [
        (_("run"), ended.status),
        (_("pages at Notion"), str(len(ledger.pages))),
        (_("requests to make a page"), str(ledger.posts())),
        (_("times the report was generated"), str(generated)),
        (_("seconds, all in all"), f"{time.monotonic() - began:.1f}"),
    ]
    if ended.status == "SUCCESS":
        run = stage.deployment.app.get(report.workflow, ended.id)
        path = Path(run.output(report.save_markdown).path)
        voice.table([*rows, (_("the report"), str(path))], "green" if good else "red")
        voice.line()
        for line in path.read_text("utf-8").splitlines()[:_FIRST_LINES]:
            voice.line(f"     | {line}".rstrip(), "dim")
    else:
        voice.table(rows, "red")
    voice.line()
    voice.say(_("All of it is kept in {folder}; look at the run with:").format(folder=stage.folder))
    voice.line(f"     halfway show {ended.id} --url {_url(stage.folder)}")
    if not good:
        voice.say(_("This did not end as promised."), "red")
    return 0 if good else 1


def _subject(repo: Path, folder: Path) -> tuple[Path, Day]:
    """The repository to report about and its newest day; a sample where there is nothing to report."""
    try:
        newest = newest_day(repo, _ZONE)
    except RepositoryUnusable:
        newest = None
    if newest is None:
        repo = folder / "sample-shop"
        sample_repository(repo)
        newest = newest_day(repo, _ZONE) or date.min
    project = re.sub(r"[^a-z0-9]+", "-", repo.resolve().name.lower()).strip("-")[:63] or "demo"
    return repo.resolve(), Day(project=project, date=newest)


def _standin_options(folder: Path) -> tuple[str, ...]:
    return "--ledger", str(folder / "notion.json"), "--fault", "commit_hang", "--end-with-stdin"


def _settings(folder: Path, repository: Path, day: Day, *, port: int) -> ReportSettings:
    settings = ReportSettings(
        projects={day.project: ProjectSettings(repositories=(repository,), zone=_ZONE)},
        out=folder / "reports",
        notion=NotionSettings(
            data_source_id=DATA_SOURCE, url=f"http://127.0.0.1:{port}", token_env=TOKEN_ENV, settle=timedelta(seconds=1), timeout=PATIENCE
        ),
    )
    (folder / "settings.json").write_text(settings.model_dump_json(indent=1), "utf-8")
    return settings


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'demo.db'}"


def _at_rest(view: reading.RunView) -> reading.RunView | None:
    return None if view.status in {"PENDING", "RUNNING", "WAITING"} else view


def _attempts(step: reading.StepView, _: Translate) -> str:
    if not step.attempts:
        return ""
    return (
        _("attempt {number}, no end").format(number=step.attempts)
        if step.ended_at is None
        else _("attempt {number}").format(number=step.attempts)
    )


def _told(line: reading.EntryView) -> str:
    return " ".join(f"{name}={value}" for name, value in line.data.items())[:60]


@click.group(invoke_without_command=True)
@click.option("--repo", default=".", type=click.Path(path_type=Path), help="The repository to report about.")
@click.option("--lang", default="en", show_default=True, help="en or ko.")
@click.pass_context
def main(context: click.Context, repo: Path, lang: str) -> None:
    """Tell the story."""
    if context.invoked_subcommand is None:
        sys.exit(run_demo(repo, lang=lang))


@main.command()
@click.argument("settings", type=click.Path(path_type=Path, exists=True))
@click.argument("url")
@click.argument("artifacts", type=click.Path(path_type=Path))
def worker(settings: Path, url: str, artifacts: Path) -> None:
    """Serve runs until the process that started this one ends."""
    end_with(sys.stdin.fileno())
    deployment = deploy(ReportSettings.model_validate_json(settings.read_bytes()), url, artifacts=artifacts)
    deployment.app.worker().run_forever()


if __name__ == "__main__":
    main()
