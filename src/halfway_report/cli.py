"""The command `report`: makes the report of a day, lists runs, shows one, resumes one. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

import click
from pydantic import ValidationError

from halfway import Run
from halfway.errors import Exit, HalfwayError
from halfway_report import reading
from halfway_report.deployment import Deployment, deploy
from halfway_report.models import Day
from halfway_report.settings import NotionSettings, ProjectSettings, ReportSettings
from halfway_report.workflow import NAME

_PATIENCE = timedelta(hours=1)
_DB = "sqlite:///report.db"
_EXITS: Mapping[str, Exit] = {
    "SUCCESS": Exit.OK,
    "PARTIAL_SUCCESS": Exit.OK,
    "MANUAL_REQUIRED": Exit.NEEDS_PERSON,
    "FAILED": Exit.RUN_FAILED,
    "CANCELLED": Exit.RUN_FAILED,
    "EXPIRED": Exit.RUN_FAILED,
    "COMPENSATED": Exit.RUN_FAILED,
}
# Enough to read runs with; the run itself says which project it belongs to.
_NO_PROJECT = ReportSettings(projects={}, out=Path())
_Command = TypeVar("_Command", bound=Callable[..., object])


class _Group(click.Group):
    """Turns halfway's errors into one line and their exit code."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except HalfwayError as error:
            click.echo(f"report: {error}", err=True)
            ctx.exit(int(error.exit_code))


def _place(command: _Command) -> _Command:
    """The options that say where things are; a worker and a resume need the same as the first start."""
    options = (
        click.option("--repo", "repositories", multiple=True, required=True, envvar="REPORT_REPO",
                     type=click.Path(path_type=Path, exists=True, file_okay=False), help="A git repository; may be repeated."),
        click.option("--out", default="reports", show_default=True, envvar="REPORT_OUT", type=click.Path(path_type=Path),
                     help="Where Markdown files go, as PROJECT/DATE.md."),
        click.option("--zone", default="UTC", show_default=True, envvar="REPORT_ZONE", help="Whose midnight ends the day."),
        click.option("--notion", envvar="REPORT_NOTION", help="The id of the data source at Notion; without it nothing is uploaded."),
        click.option("--notion-url", default="https://api.notion.com", envvar="REPORT_NOTION_URL", hidden=True),
        click.option("--token-env", default="NOTION_TOKEN", show_default=True, help="The environment variable with Notion's token."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def _database(command: _Command) -> _Command:
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)
    return click.option("--db", default=_DB, show_default=True, envvar="HALFWAY_URL", help="The database of the runs.")(command)


@click.group(cls=_Group)
def main() -> None:
    """Daily reports from git, each made once."""


@main.command()
@click.argument("project")
@click.option("--date", "day", type=click.DateTime(["%Y-%m-%d"]), help="The business day; today in the zone if left out.")
@_place
@_database
def run(project: str, day: datetime | None, db: str, as_json: bool, **place: object) -> None:
    """Make the report of PROJECT for a day, or show the run that already has."""
    settings = _settings(project, place)
    wanted = Day(project=project, date=(day or datetime.now(ZoneInfo(settings.projects[project].zone))).date())
    with _deployed(settings, db) as deployment:
        started = deployment.app.start(deployment.report.workflow, wanted)
        click.echo(f"run {started.id} {'started' if started.created else 'already has this day'}", err=True)
        _finish(deployment, started, as_json)


@main.command()
@click.argument("run_id", metavar="RUN")
@click.option("--reason", required=True, help="Why it may go on; kept in the audit log.")
@click.option("--as", "actor", default=getpass.getuser, envvar="HALFWAY_ACTOR", help="Who orders it; your user name if left out.")
@_place
@_database
def resume(run_id: str, reason: str, actor: str, db: str, as_json: bool, **place: object) -> None:
    """Go on with a run after what stopped it; steps that are done stay done."""
    with _deployed(_NO_PROJECT, db) as known:
        run_id = reading.show(known.app, run_id).id  # it may have been given by its key or the end of its id
        project = known.app.get(known.report.workflow, run_id).input.project
    with _deployed(_settings(project, place), db) as deployment:
        reading.resume(deployment.app, run_id, actor=actor, reason=reason)
        _finish(deployment, deployment.app.get(deployment.report.workflow, run_id), as_json)


@main.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000))
@_database
def runs(limit: int, db: str, as_json: bool) -> None:
    """List the newest runs."""
    with _deployed(_NO_PROJECT, db) as deployment:
        rows = reading.runs(deployment.app, NAME, limit)
    if as_json:
        _print_json([row.document for row in rows])
    for row in () if as_json else rows:
        click.echo(f"{row.id}  {row.status:<16}  {row.key}")


@main.command()
@click.argument("run_id", metavar="RUN")
@_database
def status(run_id: str, db: str, as_json: bool) -> None:
    """Show how far a run got."""
    with _deployed(_NO_PROJECT, db) as deployment:
        view = reading.show(deployment.app, run_id)
    if as_json:
        _print_json(view.document)
    else:
        click.echo(f"{view.id}  {view.status}")
        for step in view.steps:
            click.echo(f"  {step.name:<16} {step.status:<10} attempts {step.attempts}  {step.error_code} {step.message}".rstrip())
    click.get_current_context().exit(int(_EXITS.get(view.status, Exit.OK)))


@contextmanager
def _deployed(settings: ReportSettings, db: str) -> Generator[Deployment, None, None]:
    deployment = deploy(settings, db)
    try:
        yield deployment
    finally:
        deployment.app.close()


def _settings(project: str, place: Mapping[str, object]) -> ReportSettings:
    notion = {"data_source_id": place["notion"], "url": place["notion_url"], "token_env": place["token_env"]}
    try:
        return ReportSettings(
            projects={project: ProjectSettings.model_validate({"repositories": place["repositories"], "zone": place["zone"]})},
            out=Path(str(place["out"])),
            notion=NotionSettings.model_validate(notion) if place["notion"] else None,
        )
    except ValidationError as error:
        raise click.UsageError("; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())) from error


def _finish(deployment: Deployment, started: Run[Day], as_json: bool) -> None:
    """Works until the run has ended or needs a person, and says what came of it."""
    with deployment.app.worker():
        ended = deployment.app.result(started, timeout=_PATIENCE)
    report, done = deployment.report, ended.status == "SUCCESS"
    facts = {
        "runId": ended.id,
        "key": ended.input.key,
        "status": str(ended.status),
        "path": ended.output(report.save_markdown).path if done else None,
        "url": ended.output(report.upload_notion).url if done and report.upload_notion else None,
        "error": f"{ended.failure.step}: {ended.failure.code}: {ended.failure.message}" if ended.failure else None,
    }
    if as_json:
        _print_json(facts)
    else:
        click.echo("\n".join(f"{name:<7} {value}" for name, value in facts.items() if value is not None))
    click.get_current_context().exit(int(_EXITS.get(str(ended.status), Exit.OK)))


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
