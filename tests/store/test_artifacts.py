"""Artifacts: complete or not there, checked at every read, and no name ever becomes a path (B24, B46)."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from halfway.domain.names import check_name
from halfway.domain.run import Key
from halfway.domain.spec import DAY
from halfway.errors import DatabaseError, UnstorableValue
from halfway.ports import Cut, Old, Place, Saved, Swept
from halfway.store import Store, open_store
from halfway.store.artifacts import OWNERS, TOP, StoreArtifacts
from halfway.store.files import sweep_files
from tests.store.world import begin, claim, start

CONTENT = b"a report"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def ours() -> str:
    return "ours"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "artifacts"


@pytest.fixture
def artifacts(root: Path) -> StoreArtifacts:
    return StoreArtifacts(root, ours)


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if not path.is_dir() and path.parent.name != OWNERS]


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
from halfway.store.artifacts import OWNERS, TOP, StoreArtifacts
os.fsync = lambda file: os.kill(os.getpid(), 9)
StoreArtifacts(Path(sys.argv[1]), lambda: "ours").put(b"a report")
"""
    assert subprocess.run([sys.executable, "-c", program, str(root)], check=False).returncode == -signal.SIGKILL
    artifacts = StoreArtifacts(root, ours)
    assert artifacts.get(SHA256) is None
    artifacts.put(CONTENT)
    assert artifacts.get(SHA256) == CONTENT


# ── files that no row names ──


def age(root: Path, hours: float = 25) -> None:
    """All files were put so long ago."""
    for path in files(root):
        before = path.stat().st_mtime - hours * 3600
        os.utime(path, (before, before))


def yesterday() -> Cut:
    return Cut((time.time_ns() // 1000) - DAY)


def sweep(artifacts: StoreArtifacts, *named: str, delete: bool = True) -> int:
    """How many files every batch together has deleted."""
    count, place = 0, Place()
    while place is not None:
        swept = sweep_files(artifacts, lambda _: frozenset(named), yesterday().until, place, delete=delete)
        count, place = count + swept.deleted.get("files", 0), swept.after
    return count


def test_a_file_goes_when_it_is_old_and_no_row_names_it(artifacts: StoreArtifacts, root: Path) -> None:
    """R-F6."""
    others = [artifacts.put(bytes([number]))[0] for number in range(20)]
    artifacts.put(CONTENT)
    assert sweep(artifacts) == 0
    age(root)
    (root / SHA256[:2] / f"{'0' * 32}.part").write_bytes(b"half")
    (root / SHA256[:2] / "notes.txt").write_bytes(b"not ours")
    (root / "README").write_bytes(b"not ours")
    age(root)
    assert sweep(artifacts, SHA256, *others[:5], delete=False) == 16
    assert sweep(artifacts, SHA256, *others[:5]) == 16
    assert {path.name for path in files(root)} == {SHA256, *others[:5], "notes.txt", "README"}
    assert sweep(artifacts, SHA256, *others[:5]) == 0


def test_content_that_is_put_again_is_young_again(artifacts: StoreArtifacts, root: Path) -> None:
    artifacts.put(CONTENT)
    age(root)
    artifacts.put(CONTENT)
    assert sweep(artifacts) == 0
    assert artifacts.get(SHA256) == CONTENT


def test_content_that_is_put_while_its_file_is_being_deleted_is_there_afterwards(artifacts: StoreArtifacts, root: Path) -> None:
    """The sweep has looked at everything and is about to delete; whoever puts the same content waits, and puts it anew."""
    artifacts.put(CONTENT)
    age(root)
    at_the_door, put_has_begun = threading.Barrier(2), threading.Event()

    def named(_: list[str]) -> frozenset[str]:
        at_the_door.wait()
        put_has_begun.wait()
        return frozenset()

    def put() -> None:
        at_the_door.wait()
        put_has_begun.set()
        StoreArtifacts(root, ours).put(CONTENT)

    thread = threading.Thread(target=put)
    thread.start()
    swept = sweep_files(artifacts, named, yesterday().until, Place(0, TOP), delete=True)
    thread.join()
    assert swept.deleted == {"files": 1}
    assert artifacts.get(SHA256) == CONTENT


def test_a_file_that_was_put_after_it_was_found_old_stays(artifacts: StoreArtifacts, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of old files was made before the lock; under it they are looked at again."""
    artifacts.put(CONTENT)
    age(root)
    alone = artifacts.alone

    def put_first(folder: str) -> AbstractContextManager[bool]:
        StoreArtifacts(root, ours).put(CONTENT)
        return alone(folder)

    monkeypatch.setattr(artifacts, "alone", put_first)
    assert sweep(artifacts) == 0
    assert artifacts.get(SHA256) == CONTENT


def test_a_folder_into_which_somebody_is_putting_something_is_left_out(
    artifacts: StoreArtifacts, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts.put(CONTENT)
    age(root)
    writer = StoreArtifacts(root, ours)
    found: list[Swept] = []

    def swept_meanwhile(sha256: str) -> None:
        found.append(sweep_files(artifacts, lambda _: frozenset(), yesterday().until, Place(0, TOP), delete=True))

    monkeypatch.setattr(writer, "get", swept_meanwhile)
    writer.put(CONTENT)
    assert [(dict(one.deleted), one.kept) for one in found] == [({}, {"busy": 1})]
    assert artifacts.get(SHA256) == CONTENT


def test_a_row_keeps_its_file_and_the_last_row_takes_it_along(store: Store, tmp_path: Path) -> None:
    run_ids = [start(store).run_id for _ in range(2)]
    for number, run_id in enumerate(run_ids):
        claim(store, run_id, begin(store))
        sha256, size = store.artifacts.put(CONTENT)
        with store.runs.change() as turn:
            turn.keep([Saved(run_id, Key("first"), 1, f"a-{number}", "n", sha256, size)])
    age(tmp_path / "artifacts")
    counts: list[int] = []
    for number in range(3):
        folder = Place()
        counts.append(sum(one.deleted.get("files", 0) for one in every(store, folder)))
        with store._database.transaction("test") as session:
            session.run("delete_artifacts", ids=[f"a-{number}"])
    assert counts == [0, 0, 1]
    assert store.artifacts.get(SHA256) is None


def every(store: Store, place: Place | None) -> Iterator[Swept]:
    while place is not None:
        swept = store.keeping.sweep(Old.FILES, yesterday(), place, delete=True)
        yield swept
        place = swept.after


def test_a_folder_that_two_databases_use_loses_no_file(store: Store, tmp_path: Path) -> None:
    """Neither knows what the rows of the other one name."""
    folder = tmp_path / "artifacts"
    with closing(open_store(f"sqlite:///{tmp_path}/other.db", artifacts=str(folder))) as other:
        for one in (store, other):
            one.artifacts.put(CONTENT)
        age(folder)
        assert [swept for one in (store, other) for swept in every(one, Place())] == [Swept({}, {"shared": 1}, None)] * 2
        (folder / OWNERS / other._identity()).unlink()  # somebody says that it is gone
        assert sum(swept.deleted.get("files", 0) for swept in every(store, Place())) == 1


def test_a_folder_that_cannot_be_used_is_told_as_such_for_lines_too(artifacts: StoreArtifacts, root: Path) -> None:
    root.mkdir(parents=True)
    (root / OWNERS).write_text("no folder")
    for put in (lambda: artifacts.put(CONTENT), lambda: artifacts.put_lines(iter([CONTENT]))):
        with pytest.raises(DatabaseError):
            put()
    assert [path.name for path in root.iterdir()] == [OWNERS]
