"""Being the worker of a run until it has ended or needs something from outside."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import click

from halfway import Run
from halfway.errors import Exit, HalfwayError
from halfway_report import reading
from halfway_report.advice import OVER
from halfway_report.cli.printing import chat
from halfway_report.cli.progress import progress
from halfway_report.cli.site import Site
from halfway_report.language import _
from halfway_report.models import Day
from halfway_report.reading import RunView

UPLOAD = "UPLOAD_NOTION"
_LOOK = timedelta(milliseconds=250)


def work_on(site: Site, run: Run[Day]) -> RunView:
    """Works until there is nothing more to do by itself for this run; no other run is touched.

    Interrupted, also while the worker starts, the run stays as it is, and says how to go on.
    """
    try:
        with site.app.worker(run=run):
            return _watch(site, run)
    except KeyboardInterrupt:
        told = _("Run {run} was interrupted. What is done is kept; go on with: {command}")
        chat(told.format(run=run.id, command=f"report resume {run.id}"))
        raise


def _watch(site: Site, run: Run[Day]) -> RunView:
    refuse_without_code(site, reading.show(site.app, run.id, journal=False))
    with progress() as show:
        while not _at_rest(site, run):
            show(reading.show(site.app, run.id, journal=False))
        view = reading.show(site.app, run.id, journal=False)
        show(view)
    return view


def _at_rest(site: Site, run: Run[Day]) -> bool:
    try:
        site.app.result(run, timeout=_LOOK)
    except HalfwayError as error:
        if error.code != "TIMEOUT_WAITING":
            raise
        return False
    return True


class Refused(click.ClickException):
    """An order that the state of a run does not allow."""

    exit_code = int(Exit.CONFLICT)


def refuse_beside(others: Iterable[RunView], *, than: RunView | None = None) -> None:
    """The revisions of a day have one file and one page: none goes on beside one that is open, or behind a later one."""
    for other in others:
        if other.status not in OVER:
            told = _("Run {run} of this day is {status}. Finish it or cancel it first: report status {run}")
            raise Refused(told.format(run=other.id, status=other.status))
        if than is not None and other.day.revision > than.day.revision:
            told = _("Run {run} is a later revision of this day. Report the day anew with: {command}")
            command = f"report run {other.day.project} --date {other.day.date} --force"
            raise Refused(told.format(run=other.id, command=command))


def refuse_without_code(site: Site, view: RunView) -> None:
    """Refuses to wait for a step that this configuration has no code for: nobody here would ever take it."""
    if site.report.upload_notion is not None or view.status in OVER:
        return
    stopping = view.status in ("CANCEL_REQUESTED", "COMPENSATING")
    if any(step.name == UPLOAD and (step.attempts if stopping else step.status != "SUCCESS") for step in view.steps):
        told = _("Run {run} uploads to Notion, and {file} has no [notion] any more. Write it again, then: report resume {run}")
        raise click.UsageError(told.format(run=view.id, file=site.configuration.path), click.get_current_context())


def refuse_a_model(site: Site) -> None:
    """`--no-llm` holds for the worker of this command; one that is alive already would ask the model."""
    if site.configuration.settings.llm is not None and reading.workers(site.app):
        told = _("--no-llm does not reach the worker that is alive already. Stop it first, or take [llm] out of report.toml.")
        raise click.UsageError(told, click.get_current_context())
