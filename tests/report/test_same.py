from collections.abc import Sequence

import pytest

from halfway_report.models import Commit, FileChange, Omitted
from halfway_report.same import reverted, same_changes

TEXT = FileChange(path="a.txt", added=1, deleted=0)
BINARY = FileChange(path="a.png", added=None, deleted=None)


def two(**more: object) -> list[Commit]:
    return [
        Commit.model_validate({"sha": sha * 40, "repository": "shop", "at": 1, "subject": "s", "files": (TEXT,), **more}) for sha in "ba"
    ]


def equal(shas: Sequence[str]) -> dict[str, str]:
    return dict.fromkeys(shas, "the same")


def test_the_one_that_was_committed_first_names_the_others() -> None:
    assert same_changes(two(), equal, {"b" * 40: 1, "a" * 40: 2}) == {"b" * 40: ("a" * 40,)}
    assert same_changes(two(), equal, {"b" * 40: 2, "a" * 40: 1}) == {"a" * 40: ("b" * 40,)}
    assert same_changes(two(), equal, {}) == {"a" * 40: ("b" * 40,)}


@pytest.mark.parametrize(
    "more",
    [
        {"files": (TEXT, BINARY)},  # a patch says no more of it than that it differs
        {"files": ()},
        {"files": None},
        {"files": (FileChange(path="mode.sh", added=0, deleted=0),)},
        {"files": (FileChange(path="big.txt", added=60_000, deleted=0),)},
        {"merge": True},
        {"omitted": (Omitted(why="too many", files=1, added=1, deleted=0),)},
    ],
)
def test_what_a_patch_does_not_tell_is_not_compared(more: dict[str, object]) -> None:
    def never(shas: Sequence[str]) -> dict[str, str]:
        raise AssertionError(shas)

    assert same_changes(two(**more), never, {}) == {}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("This reverts commit ABCDEF1.", "abcdef1"),
        ("Why.\n\nThis reverts commit " + "a" * 40 + ", reversing\nchanges", "a" * 40),
        ("This reverts the commit of yesterday", None),
        ("This reverts commit abc", None),
    ],
)
def test_a_revert_is_what_says_so_with_a_hash(body: str, expected: str | None) -> None:
    assert reverted(body) == expected
