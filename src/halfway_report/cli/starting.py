"""`report run`: the report of a day, made once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import click

from halfway_report import reading
from halfway_report.advice import OVER
from halfway_report.cli.options import NO_LLM, a_day, common
from halfway_report.cli.previewing import print_preview
from halfway_report.cli.printing import chat, tell_run
from halfway_report.cli.site import Site, configured, day_of, opened
from halfway_report.cli.working import refuse_a_model, refuse_beside, work_on
from halfway_report.days import DayName
from halfway_report.language import _
from halfway_report.models import Day
from halfway_report.reading import RunView
from halfway_report.workflow import NAME


@click.command(short_help="Make the report of a day.")
@click.argument("project")
@click.option(
    "--date", "wanted", metavar="DAY", callback=a_day, help="2026-09-30, today, yesterday or last-working-day; today if left out."
)
@click.option("--force", is_flag=True, help="Report a day anew that has been reported; the same page and the same file get the new text.")
@NO_LLM
@click.option("--dry-run", is_flag=True, help="Only print what a report would be made from. Nothing is written or sent.")
@common
def run(
    *, project: str, wanted: date | DayName | None, force: bool, no_llm: bool, dry_run: bool, config: Path | None, as_json: bool
) -> None:
    """Make the report of PROJECT for a day. If the day has been reported, show that run, and call nothing."""
    if dry_run:
        configuration = configured(config)
        print_preview(configuration.settings, day_of(configuration, project, wanted), as_json=as_json)
        return
    with opened(config, no_llm=no_llm) as site:
        day = site.day(project, wanted)
        earlier = reading.of_day(site.app, NAME, day)
        if earlier and earlier[-1].status in (*OVER, "MANUAL_REQUIRED") and not force:
            code = _tell_earlier(site, standing(earlier), as_json=as_json)
        else:
            revision = _revision(day, earlier, force=force)
            if no_llm:
                refuse_a_model(site)
            code = _make(site, revision, as_json=as_json)
    click.get_current_context().exit(code)


def standing(earlier: Sequence[RunView]) -> RunView:
    """The revision that has the day: the last one, but for those that were undone and had placed nothing."""
    left = [view for view in earlier if view.status != "COMPENSATED" or view.said("SAVE_MARKDOWN", "placed")]
    return (left or earlier)[-1]


def _tell_earlier(site: Site, view: RunView, *, as_json: bool) -> int:
    chat(_("Run {run} already has this day; nothing was started.").format(run=view.id))
    return tell_run(view, workers=reading.workers(site.app), as_json=as_json)


def _revision(day: Day, earlier: tuple[RunView, ...], *, force: bool) -> Day:
    """The day as it is to be run: the open revision, or with `force` the next one, which may replace the files of those before it."""
    if not earlier:
        return day
    last = earlier[-1]
    if force:
        refuse_beside(earlier)
    elif last.status not in OVER:
        return last.day
    saved = {view.said("SAVE_MARKDOWN", "sha256") for view in earlier} - {""}
    return day.model_copy(update={"revision": last.day.revision + 1, "replaces": tuple(sorted(saved))})


def _make(site: Site, day: Day, *, as_json: bool) -> int:
    started = site.app.start(site.report.workflow, day)
    told = _("Run {run} started.") if started.created else _("Run {run} of this day is open; it goes on.")
    chat(told.format(run=started.id))
    return tell_run(work_on(site, started), workers=reading.workers(site.app), as_json=as_json)
