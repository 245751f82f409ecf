"""What an order would do, told before it is given."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from halfway.cli.i18n import _
from halfway.cli.items import again
from halfway.cli.options import giver, person, where
from halfway.cli.orders import BACK_FROM, NEW_INPUT, RUN, UNDO
from halfway.cli.output import coloured, heading, print_json
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.desk import PlanShown
from halfway.domain.facts import Approved, CancelAsked, CompensateAsked, MarkedSuccess, Order, Rejected, ResumeAsked, RetryAsked, SkipAsked
from halfway.domain.plan import Undoing
from halfway.domain.undo import Fate

OF_STEP = ("retry", "skip", "mark-success", "approve", "reject")
ACTIONS = click.Choice(["resume", "retry", "skip", "mark-success", "compensate", "cancel", "approve", "reject"])


class Asked(NamedTuple):
    """An order that is being thought about, as it would be typed."""

    action: str
    step: str | None
    options: tuple[str, ...]
    order: Order


@click.command(short_help="Say what an order would do, before it is given.")
@RUN
@click.argument("action", type=ACTIONS)
@click.argument("target", metavar="[STEP]", required=False)
@click.option("--not-happened", is_flag=True, help="retry: you made sure that the effect did not happen.")
@click.option("--gone", is_flag=True, help="retry: you made sure that the process of the attempt is dead.")
@NEW_INPUT
@BACK_FROM
@UNDO
@giver
@where
@answering
def plan(*, run: str, action: str, target: str | None, not_happened: bool, gone: bool, new_input: str | None, step: str | None, undo: bool,
    actor: str | None, app: str | None, url: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Say what ACTION would do to RUN now: what runs again and what does not, who is asked, what is undone. Nothing is changed.

    The plan has a hash. Whoever confirms it with --plan HASH is refused if the run has moved since.
    """
    flags = {"--not-happened": not_happened, "--gone": gone, "--input": new_input is not None, "--compensate": undo}
    asked = _asked(action, target, step, flags, person(actor))
    with control(app, url) as runs:
        shown = runs.plan(run, asked.order)
        seen = runs.seen(run, asked.step) if asked.step is not None and action in ("approve", "reject") else None
    command = _command(asked, shown, seen)
    if as_json:
        print_json({**shown.to_json(), "action": action, "step": asked.step, "confirm": command})
        return
    _print(shown, asked)
    click.echo()
    click.echo(_("Confirm it with:"))
    click.echo(f"  {click.style(command, fg='cyan')}")


def _asked(action: str, target: str | None, back_from: str | None, flags: dict[str, bool], actor: str) -> Asked:
    allowed = {"retry": ("--not-happened", "--gone", "--input"), "cancel": ("--compensate",)}.get(action, ())
    given = [name for name, is_given in flags.items() if is_given] + (["--from"] if back_from is not None else [])
    wrong = [name for name in given if name not in allowed and not (name == "--from" and action == "compensate")]
    if wrong:
        raise click.UsageError(_("{option} means nothing to {action}.").format(option=wrong[0], action=action))
    if (target is None) is (action in OF_STEP):
        told = _("{action} needs a step: halfway plan RUN {action} STEP") if target is None else _("{action} is about the whole run.")
        raise click.UsageError(told.format(action=action))
    options = tuple(name for name in given if name != "--from")
    return Asked(action, target or back_from, options, _order(action, target or back_from, flags, actor))


def _order(action: str, step: str | None, flags: dict[str, bool], actor: str) -> Order:
    name = step or ""
    made: dict[str, Order] = {
        "resume": ResumeAsked(),
        "retry": RetryAsked(name, flags["--not-happened"], flags["--gone"], flags["--input"]),
        "skip": SkipAsked(name),
        "mark-success": MarkedSuccess(name),
        "compensate": CompensateAsked(step),
        "cancel": CancelAsked(flags["--compensate"]),
        "approve": Approved(name, actor),
        "reject": Rejected(name, actor),
    }
    return made[action]


def _command(asked: Asked, shown: PlanShown, seen: str | None) -> str:
    """What is typed to confirm it."""
    words = ["halfway", asked.action, shown.run]
    if asked.step is not None:
        words += ["--from", asked.step] if asked.action == "compensate" else [asked.step]
    words += [f"{option} '…'" if option == "--input" else option for option in asked.options]
    if asked.action == "mark-success":
        words.append("--output '…'")
    if asked.action == "mark-success" or "--not-happened" in asked.options:
        words.append("--evidence '…'")
    if asked.action not in ("approve", "reject"):
        words += ["--plan", shown.plan.hash]
    elif seen is not None:
        words += ["--seen", shlex.quote(seen)]
    else:
        words += ["--expected", str(shown.revision)]
    return " ".join([*words, "--reason '…'"])


# ── in plain words ──


def _print(shown: PlanShown, asked: Asked) -> None:
    told, plan = " ".join(filter(None, [asked.action, asked.step, *asked.options])), shown.plan
    heading(_("{action}: {type} {run}, revision {revision}").format(action=told, type=shown.type, run=shown.run, revision=shown.revision))
    before, after = coloured(plan.before.value), coloured(plan.after.value)
    click.echo(f"  {_('The run is {before} and would then be {after}.').format(before=before, after=after)}")
    for name, steps in _lines(shown):
        click.echo(f"  {name}: {', '.join(steps) or _('nothing')}")
    if plan.undone:
        click.echo(f"  {_('Undone, the last one first')}:")
        for one in plan.undone:
            click.echo(f"    {one.step}: {_fate(one)}")
    for step, role in plan.approvals:
        click.echo(f"  {_('A person must decide about {step}: {role}').format(step=step, role=role)}")
    click.echo(f"  {_('Hash of this plan: {hash}').format(hash=plan.hash)}")


def _lines(shown: PlanShown) -> Iterator[tuple[str, Sequence[str]]]:
    plan = shown.plan
    yield _("Runs again"), again(plan)
    yield _("Does not run again"), plan.kept
    optional = [
        (_("Is checked first"), plan.checked),
        (_("The outside world is asked about"), plan.probed),
        (_("Runs afterwards, if the others succeed"), plan.ahead),
        (_("Will not run"), plan.dropped),
        (_("Can start at once"), plan.ready),
    ]
    yield from ((name, steps) for name, steps in optional if steps)


FATES = {
    "UNDONE": "its compensation undoes it (risk {risk})",
    "APPROVAL": "its compensation undoes it (risk {risk}), once {approver} has approved that",
    "OUTPUT_UNKNOWN": "it happened and then failed: its probe is asked what it gave, else {approver} puts it right by hand",
    "NO_UNDO": "no machine undoes it: {approver} puts it right by hand, or accepts it as it is",
    "STAYS": "it stays, as the definition says",
    "KEPT": "it stays: it was done after the step from which the run is undone",
    "DONE": "it is undone already",
}


def _fate(one: Undoing) -> str:
    if one.children and one.fate == Fate.UNDONE:
        return _("its runs are asked to undo what they did, as their own steps say")
    return _(FATES[one.fate]).format(risk=one.risk, approver=one.approver)
