"""Makes a collection of the commits of a business day, out of all repositories of a project."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from halfway_report.citations import hex_words
from halfway_report.days import Window, business_day, date_at
from halfway_report.git import Deadline, Git, GitFailed, GitSaidTooMuch, GitTookTooLong
from halfway_report.history import Changes, Notes, Raw, changes, details, existing, in_window, patch_ids, second_of
from halfway_report.kinds import Rule, kind_of, unwanted
from halfway_report.legible import message_text
from halfway_report.models import Collection, Commit, FileChange
from halfway_report.redact import Redactor, redactor_for
from halfway_report.same import pair_reverts, same_changes
from halfway_report.settings import ProjectSettings
from halfway_report.sources import Source, sources

MOST_COMMITS = 2_000  # of one day in one repository
_MOST_WORDS = 10_000  # that may name a commit


class _Found(NamedTuple):
    """A commit of the day, before anything of it is known to be fit for keeping."""

    raw: Raw
    at: int
    changes: Changes | None


def collect(project: str, day: date, settings: ProjectSettings, *, within: timedelta = timedelta(minutes=2)) -> Collection:
    """The commits of a day, oldest first, each change once however many branches and repositories have it."""
    notes, deadline = Notes(), Deadline(within)
    places = sources(settings.repositories, deadline)
    window = business_day(day, settings.zone)
    found: dict[Source, list[_Found]] = {}
    seen: set[str] = set()
    for place in places:
        found[place] = list(_of_the_window(place, window, settings, notes, seen))
        seen.update(item.raw.sha for item in found[place])
    people = () if settings.show_authors else _full_names(item.raw for items in found.values() for item in items)
    redactor = redactor_for(settings, people)
    editor = _Editor(settings, redactor, notes, deadline)
    commits = [commit for place, items in found.items() for commit in _once(place.git, list(editor.commits(place, items)), items, notes)]
    commits.sort(key=lambda commit: (commit.at, commit.repository, commit.sha))
    mentioned = _mentioned(places, commits)
    return Collection(
        project=project,
        date=day,
        zone=settings.zone,
        basis=settings.basis,
        commits=pair_reverts(commits, mentioned),
        mentioned=mentioned,
        redactions=dict(sorted(editor.redactions.items())),
        warnings=notes.lines(),
    )


def newest_day(repository: Path, zone: str, *, within: timedelta = timedelta(minutes=1)) -> date | None:
    """The business day of the newest commit at HEAD that is no merge, by its author's clock; None where there is none."""
    (place,) = sources([repository], Deadline(within))
    if not place.heads:
        return None
    second = second_of(place.git.ask("log", "-1", "--no-merges", "--format=%at", place.heads[0], "--").strip())
    return None if second is None else date_at(second, zone)


def _of_the_window(place: Source, window: Window, settings: ProjectSettings, notes: Notes, seen: Set[str]) -> Iterator[_Found]:
    references = place.references(settings)
    if not place.heads and settings.basis == "landed":
        return  # nothing has landed in a repository without commits
    chosen = {sha: at for sha, at in in_window(place.git, references, window, settings.basis, notes) if sha not in seen}
    if len(chosen) > MOST_COMMITS:
        notes.add(f"commits after the first {MOST_COMMITS} of the day, left out", len(chosen) - MOST_COMMITS)
        chosen = dict(sorted(chosen.items(), key=lambda item: (item[1], item[0]))[:MOST_COMMITS])
    raws = list(_wanted(details(place.git, list(chosen), notes), settings, notes)) if chosen else []
    # At the border of a shallow clone the parent is missing, so the commit seems to add the whole tree.
    border = place.border()
    cut_off = sum(raw.sha in border for raw in raws)
    notes.add("commits at the border of a shallow clone, shown without their files", cut_off)
    files = changes(place.git, [raw for raw in raws if raw.sha not in border], notes)
    for raw in raws:
        yield _Found(raw, chosen[raw.sha], files.get(raw.sha))


def _wanted(raws: Iterable[Raw], settings: ProjectSettings, notes: Notes) -> Iterator[Raw]:
    excluded = [re.compile(pattern, re.IGNORECASE) for pattern in settings.exclude_authors]
    for raw in raws:
        if len(raw.parents) > 1 and settings.basis != "landed":
            continue
        if any(pattern.search(f"{raw.author} <{raw.address}>") for pattern in excluded):
            notes.add("commits by excluded authors, left out")
        else:
            yield raw


