"""A file comes to its place whole or not at all, and never over what a person wrote."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from halfway_report.files import OtherContent, OutsideFolder, holds, place, remove
from halfway_report.models import content_hash

NAME = Path("shop") / "2026-09-30.md"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    return tmp_path / NAME


def test_a_file_is_placed_with_its_directories(tmp_path: Path) -> None:
    path = place(tmp_path / "reports", NAME, b"# report\n")
    assert path == tmp_path / "reports" / NAME
    assert path.read_bytes() == b"# report\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["2026-09-30.md"]


def test_the_same_content_again_changes_nothing(tmp_path: Path, path: Path) -> None:
    place(tmp_path, NAME, b"same")
    before = path.stat()
    place(tmp_path, NAME, b"same")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_case_25_a_file_that_a_person_edited_is_left_as_it_is(tmp_path: Path, path: Path) -> None:
    path.write_bytes(b"edited by hand")
    with pytest.raises(OtherContent, match=r"2026-09-30\.md"):
        place(tmp_path, NAME, b"generated", replacing=[content_hash(b"an earlier revision")])
    assert path.read_bytes() == b"edited by hand"
    assert list(path.parent.iterdir()) == [path]


def test_what_an_earlier_revision_saved_is_replaced(tmp_path: Path, path: Path) -> None:
    path.write_bytes(b"first")
    place(tmp_path, NAME, b"second", replacing=[content_hash(b"first")])
    assert path.read_bytes() == b"second"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_appears_in_the_meantime_is_not_replaced(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "halfway_report.files._write", lambda temporary, content: (temporary.write_bytes(content), path.write_bytes(b"faster"))
    )
    with pytest.raises(OtherContent):
        place(tmp_path, NAME, b"generated")
    assert path.read_bytes() == b"faster"


def test_a_file_that_is_edited_while_its_successor_is_written_is_not_replaced(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"first")
    monkeypatch.setattr(
        "halfway_report.files._write", lambda temporary, content: (temporary.write_bytes(content), path.write_bytes(b"edited"))
    )
    with pytest.raises(OtherContent):
        place(tmp_path, NAME, b"second", replacing=[content_hash(b"first")])
    assert path.read_bytes() == b"edited"


@pytest.mark.parametrize("links", [True, False])
def test_of_many_writers_one_content_wins_and_is_whole(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "this file system has no links")

    if not links:
        monkeypatch.setattr("halfway_report.files.os.link", refuse)
    contents = [bytes([65 + number]) * 100_000 for number in range(8)]
    start = threading.Barrier(len(contents))
    placed: list[bytes] = []

    def write(content: bytes) -> None:
        start.wait()
        try:
            place(tmp_path, NAME, content)
        except OtherContent:
            return
        placed.append(content)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in placed
    assert len(placed) == 1 or not links
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_file_system_that_cannot_keep_the_bytes_gets_no_file(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def full(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("halfway_report.files.os.fsync", full)
    with pytest.raises(OSError, match=os.strerror(code)):
        place(tmp_path, NAME, b"generated")
    assert list(path.parent.iterdir()) == []


def test_a_folder_that_is_a_file_is_an_error_of_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("not a folder")
    with pytest.raises(FileExistsError):
        place(tmp_path, NAME, b"generated")


@pytest.mark.parametrize("link", ["shop", "shop/2026-09-30.md"])
def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path, link: str) -> None:
    outside, reports = tmp_path / "outside", tmp_path / "reports"
    outside.mkdir()
    (reports / link).parent.mkdir(parents=True)
    (reports / link).symlink_to(outside if link == "shop" else outside / "note.md")
    with pytest.raises(OutsideFolder, match="outside"):
        place(reports, NAME, b"generated")
    assert list(outside.iterdir()) == []


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "reports").symlink_to(tmp_path / "elsewhere")
    assert place(tmp_path / "reports", NAME, b"generated") == tmp_path / "reports" / NAME
    assert (tmp_path / "elsewhere" / NAME).read_bytes() == b"generated"


def test_what_killed_writers_left_is_removed_and_what_another_writes_is_not(tmp_path: Path, path: Path) -> None:
    left = [path.with_name(f".{name}.md.0a0a0a0a.tmp") for name in ("2026-09-29", "2026-09-30")]
    kept = [path.with_name(name) for name in (".2026-09-30.md.0b0b0b0b.tmp", ".notes.tmp")]
    for file in (*left, *kept):
        file.write_bytes(b"half a rep")
    for file in (*left, kept[1]):
        os.utime(file, (1, 1))
    place(tmp_path, NAME, b"generated")
    assert sorted(path.parent.iterdir()) == [*kept, path]


def test_only_what_was_saved_is_removed(path: Path) -> None:
    path.write_bytes(b"saved")
    remove(path, content_hash(b"another revision"))
    assert path.read_bytes() == b"saved"
    remove(path, content_hash(b"saved"))
    remove(path, content_hash(b"saved"))
    assert not path.exists()


def test_a_missing_file_holds_nothing(tmp_path: Path) -> None:
    assert not holds(tmp_path / "a.md", content_hash(b""))
