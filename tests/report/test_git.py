"""Git is bounded: a program that does not end, or does not stop talking, is killed with all that it has started."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from halfway_report.git import Deadline, Git, GitFailed, GitSaidTooMuch, GitTookTooLong, RepositoryUnusable

LONG = timedelta(minutes=1)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that is found where git would be; the test writes it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    path = folder / "git"
    path.touch(mode=0o755)
    return path


def git(tmp_path: Path, within: timedelta = LONG) -> Git:
    return Git(tmp_path, Deadline(within))


def test_a_runaway_git_is_killed_with_its_children(program: Path, tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    os.mkfifo(lives)
    # Both hold the pipe open for as long as they live, so its end is their death.
    program.write_text(f"#!/bin/sh\nexec 9>{lives}\nsleep 600 &\nsleep 600\n")
    reader = os.open(lives, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(GitTookTooLong, match="its time was over"):
        git(tmp_path, timedelta(seconds=0.5)).ask("log")
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_git_that_has_said_all_and_does_not_end_is_killed_too(program: Path, tmp_path: Path) -> None:
    program.write_text("#!/bin/sh\nexec >&-\nexec sleep 600\n")
    with pytest.raises(GitTookTooLong, match="killed"):
        git(tmp_path, timedelta(seconds=0.3)).ask("log")


def test_an_answer_without_an_end_is_not_read_to_it(program: Path, tmp_path: Path) -> None:
    program.write_text("#!/bin/sh\nexec yes\n")
    with pytest.raises(GitSaidTooMuch, match="more than 1000 bytes"):
        git(tmp_path).ask("log", most=1000)


def test_who_stops_reading_ends_the_program(program: Path, tmp_path: Path) -> None:
    program.write_text("#!/bin/sh\nexec yes\n")
    parts = git(tmp_path).parts("log", end=b"\n")
    assert next(iter(parts)) == b"y"
    parts.close()


def test_parts_are_cut_where_they_are_too_long(program: Path, tmp_path: Path) -> None:
    program.write_text("#!/bin/sh\nprintf 'a\\0'\nhead -c 300000 /dev/zero | tr '\\0' b\nprintf '\\0\\0end'\n")
    assert list(git(tmp_path).parts("log", longest=10)) == [b"a", b"b" * 10, b"", b"end"]


def test_what_git_complains_about_is_in_the_error(program: Path, tmp_path: Path) -> None:
    program.write_text("#!/bin/sh\necho fatal: no such thing >&2\nexit 128\n")
    with pytest.raises(GitFailed, match="fatal: no such thing"):
        git(tmp_path).ask("log")


def test_nothing_of_the_callers_environment_reaches_git(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_SSH_COMMAND", "/bin/false")
    program.write_text("#!/bin/sh\nenv\n")
    lines = git(tmp_path).ask("log").decode().splitlines()
    assert not [line for line in lines if line.startswith(("GIT_DIR=", "GIT_SSH"))]
    assert "GIT_OPTIONAL_LOCKS=0" in lines


def test_a_machine_without_git_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryUnusable, match="not installed"):
        git(tmp_path).common_directory()
