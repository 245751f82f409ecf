"""The worker: a small parent that watches over a child with the app's code."""

from __future__ import annotations

import logging
import os
import sys

import click

from halfway.app import Halfway
from halfway.cli.i18n import language
from halfway.cli.mishaps import mishap_of
from halfway.cli.options import where
from halfway.cli.place import find_place, load_app
from halfway.command import answering
from halfway.errors import Exit, InvalidInput
from halfway.ports import Lives

QUEUES = click.option("--queue", "queues", multiple=True, metavar="NAME", help="Serve this queue; may be repeated. All queues if left out.")
SLOTS = click.option("--slots", type=click.IntRange(1, 1000), default=8, show_default=True, help="Attempts of async steps at once.")
THREADS = click.option("--threads", type=click.IntRange(1, 1000), help="Attempts of other steps at once; as many as slots, at most 32.")


@click.command(short_help="Execute steps until stopped.")
@QUEUES
@SLOTS
@THREADS
@where
@answering
def worker(*, queues: tuple[str, ...], slots: int, threads: int | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Execute steps until stopped.

    SIGTERM or Ctrl-C stops it in good order: nothing new is begun, what runs gets time to end. A second signal kills it.
    """
    from halfway.engine.parent import Parent

    _log()
    given = {"--app": app, "--url": url, "--lang": language(), "--slots": str(slots), "--threads": str(threads) if threads else None}
    options = [f"{name}={value}" for name, value in given.items() if value] + [f"--queue={queue}" for queue in queues]
    child = [sys.executable, "-P", "-m", "halfway.cli", "_worker-child", *options, *(["--json"] if as_json else [])]
    sys.exit(Parent(child, _lives).run())


def _lives(url: str) -> Lives:
    from halfway.store import open_store

    return open_store(url, create=False).lives


@click.command(hidden=True)
@QUEUES
@SLOTS
@THREADS
@click.option("--report", type=int, required=True)
@click.option("--lifeline", type=int, required=True)
@click.option("--parent", type=int, required=True)
@where
@answering
def child(*, queues: tuple[str, ...], slots: int, threads: int | None, report: int, lifeline: int, parent: int, app: str | None,
    url: str | None, as_json: bool,
) -> None:  # fmt: skip
    """The process of a worker that executes the app's code."""
    from halfway.engine.parent import die_with

    die_with(parent, lifeline)
    code = Exit.OK
    try:
        _serve(load_app(find_place(app, url)), queues, slots, threads, report)
    except Exception as error:
        mishap = mishap_of(error)
        click.echo(mishap.json() if as_json else mishap.line(), err=True)
        code = Exit(mishap.exit)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of the author's code that hang must not keep the process


def _serve(app: Halfway, queues: tuple[str, ...], slots: int, threads: int | None, report: int) -> None:
    from halfway.engine.parent import serve

    _log()
    steps = [step for workflow in app.workflows.values() for step in workflow.spec.steps]
    known = sorted({step.queue for step in steps})
    for queue in queues:
        if queue not in known:
            remedy = f"Queues: {', '.join(known)}."
            raise InvalidInput("CONFIG_INVALID", source=f"--queue {queue}", problem="no step uses it.", remedy=remedy)
    if not steps:
        raise InvalidInput("CONFIG_INVALID", source="of the app", problem="it has no workflows.", remedy="Give Halfway(…, workflows=[…]).")
    kill_after = max(step.timeout for step in steps) + int(app.settings.settle * 1_000_000)
    made = app._worker(queues, slots, threads, kill_after=kill_after + MARGIN)  # pyright: ignore[reportPrivateUsage] - a worker with a parent
    serve(made, app.settings, url=app.url, beats=app.store.lives.beats, kill_after=kill_after / 1e6, report=report)


MARGIN = 5_000_000  # microseconds: others rely on the child's death only this long after its parent has killed it


class Line(logging.Formatter):
    """A log line with the ids of the attempt it belongs to, if it belongs to one."""

    def format(self, record: logging.LogRecord) -> str:
        ids = ((name, getattr(record, name, "")) for name in ("workflowRunId", "stepRunId", "correlationId", "jobId"))
        return " ".join([super().format(record), *(f"{name}={id}" for name, id in ids if id)])


def _log() -> None:
    """Chatter of the engine goes to stderr, unless the app has arranged its own logging."""
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(Line("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[to_stderr])
    logging.getLogger("halfway").setLevel(logging.INFO)
