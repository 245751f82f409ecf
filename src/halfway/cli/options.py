"""Options that several commands share."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from halfway.cli.i18n import _

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def where(command: CommandT) -> CommandT:
    """--app and --url: the project and its database."""
    command = click.option(
        "--url", envvar="HALFWAY_URL", metavar="URL", help="The database; else HALFWAY_URL, the url of [tool.halfway], or the app's own."
    )(command)
    return click.option("--app", metavar="MODULE:NAME", help="The Halfway object of your code; else app of [tool.halfway].")(command)


class By(NamedTuple):
    """Who orders something, why, and what makes sure that it is carried out once, on the run as it was seen."""

    actor: str
    reason: str
    expected: int | None = None
    action_id: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """As the methods of Control take it."""
        return self._asdict()


def order(command: Callable[..., Any]) -> Callable[..., Any]:
    """--reason, --as, --expected and --action-id, on every command that changes a run; the command gets them as `by`."""

    @wraps(command)
    def ordered(*, reason: str, actor: str | None, expected: int | None, action_id: str | None, **rest: Any) -> Any:
        return command(by=By(person(actor), reason, expected, action_id), **rest)

    told = click.option("--action-id", metavar="ID", help="Your own id of this order; a second one with it changes nothing.")(ordered)
    told = click.option("--expected", type=int, metavar="REVISION", help="Refuse it if the run has moved since this revision.")(told)
    return giver(why(told))


def giver(command: CommandT) -> CommandT:
    """--as: who does it."""
    return click.option(
        "--as", "actor", envvar="HALFWAY_ACTOR", metavar="NAME", help="Who orders it; else HALFWAY_ACTOR, then your user name."
    )(command)


def why(command: CommandT) -> CommandT:
    """--reason."""
    return click.option("--reason", metavar="TEXT", callback=_reason, help="Why; required, and kept in the audit log.")(command)


def confirms(command: CommandT) -> CommandT:
    """--plan, on every order that has a plan."""
    return click.option("--plan", metavar="HASH", help="The plan that you confirm; refused if the run has moved since.")(command)


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
