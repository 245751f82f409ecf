"""What a generator is given: everything that has room, and an honest list of the rest."""

from datetime import date

import pytest

from halfway_report.context import as_text, build_context
from halfway_report.models import Collection, Commit, FileChange, Omitted, content_hash
from halfway_report.redact import Redactor
from halfway_report.tokens import estimate


def commit(number: int, subject: str = "Change", *, body: str = "", files: tuple[FileChange, ...] = (), **more: object) -> Commit:
    return Commit.model_validate(
        {"sha": f"{number:040x}", "repository": "shop", "at": number, "subject": subject, "body": body, "files": files, **more}
    )


def day(*commits: Commit) -> Collection:
    return Collection(project="shop", date=date(2026, 9, 30), zone="UTC", basis="author", commits=commits)


def file(path: str, added: int = 1, deleted: int = 0, **more: object) -> FileChange:
    return FileChange.model_validate({"path": path, "added": added, "deleted": deleted, **more})


def test_the_same_collection_gives_the_same_bytes_and_hash() -> None:
    def make() -> Collection:
        return day(*(commit(number, "한글 " * number, body="b" * 900, files=(file("a", number),)) for number in range(50)))

    first, second = (
        build_context(make(), budget=2_000),
        build_context(Collection.model_validate_json(make().model_dump_json()), budget=2_000),
    )
    assert content_hash(first.canonical()) == content_hash(second.canonical())


def test_lock_files_and_their_like_are_counted_instead_of_named() -> None:
    files = (
        file("src/a.py", 5, 2), file("uv.lock", 900, 800, kind="lock file"), file("b.min.js", 1, 1, kind="minified"),
        file("c.min.js", 2, 3, kind="minified"), file("data/x.csv", 7, 0, kind="unwanted"), file("libs/sub", 1, 1, kind="submodule"),
    )  # fmt: skip
    context = build_context(day(commit(1, files=files)))
    (shown,) = context.collection.commits
    assert [file.path for file in shown.files or ()] == ["src/a.py", "libs/sub"]
    assert shown.omitted == (
        Omitted(why="lock file", files=1, added=900, deleted=800),
        Omitted(why="minified", files=2, added=3, deleted=4),
        Omitted(why="unwanted", files=1, added=7, deleted=0),
    )
    assert context.left_out == ("files that the settings drop: 1", "lock files: 1", "minified files: 2")
    assert "1 more (lock file) +900 -800" in as_text(shown)


def test_long_texts_shrink_before_a_commit_is_left_out() -> None:
    commits = [commit(number, body="word " * 200, files=tuple(file(f"f{n}", n) for n in range(30))) for number in range(20)]
    roomy, tight = build_context(day(*commits)), build_context(day(*commits), budget=2_000)
    assert roomy.tokens <= 24_000
    assert tight.tokens <= 2_000
    assert len(tight.collection.commits) == 20
    assert tight.left_out_commits == ()
    # The largest changes stay, in their own order.
    assert [file.path for file in tight.collection.commits[0].files or ()] == ["f25", "f26", "f27", "f28", "f29"]
    assert tight.left_out == ("characters of commit messages: 17600", "files of commits with more than 5 files: 500")


def test_the_commits_that_changed_least_go_first_and_are_named() -> None:
    commits = [commit(number, "s" * 100, files=(file("a", number),)) for number in range(100)]
    context = build_context(day(*commits), budget=1_000)
    kept = [shown.at for shown in context.collection.commits]
    assert context.tokens <= 1_000
    assert kept == list(range(100 - len(kept), 100))
    assert context.left_out_commits == tuple(f"{number:040x}" for number in range(100 - len(kept)))
    assert f"commits that changed least, for want of room: {100 - len(kept)}" in context.left_out


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("word " * 100, 100),  # English: five letters a token
        ("오늘은 커밋을 정리했다 " * 100, 1_000),  # 1000 syllables in the costliest vocabulary: 2.1 tokens each
        ("+    return value\n" * 100, 600),  # a diff
        ("", 0),
    ],
)
def test_the_estimate_errs_on_the_safe_side(text: str, least: int) -> None:
    syllables = sum("가" <= letter <= "힣" for letter in text)
    assert estimate(text) >= max(least, 2.1 * syllables)


def test_everything_that_leaves_is_redacted_also_paths() -> None:
    secret = "ghp_" + "a1B2" * 10
    redactor = Redactor(emails=True)
    collection = day(commit(1, f"Use {secret}", body="Ask kim@shop.example", files=(file(f"keys/{secret}.txt"),)))
    context = build_context(collection, redactor=redactor)
    text = context.canonical().decode()
    assert secret not in text
    assert "kim@shop" not in text
    assert context.collection.redactions == {"email": 1, "github": 2}
    assert build_context(context.collection, redactor=redactor).collection == context.collection


def test_a_commit_as_text_names_what_belongs_to_it() -> None:
    text = as_text(
        commit(1, "Fix", also=("b" * 40,), reverts="c" * 40, reverted_by="d" * 40, authors=("Kim",), files=(file("a.py", 1, 2),))
    )
    assert text.splitlines() == [
        "commit 000000000000 = bbbbbbbbbbbb in shop", "Fix", "by Kim", "takes back cccccccccccc", "was taken back by dddddddddddd",
        "  a.py +1 -2",
    ]  # fmt: skip
