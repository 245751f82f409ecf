"""A scratch checkout of a git repository: what an agent may see and change of it, and what a person wants to know."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

from pydantic import BaseModel

PLAIN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
AUTHOR = ("-c", "user.name=halfway", "-c", "user.email=halfway@example.invalid", "-c", "commit.gpgsign=false")


class TestRun(BaseModel):
    failed: bool
    output: str


class Checkout:
    """A working tree; nothing beside it is read or written."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @staticmethod
    def scratch(parent: Path) -> Checkout:
        """A repository with a test that fails, and a bare one that it is pushed to."""
        folder, remote = parent / "work", parent / "remote.git"
        folder.mkdir()
        checkout = Checkout(folder)
        subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True, env={**os.environ, **PLAIN})
        checkout._git("init", "--quiet", "--initial-branch=main")
        (folder / "test_calc.py").write_text("from calc import add\n\nassert add(2, 3) == 5\n")
        (folder / ".gitignore").write_text("__pycache__/\n")
        checkout.commit("The beginning")
        checkout._git("remote", "add", "origin", str(remote))
        checkout._git("push", "--quiet", "origin", "main")
        return checkout

    # ── what an agent does ──

    @staticmethod
    def is_inside(path: str) -> bool:
        parts = PurePosixPath(path).parts
        return bool(parts) and not PurePosixPath(path).is_absolute() and ".." not in parts and parts[0] != ".git"

    def read(self, path: str) -> str:
        return self._path(path).read_text() if self._path(path).is_file() else ""

    def files(self) -> list[str]:
        return sorted(self._git("ls-files", "--cached", "--others", "--exclude-standard").splitlines())

    def write(self, path: str, content: str) -> str:
        place = self._path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
        return f"{len(content)} characters"

    def test(self) -> TestRun:
        command = [sys.executable, "-B", "test_calc.py"]
        ran = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        return TestRun(failed=ran.returncode != 0, output=ran.stdout + ran.stderr)

    # ── what is known of it ──

    def head(self) -> str:
        return self._git("rev-parse", "HEAD")

    def tree(self) -> str:
        """The content of the working tree, as git names it; the repository's own index is not touched."""
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._git("add", "--all", **index)
            return self._git("write-tree", **index)

    def diff(self) -> str:
        self._git("add", "--all", "--intent-to-add")
        return self._git("diff", "HEAD")

    def find(self, text: str) -> str | None:
        return self._git("log", "--all", "--max-count=1", "--format=%H", "--fixed-strings", f"--grep={text}") or None

    def history(self) -> list[str]:
        return self._git("log", "--format=%H").splitlines()

    def log(self) -> list[str]:
        return self._git("log", "--format=%s").splitlines()

    def is_pushed(self, sha: str) -> bool:
        return bool(self._git("branch", "--remotes", "--contains", sha))

    # ── what a person has agreed to ──

    def commit(self, message: str) -> str:
        self._git("add", "--all")
        self._git(*AUTHOR, "commit", "--quiet", "--message", message)
        return self.head()

    def push(self) -> str:
        self._git("push", "--quiet", "origin", "main")
        return self.head()

    def take_back(self, sha: str) -> None:
        """Only what is ours: a branch that has gone on keeps what came later."""
        if self.is_pushed(sha):
            self._git(*AUTHOR, "revert", "--no-edit", sha)
            self.push()
        elif self.head() == sha:
            self._git("reset", "--quiet", "--soft", f"{sha}~1")
        else:
            raise RuntimeError(f"{sha[:12]} is not the last commit any more; somebody has built on it")

    def _path(self, path: str) -> Path:
        if not self.is_inside(path):
            raise PermissionError(f"{path} is outside of the checkout")
        return self.folder / path

    def _git(self, *arguments: str, **environment: str) -> str:
        command = ["git", "-c", "core.hooksPath=/dev/null", *arguments]
        ran = subprocess.run(
            command, cwd=self.folder, env={**os.environ, **PLAIN, **environment}, capture_output=True, text=True, timeout=60, check=False
        )
        if ran.returncode:
            raise RuntimeError(f"git {arguments[0]}: {ran.stderr.strip()}")
        return ran.stdout.strip()
