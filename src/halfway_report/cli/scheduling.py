"""What starts reports by itself: `report schedule`, and `report worker`, which serves it."""

from __future__ import annotations

from pathlib import Path

import click

from halfway.errors import NotFound
from halfway_report.cli.options import common, order
from halfway_report.cli.printing import chat, print_json
from halfway_report.cli.site import Site, known_project, opened
from halfway_report.language import _
from halfway_report.schedules import schedule_name
from halfway_report.workflow import NAME

PROJECT = click.argument("project")


@click.group(short_help="Look at what starts reports by itself, pause it, start one now.")
def schedule() -> None:
    """Look at what starts reports by itself, pause it, or start one now. Schedules are written into report.toml."""


@schedule.command("list", short_help="List schedules, and when they are due.")
@common
def list_schedules(*, config: Path | None, as_json: bool) -> None:
    """List the schedules of all projects, and when each is due."""
    with opened(config) as site:
        found = [one for one in site.app.control.schedules.list(type=NAME) if one.row.retired_at is None]
        projects = {schedule_name(project): project for project in site.configuration.settings.schedules}
    if as_json:
        print_json([{"project": projects.get(one.row.name), **one.to_json()} for one in found])
        return
    for one in found:
        due = one.coming[0].isoformat() if one.coming else "-"
        click.echo(f"{projects.get(one.row.name, one.row.name)}  {one.state}  {one.row.spec.cron}  {one.row.spec.zone}  {due}")
    if not found:
        chat(_("There are no schedules. Write [schedules.PROJECT] into report.toml."))


@schedule.command(short_help="Start nothing for a project until it is resumed.")
@PROJECT
@order
@common
def pause(*, project: str, actor: str, reason: str, config: Path | None, as_json: bool) -> None:
    """Start nothing for PROJECT until it is resumed. What was due meanwhile is then made up for as catch_up says."""
    with opened(config) as site:
        shown = site.app.control.schedules.pause(NAME, _named(site, project), actor=actor, reason=reason)
    _tell(project, shown.state, as_json=as_json)


@schedule.command(short_help="Go on with a schedule that was paused.")
@PROJECT
@order
@common
def resume(*, project: str, actor: str, reason: str, config: Path | None, as_json: bool) -> None:
    """Go on with the schedule of PROJECT."""
    with opened(config) as site:
        shown = site.app.control.schedules.resume(NAME, _named(site, project), actor=actor, reason=reason)
    _tell(project, shown.state, as_json=as_json)


@schedule.command(short_help="Start a report as if it were due now.")
@PROJECT
@order
@common
def trigger(*, project: str, actor: str, reason: str, config: Path | None, as_json: bool) -> None:
    """Start the report of PROJECT as if its schedule were due now; a worker makes it."""
    with opened(config) as site:
        run_id = site.app.control.schedules.trigger(NAME, _named(site, project), actor=actor, reason=reason)
    if as_json:
        print_json({"project": project, "runId": run_id})
    else:
        click.echo(run_id)


@click.command(short_help="Serve schedules and open runs until it is stopped.")
@common
def worker(*, config: Path | None, as_json: bool) -> None:
    """Start what is due, and work on open runs, until it is stopped by SIGTERM or Ctrl-C. Any number may serve one database."""
    with opened(config, quiet=False) as site:
        chat(
            _("Working for {file}; schedules: {count}.").format(
                file=site.configuration.path, count=len(site.configuration.settings.schedules)
            )
        )
        site.app.worker().run_forever()


def _named(site: Site, project: str) -> str:
    known_project(site.configuration, project)
    if project not in site.configuration.settings.schedules:
        raise NotFound("SCHEDULE_UNKNOWN", workflow=NAME, schedule=schedule_name(project))
    return schedule_name(project)


def _tell(project: str, state: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"project": project, "state": state})
    else:
        click.echo(f"{project}  {state}")
