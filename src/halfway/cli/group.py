"""The root of the command line: loads a command when it is called, and turns every error into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from halfway.cli.i18n import speak
from halfway.cli.mishaps import Mishap, mishap_of
from halfway.errors import Exit

INTERRUPTED = 130


class Lazy(click.Group):
    """Knows its commands by name and by where they are; its own help imports none of them."""

    def __init__(self, name: str, *, help: str, places: Mapping[str, tuple[str, str]], hidden: Mapping[str, str]) -> None:
        super().__init__(name, help=help, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
        self.params.append(_lang_option())
        click.version_option(package_name="halfway", message="%(prog)s %(version)s")(self)
        self._places = places
        self._hidden = hidden

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self._places[cmd_name][0] if cmd_name in self._places else self._hidden.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in self._places.items()])

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, complete_var: str | None = None,
        standalone_mode: bool = True, windows_expand_args: bool = True, **extra: Any,
    ) -> Any:  # fmt: skip
        """Runs a command; always ends in SystemExit with one of the documented exit codes."""
        args = list(sys.argv[1:] if args is None else args)
        if os.environ.get("NO_COLOR"):
            extra.setdefault("color", False)
        speak("en" if "--json" in args else _given(args, "--lang"))  # what programs read is never translated
        code: object = Exit.OK
        try:
            self._main_shell_completion(extra, prog_name or "halfway", complete_var)
            with self.make_context(prog_name or "halfway", args, **extra) as context:
                code = self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as ended:
            code = ended.exit_code
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except BrokenPipeError:
            _leave_quietly()
        except Exception as error:
            code = _report(mishap_of(error), as_json="--json" in args)
        sys.exit(int(code) if isinstance(code, int) else Exit.OK)


def _lang_option() -> click.Option:
    return click.Option(
        ["--lang"], metavar="LANG", expose_value=False, help="Language of the answers: en or ko; else HALFWAY_LANG, then the locale."
    )


def _given(args: Sequence[str], option: str) -> str | None:
    """The value of an option, before anything is parsed: an error in parsing is told in the right language, too."""
    for number, argument in enumerate(args):
        if argument == "--":
            return None
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        if argument == option and number + 1 < len(args):
            return args[number + 1]
    return None


def _report(mishap: Mishap, *, as_json: bool) -> int:
    try:
        click.echo(mishap.json() if as_json else mishap.line(), err=True)
    except OSError:
        return mishap.exit
    return mishap.exit


def _leave_quietly() -> NoReturn:
    """Whoever reads the output has gone; Python must not complain about that at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(Exit.OK)
