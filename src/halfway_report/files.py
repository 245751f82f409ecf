"""Puts a file in its place, whole or not at all, and never over what a person wrote."""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path

from halfway_report.models import content_hash

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}
_ABANDONED = 3600  # seconds; a writer needs a moment, so an older temporary file has lost its own
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")
_EMPTY = content_hash(b"")


class OtherContent(Exception):
    """The path holds something else; whoever wrote it keeps it."""


class OutsideFolder(Exception):
    """The path leads out of the folder in which it belongs."""


def place(root: Path, name: Path, content: bytes, *, replacing: Collection[str] = ()) -> Path:
    """Writes the file `name` of the folder durably, and answers its path.

    The same content at the path is fine. One whose hash is in `replacing` is written over, and so is an empty file; any other raises
    OtherContent and stays untouched.
    """
    path = root.absolute() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    target = _inside(root, path)
    sha256 = content_hash(content)
    if _holds(target, sha256, replacing):
        return path
    _sweep(target.parent)
    with _temporary(target, content) as temporary:
        if target.exists():
            # Looked at again as late as can be: a rename asks no more.
            _holds(target, sha256, replacing)
            temporary.rename(target)
        else:
            _publish(temporary, target, sha256)
    _sync_directory(target.parent)
    return path


def holds(path: Path, sha256: str) -> bool:
    """Whether the file is there with exactly this content; another content raises OtherContent."""
    return _holds(path, sha256, ())


def remove(path: Path, sha256: str) -> None:
    """Removes the file if it has exactly this content; any other is left."""
    try:
        if holds(path, sha256):
            path.unlink(missing_ok=True)
            _sync_directory(path.parent)
    except OtherContent:
        return


def _holds(path: Path, sha256: str, replacing: Collection[str]) -> bool:
    try:
        found = content_hash(path.read_bytes())
    except FileNotFoundError:
        return False
    if found != sha256 and found not in (*replacing, _EMPTY):
        raise OtherContent(f"{path} has another content (sha256 {found[:12]}…, not {sha256[:12]}…)")
    return found == sha256


def _inside(root: Path, path: Path) -> Path:
    """Where the path really is; the folder itself may be a link, what is below it may not lead out of it."""
    target = path.resolve()
    if not target.is_relative_to(root.resolve()):
        raise OutsideFolder(f"{path} leads to {target}, out of {root}")
    return target


@contextmanager
def _temporary(target: Path, content: bytes) -> Generator[Path, None, None]:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        _write(temporary, content)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _publish(temporary: Path, target: Path, sha256: str) -> None:
    """Gives the file a name that was free; a link, unlike a rename, refuses one that has been taken meanwhile."""
    try:
        try:
            os.link(temporary, target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # Without links the name is taken first, by an empty file, which then is replaced.
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            temporary.rename(target)
    except FileExistsError:
        if not holds(target, sha256):
            raise OtherContent(f"{target} appeared with another content") from None


def _sweep(folder: Path) -> None:
    """Removes what writers of any file of the folder have left that were killed before they had tidied up."""
    for left in folder.glob(".*.tmp"):
        try:
            if _TEMPORARY.fullmatch(left.name) and time.time() - left.stat().st_mtime > _ABANDONED:
                left.unlink()
        except FileNotFoundError:
            continue


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
