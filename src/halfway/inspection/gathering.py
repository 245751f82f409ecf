"""Finds what is to be read: files under the given paths, bounded in number, size and depth. Opens them for reading, and nothing else."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from halfway.inspection.source import Source

LARGEST = 2 * 2**20  # bytes of a file
MOST_FILES = 5_000
MOST_BYTES = 100 * 2**20
DEEPEST = 25  # folders
LONGEST = 60.0  # seconds for all of it
ENDINGS = frozenset({
    ".yml", ".yaml", ".json", ".py", ".sh", ".bash", ".ts", ".mts", ".tsx", ".mdx", ".md", ".bpmn", ".xml", ".timer", ".service", ".cron",
    ".toml", ".log", ".txt", ".jsonl",
})  # fmt: skip
NAMES = frozenset({"crontab", "Makefile"})
SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "vendor", ".tox", ".mypy_cache"})


@dataclass(frozen=True)
class Skip:
    """Something that was not read, and why."""

    path: str
    why: str


@dataclass
class Gathered:
    """What there is to read, and what was left out."""

    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    skipped: list[Skip] = field(default_factory=list[Skip])


def gather(paths: Sequence[Path]) -> Gathered:
    """Reads the files under the paths. A path that was named itself is read whatever it is called; links are followed only there."""
    found, size, ends = Gathered(), 0, time.monotonic() + LONGEST
    for path in paths:
        for file, named in _files(path, found):
            if len(found.sources) >= MOST_FILES or size > MOST_BYTES or time.monotonic() > ends:
                found.skipped.append(Skip(str(path), "it is too much: only the first files were read"))
                return found
            source = _read(file, found, named=named)
            if source is not None:
                found.sources[source.path] = source
                size += len(source.text)
    return found


def _files(path: Path, found: Gathered) -> Iterator[tuple[Path, bool]]:
    if not path.exists():
        found.skipped.append(Skip(str(path), "it does not exist"))
    elif path.is_dir():
        for file in _walk(path, found):
            yield file, False
    else:
        yield path, True


def _walk(root: Path, found: Gathered) -> Iterator[Path]:
    depth = len(root.parts)
    for folder, folders, files in os.walk(root, followlinks=False, onerror=lambda error: found.skipped.append(_skip(error))):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if name not in SKIPPED) if len(here.parts) - depth < DEEPEST else []
        yield from (here / name for name in sorted(files) if Path(name).suffix in ENDINGS or name in NAMES)


def _skip(error: OSError) -> Skip:
    return Skip(str(error.filename), error.strerror or type(error).__name__)


def _read(path: Path, found: Gathered, *, named: bool) -> Source | None:
    try:
        # A pipe or a device would never end, and a link inside of a folder may lead out of it.
        mode = (path.stat() if named else path.lstat()).st_mode
        if not stat.S_ISREG(mode):
            found.skipped.append(Skip(str(path), "it is no file"))
            return None
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        found.skipped.append(_skip(error))
        return None
    if len(content) > LARGEST:
        found.skipped.append(Skip(str(path), "it is larger than 2 MiB"))
        return None
    if b"\0" in content[:8192]:
        if named:
            found.skipped.append(Skip(str(path), "it is no text"))
        return None
    return Source(path.as_posix(), content.decode("utf-8", "replace").replace("\r\n", "\n"))
