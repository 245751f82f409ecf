"""One run in plain words: how far it got, what happened, why it stands, and what is safe next."""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from halfway.cli.i18n import _, say, translated
from halfway.cli.items import again, how_many, went_wrong
from halfway.cli.options import where
from halfway.cli.output import bounded, coloured, heading, print_json, seconds, short_time, table
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.reading import EntryShown, Shown
from halfway.control.shown import CallShown, instant
from halfway.control.steps import StepShown, WaitShown
from halfway.domain.explain import EffectView, Suggestion
from halfway.domain.lifecycle import FINAL
from halfway.domain.plan import Plan
from halfway.domain.spec import Sort
from halfway.domain.undo import Fate

TIMES = ("at", "until")  # in the data of the journal


@click.command(short_help="Say how far a run got, what happened, and what is safe next.")
@click.argument("run")
@click.option("--timeline", is_flag=True, help="With everything that happened in it, and who ordered what.")
@where
@answering
def show(*, run: str, timeline: bool, app: str | None, url: str | None, as_json: bool) -> None:
    """Say how far RUN got, which of its effects happened, why it stands, and what is safe next.

    RUN is its id, its key, or the last 6 or more characters of its id. Write -- before a key that begins with a dash.
    """
    with control(app, url) as runs:
        shown = runs.show(run, journal=timeline or as_json)
    if as_json:
        print_json(shown.to_json())
        return
    _head(shown)
    _effects(shown)
    _waits(shown)
    _relatives(shown)
    _why_and_next(shown)
    _steps(shown)
    if timeline:
        _timeline(shown)


def _head(shown: Shown) -> None:
    click.echo(f"{shown.type} v{shown.version}  {click.style(shown.id, bold=True)}")
    facts = [(_("key"), shown.key), (_("resource"), shown.resource), (_("deadline"), short_time(shown.deadline_at))]
    told = "  ".join(f"{name} {bounded(value, 80)}" for name, value in facts if value)
    if told:
        click.echo(told)
    times = [(_("created"), shown.created_at), (_("started"), shown.started_at), (_("ended"), shown.ended_at)]
    click.echo("  ".join(f"{name} {short_time(moment)}" for name, moment in times if moment is not None))
    click.echo()
    click.echo(f"{coloured(shown.status.value)}  {say(shown.explanation.progress)}")


def _effects(shown: Shown) -> None:
    if not shown.explanation.effects:
        return
    click.echo()
    heading(_("Effects"))
    doubts = {step.name: step.probe_said for step in shown.steps}
    for effect in shown.explanation.effects:
        click.echo(f"  {_sign(effect)} {effect.step}  {click.style(effect.effect, dim=True)}  {say(effect.sentence)}")
        if effect.happened == "unknown":
            click.echo(f"      {_('Look at')}: {_evidence(effect.evidence)}")
        if said := doubts.get(effect.step):
            click.echo(f"      {_('The probe says')}: {bounded(said, 300)}")
        if effect.undone is not None:
            click.echo(f"      {coloured(effect.undo)}  {say(effect.undone)}")


def _sign(effect: EffectView) -> str:
    return coloured({"happened": "✓", "not": "–", "unknown": "?"}[effect.happened.value], effect.happened.value)


def _evidence(text: str) -> str:
    """The evidence of a contract is made of parts; those that are not the author's own words are translated."""
    return translated(bounded(text, 500))


def _waits(shown: Shown) -> None:
    """Keys of what it waits for, and what a person is to approve; the sentences below say until when."""
    waits = [(step.name, wait) for step in shown.steps for wait in (step.waits, step.undo.waits if step.undo else None) if wait is not None]
    lines = [(name, told) for name, wait in waits if (told := _wait(wait))]
    if lines:
        click.echo()
        heading(_("Waits for"))
        for name, told in lines:
            click.echo(f"  {name}  {told}")
    if shown.holds:
        click.echo()
        heading(_("Holds"))
        for record, step in shown.holds:
            text = _("{record}: no other run may change it before it is known what became of {step}.")
            click.echo(f"  {text.format(record=bounded(record, 80), step=step)}")


def _wait(wait: WaitShown) -> str:
    if wait.sort == Sort.APPROVAL:
        shown = bounded(json.dumps(wait.shown, ensure_ascii=False), 200)
        return _("approval of {role}, who is shown: {shown}").format(role=wait.name, shown=shown)
    if wait.key is None or wait.sort == Sort.TIME:
        return ""
    return _("{name} with the key {key}").format(name=wait.name, key=bounded(wait.key, 80))


def _relatives(shown: Shown) -> None:
    """Which runs it hangs together with; those that have ended well are only counted, at their step."""
    parents, children = shown.relatives
    if parents or children:
        click.echo()
        heading(_("Runs around it"))
    for run, step in parents:
        click.echo(f"  {_('{step} of {run} waits for it, or has started it').format(step=step, run=run)}")
    for step, run, status in children:
        click.echo(f"  {step}  {run}  {coloured(status.value)}")


def _why_and_next(shown: Shown) -> None:
    told = shown.explanation
    for title, sentences in ((_("Why it stands"), told.reasons), (_("By itself"), tuple(coming.sentence for coming in told.coming))):
        if sentences:
            click.echo()
            heading(title)
            for sentence in sentences:
                click.echo(f"  {say(sentence)}")
    if shown.runbook:
        click.echo()
        heading(_("Runbook"))
        click.echo(f"  {translated(bounded(shown.runbook, 2000))}")
    click.echo()
    heading(_("Safe next"))
    for suggestion in told.next:
        _suggestion(suggestion)


