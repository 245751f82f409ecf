"""Reads the commits of a business day, in two passes over the history.

The first pass walks everything and takes only dates, because a date limit makes git stop at the first commit with a
wrong clock; the second asks for the details of the few commits that belong to the day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from halfway_report.citations import hex_words
from halfway_report.days import Window, business_day, date_at
from halfway_report.git import Git, GitFailed
from halfway_report.models import Basis, Collection, Commit, FileChange
from halfway_report.redact import redact

_LATEST = 4_102_444_800  # 2100-01-01: a later date is a broken clock, not a plan
_FIELDS = ("%H", "%P", "%B")
_FORMAT = "--format=" + "%x00".join(_FIELDS)


class _Notes:
    """What a reader must know about gaps in the collection; counted, then told once."""

    def __init__(self) -> None:
        self.redactions: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def add(self, message: str, count: int = 1) -> None:
        self._counts[message] += count

    def lines(self) -> tuple[str, ...]:
        return tuple(f"{message}: {count}" for message, count in sorted(self._counts.items()))


def collect(
    project: str, day: date, *, repositories: Sequence[Path], zone: str, basis: Basis = "author", within: timedelta = timedelta(minutes=2)
) -> Collection:
    """The commits of a day on all branches, oldest first, each once however many repositories have it; merges are left out."""
    notes = _Notes()
    window = business_day(day, zone)
    sources = [Git(path, within=within) for path in repositories]
    found: dict[str, Commit] = {}
    for git in sources:
        git.check()
        for commit in _commits(git, window, basis, notes, known=found.keys()):
            found[commit.sha] = commit
    words = {word for commit in found.values() for word in hex_words(f"{commit.subject}\n{commit.body}")}
    mentioned = {sha for git in sources for sha in _existing(git, words)}
    commits = tuple(sorted(found.values(), key=lambda commit: (commit.at, commit.repository, commit.sha)))
    return Collection(
        project=project,
        date=day,
        zone=zone,
        basis=basis,
        commits=commits,
        mentioned=tuple(sorted(mentioned - found.keys())),
        redactions=dict(sorted(notes.redactions.items())),
        warnings=notes.lines(),
    )


def newest_day(repository: Path, zone: str, *, within: timedelta = timedelta(minutes=1)) -> date | None:
    """The business day of the newest commit at HEAD that is no merge, by its author's clock; None where there is none."""
    git = Git(repository, within=within)
    git.check()
    if not git.has_head():
        return None
    second = _second(git.ask("log", "-1", "--no-merges", "--format=%at", "HEAD", "--").strip())
    return None if second is None else date_at(second, zone)


class _Raw(NamedTuple):
    """A commit as git tells it."""

    sha: str
    parents: int
    message: bytes


def _commits(git: Git, window: Window, basis: Basis, notes: _Notes, *, known: Set[str]) -> list[Commit]:
    chosen = {sha: second for sha, second in _in_window(git, window, basis, notes) if sha not in known}
    if not chosen:
        return []
    output = git.ask("log", "--no-walk=unsorted", "--stdin", "-z", _FORMAT, stdin=_lines(chosen))
    raws = [raw for raw in _records(output) if raw.parents <= 1]
    # At the border of a shallow clone the parent is missing, so the commit seems to add the whole tree.
    cut_off = {raw.sha for raw in raws if raw.parents == 0} if git.is_shallow() else set[str]()
    if cut_off:
        notes.add("commits at the border of a shallow clone, shown without their files", len(cut_off))
    files = _files(git, [raw.sha for raw in raws if raw.sha not in cut_off], notes)
    name = git.repository.resolve().name
    commits: list[Commit] = []
    for raw in raws:
        subject, body = _message(raw.message, notes)
        commits.append(Commit(sha=raw.sha, repository=name, at=chosen[raw.sha], subject=subject, body=body, files=files.get(raw.sha)))
    return commits


def _in_window(git: Git, window: Window, basis: Basis, notes: _Notes) -> Iterator[tuple[str, int]]:
    references = ["--branches", "HEAD"] if git.has_head() else ["--branches"]
    wanted = 1 if basis == "author" else 2
    for line in git.ask("log", *references, "--format=%H %at %ct", "--").splitlines():
        fields = line.split(b" ")
        second = _second(fields[wanted])
        if second is None:
            notes.add("commits with an impossible date, left out")
        elif second in window:
            yield fields[0].decode("ascii"), second


def _records(output: bytes) -> Iterator[_Raw]:
    fields = output.split(b"\0")
    for start in range(0, len(fields) - len(_FIELDS) + 1, len(_FIELDS)):
        sha, parents, message = fields[start : start + len(_FIELDS)]
        yield _Raw(sha.decode("ascii"), len(parents.split()), message)


def _message(raw: bytes, notes: _Notes) -> tuple[str, str]:
    text, secrets = redact(raw.decode("utf-8", "replace"))
    notes.redactions += secrets
    if "\ufffd" in text:
        notes.add("commit messages in an unknown encoding")
    subject, _, body = text.strip("\n").partition("\n")
    return subject.strip(), body.strip("\n")


def _files(git: Git, shas: Sequence[str], notes: _Notes) -> dict[str, tuple[FileChange, ...]]:
    if not shas:
        return {}
    try:
        raw = git.ask("diff-tree", "--stdin", "-r", "--root", "-M", "-z", "--numstat", stdin=_lines(shas))
    except GitFailed:
        # Contents that a partial clone does not have: the report is still worth writing.
        notes.add("commits whose files are not in this clone", len(shas))
        return {}
    # A commit that changes no file is not in the answer.
    return dict.fromkeys(shas, ()) | _numstat(raw)


def _numstat(raw: bytes) -> dict[str, tuple[FileChange, ...]]:
    """Reads `<sha>` and `<added> TAB <deleted> TAB <path>` entries; a rename has an empty path and two entries more."""
    changes: dict[str, list[FileChange]] = {}
    current: list[FileChange] = []
    entries = iter(raw.split(b"\0"))
    for entry in entries:
        if b"\t" in entry:
            added, deleted, path = entry.split(b"\t", 2)
            if not path:
                _, path = next(entries), next(entries)
            current.append(FileChange(path=path.decode("utf-8", "replace"), added=_count(added), deleted=_count(deleted)))
        elif entry:
            current = changes.setdefault(entry.decode("ascii"), [])
    return {sha: tuple(files) for sha, files in changes.items()}


def _existing(git: Git, words: set[str]) -> set[str]:
    """The full hashes of those words that name exactly one commit of the repository."""
    if not words:
        return set()
    answer = git.ask("cat-file", "--batch-check", stdin=_lines(sorted(words)))
    fields = [line.split() for line in answer.decode("utf-8", "replace").splitlines()]
    return {field[0] for field in fields if len(field) == 3 and field[1] == "commit"}


def _second(raw: bytes) -> int | None:
    return int(raw) if raw.isdigit() and int(raw) < _LATEST else None


def _count(raw: bytes) -> int | None:
    return None if raw == b"-" else int(raw)


def _lines(words: Iterable[str]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()
