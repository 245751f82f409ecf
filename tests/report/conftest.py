"""Scratch repositories with every date and every byte under control, and the stand-in for Notion."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from halfway_report.standin import Standin

if TYPE_CHECKING:
    from tests.report.shell import Shell

Moment = str | int


def second(moment: Moment) -> int:
    """`2026-09-30T12:00:00+09:00` or epoch seconds."""
    return moment if isinstance(moment, int) else int(datetime.fromisoformat(moment).timestamp())


@dataclass(frozen=True)
class Scratch:
    """A repository that a test writes with plain git."""

    path: Path

    def git(self, *arguments: str, stdin: bytes = b"", **environment: str) -> str:
        names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            check=True,
            capture_output=True,
            env={
                "PATH": os.environ["PATH"],
                "HOME": "/nonexistent",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_CONFIG_NOSYSTEM": "1",
                **dict.fromkeys(names, "someone@shop.example"),
                **environment,
            },
            input=stdin,
        )
        return done.stdout.decode("utf-8", "replace").strip()

    def commit(self, message: str, at: Moment, *, committed: Moment | None = None, file: str | None = None, text: str = "x\n") -> str:
        """Commits one file with the author's clock at `at` and the committer's at `committed`; answers the hash."""
        name = file or f"file-{second(at)}.txt"
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        self.git("add", "--all")
        author, committer = f"@{second(at)} +0000", f"@{second(committed if committed is not None else at)} +0000"
        self.git("commit", "--quiet", "--allow-empty", "-m", message, GIT_AUTHOR_DATE=author, GIT_COMMITTER_DATE=committer)
        return self.head()

    def raw_commit(self, message: bytes, *, author_at: str, committer_at: str, headers: tuple[bytes, ...] = ()) -> str:
        """Writes a commit object byte by byte, as a broken tool would, and moves the branch to it."""
        lines = [
            f"tree {self.git('write-tree')}".encode(),
            f"parent {self.head()}".encode(),
            f"author A <a@shop.example> {author_at} +0000".encode(),
            f"committer A <a@shop.example> {committer_at} +0000".encode(),
            *headers,
            b"",
            message,
        ]
        sha = self.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=b"\n".join(lines))
        self.git("update-ref", "HEAD", sha)
        return sha

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def commit_as(self, name: str, address: str, message: str, at: Moment) -> str:
        """An empty commit by somebody."""
        stamp = f"@{second(at)} +0000"
        people = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        self.git("commit", "--quiet", "--allow-empty", "-m", message, **people)
        return self.head()

    def footprint(self) -> dict[str, tuple[int, int]]:
        """Size and time of change of every file and directory, .git included."""
        return {str(path.relative_to(self.path)): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in sorted(self.path.rglob("*"))}


@pytest.fixture
def scratch(tmp_path: Path) -> Callable[[str], Scratch]:
    """Makes an empty repository with a name."""

    def make(name: str) -> Scratch:
        repository = Scratch(tmp_path / name)
        repository.path.mkdir()
        repository.git("init", "--quiet", "--initial-branch=main")
        return repository

    return make


@pytest.fixture
def repo(scratch: Callable[[str], Scratch]) -> Scratch:
    return scratch("shop")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """All servers here are on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def standin() -> Iterator[Standin]:
    with Standin() as running:
        yield running


@pytest.fixture
def shell(tmp_path: Path, repo: Scratch) -> Shell:
    from tests.report.shell import Shell

    repo.commit("Rotate the tokens", "2026-09-30T09:00:00+00:00")
    return Shell(tmp_path, repo)
