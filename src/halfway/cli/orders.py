"""Orders about a run: resume, retry, skip, mark-success, compensate, cancel."""

from __future__ import annotations

import click

from halfway.cli.i18n import _
from halfway.cli.options import By, confirms, document, order, where
from halfway.cli.output import chat, print_json
from halfway.cli.place import control
from halfway.command import answering
from halfway.control.actions import Carried

RUN = click.argument("run")
STEP = click.argument("step")
EVIDENCE = click.option("--evidence", metavar="TEXT", help="What you saw at the receiver: an id, a log entry, a record.")
NEW_INPUT = click.option(
    "--input", "new_input", metavar="JSON", callback=document, help="A corrected input of the run: JSON, @file or -; its key must stay."
)
UNDO = click.option("--compensate", "undo", is_flag=True, help="And undo what is done, in reverse order.")
BACK_FROM = click.option("--from", "step", metavar="STEP", help="Only from this step back; everything if left out.")


@click.command(short_help="Go on with what stopped a run; what is done stays done.")
@RUN
@confirms
@order
@where
@answering
def resume(*, run: str, by: By, plan: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Go on with what stopped RUN: its id, its key, or the last 6 or more characters of its id.

    What it builds on is checked first; what is done does not run again. A step that nobody knows about is settled first, with
    mark-success or retry --not-happened.
    """
    with control(app, url, code=True) as runs:
        tell_order(runs.resume(run, plan=plan, **by.given), as_json)


@click.command(short_help="Give one step its attempts anew.")
@RUN
@STEP
@click.option("--not-happened", is_flag=True, help="You made sure that its effect did not happen; needs --evidence.")
@EVIDENCE
@click.option("--gone", is_flag=True, help="You made sure that the process of its attempt is dead.")
@NEW_INPUT
@confirms
@order
@where
@answering
def retry(*, run: str, step: str, not_happened: bool, evidence: str | None, gone: bool, new_input: str | None, plan: str | None, by: By,
    app: str | None, url: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Give STEP of RUN its attempts anew.

    A step that is UNKNOWN is tried again only if you say, with evidence, that it did not happen.
    """
    if gone and not not_happened:
        raise click.UsageError(_("--gone belongs to --not-happened."))
    if not_happened and not (evidence or "").strip():
        raise click.UsageError(_("--not-happened needs --evidence '…': what you saw at the receiver that proves it."))
    if not_happened and new_input is not None:
        raise click.UsageError(_("--input does not go with --not-happened: settle what happened first."))
    with control(app, url, code=True) as runs:
        outcome = runs.retry(
            run, step, not_happened=not_happened, gone=gone, evidence=evidence, input=new_input, plan=plan, **by.given
        )  # fmt: skip
        tell_order(outcome, as_json)


@click.command(short_help="Go on without a step that failed or waits.")
@RUN
@STEP
@confirms
@order
@where
@answering
def skip(*, run: str, step: str, plan: str | None, by: By, app: str | None, url: str | None, as_json: bool) -> None:
    """Go on without STEP of RUN, which failed or waits. If its compensation failed: accept what happened as it is."""
    with control(app, url, code=True) as runs:
        tell_order(runs.skip(run, step, plan=plan, **by.given), as_json)


@click.command("mark-success", short_help="Say that a step did happen, with the evidence for it.")
@RUN
@STEP
@click.option("--output", metavar="JSON", default="null", callback=document, help="What the step would have returned: JSON, @file or -.")
@EVIDENCE
@confirms
@order
@where
@answering
def mark_success(*, run: str, step: str, output: str, evidence: str | None, plan: str | None, by: By, app: str | None, url: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Say that STEP of RUN did happen.

    --output is what later steps will read; it is checked against the step's type where the app's code is known.
    """
    if evidence is None or not evidence.strip():
        raise click.UsageError(_("mark-success needs --evidence '…': what you saw at the receiver that proves it."))
    with control(app, url, code=True) as runs:
        tell_order(runs.mark_success(run, step, evidence=evidence, output=output, plan=plan, **by.given), as_json)


@click.command(short_help="Undo what is done, in reverse order.")
@RUN
@BACK_FROM
@confirms
@order
@where
@answering
def compensate(*, run: str, step: str | None, plan: str | None, by: By, app: str | None, url: str | None, as_json: bool) -> None:
    """Undo what RUN has done, in reverse order: all of it, or from one step back.

    What is in doubt is settled first; what cannot be undone by machine waits for a person. See it beforehand with: halfway plan RUN
    compensate
    """
    with control(app, url, code=True) as runs:
        tell_order(runs.compensate(run, step=step, plan=plan, **by.given), as_json)


@click.command(short_help="Ask a run to stop at the next safe boundary.")
@RUN
@UNDO
@confirms
@order
@where
@answering
def cancel(*, run: str, undo: bool, plan: str | None, by: By, app: str | None, url: str | None, as_json: bool) -> None:
    """Ask RUN to stop at the next safe boundary. What is done stays done; what is in doubt is settled first."""
    with control(app, url, code=True) as runs:
        tell_order(runs.cancel(run, undo=undo, plan=plan, **by.given), as_json)


def tell_order(outcome: Carried, as_json: bool) -> None:
    """What an order did."""
    if as_json:
        print_json(
            {
                "workflowRunId": outcome.run_id, "action": outcome.action, "actionId": outcome.action_id,
                "before": outcome.before.value, "after": outcome.after.value, "revision": outcome.revision,
            }
        )  # fmt: skip
        return
    click.echo(outcome.run_id)
    chat(_("{action}: the run was {before} and is {after}.").format(action=outcome.action, before=outcome.before, after=outcome.after))
    chat(_("Look at it with: {command}").format(command=f"halfway show {outcome.run_id}"))
