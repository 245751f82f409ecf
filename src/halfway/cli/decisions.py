"""Decisions about one step: approve, reject; and what helps to decide: probe, release."""

from __future__ import annotations

import click

from halfway.cli.i18n import _
from halfway.cli.options import By, order, where
from halfway.cli.orders import EVIDENCE, RUN, STEP, tell_order
from halfway.cli.place import control
from halfway.command import answering

SEEN = click.option("--seen", metavar="HASH", help="The hash of what you were shown; refused if something else stands there now.")


@click.command(short_help="Say yes to what a step shows, or to its next attempt.")
@RUN
@STEP
@SEEN
@order
@where
@answering
def approve(*, run: str, step: str, seen: str | None, by: By, app: str | None, url: str | None, as_json: bool) -> None:
    """Say yes to what STEP of RUN shows, or to its next attempt. What it shows, and its hash: halfway inbox"""
    with control(app, url, code=True) as runs:
        tell_order(runs.approve(run, step, seen=seen, **by.given), as_json)


@click.command(short_help="Say no to what a step shows, or to its next attempt.")
@RUN
@STEP
@SEEN
@order
@where
@answering
def reject(*, run: str, step: str, seen: str | None, by: By, app: str | None, url: str | None, as_json: bool) -> None:
    """Say no to what STEP of RUN shows, or to its next attempt. What then follows is the step's own policy."""
    with control(app, url, code=True) as runs:
        tell_order(runs.reject(run, step, seen=seen, **by.given), as_json)


@click.command(short_help="Ask the outside world now whether a step happened.")
@RUN
@STEP
@order
@where
@answering
def probe(*, run: str, step: str, by: By, app: str | None, url: str | None, as_json: bool) -> None:
    """Ask the outside world now whether STEP of RUN, which is UNKNOWN, happened; or whether what it waits for is there."""
    with control(app, url, code=True) as runs:
        tell_order(runs.probe(run, step, **by.given), as_json)


@click.command(short_help="Open the business record that a step in doubt holds.")
@RUN
@STEP
@EVIDENCE
@order
@where
@answering
def release(*, run: str, step: str, evidence: str | None, by: By, app: str | None, url: str | None, as_json: bool) -> None:
    """Open the business record that STEP of RUN holds while it is UNKNOWN, so that other runs may change it.

    The step itself stays UNKNOWN.
    """
    if evidence is None or not evidence.strip():
        raise click.UsageError(_("release needs --evidence '…': what you saw that makes it safe for others to change the record."))
    with control(app, url, code=True) as runs:
        tell_order(runs.release(run, step, evidence=evidence, **by.given), as_json)
