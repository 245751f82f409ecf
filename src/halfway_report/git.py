"""Runs the git program so that it can neither change a repository nor start anything the repository's own configuration names.

Its time and its output are bounded: whoever asks gets an answer, or hears why there is none.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

# Only commands that read; rev-parse, cat-file and patch-id also run no program of the configuration at all.
Command: TypeAlias = Literal["rev-parse", "log", "diff-tree", "cat-file", "patch-id"]

_ENVIRONMENT: Mapping[str, str] = MappingProxyType({
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch what is missing
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
})  # fmt: skip

# What a repository's configuration could say to run a program, to read a file elsewhere, or to change the output.
_OVERRIDES = (
    "color.ui=false",
    "core.alternateRefsCommand=/bin/false",
    f"core.attributesFile={os.devnull}",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.quotePath=false",
    "diff.external=",
    f"diff.orderFile={os.devnull}",
    "diff.renames=true",
    "gpg.program=/bin/false",
    "gpg.ssh.program=/bin/false",
    "gpg.x509.program=/bin/false",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "mailmap.blob=",
    f"mailmap.file={os.devnull}",
    "submodule.recurse=false",
)

_DIFFS = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=none")
_QUIET: Mapping[Command, tuple[str, ...]] = MappingProxyType({
    "rev-parse": (),
    "cat-file": (),
    "patch-id": (),
    "log": ("--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--encoding=UTF-8"),
    "diff-tree": _DIFFS,
})  # fmt: skip

_MOST = 64 * 2**20  # bytes of an answer that is held as a whole
_LONGEST = 64 * 2**10  # bytes of one part of an answer that is read as it comes


class GitError(Exception):
    """Git gave no answer. What it said is in the message."""

    def __init__(self, repository: Path, command: str, message: str) -> None:
        super().__init__(f"git {command} in {repository}: {message}")
        self.said = message


class GitFailed(GitError):
    """Git ended with an error."""


class GitTookTooLong(GitError):
    """Git was still at work when its time was over, and was killed. Give the step more time, or look what holds git up."""


class GitSaidTooMuch(GitError):
    """Git's answer was larger than anything that is asked for here, and was not read to its end."""


class RepositoryUnusable(GitFailed):
    """The path is not a git repository, or git refuses to read it. Correct the path, then resume."""


class BranchUnknown(RepositoryUnusable):
    """The repository has no branch of this name. Correct the settings, or make the branch, then resume."""


class Deadline:
    """The time within which all questions must be answered, shared by those who ask."""

    def __init__(self, within: timedelta) -> None:
        self._ends = time.monotonic() + within.total_seconds()

    def left(self) -> float:
        """Seconds, never fewer than none."""
        return max(0.0, self._ends - time.monotonic())


class Git:
    """The git program in one repository."""

    def __init__(self, repository: Path, deadline: Deadline) -> None:
        self.repository = repository
        self._deadline = deadline
        # Naming the repository in the settings is the consent that git asks for when another user owns it.
        overrides = [part for override in (*_OVERRIDES, f"safe.directory={repository.resolve()}") for part in ("-c", override)]
        self._start = ["git", "--no-pager", "--no-optional-locks", *overrides, "-C", str(repository)]
        self._environment = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT}

    def ask(self, command: Command, *arguments: str, stdin: bytes = b"", most: int = _MOST) -> bytes:
        """Standard output of one command; raises a GitError where there is none."""
        said = bytearray()
        with closing(self._say(command, arguments, stdin)) as chunks:
            for chunk in chunks:
                said += chunk
                if len(said) > most:
                    raise GitSaidTooMuch(self.repository, command, f"more than {most} bytes")
        return bytes(said)

    def parts(
        self, command: Command, *arguments: str, stdin: bytes = b"", end: bytes = b"\0", longest: int = _LONGEST
    ) -> Generator[bytes, None, None]:
        """The output of one command, part by part as it comes; a part that is longer than `longest` bytes is cut to them."""
        rest = b""
        with closing(self._say(command, arguments, stdin)) as chunks:
            for chunk in chunks:
                *whole, rest = (rest + chunk).split(end)
                for part in whole:
                    yield part[:longest]
                rest = rest[:longest]
        if rest:
            yield rest

    def names(self, expression: str) -> str | None:
        """The full hash of the commit that an expression names; None if it names none."""
        try:
            return self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{expression}^{{commit}}").decode("ascii").strip()
        except GitFailed:
            return None

    def common_directory(self) -> Path:
        """Where the repository itself is, the same for all its worktrees; raises RepositoryUnusable if git cannot read it."""
        try:
            answer = self.ask("rev-parse", "--path-format=absolute", "--git-common-dir")
        except GitFailed as error:
            raise RepositoryUnusable(self.repository, "rev-parse", error.said) from None
        except FileNotFoundError:
            raise RepositoryUnusable(self.repository, "rev-parse", "the git program is not installed") from None
        return Path(os.fsdecode(answer.removesuffix(b"\n"))).resolve()

    def _say(self, command: Command, arguments: tuple[str, ...], stdin: bytes) -> Generator[bytes, None, None]:
        # Files instead of pipes: git never waits for us to read its complaints while we wait for it to read our questions.
        with tempfile.TemporaryFile() as questions, tempfile.TemporaryFile() as complaints:
            questions.write(stdin)
            questions.seek(0)
            process = subprocess.Popen(
                [*self._start, command, *_QUIET[command], *arguments],
                env=self._environment,
                stdin=questions,
                stdout=subprocess.PIPE,
                stderr=complaints,
                start_new_session=True,  # what git starts can be killed with it
            )
            try:
                yield from self._chunks(process, command)
                code = self._code(process, command)
            finally:
                _end(process)
            if code:
                complaints.seek(0)
                said = complaints.read(300).decode("utf-8", "replace").strip()
                raise GitFailed(self.repository, command, said or f"exit code {code}")

    def _code(self, process: subprocess.Popen[bytes], command: Command) -> int:
        try:
            return process.wait(self._deadline.left() + 1)
        except subprocess.TimeoutExpired as error:
            raise GitTookTooLong(self.repository, command, "it said all, but did not end, and was killed") from error

    def _chunks(self, process: subprocess.Popen[bytes], command: Command) -> Iterator[bytes]:
        assert process.stdout is not None
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not ready.select(self._deadline.left()):
                    raise GitTookTooLong(self.repository, command, "its time was over, it was killed")
                chunk = os.read(process.stdout.fileno(), 2**16)
                if not chunk:
                    return
                yield chunk


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills whatever is left; a process that was not waited for keeps its number, so no other one can be hit."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
