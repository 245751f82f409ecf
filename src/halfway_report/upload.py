"""The step that makes the page at Notion, the probe that looks for it when the answer was lost, and the undo that archives it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from halfway import (
    Absent,
    Artifact,
    CannotTell,
    Effect,
    Found,
    Mark,
    OutcomeUnknown,
    Retry,
    RetryLater,
    Risk,
    Step,
    StepDefinition,
    StepFailed,
    Then,
    Workflow,
)
from halfway_report.errors import PageGone, PageOvertaken, ReportTooLarge, TokenMissing
from halfway_report.models import Day, Page
from halfway_report.notion_markdown import too_large
from halfway_report.notion_place import Place, look, place_of, with_stored
from halfway_report.notion_values import DayPages, Draft, Fate, Known, NotionError
from halfway_report.notion_verdict import AskPerson, Incomplete, Made, Nothing, Outdated, Verdict, judge, may_archive
from halfway_report.settings import NotionSettings

if TYPE_CHECKING:  # its client is loaded by the first upload
    from halfway_report.notion import Notion

# A NotionError has said all that its causes say, so they are left out: a person would read the same three times.
# About ten minutes in all: what Notion cannot do by then, a person should know of.
_PATIENT = Retry(6, wait=timedelta(seconds=5), factor=3, max_wait=timedelta(minutes=10))
# An upload looks before it makes something, and each request may take its whole time only now and then.
_REQUESTS = 4


def add_upload(
    workflow: Workflow[Day], report: StepDefinition[Day, Artifact], settings: NotionSettings, known: Known | None
) -> StepDefinition[Day, Page]:
    """Declares UPLOAD_NOTION with its probe and its undo. `known`: what the database of the runs has about a day."""
    known = known or (lambda _: DayPages())
    timeout = settings.timeout * _REQUESTS

    @workflow.step(Effect.CREATE, retry=_PATIENT, timeout=timeout, on_failure=Then.MANUAL, effect_key=lambda step: step.input.key)
    def upload_notion(step: Step[Day], mark: Mark) -> Page:
        draft, day = _draft(step, step.output(report)), known(step.input)
        if day.newer is not None:
            raise PageOvertaken(f"the run {day.newer} of a later revision of this day has begun its upload")
        with _connect(settings, step) as notion:
            # An earlier run for the same day may have made the page; a fault up to here is an ordinary retry.
            with _only_looking():
                place = place_of(notion, settings)
                verdict = judge(look(notion, place, draft.external_id, day), draft.content_hash, day.runs | {step.run_id})
            make = _allowed(verdict)
            step.evidence(externalId=draft.external_id, contentHash=draft.content_hash, dataSource=place.source, found=_url(make))
            with mark, _meaning():
                return _bring_about(notion, place, make, draft)

    @upload_notion.probe(settle=settings.settle, retry=_PATIENT)
    def find_page(step: Step[Day]) -> Found[Page] | Absent | CannotTell:
        """The page at Notion whose ExternalId is the key of the day and whose ContentHash is that of the report."""
        day = known(step.input)
        with _connect(settings, step) as notion, _only_looking():
            place = place_of(notion, settings)
            search = look(notion, place, step.input.key, day)
        return _answer(judge(search, step.output(report).sha256, day.runs | {step.run_id}), place)

    @upload_notion.compensate(Risk.MEDIUM, idempotent=True, retry=_PATIENT, timeout=timeout)
    def archive_page(step: Step[Day], page: Page) -> None:
        """Puts the page into Notion's trash, from where people can take it back."""
        with _connect(settings, step) as notion, _only_looking():
            _archive(notion, page, step.output(report).sha256, step.run_id, known(step.input))

    return upload_notion


def _draft(step: Step[Day], report: Artifact) -> Draft:
    markdown = step.read(report).decode()
    if too_large(markdown):
        raise ReportTooLarge(f"the report has {report.size} bytes, and Notion takes at most 500,000 in one request")
    return Draft(external_id=step.input.key, content_hash=report.sha256, run_id=step.run_id, markdown=markdown)


def _allowed(verdict: Verdict) -> Made | Outdated | Nothing:
    """What the step may go on with; everything else is raised."""
    match verdict:
        case Incomplete(reason):
            raise RetryLater(reason, code="NOTION_INCOMPLETE")
        case AskPerson(error):
            raise error
        case _:
            return verdict


def _bring_about(notion: Notion, place: Place, found: Made | Outdated | Nothing, draft: Draft) -> Page:
    match found:
        case Made(page):
            return page
        case Outdated(page):
            return notion.update(page, draft, by_property=place.by_property)
        case Nothing():
            return notion.create(place.source, draft, by_property=place.by_property)


def _url(found: Made | Outdated | Nothing) -> str | None:
    return None if isinstance(found, Nothing) else found.page.url


def _answer(verdict: Verdict, place: Place) -> Found[Page] | Absent | CannotTell:
    """What the probe says. Only who could search may say that there is nothing."""
    match verdict:
        case Made(page):
            return Found(page)
        case Outdated():
            return Absent()
        case Nothing() if place.by_property:
            return Absent()
        case Nothing():
            return CannotTell("the data source has no property to search for; look there for the page of this day")
        case Incomplete(reason):
            return CannotTell(reason)
        case AskPerson(error):
            return CannotTell(f"{error.code}: {error}")


def _archive(notion: Notion, page: Page, content_hash: str, run_id: str, day: DayPages) -> None:
    seen = notion.get(page.id)
    if seen is None:
        raise PageGone(f"Notion does not show the page any more: {page.url}")
    hit = with_stored(seen, day.page)
    if hit.in_trash:
        return
    if refusal := may_archive(hit, content_hash, run_id):
        raise refusal
    try:
        notion.trash(page)
    except NotionError as error:
        # A person may have been faster: what is in the trash cannot be put there.
        again = notion.get(page.id) if error.status == 400 else None
        if again is None or not again.in_trash:
            raise


@contextmanager
def _meaning() -> Generator[None, None, None]:
    """Says what the failure of a request proves that was to make something."""
    try:
        yield
    except NotionError as error:
        match error.fate:
            case Fate.NOT_SENT | Fate.NOT_TAKEN:
                raise RetryLater(str(error), code=error.code, after=error.after) from None
            case Fate.REFUSED:
                raise StepFailed(str(error), code=error.code) from None
            case Fate.LOST:
                raise OutcomeUnknown(str(error), code=error.code) from None


@contextmanager
def _only_looking() -> Generator[None, None, None]:
    """What may be repeated has no lost answer: what Notion refuses, it will refuse again; everything else is worth another try."""
    try:
        yield
    except NotionError as error:
        if error.fate is Fate.REFUSED:
            raise StepFailed(str(error), code=error.code) from None
        raise RetryLater(str(error), code=error.code, after=error.after) from None


def _connect(settings: NotionSettings, step: Step[Day]) -> Notion:
    from halfway_report.notion import Notion  # noqa: PLC0415

    token = os.environ.get(settings.token_env, "").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise TokenMissing(f"the environment variable {settings.token_env} is not set, or holds no token")
    # A request must end before the engine ends the attempt, so that a slow answer ends as a read timeout.
    return Notion(settings.url, token, settings.properties, patience=lambda: min(settings.timeout, step.remaining * 0.9))
