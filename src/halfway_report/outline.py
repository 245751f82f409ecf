"""The generator without a model: the same commits give the same Markdown, byte for byte."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from halfway_report.citations import replace_hex_words
from halfway_report.figures import figures_of
from halfway_report.form import CHANGES, FILES, NOTES, SUMMARY, title_of
from halfway_report.generators import Desk, Identity, Task, Written
from halfway_report.language import Translate, retold, translator
from halfway_report.models import Collection, Commit, Context, Figures

LISTED = 200  # commits; a longer list is cut, and says so
_AREAS = 30
# What Markdown, or Notion's extension of it, would read as a sign.
_SIGNS = re.compile(r"[\\*~`$\[\]<>{}|^&]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")  # not the underscores inside a word
_BIDI = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Outline:
    """Lists what the commits say themselves. It is right by construction, and the measure for any model that comes later."""

    mode = "outline"
    prompt_version = "outline-3"
    language = None
    examples = ()

    def __init__(self, language: str = "en") -> None:
        self._language = language

    def identify(self, desk: Desk, /) -> Identity:
        """Nobody; the evidence of a run says so."""
        return Identity(name="outline")

    def seed(self, generation: int, /) -> int | None:
        """There is no chance in it."""
        return None

    def write(self, task: Task, desk: Desk, /) -> Written:
        """The report in Markdown, with the fixed headings of the form."""
        _ = translator(self._language)
        authorship = _("Written without a model: every line is taken from the commits themselves.")
        return Written(text=skeleton(task.context, authorship=authorship, language=self._language))


def skeleton(
    context: Context, *, authorship: str, language: str = "en", summary: str = "", sentences: Mapping[str, str] | None = None
) -> str:
    """The report as code writes it; a sentence about a commit, by its id, stands in place of what the commit says about itself."""
    collection, say = context.collection, _Say(translator(language))
    figures = context.figures or figures_of(collection.commits)
    sections = [
        (SUMMARY, plain(summary) or say.summary(collection, figures)),
        (CHANGES, "\n".join(say.changes(collection.commits, collection.shas, sentences or {}, figures.commits))),
        (FILES, "\n".join(say.areas(figures))),
        (NOTES, "\n".join((*notes(context, language), f"- {plain(authorship)}"))),
    ]
    # The headings are what the validator and whoever reads the pages by machine look for: they are the same in every language.
    parts = [f"# {title_of(plain(collection.project), collection.date)}"]
    parts += [f"## {heading}\n\n{content}" for heading, content in sections]
    return "\n\n".join(parts) + "\n"


def notes(context: Context, language: str = "en") -> Iterator[str]:
    """What a reader must know about how the day was collected, as list items."""
    _ = translator(language)
    if context.collection.basis == "landed":
        yield "- " + _("Only what landed on one branch is listed, a merge with all that it brought.")
    else:
        yield "- " + _("Merges are not listed; a commit counts once, on whichever branches it is.")
    for kind, count in context.collection.redactions.items():
        yield "- " + _("Secrets taken out of commit messages ({kind}): {count}").format(kind=kind, count=count)
    left_out = (_("Left out, {what}").format(what=retold(what, language)) for what in context.left_out)
    for line in (*(retold(warning, language) for warning in context.collection.warnings), *left_out):
        yield f"- {plain(line[0].upper() + line[1:])}"


def plain(text: str) -> str:
    """Text that Markdown shows as it stands, on one line, without control characters."""
    line = " ".join(_BIDI.sub("", text.replace("\ufffd", "?")).split())
    line = "".join(letter for letter in line if unicodedata.category(letter) != "Cc")
    return _SIGNS.sub(r"\\\g<0>", line)


class _Say:
    """What code says about a day, in one language."""

    def __init__(self, translate: Translate) -> None:
        self._ = translate

    def summary(self, collection: Collection, figures: Figures) -> str:
        _ = self._
        clocks = {
            "author": _("by the authors' clocks"),
            "committer": _("by the committers' clocks"),
            "landed": _("by the time at which it landed"),
        }
        day = _("on {date} (the whole day in {zone}, {clocks})").format(
            date=collection.date, zone=plain(collection.zone), clocks=clocks[collection.basis]
        )
        if not figures.commits:
            return _("No commits were made {day}.").format(day=day)
        return _("{commits} {day} changed {files}: {added} added, {deleted} deleted.").format(
            commits=self._commits(figures.commits),
            day=day,
            files=self._files(figures.files),
            added=self._lines(figures.added),
            deleted=self._lines(figures.deleted),
        )

    def changes(self, commits: Sequence[Commit], shas: Sequence[str], sentences: Mapping[str, str], total: int) -> Iterator[str]:
        _ = self._
        if not total:
            yield "- " + _("none")
        several = len({commit.repository for commit in commits}) > 1
        for commit in commits[:LISTED]:
            told = sentences.get(commit.sha) or replace_hex_words(commit.subject, shas, _("(unknown commit)"))
            where = " " + _("(in {repository})").format(repository=_name(commit.repository)) if several else ""
            codes = ", ".join(f"`{sha[:12]}`" for sha in commit.shas)
            yield f"- {codes} {plain(told) or _('(no subject)')}{self._pair(commit)}{where}"
        if more := total - len(commits[:LISTED]):
            yield "- " + _("and {commits} more, not listed here").format(commits=self._commits(more))

    def _pair(self, commit: Commit) -> str:
        _ = self._
        took_back = " " + _("(takes back `{commit}`)").format(commit=commit.reverts[:12]) if commit.reverts else ""
        taken_back = " " + _("(taken back by `{commit}`)").format(commit=commit.reverted_by[:12]) if commit.reverted_by else ""
        return took_back + taken_back

    def areas(self, figures: Figures) -> Iterator[str]:
        _ = self._
        if not figures.areas:
            yield "- " + _("none")
        for area in figures.areas[:_AREAS]:
            yield "- " + _("{name}: {changes}, {added} added, {deleted} deleted").format(
                name=_("directory {name}").format(name=_name(area.name)) if area.name else _("top level"),
                changes=self._changes(area.changes),
                added=self._lines(area.added),
                deleted=self._lines(area.deleted),
            )
        if len(figures.areas) > _AREAS:
            yield "- " + _("and {areas} more, not listed here").format(areas=self._areas(len(figures.areas) - _AREAS))

    def _commits(self, count: int) -> str:
        _ = self._
        return (_("{count} commit") if count == 1 else _("{count} commits")).format(count=count)

    def _files(self, count: int) -> str:
        _ = self._
        return (_("{count} file") if count == 1 else _("{count} files")).format(count=count)

    def _lines(self, count: int) -> str:
        _ = self._
        return (_("{count} line") if count == 1 else _("{count} lines")).format(count=count)

    def _changes(self, count: int) -> str:
        _ = self._
        return (_("{count} change") if count == 1 else _("{count} changes")).format(count=count)

    def _areas(self, count: int) -> str:
        _ = self._
        return (_("{count} area") if count == 1 else _("{count} areas")).format(count=count)


def _name(text: str) -> str:
    # A directory named like a commit must not read as a citation.
    return plain(replace_hex_words(text, (), "(a name in hex)"))
