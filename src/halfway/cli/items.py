"""Items of a step: how many there are in each state, those that went wrong, and a page of them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from halfway.cli.i18n import _, translated
from halfway.cli.options import where
from halfway.cli.output import bounded, chat, coloured, print_json, table
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.items import ItemShown, ItemsShown
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.plan import Plan

STATUSES = click.Choice([status.value for status in RecordStatus], case_sensitive=False)


@click.command(short_help="List the items of a step that is done for many.")
@click.argument("run")
@click.argument("step")
@click.option("--status", type=STATUSES, help="Only items in this state.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many, in the order of the list.")
@click.option("--after", type=click.IntRange(0), default=0, metavar="NUMBER", help="Those after this one: the number in the first column.")
@where
@answering
def items(
    *, run: str, step: str, status: str | None, limit: int, after: int, app: str | None, url: str | None, as_json: bool
) -> None:  # fmt: skip
    """List the items of STEP in RUN, in the order of their list; of a step that starts runs, with the run of each.

    RUN is its id, its key, or the last 6 or more characters of its id. Of a loop it is the last round.
    """
    with control(app, url) as runs:
        found = runs.items(run, step, status=None if status is None else status.upper(), limit=limit, after=after)
    if as_json:
        print_json([one.to_json() for one in found])
        return
    if not found:
        chat(_("Step {step} has no such items.").format(step=step))
        return
    rows = [
        (str(one.number), bounded(one.key, 60), one.status, str(one.attempts or ""), one.effect, one.run or "", _error(one))
        for one in found
    ]
    table((_("no."), _("item"), _("status"), _("attempts"), _("effect"), _("run"), _("error")), rows)
    if len(found) == limit:
        chat(_("There may be more; see --limit and --after."))


def how_many(items: ItemsShown) -> str:
    """How far a step has come that is done for many."""
    told = [_("{done:,} of {total:,} done").format(done=items.succeeded, total=items.total)]
    parts = (
        (items.failed, _("{n:,} failed")),
        (items.asking, _("{n:,} not known")),
        (items.unknown - items.asking, _("{n:,} being looked for")),
        (items.running, _("{n:,} running")),
        (items.in_line, _("{n:,} in line")),
        (items.not_begun, _("{n:,} not begun")),
        (items.skipped, _("{n:,} left out")),
    )
    return ", ".join([*told, *(text.format(n=number) for number, text in parts if number)])


def went_wrong(items: ItemsShown, command: str) -> Iterator[str]:
    """A line for each of those in doubt or failed that are named, and where the others are found."""
    for one in items.troubled:
        run = f"  {one.run}" if one.run else ""
        yield f"{bounded(one.key, 60)}  {coloured(one.status)}{run}  {_error(one)}".rstrip()
    more = items.unknown + items.failed - len(items.troubled)
    if more > 0:
        yield _("and {n:,} more: {command}").format(n=more, command=command)


def _error(one: ItemShown) -> str:
    code = one.error_code if one.error_code and not one.message.startswith(one.error_code) else ""
    return bounded(f"{code} {translated(one.message)}".strip(), 90)


def again(plan: Plan) -> tuple[str, ...]:
    """What runs again; of a step that is done for many, how many of its items or of its runs."""
    numbers = {one.step: one for one in plan.items}
    texts = {True: _("{step} (runs: {n:,})"), False: _("{step} (items: {n:,})")}
    told = ((step, numbers.get(step)) for step in plan.again)
    return tuple(step if many is None else texts[many.children].format(step=step, n=many.items) for step, many in told)
