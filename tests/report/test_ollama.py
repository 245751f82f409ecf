"""The dialects against the stand-in: what came is complete, or it is an error with a name, and never half a report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import httpx2
import pytest

from halfway_report.errors import ContextOverflow, ModelNotFound, ModelRefused, ModelResource, ModelStreamCut, ModelUnavailable
from halfway_report.generators.ollama import Ollama
from halfway_report.generators.openai import OpenAi
from halfway_report.generators.wire import Chat, Prompt, Wire, check_window
from halfway_report.settings import LlmSettings
from halfway_report.standin_ollama import StandinOllama
from halfway_report.standin_voices import Script
from tests.report.desks import Desk, Stop

TEXT = "The whole answer, which is long enough for several pieces."
CUTS = ["half_line", "no_done", "reset_midway", "error_line", "noise", "html", "load"]


def prompt(user: str = "Say it.", **more: object) -> Prompt:
    return Prompt(**{"system": "You say it.", "user": user, "seed": 3, "num_predict": 200, **more})  # type: ignore[arg-type]


@contextmanager
def connected(
    provider: str, *, text: str = TEXT, silent: bool = False, can: tuple[str, ...] = ("completion",), **settings: object
) -> Iterator[tuple[Chat, StandinOllama]]:
    with StandinOllama(Script(text), models={"tiny": can}, silent=silent) as ollama:
        facts = {"provider": provider, "base_url": ollama.url, "model": "tiny", **settings}
        asked = LlmSettings.model_validate(facts)
        yield Ollama(asked) if provider == "ollama" else OpenAi(asked), ollama


@pytest.fixture(params=["ollama", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_answer_comes_in_pieces_with_a_sign_of_life_for_each(provider: str) -> None:
    desk = Desk()
    with connected(provider) as (chat, _):
        answer = chat.ask(prompt(), desk)
    assert (answer.text, answer.finish) == (TEXT, "stop")
    assert answer.prompt_tokens
    assert answer.tokens
    assert len(desk.beats) > 3
    assert desk.beats == sorted(desk.beats)
    assert desk.stored == {}


@pytest.mark.parametrize("fault", CUTS)
def test_case_16_b42_a_cut_answer_is_an_error_that_may_be_repeated(provider: str, fault: str) -> None:
    desk = Desk()
    with connected(provider) as (chat, ollama):
        ollama.fail(fault)
        with pytest.raises(ModelStreamCut):
            chat.ask(prompt(), desk)
    midway = fault not in ("html", "load")
    assert list(desk.stored) == (["partial.txt"] if midway else [])
    assert all(TEXT.startswith(text) and text != TEXT for text in desk.stored.values())


@pytest.mark.parametrize("fault", ["no_newline", "extra", "length"])
def test_case_16_b42_what_has_its_last_record_is_complete(provider: str, fault: str) -> None:
    with connected(provider) as (chat, ollama):
        ollama.fail(fault)
        answer = chat.ask(prompt(), Desk())
    assert answer.text == TEXT
    assert answer.finish == ("length" if fault == "length" else "stop")


@pytest.mark.parametrize("fault", ["stall", "hang"])
def test_case_16_silence_ends_when_its_time_is_up(provider: str, fault: str) -> None:
    with connected(provider, first_token_timeout=timedelta(seconds=0.2)) as (chat, ollama):
        ollama.fail(fault)
        with pytest.raises((ModelStreamCut, ModelUnavailable)):
            chat.ask(prompt(), Desk())


def test_an_answer_that_takes_longer_than_it_may_in_all_is_cut() -> None:
    class Late(Desk):
        def beat(self, received: int) -> None:
            super().beat(received)
            self.left = timedelta(0)

    desk = Late()
    with connected("ollama") as (chat, _), pytest.raises(ModelStreamCut, match="in all"):
        chat.ask(prompt(), desk)


def test_an_address_may_end_with_the_version_of_the_dialect() -> None:
    with StandinOllama(Script(TEXT)) as ollama:
        chat = OpenAi(LlmSettings(provider="openai", base_url=f"{ollama.url}/v1/", model="tiny"))
        assert chat.identify(Desk()).name == "tiny"


def test_a_stop_is_heard_at_the_next_piece(provider: str) -> None:
    desk = Desk(stop_after=2)
    with connected(provider, text="word " * 5000) as (chat, _), pytest.raises(Stop):
        chat.ask(prompt(), desk)
    assert len(desk.beats) == 2


@pytest.mark.parametrize("fault", ["reset", "500", "503"])
def test_what_comes_before_the_first_byte_is_a_server_that_is_not_there(provider: str, fault: str) -> None:
    with connected(provider) as (chat, ollama):
        ollama.fail(fault)
        with pytest.raises(ModelUnavailable):
            chat.ask(prompt(), Desk())


def test_a_server_that_is_off_is_unavailable(provider: str) -> None:
    with connected(provider) as (chat, _):
        pass
    with pytest.raises(ModelUnavailable, match="does not answer"):
        chat.identify(Desk())


def test_too_little_memory_is_not_repeated(provider: str) -> None:
    with connected(provider) as (chat, ollama):
        ollama.fail("oom")
        with pytest.raises(ModelResource, match="more system memory"):
            chat.ask(prompt(), Desk())


def test_case_19_a_model_that_is_not_there_is_named_with_what_helps(provider: str) -> None:
    with connected(provider, model="nope") as (chat, ollama):
        with pytest.raises(ModelNotFound, match="ollama pull nope" if provider == "ollama" else "the server has tiny"):
            chat.identify(Desk())
        assert len(ollama.requests) == 1
        with pytest.raises(ModelNotFound):
            chat.ask(prompt(), Desk())


@pytest.mark.parametrize("model", ["tiny", "tiny:latest"])
def test_case_19_tiny_is_tiny_latest_and_its_digest_is_known(model: str) -> None:
    with connected("ollama", model=model) as (chat, ollama):
        identity = chat.identify(Desk())
        assert (identity.name, identity.digest) == ("tiny:latest", ollama.digest("tiny:latest"))


def test_case_18_a_prompt_that_does_not_fit_is_not_even_sent(provider: str) -> None:
    with connected(provider, num_ctx=512) as (chat, ollama):
        with pytest.raises(ContextOverflow, match="num_ctx 512"):
            chat.ask(prompt("word " * 1000), Desk())
        assert ollama.chats == []


def test_case_18_the_server_is_told_to_cut_nothing() -> None:
    with connected("ollama", num_ctx=1024) as (chat, ollama):
        chat.ask(prompt(), Desk())
    (body,) = ollama.chats
    assert (body["truncate"], body["shift"], body["stream"]) == (False, False, True)
    assert body["options"] == {"num_ctx": 1024, "num_predict": 200, "temperature": 0.2, "seed": 3}
    assert "think" not in body


class Dense(Script):
    """A tokenizer that needs far more tokens than anybody would guess."""

    def count(self, text: str, /) -> int:
        return 100 * len(text)


@pytest.mark.parametrize("silent", [False, True])
def test_case_18_a_prompt_that_the_server_finds_too_long_or_cuts_is_no_answer(silent: bool) -> None:
    with StandinOllama(Dense(TEXT), silent=silent) as ollama:
        chat = Ollama(LlmSettings(base_url=ollama.url, model="tiny", num_ctx=1024))
        with pytest.raises(ContextOverflow):
            chat.ask(prompt(), Desk())


@pytest.mark.parametrize(("can", "think", "sent"), [(("completion",), None, None), (("completion", "thinking"), False, False)])
def test_b43_a_model_is_told_about_thinking_only_if_it_can(can: tuple[str, ...], think: bool | None, sent: bool | None) -> None:
    with connected("ollama", can=can) as (chat, ollama):
        assert chat.identify(Desk()).thinks == ("thinking" in can)
        chat.ask(prompt(think=think), Desk())
    assert ollama.chats[0].get("think") == sent


def test_b43_thoughts_in_their_own_field_are_no_text() -> None:
    with connected("ollama", can=("thinking",)) as (chat, _):
        assert chat.ask(prompt(think=True), Desk()).text == TEXT


def test_b43_a_word_about_thinking_to_a_plain_model_is_refused_and_not_repeated() -> None:
    with connected("ollama") as (chat, _), pytest.raises(ModelRefused, match="does not support thinking"):
        chat.ask(prompt(think=True), Desk())


def test_a_key_that_is_not_set_is_told_before_anything_is_sent(provider: str) -> None:
    with connected(provider, api_key_env="NO_SUCH_KEY_IS_SET") as (chat, ollama):
        with pytest.raises(ModelRefused, match="NO_SUCH_KEY_IS_SET"):
            chat.identify(Desk())
        assert ollama.requests == []


def test_a_key_is_sent_and_never_shown(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "very-secret")
    with connected(provider, api_key_env="MODEL_KEY") as (chat, ollama):
        ollama.fail("503")
        with pytest.raises(ModelUnavailable) as told:
            chat.ask(prompt(), Desk())
        assert "very-secret" not in str(told.value)


@pytest.mark.parametrize("key", ["sk-live\rTOPSECRET", "sk-live-TOPSECRET…", "sk-live\x7fTOPSECRET", " "])
def test_a_key_that_no_header_can_hold_is_refused_without_being_repeated(provider: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", key)
    with connected(provider, api_key_env="MODEL_KEY") as (chat, ollama):
        with pytest.raises(ModelRefused, match="MODEL_KEY") as told:
            chat.identify(Desk())
        assert "TOPSECRET" not in str(told.value)
        assert ollama.requests == []


def test_the_end_of_a_line_behind_a_key_is_no_part_of_it(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "very-secret\r\n")
    with connected(provider, api_key_env="MODEL_KEY") as (chat, _):
        assert chat.identify(Desk()).name.startswith("tiny")


def test_what_is_secret_in_an_address_is_not_repeated(provider: str) -> None:
    for url in ("http://kim:s3cret@127.0.0.1:9", "nothing://kim:s3cret@127.0.0.1:9", "http://kim:s3cret@127.0.0.1:port"):
        asked = LlmSettings.model_validate({"provider": provider, "base_url": url, "model": "tiny"})
        with pytest.raises((ModelUnavailable, ModelRefused), match=r"127\.0\.0\.1") as told:
            (Ollama(asked) if provider == "ollama" else OpenAi(asked)).identify(Desk())
        assert "s3cret" not in str(told.value)


def test_a_server_that_repeats_the_key_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "very-secret")
    wire = Wire(LlmSettings(model="tiny", api_key_env="MODEL_KEY"))
    with pytest.raises(ModelRefused, match="no such key") as told:
        wire.refuse(httpx2.Response(401, json={"error": "no such key: very-secret"}))
    assert "very-secret" not in str(told.value)


def test_the_schema_is_asked_for_in_the_words_of_each_dialect(provider: str) -> None:
    with connected(provider) as (chat, ollama):
        chat.ask(prompt(schema={"type": "object"}), Desk())
    (body,) = ollama.chats
    if provider == "ollama":
        assert body["format"] == {"type": "object"}
    else:
        expected = {"type": "json_schema", "json_schema": {"name": "report", "schema": {"type": "object"}, "strict": True}}
        assert body["response_format"] == expected


def test_english_and_korean_in_one_prompt_are_added_up() -> None:
    settings = LlmSettings(model="tiny", num_ctx=2_000, num_predict=16)
    check_window(settings, prompt("x" * 2_800, num_predict=16))
    check_window(settings, prompt("가" * 500, num_predict=16))
    with pytest.raises(ContextOverflow):
        check_window(settings, prompt("x" * 2_800 + "가" * 500, num_predict=16))


@pytest.mark.parametrize(
    ("header", "after"), [("7", timedelta(seconds=7)), ("²", None), ("9" * 30, timedelta(hours=1)), ("-1", None), ("", None)]
)
def test_whatever_a_server_asks_to_wait_is_understood_or_left(header: str, after: timedelta | None) -> None:
    response = httpx2.Response(503, headers={"Retry-After": header.encode()})
    with pytest.raises(ModelUnavailable) as told:
        Wire(LlmSettings(model="tiny")).refuse(response)
    assert told.value.after == after


def test_a_last_record_without_a_reason_is_no_end() -> None:
    with connected("ollama") as (chat, _):
        vars(chat)["_wire"].stream = lambda *_: iter([b'{"message": {"content": "half"}, "done": true}'])
        with pytest.raises(ModelStreamCut, match="no reason"):
            chat.ask(prompt(), Desk())
