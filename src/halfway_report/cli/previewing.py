"""`report run --dry-run`: what a report would be made from, without a run, a model or a page."""

from __future__ import annotations

import json
from datetime import timedelta

import click

from halfway_report.cli.printing import chat, print_json
from halfway_report.collect import collect
from halfway_report.context import context_for
from halfway_report.git import GitError
from halfway_report.language import _, retold
from halfway_report.models import Context, Day
from halfway_report.settings import ReportSettings

_PATIENCE = timedelta(minutes=5)


def preview(settings: ReportSettings, day: Day) -> Context:
    """The context of a day, as BUILD_CONTEXT would make it."""
    project = settings.projects[day.project]
    return context_for(collect(day.project, day.date, project, within=_PATIENCE), project)


def print_preview(settings: ReportSettings, day: Day, *, as_json: bool) -> None:
    """Prints the context; of secrets it holds none, they are taken out before."""
    try:
        context = preview(settings, day)
    except GitError as error:
        raise click.ClickException(retold(error)) from error
    if as_json:
        print_json(json.loads(context.canonical()))
        return
    for commit in context.collection.commits:
        click.echo(f"{commit.sha[:12]}  {commit.repository}  {commit.subject}")
    for line in (*context.collection.warnings, *context.left_out):
        click.echo(f"- {retold(line)}")
    told = _("Commits on {date}, the whole day in {zone}: {count}. Nothing was written or sent.")
    chat(told.format(count=len(context.collection.commits), date=day.date, zone=context.collection.zone))
