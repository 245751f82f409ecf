"""What a command line says about itself, its help and its mistakes, in the language of whoever reads it. The texts stay where they are."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from halfway.language import Translate, translated
from halfway.lines import width, wrapped

# What click says about a command that cannot be read; by what it is about, so that other languages have it.
USAGE = {
    "nothing": "Missing command.",
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
    "no file": "File '{0}' does not exist.",
    "no folder": "Directory '{0}' does not exist.",
    "no path": "Path '{0}' does not exist.",
    "a file": "Directory '{0}' is a file.",
    "a folder": "File '{0}' is a directory.",
    "closed file": "File '{0}' is not readable.",
    "closed folder": "Directory '{0}' is not readable.",
    "closed path": "Path '{0}' is not readable.",
    "values": "Option '{0}' requires {1} arguments.",
}
# What click puts around the texts of a command in its help.
FRAME = {
    "usage": "Usage:",
    "options": "Options",
    "commands": "Commands",
    "arguments": "Positional arguments",
    "some": "[OPTIONS]",
    "command": "COMMAND [ARGS]...",
    "default": "default: {0}",
    "required": "required",
    "help": "Show this message and exit.",
    "version": "Show the version and exit.",
}
EXTRA = re.compile(r"(?P<help>.*?)(?:(?:^|  )\[(?P<extra>[^\[\]]*)\])?", re.DOTALL)  # what is set behind the help of an option
PARAGRAPHS = re.compile(r"\n\s*\n")
AS_IT_IS = "\b\n"  # lines that click does not wrap


class Formatter(click.HelpFormatter):
    """Help in another language. What has no translation is formatted by click, which counts letters; the rest by cells."""

    def __init__(self, translate: Translate, *, width: int | None, max_width: int | None) -> None:
        super().__init__(width=width, max_width=max_width)
        self._translate = translate

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        told = args
        for part in (FRAME["some"], FRAME["command"]):
            told = told.replace(part, self._translate(part))
        usage = self._translate(FRAME["usage"]) if prefix is None else prefix
        if (usage, told) == (FRAME["usage"], args):
            super().write_usage(prog, args, prefix)
            return
        begin = f"{usage.rstrip()} {prog} "
        room = self.width - max(map(width, told.split()), default=0)  # beside a list of values, which is one word
        later = " " * max(4, min(width(begin), room))
        self.write("".join(f"{line}\n" for line in wrapped(told, self.width, first=begin, later=later)))

    def write_heading(self, heading: str) -> None:
        super().write_heading(self._translate(heading))

    def write_text(self, text: str) -> None:
        columns = self.width - self.current_indent
        super().write_text("\n\n".join(self._told(part, columns) for part in PARAGRAPHS.split(text)))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = list(rows)
        first = min(max((width(name) for name, _ in rows), default=0), col_max) + col_spacing
        columns = max(self.width - first - 2, 10)
        super().write_dl([(name, self._entry(text, columns)) for name, text in rows], col_max, col_spacing)

    def _entry(self, text: str, columns: int) -> str:
        """What is told of an option, then its default and its range."""
        match = EXTRA.fullmatch(text)
        if match is None or match["extra"] is None:
            return self._told(text, columns)
        extra = translated(match["extra"], FRAME.values(), self._translate)
        told = f"{self._plain(match['help'])}  [{extra}]".lstrip()
        return text if told == text else AS_IT_IS + "\n".join(wrapped(told, columns))

    def _told(self, text: str, columns: int) -> str:
        told = self._plain(text)
        return text if told == text else AS_IT_IS + "\n".join(wrapped(told, columns))

    def _plain(self, text: str) -> str:
        """A paragraph is known by its words, however its lines are broken; without a translation it stays as it was written."""
        folded = " ".join(text.split())
        told = self._translate(folded)
        return text if told == folded else told


def mistake(text: str, translate: Translate) -> str:
    """What click says about a command that cannot be read, in another language."""
    return translated(text, USAGE.values(), translate)