def _suggestion(suggestion: Suggestion) -> None:
    click.echo(f"  {say(suggestion.sentence)}")
    if suggestion.command:
        click.echo(f"      {click.style(suggestion.command, fg='cyan')}")
    if suggestion.plan is not None and (told := _planned(suggestion.plan)):
        click.echo(f"      {click.style(told, dim=True)}")


def _planned(plan: Plan) -> str:
    """What the order would do, in one line; what it would not do is left out."""
    undone = [one.step for one in plan.undone if one.fate in (Fate.UNDONE, Fate.APPROVAL, Fate.OUTPUT_UNKNOWN)]
    stays = [one.step for one in plan.undone if one.fate in (Fate.STAYS, Fate.KEPT, Fate.NO_UNDO)]
    parts = [
        (_("undo again") if plan.undone else _("again"), again(plan)),
        (_("checked"), plan.checked),
        (_("looked for"), plan.probed),
        (_("then"), plan.ahead),
        (_("not again"), plan.kept if (plan.again or plan.ahead) and not plan.undone else ()),
        (_("undone"), undone),
        (_("stays"), stays),
        (_("ends"), [plan.after.value] if plan.after in FINAL else []),
        (_("asks"), [f"{role} ({step})" for step, role in plan.approvals]),
    ]
    return "  ".join(f"{name}: {', '.join(steps)}" for name, steps in parts if steps)


def _steps(shown: Shown) -> None:
    click.echo()
    heading(_("Steps"))
    rows = [
        (
            str(step.sequence),
            step.name,
            step.status,
            str(step.attempts or ""),
            *map(short_time, (step.started_at, step.ended_at)),
            _result(step),
        )
        for step in shown.steps
    ]
    titles = (_("no."), _("step"), _("status"), _("attempts"), _("started"), _("ended"), _("result"))
    table(titles, rows, indent="  ")
    for step in shown.steps:
        _troubled(shown, step)


def _troubled(shown: Shown, step: StepShown) -> None:
    """The items of a step that are in doubt or have failed, and those of its undo."""
    command = f"halfway items {shown.id} {step.name}"
    for title, items in ((_("Items of {step}"), step.items), (_("Undo of the items of {step}"), step.undo_items)):
        if items is not None and items.troubled:
            click.echo()
            heading(title.format(step=step.name))
            for line in went_wrong(items, command):
                click.echo(f"  {line}")


def _result(step: StepShown) -> str:
    if step.items is not None:
        return how_many(step.items)
    if step.error_code or step.message:
        code = step.error_code if step.error_code and not step.message.startswith(step.error_code) else ""
        return bounded(f"{code} {translated(step.message)}", 90)
    return "" if step.output is None else bounded(json.dumps(step.output, ensure_ascii=False), 90)


def _timeline(shown: Shown) -> None:
    click.echo()
    heading(_("Timeline"))
    rows = [
        (short_time(entry.at), entry.name, _place(entry), entry.job_id.rpartition("#")[2], _data(entry.data)) for entry in shown.journal
    ]
    table((_("time"), _("what"), _("step"), _("attempt"), _("data")), rows, indent="  ")
    _critical_path(shown)
    _work_log(shown)
    if shown.audit:
        click.echo()
        heading(_("Orders"))
        orders = [
            (
                short_time(line.at),
                line.actor,
                line.action,
                line.step,
                f"{line.before} → {line.after}",
                bounded(line.reason),
                bounded(line.evidence),
                bounded(translated(line.refused or "")),
            )
            for line in shown.audit
        ]
        titles = (_("time"), _("who"), _("what"), _("step"), _("state"), _("reason"), _("evidence"), _("refused"))
        table(titles, orders, indent="  ")


def _critical_path(shown: Shown) -> None:
    """The steps that made it take as long as it did; of one step alone there is nothing to tell."""
    if len(shown.critical_path) < 2:
        return
    click.echo()
    heading(_("Critical path"))
    rows = [
        (leg.step if leg.round == 1 else f"{leg.step} ×{leg.round}", seconds(leg.waited), seconds(leg.took)) for leg in shown.critical_path
    ]
    table((_("step"), _("waited before"), _("took")), rows, indent="  ")


def _work_log(shown: Shown) -> None:
    """What was called inside steps, and spent."""
    if not shown.calls:
        return
    click.echo()
    heading(_("Work log"))
    rows = [
        (short_time(call.at), f"{call.step}#{call.attempt}", call.tool or "–", call.effect if call.tool else "", _called(call))
        for call in shown.calls
    ]
    table((_("time"), _("step"), _("tool"), _("effect"), _("what")), rows, indent="  ")


def _called(call: CallShown) -> str:
    if not call.tool:
        return _("{n:,} tokens").format(n=call.tokens)
    args = json.dumps(call.args, ensure_ascii=False)
    if call.error:
        return bounded(f"{args} ✗ {call.error}", 120)
    answer = _("no answer") if call.ended_at is None else json.dumps(call.answer, ensure_ascii=False)
    return bounded(f"{args} → {answer}", 120)


def _place(entry: EntryShown) -> str:
    """A step; a later round of a loop with its number, an item with its key."""
    step = _("{step} (round {n})").format(step=entry.step, n=entry.round) if entry.round > 1 else entry.step
    return f"{step}: {bounded(entry.item, 40)}" if entry.item else step


def _data(data: Mapping[str, object]) -> str:
    return bounded(", ".join(f"{name}={_value(name, value)}" for name, value in data.items()), 110)


def _value(name: str, value: object) -> object:
    return short_time(instant(value)) if name in TIMES and isinstance(value, int) else value
