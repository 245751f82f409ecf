"""Versions side by side: what the code at hand means for runs that are open, and moving them to a later version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from halfway.cli.i18n import _, in_words, tell
from halfway.cli.options import confirms, giver, person, where
from halfway.cli.orders import tell_order
from halfway.cli.output import chat, coloured, heading, print_json, table
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.moving import MoveShown
from halfway.control.reading import Control
from halfway.control.versions import EXAMPLES, Group
from halfway.domain.moving import NOTES as REASONS
from halfway.domain.moving import Problem
from halfway.domain.versions import NOTES as CHANGES
from halfway.domain.versions import Difference, Gap, Lacking, Standing
from halfway.errors import Conflict, Exit, InvalidInput, NotAllowed

COLOURS = {Standing.COMPATIBLE: "green", Standing.MOVE: "yellow", Standing.BLOCKED: "red"}


@click.command(short_help="Move runs to a later version of their workflow.")
@click.argument("run", required=False)
@click.option("--all-of", metavar="TYPE:VERSION", help="Every run of this version that has not ended well.")
@click.option("--to", type=int, metavar="VERSION", help="To which version; the newest that takes it over if left out.")
@click.option("--dry-run", is_flag=True, help="Say what would become of it; change nothing.")
@click.option("--reason", metavar="TEXT", help="Why; required unless --dry-run, and kept in the audit log.")
@click.option("--expected", type=int, metavar="REVISION", help="Refuse it if the run has moved since this revision.")
@click.option("--action-id", metavar="ID", help="Your own id of this order; a second one with it changes nothing.")
@confirms
@giver
@where
@answering
def move(*, run: str | None, all_of: str | None, to: int | None, dry_run: bool, reason: str | None, expected: int | None,
    action_id: str | None, plan: str | None, actor: str | None, app: str | None, url: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Move RUN to a later version of its workflow, as its takes_over says. What is done is kept, what is ahead is what that version says.

    Refused while anything of it runs, is in doubt, or waits for a decision. Its id, key, journal and audit log stay.
    """
    if (run is None) is (all_of is None):
        raise click.UsageError(_("Name one run, or many with --all-of TYPE:VERSION."))
    if not dry_run and not (reason or "").strip():
        raise click.UsageError(_("Say why with --reason '…'; it is kept in the audit log."))
    if all_of is not None and (plan is not None or expected is not None or action_id is not None):
        raise click.UsageError(_("--plan, --expected and --action-id are about one run, not about --all-of."))
    given: dict[str, Any] = {"actor": person(actor), "reason": reason or "", "to": to}
    with control(app, url, code=True) as runs:
        if run is None:
            _move_many(runs, all_of or "", given, dry_run=dry_run, as_json=as_json)
        elif dry_run:
            _print_plan(runs.plan_move(run, to=to), as_json)
        else:
            tell_order(runs.move(run, expected=expected, action_id=action_id, plan=plan, **given), as_json)


def _print_plan(shown: MoveShown, as_json: bool) -> None:
    if as_json:
        print_json(shown.to_json())
    else:
        _tell_plan(shown)
    if not shown.move.possible:
        click.get_current_context().exit(Exit.CONFLICT)


def _tell_plan(shown: MoveShown) -> None:
    one = shown.move
    told = _("move: {type} {run}, from version {version} to {to}")
    heading(told.format(type=shown.type, run=shown.run, version=one.version, to=one.to))
    click.echo(f"  {_('The run is {status}.').format(status=coloured(shown.status.value))}")
    for name, steps in _lines(shown):
        click.echo(f"  {name}: {', '.join(steps) or _('nothing')}")
    for problem in one.problems:
        click.echo(f"  {click.style(_reason(problem), fg='yellow' if problem.passes else 'red')}")
    if one.possible:
        click.echo(f"  {_('Hash of this plan: {hash}').format(hash=one.hash)}")
        click.echo()
        click.echo(_("Confirm it with:"))
        command = f"halfway move {shown.run} --to {one.to} --plan {one.hash} --reason '…'"
        click.echo(f"  {click.style(command, fg='cyan')}")
    elif all(problem.passes for problem in one.problems):
        click.echo(f"  {_('It can be moved when that is settled.')}")


def _lines(shown: MoveShown) -> Iterator[tuple[str, Sequence[str]]]:
    one = shown.move
    yield _("Is kept and does not run again"), _named(one.kept)
    optional = [
        (_("Gets its output in another shape"), list(one.made)),
        (_("Goes on with what is recorded"), _named(one.begun)),
        (_("Begins to wait anew"), _named(one.waits)),
        (_("Stays behind, kept aside"), list(one.left)),
    ]
    yield from ((name, steps) for name, steps in optional if steps)
    yield _("Still to be done"), one.ahead


