"""What starts runs at certain times: listed, paused, started by hand; and runs for times that have passed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import click

from halfway.cli.i18n import _, translated
from halfway.cli.options import giver, person, where, why
from halfway.cli.output import bounded, chat, heading, print_json, short_time, table
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.schedules import Backfill, ScheduleShown
from halfway.control.shown import instant, rfc3339
from halfway.domain.spec import ScheduleSpec
from halfway.errors import Exit
from halfway.ports import TickRow

TYPE = click.argument("kind", metavar="TYPE")
NAME = click.argument("name", metavar="NAME")
DAY_LONG = 10  # 2026-10-01


@click.group(short_help="Look at schedules, pause them, start runs by hand.")
def schedule() -> None:
    """List what starts runs at certain times, pause it, or start a run by hand."""


@schedule.command("list", short_help="List schedules, and when they are due.")
@click.option("--type", "kind", metavar="TYPE", help="Only those of this workflow.")
@where
@answering
def list_schedules(*, kind: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """List the schedules of all workflows, and when each is due."""
    with control(app, url) as runs:
        found = runs.schedules.list(type=kind)
    if as_json:
        print_json([one.to_json() for one in found])
        return
    if not found:
        chat(_("There are no schedules."))
        return
    titles = (_("workflow"), _("schedule"), _("state"), _("when"), _("zone"), _("next"), _("waits"), _("error"))
    table(titles, [_line(one) for one in found])


@schedule.command(short_help="Say when a schedule is due, and what became of its last ticks.")
@TYPE
@NAME
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="At most so many ticks, the newest first.")
@where
@answering
def show(*, kind: str, name: str, limit: int, app: str | None, url: str | None, as_json: bool) -> None:
    """Say when the schedule NAME of the workflow TYPE is due, and what became of its last ticks."""
    with control(app, url) as runs:
        shown = runs.schedules.show(kind, name, limit=limit)
    _print(shown, as_json)


@schedule.command(short_help="Start nothing for a schedule until it is resumed.")
@TYPE
@NAME
@why
@giver
@where
@answering
def pause(*, kind: str, name: str, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Start nothing for a schedule until it is resumed. What was due meanwhile is then caught up as its catch_up= says."""
    with control(app, url, code=True) as runs:
        _print(runs.schedules.pause(kind, name, actor=person(actor), reason=reason), as_json)


