"""How a batch is shown: while it is carried out, and afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

import click

from halfway.cli.i18n import _
from halfway.cli.output import bounded, print_json, short_time, table
from halfway.control.outcomes import BatchShown, ItemShown, Step
from halfway.control.shown import instant


@contextmanager
def progress() -> Generator[Callable[[Step], None]]:
    """A bar on a terminal; elsewhere nobody watches."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)

        def told(step: Step) -> None:
            bar.update(task, total=step.total, completed=step.done, description=_line(step))

        yield told


def _line(step: Step) -> str:
    failed = _("failed: {count}").format(count=step.failures) if step.failures else ""
    waits = _("waits for the outcome of {count}").format(count=step.moving) if step.item is None else ""
    return "  ".join(filter(None, (failed, waits)))


def counts(shown: BatchShown) -> str:
    """Its items by state."""
    return ", ".join(f"{state} {count}" for state, count in sorted(shown.row.counts.items()))


def print_batch(shown: BatchShown, as_json: bool) -> None:
    """A batch with the outcome of each item."""
    if as_json:
        print_json(shown.to_json(items=True))
        return
    batch = shown.row.batch
    click.echo(f"{click.style(batch.id, bold=True)}  {shown.row.state}  {counts(shown)}")
    told = _("{action} by {actor}, {time}: {reason}").format(
        action=batch.action, actor=batch.actor, time=short_time(instant(shown.row.at)), reason=bounded(batch.reason)
    )
    click.echo(told)
    table((_("no."), _("run"), _("step"), _("outcome"), _("run is"), ""), [_row(one) for one in shown.items], indent="  ")


def _row(one: ItemShown) -> tuple[str, ...]:
    told = one.told.get("message", "")
    if "before" in one.told:
        told = f"{one.told['before']} → {one.told['after']}"
    anew = f"  {_('failed anew')}" if one.fails_anew else ""
    status = "" if one.status is None else one.status.value
    return str(one.item.n), one.item.run_id, one.item.step or "", one.item.state, status, bounded(told, 200) + anew
