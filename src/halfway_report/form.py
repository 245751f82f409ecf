"""What a report must look like. The generator writes to it and the validator checks it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

SUMMARY, CHANGES, FILES, NOTES = "Summary", "Changes", "Files", "Notes"


def title_of(project: str, day: date) -> str:
    """What stands in the heading of level 1."""
    return f"Daily report: {project}, {day}"


@dataclass(frozen=True, kw_only=True)
class Form:
    """A named form; the name changes when a heading or a limit does."""

    name: str
    headings: tuple[str, ...]  # of level 2, in this order, under one heading of level 1
    min_prose: int  # characters of text outside headings and code
    max_size: int  # characters in all


DAILY = Form(name="daily-1", headings=(SUMMARY, CHANGES, FILES, NOTES), min_prose=80, max_size=100_000)
