"""What is read is bounded, and nothing but files is opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from halfway.inspection import gathering
from halfway.inspection.gathering import beside, gather, owners


def test_a_folder_is_walked_in_order_and_what_a_tool_has_made_is_left_out(tmp_path: Path) -> None:
    for name in ("b.yml", "a.py", "node_modules/x.json", ".git/config.yml", "sub/c.json", "d.exe"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = gather([tmp_path])
    assert [Path(path).relative_to(tmp_path).as_posix() for path in found.sources] == ["a.py", "b.yml", "sub/c.json"]
    assert found.skipped == []


def test_a_file_that_was_named_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "export").write_text("{}")
    assert [source.text for source in gather([tmp_path / "export"]).sources.values()] == ["{}"]


def test_links_are_followed_only_where_they_were_named(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.yml").write_text("secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "in" / "b.yml").symlink_to(tmp_path / "outside" / "a.yml")
    found = gather([tmp_path / "in"])
    assert found.sources == {}
    assert [(Path(skip.path).name, skip.why) for skip in found.skipped] == [("b.yml", "it is no file")]
    assert len(gather([tmp_path / "in" / "b.yml"]).sources) == 1


def test_a_pipe_a_large_file_and_what_is_no_text_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LARGEST", 1000)
    os.mkfifo(tmp_path / "pipe.yml")
    (tmp_path / "large.json").write_bytes(b"x" * 1001)
    (tmp_path / "image.json").write_bytes(b"\x00\x01")
    found = gather([tmp_path, tmp_path / "image.json", tmp_path / "nothing"])
    assert found.sources == {}
    assert sorted((Path(skip.path).name, skip.why) for skip in found.skipped) == [
        ("image.json", "it is no text"), ("large.json", "it is larger than 2 MiB"), ("nothing", "it does not exist"),
        ("pipe.yml", "it is no file"),
    ]  # fmt: skip


def test_bytes_that_are_no_utf_8_are_shown_as_such(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_bytes(b"name: \xc7\xd1\r\nx: 1\r\n")
    [source] = gather([tmp_path]).sources.values()
    assert source.text == "name: \ufffd\ufffd\nx: 1\n"


def test_no_more_than_so_many_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "MOST_FILES", 2)
    for name in "abc":
        (tmp_path / f"{name}.yml").write_text("x")
    found = gather([tmp_path])
    assert len(found.sources) == 2
    assert [skip.why for skip in found.skipped] == ["it is too much: only the first files were read"]


def test_names_that_no_file_can_have_and_links_around_in_a_circle_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("#!/bin/bash\n")
    (tmp_path / "loop.yml").symlink_to(tmp_path / "loop.yml")
    assert beside([tmp_path / ("a" * 5_000) / "b"], "x", tmp_path) == ()
    found = gather([tmp_path / "a\0b", tmp_path / ("a" * 5_000), tmp_path / "loop.yml", tmp_path / "a.sh"])
    assert len(found.sources) == 1
    assert [skip.why for skip in found.skipped] == ["no file can be called so", "File name too long", "Too many levels of symbolic links"]


def test_what_became_a_pipe_after_it_was_looked_at_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.yml")
    (tmp_path / "file").write_text("x")
    seen = (tmp_path / "file").lstat()
    monkeypatch.setattr(Path, "lstat", lambda _self: seen)
    found = gather([tmp_path])
    assert [(Path(skip.path).name, skip.why) for skip in found.skipped] == [("pipe.yml", "it is no file")]


@pytest.mark.parametrize(
    ("url", "owner"),
    [
        ("https://github.com/Acme/shop.git", {"acme"}),
        ("git@github.com:Acme/shop.git", {"acme"}),
        ("https://x-access-token:word@github.com/Acme/shop", {"acme"}),
        ("https://git.example/Acme/shop", set[str]()),
        ('x\n[submodule "v"]\n\turl = https://github.com/other/lib', set[str]()),
    ],
)
def test_git_tells_whose_a_repository_is(tmp_path: Path, url: str, owner: set[str]) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n')
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "a.yml").write_text("on: push\n")
    assert owners([tmp_path / "flows" / "a.yml"]) == owners([tmp_path]) == owner


def test_where_git_tells_nothing_nobody_is_named(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: ../.git/worktrees/a\n")
    assert owners([tmp_path, "postgres://db.example/x"]) == frozenset()
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "config")
    assert owners([tmp_path]) == frozenset()
