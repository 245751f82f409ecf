"""The database: its schema, and what would keep runs from going on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import click

from halfway.cli.i18n import _
from halfway.cli.options import where
from halfway.cli.output import chat, coloured, print_json, short_time
from halfway.cli.place import control, find_place, load_app
from halfway.command import answering
from halfway.control.reading import Control, ReadyWork
from halfway.control.shown import instant, rfc3339
from halfway.control.versions import EXAMPLES
from halfway.domain.check import roles_of
from halfway.domain.spec import WorkflowSpec
from halfway.errors import Exit

PATIENCE = 30  # seconds that ready work may wait before it is worth a word
LONG = timedelta(minutes=5)  # that a transaction of somebody else may be open


@click.group(short_help="Create, update and look at the database.")
def db() -> None:
    """Create, update and look at the database."""


@db.command(short_help="Create the tables, or bring them to this version.")
@where
@answering
def migrate(*, app: str | None, url: str | None, as_json: bool) -> None:
    """Create the tables, or bring them to the schema of this version. Safe to repeat; a missing SQLite file is created."""
    from halfway.store import migrate as bring_up_to_date

    applied = bring_up_to_date(_url(app, url))
    if as_json:
        print_json({"applied": [f"{one.number:04}_{one.name}" for one in applied]})
        return
    for one in applied:
        click.echo(f"{one.number:04}_{one.name}")
    chat(_("The schema is up to date."))


@db.command(short_help="Say which schema the database has.")
@where
@answering
def status(*, app: str | None, url: str | None, as_json: bool) -> None:
    """Say which schema the database has, and which one this version needs. Exit code 2 if they differ."""
    from halfway.store import status as read_status

    found = read_status(_url(app, url))
    if as_json:
        applied = [
            {"number": one.number, "name": one.name, "appliedAt": rfc3339(datetime.fromtimestamp(one.applied_at / 1e6, UTC))}
            for one in found.applied
        ]
        print_json({"found": found.found, "needed": found.needed, "applied": applied})
    else:
        for one in found.applied:
            click.echo(f"{one.number:04}_{one.name}  {short_time(datetime.fromtimestamp(one.applied_at / 1e6, UTC))}")
        chat(_("schema {found}, needed {needed}").format(found=found.found, needed=found.needed))
    if found.found != found.needed:
        click.get_current_context().exit(Exit.USAGE)


@db.command(short_help="Say that the database was restored from a copy.")
@click.option("--yes", is_flag=True, help="Without being asked.")
@where
@answering
def restored(*, yes: bool, app: str | None, url: str | None, as_json: bool) -> None:
    """Say that the database was restored from a copy, so that what it does not know may have happened nevertheless.

    The next start of every effect that a machine must not repeat then begins with its probe, or with a person. Stop the workers first.
    """
    if not yes:
        question = _("Were all workers stopped, and was this database restored from a copy? Runs will ask before they go on.")
        click.confirm(question, abort=True, err=True)
    with control(app, url) as runs:
        count = runs.restored()
    if as_json:
        print_json({"runs": count})
        return
    click.echo(str(count))
    chat(_("Open runs that look before they go on: {count}. Workers that still run must be stopped and started again.").format(count=count))


def _url(app: str | None, url: str | None) -> str:
    place = find_place(app, url)
    return place.url if place.url is not None else load_app(place).url


# ── doctor ──


class Note(NamedTuple):
    """Something the doctor saw: ok, note or problem."""

    level: str
    code: str
    params: dict[str, object]

    def json(self) -> dict[str, object]:
        return {"level": self.level, "code": self.code, "message": NOTES[self.code].format(**self.params), "params": self.params}


@click.command(short_help="Look for what would keep runs from going on.")
@where
@answering
def doctor(*, app: str | None, url: str | None, as_json: bool) -> None:
    """Look for what would keep runs from going on: database, schema, workers, roles, work that nobody has the code for."""
    place = find_place(app, url)
    codes = None
    if place.app is not None:
        codes = {step.code for workflow in load_app(place).workflows.values() for step in workflow.spec.steps}
    with control(app, url) as runs:
        notes = [
            *_database(runs),
            *_snapshots(runs),
            *_workers(runs),
            *_queues(runs),
            *_work(runs, codes),
            *_mail(runs),
            *_schedules(runs),
            *_roles(runs.specs()),
        ]
    if as_json:
        print_json([note.json() for note in notes])
        return
    for note in notes:
        sign = {"ok": coloured("✓", "SUCCESS"), "note": coloured("·"), "problem": coloured("!", "UNKNOWN")}[note.level]
        click.echo(f"{sign} {_(NOTES[note.code]).format(**note.params)}")


NOTES = {
    "DATABASE_OK": "Database {url} is there; its schema is {found}, as it should be.",
    "SQLITE_LIFE": "SQLite: workers show that they live by a lock of the operating system. Keep the file on a local disk of one machine. "
    "A worker that is frozen, not dead, counts as alive.",
    "OLD_SNAPSHOT": "Process {pid} of the database server ({name}) has a transaction open since {since}. Until it ends, what was "
    "changed or deleted since then stays in the files, and everything gets slower. End it.",
    "WORKER_ALIVE": "Worker {epoch}: process {pid} on {host}, running {running}, since {since}.",
    "NO_WORKER": "No worker is running. Start one: halfway worker",
    "NOT_SERVED": "Nobody serves the queue {queue}, in which steps of {workflows} wait; ready now: {ready}. "
    "Start a worker: halfway worker --queue {queue}",
    "QUEUE_RESTS": "The queue {queue} is paused since {since}: {reason}",
    "WORKFLOW_RESTS": "The workflow {type} is paused since {since}: {reason}",
    "CODE_MISSING": "{type} v{version}: step {step} is ready, and the app has not the code it needs: {count} runs since {since} ({runs}). "
    "What has changed is said by: halfway check --live",
    "WORK_WAITS": "{type} v{version}: step {step} is ready since {since}, and no worker has taken it (queue {queue}): {count} runs "
    "({runs}). Perhaps none has its code.",
    "UNDELIVERED": "Message {message} ({what} of run {run}) was not handed over to {role} in {tries} tries: {error}",
    "UNUSED_EVENTS": "Events that came more than a day ago and that no run has taken: {count}, the oldest {name} with the key {key}. "
    "See them with: halfway event list --unused",
    "TASK_FAILED": "{kind} {name} (key {key}) should start a run of {type} and could not, {tries} times: {error}",
    "SCHEDULE_FAILED": "Schedule {schedule} of {type} could not start a run and tries again: {error}",
    "SCHEDULE_LATE": "Schedule {schedule} of {type} was due at {due}, and nobody has started a run. Perhaps no worker has its code.",
    "ROLE": "Role {role} decides in {workflows}.",
}


def _database(runs: Control) -> Iterator[Note]:
    schema = runs.schema()
    yield Note("ok", "DATABASE_OK", {"url": schema.url, "found": schema.found})
    if schema.url.startswith("sqlite"):
        yield Note("note", "SQLITE_LIFE", {})


def _snapshots(runs: Control) -> Iterator[Note]:
    for one in runs.cleaning.store.snapshots(LONG // timedelta(microseconds=1)):
        since = short_time(datetime.fromtimestamp(one.began_at / 1e6, UTC))
        yield Note("problem", "OLD_SNAPSHOT", {"pid": one.pid, "name": one.name, "since": since})


def _workers(runs: Control) -> Iterator[Note]:
    alive = [worker for worker in runs.workers() if worker.epoch.state == "ALIVE"]
    for worker in alive:
        since = short_time(datetime.fromtimestamp(worker.started_at / 1e6, UTC))
        told: dict[str, object] = {
            "epoch": worker.epoch.id, "pid": worker.epoch.pid, "host": worker.epoch.host, "running": worker.running, "since": since,
        }  # fmt: skip
        yield Note("ok", "WORKER_ALIVE", told)
    if not alive:
        yield Note("problem", "NO_WORKER", {})


def _queues(runs: Control) -> Iterator[Note]:
    """Queues that nobody serves, though somebody works; and what is paused."""
    found = runs.queues.all()
    served = any(queue.workers for queue in found)
    for queue in found:
        if served and not queue.workers and queue.workflows:
            yield Note("problem", "NOT_SERVED", {"queue": queue.name, "workflows": ", ".join(queue.workflows), "ready": queue.ready})
        if queue.pause is not None:
            told: dict[str, object] = {"queue": queue.name, "since": short_time(queue.pause.since), "reason": queue.pause.reason}
            yield Note("note", "QUEUE_RESTS", told)
    for workflow in runs.queues.workflows():
        if workflow.pause is not None:
            told = {"type": workflow.type, "since": short_time(workflow.pause.since), "reason": workflow.pause.reason}
            yield Note("note", "WORKFLOW_RESTS", told)


def _work(runs: Control, codes: set[str] | None) -> Iterator[Note]:
    """What is ready and stays so, by step: the runs that wait for the same code."""
    now = datetime.now(UTC)
    found: defaultdict[tuple[str, str, int, str, str], list[ReadyWork]] = defaultdict(list)
    for work in runs.ready():
        if codes is not None and work.code not in codes:
            found["CODE_MISSING", work.type, work.version, work.step, work.queue].append(work)
        elif (now - work.since).total_seconds() > PATIENCE:
            found["WORK_WAITS", work.type, work.version, work.step, work.queue].append(work)
    for (code, kind, version, step, queue), works in found.items():
        names = list(dict.fromkeys(work.run for work in works))
        told: dict[str, object] = {
            "type": kind, "version": version, "step": step, "queue": queue, "count": len(names),
            "runs": ", ".join(names[:EXAMPLES]) + (", …" if len(names) > EXAMPLES else ""),
            "since": short_time(min(work.since for work in works)),
        }  # fmt: skip
        yield Note("problem", code, told)


def _mail(runs: Control) -> Iterator[Note]:
    """What somebody should have heard of and has not; what came and nobody took; what should have started and did not."""
    for row in runs.undelivered():
        message = row.message
        told = {"message": message.id, "what": message.what, "run": message.run_id, "role": message.role or "-", "tries": message.tries}
        yield Note("problem", "UNDELIVERED", {**told, "error": row.error or "-"})
    old = runs.unused_events(timedelta(days=1))
    if old:
        yield Note("note", "UNUSED_EVENTS", {"count": len(old), "name": old[-1].event.name, "key": old[-1].event.key})
    for task in runs.failed_tasks():
        told = {"kind": task.task.kind, "name": task.task.name, "key": task.task.key or "-", "type": task.task.type}
        yield Note("problem", "TASK_FAILED", {**told, "tries": task.task.tries, "error": task.error})


def _schedules(runs: Control) -> Iterator[Note]:
    for one in runs.schedules.list():
        told: dict[str, object] = {"schedule": one.row.name, "type": one.row.type}
        if one.error is not None:
            yield Note("problem", "SCHEDULE_FAILED", {**told, "error": one.error})
        elif one.overdue is not None and one.overdue.total_seconds() > PATIENCE:
            yield Note("problem", "SCHEDULE_LATE", {**told, "due": short_time(instant(one.row.next_at or 0))})


def _roles(specs: tuple[WorkflowSpec, ...]) -> Iterator[Note]:
    roles: defaultdict[str, set[str]] = defaultdict(set)
    for spec in specs:
        for role in roles_of(spec):
            roles[role].add(spec.type)
    for role, workflows in sorted(roles.items()):
        yield Note("note", "ROLE", {"role": role, "workflows": ", ".join(sorted(workflows))})
