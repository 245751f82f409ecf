"""The traps of reading a day out of git; the numbers are those of the list of hard cases."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from halfway_report.collect import collect, newest_day
from halfway_report.git import RepositoryUnusable
from halfway_report.models import Basis, Collection, FileChange
from halfway_report.settings import ProjectSettings
from tests.report.conftest import Scratch

DAY = date(2026, 9, 30)
NOON = "2026-09-30T12:00:00+00:00"


def read(*repos: Scratch | Path, day: date = DAY, zone: str = "UTC", basis: Basis = "author") -> Collection:
    paths = [repo.path if isinstance(repo, Scratch) else repo for repo in repos]
    return collect("shop", day, ProjectSettings(repositories=tuple(paths), zone=zone, basis=basis))


def subjects(collection: Collection) -> list[str]:
    return [commit.subject for commit in collection.commits]


def test_case_1_midnight_belongs_to_the_day_that_begins(repo: Scratch) -> None:
    repo.commit("last second", "2026-09-30T23:59:59+09:00")
    repo.commit("midnight", "2026-10-01T00:00:00+09:00")
    repo.commit("afternoon in UTC", "2026-09-30T16:30:00+00:00")
    assert subjects(read(repo, day=date(2026, 9, 30), zone="Asia/Seoul")) == ["last second"]
    assert subjects(read(repo, day=date(2026, 10, 1), zone="Asia/Seoul")) == ["midnight", "afternoon in UTC"]


def test_case_2_commits_below_one_with_a_wrong_clock_are_found(repo: Scratch) -> None:
    for hour in range(3):
        repo.commit(f"work {hour}", f"2026-09-30T1{hour}:00:00+00:00")
    for number in range(8):
        repo.commit(f"clock behind {number}", f"2026-09-28T12:0{number}:00+00:00")
    assert repo.git("log", "--since=@1790726400", "--format=%s") == ""  # what a date limit would have found
    assert subjects(read(repo)) == ["work 0", "work 1", "work 2"]


def test_case_3_a_rebased_commit_belongs_to_its_author_or_to_its_committer(repo: Scratch) -> None:
    repo.commit("rebased", "2026-09-27T12:00:00+00:00", committed=NOON)
    assert subjects(read(repo, basis="author")) == []
    assert subjects(read(repo, basis="committer")) == ["rebased"]


def test_case_4_the_committers_clock_does_not_cut_the_authors_day(repo: Scratch) -> None:
    repo.commit("older on top", NOON, committed="2026-09-28T12:00:00+00:00")
    assert subjects(read(repo, basis="author")) == ["older on top"]


@pytest.mark.parametrize(
    ("zone", "day", "clock_change"),
    [
        ("Africa/Cairo", date(2026, 4, 24), "2026-04-23T22:00:00+00:00"),
        ("America/New_York", date(2026, 11, 1), "2026-11-01T06:00:00+00:00"),
    ],
)
def test_case_5_no_commit_is_lost_or_doubled_around_a_clock_change(repo: Scratch, zone: str, day: date, clock_change: str) -> None:
    repo.commit("base", clock_change)
    middle = repo.git("log", "-1", "--format=%at")
    expected = ["base"]
    for number, offset in enumerate((-86400, -3600, -1, 1, 3600, 7200, 86400)):
        repo.commit(f"at {offset}", int(middle) + offset, file=f"{number}.txt")
        expected.append(f"at {offset}")
    found = [
        subject for delta in range(-2, 3) for subject in subjects(read(repo, day=day + timedelta(days=delta), zone=zone))
    ]  # fmt: skip
    assert sorted(found) == sorted(expected)


def hostile(repo: Scratch, tmp_path: Path) -> Path:
    """Lets the repository's configuration start a program wherever git would start one."""
    witness = tmp_path / "witness"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\necho ran >> {witness}\nexit 0\n")
    script.chmod(0o755)
    settings = {
        "gpg.program": str(script),
        "log.showSignature": "true",
        "core.fsmonitor": str(script),
        "core.hooksPath": str(tmp_path),
        "core.pager": str(script),
        "pager.log": "true",
        "diff.external": str(script),
        "diff.evil.textconv": str(script),
        "diff.evil.command": str(script),
        "core.alternateRefsCommand": str(script),
        "color.ui": "always",
        "i18n.logOutputEncoding": "EUC-KR",
        "format.pretty": "oneline",
        "log.date": "relative",
        "diff.noprefix": "true",
    }
    (repo.path / ".gitattributes").write_text("*.txt diff=evil\n")
    repo.git("add", "--all")
    for name, value in settings.items():
        repo.git("config", name, value)
    return witness


