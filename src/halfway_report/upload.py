"""The step that makes the page at Notion, and the probe that looks for it when the answer was lost."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

import httpx2

from halfway import Absent, Artifact, CannotTell, Effect, Found, Mark, Retry, RetryLater, Step, StepDefinition, StepFailed, Then, Workflow
from halfway_report.errors import PageDiffers, PageInTrash, TokenMissing
from halfway_report.models import Day, Page
from halfway_report.notion import Draft, Notion, NotionBusy, Search
from halfway_report.settings import NotionSettings


def add_upload(
    workflow: Workflow[Day], generate_report: StepDefinition[Day, Artifact], settings: NotionSettings
) -> StepDefinition[Day, Page]:
    """Declares UPLOAD_NOTION with its probe."""

    @workflow.step(Effect.CREATE, retry=Retry(5), timeout=settings.timeout, on_failure=Then.MANUAL, effect_key=lambda step: step.input.key)
    def upload_notion(step: Step[Day], mark: Mark) -> Page:
        report = step.output(generate_report)
        draft = Draft(external_id=step.key, content_hash=report.sha256, run_id=step.run_id, markdown=step.read(report).decode())
        with _connect(settings, step) as notion:
            # An earlier run for the same day may have made the page; a fault up to here is an ordinary retry.
            with _only_looking():
                page = _adopt(notion.find(step.key), report.sha256)
            with mark, _waiting_if_busy():
                return page or notion.create(draft)

    @upload_notion.probe(settle=settings.settle)
    def find_page(step: Step[Day]) -> Found[Page] | Absent | CannotTell:
        """The page at Notion whose ExternalId is the key of the day and whose ContentHash is that of the report."""
        with _connect(settings, step) as notion:
            return judge(notion.find(step.key), step.output(generate_report).sha256)

    return upload_notion


def judge(search: Search, content_hash: str) -> Found[Page] | Absent | CannotTell:
    """What a search proves: one living page with our content is ours; nothing is absent only if the search was complete."""
    if not search.complete:
        return CannotTell("Notion says that its answer is not complete")
    match search.hits:
        case []:
            return Absent()
        case [hit] if hit.in_trash:
            return CannotTell(f"the page is in the trash: {hit.page.url}")
        case [hit] if hit.content_hash != content_hash:
            return CannotTell(f"the page has another content: {hit.page.url}")
        case [hit]:
            return Found(hit.page)
        case several:
            return CannotTell(f"{len(several)} pages have this external id: {', '.join(hit.page.url for hit in several)}")


def _adopt(search: Search, content_hash: str) -> Page | None:
    """The page that need not be made, or None if there is none; anything in between is a person's business."""
    match judge(search, content_hash):
        case Found(page):
            return page
        case Absent():
            return None
        case CannotTell(reason):
            if not search.complete:
                raise RetryLater(reason)
            if any(hit.in_trash for hit in search.hits):
                raise PageInTrash(reason)
            raise PageDiffers(reason)


@contextmanager
def _waiting_if_busy() -> Generator[None, None, None]:
    try:
        yield
    except NotionBusy as busy:
        raise RetryLater(str(busy), code="NOTION_BUSY", after=busy.after) from busy


@contextmanager
def _only_looking() -> Generator[None, None, None]:
    """A search has no effect: what Notion refuses, it will refuse again; everything else is worth another try."""
    try:
        with _waiting_if_busy():
            yield
    except httpx2.HTTPStatusError as error:
        if error.response.is_client_error:
            raise StepFailed(str(error), code=f"HTTP_{error.response.status_code}") from error
        raise


def _connect(settings: NotionSettings, step: Step[Day]) -> Notion:
    token = os.environ.get(settings.token_env)
    if not token:
        raise TokenMissing(f"the environment variable {settings.token_env} is not set")
    return Notion(settings.url, token, settings.data_source_id, remaining=lambda: step.remaining)
