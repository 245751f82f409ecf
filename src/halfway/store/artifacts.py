"""The port `Artifacts`: files named by the hash of what they hold. No name that a user has chosen ever becomes a path."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from halfway.errors import DatabaseError

SHA256 = re.compile(r"[0-9a-f]{64}")
FOLDER = re.compile(r"[0-9a-f]{2}")
DRAFT = re.compile(r"[0-9a-f]{32}\.part")
OWNERS = "owners"  # the folder that has a file for each database whose rows name files here
TOP = "."  # the folder above all others, where drafts lie whose name is not known yet


class StoreArtifacts:
    """A folder of files `ab/abcdef…`; one that is there is complete, and is checked whenever it is read."""

    def __init__(self, root: Path, identity: Callable[[], str]) -> None:
        """identity: which database it is that uses the folder."""
        self._root = root
        self._identity = identity
        self._is_owner = False

    def put(self, content: bytes) -> tuple[str, int]:
        """A file that is there is made young, so that no sweep takes it away before its row is committed."""
        sha256 = hashlib.sha256(content).hexdigest()
        path = self._path(sha256)
        try:
            self._own()
            self._make(path.parent)
            with self._locked(path.parent, fcntl.LOCK_SH):
                if self.get(sha256) is None or not _made_young(path):
                    self._write(path, content)
        except OSError as error:
            raise DatabaseError("DATABASE_FULL", url=str(self._root), problem=f"{error.strerror}.") from error
        return sha256, len(content)

    def put_lines(self, lines: Iterator[bytes]) -> tuple[str, int]:
        """The name is known only when everything was written, so it is written under another one first."""
        digest, size = hashlib.sha256(), 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for line in lines:
                digest.update(line)
                size += len(line)
                yield line

        draft = self._draft(self._root)
        try:
            self._own()
            _fill(draft, counted())
            sha256 = digest.hexdigest()
            path = self._path(sha256)
            self._make(path.parent)
            with self._locked(path.parent, fcntl.LOCK_SH):
                self._place(draft, path)
        except OSError as error:
            raise DatabaseError("DATABASE_FULL", url=str(self._root), problem=f"{error.strerror}.") from error
        finally:
            draft.unlink(missing_ok=True)
        return sha256, size

    def get(self, sha256: str) -> bytes | None:
        stream = self._open(sha256)
        try:
            content = None if stream is None else stream.read()
        except OSError:
            return None
        finally:
            if stream is not None:
                stream.close()
        return content if content is not None and hashlib.sha256(content).hexdigest() == sha256 else None

    def lines(self, sha256: str) -> Iterator[bytes] | None:
        stream = self._open(sha256)
        if stream is None:
            return None
        if hashlib.file_digest(stream, "sha256").hexdigest() != sha256:
            stream.close()
            return None
        stream.seek(0)
        return _closing(stream)

    def _open(self, sha256: str) -> BufferedReader | None:
        if not SHA256.fullmatch(sha256):
            return None
        try:
            # Not a link, and never waiting: what lies here was put here by us, or is not ours.
            file = os.open(self._path(sha256), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return os.fdopen(file, "rb")
        except OSError:  # a folder
            os.close(file)
            return None

    # ── what a sweep needs ──

    def is_shared(self) -> bool:
        """Whether another database has put files here, of which this one cannot say which are needed."""
        try:
            return not {self._identity()}.issuperset(os.listdir(self._root / OWNERS))
        except FileNotFoundError:
            return False

    def folders(self) -> list[str]:
        """The folders that hold files, in order."""
        try:
            return [TOP, *sorted(name for name in os.listdir(self._root) if FOLDER.fullmatch(name))]
        except FileNotFoundError:
            return []

    def old(self, folder: str, until: int) -> list[str]:
        """Files of ours that were last put before, in microseconds of the clock by which files are dated."""
        with os.scandir(self._root / folder) as found:
            ours = [one for one in found if SHA256.fullmatch(one.name) or DRAFT.fullmatch(one.name)]
        return sorted(one.name for one in ours if _age(one, until))

    @contextmanager
    def alone(self, folder: str) -> Generator[bool]:
        """Nobody puts anything into this folder meanwhile; False, if somebody is just about to."""
        try:
            with self._locked(self._root / folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                yield True
        except BlockingIOError:
            yield False

    def remove(self, folder: str, name: str) -> None:
        """Deletes a file."""
        (self._root / folder / name).unlink(missing_ok=True)

    # ── inside ──

    def _own(self) -> None:
        """Before the first file: whoever sweeps the folder must know of this database."""
        if not self._is_owner:
            self._make(self._root / OWNERS)
            (self._root / OWNERS / self._identity()).touch()
            _make_durable(self._root / OWNERS)
            self._is_owner = True

    def _make(self, folder: Path) -> None:
        made = [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for one in made:
            _make_durable(one.parent)

    @contextmanager
    def _locked(self, folder: Path, how: int) -> Generator[None]:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(file, how)
            try:
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # closing is not enough: a child of a fork may have a copy
        finally:
            os.close(file)

    def _write(self, path: Path, content: bytes) -> None:
        draft = self._draft(path.parent)
        try:
            _fill(draft, [content])
            self._place(draft, path)
        finally:
            draft.unlink(missing_ok=True)

    def _draft(self, folder: Path) -> Path:
        """Where content is written before it is whole."""
        self._make(folder)
        return folder / f"{secrets.token_hex(16)}.part"

    def _place(self, draft: Path, path: Path) -> None:
        """Complete or not at all: written elsewhere, made durable, then renamed."""
        draft.replace(path)
        _make_durable(path.parent)

    def _path(self, sha256: str) -> Path:
        return self._root / sha256[:2] / sha256


def _fill(draft: Path, parts: Iterable[bytes]) -> None:
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as stream:
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())


def _closing(stream: BufferedReader) -> Iterator[bytes]:
    with stream:
        yield from stream


def _made_young(path: Path) -> bool:
    """Whether the file says now that it was just put; of somebody else's file a new one is made."""
    with suppress(OSError):
        os.utime(path, follow_symlinks=False)
        return True
    return False


def _age(file: os.DirEntry[str], until: int) -> bool:
    try:
        return file.stat(follow_symlinks=False).st_mtime_ns // 1000 <= until
    except FileNotFoundError:
        return False


def _make_durable(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
