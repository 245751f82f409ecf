"""Deleting what is old."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import click

from halfway.cli.i18n import _
from halfway.cli.options import giver, person, where
from halfway.cli.output import chat, print_json, table
from halfway.cli.place import control, find_place
from halfway.command import answering
from halfway.control.cleaning import Progress, Report
from halfway.errors import InvalidInput

NOTES = {
    "deleted.runs": "Runs whose history is deleted",
    "deleted.records": "records",
    "deleted.attempts": "attempts",
    "deleted.journal": "lines of journals",
    "deleted.evidence": "pieces of evidence",
    "deleted.calls": "calls of tools",
    "deleted.waits": "waits",
    "deleted.inputs": "inputs that were corrected",
    "deleted.former": "records that were set aside",
    "deleted.messages": "messages",
    "deleted.children": "entries about runs that were started by them",
    "deleted.artifacts": "artifacts",
    "deleted.events": "events that lose their contents",
    "deleted.batches": "batches",
    "deleted.audit": "entries of the audit log",
    "deleted.keys": "keys, with what was known of their runs",
    "deleted.ticks": "times of schedules, with what became of them",
    "deleted.eventIds": "ids of events",
    "deleted.files": "files of artifacts that nothing names",
    "kept.attempt": "runs with an attempt of which nobody knows what happened",
    "kept.record": "runs of which something is open or asks a person",
    "kept.undo": "runs with an undo that did not end well",
    "kept.resource": "runs that hold a resource",
    "kept.hold": "runs that hold a business record",
    "kept.message": "runs about which a message was not handed over",
    "kept.task": "runs that are still to start another",
    "kept.wait": "runs for which another waits",
    "kept.parent": "runs that another one has started, which is kept",
    "kept.child": "runs that have started one which goes on",
    "kept.batch": "runs in a batch that has not ended",
    "kept.busy": "what is just being used",
    "kept.event": "events that are still needed",
    "kept.audit": "entries about runs that go on",
    "kept.shared": "folder of artifacts that another database uses, too, so that none of its files was deleted",
    "kept.key": "keys under which a younger run stands",
    "stage.runs": "runs",
    "stage.rest": "what belonged to them",
    "stage.events": "events",
    "stage.batches": "batches",
    "stage.artifacts": "artifacts",
    "stage.audit": "audit log",
    "stage.keys": "keys",
    "stage.ticks": "times of schedules",
    "stage.eventIds": "ids of events",
    "stage.files": "files",
}


@click.command(short_help="Delete what is older than your retention says.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--type", "kind", metavar="TYPE", help="Only of this workflow; also of one that the app does not have any more.")
@click.option("--reason", metavar="TEXT", default="retention", show_default=True, help="Why; it is kept in the audit log.")
@giver
@where
@answering
def cleanup(
    *, dry_run: bool, kind: str | None, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool
) -> None:  # fmt: skip
    """Delete what is older than the retention of the app says: histories of runs that have ended, artifacts, audit entries, keys.

    It may be stopped at any moment, and may run beside workers and beside another one. What something still needs stays.
    """
    if find_place(app, url).app is None:
        remedy = "Name it with --app module:name."
        raise InvalidInput("CONFIG_INVALID", source="of the cleanup", problem="how long runs are kept stands in the app.", remedy=remedy)
    with control(app, url, code=True) as runs, progress() as told, stoppable() as stop:
        report = runs.cleaning.run(actor=person(actor), reason=reason, type=kind, dry_run=dry_run, told=told, stop=stop)
    if as_json:
        print_json(report.to_json())
        return
    _print(report)


def _print(report: Report) -> None:
    rows = [(_told("deleted", kind), str(count)) for kind, count in report.deleted.items()]
    if rows:
        table((_("would be deleted") if report.dry_run else _("deleted"), ""), rows)
    kept = [(_told("kept", reason), str(count)) for reason, count in report.kept.items()]
    if kept:
        table((_("old, but kept"), ""), kept)
    if report.stopped:
        chat(_("Stopped; the rest is left to the next time."))
    elif not rows:
        chat(_("Nothing is old enough to be deleted."))
    elif report.dry_run:
        chat(_("Nothing was changed. What belongs to the runs goes with them; keys and files can be more when that is done."))


def _told(about: str, name: str) -> str:
    text = NOTES.get(f"{about}.{name}")
    return name if text is None else _(text)


@contextmanager
def stoppable() -> Generator[Callable[[], bool]]:
    """Whether a signal has asked to stop: the batch that is under way ends, and what was deleted is told. A second one does not wait."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    former = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def progress() -> Generator[Callable[[Progress], None]]:
    """A bar on a terminal; elsewhere nobody watches."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Bars(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda one: bar.update(task, total=one.total, completed=min(one.done, one.total), description=_told("stage", one.what.value))