class _Editor:
    """Turns what git says into what is kept."""

    def __init__(self, settings: ProjectSettings, redactor: Redactor, notes: Notes, deadline: Deadline) -> None:
        self.redactions: Counter[str] = Counter()
        self._paths: dict[str, str] = {}
        self._repositories: dict[str, str] = {}
        self._settings, self._redactor, self._notes, self._deadline = settings, redactor, notes, deadline

    def commits(self, place: Source, items: Iterable[_Found]) -> Iterator[Commit]:
        rules = [*place.rules(self._notes), *unwanted(self._settings.drop)]
        for raw, at, changed in items:
            if not self._deadline.left():
                raise GitTookTooLong(place.git.repository, "log", "the time for the whole day was over")
            subject, body = self._message(raw.message)
            authors = (raw.author, *map(_without_address, raw.co_authors)) if self._settings.show_authors else ()
            yield Commit(
                sha=raw.sha,
                repository=self._repository(place.name),
                at=at,
                subject=subject,
                body=body,
                files=None if changed is None else tuple(self._file(file, rules) for file in changed.files),
                omitted=() if changed is None else changed.omitted,
                authors=tuple(dict.fromkeys(self._redactor(message_text(name)).text for name in authors)),
                merge=len(raw.parents) > 1,
            )

    def _file(self, file: FileChange, rules: Sequence[Rule]) -> FileChange:
        """The file with its kind, which its path says, and then with its path as it may be kept."""
        kind = file.kind or kind_of(file.path, rules)
        if file.path not in self._paths:
            self._paths[file.path], secrets = self._redactor(file.path)
            self.redactions += secrets
        return file.model_copy(update={"kind": kind, "path": self._paths[file.path]})

    def _repository(self, name: str) -> str:
        """The name of a repository; those that would lose what tells them apart get a number."""
        if name not in self._repositories:
            kept = self._redactor(name).text
            number = sum(other == kept or other.startswith(f"{kept} (") for other in self._repositories.values())
            self._repositories[name] = f"{kept} ({number + 1})" if number else kept
        return self._repositories[name]

    def _message(self, message: str) -> tuple[str, str]:
        text, secrets = self._redactor(message_text(message))
        self.redactions += secrets
        if "\ufffd" in text:
            self._notes.add("commit messages in an unknown encoding")
        subject, _, body = text.strip("\n").partition("\n")
        return subject.strip(), body.strip("\n")


def _once(git: Git, commits: Sequence[Commit], items: Iterable[_Found], notes: Notes) -> list[Commit]:
    """The commits without those that only repeat the change of another one, which then names them."""
    committed = {item.raw.sha: item.raw.committed or 0 for item in items}
    try:
        same = same_changes(commits, lambda shas: patch_ids(git, shas), committed)
    except (GitFailed, GitSaidTooMuch):
        notes.add("repositories whose commits are too large to be compared with each other")
        same = {}
    repeated = {sha for others in same.values() for sha in others}
    notes.add("commits that repeat a change on another branch, shown with it", len(repeated))
    return [commit.model_copy(update={"also": same.get(commit.sha, ())}) for commit in commits if commit.sha not in repeated]


def _mentioned(places: Iterable[Source], commits: Iterable[Commit]) -> tuple[str, ...]:
    words = sorted({word for commit in commits for word in hex_words(f"{commit.subject}\n{commit.body}")})[:_MOST_WORDS]
    own = {sha for commit in commits for sha in commit.shas}
    return tuple(sorted({sha for place in places for sha in existing(place.git, words)} - own))


def _without_address(person: str) -> str:
    return person.partition("<")[0].strip()


def _full_names(raws: Iterable[Raw]) -> Iterator[str]:
    """The names of those at work that are long enough to be found in prose without hitting ordinary words."""
    for raw in raws:
        for name in (raw.author, raw.signed, *map(_without_address, raw.co_authors)):
            if " " in name or (len(name) >= 3 and not name.isascii()):
                yield name
