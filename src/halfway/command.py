"""The root of a command line, of halfway's own and of an application's: each error becomes one line and a documented exit code."""

from __future__ import annotations

import codecs
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import Any, TextIO, TypeVar, cast

import click

from halfway.errors import Exit
from halfway.language import _, is_known, speak, spellings, translated, wanted
from halfway.usage import Formatter, mistake

__all__ = ["INTERRUPTED", "Mishap", "Root", "answering", "given", "keep_trace", "spellings", "translated", "wanted"]

INTERRUPTED = 130

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def _known_language(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The callback of an option: a language that nobody has translated into is refused. One of the locale is English then."""
    if value and not is_known(value):
        raise click.BadParameter(_("{language} is not known. Choose en or ko.").format(language=value), context, parameter)
    return value


def answering(command: CommandT) -> CommandT:
    """--json and --lang, on every command, of halfway and of an application."""
    command = click.option(
        "--lang", metavar="LANG", expose_value=False, callback=_known_language,
        help="Language of the answer: en or ko; else HALFWAY_LANG, then the locale.",
    )(command)  # fmt: skip
    return click.option("--json", "as_json", is_flag=True, help="Print JSON; errors are JSON on stderr.")(command)


@dataclass(frozen=True, kw_only=True)
class Mishap:
    """What is told about an error."""

    command: str
    code: str
    told: str  # in the chosen language
    exit: int
    params: Mapping[str, object] = field(default_factory=dict[str, object])
    message: str = ""  # for programs, where that is less than what is told

    def line(self) -> str:
        return f"{self.command}: {' '.join(self.told.split())}"

    def json(self) -> str:
        return json.dumps({"code": self.code, "message": self.message or self.told, "params": self.params}, ensure_ascii=False, default=str)


class _Context(click.Context):
    """Of a command that tells its help in the language of the root."""

    def make_formatter(self) -> click.HelpFormatter:
        root = self.find_root().command
        translate = root.translate if isinstance(root, Root) else _
        return Formatter(translate, width=self.terminal_width, max_width=self.max_content_width)


class Root(click.Group):
    """Commands with one place where they end, well or not. A program says what an error means, and translates its own texts."""

    context_class = _Context

    def __init__(self, name: str, *, help: str) -> None:
        super().__init__(name, help=help, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
        self.params.append(_lang_option())
        click.version_option(package_name="halfway", message="%(prog)s %(version)s")(self)

    def speak(self, language: str | None) -> None:
        """Chooses the language of the program's own texts; without one, that of the environment. That of halfway's is chosen already."""

    def translate(self, text: str) -> str:
        """A text of the help in the chosen language, or as it is. A program with a catalogue of its own asks that one, too."""
        return _(text)

    def mishap(self, error: Exception) -> Mishap:
        """What is told about an error, whichever it is; here, about a command that cannot be read."""
        if not isinstance(error, click.ClickException):
            raise NotImplementedError
        context = error.ctx if isinstance(error, click.UsageError) else None
        path = (self.name or "") if context is None else context.command_path
        text, hints = error.format_message(), list[str]()
        if isinstance(error, click.NoSuchOption):
            hints.append(_("Write -- before an argument that begins with a dash."))
        if context is not None:
            hints.append(_("See: {command} --help").format(command=path))
        return Mishap(
            command=path, code="USAGE", message=text, told=" ".join((mistake(text, _), *hints)), exit=max(error.exit_code, Exit.USAGE)
        )

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _with_language(command)
        return name, command, rest

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, complete_var: str | None = None,
        standalone_mode: bool = True, windows_expand_args: bool = True, **extra: Any,
    ) -> Any:  # fmt: skip
        """Runs a command; always ends in SystemExit with one of the documented exit codes."""
        args = list(sys.argv[1:] if args is None else args)
        name = prog_name or self.name or ""
        if os.environ.get("NO_COLOR"):
            extra.setdefault("color", False)
        with _outliving_readers():
            code = copy_context().run(self._run, args, name, complete_var, extra)  # the language is that of this command alone
        sys.exit(int(code) if isinstance(code, int) else Exit.OK)

    def _run(self, args: list[str], name: str, complete_var: str | None, extra: dict[str, Any]) -> object:
        language = "en" if "--json" in args else given(args, "--lang")  # what programs read is never translated
        speak(language)
        self.speak(language)
        code: object = Exit.OK
        try:
            self._main_shell_completion(extra, name, complete_var)
            with self.make_context(name, args, **extra) as context:
                code = self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as ended:
            code = ended.exit_code
        except click.exceptions.NoArgsIsHelpError as asked:
            click.echo(asked.format_message(), err=True)
            code = asked.exit_code
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except Exception as error:
            code = _report(self.mishap(error), as_json="--json" in args)
        return code


def given(args: Sequence[str], option: str) -> str | None:
    """The value of an option, before anything is parsed: an error in parsing is told in the right language, too."""
    for number, argument in enumerate(args):
        if argument == "--":
            return None
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        if argument == option and number + 1 < len(args):
            return args[number + 1]
    return None


def keep_trace(error: BaseException) -> str:
    """Writes a traceback into a file that only this user can read, and answers its path."""
    descriptor, path = tempfile.mkstemp(prefix="halfway-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(traceback.format_exception(error))
    return path


def _with_language(command: click.Command) -> None:
    """A command that click has made is told of in the language of the root, and so are those below it."""
    if command.context_class is not click.Context:
        return
    command.context_class = _Context
    if isinstance(command, click.Group):
        if all("--lang" not in option.opts for option in command.params):
            command.params.append(_lang_option(hidden=True))  # it was read before; here it is only let through
        for below in command.commands.values():
            _with_language(below)


def _lang_option(*, hidden: bool = False) -> click.Option:
    return click.Option(
        ["--lang"], metavar="LANG", expose_value=False, hidden=hidden, callback=_known_language,
        help="Language of the answers: en or ko; else HALFWAY_LANG, then the locale.",
    )  # fmt: skip


def _report(mishap: Mishap, *, as_json: bool) -> int:
    try:
        click.echo(mishap.json() if as_json else mishap.line(), err=True)
    except OSError:
        return mishap.exit
    return mishap.exit


class _Outliving:
    """A stream whose reader may go, as `head` does: the rest is dropped, and the command comes to its own end, with its own exit code."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        """What is still in the buffers goes there too, so that Python does not complain at its end."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


@contextmanager
def _outliving_readers() -> Generator[None]:
    streams: tuple[TextIO | None, ...] = (sys.stdout, sys.stderr)  # a program without a console has none
    for stream in streams:
        # click writes around a stream that it takes for one of ASCII alone, and in UTF-8.
        if isinstance(stream, TextIOWrapper) and codecs.lookup(stream.encoding).name == "ascii":
            stream.reconfigure(encoding="utf-8")
    out, err = (None if stream is None else _Outliving(stream) for stream in streams)
    sys.stdout, sys.stderr = cast("TextIO", out), cast("TextIO", err)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = cast("TextIO", streams[0]), cast("TextIO", streams[1])
