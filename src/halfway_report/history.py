"""Reads commits out of one repository: which belong to a window of time, and what they say and change.

The walk over the whole history takes only dates, because a date limit makes git stop at the first commit with a
wrong clock; the details are asked for the few commits that belong to the window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from halfway_report.days import Window
from halfway_report.figures import TOO_MANY
from halfway_report.git import Git, GitFailed
from halfway_report.legible import decoded, path_text
from halfway_report.models import Basis, FileChange, Kind, Omitted

MOST_FILES = 5_000  # of one commit
MOST_FILES_IN_ALL = 50_000
LONGEST_MESSAGE = 2**14  # bytes
_LATEST = 4_102_444_800  # 2100-01-01: a later date is a broken clock, not a plan
_CO_AUTHORS = "%(trailers:key=Co-authored-by,valueonly=true,separator=%x1f)"
_FIELDS = ("%H", "%P", "%ct", "%aN", "%an", "%aE", _CO_AUTHORS, "%B")
_FORMAT = "--format=" + "%x00".join(_FIELDS)
_GITLINK = b"160000"
_RENAMES = ("-M", "-l1000")


class Notes:
    """What a reader must know about gaps in the collection; counted, then told once."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, message: str, count: int = 1) -> None:
        self._counts[message] += count

    def lines(self) -> tuple[str, ...]:
        return tuple(f"{message}: {count}" for message, count in sorted(self._counts.items()) if count)


class Raw(NamedTuple):
    """A commit as git tells it."""

    sha: str
    parents: tuple[str, ...]
    committed: int | None
    author: str
    signed: str  # the author before .mailmap
    address: str
    co_authors: tuple[str, ...]  # `Name <address>`, as they stand
    message: str


class Changes(NamedTuple):
    """The files of one commit, and what is only counted."""

    files: tuple[FileChange, ...]
    omitted: tuple[Omitted, ...] = ()


def in_window(git: Git, references: Iterable[str], window: Window, basis: Basis, notes: Notes) -> Iterator[tuple[str, int]]:
    """The commits of a window with the second that puts them there, whatever stands above them in the history."""
    wanted = 1 if basis == "author" else 2
    for line in git.parts("log", *references, "--format=%H %at %ct", "--", end=b"\n"):
        fields = line.split(b" ")
        second = second_of(fields[wanted])
        if second is None:
            notes.add("commits with an impossible date, left out")
        elif second in window:
            yield fields[0].decode("ascii"), second


def details(git: Git, shas: Sequence[str], notes: Notes) -> Iterator[Raw]:
    """What the commits say, in the order in which they are asked for."""
    parts = git.parts("log", "--no-walk=unsorted", "--stdin", "-z", _FORMAT, stdin=_lines(shas), longest=LONGEST_MESSAGE)
    # As many fields at a time as a commit has.
    for sha, parents, committed, author, signed, address, co_authors, message in zip(*[iter(parts)] * len(_FIELDS), strict=False):
        if len(message) == LONGEST_MESSAGE:
            message = _whole_lines(message)  # noqa: PLW2901
            notes.add("commit messages cut at 16 KiB")
        yield Raw(
            sha=sha.decode("ascii"),
            parents=tuple(parents.decode("ascii").split()),
            committed=second_of(committed),
            author=decoded(author),
            signed=decoded(signed),
            address=decoded(address),
            co_authors=tuple(name for name in decoded(co_authors).split("\x1f") if name),
            message=decoded(message),
        )


def changes(git: Git, commits: Sequence[Raw], notes: Notes) -> Mapping[str, Changes]:
    """What the commits change; a merge is compared with its first parent."""
    if not commits:
        return {}
    # With parents named, git compares with those; without, a merge would say nothing.
    asked = _lines(f"{commit.sha} {commit.parents[0]}" if len(commit.parents) > 1 else commit.sha for commit in commits)
    try:
        found = dict(_diffs(_diff_tree(git, asked, *_RENAMES, "--raw", "--numstat")))
    except GitFailed:
        # Contents that a partial clone does not have: the names alone are still worth writing about.
        try:
            found = dict(_diffs(_diff_tree(git, asked, "--no-renames", "--raw")))
        except GitFailed:
            notes.add("commits whose files are not in this clone", len(commits))
            return {}
        notes.add("commits whose line counts are not in this clone", len(commits))
    notes.add("commits with too many files, of which the last are only counted", sum(bool(change.omitted) for change in found.values()))
    # A commit that changes no file is not in the answer.
    return {commit.sha: found.get(commit.sha, Changes(())) for commit in commits}


