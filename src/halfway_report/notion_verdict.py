"""What a search says about the page of a day: pure decisions, the same for the step, its probe and its undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from halfway import StepFailed
from halfway_report.errors import PageDiffers, PageEdited, PageGone, PageInTrash, PageTwice
from halfway_report.models import Page
from halfway_report.notion_values import Hit, Search


@dataclass(frozen=True)
class Made:
    """The page is there, with our content, as we left it."""

    page: Page


@dataclass(frozen=True)
class Outdated:
    """The page is there, as one of our runs left it, with another content: to put ours in its place is safe, and so is to repeat that."""

    page: Page


@dataclass(frozen=True)
class Nothing:
    """There is no page, as far as the search could see."""


@dataclass(frozen=True)
class Incomplete:
    """The search did not see everything."""

    reason: str


@dataclass(frozen=True)
class AskPerson:
    """There is something that no program may judge; `error` says why."""

    error: StepFailed


Verdict: TypeAlias = Made | Outdated | Nothing | Incomplete | AskPerson


def judge(search: Search, content_hash: str, runs: frozenset[str]) -> Verdict:
    """What there is at Notion for a day of which we know these runs."""
    if not search.complete:
        return Incomplete("Notion says that its answer is not complete")
    if search.vanished:
        return AskPerson(PageGone(f"Notion does not show the page any more that this day had: {search.vanished}"))
    match search.hits:
        case ():
            return Nothing()
        case (hit,):
            return _judge_one(hit, content_hash, runs)
        case several:
            named = ", ".join(hit.page.url + (" (in the trash)" if hit.in_trash else "") for hit in several)
            return AskPerson(PageTwice(f"{len(several)} pages have this external id: {named}"))


def _judge_one(hit: Hit, content_hash: str, runs: frozenset[str]) -> Verdict:
    if hit.in_trash:
        return AskPerson(PageInTrash(f"the page is in the trash: {hit.page.url}"))
    if not hit.ours:
        return AskPerson(PageEdited(f"somebody else was the last to edit the page: {hit.page.url}"))
    if hit.content_hash == content_hash:
        return Made(hit.page)
    if hit.run_id not in runs:
        return AskPerson(
            PageDiffers(f"the page was made by {hit.run_id or 'nobody known'}, which this database does not know: {hit.page.url}")
        )
    return Outdated(hit.page)


def may_archive(hit: Hit, content_hash: str, run_id: str) -> StepFailed | None:
    """Why a run may not put a page into the trash; None if it made the page and the page is as it was."""
    if not hit.ours:
        return PageEdited(f"somebody else was the last to edit the page, so it stays: {hit.page.url}")
    if hit.run_id != run_id:
        return PageDiffers(f"this run found the page and did not make it, so it stays; it was made by {hit.run_id}: {hit.page.url}")
    if hit.content_hash != content_hash:
        return PageDiffers(f"a later run has changed the page, so it stays: {hit.page.url}")
    return None
