"""The root of the command line: every error becomes one line and an exit code, and none a traceback."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from halfway.errors import MESSAGES, Exit, HalfwayError
from halfway_report.configuration import ConfigurationMissing, ConfigurationWrong
from halfway_report.language import _, speak

INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class Mishap:
    """What is told about an error."""

    code: str
    told: str  # in the chosen language
    exit: int
    params: Mapping[str, object] = field(default_factory=dict[str, object])

    def line(self, *, as_json: bool) -> str:
        """One line; as JSON it names the code, so that a program need not read the words."""
        if as_json:
            return json.dumps({"code": self.code, "message": self.told, "params": self.params}, ensure_ascii=False, default=str)
        return f"report: {' '.join(self.told.split())}"


class Group(click.Group):
    """The commands, with one place where they go wrong."""

    def __init__(self, name: str, *, help: str) -> None:
        super().__init__(name, help=help, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
        told = "Language of the answers: en or ko; else HALFWAY_LANG, then the locale."
        self.params.append(click.Option(["--lang"], metavar="LANG", expose_value=False, help=told))
        click.version_option(package_name="halfway", message="%(prog)s %(version)s")(self)

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, complete_var: str | None = None,
        standalone_mode: bool = True, windows_expand_args: bool = True, **extra: Any,
    ) -> Any:  # fmt: skip
        """Runs a command; always ends in SystemExit with one of the documented exit codes."""
        args = list(sys.argv[1:] if args is None else args)
        if os.environ.get("NO_COLOR"):
            extra.setdefault("color", False)
        speak(_given(args, "--lang"))
        code: object = Exit.OK
        try:
            self._main_shell_completion(extra, prog_name or "report", complete_var)
            with self.make_context(prog_name or "report", args, **extra) as context:
                code = self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as ended:
            code = ended.exit_code
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except Exception as error:
            mishap = mishap_of(error)
            click.echo(mishap.line(as_json="--json" in args), err=True)
            code = mishap.exit
        sys.exit(int(code) if isinstance(code, int) else Exit.OK)


def _given(args: Sequence[str], option: str) -> str | None:
    """The value of an option before anything is parsed: a mistake in the command is told in the right language, too."""
    for number, argument in enumerate(args):
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        if argument == option and number + 1 < len(args):
            return args[number + 1]
    return None


def mishap_of(error: Exception) -> Mishap:
    """One line for any exception; the traceback of an unexpected one goes to a file."""
    match error:
        case HalfwayError():
            return Mishap(code=error.code, told=_tell(error), exit=error.exit_code, params=error.params)
        case click.ClickException():
            context = error.ctx if isinstance(error, click.UsageError) else None
            hint = "" if context is None else f" {_('See: {command} --help').format(command=context.command_path)}"
            return Mishap(code="USAGE", told=error.format_message() + hint, exit=max(error.exit_code, Exit.USAGE))
        case ConfigurationMissing():
            remedy = _("Write one as docs/guides/report.md shows, or name it with --config.")
            return Mishap(code="CONFIG_MISSING", told=f"{error}. {remedy}", exit=Exit.USAGE)
        case ConfigurationWrong():
            return Mishap(code="CONFIG_INVALID", told=str(error), exit=Exit.USAGE)
        case _:
            what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            internal = HalfwayError("INTERNAL", problem=what, trace=_keep_trace(error))
            return Mishap(code="INTERNAL", told=_tell(internal), exit=Exit.INTERNAL, params=internal.params)


def _tell(error: HalfwayError) -> str:
    """An error of halfway in the chosen language, with the commands of this program."""
    own = {
        "RUN_UNKNOWN": _("There is no run {run}. List the runs with: report runs"),
        "RUN_AMBIGUOUS": _("The id {run} fits {count} runs. Give more characters of the id."),
        "SCHEDULE_UNKNOWN": _(
            "There is no schedule {schedule}. Write [schedules.PROJECT] into report.toml; list them with: report schedule list"
        ),
        "ACTION_REFUSED": _("{action} does not apply to run {run}: {problem} See where it stands with: report status {run}"),
    }
    template = own.get(error.code) or _(MESSAGES[error.code])
    return template.format(**error.params).rstrip()


def _keep_trace(error: BaseException) -> str:
    """Writes a traceback into a file that only this user can read, and answers its path."""
    descriptor, path = tempfile.mkstemp(prefix="report-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(traceback.format_exception(error))
    return path