def test_case_7_nothing_that_the_configuration_names_is_run(repo: Scratch, tmp_path: Path) -> None:
    repo.commit("base", "2026-09-29T12:00:00+00:00")
    signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEzBAABCAAdFiEE\n -----END PGP SIGNATURE-----"
    signed = repo.raw_commit("서명된 커밋\n".encode(), author_at="1790769600", committer_at="1790769600", headers=(signature,))
    repo.commit("plain", NOON, file="a.txt", text="one\n")
    witness = hostile(repo, tmp_path)
    for command in ("status", "log", "show"):
        repo.git(command)
        assert witness.exists(), "the trap itself must work"
        witness.unlink()
    before = repo.footprint()
    collection = read(repo)
    assert not witness.exists()
    assert repo.footprint() == before
    assert subjects(collection) == ["서명된 커밋", "plain"]
    assert signed in collection.shas
    assert [file.path for file in collection.commits[1].files or ()] == ["a.txt"]


def test_case_9_messages_in_other_encodings_are_read_or_marked(repo: Scratch) -> None:
    repo.commit("base", "2026-09-29T12:00:00+00:00")
    text = "한글 메시지\n"
    repo.raw_commit(text.encode("cp949"), author_at="1790769601", committer_at="1", headers=(b"encoding CP949",))
    repo.raw_commit(text.encode("cp949"), author_at="1790769602", committer_at="1")
    repo.raw_commit(b"kept\n", author_at="1790769603", committer_at="1", headers=(b"encoding NO-SUCH",))
    collection = read(repo)
    with_header, without, unknown = subjects(collection)
    assert with_header == "한글 메시지"
    assert "\ufffd" in without
    assert unknown == "kept"
    assert collection.warnings == ("commit messages in an unknown encoding: 1",)


@pytest.mark.parametrize("stamp", ["-1", "99999999999", "18446744073709551615"])
def test_case_9_impossible_dates_are_left_out_with_a_warning(repo: Scratch, stamp: str) -> None:
    repo.commit("good", NOON)
    repo.raw_commit(b"odd\n", author_at=stamp, committer_at=stamp)
    collection = read(repo)
    assert subjects(collection) == ["good"]
    assert collection.warnings == ("commits with an impossible date, left out: 1",)


def test_case_10_stashes_notes_and_foreign_references_are_no_work_of_the_day(repo: Scratch, tmp_path: Path) -> None:
    repo.commit("real", NOON)
    stamp = {"GIT_AUTHOR_DATE": "@1790769700 +0000", "GIT_COMMITTER_DATE": "@1790769700 +0000"}
    repo.git("notes", "add", "-m", "a note", **stamp)
    (repo.path / "new.txt").write_text("not finished\n")
    repo.git("add", "--all")
    repo.git("stash", "push", "--quiet", **stamp)
    other = repo.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "from a pull request", **stamp)
    repo.git("update-ref", "refs/pull/1/head", other)
    assert subjects(read(repo)) == ["real"]


def test_case_10_a_repository_named_twice_through_a_worktree_counts_once(repo: Scratch, tmp_path: Path) -> None:
    repo.commit("real", NOON)
    worktree = tmp_path / "second"
    repo.git("worktree", "add", "--quiet", "--detach", str(worktree))
    detached = Scratch(worktree)
    detached.commit("on the detached head", "2026-09-30T13:00:00+00:00")
    assert subjects(read(repo, worktree)) == ["real", "on the detached head"]


def test_the_day_has_every_branch_and_no_merge(repo: Scratch) -> None:
    repo.commit("base", "2026-09-29T12:00:00+00:00")
    repo.git("switch", "--quiet", "-c", "topic")
    repo.commit("topic", NOON, file="topic.txt")
    repo.git("switch", "--quiet", "main")
    repo.commit("main", "2026-09-30T13:00:00+00:00", file="main.txt")
    stamp = {"GIT_AUTHOR_DATE": "@1790773300 +0000", "GIT_COMMITTER_DATE": "@1790773300 +0000"}
    repo.git("merge", "--quiet", "--no-ff", "-m", "merge", "topic", **stamp)
    assert subjects(read(repo)) == ["topic", "main"]


