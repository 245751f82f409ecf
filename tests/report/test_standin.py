"""The stand-in keeps the vendor's rules, and its ledger survives it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_ledger import BOT, DATA_SOURCE, Ledger
from halfway_report.standin_pages import PERSON, VERSION

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Notion-Version": VERSION}


def text(value: str) -> dict[str, object]:
    return {"rich_text": [{"text": {"content": value}}]}


def body(**changes: object) -> dict[str, object]:
    page = {
        "parent": {"type": "data_source_id", "data_source_id": DATA_SOURCE},
        "properties": {"ExternalId": text("k")},
        "markdown": "# T\n",
    }
    return {**page, **changes}


def call(url: str, method: str, path: str, content: object = None, **headers: str) -> httpx2.Response:
    return httpx2.request(method, f"{url}{path}", json=content, headers={**HEADERS, **headers})


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (body(), 200, None),
        (body(parent={"data_source_id": "other"}), 404, "object_not_found"),
        (body(parent={}), 400, "validation_error"),
        (body(properties={"Unknown": text("x")}), 400, "validation_error"),
        (body(properties={"RunId": text("x" * 2000)}), 200, None),
        (body(properties={"RunId": text("😀" * 1001)}), 400, "validation_error"),
        (body(properties={"ExternalId": {"rich_text": [{"text": {"content": "x"}}] * 101}}), 400, "validation_error"),
        (body(markdown=f"# {'x' * 2001}\n"), 400, "validation_error"),
        (body(markdown="x" * 500_001), 413, "validation_error"),
    ],
)
def test_a_new_page_is_checked_as_the_vendor_does(standin: Standin, content: object, status: int, code: str | None) -> None:
    answer = call(standin.url, "POST", "/v1/pages", content)
    assert answer.status_code == status
    assert answer.json().get("code") == code
    assert len(standin.ledger.pages) == (status == 200)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [({"Authorization": "Bearer wrong"}, 401, "unauthorized"), ({"Notion-Version": "2026-13-01"}, 400, "validation_error")],
)
def test_token_and_version_are_checked_first(standin: Standin, headers: dict[str, str], status: int, code: str) -> None:
    answer = call(standin.url, "POST", "/v1/pages", body(), **headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert standin.ledger.pages == ()


def test_the_version_is_needed_and_decides_what_there_is(standin: Standin) -> None:
    path = f"/v1/data_sources/{DATA_SOURCE}/query"
    without = httpx2.post(f"{standin.url}{path}", json={}, headers={"Authorization": f"Bearer {TOKEN}"})
    assert without.json()["code"] == "missing_version"
    older = call(standin.url, "POST", path, {}, **{"Notion-Version": "2022-06-28"})
    assert older.json()["code"] == "invalid_request_url"
    page = call(standin.url, "POST", "/v1/pages", body()).json()["id"]
    assert call(standin.url, "PATCH", f"/v1/pages/{page}", {"archived": True}).status_code == 400
    former = call(standin.url, "PATCH", f"/v1/pages/{page}", {"archived": True}, **{"Notion-Version": "2025-09-03"})
    assert former.json()["in_trash"] is True


def test_a_column_of_another_kind_takes_no_text(standin: Standin) -> None:
    standin.pages.columns["RunId"] = "number"
    answer = call(standin.url, "POST", "/v1/pages", body(properties={"RunId": text("x")}))
    assert (answer.status_code, answer.json()["message"]) == (400, "RunId is expected to be number.")


def test_the_content_of_a_page_is_replaced_and_the_one_who_did_it_is_named(standin: Standin) -> None:
    page = call(standin.url, "POST", "/v1/pages", body()).json()["id"]
    standin.pages.edit(page, title="T")
    assert call(standin.url, "GET", f"/v1/pages/{page}").json()["last_edited_by"]["id"] == PERSON
    change = {"type": "replace_content", "replace_content": {"new_str": "new\n"}}
    assert call(standin.url, "PATCH", f"/v1/pages/{page}/markdown", change).json()["markdown"] == "new\n"
    assert standin.ledger.pages[0].markdown == "# T\n\nnew\n"
    assert standin.ledger.pages[0].last_edited_by == BOT
    call(standin.url, "PATCH", f"/v1/pages/{page}", {"in_trash": True})
    assert call(standin.url, "PATCH", f"/v1/pages/{page}/markdown", change).status_code == 400


def test_a_page_can_be_read_trashed_and_restored(standin: Standin) -> None:
    path = f"/v1/pages/{call(standin.url, 'POST', '/v1/pages', body()).json()['id']}"
    assert call(standin.url, "GET", f"{path}/markdown").json()["markdown"] == ""
    assert call(standin.url, "PATCH", path, {"archived": True}).status_code == 400
    assert call(standin.url, "PATCH", path, {"in_trash": True}).json()["in_trash"] is True
    assert call(standin.url, "PATCH", path, {"in_trash": True}).status_code == 400
    assert call(standin.url, "PATCH", path, {"in_trash": False}).json()["in_trash"] is False
    assert call(standin.url, "GET", "/v1/pages/unknown").status_code == 404
    assert call(standin.url, "GET", "/v1/unknown").json()["code"] == "invalid_request_url"


def test_a_query_knows_only_its_own_properties(standin: Standin) -> None:
    path = f"/v1/data_sources/{DATA_SOURCE}/query"
    answer = call(standin.url, "POST", path, {"filter": {"property": "Nothing", "rich_text": {"equals": "k"}}})
    assert answer.json()["code"] == "validation_error"
    assert call(standin.url, "POST", path, {}).json()["results"] == []


def test_an_unknown_fault_is_refused_with_the_known_ones(standin: Standin) -> None:
    with pytest.raises(ValueError, match="commit_hang"):
        standin.fail_create("comit_hang")
    with pytest.raises(ValueError, match="incomplete"):
        standin.fail_query("lagg")
    with pytest.raises(ValueError, match="unknown fault 'lag' for create"):
        standin.fail("create", "lag")


def test_the_ledger_survives_the_server(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    with Standin(ledger=ledger) as first:
        call(first.url, "POST", "/v1/pages", body())
    with Standin(ledger=ledger) as second:
        path = f"/v1/data_sources/{DATA_SOURCE}/query"
        assert len(call(second.url, "POST", path, {}).json()["results"]) == 1
    kept = Ledger.load(ledger)
    assert kept.pages[0].properties == {"ExternalId": "k"}
    assert [request.path for request in kept.requests] == ["/v1/pages", path]
    assert json.loads(ledger.read_text())["pages"][0]["title"] == "T"


def run(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "halfway_report.standin", "--end-with-stdin", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def test_a_process_holds_an_answer_back_while_another_reads_its_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    with run("--ledger", str(ledger), "--fault", "commit_hang") as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(f"{url}/v1/pages", json=body(), headers=HEADERS, timeout=1)
        assert [(request.fault, request.page_id) for request in Ledger.load(ledger).requests] == [
            ("commit_hang", Ledger.load(ledger).pages[0].id)
        ]
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


def test_a_process_ends_with_the_one_that_started_it() -> None:
    with run() as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        process.stdin.close()
        assert process.wait() == 0
