"""Starting a run, and waiting for its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol

import click

from halfway.app import Halfway
from halfway.authoring.run import Run
from halfway.authoring.workflow import Workflow
from halfway.cli.i18n import _, say
from halfway.cli.options import document, giver, person, where
from halfway.cli.output import chat, print_json
from halfway.cli.place import find_place, load_app
from halfway.command import answering
from halfway.control.reading import Control, Shown
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.errors import DatabaseError, Exit, NotFound

EXITS = {
    RunStatus.SUCCESS: Exit.OK,
    RunStatus.PARTIAL_SUCCESS: Exit.OK,
    RunStatus.MANUAL_REQUIRED: Exit.NEEDS_PERSON,
    RunStatus.FAILED: Exit.RUN_FAILED,
    RunStatus.CANCELLED: Exit.RUN_FAILED,
    RunStatus.EXPIRED: Exit.RUN_FAILED,
    RunStatus.COMPENSATED: Exit.RUN_FAILED,
}
AT_REST = FINAL | {RunStatus.MANUAL_REQUIRED}
PAUSES = (0.05, 0.5)  # seconds between two looks: at first, later


@click.command(short_help="Start a run, or find the one that stands under its key.")
@click.argument("kind", metavar="TYPE")
@click.option("--input", "text", metavar="JSON", default="{}", show_default=True, callback=document, help="JSON, @file or - for stdin.")
@click.option("--version", type=int, metavar="N", help="Version of the workflow; the newest if left out.")
@click.option("--wait", is_flag=True, help="Wait for the end; the exit code is then the run's: 0, 1 or 5.")
@click.option("--deadline", metavar="TIME", help="No attempt starts after it; ISO 8601 with a time zone.")
@click.option("--priority", type=int, default=0, show_default=True, help="Higher goes first.")
@click.option("--again", metavar="REASON", help="Start a second run under a key whose first run has ended.")
@giver
@where
@answering
def start(*, kind: str, text: str, version: int | None, wait: bool, deadline: str | None, priority: int, again: str | None,
    actor: str | None, app: str | None, url: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Start a run of the workflow TYPE, or find the one that stands under its key. A worker executes it."""
    halfway = load_app(find_place(app, url))
    workflow = _workflow(halfway, kind, version)
    until = None if deadline is None else _moment(deadline)
    run = halfway.start(workflow, workflow.parse(text), deadline=until, priority=priority, again=again, actor=person(actor))
    try:
        _started(run, as_json and not (wait and not run.forgotten), as_json)
        if wait and run.forgotten:
            sys.exit(EXITS[run.status])
        if wait:
            shown = _wait(halfway.control, run.id)
            _ended(shown, run, as_json)
            sys.exit(EXITS.get(shown.status, Exit.NEEDS_PERSON))
    finally:
        halfway.close()


def _workflow(halfway: Halfway, kind: str, version: int | None) -> Workflow[Any]:
    versions = {number: workflow for (name, number), workflow in halfway.workflows.items() if name == kind}
    if not versions:
        raise NotFound("WORKFLOW_UNKNOWN", workflow=kind, known=", ".join(sorted({name for name, _ in halfway.workflows})) or "none")
    number = max(versions) if version is None else version
    if number not in versions:
        raise NotFound("VERSION_UNKNOWN", workflow=kind, version=number, known=", ".join(map(str, sorted(versions))))
    return versions[number]


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise click.UsageError(_("--deadline {text} is no time with a zone. Write it as in 2026-10-01T18:00:00+09:00.").format(text=text))
    return moment


def _started(run: Run[Any], print_it: bool, as_json: bool) -> None:
    if print_it:
        print_json(
            {
                "id": run.id, "type": run.type, "version": run.version, "status": run.status.value, "idempotencyKey": run.key,
                "created": run.created, "forgotten": run.forgotten,
            }
        )  # fmt: skip
    if as_json:
        return
    click.echo(run.id)
    sys.stdout.flush()
    if run.created:
        chat(_("Started. A worker executes it: {command}").format(command="halfway worker"))
    else:
        chat(_("Nothing was started: this run already stands under the key {key}. It is {status}.").format(key=run.key, status=run.status))
        if run.forgotten:
            chat(_("Its history was deleted, as its retention says. A second run under the key can be started with --again."))


def _ended(shown: Shown, run: Run[Any], as_json: bool) -> None:
    if as_json:
        print_json({**shown.to_json(), "created": run.created})
        return
    chat(f"{shown.status.value}  {say(shown.explanation.progress)}")
    for reason in shown.explanation.reasons:
        chat(say(reason))
    for step in shown.steps if shown.status is RunStatus.WAITING else ():
        if step.waits_for:
            told = _("Step {step} waits for {role} to approve it. See what it shows with: halfway inbox")
            chat(told.format(step=step.name, role=step.waits_for))
    if shown.status is not RunStatus.SUCCESS:
        chat(_("Look at it with: {command}").format(command=f"halfway show {run.id}"))


# ── waiting ──


class Progress(Protocol):
    """Something that shows how far a run is."""

    def update(self, status: str) -> None: ...


def _wait(control: Control, run_id: str) -> Shown:
    """Looks until the run has ended or needs a person; an outage of the database is waited out."""
    pause, longest = PAUSES
    told = ""
    with _progress() as progress:
        while True:
            try:
                shown = control.show(run_id, journal=False)
            except DatabaseError as error:
                told = _say_once(told, str(error))
            else:
                if shown.status in AT_REST or _only_asks(shown):
                    return control.show(run_id)
                progress.update(f"{shown.status.value}  {say(shown.explanation.progress)}")
                if shown.explanation.next and shown.explanation.next[0].sentence.code == "START_WORKER":
                    told = _say_once(told, _("No worker is running. Start one: {command}").format(command="halfway worker"))
            time.sleep(pause)
            pause = min(pause * 1.3, longest)


def _only_asks(shown: Shown) -> bool:
    """Whether it waits for nothing but the approval of a person."""
    waiting = [step for step in shown.steps if step.status == RecordStatus.WAITING or step.waits_for]
    return shown.status is RunStatus.WAITING and bool(waiting) and all(step.waits_for for step in waiting)


def _say_once(told: str, text: str) -> str:
    if text != told:
        chat(text)
    return text


class Silent:
    """No terminal: nobody watches."""

    def update(self, status: str) -> None:
        return None


@contextmanager
def _progress() -> Generator[Progress]:
    if not sys.stderr.isatty():
        yield Silent()
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield _Line(status)


class _Line:
    """A spinner and one line of text."""

    def __init__(self, status: Any) -> None:
        self._status = status

    def update(self, status: str) -> None:
        from rich.text import Text

        self._status.update(Text(status))
