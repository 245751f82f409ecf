"""Orders for many runs: looked at first, kept, carried out at a bounded pace, with an outcome for each run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from halfway.cli.carrying import counts, print_batch, progress
from halfway.cli.i18n import _, translated
from halfway.cli.options import document, giver, person, where, why
from halfway.cli.output import bounded, chat, print_json, short_time, table
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.choosing import ACTIONS, DECISIONS, Filter
from halfway.control.outcomes import BatchShown, Foreseen
from halfway.control.reading import Control
from halfway.control.shown import instant
from halfway.domain.lifecycle import RunStatus
from halfway.errors import Exit

ID = click.argument("batch_id", metavar="ID")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@click.group(short_help="Order something for many runs at once.")
def batch() -> None:
    """Order something for many runs at once: resume, retry, cancel, skip, probe, or settle what is in doubt. Nothing is approved."""


# ── making one ──


def moment(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    """A time with a zone, or how long ago: 30m, 2h, 3d, 1w."""
    if value is None:
        return None
    if value[-1:] in UNITS and value[:-1].isdigit():
        return datetime.now(UTC) - timedelta(**{UNITS[value[-1]]: int(value[:-1])})
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        told = _("{text} is no time. Write it as 2026-10-01T18:00:00Z, or as 30m, 2h, 3d, 1w for how long ago.").format(text=value)
        raise click.BadParameter(told, context, parameter)
    return found


def chosen(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose runs, and what is ordered for them."""
    options = (
        click.argument("action", type=click.Choice(ACTIONS)),
        click.option("--code", metavar="CODE", help="Only runs with a step that has this error code."),
        click.option("--step", metavar="STEP", help="Only this step."),
        click.option("--role", metavar="ROLE", help="Only what this role decides."),
        click.option("--type", "kind", metavar="TYPE", help="Only runs of this workflow."),
        click.option("--version", type=int, metavar="N", help="Only this version of the workflow."),
        click.option(
            "--status", type=click.Choice([one.value for one in RunStatus], case_sensitive=False), help="Only runs in this state."
        ),
        click.option("--since", metavar="TIME", callback=moment, help="Last changed after this: RFC 3339, or 30m, 2h, 3d, 1w ago."),
        click.option("--until", metavar="TIME", callback=moment, help="Last changed before this."),
        click.option(
            "--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="At most so many, the oldest first."
        ),
        click.option("--evidence", metavar="TEXT", help="mark-success, mark-not-happened: what proves it for all of them."),
        click.option("--output", metavar="JSON", callback=document, help="mark-success: what the step would have returned."),
        click.option("--gone", is_flag=True, help="mark-not-happened: you made sure that the processes of the attempts are dead."),
        click.option("--compensate", "undo", is_flag=True, help="cancel: and undo what is done."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _filter(given: dict[str, Any]) -> tuple[str, Filter, dict[str, Any]]:
    """What the options say: the action, which runs, and what belongs to the action."""
    status = given["status"]
    filter = Filter(
        code=given["code"], step=given["step"], role=given["role"], type=given["kind"], version=given["version"],
        status=None if status is None else RunStatus(status.upper()), since=given["since"], until=given["until"],
    )  # fmt: skip
    action = given["action"]
    meant = {"--evidence": action in DECISIONS, "--output": action == "mark-success", "--gone": action == "mark-not-happened"}
    for option, may in {**meant, "--compensate": action == "cancel"}.items():
        if not may and given["undo" if option == "--compensate" else option[2:]]:
            raise click.UsageError(_("{option} means nothing to {action}.").format(option=option, action=action))
    return action, filter, {name: given[name] for name in ("evidence", "output", "gone", "undo") if given[name]}


@batch.command(short_help="Say which runs fit, and what the order would do to each.")
@chosen
@where
@answering
def plan(*, app: str | None, url: str | None, as_json: bool, **given: Any) -> None:
    """Say which runs fit now, and what ACTION would do to each. Nothing is kept or changed."""
    with control(app, url, code=True) as runs:
        _dry_run(runs, given, as_json)


@batch.command(short_help="Keep an order for the runs that fit now.")
@chosen
@click.option("--rate", type=click.IntRange(1), metavar="N", help="At most so many in a minute.")
@click.option("--stop-after", type=click.IntRange(1), metavar="N", help="Stop when so many were refused or have failed anew.")
@click.option("--dry-run", is_flag=True, help="Only say what it would do, as batch plan does.")
@why
@giver
@where
@answering
def create(*, rate: int | None, stop_after: int | None, dry_run: bool, reason: str, actor: str | None, app: str | None, url: str | None,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Keep ACTION for the runs that fit now. Nothing is carried out before: halfway batch run ID"""
    with control(app, url, code=True) as runs:
        if dry_run:
            _dry_run(runs, given, as_json)
            return
        action, filter, arguments = _filter(given)
        made = runs.batches.create(
            action, filter, actor=person(actor), reason=reason, rate=rate, stop_after=stop_after, limit=given["limit"], **arguments
        )
    _created(made, as_json)


def _dry_run(runs: Control, given: dict[str, Any], as_json: bool) -> None:
    action, filter, arguments = _filter(given)
    foreseen = runs.batches.plan(action, filter, limit=given["limit"], **arguments)
    if as_json:
        print_json([one.to_json() for one in foreseen])
        return
    if not foreseen:
        chat(_("There are no such runs."))
        return
    table((_("run"), _("key"), _("step"), _("state"), _("runs again"), _("refused")), [_foreseen(one) for one in foreseen])
    refused = sum(one.plan is None for one in foreseen)
    chat(_("Runs: {total}; would be refused: {refused}. Nothing was changed.").format(total=len(foreseen), refused=refused))
    if len(foreseen) == given["limit"]:
        chat(_("There may be more; see --limit."))


def _foreseen(one: Foreseen) -> tuple[str, ...]:
    made = None if one.plan is None else one.plan.plan
    state = "" if made is None else f"{made.before.value} → {made.after.value}"
    again = "" if made is None else ", ".join(made.again)
    return one.run, bounded(one.key or "", 40), one.step or "", state, again, bounded(translated(one.refused), 200)


def _created(made: BatchShown, as_json: bool) -> None:
    if as_json:
        print_json(made.to_json(items=True))
        return
    click.echo(made.row.batch.id)
    chat(_("Runs: {total}. Carry it out with: {command}").format(total=made.total, command=f"halfway batch run {made.row.batch.id}"))


# ── carrying it out ──


@batch.command(short_help="Carry a batch out, or go on with it.")
@ID
@giver
@where
@answering
def run(*, batch_id: str, actor: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Carry the batch ID out, or go on where it was paused or killed; nothing is done twice.

    Each order is given in the name of whoever made the batch. Exit code 4 if any was refused, or it was stopped.
    """
    with control(app, url, code=True) as runs, progress() as told:
        shown = runs.batches.run(batch_id, actor=person(actor), told=told)
    print_batch(shown, as_json)
    if shown.row.state == "STOPPED" or any(one.item.state in ("REFUSED", "FAILED") for one in shown.items):
        click.get_current_context().exit(Exit.CONFLICT)


@batch.command(short_help="Let a batch rest before its next run.")
@ID
@giver
@where
@answering
def pause(*, batch_id: str, actor: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Let the batch ID rest before its next run. It goes on with: halfway batch run ID"""
    with control(app, url, code=True) as runs:
        print_batch(runs.batches.pause(batch_id, actor=person(actor)), as_json)


@batch.command(short_help="Say what became of each run of a batch.")
@ID
@where
@answering
def show(*, batch_id: str, app: str | None, url: str | None, as_json: bool) -> None:
    """Say what became of each run of the batch ID, and where the run stands now."""
    with control(app, url) as runs:
        print_batch(runs.batches.show(batch_id), as_json)


@batch.command("list", short_help="List batches, the newest first.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="At most so many.")
@where
@answering
def list_batches(*, limit: int, app: str | None, url: str | None, as_json: bool) -> None:
    """List batches, the newest first."""
    with control(app, url) as runs:
        found = runs.batches.recent(limit=limit)
    if as_json:
        print_json([one.to_json() for one in found])
        return
    rows = [
        (one.row.batch.id, one.row.state, one.row.batch.action, one.row.batch.actor, short_time(instant(one.row.at)), counts(one),
         bounded(one.row.batch.reason, 60))
        for one in found
    ]  # fmt: skip
    if not rows:
        chat(_("There are no batches."))
        return
    table((_("batch"), _("state"), _("what"), _("who"), _("created"), _("runs"), _("reason")), rows)


@batch.command("retry-failed", short_help="Make a new batch of what failed in one.")
@ID
@why
@giver
@where
@answering
def retry_failed(*, batch_id: str, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Make a new batch of what was refused in the batch ID, has failed anew, or was left over when it was stopped."""
    with control(app, url, code=True) as runs:
        made = runs.batches.retry_failed(batch_id, actor=person(actor), reason=reason)
    _created(made, as_json)
