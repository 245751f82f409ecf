"""Puts a file in its place, whole or not at all, and never over another content."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from halfway_report.models import content_hash

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}


class OtherContent(Exception):
    """The path holds something else; whoever wrote it keeps it."""


def place(path: Path, content: bytes) -> None:
    """Writes the file durably; the same content at the path is fine, another raises OtherContent and stays untouched."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if holds(path, content_hash(content)):
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        _write(temporary, content)
        _publish(temporary, path)
    except FileExistsError:
        # Someone was faster than the look above.
        if not holds(path, content_hash(content)):
            raise OtherContent(f"{path} appeared with another content") from None
    finally:
        temporary.unlink(missing_ok=True)
    _sync_directory(path.parent)


def holds(path: Path, sha256: str) -> bool:
    """Whether the file is there with exactly this content; another content raises OtherContent."""
    try:
        found = content_hash(path.read_bytes())
    except FileNotFoundError:
        return False
    if found != sha256:
        raise OtherContent(f"{path} has another content (sha256 {found[:12]}…, not {sha256[:12]}…)")
    return True


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _publish(temporary: Path, path: Path) -> None:
    """Gives the file its name; a link, unlike a rename, refuses a name that is taken."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        temporary.rename(path)


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
