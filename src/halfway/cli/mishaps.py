"""Every way a command of halfway can go wrong: what is told about it, in the chosen language."""

from __future__ import annotations

import click

from halfway.cli.i18n import _, tell, translated
from halfway.command import Mishap, keep_trace
from halfway.errors import Exit, HalfwayError

HALFWAY = "halfway"
# What click says about a command that cannot be read; by what it is about, so that other languages have it.
USAGE = {
    "command": "No such command '{0}'.",
    "argument": "Missing argument '{0}'.",
    "option": "Missing option '{0}'.",
    "extra": "Got unexpected extra argument ({0})",
    "extras": "Got unexpected extra arguments ({0})",
    "unknown": "No such option '{0}'.",
    "similar": "Did you mean '{0}'?",
    "several": "(Did you mean one of: {0}?)",
    "value": "Option '{0}' requires an argument.",
    "no value": "Option '{0}' does not take a value.",
    "invalid": "Invalid value for '{0}': {1}",
    "type": "'{0}' is not a valid {1}.",
    "range": "{0} is not in the range {1}.",
    "choice": "'{0}' is not one of {1}.",
}


def mishap_of(error: Exception) -> Mishap:
    """One line for any exception; the traceback of an unexpected one goes to a file."""
    if isinstance(error, HalfwayError):
        return Mishap(command=HALFWAY, code=error.code, message=str(error), told=tell(error), params=error.params, exit=error.exit_code)
    if isinstance(error, click.ClickException):
        return _misused(error)
    problem = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}."
    internal = HalfwayError("INTERNAL", problem=problem, trace=keep_trace(error))
    return Mishap(command=HALFWAY, code="INTERNAL", message=str(internal), told=tell(internal), params=internal.params, exit=Exit.INTERNAL)


def _misused(error: click.ClickException) -> Mishap:
    text = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context is not None else HALFWAY
    hint = f" {_('See: {command} --help').format(command=command)}" if context is not None else ""
    if isinstance(error, click.NoSuchOption):
        hint = f" {_('Write -- before an argument that begins with a dash.')}{hint}"
    return Mishap(command=command, code="USAGE", message=text, told=translated(text) + hint, exit=Exit.USAGE)
