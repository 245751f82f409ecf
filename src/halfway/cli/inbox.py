"""What waits for a person, across runs; and who ordered what."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import click

from halfway.cli.i18n import _, say, translated
from halfway.cli.items import how_many
from halfway.cli.options import where
from halfway.cli.output import bounded, chat, coloured, print_json, short_time, table
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.desk import Asking
from halfway.errors import Exit

BY_ITSELF = ("PENDING", "RUNNING", "WAITING", "COMPENSATING", "CANCEL_REQUESTED")
Group = tuple[Asking, ...]


@click.command(short_help="List what waits for a person.")
@click.option("--role", metavar="ROLE", help="Only what this role decides.")
@click.option("--limit", type=click.IntRange(1, 1000), default=200, show_default=True, help="At most so many, the oldest first.")
@click.option("--check", "checking", is_flag=True, help="Exit code 5 if anything waits for a person.")
@where
@answering
def inbox(*, role: str | None, limit: int, checking: bool, app: str | None, url: str | None, as_json: bool) -> None:
    """List what waits for a person, the oldest first: what happened, who decides, and what may be ordered.

    Runs that stand at the same step for the same reason are one entry.
    """
    with control(app, url, code=True) as runs:
        asking, counts = runs.inbox(role=role, limit=limit), runs.counts()
    groups = _groups(asking)
    if as_json:
        print_json({"entries": [_json(group) for group in groups], "counts": dict(counts)})
    else:
        _print(groups, counts, len(asking) == limit)
    if checking and asking:
        click.get_current_context().exit(Exit.NEEDS_PERSON)


def _groups(asking: Sequence[Asking]) -> list[Group]:
    """What can be looked at together; approvals too, but each is decided for itself."""
    found: dict[tuple[str, ...], list[Asking]] = {}
    for one in asking:
        found.setdefault((one.type, one.step, one.kind, one.asked, one.role, one.code), []).append(one)
    return [tuple(group) for group in found.values()]


def _json(group: Group) -> dict[str, object]:
    first = group[0]
    return {
        "type": first.type, "step": first.step or None, "kind": first.kind, "asked": first.asked, "role": first.role,
        "members": list(first.members), "errorCode": first.code or None, "runs": [one.to_json() for one in group],
        "bulk": list(_bulk(group)),
    }  # fmt: skip


def _print(groups: Sequence[Group], counts: Mapping[str, int], more: bool) -> None:
    if not groups:
        chat(_("Nothing waits for a person."))
    for group in groups:
        _head(group)
        for one in group:
            _entry(one, alone=len(group) == 1)
        for number, command in enumerate(_bulk(group)):
            if not number:
                click.echo(f"    {_('All of them at once')}:")
            click.echo(f"      {click.style(command, fg='cyan')}")
        click.echo()
    asked = Counter(status for _run, status in {(one.run, one.status) for group in groups for one in group})
    moving = {name: counts.get(name, 0) - asked[name] for name in BY_ITSELF}
    told = ", ".join(f"{name} {count}" for name, count in moving.items() if count > 0)
    click.echo(_("By itself: {told}. Failed: {failed}.").format(told=told or _("nothing"), failed=counts.get("FAILED", 0)))
    if more:
        chat(_("There may be more; see --limit."))


def _head(group: Group) -> None:
    first = group[0]
    asked = _("approval") if first.asked == "APPROVAL" else _("decision")
    step = first.step if first.kind != "COMPENSATION" else _("the compensation of {step}").format(step=first.step)
    step = step or _("as a whole")
    runs = f"  × {len(group)}" if len(group) > 1 else ""
    code = f"  {first.code}" if first.code else ""
    click.echo(f"{coloured(asked, 'UNKNOWN')}  {click.style(f'{first.type} {step}', bold=True)}{code}{runs}  {first.severity}")
    members = ", ".join(first.members)
    click.echo(f"    {_('decides')}: {first.role}{f' ({members})' if members else ''}")
    if first.evidence:
        click.echo(f"    {_('Look at')}: {'; '.join(translated(part) for part in bounded(first.evidence, 500).split('; '))}")
    if first.runbook:
        click.echo(f"    {_('runbook')}: {bounded(first.runbook, 500)}")


def _entry(one: Asking, *, alone: bool) -> None:
    key = f"  {_('key')} {bounded(one.key, 60)}" if one.key else ""
    items = f"  {how_many(one.items)}" if one.items is not None else ""
    click.echo(f"  {one.run}{key}  {one.status}  {_('since {time}').format(time=short_time(one.since))}{items}")
    if one.shown_hash is not None:
        click.echo(f"    {_('shown')}: {bounded(json.dumps(one.shown, ensure_ascii=False), 500)}")
        for command in _answers(one):
            click.echo(f"      {click.style(command, fg='cyan')}")
        return
    if not alone:
        return
    for reason in one.reasons:
        click.echo(f"    {say(reason)}")
    for suggestion in one.next:
        click.echo(f"    {say(suggestion.sentence)}")
        if suggestion.command:
            click.echo(f"      {click.style(suggestion.command, fg='cyan')}")


def _answers(one: Asking) -> Iterator[str]:
    for action in ("approve", "reject"):
        yield f"halfway {action} {one.run} {one.step} --seen {one.shown_hash} --reason '…'"


def _bulk(group: Group) -> Iterator[str]:
    """How all of them are decided at once; an approval never is."""
    first = group[0]
    if len(group) == 1 or first.asked == "APPROVAL" or first.kind in ("CHECK", "RUN") or first.code == "NO_UNDO":
        return
    code = f" --code {first.code}" if first.code else ""
    what = f"--type {first.type} --step {first.step} --role {first.role}{code}"
    if first.effect != "unknown":
        yield f"halfway batch create retry {what} --reason '…' --dry-run"
        return
    yield f"halfway batch create mark-success {what} --output '…' --evidence '…' --reason '…' --dry-run"
    yield f"halfway batch create mark-not-happened {what} --evidence '…' --reason '…' --dry-run"


# ── the audit log ──


@click.command("audit-log", short_help="Say who ordered what, and what was refused.")
@click.option("--run", "run", metavar="RUN", help="Only about this run.")
@click.option("--actor", "who", metavar="NAME", help="Only of this person.")
@click.option("--action", metavar="ACTION", help="Only orders of this kind, as resume or settle.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many, the newest first.")
@where
@answering
def audit_log(*, run: str | None, who: str | None, action: str | None, limit: int, app: str | None, url: str | None, as_json: bool) -> None:
    """Say who ordered what and why, and what was refused, the newest first."""
    with control(app, url) as runs:
        lines = runs.audit_log(run=run, actor=who, action=action, limit=limit)
    if as_json:
        print_json(list(lines))
        return
    if not lines:
        chat(_("There are no such orders."))
        return
    titles = (_("time"), _("who"), _("what"), _("run"), _("step"), _("state"), _("reason"), _("evidence"), _("refused"))
    table(titles, [_line(line) for line in lines])


def _line(line: Mapping[str, object]) -> tuple[str, ...]:
    before, after = line["before"], line["after"]
    moved = str(after) if before == after else f"{before} → {after}"
    at = str(line["at"])[:19].replace("T", " ") + "Z"
    names = ("actorId", "action", "workflowRunId", "step")
    told = tuple(str(line[name] or "") for name in names)
    return (
        at,
        *told,
        moved,
        bounded(str(line["reason"] or ""), 60),
        bounded(str(line["evidence"] or ""), 60),
        bounded(translated(str(line["refused"] or "")), 200),
    )
