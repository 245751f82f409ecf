import threading
from pathlib import Path

import pytest

from halfway_report.files import OtherContent, holds, place
from halfway_report.models import content_hash


def test_a_file_is_placed_with_its_directories(tmp_path: Path) -> None:
    path = tmp_path / "shop" / "2026-09-30.md"
    place(path, b"# report\n")
    assert path.read_bytes() == b"# report\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["2026-09-30.md"]


def test_the_same_content_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    place(path, b"same")
    before = path.stat()
    place(path, b"same")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_that_a_person_edited_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"edited by hand")
    with pytest.raises(OtherContent, match=r"a\.md"):
        place(path, b"generated")
    assert path.read_bytes() == b"edited by hand"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_appears_in_the_meantime_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.md"
    monkeypatch.setattr(
        "halfway_report.files._write", lambda temporary, content: (temporary.write_bytes(content), path.write_bytes(b"faster"))
    )
    with pytest.raises(OtherContent):
        place(path, b"generated")
    assert path.read_bytes() == b"faster"


def test_of_many_writers_one_content_wins_and_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    contents = [bytes([65 + number]) * 100_000 for number in range(8)]
    start = threading.Barrier(len(contents))
    refused: list[bytes] = []

    def write(content: bytes) -> None:
        start.wait()
        try:
            place(path, content)
        except OtherContent:
            refused.append(content)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == len(contents) - 1
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file_holds_nothing(tmp_path: Path) -> None:
    assert not holds(tmp_path / "a.md", content_hash(b""))
