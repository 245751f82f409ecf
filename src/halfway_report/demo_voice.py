"""How the demonstration speaks: plain lines, or styled ones where somebody looks at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, TypeAlias

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

Echo: TypeAlias = Callable[[str], object]
Style: TypeAlias = Literal["", "bold", "bold cyan", "green", "red", "dim"]

_WIDTH = 96


class Voice:
    """Tells the story on one output."""

    def __init__(self, echo: Echo | None = None) -> None:
        """Without `echo` it prints, in colour if standard output is a terminal and NO_COLOR is not set."""
        self._echo: Echo = echo or partial(print, flush=True)
        self._console = Console(highlight=False) if echo is None and sys.stdout.isatty() else None

    def line(self, text: str = "", style: Style = "") -> None:
        """One line as it stands."""
        if self._console is None:
            self._echo(text)
        else:
            self._console.print(Text(text, style), soft_wrap=True)

    def act(self, number: int, title: str) -> None:
        """Begins a numbered part."""
        self.line()
        self.line(f"{number}. {title}", "bold cyan")

    def say(self, text: str, style: Style = "") -> None:
        """A paragraph."""
        for line in _wrapped(text):
            self.line(f"   {line}", style)

    def table(self, rows: Sequence[Sequence[str]], style: Style = "") -> None:
        """Rows in columns; letters that are two cells wide count as two."""
        widths = [max(cell_len(cell) for cell in column) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
            self.line(f"     {'  '.join(cells)}".rstrip(), style)


def _wrapped(text: str) -> Iterator[str]:
    """Lines of words, measured in cells."""
    line = ""
    for word in text.split():
        if line and cell_len(line) + 1 + cell_len(word) > _WIDTH:
            yield line
            line = word
        else:
            line = f"{line} {word}".lstrip()
    if line:
        yield line
