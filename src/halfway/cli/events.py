"""Messages from outside: sent by hand, and listed."""

from __future__ import annotations

import json

import click
from pydantic import TypeAdapter

from halfway.app import Halfway
from halfway.authoring.values import decode, encode
from halfway.cli.i18n import _
from halfway.cli.options import document, giver, person, where
from halfway.cli.output import bounded, chat, print_json, short_time, table
from halfway.cli.place import control, find_place, load_app
from halfway.command import answering
from halfway.control.events import Sent
from halfway.control.shown import instant, rfc3339
from halfway.domain.spec import Sort
from halfway.errors import Exit
from halfway.ports import EventRow


@click.group(short_help="Send a message that runs wait for, or list what came.")
def event() -> None:
    """Send a message that runs wait for, or list what came."""


@event.command(short_help="Send a message that a run waits for, or that starts one.")
@click.argument("name")
@click.option("--key", required=True, metavar="KEY", help="Which business case it is about.")
@click.option("--id", "provider_id", required=True, metavar="ID", help="The sender's id of it; a repeat under it changes nothing.")
@click.option("--source", metavar="NAME", default="", help="Who gives these ids; the event's name if left out.")
@click.option("--payload", metavar="JSON", default="null", show_default=True, callback=document, help="JSON, @file or - for stdin.")
@giver
@where
@answering
def send(*, name: str, key: str, provider_id: str, source: str, payload: str, actor: str | None, app: str | None, url: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Send the event NAME. It is stored in every case, and given to the run that has waited for it longest.

    Where the app's code is known and one of its workflows takes this event, the payload must be of the event's type. Exit code 4 if
    the run that waited for it waits no longer: it is stored, but nobody gets it.
    """
    place = find_place(app, url)
    known = None if place.app is None else load_app(place)
    adapter = None if known is None else _adapter(known, name)
    if adapter is not None:
        payload = encode(adapter, decode(adapter, payload, what=f"payload of {name}"), what=f"payload of {name}")
    with control(app, url, code=True) as runs:
        sent = runs.send(name, payload, key=key, id=provider_id, source=source, actor=person(actor))
    _tell(sent, as_json)
    if known is not None and adapter is None:
        chat(_("No workflow of the app takes an event of this name: {name}").format(name=name))
    if sent.state == "NOT_DELIVERABLE":
        click.get_current_context().exit(Exit.CONFLICT)


def _adapter(app: Halfway, name: str) -> TypeAdapter[object] | None:
    """The type of the event's payload, if a workflow of the app takes it."""
    for workflow in app.workflows.values():
        trigger = workflow.trigger_functions.get(("EVENT", name))
        if trigger is not None:
            return trigger.adapter
        for step in workflow.spec.steps:
            if step.sort is Sort.EVENT and step.wait is not None and step.wait.name == name:
                return workflow.handlers[step.name].output_adapter
    return None


def _tell(sent: Sent, as_json: bool) -> None:
    if as_json:
        told = {"id": sent.event_id, "state": sent.state, "created": sent.created, "workflowRunId": sent.run_id or sent.closed_run}
        print_json(told)
        return
    click.echo(sent.event_id)
    if not sent.created:
        chat(_("It was received before under this id; nothing was changed."))
    if sent.state == "DELIVERED":
        chat(_("Run {run} has taken it. Look at it with: halfway show {run}").format(run=sent.run_id))
    elif sent.state == "KEPT":
        chat(_("It is kept until somebody waits for it; nobody does at present."))
    else:
        chat(_("It is stored, but nobody gets it: run {run} waited for such an event, and waits no longer.").format(run=sent.closed_run))


@event.command("list", short_help="List messages, the newest first.")
@click.option("--name", metavar="NAME", help="Only events of this name.")
@click.option("--key", metavar="KEY", help="Only about this business case.")
@click.option("--unused", is_flag=True, help="Only those that no run has taken.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many.")
@where
@answering
def list_events(*, name: str | None, key: str | None, unused: bool, limit: int, app: str | None, url: str | None, as_json: bool) -> None:
    """List messages from outside and from steps, the newest first, and which run has taken each."""
    with control(app, url) as runs:
        rows = runs.events(name=name, key=key, unused=unused, limit=limit)
    if as_json:
        print_json([_json(row) for row in rows])
        return
    if not rows:
        chat(_("There are no such events."))
        return
    titles = (_("received"), _("event"), _("key"), _("source"), _("id"), _("run"), _("payload"))
    table(titles, [_line(row) for row in rows])


def _json(row: EventRow) -> dict[str, object]:
    one = row.event
    processed = None if row.processed_at is None else rfc3339(instant(row.processed_at))
    return {
        "id": one.id, "name": one.name, "key": one.key, "source": one.source, "providerId": one.provider_id,
        "payload": json.loads(one.payload), "receivedAt": rfc3339(instant(row.received_at)), "processedAt": processed,
        "workflowRunId": row.run_id,
    }  # fmt: skip


def _line(row: EventRow) -> tuple[str, ...]:
    one = row.event
    return (
        short_time(instant(row.received_at)), one.name, bounded(one.key, 60), one.source, bounded(one.provider_id, 60), row.run_id or "",
        bounded(one.payload, 80),
    )  # fmt: skip
