"""The list of runs."""

from __future__ import annotations

import click

from halfway.cli.i18n import _, tell
from halfway.cli.options import where
from halfway.cli.output import bounded, chat, print_json, short_time, table
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.reading import RunLine
from halfway.domain.lifecycle import RunStatus

STATUSES = click.Choice([status.value for status in RunStatus], case_sensitive=False)


@click.command(short_help="List runs, the newest first.")
@click.option("--status", type=STATUSES, help="Only runs in this state.")
@click.option("--type", "kind", metavar="TYPE", help="Only runs of this workflow.")
@click.option("--search", metavar="TEXT", help="A part of the id, key, resource or correlation id, taken literally.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="At most so many.")
@where
@answering
def runs(*, status: str | None, kind: str | None, search: str | None, limit: int, app: str | None, url: str | None, as_json: bool) -> None:
    """List runs, the newest first."""
    with control(app, url) as found:
        lines = found.runs(status=None if status is None else status.upper(), type=kind, search=search, limit=limit)
        gone = None if lines or not search else found.gone(search)
    if as_json:
        print_json([line.to_json() for line in lines])
        return
    if not lines:
        chat(_("There are no such runs.") if gone is None else tell(gone))
        return
    rows = [
        (line.id, line.status.value, f"{line.type} v{line.version}", bounded(line.key or "", 60), _stands(line), changed)
        for line in lines
        for changed in (short_time(line.updated_at),)
    ]
    table((_("run"), _("status"), _("workflow"), _("key"), _("at"), _("changed")), rows)
    if len(lines) == limit:
        chat(_("There may be more; see --limit and --search."))


def _stands(line: RunLine) -> str:
    """At which steps it stands, and what keeps it from going on."""
    told = {"PAUSED": _("paused"), "LIMIT": _("waits for a limit"), "LINE": _("stands in line")}.get(line.kept_by, "")
    steps = ", ".join(line.current)
    return f"{steps} ({told})".strip() if told else steps
