"""The generator without a model: the same commits give the same Markdown, byte for byte."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from halfway_report.citations import replace_hex_words
from halfway_report.form import CHANGES, FILES, NOTES, SUMMARY
from halfway_report.generators import Desk, Identity, Task, Written
from halfway_report.models import Commit, Context

LISTED = 200  # commits; a longer list is cut, and says so
_AREAS = 30
# What Markdown, or Notion's extension of it, would read as a sign.
_SIGNS = re.compile(r"[\\*~`$\[\]<>{}|^&]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")  # not the underscores inside a word
_BIDI = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Outline:
    """Lists what the commits say themselves. It is right by construction, and the measure for any model that comes later."""

    mode = "outline"
    prompt_version = "outline-2"
    language = None
    examples = ()

    def identify(self, desk: Desk, /) -> Identity:
        """Nobody; the evidence of a run says so."""
        return Identity(name="outline")

    def seed(self, generation: int, /) -> int | None:
        """There is no chance in it."""
        return None

    def write(self, task: Task, desk: Desk, /) -> Written:
        """The report in Markdown, with the fixed headings of the form."""
        return Written(text=skeleton(task.context, authorship=WITHOUT_MODEL))


WITHOUT_MODEL = "Written without a model: every line is taken from the commits themselves."


def skeleton(context: Context, *, authorship: str, summary: str = "", sentences: Mapping[str, str] | None = None) -> str:
    """The report as code writes it; a sentence about a commit, by its id, stands in place of what the commit says about itself."""
    collection = context.collection
    sections = [
        (SUMMARY, plain(summary) or _summary(context)),
        (CHANGES, "\n".join(_changes(collection.commits, collection.shas, sentences or {}))),
        (FILES, "\n".join(_areas(collection.commits))),
        (NOTES, "\n".join((*notes(context), f"- {plain(authorship)}"))),
    ]
    parts = [f"# Daily report: {plain(collection.project)}, {collection.date}"]
    parts += [f"## {heading}\n\n{content}" for heading, content in sections]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Text that Markdown shows as it stands, on one line, without control characters."""
    line = " ".join(_BIDI.sub("", text.replace("\ufffd", "?")).split())
    line = "".join(letter for letter in line if unicodedata.category(letter) != "Cc")
    return _SIGNS.sub(r"\\\g<0>", line)


def _summary(context: Context) -> str:
    collection = context.collection
    day = f"on {collection.date} (the whole day in {plain(collection.zone)}, by the {collection.basis}s' clocks)"
    if not collection.commits:
        return f"No commits were made {day}."
    files = {(commit.repository, file.path) for commit in collection.commits for file in commit.files or ()}
    added, deleted = _lines(collection.commits)
    return (
        f"{_many(len(collection.commits), 'commit')} {day} changed {_many(len(files), 'file')}: "
        f"{_many(added, 'line')} added, {_many(deleted, 'line')} deleted."
    )


def _changes(commits: Sequence[Commit], shas: Sequence[str], sentences: Mapping[str, str]) -> Iterator[str]:
    if not commits:
        yield "- none"
    several = len({commit.repository for commit in commits}) > 1
    for commit in commits[:LISTED]:
        subject = plain(sentences.get(commit.sha) or replace_hex_words(commit.subject, shas, "(unknown commit)")) or "(no subject)"
        where = f" (in {_name(commit.repository)})" if several else ""
        yield f"- `{commit.sha[:12]}` {subject}{where}"
    if len(commits) > LISTED:
        yield f"- and {_many(len(commits) - LISTED, 'commit')} more, not listed here"


def _areas(commits: Sequence[Commit]) -> Iterator[str]:
    areas: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for commit in commits:
        for file in commit.files or ():
            area = areas[f"directory {_name(file.path.partition('/')[0])}" if "/" in file.path else "top level"]
            area[0] += 1
            area[1] += file.added or 0
            area[2] += file.deleted or 0
    if not areas:
        yield "- none"
    ranked = sorted(areas.items(), key=lambda item: (-item[1][0], item[0]))
    for name, (changes, added, deleted) in ranked[:_AREAS]:
        yield f"- {name}: {_many(changes, 'change')}, {_many(added, 'line')} added, {_many(deleted, 'line')} deleted"
    if len(ranked) > _AREAS:
        yield f"- and {_many(len(ranked) - _AREAS, 'area')} more, not listed here"


def notes(context: Context) -> Iterator[str]:
    """What a reader must know about how the day was collected, as list items."""
    collection = context.collection
    yield "- Merges are not listed; a commit counts once, on whichever branches it is."
    for kind, count in collection.redactions.items():
        yield f"- Secrets taken out of commit messages ({kind}): {count}"
    for line in (*collection.warnings, *(f"Left out, {line}" for line in context.left_out)):
        yield f"- {plain(line[0].upper() + line[1:])}"


def _name(text: str) -> str:
    # A directory named like a commit must not read as a citation.
    return plain(replace_hex_words(text, (), "(a name in hex)"))


def _lines(commits: Sequence[Commit]) -> tuple[int, int]:
    files = [file for commit in commits for file in commit.files or ()]
    return sum(file.added or 0 for file in files), sum(file.deleted or 0 for file in files)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