def _named(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [name if former == name else f"{former} → {name}" for former, name in pairs]


def _reason(problem: Problem) -> str:
    return in_words(REASONS[problem.code], dict(problem.params))


def _move_many(runs: Control, which: str, given: dict[str, Any], *, dry_run: bool, as_json: bool) -> None:
    kind, _colon, number = which.rpartition(":")
    if not kind or not number.isdigit():
        raise click.UsageError(_("{text} is not TYPE:VERSION.").format(text=which))
    rows = [_move_one(runs, run, given, dry_run=dry_run) for run in runs.movable(kind, int(number))]
    if as_json:
        print_json([{"workflowRunId": run, "moved": done, "movable": can, "message": told or None} for run, done, can, told in rows])
    else:
        table((_("run"), _("outcome"), ""), [(run, _outcome(done, can), told) for run, done, can, told in rows])
        moved, can, refused = (
            (sum(one) for one in zip(*((done, can, not can) for _run, done, can, _told in rows), strict=True)) if rows else (0, 0, 0)
        )
        chat(_("moved: {moved}, can be moved: {can}, cannot: {refused}").format(moved=moved, can=can - moved, refused=refused))
    if any(not can for _run, _done, can, _told in rows):
        click.get_current_context().exit(Exit.CONFLICT)


def _outcome(done: bool, can: bool) -> str:
    return _("moved") if done else _("can be moved") if can else _("cannot be moved")


def _move_one(runs: Control, run: str, given: dict[str, Any], *, dry_run: bool) -> tuple[str, bool, bool, str]:
    """Its id, whether it was moved, whether it can be, and why not."""
    if dry_run:
        shown = runs.plan_move(run, to=given["to"])
        return run, False, shown.move.possible, " ".join(map(_reason, shown.move.problems))
    try:
        runs.move(run, **given)
    except (Conflict, InvalidInput, NotAllowed) as error:
        return run, False, False, tell(error)
    return run, True, True, ""


# ── check --live ──


def print_impact(groups: Sequence[Group]) -> None:
    """What the code at hand means for the runs that are open."""
    if not groups:
        click.echo(_("No run is open, and none has failed."))
    for group in groups:
        _print_group(group)
    counts = {standing: sum(len(one.runs) for one in groups if one.affected.standing is standing and one.open) for standing in Standing}
    told = _("open runs: {compatible} go on with this code, {move} must be moved first, {blocked} would stand")
    chat(told.format(compatible=counts[Standing.COMPATIBLE], move=counts[Standing.MOVE], blocked=counts[Standing.BLOCKED]))


def exit_of(groups: Sequence[Group]) -> Exit:
    """Whether a deploy of this code would strand runs, or somebody must move some."""
    standings = {group.affected.standing for group in groups if group.open}
    if Standing.BLOCKED in standings:
        return Exit.CONFLICT
    return Exit.NEEDS_PERSON if Standing.MOVE in standings else Exit.OK


def _print_group(group: Group) -> None:
    affected = group.affected
    words = {Standing.COMPATIBLE: _("compatible"), Standing.MOVE: _("needs a move"), Standing.BLOCKED: _("blocked")}
    place = _("{type} v{version} ({hash}), {status} at {steps}: {count} runs").format(
        type=group.type, version=group.version, hash=group.hash[:12], status=group.status.value, steps=", ".join(group.steps) or "-",
        count=len(group.runs),
    )  # fmt: skip
    click.echo(f"{click.style(words[affected.standing], fg=COLOURS[affected.standing])}  {place}")
    more = ", …" if len(group.runs) > EXAMPLES else ""
    click.echo(f"    {', '.join(group.runs[:EXAMPLES])}{more}")
    for lacking in affected.lacking:
        click.echo(f"    {_('step {step} has no code here: {changes}').format(step=lacking.step, changes=_changes(lacking))}")
    if affected.undo_only:
        steps = ", ".join(affected.undo_only)
        click.echo(f"    {_('if it is undone or resumed, the code of {steps} is missing').format(steps=steps)}")
    for problem in (*affected.settle, *affected.refused):
        click.echo(f"    {_reason(problem)}")
    for remedy in _remedies(group):
        click.echo(f"    → {remedy}")


def _changes(lacking: Lacking) -> str:
    return "; ".join(map(_change, lacking.differences))


def _change(one: Difference) -> str:
    return _(CHANGES[one.gap]).format(former=one.former, now=one.now)


def _remedies(group: Group) -> Iterator[str]:
    affected = group.affected
    if affected.standing is Standing.MOVE:
        command = f"halfway move --all-of {group.type}:{group.version} --to {affected.to} --dry-run"
        yield _("Version {to} takes them over: {command}").format(to=affected.to, command=command)
    if affected.standing is not Standing.BLOCKED:
        return
    gaps = {told.gap for one in affected.lacking for told in one.differences}
    if gaps == {Gap.QUEUE}:
        yield _("Start a worker with --queue for that queue, or keep a step in it.")
        return
    yield _("Keep workers with the old code until these runs have ended, or serve both versions: workflows=[old, new].")
    if Gap.NO_WORKFLOW not in gaps:
        yield _("Or raise the version and say with @workflow.takes_over(old, at={{…}}) what becomes of these runs.").format()
