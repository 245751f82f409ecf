"""Runs the git program so that it can neither change a repository nor start anything the repository's own configuration names."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

# Only commands that read; rev-parse and cat-file also run no program of the configuration at all.
Command: TypeAlias = Literal["rev-parse", "log", "diff-tree", "cat-file"]

_ENVIRONMENT: Mapping[str, str] = MappingProxyType({
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch what is missing
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
})  # fmt: skip

# What a repository's configuration could say to run a program, or to change the output.
_OVERRIDES = (
    "color.ui=false",
    "core.alternateRefsCommand=/bin/false",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.quotePath=false",
    "diff.external=",
    "diff.renames=true",
    "gpg.program=/bin/false",
    "gpg.ssh.program=/bin/false",
    "gpg.x509.program=/bin/false",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "submodule.recurse=false",
)

_QUIET: Mapping[Command, tuple[str, ...]] = MappingProxyType({
    "rev-parse": (),
    "cat-file": (),
    "log": ("--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--encoding=UTF-8"),
    "diff-tree": ("--no-ext-diff", "--no-textconv", "--no-color"),
})  # fmt: skip


class GitFailed(Exception):
    """Git ended with an error."""

    def __init__(self, repository: Path, command: str, message: str) -> None:
        super().__init__(f"git {command} in {repository}: {message}")


class RepositoryUnusable(GitFailed):
    """The path is not a git repository, or git refuses to read it. Correct the path, then resume."""


class Git:
    """One repository, and the time within which all questions to it must be answered."""

    def __init__(self, repository: Path, *, within: timedelta) -> None:
        self.repository = repository
        self._ends = time.monotonic() + within.total_seconds()
        # Naming the repository in the settings is the consent that git asks for when another user owns it.
        overrides = [part for override in (*_OVERRIDES, f"safe.directory={repository.resolve()}") for part in ("-c", override)]
        self._start = ["git", "--no-pager", "--no-optional-locks", *overrides, "-C", str(repository)]
        self._environment = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT}

    def ask(self, command: Command, *arguments: str, stdin: bytes = b"") -> bytes:
        """Standard output of one command; raises GitFailed if git does, and TimeoutExpired when the time is over."""
        done = subprocess.run(
            [*self._start, command, *_QUIET[command], *arguments],
            check=False,
            capture_output=True,
            env=self._environment,
            input=stdin,
            timeout=max(0.0, self._ends - time.monotonic()),
        )
        if done.returncode:
            raise GitFailed(self.repository, command, _text(done.stderr)[:300].strip() or f"exit code {done.returncode}")
        return done.stdout

    def check(self) -> None:
        """Raises RepositoryUnusable unless git can read the repository."""
        try:
            self.ask("rev-parse", "--git-dir")
        except GitFailed as error:
            raise RepositoryUnusable(self.repository, "rev-parse", str(error)) from error
        except FileNotFoundError as error:
            raise RepositoryUnusable(self.repository, "rev-parse", "the git program is not installed") from error

    def has_head(self) -> bool:
        """Whether HEAD names a commit; in a new repository it does not."""
        try:
            self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        except GitFailed:
            return False
        return True

    def is_shallow(self) -> bool:
        """Whether the history was cut off when it was cloned."""
        return self.ask("rev-parse", "--is-shallow-repository").strip() == b"true"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