@schedule.command(short_help="Go on with a schedule that was paused.")
@TYPE
@NAME
@why
@giver
@where
@answering
def resume(*, kind: str, name: str, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Go on with a schedule that was paused."""
    with control(app, url, code=True) as runs:
        _print(runs.schedules.resume(kind, name, actor=person(actor), reason=reason), as_json)


@schedule.command(short_help="Start a run as if the schedule were due now.")
@TYPE
@NAME
@why
@giver
@where
@answering
def trigger(*, kind: str, name: str, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Start a run as if the schedule were due now, also while it is paused or an earlier run goes on. Needs the app's code."""
    with control(app, url, code=True) as runs:
        run_id = runs.schedules.trigger(kind, name, actor=person(actor), reason=reason)
    if as_json:
        print_json({"workflowRunId": run_id})
        return
    click.echo(run_id)


# ── times that have passed ──


def time_or_day(context: click.Context, parameter: click.Parameter, value: str) -> datetime:
    """A time with a zone, or a day; a day is one of the schedule's zone, and has none yet."""
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        found = None
    if found is None or (found.tzinfo is None and len(value) != DAY_LONG):
        told = _("{text} is no time. Write it as 2026-10-01T18:00:00Z, or as a day: 2026-10-01.").format(text=value)
        raise click.BadParameter(told, context, parameter)
    return found


@click.command(short_help="Start runs for times that have passed.")
@TYPE
@NAME
@click.option("--from", "since", required=True, metavar="TIME", callback=time_or_day, help="The first: RFC 3339, or a day.")
@click.option(
    "--to", "until", required=True, metavar="TIME", callback=time_or_day, help="The last: RFC 3339, or a day, which counts whole."
)
@click.option(
    "--concurrency", type=click.IntRange(1, 1000), default=1, show_default=True, metavar="N", help="At most so many open at once."
)
@click.option("--dry-run", is_flag=True, help="Only say for which times it would start a run.")
@click.option("--reason", metavar="TEXT", default="", help="Why; required unless it is a dry run, and kept in the audit log.")
@giver
@where
@answering
def backfill(
    *, kind: str, name: str, since: datetime, until: datetime, concurrency: int, dry_run: bool, reason: str, actor: str | None,
    app: str | None, url: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Start a run for every time between --from and --to at which the schedule NAME was due and that has none yet.

    The oldest is first, and at most --concurrency of them are open at once. Type the same again to go on where it was stopped; a time
    that has a run gets no other. Exit code 4 if no run could be made for some. Needs the app's code, unless it is a dry run.
    """
    with control(app, url, code=True) as runs:
        zone = ZoneInfo(runs.schedules.show(kind, name).row.spec.zone)
        first, last = _bounds(since, until, zone)
        if dry_run:
            _print_foreseen(runs.schedules.foresee(kind, name, first, last), as_json)
            return
        if not reason.strip():
            raise click.UsageError(_("Say why with --reason '…'; it is kept in the audit log."))
        with _progress() as told:
            done = runs.schedules.backfill(
                kind, name, first, last, actor=person(actor), reason=reason, concurrency=concurrency, told=told
            )  # fmt: skip
    _print_backfill(done, as_json)
    if done.failed:
        click.get_current_context().exit(Exit.CONFLICT)


def _bounds(since: datetime, until: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    first = since.replace(tzinfo=zone) if since.tzinfo is None else since
    last = datetime.combine(until.date(), time.max, zone) if until.tzinfo is None else until
    return first, last


@contextmanager
def _progress() -> Generator[Callable[[Backfill], None]]:
    """A bar on a terminal; elsewhere nobody watches."""
    if not sys.stderr.isatty():
        yield lambda state: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)

        def told(state: Backfill) -> None:
            waits = _("waits for the end of {count}").format(count=state.open) if state.open else ""
            bar.update(task, total=state.total, completed=state.done, description=waits)

        yield told


def _print_foreseen(found: tuple[tuple[datetime, bool], ...], as_json: bool) -> None:
    if as_json:
        print_json([{"due": rfc3339(due), "started": has} for due, has in found])
        return
    for due, has in found:
        click.echo(f"{due.isoformat()}  {_('has a run') if has else _('would be started')}")
    missing = sum(not has for _due, has in found)
    chat(_("Times: {total}; without a run: {missing}. Nothing was changed.").format(total=len(found), missing=missing))


def _print_backfill(done: Backfill, as_json: bool) -> None:
    if as_json:
        print_json(done.to_json())
        return
    for due, error in done.failed:
        click.echo(f"{rfc3339(due)}  {bounded(translated(error), 200)}")
    told = _("Times: {total}; had a run: {had}; started: {started}; nothing to start: {declined}; failed: {failed}.")
    chat(told.format(total=done.total, had=done.had, started=done.started, declined=done.declined, failed=len(done.failed)))


# ── printing ──


def when(spec: ScheduleSpec) -> str:
    """When it is due, in words."""
    if spec.cron:
        return spec.cron
    if spec.every is not None:
        return _("every {time}").format(time=timedelta(microseconds=spec.every))
    return short_time(instant(spec.at or 0))


def _line(one: ScheduleShown) -> tuple[str, ...]:
    row = one.row
    following = one.coming[0].isoformat() if one.coming else ""
    return (
        row.type, row.name, one.state, when(row.spec), row.spec.zone, following, str(one.waiting or ""),
        bounded(translated(one.error or ""), 100),
    )  # fmt: skip


def _print(shown: ScheduleShown, as_json: bool) -> None:
    if as_json:
        print_json(shown.to_json(ticks=True))
        return
    row, spec = shown.row, shown.row.spec
    heading(f"{row.type}:v{row.version} {row.name}")
    policies = _("overlap {overlap}  catch-up {catch_up}").format(overlap=spec.overlap.value, catch_up=spec.catch_up.value)
    click.echo(f"  {shown.state}  {when(spec)}  {spec.zone}  {policies}")
    if shown.error is not None:
        click.echo(f"  {_('error')}: {bounded(translated(shown.error), 200)}")
    for due in shown.coming:
        click.echo(f"  {_('next')}: {due.isoformat()}")
    for missed in shown.missed:
        told = _("missed: {count}, from {first} to {last}")
        click.echo(f"  {told.format(count=missed.total, first=short_time(instant(missed.first)), last=short_time(instant(missed.last)))}")
    if shown.ticks:
        titles = (_("due"), _("outcome"), _("run"), _("state"), _("reason"), _("error"))
        table(titles, [_tick(tick) for tick in shown.ticks], indent="  ")


def _tick(tick: TickRow) -> tuple[str, ...]:
    origin = "" if tick.origin == "SCHEDULE" else f" ({tick.origin})"
    error = "" if tick.error is None else bounded(translated(tick.error), 100)
    return (short_time(instant(tick.due)), tick.outcome + origin, tick.run_id or "", tick.status or "", tick.reason, error)
