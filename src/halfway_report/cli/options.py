"""Options that several commands share."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import click

from halfway.command import answering
from halfway_report.days import DAY_NAMES, FIRST, LAST, DayName
from halfway_report.language import _

Command = TypeVar("Command", bound=Callable[..., Any])

RUN = click.argument("run_id", metavar="RUN")
NO_LLM = click.option("--no-llm", is_flag=True, help="Without a model: the report lists what the commits say themselves.")


def common(command: Command) -> Command:
    """--config, --json and --lang, on every command."""
    return click.option(
        "--config", envvar="REPORT_CONFIG", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
        help="The report.toml; else REPORT_CONFIG, then the nearest one from this folder upwards.",
    )(answering(command))  # fmt: skip


def order(command: Command) -> Command:
    """--reason and --as, on every command that changes a run."""
    command = click.option(
        "--as", "actor", envvar="HALFWAY_ACTOR", metavar="NAME", callback=_person,
        help="Who orders it; else HALFWAY_ACTOR, then your user name.",
    )(command)  # fmt: skip
    return click.option("--reason", metavar="TEXT", default="ordered on the command line", help="Why; kept in the audit log.")(command)


def _person(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    if value and value.strip():
        return value.strip()
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def a_day(context: click.Context, parameter: click.Parameter, value: str | None) -> date | DayName | None:
    """A date, or one of the names of a day."""
    if value is None:
        return None
    for name in DAY_NAMES:
        if value == name:
            return name
    try:
        day = date.fromisoformat(value)
    except ValueError:
        day = None
    if day is None or not FIRST <= day <= LAST:
        told = _("{text} is no day. Write 2026-09-30, or one of: {names}.").format(text=value, names=", ".join(DAY_NAMES))
        raise click.BadParameter(told, context, parameter)
    return day
