"""Finds what is to be read: files under the given paths, bounded in number, size and depth. Opens them for reading, and nothing else."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from halfway.inspection.databases import MAGIC, dump
from halfway.inspection.quoting import shown_path
from halfway.inspection.servers import dump_server, shown
from halfway.inspection.source import Source, Unreadable

LARGEST = 2 * 2**20  # bytes of a file
MOST_FILES = 5_000
MOST_BYTES = 100 * 2**20
DEEPEST = 25  # folders
LONGEST = 60.0  # seconds for all of it
ENDINGS = frozenset({
    ".yml", ".yaml", ".json", ".py", ".sh", ".bash", ".ts", ".mts", ".tsx", ".mdx", ".md", ".bpmn", ".xml", ".timer", ".service", ".cron",
    ".toml", ".log", ".txt", ".jsonl",
})  # fmt: skip
WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0)  # for what it may have become since it was looked at
WITHOUT_LINK = getattr(os, "O_NOFOLLOW", 0)
NAMES = frozenset({"crontab", "Makefile"})
_REMOTE = re.compile(r"^\[remote \"origin\"\][^\[]{0,2000}?^[ \t]*url[ \t]*=[ \t]*\S{0,300}?github\.com[:/]+([\w.-]+)/", re.MULTILINE)
SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "vendor", ".tox", ".mypy_cache"})


@dataclass(frozen=True)
class Skip:
    """Something that was not read, and why."""

    path: str
    why: str
    named: bool = False  # by whoever asked
    missing: bool = False
    reader: str = ""  # which took it for its own; empty: none did

    @property
    def told(self) -> str:
        """Why, with who says so, in English."""
        return f"{self.reader}: {self.why}" if self.reader else self.why


@dataclass
class Gathered:
    """What there is to read, and what was left out."""

    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    named: set[str] = field(default_factory=set[str])  # those of the sources that were named themselves
    skipped: list[Skip] = field(default_factory=list[Skip])


def gather(paths: Sequence[Path | str]) -> Gathered:
    """Reads the files under the paths; a text is the address of a database.

    A path that was named itself is read whatever it is called; links are followed only there.
    """
    found, size, ends = Gathered(), 0, time.monotonic() + LONGEST
    for path in paths:
        if isinstance(path, str):
            _server(path, found)
            continue
        for file, named in _files(path, found):
            if len(found.sources) >= MOST_FILES or size > MOST_BYTES or time.monotonic() > ends:
                found.skipped.append(Skip(str(path), "it is too much: only the first files were read"))
                return found
            source = _read(file, found, named=named)
            if source is not None:
                found.sources[source.path] = source
                found.named |= {source.path} if named else set()
                size += len(source.text)
    return found


def beside(paths: Sequence[Path], name: str, here: Path) -> tuple[Path, ...]:
    """The nearest file of this name for each path: in its folder, or above it as far as `here` or the root of its repository."""
    found: dict[Path, None] = {}
    for path in paths:
        whole = Path(os.path.abspath(path))
        above = [*([whole] if os.path.isdir(whole) else []), *whole.parents]
        last = next((number for number, folder in enumerate(above) if folder == here or _is_there(folder / ".git")), 0)
        nearest = next((folder / name for folder in above[: last + 1] if _is_there(folder / name)), None)
        if nearest is not None:
            found[nearest] = None
    return tuple(found)


def owners(paths: Sequence[Path | str]) -> frozenset[str]:
    """Who owns the repositories in which the paths stand, as far as git tells where they came from; in small letters."""
    found = set[str]()
    for path in paths:
        if isinstance(path, Path):
            whole = Path(os.path.abspath(path))
            root = next((folder for folder in (whole, *whole.parents) if _is_there(folder / ".git")), None)
            found |= _owners(root / ".git" / "config") if root is not None else set()
    return frozenset(found)


def _owners(config: Path) -> set[str]:
    try:
        return {owner.lower() for owner in _REMOTE.findall(read_one(config, named=False))}
    except Unreadable:
        return set()  # a repository within another one has no such file of its own


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (OSError, ValueError):
        return False
    return True


def read_one(path: Path, *, named: bool) -> str:
    """The text of one file, under the same limits as all others; raises Unreadable."""
    found = Gathered()
    source = _read(path, found, named=named)
    if source is None:
        raise Unreadable(next((skip.why for skip in found.skipped), "it is no text"))
    return source.text


def _files(path: Path, found: Gathered) -> Iterator[tuple[Path, bool]]:
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        found.skipped.append(Skip(str(path), "it does not exist", named=True, missing=True))
        return
    except (OSError, ValueError) as error:  # a name that is too long, that no file can have, or that leads around in a circle
        found.skipped.append(_skip(error, path, named=True))
        return
    if stat.S_ISDIR(kind):
        for file in _walk(path, found):
            yield file, False
    else:
        yield path, True


def _walk(root: Path, found: Gathered) -> Iterator[Path]:
    def unread(error: OSError) -> None:
        found.skipped.append(_skip(error, root, named=error.filename == os.fspath(root)))

    depth = len(root.parts)
    for folder, folders, files in os.walk(root, followlinks=False, onerror=unread):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if name not in SKIPPED) if len(here.parts) - depth < DEEPEST else []
        yield from (here / name for name in sorted(files) if Path(name).suffix in ENDINGS or name in NAMES)


def _name(path: Path, found: Gathered) -> str:
    """The path as it is shown; two that are shown alike are told apart."""
    shown = shown_path(path.as_posix())
    if shown == path.as_posix():
        return shown
    stem, ending = os.path.splitext(shown)
    names = (f"{stem}{(number and f' ({number})') or ''}{ending}" for number in range(MOST_FILES + 1))
    return next(name for name in names if name not in found.sources)


def _skip(error: OSError | ValueError, path: Path, *, named: bool) -> Skip:
    if isinstance(error, ValueError):
        return Skip(str(path), "no file can be called so", named=named)
    return Skip(str(error.filename or path), error.strerror or type(error).__name__, named=named)


def _read(path: Path, found: Gathered, *, named: bool) -> Source | None:
    try:
        content = _content(path, named=named)
    except (OSError, ValueError) as error:
        found.skipped.append(_skip(error, path, named=named))
        return None
    if content is None:
        found.skipped.append(Skip(str(path), "it is no file", named=named))
        return None
    if named and content.startswith(MAGIC):
        return _database(path, found)
    if len(content) > LARGEST:
        found.skipped.append(Skip(str(path), "it is larger than 2 MiB", named=named))
        return None
    if b"\0" in content[:8192]:
        if named:
            found.skipped.append(Skip(str(path), "it is no text", named=True))
        return None
    return Source(_name(path, found), content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", " "))


def _server(url: str, found: Gathered) -> None:
    name = shown(url)
    try:
        found.sources[name] = Source(name, dump_server(url))
        found.named.add(name)
    except Unreadable as error:
        found.skipped.append(Skip(name, str(error), named=True))


def _content(path: Path, *, named: bool) -> bytes | None:
    """What stands in it, as far as it is read; None if it is no file."""
    # A pipe or a device would never end, and a link inside of a folder may lead out of it; what is looked at is what is opened.
    if not stat.S_ISREG((path.stat() if named else path.lstat()).st_mode):
        return None
    with open(os.open(path, os.O_RDONLY | WITHOUT_WAITING | (0 if named else WITHOUT_LINK)), "rb") as file:
        return (file.read(LARGEST + 1) or b"") if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None


def _database(path: Path, found: Gathered) -> Source | None:
    try:
        return Source(_name(path, found), dump(path))
    except Unreadable as error:
        found.skipped.append(Skip(str(path), str(error), named=True))
        return None
