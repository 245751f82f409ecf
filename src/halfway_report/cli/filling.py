"""`report backfill`: the reports of days that have passed."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from halfway_report import reading
from halfway_report.advice import DONE, OVER
from halfway_report.cli.options import a_day, common
from halfway_report.cli.printing import chat, exit_of, print_json
from halfway_report.cli.site import Site, opened
from halfway_report.cli.starting import standing
from halfway_report.cli.working import work_on
from halfway_report.days import DayName, days_between, is_working_day
from halfway_report.language import _
from halfway_report.models import Day
from halfway_report.reading import RunView
from halfway_report.workflow import NAME


@click.command(short_help="Make the reports of days that have passed.")
@click.argument("project")
@click.option("--from", "first", required=True, metavar="DAY", callback=a_day, help="The first day.")
@click.option("--to", "last", required=True, metavar="DAY", callback=a_day, help="The last day; it counts.")
@click.option("--working-days", is_flag=True, help="Only days that are worked on.")
@click.option("--dry-run", is_flag=True, help="Only say for which days a report would be made.")
@common
def backfill(
    *, project: str, first: date | DayName, last: date | DayName, working_days: bool, dry_run: bool, config: Path | None, as_json: bool
) -> None:
    """Make a report of PROJECT for each day between --from and --to that has none, the oldest first and one after the other.

    A day whose run fails or needs a person does not hold up the others. Typed again it goes on where it was stopped.
    """
    with opened(config) as site:
        begin, end = site.day(project, first), site.day(project, last)
        if begin.date > end.date:
            raise click.UsageError(_("--from is later than --to."), click.get_current_context())
        calendar = site.configuration.settings.projects[project].calendar
        dates = [day for day in days_between(begin.date, end.date) if not working_days or is_working_day(day, calendar)]
        rows = [_fill(site, Day(project=project, date=day), dry_run=dry_run, as_json=as_json) for day in dates]
    if as_json:
        print_json(rows)
    _sum_up(rows, dry_run=dry_run)
    stopped = [str(row["status"]) for row in rows if row["status"] is not None and row["status"] not in DONE]
    click.get_current_context().exit(0 if dry_run else max(map(exit_of, stopped), default=0))


def _fill(site: Site, day: Day, *, dry_run: bool, as_json: bool) -> dict[str, object]:
    """What became of one day."""
    earlier = reading.of_day(site.app, NAME, day)
    view: RunView | None = standing(earlier) if earlier else None
    made = view is None
    if not dry_run and (view is None or view.status not in (*OVER, "MANUAL_REQUIRED")):
        view = work_on(site, site.app.start(site.report.workflow, day if view is None else view.day))
    row: dict[str, object] = {
        "date": day.date.isoformat(),
        "runId": None if view is None else view.id,
        "status": None if view is None else view.status,
        "started": made and view is not None,
    }
    if not as_json:
        click.echo(f"{row['date']}  {row['status'] or _('would be started'):<16}  {row['runId'] or ''}".rstrip())
    return row


def _sum_up(rows: list[dict[str, object]], *, dry_run: bool) -> None:
    if dry_run:
        missing = sum(row["runId"] is None for row in rows)
        chat(_("Days: {total}; without a report: {missing}. Nothing was changed.").format(total=len(rows), missing=missing))
        return
    started, good = sum(row["started"] is True for row in rows), sum(row["status"] in DONE for row in rows)
    chat(_("Days: {total}; reported: {good}; started now: {started}.").format(total=len(rows), good=good, started=started))
    if good < len(rows):
        chat(_("What the others need is told by: report status RUN"))
