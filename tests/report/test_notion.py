"""The adapter for Notion against the stand-in, over a real socket: one test for each row of what can go wrong."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import notion_client
import pytest

from halfway_report import notion_faults
from halfway_report.models import Page
from halfway_report.notion import VERSION, Notion
from halfway_report.notion_values import Draft, Fate, Hit, NotionError, Search
from halfway_report.notion_verdict import Outdated, judge
from halfway_report.settings import NotionProperties
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_ledger import DATA_SOURCE
from halfway_report.standin_pages import DATABASE

KEY = "daily-report:shop:2026-09-30"
DRAFT = Draft(external_id=KEY, content_hash="c" * 64, run_id="run-1", markdown="# Daily report\n\nIt was a day.\n")
NEWER = Draft(external_id=KEY, content_hash="d" * 64, run_id="run-2", markdown="# Daily report\n\nIt was a longer day.\n")
LONG, SHORT = timedelta(seconds=30), timedelta(seconds=0.5)


def connect(standin: Standin, *, token: str = TOKEN, within: timedelta = LONG, url: str | None = None) -> Notion:
    return Notion(url or standin.url, token, NotionProperties(), patience=lambda: within)


@pytest.fixture
def notion(standin: Standin) -> Iterator[Notion]:
    with connect(standin) as client:
        yield client


def create(notion: Notion, draft: Draft = DRAFT) -> Page:
    return notion.create(DATA_SOURCE, draft, by_property=True)


def fault_of(notion: Notion, draft: Draft = DRAFT) -> NotionError:
    with pytest.raises(NotionError) as raised:
        create(notion, draft)
    return raised.value


# ── making, finding, changing ──


def test_one_post_makes_the_whole_page(standin: Standin, notion: Notion) -> None:
    page = create(notion)
    (stored,) = standin.ledger.pages
    assert page == Page(id=stored.id, url=f"https://www.notion.so/{stored.id.replace('-', '')}")
    assert stored.title == "Daily report"
    assert stored.markdown == DRAFT.markdown
    assert stored.properties == {"ExternalId": KEY, "ContentHash": "c" * 64, "RunId": "run-1"}
    assert len(standin.ledger.requests) == 1


def test_without_identity_properties_none_are_sent(standin: Standin, notion: Notion) -> None:
    standin.pages.columns = {"Name": "title"}
    notion.create(DATA_SOURCE, DRAFT, by_property=False)
    assert standin.ledger.pages[0].properties == {}


def test_a_page_is_found_by_its_external_id(notion: Notion) -> None:
    page = create(notion)
    hit = Hit(page=page, content_hash="c" * 64, run_id="run-1", in_trash=False, ours=True, external_id=KEY)
    assert notion.find(DATA_SOURCE, KEY) == Search(hits=(hit,), complete=True)
    assert notion.get(page.id) == hit
    assert notion.find(DATA_SOURCE, "daily-report:shop:2026-10-01") == Search(hits=(), complete=True)
    assert notion.get("5a1d0000-0000-4000-8000-00000000dead") is None


def test_a_page_that_is_moved_while_it_is_looked_for_is_seen_once(standin: Standin, notion: Notion) -> None:
    page = create(notion)
    standin.pages.edit(page.id, in_trash=True)
    asked = notion.find(DATA_SOURCE, KEY)
    assert [hit.in_trash for hit in asked.hits] == [True]

    def restore_later() -> None:
        standin.meanwhile("query", lambda: standin.pages.edit(page.id, in_trash=False))

    standin.meanwhile("query", restore_later)
    assert [hit.in_trash for hit in notion.find(DATA_SOURCE, KEY).hits] == [False]
    standin.meanwhile("query", lambda: standin.meanwhile("query", lambda: standin.pages.edit(page.id, in_trash=True)))
    assert [hit.in_trash for hit in notion.find(DATA_SOURCE, KEY).hits] == [True]


def test_a_page_in_the_trash_and_a_page_that_a_person_edited_are_seen_as_such(standin: Standin, notion: Notion) -> None:
    page = create(notion)
    notion.trash(page)
    assert [hit.in_trash for hit in notion.find(DATA_SOURCE, KEY).hits] == [True]
    standin.pages.edit(page.id, in_trash=False)
    assert [(hit.in_trash, hit.ours) for hit in notion.find(DATA_SOURCE, KEY).hits] == [(False, False)]


def test_with_the_token_of_a_person_no_page_counts_as_untouched(standin: Standin, notion: Notion) -> None:
    standin.pages.user = {**standin.pages.user, "type": "person"}
    create(notion)
    assert [hit.ours for hit in notion.find(DATA_SOURCE, KEY).hits] == [False]


def test_every_page_with_the_external_id_is_found(notion: Notion) -> None:
    pages = {create(notion).id for _ in range(3)}
    assert {hit.page.id for hit in notion.find(DATA_SOURCE, KEY).hits} == pages


def test_more_pages_than_one_answer_holds_are_no_complete_answer(standin: Standin, notion: Notion) -> None:
    page = create(notion)
    for _ in range(10):
        standin.pages.copy(page.id)
    assert not notion.find(DATA_SOURCE, KEY).complete


def test_an_incomplete_answer_is_not_taken_for_a_complete_one(standin: Standin, notion: Notion) -> None:
    standin.fail("query", "incomplete")
    assert notion.find(DATA_SOURCE, KEY) == Search(hits=(), complete=False)


def test_an_index_that_lags_does_not_show_the_page_yet(standin: Standin, notion: Notion) -> None:
    standin.pages.lag = timedelta(seconds=30)
    page = create(notion)
    assert notion.find(DATA_SOURCE, KEY).hits == ()
    assert notion.get(page.id) is not None  # what is read by its id is never behind
    standin.pages.advance(timedelta(seconds=30))
    assert len(notion.find(DATA_SOURCE, KEY).hits) == 1


def test_a_changed_report_takes_the_place_of_the_old_one(standin: Standin, notion: Notion) -> None:
    page = create(notion)
    assert notion.update(page, NEWER, by_property=True) == page
    (stored,) = standin.ledger.pages
    assert (stored.title, stored.markdown) == ("Daily report", NEWER.markdown)
    assert stored.properties == {"ExternalId": KEY, "ContentHash": "d" * 64, "RunId": "run-1"}


def test_a_change_whose_second_half_is_refused_is_lost_since_its_first_half_is_done(standin: Standin, notion: Notion) -> None:
    page = create(notion)
    standin.meanwhile("content", lambda: standin.fail("update", "400"))
    with pytest.raises(NotionError, match="no hash yet") as raised:
        notion.update(page, NEWER, by_property=True)
    assert raised.value.fate is Fate.LOST
    (hit,) = notion.find(DATA_SOURCE, KEY).hits
    assert (hit.content_hash, hit.ours) == (None, True)
    # Another revision with the old text must not take the page for its own.
    assert isinstance(judge(notion.find(DATA_SOURCE, KEY), DRAFT.content_hash, frozenset({DRAFT.run_id})), Outdated)


def test_a_page_whose_hash_cannot_be_taken_away_keeps_its_content(standin: Standin, notion: Notion) -> None:
    page = create(notion)
    standin.fail("update", "400")
    with pytest.raises(NotionError) as raised:
        notion.update(page, NEWER, by_property=True)
    assert raised.value.fate is Fate.REFUSED
    assert standin.ledger.pages[0].markdown == DRAFT.markdown


def test_a_database_names_its_data_sources_and_a_data_source_its_columns(standin: Standin, notion: Notion) -> None:
    assert notion.data_sources(DATABASE) == {DATA_SOURCE: "Reports"}
    assert notion.columns(DATA_SOURCE) == {"Name": "title", "ExternalId": "rich_text", "ContentHash": "rich_text", "RunId": "rich_text"}


@pytest.mark.parametrize("text", ["x" * 3000, "😀" * 1001, "Vec<T> " * 400])
def test_fault_B41_a_long_title_is_cut_and_all_of_the_content_is_sent(standin: Standin, notion: Notion, text: str) -> None:
    content = "한글 " * 5000 + "\n\n" + "- **bold** `code` 😀\n" * 300
    create(notion, replace(DRAFT, markdown=f"# {text}\n\n{content}"))
    (page,) = standin.ledger.pages
    assert page.title.endswith("…")
    assert page.markdown == f"# {page.title}\n\n{content}"
    assert standin.ledger.posts() == 1


# ── what a failure proves ──


@pytest.mark.parametrize("fault", ["commit_hang", "commit_rst", "commit_half", "commit_504", "commit_502"])
def test_case_20_fault_B08_after_a_lost_answer_the_page_may_be_there(standin: Standin, fault: str) -> None:
    standin.fail("create", fault)
    with connect(standin, within=SHORT if fault == "commit_hang" else LONG) as notion:
        assert fault_of(notion).fate is Fate.LOST
    with connect(standin) as notion:
        assert len(notion.find(DATA_SOURCE, KEY).hits) == 1
    assert standin.ledger.posts() == 1


@pytest.mark.parametrize(
    ("fault", "fate", "code"),
    [
        ("400", Fate.REFUSED, "HTTP_400"),
        ("401", Fate.REFUSED, "HTTP_401"),
        ("403", Fate.REFUSED, "HTTP_403"),
        ("404", Fate.REFUSED, "HTTP_404"),
        ("413", Fate.REFUSED, "HTTP_413"),
        ("429:7", Fate.NOT_TAKEN, "NOTION_BUSY"),
        ("529", Fate.NOT_TAKEN, "NOTION_BUSY"),
        ("409", Fate.LOST, "HTTP_409"),
        ("500", Fate.LOST, "HTTP_500"),
        ("502", Fate.LOST, "HTTP_502"),
        ("503", Fate.LOST, "HTTP_503"),
        ("504", Fate.LOST, "HTTP_504"),
        ("rst_before", Fate.LOST, "ANSWER_LOST"),
    ],
)
def test_case_22_each_answer_says_what_it_proves_and_is_asked_for_once(
    standin: Standin, notion: Notion, fault: str, fate: Fate, code: str
) -> None:
    standin.fail("create", fault)
    error = fault_of(notion)
    assert (error.fate, error.code) == (fate, code)
    assert error.after == ({"429:7": timedelta(seconds=7), "529": timedelta(seconds=1)}.get(fault))
    assert standin.ledger.pages == ()
    assert standin.ledger.posts() == 1


@pytest.mark.parametrize("fault", ["429:7", "500", "503"])
def test_case_22_a_look_is_not_repeated_by_the_client_either(standin: Standin, notion: Notion, fault: str) -> None:
    standin.fail("source", fault)
    with pytest.raises(NotionError):
        notion.columns(DATA_SOURCE)
    assert len(standin.ledger.requests) == 1


def test_case_22_a_refused_connection_proves_that_nothing_was_sent(standin: Standin) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with connect(standin, url=f"http://127.0.0.1:{taken.getsockname()[1]}") as notion:
            assert fault_of(notion).fate is Fate.NOT_SENT


@pytest.mark.parametrize(
    ("cause", "fate", "code"),
    [
        (httpx.ConnectTimeout("slow"), Fate.NOT_SENT, "CONNECT_TIMEOUT"),
        (httpx.PoolTimeout("full"), Fate.NOT_SENT, "POOL_TIMEOUT"),
        (httpx.ReadTimeout("slow"), Fate.LOST, "ANSWER_LOST"),
        (httpx.WriteTimeout("slow"), Fate.LOST, "ANSWER_LOST"),
    ],
)
def test_case_22_the_clients_one_timeout_is_told_apart_by_what_it_hides(
    notion: Notion, monkeypatch: pytest.MonkeyPatch, cause: httpx.TimeoutException, fate: Fate, code: str
) -> None:
    def send(*_: object, **__: object) -> httpx.Response:
        raise cause

    monkeypatch.setattr(httpx.Client, "send", send)
    error = fault_of(notion)
    assert (error.fate, error.code) == (fate, code)


@pytest.mark.parametrize(
    ("url", "token"),
    [("ftp://127.0.0.1", TOKEN), (None, "secret\n")],
)
def test_case_22_what_cannot_be_asked_at_all_is_refused_without_quoting_the_token(standin: Standin, url: str | None, token: str) -> None:
    with connect(standin, url=url, token=token) as notion:
        error = fault_of(notion)
    assert (error.fate, error.code) == (Fate.REFUSED, "NOTION_ADDRESS")
    assert "secret" not in str(error)


def test_an_id_that_leads_elsewhere_is_not_asked_for(standin: Standin, notion: Notion) -> None:
    with pytest.raises(NotionError) as raised:
        notion.columns("../users")
    assert raised.value.fate is Fate.REFUSED
    assert standin.ledger.requests == ()


def test_the_vendors_words_are_kept_and_the_frequent_causes_are_named(standin: Standin, notion: Notion) -> None:
    with (
        connect(standin, token="wrong") as stranger,
        pytest.raises(NotionError, match=r"401 unauthorized: API token is invalid\. Check the token"),
    ):
        stranger.columns(DATA_SOURCE)
    with pytest.raises(NotionError, match=r"404 object_not_found: .* not shared with the connection"):
        notion.find("unknown", KEY)


def test_a_redirect_is_not_followed_and_proves_nothing() -> None:
    assert notion_faults.by_status(307, "", "").fate is Fate.LOST


def test_a_workspace_that_is_full_refuses_for_good() -> None:
    assert notion_faults.by_status(409, '{"code": "row_limit_exceeded", "message": "full"}', "").fate is Fate.REFUSED


@pytest.mark.parametrize(("header", "seconds"), [("7", 7), ("120", 120), ("", 30), ("soon", 30), ("-1", 30)])
def test_case_22_retry_after_is_obeyed_and_has_a_default(header: str, seconds: int) -> None:
    assert notion_faults.by_status(429, "", header).after == timedelta(seconds=seconds)


def test_case_22_retry_after_may_be_a_date() -> None:
    later = datetime.now(UTC) + timedelta(seconds=100)
    after = notion_faults.by_status(529, "", format_datetime(later, usegmt=True)).after
    assert after is not None
    assert timedelta(seconds=60) < after <= timedelta(seconds=100)


# ── the client ──


def test_the_client_is_loaded_by_the_first_upload_only() -> None:
    program = "import sys, halfway_report.workflow, halfway_report.cli; sys.exit('notion_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_vendors_client_and_the_standin_understand_each_other(standin: Standin) -> None:
    """Without our adapter, so that the stand-in stays honest; and what the client does by itself is what we turn off."""
    with httpx.Client() as http:
        client = notion_client.Client(client=http, auth=TOKEN, base_url=standin.url, notion_version=VERSION)
        text = {"rich_text": [{"text": {"content": KEY}}]}
        page = client.pages.create(parent={"data_source_id": DATA_SOURCE}, properties={"ExternalId": text}, markdown="# T\n\nBody\n")
        wanted = {"property": "ExternalId", "rich_text": {"equals": KEY}}
        assert [hit["id"] for hit in client.data_sources.query(DATA_SOURCE, filter=wanted)["results"]] == [page["id"]]
        assert client.pages.retrieve_markdown(page["id"])["markdown"] == "Body\n"
        assert client.search(query="T")["results"] == []
        assert client.databases.retrieve(DATABASE)["data_sources"] == [{"id": DATA_SOURCE, "name": "Reports"}]
        assert client.pages.update(page["id"], in_trash=True)["in_trash"]
        standin.fail("create", "429:0")
        before = standin.ledger.posts()
        client.pages.create(parent={"data_source_id": DATA_SOURCE}, markdown="# T\n")
        assert standin.ledger.posts() - before == 2
        with pytest.raises(notion_client.APIResponseError, match="is not a property that exists"):
            client.pages.create(parent={"data_source_id": DATA_SOURCE}, properties={"Unknown": text}, markdown="")


def test_what_is_secret_in_the_address_of_notion_is_in_no_cause() -> None:
    url = "nothing://kim:s3cret@127.0.0.1"
    with Notion(url, TOKEN, NotionProperties(), patience=lambda: timedelta(seconds=1)) as notion, pytest.raises(NotionError) as told:
        notion.me()
    assert (told.value.code, told.value.__cause__) == ("NOTION_ADDRESS", None)
    assert "s3cret" not in str(told.value)
