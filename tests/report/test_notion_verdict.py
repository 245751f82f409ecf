"""What a search says about the page of a day, row by row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from halfway_report.models import Page
from halfway_report.notion_values import Hit, Search
from halfway_report.notion_verdict import AskPerson, Incomplete, Made, Nothing, Outdated, judge, may_archive

PAGE = Page(id="p1", url="https://www.notion.so/p1")
OURS = Hit(page=PAGE, content_hash="hash", run_id="run-1", in_trash=False, ours=True)
RUNS = frozenset({"run-1", "run-2"})


def verdict(*hits: Hit, complete: bool = True, vanished: str | None = None) -> object:
    seen = judge(Search(hits=hits, complete=complete, vanished=vanished), "hash", RUNS)
    return seen.error.code if isinstance(seen, AskPerson) else seen


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        ((), Nothing()),
        ((OURS,), Made(PAGE)),
        ((replace(OURS, run_id=None),), Made(PAGE)),
        ((replace(OURS, content_hash="other"),), Outdated(PAGE)),
        ((replace(OURS, content_hash=None),), Outdated(PAGE)),
        ((replace(OURS, content_hash="other", run_id="run-9"),), "PAGE_DIFFERS"),
        ((replace(OURS, content_hash="other", run_id=None),), "PAGE_DIFFERS"),
        ((replace(OURS, ours=False),), "PAGE_EDITED"),
        ((replace(OURS, ours=False, content_hash="other"),), "PAGE_EDITED"),
        ((replace(OURS, in_trash=True),), "PAGE_IN_TRASH"),
        ((replace(OURS, in_trash=True, ours=False),), "PAGE_IN_TRASH"),
        ((OURS, OURS), "PAGE_TWICE"),
        ((OURS, replace(OURS, in_trash=True)), "PAGE_TWICE"),
    ],
)
def test_case_23_each_sight_has_its_verdict(hits: tuple[Hit, ...], expected: object) -> None:
    assert verdict(*hits) == expected


@pytest.mark.parametrize("hits", [(), (OURS,), (OURS, OURS)])
def test_case_21_who_did_not_see_everything_says_nothing(hits: tuple[Hit, ...]) -> None:
    assert isinstance(verdict(*hits, complete=False), Incomplete)


def test_case_23_a_page_that_has_vanished_is_not_absent() -> None:
    assert verdict(vanished=PAGE.url) == "PAGE_GONE"


@pytest.mark.parametrize(
    ("hit", "code"),
    [
        (OURS, None),
        (replace(OURS, ours=False), "PAGE_EDITED"),
        (replace(OURS, run_id="run-2"), "PAGE_DIFFERS"),
        (replace(OURS, run_id=None), "PAGE_DIFFERS"),
        (replace(OURS, content_hash="of a later run"), "PAGE_DIFFERS"),
    ],
)
def test_only_the_run_that_made_a_page_may_archive_it_and_only_as_it_made_it(hit: Hit, code: str | None) -> None:
    refusal = may_archive(hit, "hash", "run-1")
    assert (refusal.code if refusal else None) == code
