"""The stand-in behaves like the vendor: its own official client understands it, and meets the same traps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import ollama as official
import pytest

from halfway_report.standin_ollama import FAULTS, StandinOllama
from halfway_report.standin_voices import Script

TEXT = "The whole answer, which is long enough for several pieces."
ASK = [{"role": "user", "content": "Say it."}]


@pytest.fixture
def standin_ollama() -> Iterator[StandinOllama]:
    with StandinOllama(Script(TEXT), models={"tiny": ("completion",), "deep": ("completion", "thinking")}) as running:
        yield running


@pytest.fixture
def client(standin_ollama: StandinOllama) -> Iterator[official.Client]:
    with official.Client(host=standin_ollama.url, timeout=10) as connected:
        yield connected


def test_the_official_client_lists_shows_and_chats(client: official.Client, standin_ollama: StandinOllama) -> None:
    listed = client.list().models
    assert [(model.model, model.digest) for model in listed] == [
        (name, standin_ollama.digest(name)) for name in ("tiny:latest", "deep:latest")
    ]
    assert client.show("deep").capabilities == ["completion", "thinking"]
    whole = client.chat("tiny", ASK)
    assert (whole.message.content, whole.done, whole.done_reason) == (TEXT, True, "stop")
    pieces = [*client.chat("tiny:latest", ASK, stream=True)]
    assert "".join(piece.message.content or "" for piece in pieces) == TEXT
    assert [piece.done for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert pieces[-1].prompt_eval_count
    thoughts = [piece.message.thinking for piece in client.chat("deep", ASK, stream=True, think=True)]
    assert thoughts[0] == "First I think."


@pytest.mark.parametrize(
    ("model", "think", "status", "text"), [("nope", None, 404, "'nope' not found"), ("tiny", True, 400, "does not support thinking")]
)
def test_the_official_client_is_refused_as_by_the_vendor(
    client: official.Client, model: str, think: bool | None, status: int, text: str
) -> None:
    with pytest.raises(official.ResponseError, match=text) as refused:
        client.chat(model, ASK, think=think)
    assert refused.value.status_code == status


def test_the_official_client_reads_a_cut_answer_as_whole(client: official.Client, standin_ollama: StandinOllama) -> None:
    standin_ollama.fail("no_done")
    pieces = [*client.chat("tiny", ASK, stream=True)]  # no error at all: this is why there is an adapter of our own
    assert not any(piece.done for piece in pieces)
    standin_ollama.fail("error_line")
    with pytest.raises(official.ResponseError, match="an error was encountered"):
        list(client.chat("tiny", ASK, stream=True))


def test_an_empty_question_loads_the_model(client: official.Client) -> None:
    answer = client.chat("tiny", [])
    assert (answer.message.content, answer.done_reason) == ("", "load")


@pytest.mark.parametrize(("cut", "status"), [(None, 200), (False, 400)])
def test_a_prompt_that_is_too_long_is_cut_in_silence_unless_that_is_forbidden(
    standin_ollama: StandinOllama, cut: bool | None, status: int
) -> None:
    body: dict[str, Any] = {"model": "tiny", "messages": [{"role": "user", "content": "word " * 2000}], "stream": False}
    body |= {"options": {"num_ctx": 512}} | ({} if cut is None else {"truncate": cut})
    answer = httpx2.post(f"{standin_ollama.url}/api/chat", json=body)
    assert answer.status_code == status
    assert answer.json().get("prompt_eval_count") == (512 if status == 200 else None)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 200), ("GET", "/api/version", 200), ("GET", "/v1/models", 200), ("GET", "/nowhere", 404), ("POST", "/nowhere", 404)],
)
def test_paths(standin_ollama: StandinOllama, method: str, path: str, status: int) -> None:
    assert httpx2.request(method, f"{standin_ollama.url}{path}", json={}).status_code == status


@pytest.mark.parametrize("raw", [b"", b"{"])
def test_a_body_that_is_none_is_refused(standin_ollama: StandinOllama, raw: bytes) -> None:
    answer = httpx2.post(f"{standin_ollama.url}/api/chat", content=raw)
    assert (answer.status_code, "error" in answer.json()) == (400, True)


def test_the_other_dialect_answers_at_once_unless_asked_to_stream(standin_ollama: StandinOllama) -> None:
    url, body = f"{standin_ollama.url}/v1/chat/completions", {"model": "tiny", "messages": ASK}
    assert httpx2.post(url, json=body).json()["choices"][0]["message"]["content"] == TEXT
    streamed = httpx2.post(url, json={**body, "stream": True}).text
    assert streamed.startswith("data: {")
    assert streamed.endswith("data: [DONE]\n\n")


def test_a_fault_that_does_not_exist_is_refused(standin_ollama: StandinOllama) -> None:
    with pytest.raises(ValueError, match="unknown faults \\['typo'\\]"):
        standin_ollama.fail(FAULTS[0], "typo")
