"""The adapter for Notion against the stand-in, over a real socket."""

import socket
from collections.abc import Iterator
from datetime import timedelta

import httpx2
import pytest

from halfway_report.models import Page
from halfway_report.notion import Draft, Hit, Notion, NotionBusy, Search
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_pages import DATA_SOURCE

KEY = "daily-report:shop:2026-09-30"
DRAFT = Draft(external_id=KEY, content_hash="c" * 64, run_id="run-1", markdown="# Daily report\n\nIt was a day.\n")
LONG, SHORT = timedelta(seconds=30), timedelta(seconds=1)


def connect(standin: Standin, *, token: str = TOKEN, source: str = DATA_SOURCE, within: timedelta = LONG) -> Notion:
    return Notion(standin.url, token, source, remaining=lambda: within)


@pytest.fixture
def notion(standin: Standin) -> Iterator[Notion]:
    with connect(standin) as client:
        yield client


def test_one_post_makes_the_whole_page(standin: Standin, notion: Notion) -> None:
    page = notion.create(DRAFT)
    (stored,) = standin.ledger.pages
    assert page == Page(id=stored.id, url=f"https://www.notion.so/{stored.id.replace('-', '')}")
    assert stored.title == "Daily report"
    assert stored.markdown == DRAFT.markdown
    assert stored.properties == {"ExternalId": KEY, "ContentHash": "c" * 64, "RunId": "run-1"}
    assert len(standin.ledger.requests) == 1


def test_a_page_is_found_by_its_external_id(notion: Notion) -> None:
    page = notion.create(DRAFT)
    assert notion.find(KEY) == Search(hits=(Hit(page=page, content_hash="c" * 64, in_trash=False),), complete=True)
    assert notion.find("daily-report:shop:2026-10-01") == Search(hits=(), complete=True)


def test_a_page_in_the_trash_is_found_too(standin: Standin, notion: Notion) -> None:
    page = notion.create(DRAFT)
    standin.pages.trash(page.id, b'{"in_trash": true}')
    assert [hit.in_trash for hit in notion.find(KEY).hits] == [True]


def test_every_page_with_the_external_id_is_found(notion: Notion) -> None:
    pages = {notion.create(DRAFT).id for _ in range(3)}
    assert {hit.page.id for hit in notion.find(KEY).hits} == pages


def test_an_incomplete_answer_is_not_taken_for_a_complete_one(standin: Standin, notion: Notion) -> None:
    standin.fail_query("incomplete")
    assert notion.find(KEY) == Search(hits=(), complete=False)


def test_an_index_that_lags_does_not_show_the_page_yet(standin: Standin, notion: Notion) -> None:
    notion.create(DRAFT)
    standin.fail_query("lag", "lag")
    assert notion.find(KEY).hits == ()
    assert len(notion.find(KEY).hits) == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("commit_hang", httpx2.ReadTimeout),
        ("commit_rst", httpx2.ReadError),
        ("commit_half", httpx2.RemoteProtocolError),
        ("commit_504", httpx2.HTTPStatusError),
        ("commit_502", httpx2.HTTPStatusError),
    ],
)
def test_a_lost_answer_raises_although_the_page_is_there(standin: Standin, fault: str, error: type[Exception]) -> None:
    standin.fail_create(fault)
    patience = SHORT if fault == "commit_hang" else LONG
    with connect(standin, within=patience) as notion, pytest.raises(error):
        notion.create(DRAFT)
    with connect(standin) as notion:
        assert len(notion.find(KEY).hits) == 1
    assert standin.ledger.posts() == 1


@pytest.mark.parametrize("status", [400, 401, 409, 500, 502, 503, 504])
def test_a_refusal_raises_once_and_leaves_no_page(standin: Standin, notion: Notion, status: int) -> None:
    standin.fail_create(str(status))
    with pytest.raises(httpx2.HTTPStatusError) as raised:
        notion.create(DRAFT)
    assert raised.value.response.status_code == status
    assert standin.ledger.pages == ()
    assert standin.ledger.posts() == 1


def test_a_reset_before_the_request_was_read_leaves_no_page(standin: Standin, notion: Notion) -> None:
    standin.fail_create("rst_before")
    with pytest.raises(httpx2.ReadError):
        notion.create(DRAFT)
    assert standin.ledger.pages == ()
    assert standin.ledger.posts() == 1


@pytest.mark.parametrize(("fault", "seconds"), [("429:7", 7), ("429", 1), ("529", 1)])
def test_a_busy_notion_says_when_to_come_again(standin: Standin, notion: Notion, fault: str, seconds: int) -> None:
    standin.fail_create(fault)
    with pytest.raises(NotionBusy) as raised:
        notion.create(DRAFT)
    assert raised.value.after == timedelta(seconds=seconds)
    assert standin.ledger.pages == ()


def test_the_vendors_words_are_kept(standin: Standin) -> None:
    with connect(standin, token="wrong") as notion, pytest.raises(httpx2.HTTPStatusError, match="401 unauthorized: API token is invalid"):
        notion.create(DRAFT)
    with connect(standin, source="unknown") as notion, pytest.raises(httpx2.HTTPStatusError, match="are shared with your integration"):
        notion.find(KEY)


def test_a_refused_connection_is_told_apart_from_a_lost_answer() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with (
            Notion(f"http://127.0.0.1:{taken.getsockname()[1]}", TOKEN, DATA_SOURCE, remaining=lambda: LONG) as notion,
            pytest.raises(httpx2.ConnectError),
        ):
            notion.create(DRAFT)
