"""What a command prints about a run: JSON for programs, a few lines for people."""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from halfway.errors import Exit
from halfway_report.advice import advice, stopped_at
from halfway_report.language import _, retold
from halfway_report.reading import RunView, StepView

_EXITS: Mapping[str, Exit] = {
    "MANUAL_REQUIRED": Exit.NEEDS_PERSON,
    "FAILED": Exit.RUN_FAILED,
    "CANCELLED": Exit.RUN_FAILED,
    "EXPIRED": Exit.RUN_FAILED,
    "COMPENSATED": Exit.RUN_FAILED,
}


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def chat(text: str) -> None:
    """Something for a person, beside the data."""
    click.echo(text, err=True)


def exit_of(status: str) -> int:
    """What a shell is told about a run; one that goes on is no failure."""
    return int(_EXITS.get(status, Exit.OK))


def facts(view: RunView, next_steps: list[str]) -> dict[str, object]:
    """What is to be known about a run, in few words."""
    step = stopped_at(view)
    return {
        "runId": view.id,
        "key": view.key,
        "status": view.status,
        "path": view.said("SAVE_MARKDOWN", "path") or None,
        "url": view.said("UPLOAD_NOTION", "url") or None,
        "error": None if step is None else _fault(step),
        "next": next_steps,
    }


def _fault(step: StepView) -> str:
    """Why a step has stopped; in English where JSON is asked for, as everything then is."""
    name = _("undo of {step}").format(step=step.name) if step.undo else step.name
    return f"{name}: {step.error_code or step.status}: {retold(' '.join(step.message.split()))}".rstrip(": ")


def tell_run(view: RunView, *, workers: int, as_json: bool) -> int:
    """Says what came of a run and what to do next; answers the exit code."""
    next_steps = list(advice(view, workers=workers))
    found = facts(view, next_steps)
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join(f"{name:<7} {value}" for name, value in found.items() if value and name != "next"))
        for line in next_steps:
            chat(line)
    return exit_of(view.status)
