"""Commands that only look: `report runs`, `report status`, `report show`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from halfway import RunStatus
from halfway.errors import NotFound
from halfway_report import reading
from halfway_report.advice import advice
from halfway_report.cli.options import RUN, common
from halfway_report.cli.printing import chat, exit_of, print_json
from halfway_report.cli.site import known_project, opened
from halfway_report.language import _, retold
from halfway_report.workflow import NAME

_STATUSES = [status.value for status in RunStatus]


@click.command(short_help="List runs, the newest first.")
@click.option("--project", metavar="PROJECT", help="Only those of this project.")
@click.option("--status", type=click.Choice(_STATUSES, case_sensitive=False), metavar="STATUS", help="Only those in this state.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), metavar="N", help="At most so many.")
@common
def runs(*, project: str | None, status: str | None, limit: int, config: Path | None, as_json: bool) -> None:
    """List runs, the newest first."""
    with opened(config) as site:
        if project is not None:
            known_project(site.configuration, project)
        search = None if project is None else f"daily-report:{project}:"
        rows = reading.runs(site.app, NAME, limit, status=status, search=search)
    if as_json:
        print_json([row.document for row in rows])
        return
    for row in rows:
        click.echo(f"{row.id}  {row.status:<16}  {row.key}")
    if not rows:
        chat(_("There are no runs. Make the first report with: report run PROJECT"))


@click.command(short_help="Say how far a run got, and what to do.")
@RUN
@common
def status(*, run_id: str, config: Path | None, as_json: bool) -> None:
    """Say how far RUN got, and what to do. RUN is its id, its key, or the last 6 or more characters of its id."""
    with opened(config) as site:
        view = reading.show(site.app, run_id)
        next_steps = list(advice(view, workers=reading.workers(site.app)))
    if as_json:
        print_json({**view.document, "next": next_steps})
    else:
        click.echo(f"{view.id}  {view.status}  {view.key}")
        for step in view.steps:
            tries = _("attempts {number}").format(number=step.attempts)
            why = f"{step.error_code} {retold(' '.join(step.message.split()))}"
            click.echo(f"  {step.name:<16} {step.undo or step.status:<10} {tries}  {why}".rstrip())
        for line in next_steps:
            click.echo(line)
    click.get_current_context().exit(exit_of(view.status))


@click.command(short_help="Print what a run has stored.")
@RUN
@click.argument("what", type=click.Choice(["report", "context", "prompt"]))
@click.option("--attempt", type=click.IntRange(1), metavar="N", help="Which one, if it was written more than once; else the one in use.")
@common
def show(*, run_id: str, what: Literal["report", "context", "prompt"], attempt: int | None, config: Path | None, as_json: bool) -> None:
    """Print what RUN has stored: the report, the context it was made from, or the prompt of the model. Its hash is checked first."""
    with opened(config) as site:
        view = reading.show(site.app, run_id, journal=False)
        content = reading.kept(site.app, view, what, attempt)
    if content is None:
        raise NotFound("ARTIFACT_UNKNOWN", artifact=what, run=view.id)
    if as_json:
        print_json({"runId": view.id, "what": what, "content": content.decode("utf-8", "replace")})
    else:
        sys.stdout.write(content.decode("utf-8", "replace"))
