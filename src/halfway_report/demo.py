"""The demonstration: a worker is killed between the page at Notion and the answer that says so, and the run ends with one page.

`run_demo()` tells it; `python -m halfway_report.demo` does too. Everything happens on this machine, without a network:
the worker, its successor and the stand-in for Notion are real processes, and the kill is a real SIGKILL.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
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
from halfway_report.standin_ledger import DATA_SOURCE, Ledger

_ZONE = "UTC"
_UPLOAD, _GENERATE = "UPLOAD_NOTION", "GENERATE_REPORT"
_FIRST_LINES = 10


@dataclass(frozen=True, kw_only=True)
class _Stage:
    """Where it all happens, and in which language it is told."""

    folder: Path
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
            with closing(deployment.app):
                return _play(_Stage(folder=folder, deployment=deployment, voice=voice, _=_), repository, day, began)
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
    _begin_and_kill(stage, run)
    known = _tell_what_is_known(stage, run)
    ended = _recover(stage, run, known)
    return _count(stage, ended, began)


def _begin_and_kill(stage: _Stage, run: Run[Day]) -> None:
    _, voice = stage._, stage.voice
    with stage.worker(1) as worker:
        voice.act(1, _("The work begins"))
        voice.say(_("Run {run}, key {key}. Worker {pid} takes it.").format(run=run.id, key=run.input.key, pid=worker.pid))
        page = wait_for(_UPLOAD, lambda: next(iter(stage.ledger.pages), None), while_alive=worker)
        voice.say(_("Notion has stored page {page}. The worker waits for the answer.").format(page=page.id))
        worker.kill()
        voice.act(2, _("kill -9 {pid}").format(pid=worker.pid))
        voice.say(_("The worker is gone. It could not write down anything more, and the answer has nobody left to reach."))


def _tell_what_is_known(stage: _Stage, run: Run[Day]) -> reading.RunView:
    _, voice = stage._, stage.voice
    view = reading.show(stage.deployment.app, run.id)
    voice.act(3, _("What the database knows"))
    heads = (_("step"), _("kind"), _("status"), _("its effect"))
    voice.table([heads, *((step.name, step.kind, step.status, step.effect) for step in view.steps)])
    begun = _(
        "That {step} begins its effect was written down at {time}, before the request left; its end is missing. So the page may be there, "
        "and it may not. This database cannot know, and it does not pretend to."
    )
    voice.say(begun.format(step=_UPLOAD, time=_clock(view.step(_UPLOAD).effect_began_at)))
    voice.say(_("A plain retry would send the request again: two pages for one day. A plain failure would leave a page nobody knows of."))
    return view


def _recover(stage: _Stage, run: Run[Day], known: reading.RunView) -> reading.RunView:
    _, voice, app = stage._, stage.voice, stage.deployment.app
    with stage.worker(2) as worker:
        voice.act(4, _("Another worker starts"))
        sweep = _(
            "Worker {pid} looks for the dead first. A worker holds a lock that the operating system drops when its process ends, "
            "so there is no lease to wait for."
        )
        voice.say(sweep.format(pid=worker.pid))
        ended = wait_for(run.id, lambda: _at_rest(reading.show(app, run.id)), while_alive=worker)
    lines = [(_clock(line.at), line.name, line.step, _told(line)) for line in ended.journal]
    lines.insert(len(known.journal), ("", "kill -9", "", ""))
    voice.table(lines, "dim")
    settled = _(
        "The step became UNKNOWN. It creates something, so nothing is repeated before the outside world has been asked. Its probe asked "
        "Notion for the page with the external id {key}, found it with the hash of this report, and that page became its result."
    )
    voice.say(settled.format(key=run.input.key))
    return ended


def _count(stage: _Stage, ended: reading.RunView, began: float) -> int:
    _, voice, ledger, report = stage._, stage.voice, stage.ledger, stage.deployment.report
    generated = ended.count("step.started", _GENERATE)
    run = stage.deployment.app.get(report.workflow, ended.id)
    done = ended.status == "SUCCESS"
    result = run.output(report.upload_notion).id if done and report.upload_notion else ""
    good = [page.id for page in ledger.pages] == [result] and ledger.posts() == generated == 1
    rows = [
        (_("run"), ended.status),
        (_("pages at Notion"), str(len(ledger.pages))),
        (_("requests to make a page"), str(ledger.posts())),
        (_("times the report was generated"), str(generated)),
        (_("the page the run points to"), result),
        (_("seconds, all in all"), f"{time.monotonic() - began:.1f}"),
    ]
    voice.act(5, _("The count"))
    if done:
        path = Path(run.output(report.save_markdown).path)
        voice.table([*rows, (_("the report"), str(path))], "green" if good else "red")
        voice.line()
        for line in path.read_text("utf-8").splitlines()[:_FIRST_LINES]:
            voice.line(f"     | {line}".rstrip(), "dim")
    else:
        voice.table(rows, "red")
    voice.line()
    kept = _("All of it is kept in {folder}: the database, and in notion.json every request that reached Notion.")
    voice.say(kept.format(folder=stage.folder))
    voice.say(_("Look at the run with:"))
    voice.line(f"     {_halfway()} show {ended.id} --url {_url(stage.folder)}")
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
        newest = newest_day(repo, _ZONE)
    if newest is None:
        raise DemoFailed("the sample repository has no commits")
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


def _halfway() -> str:
    """The command as it can be typed here: of an environment that is not active by its path."""
    beside = Path(sys.executable).with_name("halfway")
    return "halfway" if shutil.which("halfway") or not beside.exists() else shlex.quote(str(beside))


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'demo.db'}"


def _at_rest(view: reading.RunView) -> reading.RunView | None:
    return None if view.status in {"PENDING", "RUNNING", "WAITING"} else view


def _clock(moment: datetime | None) -> str:
    return f"{moment:%H:%M:%S.%f}"[:-3] if moment else "?"


def _told(line: reading.EntryView) -> str:
    return " ".join(f"{name}={value}" for name, value in line.data.items() if value not in ("", None))[:60]


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
