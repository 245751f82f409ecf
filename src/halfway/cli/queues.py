"""Queues and workflows as a whole: what they allow, how much of it is used, pausing and going on."""

from __future__ import annotations

import click

from halfway.cli.i18n import _
from halfway.cli.options import giver, person, where, why
from halfway.cli.output import chat, print_json, short_time, table
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.queues import PauseShown, QueueShown

QUEUE = click.argument("name", metavar="QUEUE")
TYPE = click.argument("name", metavar="TYPE")
ACTION_ID = click.option("--action-id", metavar="ID", help="Your own id of this order; a second one with it changes nothing.")


@click.group(short_help="Look at queues, pause and resume them.")
def queue() -> None:
    """Look at queues: what they allow, how much of it is used, who serves them; pause and resume them."""


@queue.command("list", short_help="List queues.")
@where
@answering
def list_queues(*, app: str | None, url: str | None, as_json: bool) -> None:
    """List every queue in which steps wait, with its limits, and how much of them is used."""
    with control(app, url) as runs:
        found = runs.queues.all()
    if as_json:
        print_json([one.to_json() for one in found])
        return
    if not found:
        chat(_("There are no queues: no workflow was registered."))
        return
    titles = (_("queue"), _("at once"), _("in a minute"), _("ready"), _("workers"), _("state"))
    table(titles, [(one.name, _at_once(one), _in_a_minute(one), str(one.ready), str(one.workers), _state(one)) for one in found])


@queue.command(short_help="Say what a queue allows, and how much of it is used.")
@QUEUE
@where
@answering
def show(*, name: str, app: str | None, url: str | None, as_json: bool) -> None:
    """Say what QUEUE allows, how much of it is used, which workflows wait in it, and who serves it."""
    with control(app, url) as runs:
        found = runs.queues.show(name)
    if as_json:
        print_json(found.to_json())
        return
    facts = [
        (_("at once"), _at_once(found)),
        (_("in a minute"), _in_a_minute(found)),
        (_("ready"), str(found.ready)),
        (_("workers"), str(found.workers)),
        (_("workflows"), ", ".join(found.workflows)),
    ]
    click.echo(click.style(found.name, bold=True))
    for title, value in facts:
        click.echo(f"  {title}: {value or '-'}")
    if found.next_at is not None:
        click.echo("  " + _("It begins more at {at}.").format(at=short_time(found.next_at)))
    if found.pause is not None:
        click.echo(f"  {_paused(found.pause)}")
    if not found.workers:
        click.echo("  " + _("Nobody serves it. Start a worker: halfway worker --queue {queue}").format(queue=found.name))


@queue.command(short_help="Begin nothing new of a queue.")
@QUEUE
@ACTION_ID
@why
@giver
@where
@answering
def pause(
    *, name: str, action_id: str | None, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool
) -> None:  # fmt: skip
    """No step of QUEUE begins any more. What runs, ends; probes and undoes go on."""
    with control(app, url) as runs:
        found = runs.queues.pause_queue(name, actor=person(actor), reason=reason, action_id=action_id)
    _told(found.to_json(), as_json, _("Queue {name} is paused. Go on with: halfway queue resume {name} --reason '…'").format(name=name))


@queue.command(short_help="Go on with a queue.")
@QUEUE
@ACTION_ID
@why
@giver
@where
@answering
def resume(
    *, name: str, action_id: str | None, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool
) -> None:  # fmt: skip
    """The steps of QUEUE begin again."""
    with control(app, url) as runs:
        found = runs.queues.resume_queue(name, actor=person(actor), reason=reason, action_id=action_id)
    _told(found.to_json(), as_json, _("Queue {name} goes on.").format(name=name))


@click.group(short_help="Look at workflows as a whole, pause and resume them.")
def workflow() -> None:
    """Look at workflows as a whole; pause and resume them."""


@workflow.command("list", short_help="List workflows.")
@where
@answering
def list_workflows(*, app: str | None, url: str | None, as_json: bool) -> None:
    """List workflows: how many runs of each go at once, and what is paused."""
    with control(app, url) as runs:
        found = runs.queues.workflows()
    if as_json:
        print_json([one.to_json() for one in found])
        return
    titles = (_("workflow"), _("runs at once"), _("for each key"), _("state"))
    rows = [(one.type, _number(one.concurrency), _number(one.concurrency_per_key), _rests(one.pause)) for one in found]
    table(titles, rows)


@workflow.command("pause", short_help="Begin nothing new of a workflow.")
@TYPE
@ACTION_ID
@why
@giver
@where
@answering
def pause_workflow(
    *, name: str, action_id: str | None, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool
) -> None:  # fmt: skip
    """No step of a run of TYPE begins any more. What runs, ends; probes and undoes go on; new runs wait."""
    with control(app, url) as runs:
        found = runs.queues.pause_workflow(name, actor=person(actor), reason=reason, action_id=action_id)
    told = _("Workflow {name} is paused. Go on with: halfway workflow resume {name} --reason '…'").format(name=name)
    _told(found.to_json(), as_json, told)


@workflow.command("resume", short_help="Go on with a workflow.")
@TYPE
@ACTION_ID
@why
@giver
@where
@answering
def resume_workflow(
    *, name: str, action_id: str | None, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool
) -> None:  # fmt: skip
    """The steps of the runs of TYPE begin again."""
    with control(app, url) as runs:
        found = runs.queues.resume_workflow(name, actor=person(actor), reason=reason, action_id=action_id)
    _told(found.to_json(), as_json, _("Workflow {name} goes on.").format(name=name))


def _told(found: dict[str, object], as_json: bool, text: str) -> None:
    if as_json:
        print_json(found)
    else:
        chat(text)


def _at_once(queue: QueueShown) -> str:
    return "" if queue.concurrency is None else _("{used} of {limit}").format(used=queue.running, limit=queue.concurrency)


def _in_a_minute(queue: QueueShown) -> str:
    return "" if queue.per_minute is None else _("{used} of {limit}").format(used=queue.started, limit=queue.per_minute)


def _number(limit: int | None) -> str:
    return "" if limit is None else str(limit)


def _state(queue: QueueShown) -> str:
    return _rests(queue.pause) or (_("nobody serves it") if not queue.workers else "")


def _rests(pause: PauseShown | None) -> str:
    return "" if pause is None else _("paused")


def _paused(pause: PauseShown) -> str:
    return _("Paused by {actor} since {at}: {reason}").format(actor=pause.actor, at=short_time(pause.since), reason=pause.reason)
