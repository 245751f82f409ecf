"""Every way a command can go wrong, as one line, as JSON, and as an exit code."""

from __future__ import annotations

import json
import os
import tempfile
import traceback
from dataclasses import dataclass

import click

from halfway.cli.i18n import _, tell, translated
from halfway.errors import Exit, HalfwayError

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


@dataclass(frozen=True, kw_only=True)
class Mishap:
    """What is told about an error."""

    code: str
    message: str  # English
    told: str  # in the chosen language
    params: dict[str, object]
    exit: int
    command: str = "halfway"

    def line(self) -> str:
        return f"{self.command}: {' '.join(self.told.split())}"

    def json(self) -> str:
        return json.dumps({"code": self.code, "message": self.message, "params": self.params}, ensure_ascii=False, default=str)


def mishap_of(error: Exception) -> Mishap:
    """One line for any exception; the traceback of an unexpected one goes to a file."""
    if isinstance(error, HalfwayError):
        return Mishap(code=error.code, message=str(error), told=tell(error), params=error.params, exit=error.exit_code)
    if isinstance(error, click.ClickException):
        return _misused(error)
    problem = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}."
    internal = HalfwayError("INTERNAL", problem=problem, trace=keep_trace(error))
    return Mishap(code="INTERNAL", message=str(internal), told=tell(internal), params=internal.params, exit=Exit.INTERNAL)


def keep_trace(error: BaseException) -> str:
    """Writes a traceback into a file that only this user can read, and answers its path."""
    descriptor, path = tempfile.mkstemp(prefix="halfway-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(traceback.format_exception(error))
    return path


def _misused(error: click.ClickException) -> Mishap:
    text = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context is not None else "halfway"
    hint = f" {_('See: {command} --help').format(command=command)}" if context is not None else ""
    if isinstance(error, click.NoSuchOption):
        hint = f" {_('Write -- before an argument that begins with a dash.')}{hint}"
    return Mishap(code="USAGE", message=text, told=translated(text) + hint, params={}, exit=Exit.USAGE, command=command)
