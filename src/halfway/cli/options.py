"""Options that several commands share."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from halfway.cli.i18n import _

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def common(command: CommandT) -> CommandT:
    """--json and --lang, on every command."""
    command = click.option(
        "--lang", metavar="LANG", expose_value=False, help="Language of the answer: en or ko; else HALFWAY_LANG, then the locale."
    )(command)
    return click.option("--json", "as_json", is_flag=True, help="Print JSON; errors are JSON on stderr.")(command)


def where(command: CommandT) -> CommandT:
    """--app and --url: the project and its database."""
    command = click.option(
        "--url", envvar="HALFWAY_URL", metavar="URL", help="The database; else HALFWAY_URL, the url of [tool.halfway], or the app's own."
    )(command)
    return click.option("--app", metavar="MODULE:NAME", help="The Halfway object of your code; else app of [tool.halfway].")(command)


def order(command: CommandT) -> CommandT:
    """--reason and --as, on every command that changes a run."""
    command = click.option(
        "--as", "actor", envvar="HALFWAY_ACTOR", metavar="NAME", help="Who orders it; else HALFWAY_ACTOR, then your user name."
    )(command)
    return click.option("--reason", metavar="TEXT", callback=_reason, help="Why; required, and kept in the audit log.")(command)


def _reason(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    if value is None or not value.strip():
        raise click.UsageError(_("Say why with --reason '…'; it is kept in the audit log."), context)
    return value


def person(actor: str | None) -> str:
    """Who orders something."""
    if actor and actor.strip():
        return actor.strip()
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def document(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """JSON as it stands, `@file`, or `-` for standard input."""
    if value is None or not (value == "-" or value.startswith("@")):
        return value
    try:
        return sys.stdin.read() if value == "-" else Path(value[1:]).read_text(encoding="utf-8")
    except OSError as error:
        problem = _("{file} cannot be read: {problem}").format(file=value[1:], problem=error.strerror)
        raise click.BadParameter(problem, context, parameter) from None
    except UnicodeDecodeError:
        raise click.BadParameter(_("{file} is not UTF-8.").format(file=value), context, parameter) from None