def _diff_tree(git: Git, asked: bytes, *options: str) -> Iterator[bytes]:
    return git.parts("diff-tree", "--stdin", "-r", "--root", "-z", *options, stdin=asked)


def existing(git: Git, words: Iterable[str]) -> set[str]:
    """The full hashes of those words that name exactly one commit of the repository."""
    asked = _lines(sorted(words))
    if not asked:
        return set()
    fields = [line.split() for line in git.ask("cat-file", "--batch-check", stdin=asked).decode("utf-8", "replace").splitlines()]
    return {field[0] for field in fields if len(field) == 3 and field[1] == "commit"}


def patch_ids(git: Git, shas: Sequence[str]) -> dict[str, str]:
    """What identifies a change apart from where it was made, for those commits that have such a thing."""
    patches = git.ask("diff-tree", "--stdin", "-r", "-p", "--full-index", *_RENAMES, stdin=_lines(shas))
    answer = git.ask("patch-id", "--stable", stdin=patches).decode("ascii")
    return {sha: identity for identity, sha in (line.split() for line in answer.splitlines())}


class _Diff:
    """The changes of one commit, while they are read."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._files: dict[bytes, FileChange] = {}
        self._count = self._added = self._deleted = 0

    def names(self, path: bytes, kind: Kind) -> None:
        """Takes a file of which only the name is known so far."""
        self._count += 1
        if len(self._files) < self._room:
            self._files[path] = FileChange(path=path_text(path), added=None, deleted=None, kind=kind)

    def counts(self, path: bytes, added: int | None, deleted: int | None) -> None:
        """Takes the lines of a file that was named before."""
        if path in self._files:
            self._files[path] = self._files[path].model_copy(update={"added": added, "deleted": deleted})
        else:
            self._added += added or 0
            self._deleted += deleted or 0

    @property
    def listed(self) -> int:
        """How many files are named."""
        return len(self._files)

    def result(self) -> Changes:
        more = self._count - self.listed
        omitted = (Omitted(why=TOO_MANY, files=more, added=self._added, deleted=self._deleted),) if more else ()
        return Changes(tuple(self._files.values()), omitted)


def _diffs(entries: Iterator[bytes]) -> Iterator[tuple[str, Changes]]:
    """Reads `<sha>`, then `:<modes> <hashes> <letter>` and its paths, then `<added> TAB <deleted> TAB <path>`, each ended by NUL.

    A renamed file has two paths; in the counts they follow an empty one.
    """
    left = MOST_FILES_IN_ALL
    sha, diff = "", _Diff(0)
    for entry in entries:
        if entry.startswith(b":"):
            path = next(entries)
            if entry[entry.rfind(b" ") + 1 :][:1] in b"RC":
                path = next(entries)
            modes = entry[1:].split(b" ", 2)[:2]
            diff.names(path, "submodule" if _GITLINK in modes else "")
        elif b"\t" in entry:
            added, deleted, path = entry.split(b"\t", 2)
            if not path:
                _, path = next(entries), next(entries)
            diff.counts(path, _count(added), _count(deleted))
        elif entry:
            if sha:
                yield sha, diff.result()
                left -= diff.listed
            sha, diff = entry.decode("ascii"), _Diff(min(left, MOST_FILES))
    if sha:
        yield sha, diff.result()


def second_of(raw: bytes) -> int | None:
    """A time as git writes it; None for one that cannot be."""
    return int(raw) if raw.isdigit() and int(raw) < _LATEST else None


def _whole_lines(message: bytes) -> bytes:
    """A cut message up to its last line or word: half of a secret would not be known as one."""
    for end in (b"\n", b" "):
        if end in message:
            return message[: message.rindex(end)]
    return message


def _count(raw: bytes) -> int | None:
    return None if raw == b"-" else int(raw)


def _lines(words: Iterable[str]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()
