"""Artifacts: complete or not there, checked at every read, and no name ever becomes a path (B24, B46)."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from halfway.domain.names import check_name
from halfway.domain.run import Key
from halfway.errors import DatabaseError, UnstorableValue
from halfway.ports import Saved
from halfway.store import Store
from halfway.store.artifacts import StoreArtifacts
from tests.store.world import begin, claim, start

CONTENT = b"a report"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "artifacts"


@pytest.fixture
def artifacts(root: Path) -> StoreArtifacts:
    return StoreArtifacts(root)


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if not path.is_dir()]


def test_content_comes_back_by_its_hash(artifacts: StoreArtifacts, root: Path) -> None:
    assert artifacts.put(CONTENT) == (SHA256, len(CONTENT)) == artifacts.put(CONTENT)
    assert artifacts.get(SHA256) == CONTENT
    (path,) = files(root)
    assert path == root / SHA256[:2] / SHA256
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert artifacts.put(b"") == (hashlib.sha256(b"").hexdigest(), 0)


def test_damaged_content_is_not_given_out_and_is_mended_by_the_next_who_has_it(artifacts: StoreArtifacts, root: Path) -> None:
    artifacts.put(CONTENT)
    path = files(root)[0]
    path.write_bytes(b"something else")
    assert artifacts.get(SHA256) is None
    artifacts.put(CONTENT)
    assert artifacts.get(SHA256) == CONTENT


@pytest.mark.parametrize("name", ["", "../x", "/etc/passwd", "0" * 63, "0" * 64, "G" * 64, SHA256.upper(), SHA256 + "\n", "a\0b"])
def test_what_is_no_hash_of_ours_is_not_found(artifacts: StoreArtifacts, name: str) -> None:
    artifacts.put(CONTENT)
    assert artifacts.get(name) is None


def test_nothing_but_a_plain_file_is_ever_read(artifacts: StoreArtifacts, root: Path, tmp_path: Path) -> None:
    """A link, a folder and a pipe in the place of a file: not found, and nobody waits."""
    outside = tmp_path / "outside"
    outside.write_bytes(CONTENT)
    path = root / SHA256[:2] / SHA256
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    assert artifacts.get(SHA256) is None
    path.unlink()
    path.mkdir()
    assert artifacts.get(SHA256) is None
    path.rmdir()
    os.mkfifo(path)
    assert artifacts.get(SHA256) is None
    artifacts.put(CONTENT)
    assert artifacts.get(SHA256) == CONTENT
    assert outside.read_bytes() == CONTENT


NAMES = [
    "../x",
    "a/../../x",
    "/etc/passwd",
    "..\\x",
    "%2e%2e/x",
    "a/%00b",
    "C:x",
    "n" * 300,
    "a\nb",
    "",
    "a\0b",
    "..",
    ".",
    "a//b",
    "a\x1bb",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_might_lead_elsewhere_is_refused(name: str) -> None:
    """B24."""
    with pytest.raises(UnstorableValue, match="Choose another name"):
        check_name(name)


@pytest.mark.parametrize("name", ["foo..bar", ".foo", "a/.b/c", "..foo", "한글 😀.md", "100%.txt", "n" * 255])
def test_harmless_names_come_back_unchanged(store: Store, name: str) -> None:
    """B24."""
    run_id = start(store).run_id
    claim(store, run_id, begin(store))
    row = Saved(run_id, Key("first"), 1, "a-1", check_name(name), SHA256, 8)
    with store.runs.change() as turn:
        assert turn.keep([row]) == {row}
    found = store.reading.artifact(run_id, "a-1")
    assert found is not None
    assert found.name == name


def test_a_name_that_no_database_takes_harms_no_other_row(store: Store) -> None:
    """B27."""
    run_id = start(store).run_id
    claim(store, run_id, begin(store))
    bad = Saved(run_id, Key("first"), 1, "a-1", "a\0b", SHA256, 8)
    good = Saved(run_id, Key("first"), 1, "a-2", "b", SHA256, 8)
    with store.runs.change() as turn:
        assert turn.keep([bad, good]) == {good}


def test_a_full_disk_leaves_no_part_of_an_artifact(artifacts: StoreArtifacts, root: Path) -> None:
    """B46 (c): the system refuses to write on, in the middle of a file."""
    artifacts.put(CONTENT)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        with pytest.raises(DatabaseError) as caught:
            artifacts.put(b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.code == "DATABASE_FULL"
    assert [path.name for path in files(root)] == [SHA256]
    assert artifacts.put(b"x" * 10_000)[1] == 10_000


def test_a_process_killed_while_writing_leaves_nothing_that_looks_complete(root: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from halfway.store.artifacts import StoreArtifacts
os.fsync = lambda file: os.kill(os.getpid(), 9)
StoreArtifacts(Path(sys.argv[1])).put(b"a report")
"""
    assert subprocess.run([sys.executable, "-c", program, str(root)], check=False).returncode == -signal.SIGKILL
    artifacts = StoreArtifacts(root)
    assert artifacts.get(SHA256) is None
    artifacts.put(CONTENT)
    assert artifacts.get(SHA256) == CONTENT