def test_files_are_counted_with_renames_binaries_and_empty_commits(repo: Scratch) -> None:
    repo.commit("base", "2026-09-29T12:00:00+00:00", file="old name.txt", text="line\n" * 20)
    repo.git("mv", "old name.txt", "new\tname.txt")
    (repo.path / "image.bin").write_bytes(bytes(range(256)))
    repo.commit("change", NOON, file="docs/한글.md", text="a\nb\n")
    repo.git(
        "commit", "--quiet", "--allow-empty", "-m", "empty", GIT_AUTHOR_DATE="@1790770000 +0000", GIT_COMMITTER_DATE="@1790770000 +0000"
    )
    change, empty = read(repo).commits
    assert change.files is not None
    assert {(file.path, file.added, file.deleted) for file in change.files} == {
        ("docs/한글.md", 2, 0), ("image.bin", None, None), ("new\tname.txt", 0, 0),
    }  # fmt: skip
    assert empty.files == ()


def test_case_8_a_shallow_clone_says_that_its_border_has_no_files(repo: Scratch, tmp_path: Path) -> None:
    repo.commit("base", "2026-09-29T12:00:00+00:00")
    repo.commit("top", NOON)
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    collection = read(tmp_path / "shallow")
    assert subjects(collection) == ["top"]
    assert collection.commits[0].files is None
    assert collection.warnings == ("commits at the border of a shallow clone, shown without their files: 1",)


def test_case_8_a_partial_clone_is_neither_fetched_into_nor_changed(repo: Scratch, tmp_path: Path) -> None:
    repo.commit("base", "2026-09-29T12:00:00+00:00", file="a.txt", text="one\n")
    repo.commit("top", NOON, file="a.txt", text="two\n")
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = Scratch(tmp_path / "partial")
    repo.git("clone", "--quiet", "--bare", "--filter=blob:none", f"file://{repo.path}", str(clone.path))
    before = clone.footprint()
    collection = read(clone)
    assert clone.footprint() == before
    assert subjects(collection) == ["top"]
    assert collection.commits[0].files == (FileChange(path="a.txt", added=None, deleted=None),)
    assert collection.warnings == ("commits whose line counts are not in this clone: 1",)


def test_secrets_of_messages_never_leave_the_collector(repo: Scratch) -> None:
    secret = "ghp_" + "a1B2" * 10
    sha = repo.commit(f"Rotate {secret}\n\nThe old password: hunter2-was-it", NOON)
    collection = read(repo)
    text = collection.model_dump_json()
    assert secret not in text
    assert "hunter2" not in text
    assert collection.redactions == {"assignment": 1, "github": 1}
    assert sha in text


def test_commits_that_messages_name_are_known_only_if_they_exist(repo: Scratch) -> None:
    old = repo.commit("old", "2026-09-01T12:00:00+00:00")
    repo.commit(f"Fix what {old[:10]} broke, not 0badc0de1", NOON)
    assert read(repo).mentioned == (old,)


def test_commits_of_several_repositories_stand_in_one_order(scratch: Callable[[str], Scratch]) -> None:
    first, second = scratch("first"), scratch("second")
    first.commit("late", "2026-09-30T15:00:00+00:00")
    second.commit("early", "2026-09-30T09:00:00+00:00")
    assert [(commit.repository, commit.subject) for commit in read(first, second).commits] == [("second", "early"), ("first", "late")]


def test_an_empty_repository_has_an_empty_day(repo: Scratch) -> None:
    assert read(repo).commits == ()
    assert newest_day(repo.path, "UTC") is None


def test_the_newest_day_is_that_of_head_in_the_zone(repo: Scratch) -> None:
    repo.commit("late", "2026-09-30T16:30:00+00:00")
    assert newest_day(repo.path, "UTC") == date(2026, 9, 30)
    assert newest_day(repo.path, "Asia/Seoul") == date(2026, 10, 1)


def test_a_path_without_a_repository_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(RepositoryUnusable, match=r"nothing-here"):
        read(tmp_path / "nothing-here")
