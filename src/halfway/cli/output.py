"""How answers are printed: JSON for programs, plain words and columns for people, colour only on a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import click

from halfway.lines import width

COLOURS = {
    "SUCCESS": "green", "PARTIAL_SUCCESS": "green", "FAILED": "red", "EXPIRED": "red", "UNKNOWN": "yellow", "MANUAL_REQUIRED": "yellow",
    "RUNNING": "cyan", "CANCELLED": "magenta", "CANCEL_REQUESTED": "magenta", "WAITING": "cyan", "COMPENSATING": "cyan",
    "COMPENSATED": "magenta", "COMPENSATION_PENDING": "cyan", "COMPENSATION_FAILED": "red",
    "happened": "green", "not": "white", "unknown": "yellow",
}  # fmt: skip


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def chat(text: str) -> None:
    """Something for a person, beside the data."""
    click.echo(text, err=True)


def heading(text: str) -> None:
    click.echo(click.style(text, bold=True))


def coloured(text: str, word: str | None = None) -> str:
    """The text in the colour of a state."""
    colour = COLOURS.get(word or text.strip())
    return click.style(text, fg=colour) if colour else text


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, indent: str = "") -> None:
    """Columns as wide as what is in them."""
    lines = [list(titles), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(width(line[column]) for line in lines) for column in range(len(titles))]
    for number, line in enumerate(lines):
        padded = [cell + " " * (wide - width(cell)) for cell, wide in zip(line, widths, strict=True)]
        cells = [*padded[:-1], line[-1]]  # nothing stands after the last column
        told = [click.style(cell, dim=True) if not number else coloured(cell) for cell in cells]
        click.echo((indent + "  ".join(told)).rstrip())


def clean(text: str) -> str:
    """Without anything that could move the cursor or break the line."""
    return "".join(one if one.isprintable() else " " for one in text)


def short_time(moment: datetime | None) -> str:
    """To the second, in UTC."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def seconds(microseconds: int) -> str:
    """A length of time, to the millisecond where it is short."""
    return f"{microseconds / 1_000_000:.3f} s" if microseconds < 10_000_000 else str(timedelta(seconds=microseconds // 1_000_000))


def bounded(text: str, limit: int = 200) -> str:
    """One line of at most this length."""
    line = clean(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
