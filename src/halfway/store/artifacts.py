"""The port `Artifacts`: files named by the hash of what they hold. No name that a user has chosen ever becomes a path."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path

from halfway.errors import DatabaseError

SHA256 = re.compile(r"[0-9a-f]{64}")


class StoreArtifacts:
    """A folder of files `ab/abcdef…`; one that is there is complete, and is checked whenever it is read."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, content: bytes) -> tuple[str, int]:
        sha256 = hashlib.sha256(content).hexdigest()
        path = self._path(sha256)
        if self.get(sha256) is None:
            try:
                self._write(path, content)
            except OSError as error:
                raise DatabaseError("DATABASE_FULL", url=str(self._root), problem=f"{error.strerror}.") from error
        return sha256, len(content)

    def get(self, sha256: str) -> bytes | None:
        if not SHA256.fullmatch(sha256):
            return None
        try:
            # Not a link, and never waiting: what lies here was put here by us, or is not ours.
            file = os.open(self._path(sha256), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            with os.fdopen(file, "rb") as stream:
                content = stream.read()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == sha256 else None

    def _write(self, path: Path, content: bytes) -> None:
        """Complete or not at all: written beside its place, made durable, then renamed."""
        made = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
        try:
            file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(file, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        for folder in (path.parent, *(one.parent for one in made)):
            _make_durable(folder)

    def _path(self, sha256: str) -> Path:
        return self._root / sha256[:2] / sha256


def _make_durable(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
