"""The traps of reading a day out of git; the numbers are those of the list of hard cases."""

import os
import shutil
import time
import unicodedata
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from halfway_report.collect import collect, newest_day
from halfway_report.git import _ENVIRONMENT, BranchUnknown, GitSaidTooMuch, RepositoryUnusable
from halfway_report.models import Basis, Collection, FileChange
from halfway_report.settings import ProjectSettings
from tests.report.conftest import Scratch

DAY = date(2026, 9, 30)
NOON = "2026-09-30T12:00:00+00:00"


def read(*repos: Scratch | Path, day: date = DAY, zone: str = "UTC", basis: Basis = "author", **more: object) -> Collection:
    paths = [repo.path if isinstance(repo, Scratch) else repo for repo in repos]
    settings = ProjectSettings.model_validate({"repositories": tuple(paths), "zone": zone, "basis": basis, **more})
    before = [repo.footprint() for repo in repos if isinstance(repo, Scratch)]
    collection = collect("shop", day, settings)
    assert [repo.footprint() for repo in repos if isinstance(repo, Scratch)] == before, "reading may change nothing"
    return collection


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
    blocks = tmp_path / "blocks"  # whoever opens it waits for ever
    os.mkfifo(blocks)
    (tmp_path / "more.gitconfig").write_text(f'[core]\n fsmonitor = {script}\n[gpg "ssh"]\n program = {script}\n')
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
        "diff.orderFile": str(blocks),
        "diff.ignoreSubmodules": "all",
        "mailmap.file": str(blocks),
        "mailmap.blob": "HEAD:a.txt",
        "core.attributesFile": str(blocks),
        "core.excludesFile": str(blocks),
        "core.sshCommand": str(script),
        "core.gitProxy": str(script),
        "credential.helper": f"!{script}",
        "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script),
        "remote.origin.url": f"ext::{script}",
        "remote.origin.promisor": "true",
        "remote.origin.partialCloneFilter": "blob:none",
        "log.showRoot": "false",
        "log.follow": "true",
        "log.mailmap": "false",
        "alias.log": f"!{script}",
        "uploadpack.packObjectsHook": str(script),
        "submodule.recurse": "true",
        "notes.displayRef": "refs/notes/*",
        "include.path": str(tmp_path / "more.gitconfig"),
    }
    (repo.path / ".gitattributes").write_text("*.txt diff=evil filter=evil\n")
    repo.git("add", "--all")
    for hook in ("post-checkout", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(script, repo.path / ".git" / "hooks" / hook)
    (repo.path / ".git" / "info" / "grafts").write_text(f"{repo.head()}\n")
    for name, value in settings.items():
        repo.git("config", name, value)
    return witness


def test_case_7_nothing_that_the_configuration_names_is_run(repo: Scratch, tmp_path: Path) -> None:
    repo.commit("base", "2026-09-29T12:00:00+00:00")
    signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEzBAABCAAdFiEE\n -----END PGP SIGNATURE-----"
    signed = repo.raw_commit("서명된 커밋\n".encode(), author_at="1790769600", committer_at="1790769600", headers=(signature,))
    repo.commit("plain", NOON, file="a.txt", text="one\n")
    witness = hostile(repo, tmp_path)
    # The traps themselves must work; only the one that blocks is left out for that.
    for command in ("status", "log", "show"):
        blocking = ("mailmap.file", "diff.orderFile", "core.attributesFile", "core.excludesFile")
        repo.git(*(word for name in blocking for word in ("-c", f"{name}={os.devnull}")), command, GIT_GRAFT_FILE=os.devnull)
        assert witness.exists()
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


def test_a_secret_at_the_end_of_what_is_read_of_a_message_is_not_kept_by_halves(repo: Scratch) -> None:
    secret = "ghp_" + "a1B2" * 10
    for end in ("\n", " "):
        filler = f"word{end}" * (2**14 // 5 - 4)
        repo.commit(f"Subject{end}{filler}{secret} {secret}", NOON)
    collection = read(repo)
    assert collection.warnings == ("commit messages cut at 16 KiB: 2",)
    assert "ghp_" not in collection.model_dump_json()


def test_an_endless_file_of_attributes_is_no_file_of_attributes(repo: Scratch) -> None:
    (repo.path / ".gitattributes").write_text("*.x linguist-generated\n" * 60_000)
    repo.commit("real", NOON, file="a.x")
    assert [file.kind for file in read(repo).commits[0].files or ()] == ["", ""]


def test_a_pattern_of_attributes_that_is_none_stops_no_report(repo: Scratch) -> None:
    repo.commit("Say what is generated", "2026-09-30T10:00:00+00:00", file=".gitattributes", text="a[z-a].py linguist-generated\n")
    found = read(repo)
    assert subjects(found) == ["Say what is generated"]
    assert "patterns of .gitattributes that are none, ignored: 1" in found.warnings


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


def test_b44_a_day_is_found_whatever_stands_above_it_and_whatever_the_machine_calls_the_time(
    repo: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for subject, at in (("first", "2026-09-20"), ("second", "2026-09-01"), ("third", "2026-09-25"), ("future", "2031-01-01")):
        repo.commit(subject, f"{at}T12:00:00+00:00")
    for zone in ("UTC", "Pacific/Kiritimati"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        days = {name: subjects(read(repo, day=day)) for name, day in (("20", date(2026, 9, 20)), ("1", date(2026, 9, 1)))}
        assert days == {"20": ["first"], "1": ["second"]}
    monkeypatch.undo()
    time.tzset()
    assert subjects(read(repo, day=date(2031, 1, 1))) == ["future"]


def test_b45_no_bytes_of_a_commit_can_hide_it_or_another_one(repo: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.EUC-KR")
    repo.git("config", "i18n.logOutputEncoding", "EUC-KR")
    repo.commit("base", "2026-09-29T12:00:00+00:00")
    stamps = (f"17907696{number:02}" for number in range(99))
    headers = {b"Caf\xe9 with a header\n": (b"encoding ISO-8859-1",)}
    messages = (
        b"Caf\xe9 with a header\n", b"Caf\xe9 without\n", b"%x00 %H \\0 and \\x00\n", b"S" * 2**20 + b"\n\nbody\n",
        b"\x1b[31mred\x1b[0m \x1b]0;title\x07bell \xe2\x80\xaeright to left\n", b"cut\x00here\n", b"\n\n", b"one\r\ntwo\r\n",
    )  # fmt: skip
    for message in messages:
        repo.raw_commit(message, author_at=next(stamps), committer_at="1790769600", headers=headers.get(message, ()))
    (Path(os.fsdecode(bytes(repo.path) + b"/caf\xe9\nname\x1b.txt"))).write_text("x\n")
    repo.commit("odd file", "2026-09-30T13:00:00+00:00")
    collection = read(repo)
    found = subjects(collection)
    assert found[:3] == ["Café with a header", "Caf\ufffd without", "%x00 %H \\0 and \\x00"]
    assert set(found[3]) == {"S"}
    assert found[4:] == ["red bell right to left", "cut", "", "one", "odd file"]
    assert "caf\ufffd\ufffdname\ufffd.txt" in [file.path for file in collection.commits[-1].files or ()]
    assert collection.warnings == ("commit messages cut at 16 KiB: 1", "commit messages in an unknown encoding: 1")
    assert Collection.model_validate_json(collection.model_dump_json()) == collection


def test_case_10_paths_into_one_repository_count_once(repo: Scratch, tmp_path: Path) -> None:
    repo.commit("real", NOON, file="deep/down/a.txt")
    repo.git("worktree", "add", "--quiet", "-b", "second", str(tmp_path / "second"))
    collection = read(tmp_path / "second", repo.path / "deep", repo.path / ".git", repo)
    assert [(commit.repository, commit.subject) for commit in collection.commits] == [("shop", "real")]


def test_repositories_that_share_a_name_are_told_apart(scratch: Callable[[str], Scratch], tmp_path: Path) -> None:
    for team in ("red", "blue"):
        (tmp_path / team).mkdir()
        scratch(f"{team}/shop").commit(team, NOON if team == "red" else "2026-09-30T13:00:00+00:00")
    commits = read(tmp_path / "red" / "shop", tmp_path / "blue" / "shop").commits
    assert [commit.repository for commit in commits] == ["red/shop", "blue/shop"]


def test_case_11_a_change_on_two_branches_is_one_entry_with_both_hashes(repo: Scratch) -> None:
    base = repo.commit("base", "2026-09-29T12:00:00+00:00", file="a.txt", text="one\n" * 9)
    original = repo.commit("fix", NOON, file="a.txt", text="one\n" * 9 + "two\n")
    repo.git("switch", "--quiet", "-c", "release", base)
    other = repo.commit("other work with the same counts", "2026-09-30T12:30:00+00:00", file="b.txt")
    later = {"GIT_COMMITTER_DATE": "@1790773200 +0000"}
    repo.git("cherry-pick", "-x", original, **later)
    picked = repo.head()
    collection = read(repo)
    assert [(commit.sha, commit.also) for commit in collection.commits] == [(original, (picked,)), (other, ())]
    assert picked in collection.known
    assert collection.mentioned == ()
    assert collection.warnings == ("commits that repeat a change on another branch, shown with it: 1",)


def test_case_11_changes_that_cannot_be_compared_stay_two_and_it_is_said(repo: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(*asked: object) -> dict[str, str]:
        raise GitSaidTooMuch(repo.path, "diff-tree", "more than anybody would read")

    monkeypatch.setattr("halfway_report.collect.patch_ids", too_much)
    base = repo.commit("base", "2026-09-29T12:00:00+00:00")
    repo.commit("fix", NOON, file="a.txt")
    repo.git("switch", "--quiet", "-c", "release", base)
    repo.git("cherry-pick", "main", GIT_COMMITTER_DATE="@1790773200 +0000")
    collection = read(repo)
    assert subjects(collection) == ["fix", "fix"]
    assert collection.warnings == ("repositories whose commits are too large to be compared with each other: 1",)


def test_case_11_a_revert_and_what_it_takes_back_are_a_pair(repo: Scratch) -> None:
    old = repo.commit("old", "2026-09-01T12:00:00+00:00", file="old.txt")
    wrong = repo.commit("wrong", NOON, file="a.txt")
    repo.commit(f"Revert\n\nThis reverts commit {wrong}.", "2026-09-30T13:00:00+00:00", file="b.txt")
    repo.commit(f"Revert old\n\nThis reverts commit {old[:12]}.", "2026-09-30T14:00:00+00:00", file="c.txt")
    first, second, third = read(repo).commits
    assert (first.reverted_by, second.reverts) == (second.sha, wrong)
    assert (third.reverts, third.reverted_by) == (old, None)


@pytest.fixture
def merged(repo: Scratch) -> Scratch:
    """A branch of yesterday that was merged today, beside a branch that was not."""
    repo.commit("base", "2026-09-28T12:00:00+00:00")
    repo.git("switch", "--quiet", "-c", "topic")
    repo.commit("topic", "2026-09-29T12:00:00+00:00", file="topic.txt", text="1\n2\n")
    repo.git("switch", "--quiet", "main")
    stamp = {"GIT_AUTHOR_DATE": "@1790773300 +0000", "GIT_COMMITTER_DATE": "@1790773300 +0000"}
    repo.git("merge", "--quiet", "--no-ff", "-m", "Merge topic", "topic", **stamp)
    repo.git("switch", "--quiet", "-c", "open")
    repo.commit("not landed", "2026-09-30T14:00:00+00:00", file="open.txt")
    return repo


def test_what_landed_is_the_merge_with_the_files_that_it_brought(merged: Scratch) -> None:
    (landed,) = read(merged, basis="landed", branch="main").commits
    assert (landed.subject, landed.merge) == ("Merge topic", True)
    assert landed.files == (FileChange(path="topic.txt", added=2, deleted=0),)
    assert subjects(read(merged, basis="landed")) == ["Merge topic", "not landed"]  # HEAD is at the other branch
    assert subjects(read(merged)) == ["not landed"]


def test_a_branch_that_is_not_there_is_named(merged: Scratch) -> None:
    with pytest.raises(BranchUnknown, match="no branch nowhere"):
        read(merged, basis="landed", branch="nowhere")


def test_work_of_others_counts_where_remotes_are_asked_for(merged: Scratch, tmp_path: Path) -> None:
    clone = Scratch(tmp_path / "clone")
    merged.git("clone", "--quiet", "--branch=main", str(merged.path), str(clone.path))
    assert subjects(read(clone)) == []
    assert subjects(read(clone, remotes=True)) == ["not landed"]
    assert subjects(read(clone, basis="landed", branch="origin/open")) == ["Merge topic", "not landed"]


def test_no_name_leaves_unless_it_is_asked_for(repo: Scratch) -> None:
    (repo.path / ".mailmap").write_text("Jane Doe <jane@shop.example> <old@shop.example>\n")
    message = "Pair with Jane Doe\n\nCall x@y.example\n\nCo-authored-by: 김민수 <kim@shop.example>\nSigned-off-by: J <j@shop.example>"
    repo.commit_as("jd", "old@shop.example", message, NOON)
    plain, named = read(repo), read(repo, show_authors=True)
    text = plain.model_dump_json()
    assert not [word for word in ("Jane", "jd", "김민수", "@shop", "@y.example") if word in text]
    assert plain.redactions == {"email": 1, "name": 1, "person": 2}
    assert named.commits[0].authors == ("Jane Doe", "김민수")
    assert named.commits[0].subject == "Pair with Jane Doe"
    assert "@" not in named.model_dump_json()
    hidden = read(repo, show_authors=True, personal={"names": ("Jane Doe",)})
    assert hidden.commits[0].authors == ("[REDACTED:name]", "김민수")


def test_no_name_and_no_secret_leaves_in_a_path_or_in_the_name_of_a_folder(scratch: Callable[[str], Scratch], tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 10
    (tmp_path / "kim.minsu").mkdir()
    first, second = scratch("shop"), scratch("kim.minsu/shop")
    names = (
        f"{secret}.txt",
        "password=hunter22secret.txt",
        "Kim_Minsu/notes.md",
        "icon@2x.png",
        unicodedata.normalize("NFD", "김민수/메모.md"),
    )
    for number, name in enumerate(names):
        second.commit("Keep a note", f"2026-09-30T09:0{number}:00+00:00", file=name)
    second.commit_as("Kim Minsu", "m@shop.example", "Ask Kim  Minsu", "2026-09-30T10:00:00+00:00")
    second.commit_as("김민수", "n@shop.example", unicodedata.normalize("NFD", "김민수가 적었다"), "2026-09-30T10:01:00+00:00")
    first.commit("Something else", "2026-09-30T08:00:00+00:00")
    kept = read(first, second).model_dump_json()
    for word in (secret, "hunter22secret", "Kim_Minsu", "kim.minsu", "Kim  Minsu", "김민수", unicodedata.normalize("NFD", "김민수")):
        assert word not in kept
    assert "icon@2x.png" in kept
    assert "[REDACTED:name]/notes.md" in kept


def test_the_name_before_the_mailmap_does_not_leave_either(repo: Scratch) -> None:
    repo.commit("Begin", "2026-09-30T08:00:00+00:00", file=".mailmap", text="Jane Doe <k@shop.example> Kevin Birthname <k@shop.example>\n")
    repo.commit_as("Kevin Birthname", "k@shop.example", "Kevin Birthname and Jane Doe did it", "2026-09-30T09:00:00+00:00")
    assert subjects(read(repo))[-1] == "[REDACTED:name] and [REDACTED:name] did it"


def test_excluded_authors_are_left_out_and_counted(repo: Scratch) -> None:
    repo.commit_as("renovate[bot]", "bot@shop.example", "Update everything", NOON)
    repo.commit_as("Kim", "kim@shop.example", "Work", NOON)
    collection = read(repo, exclude_authors=(r"\[BOT\]",))
    assert subjects(collection) == ["Work"]
    assert collection.warnings == ("commits by excluded authors, left out: 1",)


def test_a_submodule_is_the_path_that_moved_and_is_not_entered(repo: Scratch) -> None:
    repo.commit("base", "2026-09-29T12:00:00+00:00")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},libs/other")
    repo.git("commit", "--quiet", "-m", "Move", GIT_AUTHOR_DATE="@1790769700 +0000", GIT_COMMITTER_DATE="@1790769700 +0000")
    repo.git("config", "diff.ignoreSubmodules", "all")
    (commit,) = read(repo).commits
    assert commit.files == (FileChange(path="libs/other", added=1, deleted=0, kind="submodule"),)


def test_a_bare_repository_says_what_is_generated(repo: Scratch, tmp_path: Path) -> None:
    (repo.path / ".gitattributes").write_text("*.sql linguist-generated\n")
    repo.commit("schema", NOON, file="schema.sql")
    repo.commit("lock", "2026-09-30T13:00:00+00:00", file="uv.lock")
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(tmp_path / "mirror.git"))
    collection = read(tmp_path / "mirror.git", drop=(".gitattributes",))
    kinds = {file.path: file.kind for commit in collection.commits for file in commit.files or ()}
    assert kinds == {".gitattributes": "unwanted", "schema.sql": "generated", "uv.lock": "lock file"}
    assert {commit.repository for commit in collection.commits} == {"mirror"}


def test_case_8_a_clone_without_trees_still_has_its_commits(repo: Scratch, tmp_path: Path) -> None:
    repo.commit("base", "2026-09-29T12:00:00+00:00")
    repo.commit("top", NOON)
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "--quiet", "--bare", "--filter=tree:0", f"file://{repo.path}", str(tmp_path / "partial"))
    collection = read(tmp_path / "partial")
    assert [(commit.subject, commit.files) for commit in collection.commits] == [("top", None)]
    assert collection.warnings == ("commits whose files are not in this clone: 1",)


def test_a_commit_with_very_many_files_counts_the_rest(repo: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfway_report.history.MOST_FILES", 3)
    for number in range(5):
        (repo.path / f"f{number}").write_text("1\n2\n")
    repo.commit("many", NOON, file="f5")
    (commit,) = read(repo).commits
    assert [file.path for file in commit.files or ()] == ["f0", "f1", "f2"]
    assert [(part.why, part.files, part.added) for part in commit.omitted] == [("too many", 3, 5)]
    monkeypatch.setattr("halfway_report.history.MOST_FILES_IN_ALL", 1)
    collection = read(repo)
    assert [len(commit.files or ()) for commit in collection.commits] == [1]
    assert collection.warnings == ("commits with too many files, of which the last are only counted: 1",)


def test_a_day_with_very_many_commits_says_so(repo: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfway_report.collect.MOST_COMMITS", 2)
    for number in range(4):
        repo.commit_as("A", "a@shop.example", str(number), f"2026-09-30T1{number}:00:00+00:00")
    collection = read(repo)
    assert subjects(collection) == ["0", "1"]
    assert collection.warnings == ("commits after the first 2 of the day, left out: 2",)


def test_a_repository_of_another_user_is_read_because_the_settings_name_it(
    repo: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("real", NOON)
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(tmp_path / "mirror.git"))
    monkeypatch.setattr("halfway_report.git._ENVIRONMENT", {**_ENVIRONMENT, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    with pytest.raises(RepositoryUnusable, match="dubious ownership"):
        read(repo.path / ".git" / "refs")
    assert subjects(read(repo)) == subjects(read(tmp_path / "mirror.git")) == ["real"]


def test_a_commit_is_what_it_was_and_not_what_replaces_it(repo: Scratch) -> None:
    real = repo.commit("real", NOON)
    repo.git("replace", real, repo.git("commit-tree", "HEAD^{tree}", "-m", "another story"))
    assert subjects(read(repo)) == ["real"]
