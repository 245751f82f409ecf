"""Orders about a run: resume, retry, mark-success, cancel."""

from __future__ import annotations

import click

from halfway.cli.i18n import _
from halfway.cli.options import common, document, order, person, where
from halfway.cli.output import chat, print_json
from halfway.cli.place import control
from halfway.control.actions import Carried

RUN = click.argument("run")
STEP = click.argument("step")
EVIDENCE = click.option("--evidence", metavar="TEXT", help="What you saw at the receiver: an id, a log entry, a record.")


@click.command(short_help="Go on with what stopped a run; what is done stays done.")
@RUN
@order
@where
@common
def resume(*, run: str, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Go on with what stopped RUN: its id, its key, or the last 6 or more characters of its id.

    What it builds on is checked first; what is done does not run again. A step that nobody knows about is settled first, with
    mark-success or retry --not-happened.
    """
    with control(app, url) as runs:
        _tell(runs.resume(run, actor=person(actor), reason=reason), as_json)


@click.command(short_help="Give one step its attempts anew.")
@RUN
@STEP
@click.option("--not-happened", is_flag=True, help="You made sure that its effect did not happen; needs --evidence.")
@EVIDENCE
@click.option("--gone", is_flag=True, help="You made sure that the process of its attempt is dead.")
@order
@where
@common
def retry(*, run: str, step: str, not_happened: bool, evidence: str | None, gone: bool, reason: str, actor: str | None, app: str | None,
    url: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Give STEP of RUN its attempts anew.

    A step that is UNKNOWN is tried again only if you say, with evidence, that it did not happen.
    """
    if gone and not not_happened:
        raise click.UsageError(_("--gone belongs to --not-happened."))
    if not_happened and not (evidence or "").strip():
        raise click.UsageError(_("--not-happened needs --evidence '…': what you saw at the receiver that proves it."))
    with control(app, url) as runs:
        outcome = runs.retry(run, step, actor=person(actor), reason=reason, not_happened=not_happened, gone=gone, evidence=evidence)
        _tell(outcome, as_json)


@click.command("mark-success", short_help="Say that a step did happen, with the evidence for it.")
@RUN
@STEP
@click.option("--output", metavar="JSON", default="null", callback=document, help="What the step would have returned: JSON, @file or -.")
@EVIDENCE
@order
@where
@common
def mark_success(*, run: str, step: str, output: str, evidence: str | None, reason: str, actor: str | None, app: str | None,
    url: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Say that STEP of RUN did happen.

    --output is what later steps will read; it is checked against the step's type where the app's code is known.
    """
    if evidence is None or not evidence.strip():
        raise click.UsageError(_("mark-success needs --evidence '…': what you saw at the receiver that proves it."))
    with control(app, url, code=True) as runs:
        _tell(runs.mark_success(run, step, actor=person(actor), reason=reason, evidence=evidence, output=output), as_json)


@click.command(short_help="Ask a run to stop at the next safe boundary.")
@RUN
@order
@where
@common
def cancel(*, run: str, reason: str, actor: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """Ask RUN to stop at the next safe boundary. What is done stays done; what is in doubt is settled first."""
    with control(app, url) as runs:
        _tell(runs.cancel(run, actor=person(actor), reason=reason), as_json)


def _tell(outcome: Carried, as_json: bool) -> None:
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
